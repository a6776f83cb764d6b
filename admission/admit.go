package admission

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/admission/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Admit exchanges the ticket of a visitor who was called for a grant of the guest's session. The
// present state of the room decides, by the database's clock: a room that was paused or closed a
// moment ago lets nobody in. Asking again gives the same grant as long as it may be used.
func (s *Service) Admit(ctx context.Context, actor tenants.Actor, token, proof string) (inventory.Grant, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionWaitingRoomEnter, actor.Tenant); err != nil {
		return inventory.Grant{}, err
	}
	if actor.Session.IsZero() {
		return inventory.Grant{}, fault.Unauthenticated("an admission is a guest's: send the header Holdfast-Session with a token of startGuestSession")
	}
	if len(proof) > maxProof {
		return inventory.Grant{}, fault.Invalid("proof", "expected at most %d characters", maxProof)
	}
	t, st, err := s.ticketOf(ctx, actor, token)
	if err != nil {
		return inventory.Grant{}, s.metrics.admitted(err)
	}
	// Whom the last look did not find called costs the database nothing.
	if st.room.stateAt(st.now(s.elapsed())) == StateAdmitting && t.order > st.room.Watermark {
		return inventory.Grant{}, s.metrics.admitted(notYet(st.placeOf(t.order, s.elapsed()).Estimate))
	}
	if err := s.verify(ctx, actor, st.room, MomentAdmission, t.id.String(), "", proof); err != nil {
		return inventory.Grant{}, s.metrics.admitted(err)
	}
	id := ids.New[inventory.GrantKind](t.place.region)
	grant, err := db.Replayable(ctx, s.db, "admission.Admit", func(ctx context.Context, tx pgx.Tx) (inventory.Grant, error) {
		return admitTx(ctx, tx, actor, t, id)
	})
	return grant, s.metrics.admitted(err)
}

func admitTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, t ticket, id inventory.GrantID) (inventory.Grant, error) {
	row, err := dbsqlc.New(tx).RoomGet(ctx, dbsqlc.RoomGetParams{TenantID: t.place.tenant, Region: string(t.place.region), ShowID: t.place.show})
	if db.IsNoRows(err) {
		return inventory.Grant{}, fault.NotFound("waiting room")
	}
	if err != nil {
		return inventory.Grant{}, fmt.Errorf("read a waiting room: %w", err)
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return inventory.Grant{}, err
	}
	room := roomOf(t.place, row)
	switch room.stateAt(now) {
	case StateClosed:
		return inventory.Grant{}, refuse(inventory.RefusalRoomClosed, "the waiting room has closed", 0)
	case StateScheduled:
		return inventory.Grant{}, refuse(inventory.RefusalRoomNotOpen, "the waiting room has not opened", min(room.OpensAt.Sub(now), retryLongest))
	case StatePaused:
		return inventory.Grant{}, refuse(inventory.RefusalRoomPaused, "the waiting room lets nobody in at present", 5*time.Second)
	case StateGathering, StateAdmitting:
	}
	if t.opening != room.Opening {
		return inventory.Grant{}, refuse(inventory.RefusalAdmissionToken, "this is no token of this waiting room for this session", 0)
	}
	if t.order > room.Watermark {
		return inventory.Grant{}, notYet(nil)
	}
	return inventory.IssueGrantTx(ctx, tx, actor.Tenant, inventory.NewGrant{
		ID: id, Show: room.Show, Ticket: t.id, Session: actor.Session, Lifetime: room.GrantLifetime, Holds: room.HoldsPerGrant,
	})
}

func notYet(estimate *time.Duration) *Refusal {
	retry := 2 * time.Second
	if estimate != nil {
		retry = min(max(retry, *estimate), retryLongest)
	}
	return refuse(inventory.RefusalNotYourTurn, "others are before you in the waiting room", retry)
}
