package bookings_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// foreign charges the shop's account without an attempt of ours.
func (b box) foreign(t *testing.T, token string) payments.Outcome {
	t.Helper()
	outcome, err := b.Gateway.Charge(t.Context(), payments.ChargeRequest{
		Account: b.Account, Key: "by-hand-" + inventorytest.Key(), Amount: money.Amount{Minor: 700, Currency: "EUR"}, MethodToken: token,
	})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// forgotten is a paid hold that we believe to be declined.
func (b box) forgotten(t *testing.T, seat int) inventory.Hold {
	t.Helper()
	hold, _ := b.pendingOn(seat)
	b.decide(t, hold)
	b.Exec("UPDATE payment_attempts SET state = 'DECLINED', settled_at = now(), next_check_at = NULL WHERE tenant_id = $1 AND hold_id = $2", hold.ID.UUID)
	return hold
}

func TestTheProvidersListFindsWhatNoLookUpCan(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	guest := b.Guest()
	b.Pay(guest, guest.Hold(b.hall.Seats(1)), sandbox.TokenApprove)
	b.foreign(t, sandbox.TokenDecline)
	taken := b.foreign(t, sandbox.TokenApprove)
	hold := b.forgotten(t, 2)
	wrong := guest.Hold(b.hall.Seats(3))
	b.Pay(guest, wrong, sandbox.TokenApprove)
	b.Exec("UPDATE payment_attempts SET captured_minor = 4999 WHERE tenant_id = $1 AND hold_id = $2", wrong.ID.UUID)

	done, err := b.Sales.ReconcileCharges(t.Context())
	if err != nil || done != (bookings.Listed{Accounts: 1, Charges: 5, Settled: 1, Differences: 2}) {
		t.Errorf("it says %+v, %v", done, err)
	}
	expect(t, "declined, but captured", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	expect(t, "repairs", b.repairs(t), "CONFIRMED 1")
	expect(t, "the review queue", b.unresolved(t), "CHARGE_FOREIGN, CHARGE_AMOUNT_DIFFERS")
	item := b.waiting(t)[0]
	if item.Detail != taken.ChargeID || item.Amount != taken.Captured || !item.Attempt.IsZero() {
		t.Errorf("the foreign charge is told as %+v", item)
	}
	if _, err := b.Sales.ResolveReview(t.Context(), b.Owner, item.Item, "Sold at the bar."); err != nil {
		t.Fatal(err)
	}
	// Not due yet; and when it is, nothing is new, and what was decided stays so.
	if done, err := b.Sales.ReconcileCharges(t.Context()); err != nil || done.Accounts != 0 {
		t.Errorf("too early: %+v, %v", done, err)
	}
	b.Exec("UPDATE payment_listings SET due_at = now() - interval '1 second' WHERE tenant_id = $1")
	if done, err := b.Sales.ReconcileCharges(t.Context()); err != nil || done != (bookings.Listed{Accounts: 1, Charges: 5, Differences: 1}) {
		t.Errorf("once more: %+v, %v", done, err)
	}
	expect(t, "repairs", b.repairs(t), "CONFIRMED 1")
	expect(t, "the review queue", b.unresolved(t), "CHARGE_AMOUNT_DIFFERS")
}

// A pass that stops in the middle goes on where it stopped.
func TestAListIsReadOnWhereItStopped(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	for range 3 {
		b.foreign(t, sandbox.TokenApprove)
	}
	page, next, err := b.Gateway.ListCharges(t.Context(), b.Account, b.Now().Add(-time.Hour), "", 2)
	if err != nil || len(page) != 2 || next == "" {
		t.Fatalf("the first page has %d charges, next %q, %v", len(page), next, err)
	}
	b.Exec(`INSERT INTO payment_listings (tenant_id, region, provider, account, listed_since, list_after, pass_began, due_at)
		SELECT id, home_region, payment_provider, payment_account, now() - interval '1 hour', $2, now(), now() FROM tenants WHERE id = $1`, next)
	if done, err := b.Sales.ReconcileCharges(t.Context()); err != nil || done.Charges != 1 || done.Differences != 1 {
		t.Errorf("it says %+v, %v", done, err)
	}
}

// everything is what a dry run must not change.
func (b box) everything(t *testing.T) string {
	t.Helper()
	var parts []string
	for _, table := range []string{"payment_attempts", "refunds", "payment_repairs", "payment_differences", "provider_events", "outbox_events", "bookings", "holds", "payment_listings"} {
		var text string
		if err := b.DB.Pool().QueryRow(t.Context(), "SELECT COALESCE(string_agg(x::text, '|' ORDER BY x::text), '') FROM "+table+" AS x WHERE tenant_id = $1", b.ID.UUID).Scan(&text); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, table+": "+text)
	}
	return strings.Join(parts, "\n")
}

// trouble is one of each: a paid hold whose process died, one paid too late, one never charged, an
// unpaid refund, a forgotten success, and a charge of nobody.
func (b box) trouble(t *testing.T) {
	t.Helper()
	paid, _ := b.pendingOn(1)
	b.decide(t, paid)
	b.terms(refundLate())
	late, _ := b.pendingOn(2)
	b.Lapse(late)
	b.decide(t, late)
	b.Restart(bookings.Config{InlineWait: bookingstest.Patience, AfterStep: bookingstest.Crash("checkout")})
	guest := b.Guest()
	unsent := guest.Hold(b.hall.Seats(3))
	bookingstest.Survive(func() { _, _ = b.TryPay(guest, unsent, sandbox.TokenApprove+":unsent") })
	b.Lapse(unsent)
	b.Restart(bookings.Config{InlineWait: bookingstest.Patience})
	buyer := b.Guest()
	cancelled := buyer.Hold(b.hall.Seats(4))
	b.Pay(buyer, cancelled, sandbox.TokenApprove+":cancelled")
	b.cancelWhole(t, cancelled)
	b.forgotten(t, 5)
	b.foreign(t, sandbox.TokenApprove)
	b.Age(time.Minute)
}

// A dry run says exactly what the real one then does, and changes nothing; a second one finds nothing.
func TestADryRunSaysWhatTheRealOneDoes(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.trouble(t)
	before := b.everything(t)
	input := b.today()
	input.DryRun = true
	foreseen := b.reconcile(t, input)
	if after := b.everything(t); after != before {
		t.Errorf("the dry run changed something\nbefore: %s\nafter:  %s", before, after)
	}
	want := map[bookings.RepairKind]int64{
		bookings.RepairConfirmed: 2, bookings.RepairReleased: 1, bookings.RepairOrphanRefunded: 1, bookings.RepairRefundCompleted: 1,
	}
	check := func(what string, report bookings.RangeReport) {
		t.Helper()
		for _, kind := range bookings.RepairKinds() {
			if report.Repaired[kind] != want[kind] {
				t.Errorf("%s: %d %s, want %d", what, report.Repaired[kind], kind, want[kind])
			}
		}
		if report.Disputed != 1 || len(report.Differences) != 1 || report.Differences[0].Reason != bookings.DifferenceForeign || report.Waiting+report.Unreachable != 0 {
			t.Errorf("%s: %+v", what, report)
		}
	}
	check("foreseen", foreseen)
	check("done", b.reconcile(t, b.today()))
	expect(t, "counted", b.repairs(t), "CONFIRMED 2, RELEASED 1, ORPHAN_REFUNDED 1, REFUND_COMPLETED 1")
	clear(want)
	check("once more", b.reconcile(t, b.today()))
	expect(t, "counted", b.repairs(t), "CONFIRMED 2, RELEASED 1, ORPHAN_REFUNDED 1, REFUND_COMPLETED 1")
	b.audit(t)
}

// What is only begun is foreseen as it is then done: a reservation is captured or let go, a page that
// is over is closed, and a refund waits for its dispute.
func TestADryRunForeseesWhatIsHalfDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T) box
		want    string
	}{
		"reserved": {func(t *testing.T) box {
			b, _, _ := reserved(t)
			return b
		}, "CONFIRMED 1, waiting 0"},
		"reserved, too late": {func(t *testing.T) box {
			b, _, hold := reserved(t)
			b.Lapse(hold)
			b.Guest().Hold(b.hall.Seats(1))
			return b
		}, "RELEASED 1, waiting 0"},
		"on a page": {func(t *testing.T) box {
			b := open(t)
			guest := b.Guest()
			b.onPage(t, guest, guest.Hold(b.hall.Seats(1)))
			return b
		}, "waiting 1"},
		"on a page, too late": {func(t *testing.T) box {
			b := open(t)
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(1))
			b.onPage(t, guest, hold)
			b.Lapse(hold)
			b.Exec("UPDATE payment_attempts SET pay_until = clock_timestamp() - interval '1 second' WHERE tenant_id = $1")
			return b
		}, "RELEASED 1, waiting 0"},
		"a refund of disputed money": {func(t *testing.T) box {
			b := open(t)
			hold, attempt := b.paid(t, sandbox.TokenApprove)
			b.cancelWhole(t, hold)
			b.mustDeliver(t, b.disputeMessage(attempt, "dp_1", "opened", 5000))
			return b
		}, "waiting 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.prepare(t)
			for _, dryRun := range []bool{true, false} {
				input := b.today()
				input.DryRun = dryRun
				report := b.reconcile(t, input)
				var told []string
				for _, kind := range bookings.RepairKinds() {
					if n := report.Repaired[kind]; n > 0 {
						told = append(told, fmt.Sprintf("%s %d", kind, n))
					}
				}
				told = append(told, fmt.Sprintf("waiting %d", report.Waiting))
				expect(t, fmt.Sprintf("dry run %t", dryRun), strings.Join(told, ", "), c.want)
			}
			b.audit(t)
		})
	}
}

// What should be impossible is named and not touched.
func TestWhatShouldBeImpossibleIsNamed(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	unpaid, unbooked := guest.Hold(b.hall.Seats(1)), guest.Hold(b.hall.Seats(2))
	b.Pay(guest, unpaid, sandbox.TokenApprove+":a")
	b.Pay(guest, unbooked, sandbox.TokenApprove+":b")
	b.Exec("UPDATE payment_attempts SET state = 'DECLINED', disposition = NULL, captured_minor = 0, provider = 'elsewhere' WHERE tenant_id = $1 AND hold_id = $2", unpaid.ID.UUID)
	b.Exec("DELETE FROM booking_lines WHERE tenant_id = $1 AND booking_id IN (SELECT id FROM bookings WHERE hold_id = $2)", unbooked.ID.UUID)
	b.Exec("DELETE FROM bookings WHERE tenant_id = $1 AND hold_id = $2", unbooked.ID.UUID)
	before := b.everything(t)
	input := b.today()
	input.Charges = file()
	input.Provider = b.ProviderName
	report := b.reconcile(t, input)
	var reasons []string
	for _, d := range report.Differences {
		reasons = append(reasons, string(d.Reason))
	}
	expect(t, "named", strings.Join(reasons, ", "), "PAID_UNCONFIRMED, CONFIRMED_UNPAID")
	expect(t, "untouched", b.everything(t), before)
}

// file gives charges as a file does, with their lines.
func file(charges ...payments.ListedCharge) iter.Seq2[bookings.FileCharge, error] {
	return func(yield func(bookings.FileCharge, error) bool) {
		for i, charge := range charges {
			if !yield(bookings.FileCharge{ListedCharge: charge, Line: i + 2}, nil) {
				return
			}
		}
	}
}

// listed is an attempt's charge as a file would tell it.
func (b box) listed(attempt payments.Attempt, charge string, change func(c *payments.ListedCharge)) payments.ListedCharge {
	c := payments.ListedCharge{
		ID: charge, Account: b.Account, Reference: attempt.Reference(), State: payments.OutcomeStateApproved, Captured: attempt.Amount,
		Refunded: money.Amount{Currency: attempt.Amount.Currency}, CreatedAt: b.Now(),
	}
	if change != nil {
		change(&c)
	}
	return c
}

func TestEachWayInWhichAChargeCanDiffer(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	b.Pay(guest, hold, sandbox.TokenApprove)
	attempt := b.Attempts(hold)[0]
	charge := attempt.ProviderCharge
	for want, change := range map[string]func(c *payments.ListedCharge){
		"":                 func(*payments.ListedCharge) {},
		"ACCOUNT_DIFFERS":  func(c *payments.ListedCharge) { c.Account = "acct_other" },
		"CURRENCY_DIFFERS": func(c *payments.ListedCharge) { c.Captured.Currency = "JPY" },
		"AMOUNT_DIFFERS":   func(c *payments.ListedCharge) { c.Captured.Minor-- },
		"SECOND_CHARGE":    func(c *payments.ListedCharge) { c.ID = "ch_second" },
		"NOT_CAPTURED": func(c *payments.ListedCharge) {
			c.State, c.Captured.Minor = payments.OutcomeStateDeclined, 0
		},
		"REFUND_DIFFERS": func(c *payments.ListedCharge) { c.Refunded.Minor = 1 },
		"FOREIGN":        func(c *payments.ListedCharge) { c.Reference = payments.Reference{} },
	} {
		input := b.today()
		input.Provider, input.Charges, input.DryRun = b.ProviderName, file(b.listed(attempt, charge, change)), true
		report := b.reconcile(t, input)
		got := ""
		for _, d := range report.Differences {
			got += string(d.Reason)
			if d.Line != 2 {
				t.Errorf("%s is on line %d", d.Reason, d.Line)
			}
		}
		expect(t, "the difference", got, want)
	}
}

// A file is believed only where the provider itself cannot be asked.
func TestTheProvidersWordGoesBeforeAFiles(t *testing.T) {
	t.Parallel()
	b := open(t)
	hold, attempt := b.pending()
	if err := b.deliver(t, b.chargeMessage(attempt, "declined")); err != nil {
		t.Fatal(err)
	}
	charges := b.listed(attempt, "ch_1", nil)
	input := b.today()
	input.Provider, input.Charges = b.ProviderName, file(charges)
	report := b.reconcile(t, input)
	if report.Disputed != 1 || report.Differences[0].Reason != bookings.DifferenceNotCaptured {
		t.Errorf("the provider says otherwise, and we say %+v", report)
	}
	expect(t, "untouched", b.Sale(hold), "RELEASED DECLINED/card_declined")

	elsewhere := b.Service(bookings.Config{}, b.Gateway)
	b.Exec("UPDATE payment_attempts SET provider = 'elsewhere' WHERE tenant_id = $1")
	input.Provider, input.Charges = "elsewhere", file(charges)
	report, err := elsewhere.ReconcileRange(t.Context(), input)
	if err != nil || report.Disputed != 0 {
		t.Errorf("a provider that cannot be asked: %+v, %v", report, err)
	}
	expect(t, "the file is all there is", b.Sale(hold), "RELEASED SUCCEEDED/ORPHANED refund 5000 REQUESTED")
}

func TestWhatAReconciliationByHandRefuses(t *testing.T) {
	t.Parallel()
	b := open(t)
	input := b.today()
	input.Provider = "nobody"
	if _, err := b.Sales.ReconcileRange(t.Context(), input); err == nil || !strings.Contains(err.Error(), `"nobody" is not configured`) {
		t.Errorf("an unknown provider: %v", err)
	}
	broken := errors.New("line 7, Amount: expected a number")
	input.Charges = func(yield func(bookings.FileCharge, error) bool) { yield(bookings.FileCharge{}, broken) }
	if _, err := b.Sales.ReconcileRange(t.Context(), input); !errors.Is(err, broken) {
		t.Errorf("a bad file: %v", err)
	}
}
