package admission

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Join asks for a place in a room.
type Join struct {
	Show inventory.ShowID
	// Visitor is a secret that the client made up, 22 to 64 letters, digits, - and _. The same visitor who
	// joins again has the same place, or a worse one. With a guest session it is not needed: the session is
	// the visitor. "" without a session has one made.
	Visitor string
	// Proof answers the challenge of the room's verifier.
	Proof string
	// Again takes a new place at the end, when the place before was used or has come to nothing.
	Again bool
}

// Ticket is a visitor's place.
type Ticket struct {
	// Token proves the place. It is told only here; who has it has the place.
	Token string
	// Visitor is to be sent when joining again; "" for a guest with a session.
	Visitor string
	Order   int64
	Opening int64
	// Address is where the room's public document is read.
	Address string
	Place   Place
}

// Place is where in the line a ticket stands.
type Place struct {
	Room Room
	// Called says that the ticket may be exchanged.
	Called bool
	// Position is 1 for who is called next; 0 for who is called.
	Position int64
	// Estimate is how long it may take until the visitor is called, at the room's present rate; nil while
	// the room is paused or over.
	Estimate *time.Duration
	// AsOf is the database's clock when the room was read.
	AsOf time.Time
}

// Refusal is an expected no of a waiting room, with what is needed for a verification.
type Refusal struct {
	*inventory.Refusal
	// Verifier and Challenge are set when a proof is asked for; Visitor is whom it is for, to be sent
	// again together with the proof.
	Verifier, Challenge, Visitor string
}

// Unwrap is the refusal alone.
func (r *Refusal) Unwrap() error { return r.Refusal }

func refuse(code inventory.RefusalCode, message string, retry time.Duration) *Refusal {
	return &Refusal{Refusal: &inventory.Refusal{Code: code, Message: message, RetryAfter: retry}}
}

// Join gives a visitor a place. It writes nothing into the database. In the opening window the place
// is drawn from the visitor and the room's secret, so that joining again draws the same; later it is
// the moment of arrival, so that joining again is worse or, as long as this process remembers the
// visitor, the same.
func (s *Service) Join(ctx context.Context, actor tenants.Actor, input Join) (Ticket, error) {
	st, err := s.room(ctx, actor, policies.ActionWaitingRoomJoin, input.Show)
	if err != nil {
		return Ticket{}, err
	}
	if len(input.Proof) > maxProof {
		return Ticket{}, fault.Invalid("proof", "expected at most %d characters", maxProof)
	}
	visitor, subject, err := visitorOf(actor, input.Visitor)
	if err != nil {
		return Ticket{}, err
	}
	now := st.now(s.elapsed())
	switch st.room.stateAt(now) {
	case StateScheduled:
		return Ticket{}, s.metrics.joinRefused(refuse(inventory.RefusalRoomNotOpen, "the waiting room has not opened", min(st.room.OpensAt.Sub(now), retryLongest)))
	case StateClosed:
		return Ticket{}, s.metrics.joinRefused(refuse(inventory.RefusalRoomClosed, "the waiting room has closed", 0))
	case StateGathering, StateAdmitting, StatePaused:
	}
	if err := s.verify(ctx, actor, st.room, MomentJoin, subject, visitor, input.Proof); err != nil {
		return Ticket{}, s.metrics.joinRefused(err)
	}
	c := s.crowdOf(placeOf(actor.Tenant, input.Show))
	order := s.orderOf(c, st, subject, now, input.Again) //nolint:contextcheck // counts are written later, for all who joined meanwhile
	key, err := s.keys.signer(ctx)
	if err != nil {
		return Ticket{}, err
	}
	signed := ticket{place: c.place, opening: st.room.Opening, id: ticketID(st.secret, subject, order), order: order, session: actor.Session.UUID}
	s.metrics.joins.WithLabelValues("ok").Inc()
	return Ticket{
		Token: seal(key, purposeTicket, signed.encode()), Visitor: visitor, Order: order, Opening: st.room.Opening,
		Address: seal(key, purposeAddress, c.place.encode()), Place: st.placeOf(order, s.elapsed()),
	}, nil
}

// visitorOf is the visitor's own secret, "" for a session, and by what the visitor is known.
func visitorOf(actor tenants.Actor, visitor string) (secret, subject string, err error) {
	if !actor.Session.IsZero() {
		if visitor != "" {
			return "", "", fault.Invalid("visitor", "expected none beside a guest session, which is the visitor")
		}
		return "", "session/" + actor.Session.UUID.String(), nil
	}
	if visitor == "" {
		visitor = rand.Text()
	}
	fits := func(r rune) bool {
		return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if len(visitor) < minVisitor || len(visitor) > maxVisitor || strings.ContainsFunc(visitor, func(r rune) bool { return !fits(r) }) {
		return "", "", fault.Invalid("visitor", "expected %d to %d letters, digits, - and _, at random", minVisitor, maxVisitor)
	}
	return visitor, "visitor/" + visitor, nil
}

// orderOf is a visitor's order, and counts a visitor who was not met before.
func (s *Service) orderOf(c *crowd, st *state, subject string, now time.Time, again bool) int64 {
	known := memoryOf(c.place, st.room.Opening, subject)
	earlier, met := s.joined.Get(known)
	arrival := max(0, st.room.orderAt(now))
	order := arrival
	switch {
	case arrival < st.line.window:
		order = randomOrder(st.secret, subject, st.line.window)
	case met && !again:
		return earlier
	}
	if met && order == earlier {
		return order
	}
	s.joined.Add(known, order)
	if c.count(st.room.Opening, st.line.bucketOf(order)) {
		s.flushSoon(c)
	}
	return order
}

// memoryOf is what a visitor of a room is remembered by.
func memoryOf(p place, opening int64, subject string) [16]byte {
	text := binary.BigEndian.AppendUint64(p.encode(), uint64(opening)) //nolint:gosec // it is positive
	sum := sha256.Sum256(append(text, subject...))
	return [16]byte(sum[:16])
}

// verify asks the room's verifier about a visit. visitor is shown with the challenge.
func (s *Service) verify(ctx context.Context, actor tenants.Actor, room Room, moment Moment, subject, visitor, proof string) error {
	if room.Verifier == "" {
		return nil
	}
	verifier := s.verifiers[room.Verifier]
	if verifier == nil {
		return fault.Unavailable(errors.New("no such verifier: "+room.Verifier), "the waiting room asks for a proof that this server cannot judge")
	}
	if !verifier.Asks(moment) {
		return nil
	}
	visit := Visit{Tenant: actor.Tenant, Show: room.Show, Moment: moment, Opening: room.Opening, OpensAt: room.OpensAt, Subject: subject}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	err := verifier.Verify(ctx, visit, proof)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrProof):
		refusal := refuse(inventory.RefusalVerification, "the waiting room asks for a proof", 0)
		refusal.Verifier, refusal.Challenge, refusal.Visitor = room.Verifier, verifier.Challenge(visit), visitor
		return refusal
	}
	return fault.Unavailable(err, "the proof could not be judged; try again")
}

// placeOf is where an order stands.
func (st *state) placeOf(order int64, elapsed time.Duration) Place {
	room, now := st.room, st.now(elapsed)
	room.State = room.stateAt(now)
	p := Place{Room: room, AsOf: st.clock.shown, Called: order <= room.Watermark}
	if !p.Called {
		p.Position = st.ahead(order) + 1
	}
	if room.State == StateGathering || room.State == StateAdmitting {
		wait := time.Duration(float64(p.Position) * float64(time.Minute) / float64(room.RatePerMinute))
		if left := room.AdmitsFrom().Sub(now); left > 0 {
			wait += left
		}
		wait = wait.Truncate(time.Second)
		p.Estimate = &wait
	}
	return p
}

// Place says where a ticket stands, from what this process knows: it asks the database for nothing
// but the room, once a tick for all.
func (s *Service) Place(ctx context.Context, actor tenants.Actor, token string) (Place, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionWaitingRoomJoin, actor.Tenant); err != nil {
		return Place{}, err
	}
	t, st, err := s.ticketOf(ctx, actor, token)
	if err != nil {
		return Place{}, err
	}
	return st.placeOf(t.order, s.elapsed()), nil
}

// ticketOf reads a token of this actor's, of the room's present opening.
func (s *Service) ticketOf(ctx context.Context, actor tenants.Actor, token string) (ticket, *state, error) {
	invalid := refuse(inventory.RefusalAdmissionToken, "this is no token of this waiting room for this session", 0)
	body, ok, err := s.unseal(ctx, purposeTicket, token)
	if err != nil {
		return ticket{}, nil, err
	}
	t, good := decodeTicket(body)
	if !ok || !good || t.place.tenant != actor.Tenant.UUID || t.session != uuid.Nil && t.session != actor.Session.UUID {
		return ticket{}, nil, invalid
	}
	st, err := s.look(ctx, s.crowdOf(t.place))
	if err != nil {
		return ticket{}, nil, err
	}
	if t.opening != st.room.Opening {
		return ticket{}, nil, invalid
	}
	return t, st, nil
}
