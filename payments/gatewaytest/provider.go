package gatewaytest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// Provider is an adapter under test and the strings behind it. All fields are required, except where
// they say otherwise.
type Provider struct {
	Gateway payments.Gateway
	// Account is a seller's account that exists.
	Account string
	// Approve, Decline and Pending are tokens of instruments that are charged, refused, and not decided
	// until Settle.
	Approve, Decline, Pending string
	// Settle decides the PENDING charge with this key.
	Settle func(key string, approve bool)
	// LoseRequest and LoseAnswer break the next call that moves money: before it reaches the provider,
	// or after it took effect.
	LoseRequest, LoseAnswer func()
	// Taken is the sum that the provider has captured under a key, in minor units as ISO 4217 counts
	// them, refunds left aside, over all charges that it made for it.
	Taken func(key string) int64
	// Deliveries are the signed messages so far, the oldest first.
	Deliveries func() []Delivery
	// PayPage lets the buyer pay on the page of a key, and reports whether the page let them. Nil for a
	// provider without pages.
	PayPage func(key string) bool
}

// Delivery is one message of the provider.
type Delivery struct {
	Header map[string][]string
	Body   []byte
}

// price is what everything costs here: even, so that it can be refunded in halves, and worth charging.
func price() money.Amount { return money.Amount{Minor: 4200, Currency: "EUR"} }

// wait bounds each test's calls.
const wait = 30 * time.Second

// suite is one provider with a key and reference of its own.
type suite struct {
	testing.TB
	Provider
	key       string
	reference payments.Reference
}

func (s *suite) request(token string) payments.ChargeRequest {
	return payments.ChargeRequest{
		Account: s.Account, Key: s.key, Reference: s.reference, Amount: price(), MethodToken: token, Description: "Booking",
	}
}

func newSuite(t testing.TB, provider Provider) *suite {
	t.Helper()
	key := "attempt_eu_" + uuid.NewString()
	return &suite{
		TB: t, Provider: provider, key: key,
		reference: payments.Reference{TenantID: ids.NewGlobal[tenants.TenantKind](), AttemptID: key},
	}
}

// charge charges and checks what holds of every outcome.
func (s *suite) charge(request payments.ChargeRequest) (payments.Outcome, error) {
	s.Helper()
	outcome, err := s.Gateway.Charge(s.context(), request)
	return s.checked("charge", outcome, err), err
}

func (s *suite) lookUp() payments.Outcome {
	s.Helper()
	outcome, err := s.Gateway.LookUp(s.context(), s.Account, s.key)
	s.fine("look up", err)
	return s.checked("look up", outcome, err)
}

func (s *suite) capture() (payments.Outcome, error) {
	s.Helper()
	outcome, err := s.Gateway.Capture(s.context(), s.Account, s.key)
	return s.checked("capture", outcome, err), err
}

func (s *suite) cancel() payments.Outcome {
	s.Helper()
	outcome, err := s.Gateway.Cancel(s.context(), s.Account, s.key)
	s.fine("cancel", err)
	return s.checked("cancel", outcome, err)
}

// checked asserts the invariant that a state is unknown exactly when there is an error.
func (s *suite) checked(what string, outcome payments.Outcome, err error) payments.Outcome {
	s.Helper()
	if (outcome.State == payments.OutcomeStateUnknown) != (err != nil) {
		s.Errorf("%s: state %s with error %v", what, outcome.State, err)
	}
	if err == nil && outcome.Account != s.Account {
		s.Errorf("%s: the outcome names account %q", what, outcome.Account)
	}
	if outcome.State == payments.OutcomeStateApproved && (outcome.Captured != price() || outcome.ChargeID == "") {
		s.Errorf("%s: approved, but %+v", what, outcome)
	}
	if outcome.State == payments.OutcomeStateDeclined && outcome.DeclineCode == "" {
		s.Errorf("%s: declined without a reason", what)
	}
	return outcome
}

func (s *suite) fine(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// is asserts a state.
func (s *suite) is(what string, outcome payments.Outcome, want payments.OutcomeState) {
	s.Helper()
	if outcome.State != want {
		s.Fatalf("%s: got %s (%+v), want %s", what, outcome.State, outcome, want)
	}
}

// took asserts what the provider has taken under the key.
func (s *suite) took(want int64) {
	s.Helper()
	if got := s.Taken(s.key); got != want {
		s.Errorf("the provider has taken %d under the key, want %d", got, want)
	}
}
