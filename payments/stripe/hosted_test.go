package stripe_test

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/stripe"
	"github.com/holdfast/holdfast/payments/stripe/stripetest"
)

func TestAPageIsPaidAtTheSecondTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	opened := b.charge(pageOf(key), payments.OutcomeStatePending)
	page := b.server.Pages(key)[0]
	b.server.PayPage(page, stripetest.MethodDeclined)
	for _, process := range []*bench{b, b.other()} {
		// The buyer may try another card on the page, so nothing is declined yet.
		if found := process.lookUp(key, payments.OutcomeStatePending); found.RedirectURL != opened.RedirectURL {
			t.Errorf("got %+v, opened %+v", found, opened)
		}
	}
	b.server.PayPage(page, stripetest.MethodCard)
	for _, process := range []*bench{b, b.other()} {
		found := process.lookUp(key, payments.OutcomeStateApproved)
		if found.Captured != euros(4200) || found.ChargeID == "" || found.InstrumentFingerprint == "" || found.RedirectURL != "" {
			t.Errorf("got %+v", found)
		}
	}
}

func TestAPageThatEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		act  func(b *bench, page, key string)
		want payments.OutcomeState
	}{
		"unused": {func(b *bench, page, _ string) { b.server.ExpirePage(page) }, payments.OutcomeStateDeclined},
		"after a decline": {func(b *bench, page, _ string) {
			b.server.PayPage(page, stripetest.MethodDeclined)
			b.server.ExpirePage(page)
		}, payments.OutcomeStateDeclined},
		"during a 3DS": {func(b *bench, page, _ string) {
			b.server.PayPage(page, stripetest.MethodAuthentication)
			b.server.ExpirePage(page)
		}, payments.OutcomeStatePending},
		"with a debit": {func(b *bench, page, _ string) { b.server.PayPage(page, stripetest.MethodDebit) }, payments.OutcomeStatePending},
		"a debit refused": {func(b *bench, page, key string) {
			b.server.PayPage(page, stripetest.MethodDebit)
			b.server.Settle(b.only(key).ID, false)
		}, payments.OutcomeStateDeclined},
		"a debit approved": {func(b *bench, page, key string) {
			b.server.PayPage(page, stripetest.MethodDebit)
			b.server.Settle(b.only(key).ID, true)
		}, payments.OutcomeStateApproved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			key := newKey()
			b.charge(pageOf(key), payments.OutcomeStatePending)
			c.act(b, b.server.Pages(key)[0], key)
			b.lookUp(key, c.want)
			b.cancel(key, c.want)
		})
	}
}

func TestAPageThatReserves(t *testing.T) {
	t.Parallel()
	for _, capture := range []bool{true, false} {
		b := newBench(t)
		key := newKey()
		request := pageOf(key)
		request.Capture = payments.CaptureManual
		b.charge(request, payments.OutcomeStatePending)
		if _, err := b.gateway.Capture(t.Context(), account, key); !errors.Is(err, payments.ErrRejected) {
			t.Errorf("capture of an open page: %v", err)
		}
		b.server.PayPage(b.server.Pages(key)[0], stripetest.MethodCard)
		b.lookUp(key, payments.OutcomeStateAuthorized)
		if capture {
			outcome, err := b.other().gateway.Capture(t.Context(), account, key)
			if err != nil || outcome.State != payments.OutcomeStateApproved {
				t.Errorf("got %+v, %v", outcome, err)
			}
		} else {
			b.other().cancel(key, payments.OutcomeStateDeclined)
		}
	}
}

// The page closes while the buyer pays: the buyer was first, and the money is known.
func TestClosingAPageThatIsBeingPaid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	b.charge(pageOf(key), payments.OutcomeStatePending)
	page := b.server.Pages(key)[0]
	b.server.Break(http.MethodPost, "/expire", stripetest.FaultLost, 1)
	b.cancel(key, payments.OutcomeStateUnknown)
	if b.server.PayPage(page, stripetest.MethodCard) {
		t.Error("the page had ended and was paid")
	}
	b.cancel(key, payments.OutcomeStateDeclined)
}

// Stripe wants half an hour at least. The end is the same in a repeated request, later as well.
func TestWhenAPageEnds(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	for name, c := range map[string]struct {
		window time.Duration
		later  time.Duration
		want   time.Duration
	}{
		"five minutes":       {window: 5 * time.Minute, later: 4 * time.Minute, want: 36 * time.Minute},
		"half an hour":       {window: 30 * time.Minute, later: 29 * time.Minute, want: 61 * time.Minute},
		"more than Stripe's": {window: 2 * time.Hour, later: time.Hour, want: 2 * time.Hour},
	} {
		b := newBench(t)
		request := pageOf(newKey())
		request.Hosted.ExpiresAt = now.Add(c.window)
		first := b.charge(request, payments.OutcomeStatePending)
		late := b.other(func(config *stripe.Config) { config.Now = func() time.Time { return now.Add(c.later) } })
		if again := late.charge(request, payments.OutcomeStatePending); again != first {
			t.Errorf("%s: opened again: %+v, first %+v", name, again, first)
		}
		for _, call := range b.server.Calls() {
			if call.Method == http.MethodPost && call.Form.Get("expires_at") != strconv.FormatInt(now.Add(c.want).Unix(), 10) {
				t.Errorf("%s: it ends at %s, want %s after now", name, call.Form.Get("expires_at"), c.want)
			}
		}
	}
}

func TestBadPagesAreNotOpened(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, change := range map[string]func(*payments.ChargeRequest){
		"the window is over": func(r *payments.ChargeRequest) { r.Hosted.ExpiresAt = time.Now().Add(-time.Second) },
		"no window":          func(r *payments.ChargeRequest) { r.Hosted.ExpiresAt = time.Time{} },
		"a window of days":   func(r *payments.ChargeRequest) { r.Hosted.ExpiresAt = time.Now().Add(25 * time.Hour) },
		"no return":          func(r *payments.ChargeRequest) { r.Hosted.ReturnURL = "" },
		"a script to return": func(r *payments.ChargeRequest) { r.Hosted.ReturnURL = "javascript:alert(1)" },
		"a token as well":    func(r *payments.ChargeRequest) { r.MethodToken = stripetest.MethodCard },
		"no amount":          func(r *payments.ChargeRequest) { r.Amount.Minor = 0 },
		"an unknown mode":    func(r *payments.ChargeRequest) { r.Capture = "LATER" },
	} {
		request := pageOf(newKey())
		change(&request)
		if outcome, err := b.gateway.Charge(t.Context(), request); !errors.Is(err, payments.ErrRejected) {
			t.Errorf("%s: %+v, %v", name, outcome, err)
		}
	}
	if calls := b.server.Calls(); len(calls) != 0 {
		t.Errorf("%d calls were made", len(calls))
	}
}
