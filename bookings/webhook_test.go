package bookings_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

// webhooks lets the provider's events in, over HTTP.
func webhooks(s *bookingstest.Setup) { s.Webhooks = listen }

// listen is the shop's end of the webhooks, in front of whatever process serves at the moment. What
// that cannot take now, the provider sends again.
func listen(s *bookingstest.Shop) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err == nil {
			err = s.Current().HandleWebhook(r.Context(), s.ProviderName, r.Header, body)
		}
		switch {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case fault.KindOf(err) == fault.KindUnauthenticated, fault.KindOf(err) == fault.KindInvalid:
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	s.Cleanup(server.Close)
	return server.URL
}

// message is a provider's event in its own words; a test changes what it wants to be wrong.
type message map[string]any

// about is the part of the message that tells of the charge or refund.
func (m message) about() map[string]any {
	for _, part := range []string{"charge", "refund"} {
		if told, ok := m[part].(map[string]any); ok {
			return told
		}
	}
	return nil
}

// chargeMessage tells how a hold's charge was decided.
func (b box) chargeMessage(attempt payments.Attempt, status string) message {
	kind, captured, code := "charge.succeeded", attempt.Amount.Minor, ""
	if status == "declined" {
		kind, captured, code = "charge.declined", 0, "card_declined"
	}
	return message{"id": "evt_" + inventorytest.Key(), "type": kind, "createdAt": time.Now().UTC(), "charge": map[string]any{
		"id": "ch_" + attempt.ID.String(), "account": b.Account, "key": attempt.ID.String(), "status": status,
		"amountMinor": attempt.Amount.Minor, "capturedMinor": captured, "currency": string(attempt.Amount.Currency), "declineCode": code,
		"reference": map[string]any{"tenant": b.ID.String(), "attempt": attempt.ID.String()},
	}}
}

func (b box) refundMessage(attempt payments.Attempt, refund payments.Refund, status string) message {
	return message{"id": "evt_" + inventorytest.Key(), "type": "refund." + status, "createdAt": time.Now().UTC(), "refund": map[string]any{
		"id": "re_1", "account": b.Account, "key": refund.ID.String(), "charge": attempt.ProviderCharge, "status": status,
		"amountMinor": refund.Amount.Minor, "currency": string(refund.Amount.Currency),
		"reference": map[string]any{"tenant": b.ID.String(), "attempt": attempt.ID.String()},
	}}
}

// deliver signs a message as the provider does and hands it over.
func (b box) deliver(t *testing.T, m message) error {
	t.Helper()
	return b.deliverIn(t.Context(), m)
}

func (b box) deliverIn(ctx context.Context, m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return b.Sales.HandleWebhook(ctx, b.ProviderName, signature("whsec_sandbox_test", time.Now(), body), body)
}

func signature(secret string, at time.Time, body []byte) http.Header {
	sum := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(sum, "%d.%s", at.Unix(), body)
	return http.Header{sandbox.SignatureHeader: {fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(sum.Sum(nil)))}}
}

// results are what became of the tenant's provider events, in words and number.
func (b box) results(t *testing.T) string {
	t.Helper()
	var text string
	if err := b.DB.Pool().QueryRow(t.Context(), `
		SELECT COALESCE(string_agg(r.result || ' ' || r.n::text, ', ' ORDER BY r.result), 'none')
		FROM (SELECT result, count(*) AS n FROM provider_events WHERE tenant_id = $1 GROUP BY result) AS r`, b.ID.UUID).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// pending is a hold that is being paid, with its attempt.
func (b box) pending() (inventory.Hold, payments.Attempt) { return b.pendingOn(1) }

func (b box) pendingOn(seat int) (inventory.Hold, payments.Attempt) {
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(seat))
	b.Pay(guest, hold, slow)
	return hold, b.Attempts(hold)[0]
}

// R41: a success is final, in whatever order the messages come.
func TestASuccessIsFinalInAnyOrder(t *testing.T) {
	t.Parallel()
	const (
		booked   = "CONFIRMED SUCCEEDED/APPLIED BOOKED"
		refunded = "RELEASED SUCCEEDED/ORPHANED refund 5000 REQUESTED"
	)
	for name, c := range map[string]struct {
		send func(success, failure func() error) []error
		want []string
	}{
		"success, failure": {
			func(success, failure func() error) []error { return []error{success(), failure()} }, []string{booked},
		},
		"failure, success": {
			func(success, failure func() error) []error { return []error{failure(), success()} }, []string{refunded},
		},
		"at once": {
			func(success, failure func() error) []error {
				calls := []func() error{success, failure, success, failure}
				return inventorytest.Race(len(calls), func(i int) error { return calls[i]() })
			}, []string{booked, refunded},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			for seat := 1; seat <= 8; seat++ {
				b.Exec("DELETE FROM provider_events WHERE tenant_id = $1")
				hold, attempt := b.pendingOn(seat)
				yes, no := b.chargeMessage(attempt, "approved"), b.chargeMessage(attempt, "declined")
				for _, err := range c.send(func() error { return b.deliver(t, yes) }, func() error { return b.deliver(t, no) }) {
					if err != nil {
						t.Error(err)
					}
				}
				got := b.Sale(hold)
				if got != c.want[0] && got != c.want[len(c.want)-1] {
					t.Errorf("got %s, want one of %v", got, c.want)
				}
				if n := b.Rows("provider_events"); n != 2 {
					t.Errorf("%d events recorded, want 2", n)
				}
			}
		})
	}
}

func TestAnEventIsAppliedOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pending()
	m := b.chargeMessage(attempt, "approved")
	for _, err := range inventorytest.Race(4, func(int) error { return b.deliver(t, m) }) {
		if err != nil {
			t.Error(err)
		}
	}
	if err := b.deliver(t, m); err != nil {
		t.Error(err)
	}
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	expect(t, "the events", b.results(t), "APPLIED 1")
	// The same news under another id changes nothing either.
	if err := b.deliver(t, b.chargeMessage(attempt, "approved")); err != nil {
		t.Error(err)
	}
	expect(t, "the events", b.results(t), "ALREADY_KNOWN 1, APPLIED 1")
	if booking := b.BookingOf(hold); booking.Version != 1 {
		t.Errorf("the booking's version is %d", booking.Version)
	}
}

func TestForgedMessagesAreRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pending()
	body, err := json.Marshal(b.chargeMessage(attempt, "approved"))
	if err != nil {
		t.Fatal(err)
	}
	genuine := signature("whsec_sandbox_test", time.Now(), body)
	altered := []byte(strings.Replace(string(body), `"capturedMinor":5000`, `"capturedMinor":5001`, 1))
	for name, c := range map[string]struct {
		provider string
		header   http.Header
		body     []byte
		want     fault.Kind
	}{
		"no signature":      {b.ProviderName, http.Header{}, body, fault.KindUnauthenticated},
		"another secret":    {b.ProviderName, signature("whsec_somebody_else", time.Now(), body), body, fault.KindUnauthenticated},
		"an altered body":   {b.ProviderName, genuine, altered, fault.KindUnauthenticated},
		"replayed late":     {b.ProviderName, signature("whsec_sandbox_test", time.Now().Add(-time.Hour), body), body, fault.KindUnauthenticated},
		"signed nonsense":   {b.ProviderName, signature("whsec_sandbox_test", time.Now(), []byte("[]")), []byte("[]"), fault.KindInvalid},
		"an empty object":   {b.ProviderName, signature("whsec_sandbox_test", time.Now(), []byte("{}")), []byte("{}"), fault.KindInvalid},
		"too long":          {b.ProviderName, genuine, make([]byte, 1<<20), fault.KindInvalid},
		"a provider unkown": {"nobody", genuine, body, fault.KindNotFound},
	} {
		expectFault(t, name, b.Sales.HandleWebhook(t.Context(), c.provider, c.header, c.body), c.want)
	}
	expect(t, "the sale", b.Sale(hold), "PROCESSING UNKNOWN")
	expect(t, "the events", b.results(t), "none")
}

// A signed event that does not fit changes nothing, is kept, and is not asked for again.
func TestEventsThatDoNotFitChangeNothing(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"approved", "declined"} {
		for name, c := range map[string]struct {
			change func(m message)
			want   string
		}{
			"another account":    {func(m message) { m.about()["account"] = "acct_other" }, "MISMATCH 1"},
			"no account":         {func(m message) { m.about()["account"] = "" }, "MISMATCH 1"},
			"another key":        {func(m message) { m.about()["key"] = "pay_other" }, "UNMATCHED 1"},
			"an unknown attempt": {func(m message) { m.refer(ids.New[payments.AttemptKind](inventorytest.Region).String()) }, "UNMATCHED 1"},
		} {
			t.Run(status+", "+name, func(t *testing.T) {
				t.Parallel()
				b := open(t)
				hold, attempt := b.pending()
				m := b.chargeMessage(attempt, status)
				c.change(m)
				for range 2 {
					if err := b.deliver(t, m); err != nil {
						t.Error(err)
					}
				}
				expect(t, "the sale", b.Sale(hold), "PROCESSING UNKNOWN")
				expect(t, "the events", b.results(t), c.want)
				// The real event still counts.
				if err := b.deliver(t, b.chargeMessage(attempt, "approved")); err != nil {
					t.Error(err)
				}
				expect(t, "the real event", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
			})
		}
	}
	t.Run("another currency", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		hold, attempt := b.pending()
		m := b.chargeMessage(attempt, "approved")
		m.about()["currency"] = "JPY"
		if err := b.deliver(t, m); err != nil {
			t.Error(err)
		}
		expect(t, "the sale", b.Sale(hold), "PROCESSING UNKNOWN")
		expect(t, "the events", b.results(t), "MISMATCH 1")
	})
}

// A provider's secret is good for its own payments only, even if the accounts are named alike.
func TestAnotherProvidersEventChangesNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pending()
	b.Exec("UPDATE payment_attempts SET provider = 'another' WHERE tenant_id = $1")
	for _, status := range []string{"approved", "declined"} {
		if err := b.deliver(t, b.chargeMessage(attempt, status)); err != nil {
			t.Error(err)
		}
	}
	expect(t, "the sale", b.Sale(hold), "PROCESSING UNKNOWN")
	expect(t, "the events", b.results(t), "MISMATCH 2")
}

// A refund's event counts for the payment that it names only.
func TestARefundEventOfAnotherPaymentChangesNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold := b.cancelled(t, sandbox.TokenApprove)
	attempt := b.Attempts(hold)[0]
	refund := b.Refunds(hold)[attempt.ID][0]
	_, other := b.pendingOn(5)
	if err := b.deliver(t, b.refundMessage(other, refund, "succeeded")); err != nil {
		t.Error(err)
	}
	expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED refund 5000 REQUESTED BOOKED")
	expect(t, "the events", b.results(t), "UNMATCHED 1")
}

// An event about something else is kept, and that is all.
func TestAnEventOfAnotherKindIsIgnored(t *testing.T) {
	t.Parallel()
	b := open(t)
	id := "evt_" + inventorytest.Key()
	if err := b.deliver(t, message{"id": id, "type": "payout.paid", "createdAt": time.Now().UTC()}); err != nil {
		t.Fatal(err)
	}
	expect(t, "the event", b.unrouted(t, id), "IGNORED")
}

// unrouted is what became of an event that belongs to nobody.
func (b box) unrouted(t *testing.T, id any) string {
	t.Helper()
	var result string
	if err := b.DB.Pool().QueryRow(t.Context(), "SELECT result FROM provider_events WHERE tenant_id = $1 AND event_id = $2",
		tenants.TenantID{}.UUID, id).Scan(&result); err != nil {
		t.Fatal(err)
	}
	return result
}

func (m message) refer(attempt string) {
	m.about()["key"] = attempt
	if reference, ok := m.about()["reference"].(map[string]any); ok {
		reference["attempt"] = attempt
	}
}

// An event about nothing of ours is kept where it belongs to nobody.
func TestAnEventAboutNothingOfOursIsKept(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, attempt := b.pending()
	m := b.chargeMessage(attempt, "approved")
	m.about()["reference"], m.about()["key"] = map[string]any{}, "made-by-hand"
	if err := b.deliver(t, m); err != nil {
		t.Fatal(err)
	}
	expect(t, "the event", b.unrouted(t, m["id"]), "UNMATCHED")
}

// What no database can store is refused as unreadable, so that the provider need not try again.
func TestAnEventThatCannotBeStoredIsUnreadable(t *testing.T) {
	t.Parallel()
	b := open(t)
	_, attempt := b.pending()
	m := b.chargeMessage(attempt, "approved")
	m["id"] = "evt\x00"
	expectFault(t, "a NUL in the id", b.deliver(t, m), fault.KindInvalid)
}

// A refund is not paid because another account, or another amount, was.
func TestRefundEventsThatDoNotFitChangeNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m message){
		"another account":  func(m message) { m.about()["account"] = "acct_other" },
		"another amount":   func(m message) { m.about()["amountMinor"] = 1 },
		"another currency": func(m message) { m.about()["currency"] = "JPY" },
		"another key":      func(m message) { m.about()["key"] = ids.New[payments.RefundKind](inventorytest.Region).String() },
	} {
		for _, status := range []string{"succeeded", "failed"} {
			t.Run(status+", "+name, func(t *testing.T) {
				t.Parallel()
				b := open(t).terms(refundLate())
				hold, attempt := b.pending()
				b.Lapse(hold)
				if err := b.deliver(t, b.chargeMessage(attempt, "approved")); err != nil {
					t.Fatal(err)
				}
				refund := b.Refunds(hold)[attempt.ID][0]
				m := b.refundMessage(attempt, refund, status)
				change(m)
				if err := b.deliver(t, m); err != nil {
					t.Error(err)
				}
				expect(t, "the sale", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED refund 5000 REQUESTED")
				if err := b.deliver(t, b.refundMessage(attempt, refund, "succeeded")); err != nil {
					t.Error(err)
				}
				expect(t, "the real event", b.Sale(hold), "EXPIRED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED")
			})
		}
	}
}

// R42: an event is recorded and applied by one commit. Whatever happens to that, a repetition of
// the event finds the order paid, or pays it.
func TestALostCommitOfAnEventIsMadeGood(t *testing.T) {
	t.Parallel()
	b, proxy := openBehindProxy(t)
	for i, f := range commitFaults() {
		hold, attempt := b.pendingOn(i + 1)
		m := b.chargeMessage(attempt, "approved")
		proxy.SpoilCommits(f.fault)
		first := b.deliver(t, m)
		if err := b.deliver(t, m); err != nil {
			t.Fatal(errors.Join(first, err))
		}
		expect(t, f.name, b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
		if n := b.Rows("provider_events"); n != i+1 {
			t.Errorf("%s: %d events recorded", f.name, n)
		}
	}
	b.audit(t)
}

// audit is Audit without the provider's side, for charges that a test made up.
func (b box) audit(t *testing.T) {
	t.Helper()
	report, err := b.Sales.Audit(t.Context(), &b.ID)
	if err != nil || !report.OK {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

// Another process of the shop applies the same event at the same time as this one's driver.
func TestAnEventAndTheDriverAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t, webhooks)
	var holds []inventory.Hold
	guests := b.Guests(10)
	for i, guest := range guests {
		holds = append(holds, guest.Hold(b.hall.Seats(i+1)))
	}
	for i, err := range inventorytest.Race(len(guests), func(i int) error {
		_, err := b.Sales.Checkout(t.Context(), guests[i].Actor, bookingstest.CheckoutOf(holds[i], fmt.Sprintf("tok_webhook_before_response:c%d", i)))
		return err
	}) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	b.Settle()
	for _, hold := range holds {
		expect(t, "the sale", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	}
	b.Audit()
}
