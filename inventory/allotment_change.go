package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// AllotmentAction is what happened to an allotment.
type AllotmentAction string

// The actions of an allotment's history.
const (
	AllotmentActionCreated      AllotmentAction = "CREATED"
	AllotmentActionChanged      AllotmentAction = "CHANGED"
	AllotmentActionMadeDefinite AllotmentAction = "MADE_DEFINITE"
	AllotmentActionReleased     AllotmentAction = "RELEASED"
	AllotmentActionCancelled    AllotmentAction = "CANCELLED"
)

// AllotmentNews is what others are told of an allotment, in the transaction of its change.
type AllotmentNews struct {
	Tenant    tenants.TenantID
	Allotment AllotmentID
	Channel   tenants.ChannelID
	Version   int64
	Action    AllotmentAction
	At        time.Time
}

// Announcer tells others what became of allotments: that one was released or cancelled. It joins the
// transaction of the change. Package bookings has one that writes the outbox.
type Announcer interface {
	AnnounceTx(ctx context.Context, tx pgx.Tx, news AllotmentNews) error
}

// nobody is told when nobody was named.
type nobody struct{}

// AnnounceTx tells nobody.
func (nobody) AnnounceTx(context.Context, pgx.Tx, AllotmentNews) error { return nil }

// lacking is the refusal of a change for which too little is free, or too much sold. Holds whose time is
// over, and allotments whose release has come, may have what it lacks.
type lacking struct {
	refusal  *Refusal
	unit     uuid.UUID
	property uuid.UUID
	nights   []civil.Date
}

// Error is the refusal's.
func (l *lacking) Error() string { return l.refusal.Error() }

// CreateAllotment sets a quantity aside for a channel, or promises it: a tentative allotment takes
// nothing from others. A definite one is a *Refusal with the nights that lack units when there are not
// enough.
func (s *Service) CreateAllotment(ctx context.Context, actor tenants.Actor, requestKey string, input NewAllotment) (Allotment, error) {
	if err := s.authorizeUnits(ctx, actor, policies.ActionAllotmentSet, input.Pool, input.RoomType); err != nil {
		return Allotment{}, err
	}
	if err := input.validate(); err != nil {
		return Allotment{}, err
	}
	at := placeOf(actor.Tenant, "")
	if input.Pool != nil {
		at.region = input.Pool.Region
	} else {
		at.region = input.RoomType.Region
	}
	id, err := s.freeing(ctx, at, func() (uuid.UUID, error) {
		return s.create(ctx, actor, at.region, "createAllotment", requestKey, input, func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
			return s.createAllotmentTx(ctx, tx, actor, at, input, AllotmentID{Region: at.region, UUID: id})
		})
	})
	if err != nil {
		return Allotment{}, keyReused(err)
	}
	return s.Allotment(ctx, actor, AllotmentID{Region: at.region, UUID: id})
}

// keyReused makes the reuse of a request key the refusal that it is everywhere else.
func keyReused(err error) error {
	if errors.Is(err, request.ErrKeyReused) {
		return Refuse(RefusalRequestKeyReused, messageOf(RefusalRequestKeyReused))
	}
	return err
}

func (s *Service) createAllotmentTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, at place, input NewAllotment, id AllotmentID) error {
	a := input.allotment(id)
	queries := dbsqlc.New(tx)
	found, err := queries.ChannelExists(ctx, dbsqlc.ChannelExistsParams{TenantID: at.tenant, ID: a.Channel.UUID})
	switch {
	case err != nil:
		return fmt.Errorf("read the channel: %w", err)
	case !found:
		return fault.NotFound("channel")
	}
	zone, err := a.locate(ctx, tx, at)
	if err != nil {
		return err
	}
	if a.CreatedAt, err = Now(ctx, tx); err != nil {
		return err
	}
	if today := civil.DateOf(a.CreatedAt.In(zone.location)); !a.ofPool() && a.Nights.First.Before(today) {
		return fault.Invalid("nights.from", "expected today at the property (%s) or later, got %s", today, a.Nights.First)
	}
	dates, err := a.dates()
	if err != nil {
		return err
	}
	e := &edit{at: at, allotment: a, zone: zone, by: &actor, now: a.CreatedAt, parts: map[civil.Date]*editedPart{}}
	open := false
	for _, date := range dates {
		part := &editedPart{quantity: input.Quantity, state: partTentative, releaseAt: e.releaseOf(date), touched: true}
		open = open || part.releaseAt == nil || a.CreatedAt.Before(*part.releaseAt)
		e.parts[date] = part
	}
	if !open {
		return fault.Invalid("release", "the release of all of it lies in the past")
	}
	row := dbsqlc.AllotmentInsertParams{
		TenantID: at.tenant, Region: string(at.region), ID: id.UUID, ChannelID: a.Channel.UUID, Name: a.Name, Weekdays: maskOf(a.Nights.Weekdays),
		SellsShared: a.SellsShared, ReleaseAt: a.Release.At, ReleaseDays: a.Release.DaysBefore, ReleaseMinute: (*int64)(a.Release.LocalTime),
		State: string(AllotmentStateTentative), CreatedAt: a.CreatedAt,
	}
	if a.ofPool() {
		row.PoolID, row.ShowID = &a.Pool.UUID, &e.zone.show
	} else {
		row.RoomTypeID, row.PropertyID, row.FirstNight, row.LastNight = &a.RoomType.UUID, &e.zone.property, &a.Nights.First, &a.Nights.Last
	}
	if err := queries.AllotmentInsert(ctx, row); err != nil {
		return fmt.Errorf("store the allotment: %w", err)
	}
	if err := e.logTx(ctx, tx, AllotmentActionCreated, 1, 0); err != nil {
		return err
	}
	if !input.Definite {
		return e.storePartsTx(ctx, tx)
	}
	e.makeDefinite()
	return s.storeEditTx(ctx, tx, e, AllotmentActionMadeDefinite)
}

// MakeAllotmentDefinite takes what a tentative allotment has from what others can buy, or is a *Refusal
// with the nights that have too little free by now. One that is definite stays as it is.
func (s *Service) MakeAllotmentDefinite(ctx context.Context, actor tenants.Actor, requestKey string, id AllotmentID) (Allotment, error) {
	return s.editAllotment(ctx, actor, "makeAllotmentDefinite", requestKey, id, nil, func(e *edit) (AllotmentAction, error) {
		switch {
		case e.allotment.State == AllotmentStateDefinite:
			return "", nil
		case e.allotment.State.ended():
			return "", Refuse(RefusalAllotmentEnded, messageOf(RefusalAllotmentEnded))
		}
		if !e.makeDefinite() {
			return "", Refuse(RefusalAllotmentEnded, "the release of all of it has come already")
		}
		return AllotmentActionMadeDefinite, nil
	})
}

// UpdateAllotment changes what is named. A night grows only by what is free, and shrinks only to what is
// sold; otherwise nothing is changed, and the *Refusal names the nights.
func (s *Service) UpdateAllotment(ctx context.Context, actor tenants.Actor, requestKey string, id AllotmentID, change AllotmentChange) (Allotment, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionAllotmentSet, "allotment", id.Region, id.UUID); err != nil {
		return Allotment{}, err
	}
	if err := change.validate(); err != nil {
		return Allotment{}, err
	}
	return s.editAllotment(ctx, actor, "updateAllotment", requestKey, id, change, func(e *edit) (AllotmentAction, error) {
		if e.allotment.State.ended() {
			return "", Refuse(RefusalAllotmentEnded, messageOf(RefusalAllotmentEnded))
		}
		return AllotmentActionChanged, e.change(change)
	})
}

// ReleaseAllotment gives the unsold rest of an allotment, or of some of its nights, to everybody now. What
// was released before stays so.
func (s *Service) ReleaseAllotment(ctx context.Context, actor tenants.Actor, requestKey string, id AllotmentID, nights *NightRange) (Allotment, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionAllotmentSet, "allotment", id.Region, id.UUID); err != nil {
		return Allotment{}, err
	}
	if nights != nil {
		if err := nights.validate("nights"); err != nil {
			return Allotment{}, err
		}
	}
	return s.editAllotment(ctx, actor, "releaseAllotment", requestKey, id, nights, func(e *edit) (AllotmentAction, error) {
		if e.allotment.State == AllotmentStateTentative {
			return "", Refuse(RefusalAllotmentTentative, messageOf(RefusalAllotmentTentative))
		}
		chosen, err := e.chosen(nights)
		if err != nil {
			return "", err
		}
		if e.release(func(date civil.Date, part *editedPart) bool { return slices.Contains(chosen, date) }) {
			return AllotmentActionReleased, nil
		}
		return "", nil
	})
}

// CancelAllotment takes an allotment back. What was sold from it stays sold; the rest is everybody's.
// One that has ended stays as it is.
func (s *Service) CancelAllotment(ctx context.Context, actor tenants.Actor, requestKey string, id AllotmentID) (Allotment, error) {
	return s.editAllotment(ctx, actor, "cancelAllotment", requestKey, id, nil, func(e *edit) (AllotmentAction, error) {
		if e.allotment.State.ended() {
			return "", nil
		}
		e.end(AllotmentStateCancelled)
		for _, part := range e.parts {
			if part.state == partTentative || part.state == partOpen {
				part.set(partCancelled)
			}
		}
		return AllotmentActionCancelled, nil
	})
}

// editAllotment runs a command on an allotment; act says what it did, "" for nothing.
func (s *Service) editAllotment(ctx context.Context, actor tenants.Actor, operation, requestKey string, id AllotmentID, content any,
	act func(e *edit) (AllotmentAction, error),
) (Allotment, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionAllotmentSet, "allotment", id.Region, id.UUID); err != nil {
		return Allotment{}, err
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return Allotment{}, err
	}
	fingerprint, err := request.Fingerprint(struct {
		ID      string
		Content any
	}{id.String(), content})
	if err != nil {
		return Allotment{}, err
	}
	at := placeOf(actor.Tenant, id.Region)
	_, err = s.freeing(ctx, at, func() (uuid.UUID, error) {
		return db.Replayable(ctx, s.db, "inventory.EditAllotment", func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
			_, replayed, err := request.Claim(ctx, tx, request.Identity{
				Tenant: at.tenant, Region: at.region, Key: requestKey, Scope: operation + "/KEY/" + actor.Key.UUID.String(),
			}, fingerprint, id.UUID)
			if err != nil || replayed {
				return id.UUID, err
			}
			e, err := lockAllotment(ctx, tx, at, id, &actor)
			if err != nil {
				return id.UUID, err
			}
			action, err := act(e)
			if err != nil || action == "" {
				return id.UUID, err
			}
			return id.UUID, s.storeEditTx(ctx, tx, e, action)
		})
	})
	if err != nil {
		return Allotment{}, keyReused(err)
	}
	return s.Allotment(ctx, actor, id)
}

// freeing runs a command until it succeeds, or until what it lacks is not to be had from holds whose time
// is over or allotments whose release has come.
func (s *Service) freeing(ctx context.Context, at place, command func() (uuid.UUID, error)) (uuid.UUID, error) {
	for range maxRounds {
		id, err := command()
		var lack *lacking
		if !errors.As(err, &lack) {
			return id, err
		}
		freed, err := s.freeFor(ctx, at, lack)
		if err != nil {
			return uuid.Nil, err
		}
		if !freed {
			return uuid.Nil, lack.refusal
		}
	}
	return uuid.Nil, Busy()
}

// freeFor ends what is due on the units of a refused change, and reports whether there was anything.
func (s *Service) freeFor(ctx context.Context, at place, lack *lacking) (bool, error) {
	first, last := lack.nights[0], lack.nights[len(lack.nights)-1]
	ended, err := db.Replayable(ctx, s.db, "inventory.ExpireDue", func(ctx context.Context, tx pgx.Tx) (int, error) {
		now, err := Now(ctx, tx)
		if err != nil {
			return 0, err
		}
		due, err := dbsqlc.New(tx).HoldsDueOnCounters(ctx, dbsqlc.HoldsDueOnCountersParams{
			TenantID: at.tenant, Region: string(at.region), Now: now, PoolIds: []uuid.UUID{lack.unit}, PropertyIds: []uuid.UUID{lack.property},
			FirstNight: first, LastNight: last, PresaleCodeIds: []uuid.UUID{}, MaxHolds: maxReap,
		})
		if err != nil {
			return 0, fmt.Errorf("find due holds of counters: %w", err)
		}
		r, err := lockDue(ctx, tx, at, due)
		if err != nil {
			return 0, err
		}
		return len(r.holds), r.reap(ctx, tx, at)
	})
	if err != nil {
		return false, err
	}
	due, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]uuid.UUID, error) {
		f := facts{}
		var err error
		if f.now, err = Now(ctx, tx); err != nil {
			return nil, err
		}
		f.parts, err = partsOn(ctx, tx, at, []uuid.UUID{lack.unit}, first, last)
		return f.dueAllotments(), err
	})
	if err != nil {
		return false, err
	}
	return ended > 0 || len(due) > 0, s.releaseOverdue(ctx, at, due)
}
