package inventory

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// planFacts are what a claim must know of a rate plan besides its nights.
type planFacts struct {
	property   uuid.UUID
	state      RatePlanState
	parent     *uuid.UUID
	derivation Derivation
	window     bookingWindow
	// notSoldBy are those of the claim's channels that do not sell the plan.
	notSoldBy []uuid.UUID
}

// ownPrices says that the plan has prices of its own, and derives none.
func (p planFacts) ownPrices() bool { return p.derivation.Kind == "" }

// planRoom is a rate plan's part of a room type.
type planRoom struct{ plan, room uuid.UUID }

// nightsToRead are the nights of a room type that a stay is judged by, with those of its plan; the zero
// plan has none.
type nightsToRead struct {
	stay
	plan uuid.UUID
}

// nightsToRead are those of the claim's stays, each once.
func (c claim) nightsToRead() []nightsToRead {
	var reads []nightsToRead
	for _, line := range c.lines {
		if line.Stay == nil {
			continue
		}
		read := nightsToRead{
			stay: stay{room: line.Stay.RoomType.UUID, checkIn: line.Stay.CheckIn, checkOut: line.Stay.CheckOut},
			plan: planOf(*line.Stay).UUID,
		}
		if !slices.Contains(reads, read) {
			reads = append(reads, read)
		}
	}
	return reads
}

// readPlans reads the rate plans that stays name; most claims name none, and ask nothing.
func (f *facts) readPlans(ctx context.Context, tx pgx.Tx, at place, c claim) error {
	var named []uuid.UUID
	for _, line := range c.lines {
		if line.Stay != nil && line.Stay.RatePlan != nil {
			named = append(named, line.Stay.RatePlan.UUID)
		}
	}
	if len(named) == 0 {
		return nil
	}
	slices.SortFunc(named, compareUUID)
	rows, err := dbsqlc.New(tx).RatePlansForClaim(ctx, dbsqlc.RatePlansForClaimParams{
		TenantID: at.tenant, Region: string(at.region), Ids: slices.Compact(named), ChannelIds: c.channels,
	})
	if err != nil {
		return fmt.Errorf("read rate plans: %w", err)
	}
	f.plans = make(map[uuid.UUID]planFacts, len(rows))
	for _, row := range rows {
		f.plans[row.ID] = planFacts{
			property: row.PropertyID, state: RatePlanState(row.State), parent: row.ParentID,
			derivation: derivationOf(row.DeriveKind, row.DeriveBasisPoints, row.DeriveMinor),
			window:     windowOf(row.MinAdvanceDays, row.MaxAdvanceDays, row.CutoffMinute), notSoldBy: row.NotSoldBy,
		}
	}
	return nil
}

// judgePlans answers a plan that is not the tenant's like one that nobody has.
func (c claim) judgePlans(f facts) error {
	for _, line := range c.lines {
		if line.Stay == nil || line.Stay.RatePlan == nil {
			continue
		}
		// One of another hotel is answered in the same way: who works at one hotel learns nothing of another.
		if plan, ok := f.plans[line.Stay.RatePlan.UUID]; !ok || plan.property != f.rooms[line.Stay.RoomType.UUID].property {
			return fault.NotFound("rate plan")
		}
	}
	return nil
}

// stay is what a stay of the claim is judged and priced by.
func (f *facts) stay(s StayRequest) stayFacts {
	room := f.rooms[s.RoomType.UUID]
	facts := stayFacts{
		now: f.now.In(room.zone), maxNights: f.terms.MaxNightsPerStay, maxGuests: room.maxGuests,
		nights: f.rules[planRoom{room: s.RoomType.UUID}], window: room.window,
	}
	if s.RatePlan == nil {
		return facts
	}
	plan := f.plans[s.RatePlan.UUID]
	facts.plan, facts.planNights = &plan, f.rules[planRoom{plan: s.RatePlan.UUID, room: s.RoomType.UUID}]
	if plan.parent != nil {
		facts.parentNights = f.rules[planRoom{plan: *plan.parent, room: s.RoomType.UUID}]
	}
	return facts
}

// noteRules keeps the rules of a night that was read: of a room type, or of a plan of it.
func (f *facts) noteRules(room uuid.UUID, row dbsqlc.NightsForClaimRow) {
	key := planRoom{plan: row.RatePlanID, room: room}
	if f.rules[key] == nil {
		f.rules[key] = nightTable{}
	}
	f.rules[key][row.Night] = nightRules{
		amount: row.AmountMinor, stopSell: row.StopSell, closedToArrival: row.ClosedToArrival, closedToDeparture: row.ClosedToDeparture,
		minStayArrival: row.MinStayArrival, maxStayArrival: row.MaxStayArrival,
		minStayThrough: row.MinStayThrough, maxStayThrough: row.MaxStayThrough,
	}
}

// judgeChannel says whether the channel sells the hotel, and what the stay is sold as.
func (f *facts) judgeChannel(line int, stay StayRequest, channel tenants.ChannelID) []RefusedLine {
	room := f.rooms[stay.RoomType.UUID]
	notSoldBy := room.standardNotSoldBy
	if stay.RatePlan != nil {
		notSoldBy = f.plans[stay.RatePlan.UUID].notSoldBy
	}
	if slices.Contains(room.notSoldBy, channel.UUID) || slices.Contains(notSoldBy, channel.UUID) {
		return []RefusedLine{{Line: line, Code: RefusalNotSoldByChannel, Level: RuleLevelChannel}}
	}
	return nil
}
