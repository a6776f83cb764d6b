package bookings_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// mailbox keeps the provider's messages until a test hands them over, in the order that it likes.
type mailbox struct {
	mu       sync.Mutex
	messages []letter
}

type letter struct {
	header http.Header
	body   []byte
}

func (m *mailbox) open(s *bookingstest.Shop) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.messages = append(m.messages, letter{r.Header.Clone(), body})
		w.WriteHeader(http.StatusNoContent)
	}))
	s.Cleanup(server.Close)
	return server.URL
}

// about are the messages so far about a payment, in their order of arrival.
func (m *mailbox) about(attempt payments.AttemptID) []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []letter
	for _, l := range m.messages {
		if bytes.Contains(l.body, []byte(attempt.String())) {
			found = append(found, l)
		}
	}
	return found
}

// shuffled is one sale whose driver, jobs, events, buyer and rivals take turns in any order.
type shuffled struct {
	box
	mailbox *mailbox
	buyer   inventorytest.Buyer
	hold    inventory.Hold
	at      payments.Located[payments.AttemptID]
	hosted  bool
	// contradicts says that the provider's messages contradict each other.
	contradicts bool
}

// One sale, whose steps run twice, late, concurrently with a crash at any of them, and whose events
// are lost, doubled, early, late and out of order: it ends booked with the money, or without a
// booking and without the money, and the units are where they belong.
func TestNoOrderOfEventsAndStepsLosesASale(t *testing.T) {
	t.Parallel()
	box, letters := openWithMailbox(t)
	ends := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := begin(rt, box, letters)
		rt.Repeat(map[string]func(*rapid.T){
			"drive": s.drive, "drive again": s.drive, "crash": s.crash, "deliver": s.deliver, "deliver more": s.deliver,
			"decide": s.decide, "press": s.press, "lapse": s.lapse, "rival": s.rival, "refund": s.refund, "sweep": s.sweep,
		})
		s.finish(rt)
		ends[s.Sale(s.hold)]++
	})
	t.Logf("ended as %v", ends)
}

func openWithMailbox(t *testing.T) (box, *mailbox) {
	t.Helper()
	letters := &mailbox{}
	b := open(t, ownDatabase(t), func(s *bookingstest.Setup) {
		s.Webhooks = letters.open
		s.Sales.AfterStep = bookingstest.Crash("checkout")
	})
	return b, letters
}

func begin(rt *rapid.T, b box, letters *mailbox) *shuffled {
	change := inventory.TermsChange{
		Capture:     inventorytest.Of(rapid.SampledFrom([]inventory.Capture{inventory.CaptureAutomatic, inventory.CaptureManual}).Draw(rt, "capture")),
		LatePayment: inventorytest.Of(rapid.SampledFrom([]inventory.LatePayment{inventory.LatePaymentHonour, inventory.LatePaymentRefund}).Draw(rt, "late")),
		OnDecline:   inventorytest.Of(rapid.SampledFrom([]inventory.OnDecline{inventory.OnDeclineRelease, inventory.OnDeclineKeep}).Draw(rt, "decline")),
	}
	b.SetTerms(change)
	b.hall = b.Hall(1)
	s := &shuffled{box: b, mailbox: letters, buyer: b.Guest()}
	s.hold = s.buyer.Hold(b.hall.Seats(1))
	token := rapid.SampledFrom([]string{
		"", sandbox.TokenApprove, sandbox.TokenDecline, slow, slowNo, sandbox.TokenErrorApprove, sandbox.TokenLostOnce, sandbox.TokenConfirm,
		sandbox.TokenApproveThenDecline, sandbox.TokenCaptureFails, sandbox.TokenCaptureError, "tok_late_approve_after_600s",
		sandbox.TokenRefundFailsOnce, sandbox.TokenRefundError, sandbox.TokenRefundLostOnce, sandbox.TokenWrongAmount,
	}).Draw(rt, "token")
	s.hosted = token == "" || token == sandbox.TokenConfirm
	s.contradicts = token == sandbox.TokenApproveThenDecline
	input := bookingstest.CheckoutOf(s.hold, "")
	if token == "" {
		input.ReturnURL = "https://shop.example/thanks"
	} else {
		input.MethodToken = fmt.Sprintf("%s:%s", token, s.hold.ID.UUID)
	}
	// The process dies after the checkout, so that nothing is driven but by the schedule.
	died := b.Service(bookings.Config{InlineWait: bookingstest.Patience, AfterStep: bookingstest.Crash("checkout")}, b.Gateway)
	bookingstest.Survive(func() {
		if _, err := died.Checkout(rt.Context(), s.buyer.Actor, input); err != nil {
			rt.Errorf("refused: %v", err)
		}
	})
	s.at = b.Attempt(s.hold)
	return s
}

func (s *shuffled) drive(rt *rapid.T) {
	if err := s.service().DriveCharge(rt.Context(), s.at); err != nil {
		rt.Fatal(err)
	}
}

// service is a process without memory.
func (s *shuffled) service() *bookings.Service { return s.Service(bookings.Config{}, s.Gateway) }

func (s *shuffled) crash(rt *rapid.T) {
	step := rapid.SampledFrom([]string{"submit", "charge", "authorize", "judge", "capture", "apply", "submit refund", "refund"}).Draw(rt, "step")
	dying := s.Service(bookings.Config{AfterStep: bookingstest.Crash(step)}, s.Gateway)
	bookingstest.Survive(func() {
		if err := dying.DriveCharge(rt.Context(), s.at); err != nil {
			rt.Errorf("drive: %v", err)
			return
		}
		for _, refund := range s.Refunds(s.hold)[s.at.ID] {
			_ = dying.DriveRefund(rt.Context(), payments.Located[payments.RefundID]{Tenant: s.ID, ID: refund.ID})
		}
	})
}

// deliver hands over any message, perhaps not for the first time.
func (s *shuffled) deliver(rt *rapid.T) {
	if err := s.Provider.DrainWebhooks(rt.Context()); err != nil {
		rt.Fatal(err)
	}
	letters := s.mailbox.about(s.at.ID)
	if len(letters) == 0 {
		return
	}
	s.hand(rt, letters[rapid.IntRange(0, len(letters)-1).Draw(rt, "message")])
}

func (s *shuffled) hand(rt *rapid.T, l letter) {
	if err := s.service().HandleWebhook(rt.Context(), s.ProviderName, l.header, l.body); err != nil {
		rt.Fatal(err)
	}
}

func (s *shuffled) decide(*rapid.T) {
	if !s.hosted {
		s.Provider.Settle(s.Account, s.at.ID.String())
	}
}

func (s *shuffled) press(rt *rapid.T) {
	button := rapid.SampledFrom([]string{"pay", "pay", "decline", "leave"}).Draw(rt, "button")
	if s.hosted && len(s.mine()) > 0 {
		if err := s.Provider.Press(s.Account, s.at.ID.String(), button, sandbox.TokenApprove); err != nil {
			rt.Fatal(err)
		}
	}
}

// mine are the provider's charges of the sale.
func (s *shuffled) mine() []sandbox.Charge {
	var found []sandbox.Charge
	for _, charge := range s.Provider.Charges() {
		if charge.Key == s.at.ID.String() {
			found = append(found, charge)
		}
	}
	return found
}

func (s *shuffled) lapse(*rapid.T) {
	if s.buyer.Read(s.hold).State.Live() {
		s.Lapse(s.hold)
	}
}

// rival takes the seat when it is to be had, and gives it back.
func (s *shuffled) rival(rt *rapid.T) {
	rival := s.Guest()
	taken, err := rival.Try(s.hall.Seats(1))
	if err != nil {
		if !refused(err) {
			rt.Fatal(err)
		}
		return
	}
	if rapid.Bool().Draw(rt, "gives it back") {
		rival.Release(taken)
	}
}

func (s *shuffled) refund(rt *rapid.T) {
	for _, refund := range s.Refunds(s.hold)[s.at.ID] {
		if err := s.service().DriveRefund(rt.Context(), payments.Located[payments.RefundID]{Tenant: s.ID, ID: refund.ID}); err != nil {
			rt.Fatal(err)
		}
	}
}

func (s *shuffled) sweep(rt *rapid.T) {
	if _, err := s.Inventory.ExpireDue(rt.Context(), 1000); err != nil {
		rt.Fatal(err)
	}
}

// finish lets the truth out, ends every wait, and counts.
func (s *shuffled) finish(rt *rapid.T) {
	s.decide(rt)
	// Nobody presses any more: what waits for the buyer ends with the window.
	s.lapse(rt)
	s.Age(16 * time.Minute)
	s.Sales = s.service()
	s.Settle()
	if s.contradicts {
		// Only its own event takes a false word of the provider back.
		if err := s.Provider.DrainWebhooks(rt.Context()); err != nil {
			rt.Fatal(err)
		}
		for _, l := range rapid.Permutation(s.mailbox.about(s.at.ID)).Draw(rt, "the last messages") {
			s.hand(rt, l)
		}
		s.Settle()
	}
	ended := s.Sale(s.hold)
	var kept int64
	for _, charge := range s.mine() {
		kept += charge.Captured.Minor - charge.Refunded.Minor
	}
	booked := strings.Contains(ended, "BOOKED")
	switch {
	case len(s.mine()) > 1:
		rt.Fatalf("%d charges: %s", len(s.mine()), ended)
	case booked && kept != s.hold.Total.Minor, !booked && kept != 0:
		rt.Fatalf("the provider keeps %d: %s", kept, ended)
	case s.Attempts(s.hold)[0].State.Open():
		rt.Fatalf("still open: %s", ended)
	}
	report, err := s.Sales.Audit(rt.Context(), &s.ID)
	if err != nil || !report.OK {
		rt.Fatalf("%s: audit: %+v, %v", ended, report, err)
	}
	// All of it once more changes nothing.
	for _, l := range s.mailbox.about(s.at.ID) {
		s.hand(rt, l)
	}
	s.drive(rt)
	s.Settle()
	if again := s.Sale(s.hold); again != ended {
		rt.Fatalf("ended as %s, and then as %s", ended, again)
	}
}
