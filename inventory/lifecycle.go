package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// longestHold bounds how far back a live hold can have been placed: the caps of the terms on a
// hold's life, its payment window and the grace. It keeps the buyer's index scan short.
const longestHold = (172_800 + 86_400 + 86_400) * time.Second

// sharedBucket is the bucket of the stock that every channel may sell.
var sharedBucket = uuid.Nil //nolint:gochecknoglobals // a name for a constant that Go cannot declare

type seatState string

const (
	seatStateAvailable seatState = "AVAILABLE"
	seatStateHeld      seatState = "HELD"
	seatStateBooked    seatState = "BOOKED"
)

// ExtendHold moves the deadline once more, as often and as far as the hold's terms allow. It is the
// only way a deadline moves: reads, retries and failures never extend. The same request key is
// answered with the hold as it stands and extends nothing.
func (s *Service) ExtendHold(ctx context.Context, actor tenants.Actor, id HoldID, requestKey string) (Hold, error) {
	may := s.authorizer.Authorize(actor, policies.ActionHoldExtend, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return Hold{}, err
	}
	return s.change(ctx, actor, may, id, "extendHold", requestKey, func(ctx context.Context, tx pgx.Tx, hold Hold, now time.Time) (Hold, error) {
		switch {
		case hold.State == HoldStateProcessing:
			return Hold{}, Refuse(RefusalPaymentInProgress, messageOf(RefusalPaymentInProgress))
		case hold.State == HoldStateExpired, hold.State == HoldStateActive && !now.Before(hold.Deadline):
			// The same answer before and after somebody has reaped it.
			return Hold{}, Refuse(RefusalHoldExpired, messageOf(RefusalHoldExpired))
		case hold.State != HoldStateActive:
			return Hold{}, Refuse(RefusalHoldEnded, messageOf(RefusalHoldEnded))
		}
		if err := JudgeSaleTx(ctx, tx, actor, hold); err != nil {
			return Hold{}, err
		}
		deadline := now.Add(seconds(hold.Terms.HoldSeconds))
		if limit := hold.PlacedAt.Add(seconds(hold.Terms.MaxHoldSeconds)); deadline.After(limit) {
			deadline = limit
		}
		if hold.Extensions >= hold.MaxExtensions || !deadline.After(hold.Deadline) {
			return Hold{}, Refuse(RefusalNoExtensionLeft, messageOf(RefusalNoExtensionLeft))
		}
		hold.Extensions++
		hold.LeaseDeadline = deadline
		extended, err := reschedule(ctx, tx, hold, transitionExtend(), deadline, deadline)
		return extended, noteHoldChange(ctx, tx, err, actor, extended, holdExtended, now)
	})
}

// ReleaseHold gives every unit back at once. A hold that is being paid cannot be released; one that
// was released before is answered as it is.
func (s *Service) ReleaseHold(ctx context.Context, actor tenants.Actor, id HoldID, requestKey string) (Hold, error) {
	may := s.authorizer.Authorize(actor, policies.ActionHoldRelease, actor.Tenant)
	if _, err := tenants.ReachOf(may); err != nil {
		return Hold{}, err
	}
	return s.change(ctx, actor, may, id, "releaseHold", requestKey, func(ctx context.Context, tx pgx.Tx, hold Hold, now time.Time) (Hold, error) {
		switch hold.State {
		case HoldStateReleased, HoldStateExpired:
			return hold, nil
		case HoldStateProcessing:
			return Hold{}, Refuse(RefusalPaymentInProgress, messageOf(RefusalPaymentInProgress))
		case HoldStateConfirmed:
			return Hold{}, Refuse(RefusalHoldEnded, messageOf(RefusalHoldEnded))
		case HoldStateActive:
		}
		released, err := giveBack(ctx, tx, hold, transitionRelease(), now)
		return released, noteHoldChange(ctx, tx, err, actor, released, holdReleased, now)
	})
}

// change is a command on a hold: claim the request key, lock the hold, read the clock, act.
// may is the authorizer's answer, which says where the actor may do it.
func (s *Service) change(ctx context.Context, actor tenants.Actor, may error, id HoldID, operation, requestKey string,
	act func(ctx context.Context, tx pgx.Tx, hold Hold, now time.Time) (Hold, error),
) (Hold, error) {
	if err := request.ValidateKey(requestKey); err != nil {
		return Hold{}, err
	}
	fingerprint, err := request.Fingerprint(id.String())
	if err != nil {
		return Hold{}, err
	}
	hold, err := db.Replayable(ctx, s.db, "inventory."+operation, func(ctx context.Context, tx pgx.Tx) (Hold, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: id.Region, Key: requestKey, Scope: operation + "/" + actor.Key.UUID.String() + "/" + actor.Session.UUID.String(),
		}, fingerprint, id.UUID)
		if err != nil {
			return Hold{}, err
		}
		hold, err := LockHold(ctx, tx, actor.Tenant, id)
		if err != nil {
			return Hold{}, err
		}
		if mine, err := mayChangeTx(ctx, tx, actor, may, hold); err != nil || !mine {
			return Hold{}, orNotFound(err, "hold")
		}
		now, err := Now(ctx, tx)
		if err != nil {
			return Hold{}, err
		}
		if replayed {
			hold.State = hold.StateAt(now)
			return hold, nil
		}
		return act(ctx, tx, hold, now)
	})
	switch {
	case errors.Is(err, request.ErrKeyReused):
		return Hold{}, Refuse(RefusalRequestKeyReused, messageOf(RefusalRequestKeyReused))
	case errors.Is(err, db.ErrContention):
		return Hold{}, Busy()
	}
	return hold, err
}

// JudgeSaleTx asks, for a hold that is to be extended or paid, what placeHold asked: whether the
// channel and each show are still selling, and whether a rule speaks against a stay. A hold placed before
// a show or a night closed cannot be completed after it: the same rules in all three places.
func JudgeSaleTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, hold Hold) error {
	if actor.ChannelSuspended {
		return Refuse(RefusalChannelSuspended, messageOf(RefusalChannelSuspended))
	}
	var c claim
	for _, line := range hold.Lines {
		if line.Kind != LineKindNight {
			c.shows = append(c.shows, line.Show.UUID)
		}
	}
	at := placeOf(hold.Tenant, hold.ID.Region)
	if err := judgeOffersTx(ctx, tx, at, hold); err != nil {
		return err
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return err
	}
	if err := judgeStaysTx(ctx, tx, at, hold, now); err != nil {
		return err
	}
	if len(c.shows) == 0 {
		return nil
	}
	f := facts{now: now, shows: map[uuid.UUID]showFacts{}}
	if err := f.readShows(ctx, tx, at, c); err != nil {
		return err
	}
	presale, err := presaleOf(ctx, tx, at, hold)
	if err != nil {
		return err
	}
	for _, show := range f.shows {
		if code := show.judgeSale(f.now, presale); code != "" {
			return Refuse(code, messageOf(code))
		}
	}
	return nil
}

// MayPay reports whether an actor may check out a hold: its buyer, or the partner who placed it.
func MayPay(actor tenants.Actor, hold Hold) bool { return mayChange(actor, hold) }

// mayChangeTx is mayChange for an actor who may do it at some places only.
func mayChangeTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, may error, hold Hold) (bool, error) {
	if mayChange(actor, hold) {
		return WithinReach(ctx, tx, actor.Tenant, may, hold.ID.Region, hold.Lines)
	}
	return false, nil
}

// orNotFound is the error, or that there is no such thing for this actor.
func orNotFound(err error, what string) error {
	if err != nil {
		return err
	}
	return fault.NotFound(what)
}

// ProcessTx marks a locked hold as being paid. Its deadline becomes that of the payment; under
// policy HONOUR nobody else is offered the units until the grace after it has passed, because the
// payment's outcome may be unknown until then.
func ProcessTx(ctx context.Context, tx pgx.Tx, hold Hold, now time.Time) (Hold, error) {
	deadline := now.Add(seconds(hold.Terms.ProcessingSeconds))
	claimable := deadline
	if hold.Terms.LatePayment == LatePaymentHonour {
		claimable = deadline.Add(seconds(hold.Terms.GraceSeconds))
	}
	return reschedule(ctx, tx, hold, transitionProcess(), deadline, claimable)
}

// DeclineTx ends the payment of a locked hold by its policy: RELEASE gives the units back at once,
// KEEP returns the hold to its original deadline, for another card.
func DeclineTx(ctx context.Context, tx pgx.Tx, hold Hold, now time.Time) (Hold, error) {
	if hold.Terms.OnDecline == OnDeclineKeep {
		return reschedule(ctx, tx, hold, transitionKeep(), hold.LeaseDeadline, hold.LeaseDeadline)
	}
	return giveBack(ctx, tx, hold, transitionDecline(), now)
}

// Confirmable reports whether a success may still buy the units of a locked hold. Under HONOUR the
// clock is not asked: a hold that still owns its units is sold. Under REFUND the deadline decides.
func (h Hold) Confirmable(now time.Time) bool {
	if !h.State.Live() {
		return false
	}
	return h.Terms.LatePayment == LatePaymentHonour || !now.After(h.Deadline)
}

// ConfirmTx books every unit of a locked, confirmable hold.
func ConfirmTx(ctx context.Context, tx pgx.Tx, hold Hold, now time.Time) (Hold, error) {
	at := placeOf(hold.Tenant, hold.ID.Region)
	if err := end(ctx, tx, &hold, transitionConfirm(), now); err != nil {
		return Hold{}, err
	}
	booked := gather(hold.Lines)
	for _, show := range booked.seats {
		n, err := dbsqlc.New(tx).SeatsBook(ctx, dbsqlc.SeatsBookParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: show.show, SeatIds: show.seats, HoldID: hold.ID.UUID,
		})
		if err != nil {
			return Hold{}, fmt.Errorf("book seats of hold %s: %w", hold.ID, err)
		}
		if n != int64(len(show.seats)) {
			return Hold{}, fmt.Errorf("book seats of hold %s: it owns %d of %d", hold.ID, n, len(show.seats))
		}
	}
	if err := booked.apply(ctx, tx, at, book()); err != nil {
		return Hold{}, err
	}
	return hold, moveUses(ctx, tx, at, hold.uses(), book())
}

// ReturnBookedTx gives booked units of a confirmed hold back to the stock, as a cancellation does:
// through the same conditional path as an expiry, never by an unconditional write.
func ReturnBookedTx[L Line](ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, hold HoldID, lines []L) error {
	at := placeOf(tenant, hold.Region)
	returned := gather(lines)
	if err := returned.freeSeats(ctx, tx, at, string(seatStateBooked), []uuid.UUID{hold.UUID}); err != nil {
		return err
	}
	return returned.apply(ctx, tx, at, unbook())
}

// ExpireTx ends a locked live hold whose deadline has passed for good, as the sweeper does.
func ExpireTx(ctx context.Context, tx pgx.Tx, hold Hold, now time.Time) (Hold, error) {
	return giveBack(ctx, tx, hold, transitionExpire(), now)
}

// giveBack ends a locked hold and returns all its units.
func giveBack(ctx context.Context, tx pgx.Tx, hold Hold, t Transition, now time.Time) (Hold, error) {
	at := placeOf(hold.Tenant, hold.ID.Region)
	if err := end(ctx, tx, &hold, t, now); err != nil {
		return Hold{}, err
	}
	given := gather(hold.Lines)
	if err := given.freeSeats(ctx, tx, at, string(seatStateHeld), []uuid.UUID{hold.ID.UUID}); err != nil {
		return Hold{}, err
	}
	if err := given.apply(ctx, tx, at, unhold()); err != nil {
		return Hold{}, err
	}
	return hold, moveUses(ctx, tx, at, hold.uses(), unhold())
}

// end moves a locked hold to a final state; the statement repeats the sources.
func end(ctx context.Context, tx pgx.Tx, hold *Hold, t Transition, now time.Time) error {
	n, err := dbsqlc.New(tx).HoldEnd(ctx, dbsqlc.HoldEndParams{
		TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), ID: hold.ID.UUID,
		ToState: string(t.To), Now: now, FromStates: t.sources(),
	})
	if err != nil {
		return fmt.Errorf("%s hold %s: %w", t.Name, hold.ID, err)
	}
	if n != 1 {
		return fmt.Errorf("%s hold %s: it is %s", t.Name, hold.ID, hold.State)
	}
	hold.State, hold.EndedAt = t.To, &now
	hold.Version++
	return nil
}

// reschedule moves a locked hold's deadlines, on its row and on its seats.
func reschedule(ctx context.Context, tx pgx.Tx, hold Hold, t Transition, deadline, claimable time.Time) (Hold, error) {
	queries := dbsqlc.New(tx)
	n, err := queries.HoldReschedule(ctx, dbsqlc.HoldRescheduleParams{
		TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), ID: hold.ID.UUID,
		ToState: string(t.To), FromStates: t.sources(), Deadline: deadline, LeaseDeadline: hold.LeaseDeadline,
		ClaimableAt: claimable, Extensions: hold.Extensions,
	})
	if err != nil {
		return Hold{}, fmt.Errorf("%s hold %s: %w", t.Name, hold.ID, err)
	}
	if n != 1 {
		return Hold{}, fmt.Errorf("%s hold %s: it is %s", t.Name, hold.ID, hold.State)
	}
	for _, show := range gather(hold.Lines).seats {
		n, err := queries.SeatsReschedule(ctx, dbsqlc.SeatsRescheduleParams{
			TenantID: hold.Tenant.UUID, Region: string(hold.ID.Region), ShowID: show.show, SeatIds: show.seats,
			HoldID: hold.ID.UUID, ClaimableAt: claimable,
		})
		if err != nil {
			return Hold{}, fmt.Errorf("%s seats of hold %s: %w", t.Name, hold.ID, err)
		}
		if n != int64(len(show.seats)) {
			return Hold{}, fmt.Errorf("%s seats of hold %s: it owns %d of %d", t.Name, hold.ID, n, len(show.seats))
		}
	}
	hold.State, hold.Deadline, hold.ClaimableAt = t.To, deadline, claimable
	hold.Version++
	return hold, nil
}
