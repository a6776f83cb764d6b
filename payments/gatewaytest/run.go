package gatewaytest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
)

// Run runs the contract. start makes a fresh provider for each part of it.
func Run(t *testing.T, start func(t testing.TB) Provider) {
	t.Helper()
	for name, part := range map[string]func(*suite){
		"a charge is taken once":                       chargedOnce,
		"a decline is final":                           declinedForGood,
		"a lost answer is found":                       lostAnswer,
		"a lost request is not found and sent again":   lostRequest,
		"a charge that waits is decided later":         decidedLater,
		"a key stands for one request":                 keyStandsForOne,
		"many at once take once":                       manyAtOnce,
		"an unknown key is not found":                  unknownKey,
		"a malformed request is rejected":              malformed,
		"a cancelled context is unknown":               cancelledContext,
		"a reservation is captured once":               capturedOnce,
		"a reservation is let go":                      letGo,
		"a charge that waits is cancelled":             waitingCancelled,
		"what was taken is not cancelled":              takenNotCancelled,
		"what is not reserved is not captured":         nothingToCapture,
		"a page takes the money":                       pagePays,
		"a page is cancelled":                          pageCancelled,
		"refunds are actions":                          refundActions,
		"a refund above the rest is rejected":          refundAboveRest,
		"a lost answer to a refund is found":           refundLost,
		"messages say what was charged and refunded":   messages,
		"messages that are not authentic are refused":  forgeries,
		"an instrument is the same under every charge": fingerprints,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(newSuite(t, start(t)))
		})
	}
}

func (s *suite) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	s.Cleanup(cancel)
	return ctx
}

func chargedOnce(s *suite) {
	first, err := s.charge(s.request(s.Approve))
	s.fine("charge", err)
	s.is("charge", first, payments.OutcomeStateApproved)
	again, err := s.charge(s.request(s.Approve))
	s.fine("charge again", err)
	if again != first {
		s.Errorf("charged again: %+v, first %+v", again, first)
	}
	if found := s.lookUp(); found != first {
		s.Errorf("looked up: %+v, first %+v", found, first)
	}
	s.took(price().Minor)
}

func declinedForGood(s *suite) {
	for range 2 {
		outcome, err := s.charge(s.request(s.Decline))
		s.fine("charge", err)
		s.is("charge", outcome, payments.OutcomeStateDeclined)
	}
	s.is("look up", s.lookUp(), payments.OutcomeStateDeclined)
	s.is("cancel", s.cancel(), payments.OutcomeStateDeclined)
	s.took(0)
}

func lostAnswer(s *suite) {
	s.LoseAnswer()
	_, err := s.charge(s.request(s.Approve))
	if err == nil || errors.Is(err, payments.ErrRejected) || errors.Is(err, payments.ErrKeyReused) {
		s.Fatalf("a lost answer was told as %v", err)
	}
	s.is("look up", s.lookUp(), payments.OutcomeStateApproved)
	again, err := s.charge(s.request(s.Approve))
	s.fine("charge again", err)
	s.is("charge again", again, payments.OutcomeStateApproved)
	s.took(price().Minor)
}

func lostRequest(s *suite) {
	s.LoseRequest()
	_, err := s.charge(s.request(s.Approve))
	if err == nil || errors.Is(err, payments.ErrRejected) {
		s.Fatalf("a lost request was told as %v", err)
	}
	s.is("look up", s.lookUp(), payments.OutcomeStateNotFound)
	again, err := s.charge(s.request(s.Approve))
	s.fine("charge again", err)
	s.is("charge again", again, payments.OutcomeStateApproved)
	s.took(price().Minor)
}

func decidedLater(s *suite) {
	for _, approve := range []bool{true, false} {
		one := newSuite(s.TB, s.Provider)
		outcome, err := one.charge(one.request(one.Pending))
		one.fine("charge", err)
		one.is("charge", outcome, payments.OutcomeStatePending)
		one.is("look up", one.lookUp(), payments.OutcomeStatePending)
		one.Settle(one.key, approve)
		want, taken := payments.OutcomeStateApproved, price().Minor
		if !approve {
			want, taken = payments.OutcomeStateDeclined, 0
		}
		one.is("look up after the decision", one.lookUp(), want)
		again, err := one.charge(one.request(one.Pending))
		one.fine("charge again", err)
		one.is("charge again", again, want)
		one.took(taken)
	}
}

func keyStandsForOne(s *suite) {
	_, err := s.charge(s.request(s.Approve))
	s.fine("charge", err)
	other := s.request(s.Approve)
	other.Amount.Minor++
	if _, err := s.charge(other); !errors.Is(err, payments.ErrKeyReused) || errors.Is(err, payments.ErrRejected) {
		s.Errorf("another amount under the key: %v", err)
	}
	s.is("look up", s.lookUp(), payments.OutcomeStateApproved)
	s.took(price().Minor)
}

func manyAtOnce(s *suite) {
	const callers = 8
	var done sync.WaitGroup
	for range callers {
		done.Go(func() {
			if _, err := s.charge(s.request(s.Approve)); errors.Is(err, payments.ErrRejected) {
				s.Errorf("one of many: %v", err)
			}
		})
	}
	done.Wait()
	s.is("look up", s.lookUp(), payments.OutcomeStateApproved)
	s.took(price().Minor)
}

func unknownKey(s *suite) {
	s.is("look up", s.lookUp(), payments.OutcomeStateNotFound)
	s.is("cancel", s.cancel(), payments.OutcomeStateNotFound)
	if _, err := s.capture(); err == nil {
		s.Error("nothing was captured without an error")
	}
	refund, err := s.Gateway.LookUpRefund(s.context(), s.Account, s.key)
	if err != nil || refund.State != payments.RefundStateNotFound {
		s.Errorf("look up a refund: %+v, %v", refund, err)
	}
}

func malformed(s *suite) {
	for name, change := range map[string]func(*payments.ChargeRequest){
		"no account":       func(r *payments.ChargeRequest) { r.Account = "" },
		"no key":           func(r *payments.ChargeRequest) { r.Key = "" },
		"no amount":        func(r *payments.ChargeRequest) { r.Amount.Minor = 0 },
		"negative amount":  func(r *payments.ChargeRequest) { r.Amount.Minor = -1 },
		"no currency":      func(r *payments.ChargeRequest) { r.Amount.Currency = "" },
		"unknown currency": func(r *payments.ChargeRequest) { r.Amount.Currency = "QQQ" },
		"no token":         func(r *payments.ChargeRequest) { r.MethodToken = "" },
		"unknown token":    func(r *payments.ChargeRequest) { r.MethodToken = "no such token" },
	} {
		request := s.request(s.Approve)
		change(&request)
		if _, err := s.charge(request); !errors.Is(err, payments.ErrRejected) {
			s.Errorf("%s: %v", name, err)
		}
	}
	s.took(0)
}

func cancelledContext(s *suite) {
	ctx, cancel := context.WithCancel(s.context())
	cancel()
	outcome, err := s.Gateway.Charge(ctx, s.request(s.Approve))
	s.checked("charge", outcome, err)
	if err == nil || errors.Is(err, payments.ErrRejected) {
		s.Errorf("charge: %v", err)
	}
	if outcome, err = s.Gateway.LookUp(ctx, s.Account, s.key); err == nil {
		s.Errorf("look up: %+v", outcome)
	}
	if outcome, err = s.Gateway.Cancel(ctx, s.Account, s.key); err == nil {
		s.Errorf("cancel: %+v", outcome)
	}
	refund, err := s.Gateway.Refund(ctx, payments.RefundRequest{Account: s.Account, Key: s.key, ChargeID: "charge", Amount: price()})
	if err == nil || refund.State != payments.RefundStateUnknown {
		s.Errorf("refund: %+v", refund)
	}
}

func (s *suite) reserve() payments.Outcome {
	s.Helper()
	request := s.request(s.Approve)
	request.Capture = payments.CaptureManual
	outcome, err := s.charge(request)
	s.fine("reserve", err)
	s.is("reserve", outcome, payments.OutcomeStateAuthorized)
	s.took(0)
	return outcome
}

func capturedOnce(s *suite) {
	s.reserve()
	s.is("look up", s.lookUp(), payments.OutcomeStateAuthorized)
	for range 2 {
		outcome, err := s.capture()
		s.fine("capture", err)
		s.is("capture", outcome, payments.OutcomeStateApproved)
	}
	s.is("look up", s.lookUp(), payments.OutcomeStateApproved)
	s.took(price().Minor)
}

func letGo(s *suite) {
	s.reserve()
	for range 2 {
		s.is("cancel", s.cancel(), payments.OutcomeStateDeclined)
	}
	outcome, err := s.capture()
	s.fine("capture", err)
	s.is("capture", outcome, payments.OutcomeStateDeclined)
	s.is("look up", s.lookUp(), payments.OutcomeStateDeclined)
	s.took(0)
}

func waitingCancelled(s *suite) {
	outcome, err := s.charge(s.request(s.Pending))
	s.fine("charge", err)
	s.is("charge", outcome, payments.OutcomeStatePending)
	s.is("cancel", s.cancel(), payments.OutcomeStateDeclined)
	s.Settle(s.key, true)
	s.is("look up", s.lookUp(), payments.OutcomeStateDeclined)
	s.took(0)
}

func takenNotCancelled(s *suite) {
	_, err := s.charge(s.request(s.Approve))
	s.fine("charge", err)
	s.is("cancel", s.cancel(), payments.OutcomeStateApproved)
	s.took(price().Minor)
}

func nothingToCapture(s *suite) {
	_, err := s.charge(s.request(s.Pending))
	s.fine("charge", err)
	if _, err := s.capture(); !errors.Is(err, payments.ErrRejected) {
		s.Errorf("capture of what waits for the buyer: %v", err)
	}
}

func (s *suite) openPage() {
	s.Helper()
	if s.PayPage == nil {
		s.Skip("the provider has no pages")
	}
	outcome, err := s.charge(s.pageRequest())
	s.fine("open the page", err)
	s.is("open the page", outcome, payments.OutcomeStatePending)
	if outcome.RedirectURL == "" {
		s.Fatal("the page has no address")
	}
}

func (s *suite) pageRequest() payments.ChargeRequest {
	request := s.request("")
	request.Hosted = &payments.HostedPage{ReturnURL: "https://shop.example.com/back", ExpiresAt: time.Now().Add(5 * time.Minute).Truncate(time.Second)}
	return request
}

func pagePays(s *suite) {
	s.openPage()
	s.is("look up", s.lookUp(), payments.OutcomeStatePending)
	if !s.PayPage(s.key) {
		s.Fatal("the page cannot be paid")
	}
	s.is("look up", s.lookUp(), payments.OutcomeStateApproved)
	s.is("cancel", s.cancel(), payments.OutcomeStateApproved)
	s.took(price().Minor)
}

func pageCancelled(s *suite) {
	s.openPage()
	for range 2 {
		s.is("cancel", s.cancel(), payments.OutcomeStateDeclined)
	}
	if s.PayPage(s.key) {
		s.Error("a cancelled page was paid")
	}
	s.is("look up", s.lookUp(), payments.OutcomeStateDeclined)
	s.took(0)
}

// refund gives an amount back under a key of its own.
func (s *suite) refund(charge, action string, amount money.Amount) (payments.RefundOutcome, error) {
	s.Helper()
	outcome, err := s.Gateway.Refund(s.context(), payments.RefundRequest{
		Account: s.Account, Key: s.key + action, Reference: s.reference, ChargeID: charge, Amount: amount, Reason: "test",
	})
	if (outcome.State == payments.RefundStateUnknown) != (err != nil) {
		s.Errorf("refund %s: state %s with error %v", action, outcome.State, err)
	}
	return outcome, err
}

func (s *suite) paid() payments.Outcome {
	s.Helper()
	outcome, err := s.charge(s.request(s.Approve))
	s.fine("charge", err)
	s.is("charge", outcome, payments.OutcomeStateApproved)
	return outcome
}

func refundActions(s *suite) {
	charge := s.paid().ChargeID
	half := money.Amount{Minor: price().Minor / 2, Currency: price().Currency}
	var told [2]payments.RefundOutcome
	for n, action := range []string{"-first", "-second"} {
		outcome, err := s.refund(charge, action, half)
		s.fine("refund", err)
		again, err := s.refund(charge, action, half)
		s.fine("refund again", err)
		if again != outcome || outcome.State != payments.RefundStateSucceeded || outcome.Amount != half || outcome.Account != s.Account || outcome.ChargeID != charge {
			s.Errorf("refund %s: %+v, again %+v", action, outcome, again)
		}
		found, err := s.Gateway.LookUpRefund(s.context(), s.Account, s.key+action)
		if err != nil || found != outcome {
			s.Errorf("look up refund %s: %+v, %v", action, found, err)
		}
		told[n] = outcome
	}
	if told[0].RefundID == told[1].RefundID {
		s.Error("two refunds of the same amount were one")
	}
	if _, err := s.refund(charge, "-third", half); !errors.Is(err, payments.ErrRejected) {
		s.Errorf("a third half: %v", err)
	}
	other := half
	other.Minor--
	if _, err := s.refund(charge, "-first", other); !errors.Is(err, payments.ErrKeyReused) {
		s.Errorf("another amount under the key: %v", err)
	}
}

func refundAboveRest(s *suite) {
	charge := s.paid().ChargeID
	for name, amount := range map[string]money.Amount{
		"more than was captured": {Minor: price().Minor + 1, Currency: price().Currency},
		"nothing":                {Minor: 0, Currency: price().Currency},
		"another currency":       {Minor: 100, Currency: "USD"},
	} {
		if _, err := s.refund(charge, "-"+name[:4], amount); !errors.Is(err, payments.ErrRejected) {
			s.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.refund("no such charge", "-none", price()); !errors.Is(err, payments.ErrRejected) {
		s.Errorf("no such charge: %v", err)
	}
}

func refundLost(s *suite) {
	charge := s.paid().ChargeID
	s.LoseAnswer()
	if _, err := s.refund(charge, "-lost", price()); err == nil || errors.Is(err, payments.ErrRejected) {
		s.Fatalf("a lost answer was told as %v", err)
	}
	found, err := s.Gateway.LookUpRefund(s.context(), s.Account, s.key+"-lost")
	s.fine("look up", err)
	again, err := s.refund(charge, "-lost", price())
	s.fine("refund again", err)
	if again != found || again.State != payments.RefundStateSucceeded {
		s.Errorf("refund again: %+v, found %+v", again, found)
	}
}

// events are the messages about a key that change something.
func (s *suite) events(key string) map[payments.EventType]payments.Event {
	s.Helper()
	found := map[payments.EventType]payments.Event{}
	for _, delivery := range s.Deliveries() {
		event, err := s.Gateway.ParseWebhook(delivery.Header, delivery.Body)
		if err != nil {
			s.Errorf("read a message: %v", err)
			continue
		}
		if event.Key == key && event.Type != payments.EventTypeOther {
			found[event.Type] = event
		}
	}
	return found
}

func messages(s *suite) {
	charge := s.paid()
	_, err := s.refund(charge.ChargeID, "-told", price())
	s.fine("refund", err)
	event, ok := s.events(s.key)[payments.EventTypeChargeSucceeded]
	if !ok || event.ID == "" || event.Provider == "" || event.Account != s.Account || event.Amount != price() ||
		event.ChargeID != charge.ChargeID || event.Reference != s.reference || event.OccurredAt.IsZero() {
		s.Errorf("the message of the charge: %+v", event)
	}
	event, ok = s.events(s.key + "-told")[payments.EventTypeRefundSucceeded]
	if !ok || event.Account != s.Account || event.Amount != price() || event.ChargeID != charge.ChargeID || event.RefundID == "" || event.Reference != s.reference {
		s.Errorf("the message of the refund: %+v", event)
	}
	refused := newSuite(s.TB, s.Provider)
	_, err = refused.charge(refused.request(refused.Decline))
	refused.fine("charge", err)
	event, ok = refused.events(refused.key)[payments.EventTypeChargeDeclined]
	if !ok || event.Account != s.Account || event.DeclineCode == "" || event.Reference != refused.reference {
		s.Errorf("the message of the decline: %+v", event)
	}
	reserved := newSuite(s.TB, s.Provider)
	reserved.reserve()
	event, ok = reserved.events(reserved.key)[payments.EventTypeChargeAuthorized]
	if !ok || event.Account != s.Account || event.Amount != price() || event.Reference != reserved.reference {
		s.Errorf("the message of the reservation: %+v", event)
	}
}

func forgeries(s *suite) {
	s.paid()
	delivery := s.Deliveries()[0]
	other := bytes.Replace(delivery.Body, []byte("{"), []byte("{ "), 1)
	for name, forged := range map[string]Delivery{
		"no header":  {Body: delivery.Body},
		"changed":    {Header: delivery.Header, Body: other},
		"truncated":  {Header: delivery.Header, Body: delivery.Body[:len(delivery.Body)-1]},
		"empty":      {Header: delivery.Header},
		"no signing": {Header: map[string][]string{"Content-Type": {"application/json"}}, Body: delivery.Body},
	} {
		if event, err := s.Gateway.ParseWebhook(forged.Header, forged.Body); !errors.Is(err, payments.ErrBadSignature) || event != (payments.Event{}) {
			s.Errorf("%s: %+v, %v", name, event, err)
		}
	}
	if _, err := s.Gateway.ParseWebhook(delivery.Header, make([]byte, 8<<20)); !errors.Is(err, payments.ErrBadEvent) && !errors.Is(err, payments.ErrBadSignature) {
		s.Errorf("oversized: %v", err)
	}
}

func fingerprints(s *suite) {
	before, err := s.Gateway.Fingerprint(s.context(), s.Account, s.Approve)
	s.fine("fingerprint", err)
	first := s.paid().InstrumentFingerprint
	second := newSuite(s.TB, s.Provider).paid().InstrumentFingerprint
	if first != second || before != "" && before != first {
		s.Errorf("one instrument was %q, %q and %q", before, first, second)
	}
}
