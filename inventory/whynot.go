package inventory

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// WhyNot is everything that speaks against a stay.
type WhyNot struct {
	// AsOf is when it was true, by the database's clock.
	AsOf time.Time
	// Objections are empty where the stay could be held.
	Objections []Objection
}

// Objection is one rule that speaks against a stay, or a night with too few rooms.
type Objection struct {
	Code  RefusalCode
	Level RuleLevel
	Night *civil.Date
	// Limit is the bound that was exceeded, in nights, guests, rooms or days before the arrival.
	Limit *int64
	// Available is how many rooms are left of a night that has too few.
	Available *int64
}

// WhyNot says why a stay could not be held now through the actor's channel: every rule that speaks, by the
// engine that judges holds, and every night with too few rooms. Nothing is held. What is of the buyer, such
// as how many holds a guest may have, it does not ask.
func (s *Service) WhyNot(ctx context.Context, actor tenants.Actor, stay StayRequest) (WhyNot, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionAvailabilityRead, "room type", stay.RoomType.Region, stay.RoomType.UUID); err != nil {
		return WhyNot{}, err
	}
	c := claim{lines: []LineRequest{{Stay: &stay}}, channels: []uuid.UUID{actor.Channel.UUID}}
	if err := c.addStay("stay", stay, &seenUnits{stays: map[uuid.UUID][]seenStay{}}); err != nil {
		return WhyNot{}, err
	}
	at := placeOf(actor.Tenant, c.region)
	return db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (WhyNot, error) {
		f, err := factsOf(ctx, tx, at, c, nil)
		if err != nil {
			return WhyNot{}, err
		}
		refused, err := c.judgeStays(actor, f)
		if err != nil {
			return WhyNot{}, err
		}
		missing, err := missingRooms(ctx, tx, at, actor.Channel, stay, f)
		if err != nil {
			return WhyNot{}, err
		}
		answer := WhyNot{AsOf: f.now}
		for _, line := range append(refused, missing...) {
			answer.Objections = append(answer.Objections, Objection{Code: line.Code, Level: line.Level, Night: line.Night, Limit: line.Limit, Available: line.Available})
		}
		return answer, nil
	})
}

// judgeStays is judgeRules for a claim of stays that nobody makes: a suspended channel is one rule among
// others.
func (c claim) judgeStays(actor tenants.Actor, f facts) ([]RefusedLine, error) {
	suspended := actor.ChannelSuspended
	actor.ChannelSuspended = false
	refused, err := c.judgeRules(actor, f)
	if suspended {
		refused = append([]RefusedLine{{Code: RefusalChannelSuspended, Level: RuleLevelChannel}}, refused...)
	}
	return refused, err
}

// missingRooms are the nights of a stay with too few rooms for the channel, as a calendar counts them: what
// holds occupy whose time is over is free.
func missingRooms(ctx context.Context, tx pgx.Tx, at place, channel tenants.ChannelID, stay StayRequest, f facts) ([]RefusedLine, error) {
	queries, region, property := dbsqlc.New(tx), string(at.region), f.rooms[stay.RoomType.UUID].property
	first, last := stay.CheckIn, stay.lastNight()
	rows, err := queries.CalendarNights(ctx, dbsqlc.CalendarNightsParams{
		TenantID: at.tenant, Region: region, RoomTypeIds: []uuid.UUID{stay.RoomType.UUID}, FirstNight: first, LastNight: last,
	})
	if err != nil {
		return nil, fmt.Errorf("read what is left of nights: %w", err)
	}
	houses, err := queries.CalendarHouses(ctx, dbsqlc.CalendarHousesParams{
		TenantID: at.tenant, Region: region, PropertyIds: []uuid.UUID{property}, FirstNight: first, LastNight: last,
	})
	if err != nil {
		return nil, fmt.Errorf("read house limits: %w", err)
	}
	due := dueUnits{}
	if err := due.read(ctx, tx, at.tenant, region, f.now); err != nil {
		return nil, err
	}
	setAside, err := shownNights(ctx, db.Snapshot{Tx: tx}, at.tenant, region, rows, first, last)
	if err != nil {
		return nil, err
	}
	left := make(map[civil.Date]int64, len(houses))
	for _, house := range houses {
		left[house.Night] = max(0, house.Ceiling-house.Held-house.Booked+due[nightKey{owner: property, night: house.Night}])
	}
	var missing []RefusedLine
	for _, row := range rows {
		if !f.onSale(stay, row.Night) {
			continue // judgeStay has said so
		}
		if free := nightStock(row, setAside).left(channel.UUID, due, f.now); free < stay.Rooms {
			missing = append(missing, RefusedLine{Code: RefusalSoldOut, Level: RuleLevelRoomType, Night: &row.Night, Available: &free})
		}
		if free, limited := left[row.Night]; limited && free < stay.Rooms {
			missing = append(missing, RefusedLine{Code: RefusalHouseFull, Level: RuleLevelHotel, Night: &row.Night, Available: &free})
		}
	}
	return missing, nil
}
