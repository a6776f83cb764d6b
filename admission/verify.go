package admission

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Moment is when a room may ask for a proof.
type Moment string

// The moments of verification.
const (
	// MomentJoin is before a visitor is given a place.
	MomentJoin Moment = "JOIN"
	// MomentAdmission is before a visitor who was called is let in.
	MomentAdmission Moment = "ADMISSION"
)

// Visit is who is to prove what: nothing in it identifies a person.
type Visit struct {
	Tenant tenants.TenantID
	Show   inventory.ShowID
	Moment Moment
	// Opening and OpensAt tell one opening of a room from another.
	Opening int64
	OpensAt time.Time
	// Subject is the visitor when joining, and the ticket at admission: a proof is for one of them.
	Subject string
}

// Verifier asks visitors for a proof that they are worth a place: that they have a browser, a person,
// a device, or time to spend. A room names the one it wants. Implementations are safe for concurrent
// use; see package proofofwork for one.
type Verifier interface {
	// Name is what rooms call it by, such as "proof-of-work".
	Name() string
	// Asks says whether it wants a proof at this moment.
	Asks(Moment) bool
	// Challenge is what the client needs to make the proof, such as a site key or a puzzle. It is shown
	// to everybody, and the same for the same visit.
	Challenge(Visit) string
	// Verify judges a proof. ErrProof refuses it; any other error says that it could not be judged, and
	// the visitor is told to try again. It is called within no transaction and may ask a service; the
	// context bounds it.
	Verify(ctx context.Context, visit Visit, proof string) error
}

// ErrProof is the answer of a Verifier to a proof that is missing or proves nothing.
var ErrProof = errors.New("the proof is not good")

// verifyTimeout bounds what a verifier may take.
const verifyTimeout = 5 * time.Second
