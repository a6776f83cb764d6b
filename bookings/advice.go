package bookings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/singleflight"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/bookings/oversell"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Limits of advice on overbooking.
const (
	// MaxAdviceNights is how many nights one question may name.
	MaxAdviceNights = 92
	// MaxWalkPercent bounds what walking a guest costs, in percent of the rate.
	MaxWalkPercent = 10_000
	// MaxAdvicePercent is the most that may be advised beyond the rooms, in percent.
	MaxAdvicePercent = oversell.MaxOversellPercent

	// adviceDays is how far back the stays lie that are learnt from.
	adviceDays = 730
	// maxAdviceStays bounds how many of them are read; the latest are left out first, which no hotel
	// with fewer than 130 arrivals a day reaches.
	maxAdviceStays = 100_000
	// maxAdviceBookings bounds what stands on the books for the nights of a question.
	maxAdviceBookings = 200_000
	// adviceStaleness is how old what advice rests on may be.
	adviceStaleness = 30 * time.Second
	// What was learnt of a hotel is kept for a while: its past does not change by the minute.
	keptModels   = 64
	modelMinutes = 60
	// learnTime bounds the reading of a hotel's past, which goes on when whoever asked first has gone.
	learnTime = time.Minute
	// keptProofs is for how many terms of a question each hotel's proof is kept.
	keptProofs = 16
	// proofShare is the part of the history that the model for the proof learns from.
	proofShare = 2.0 / 3
)

// AdviceQuestion asks how many rooms of a type to sell on each night of a range.
type AdviceQuestion struct {
	RoomType inventory.RoomTypeID
	// From and To are the first and the last night.
	From, To civil.Date
	// WalkPercent is what it costs to walk a guest for a night, in percent of the night's rate.
	WalkPercent int64
	// MostPercent is the most that may be advised beyond the rooms, in percent.
	MostPercent int64
}

// NightAdvice is advice for one night.
type NightAdvice struct {
	Night civil.Date
	// Rooms that can be slept in, Sold of them (a walked or missing guest's left out), and the oversell
	// that is set now. In rooms.
	Rooms, Sold, Oversell int64
	// Rate is what a room brings that night.
	Rate money.Amount
	// Advised is the oversell that is advised, with the range in which the best one lies with
	// oversell.Confidence.
	Advised, Low, High int64
	// ShowUps is how many guests are expected if the advised limit is sold; on one night of ten more
	// than ShowUps90 come. WalkChance is the probability that anybody has to be walked then, and Walks
	// how many in the mean.
	ShowUps, WalkChance, Walks float64
	ShowUps90                  int64
	// Gain is what the advised limit earns more in the mean than the rooms alone, walks paid, if as
	// many want to come.
	Gain money.Amount
}

// OversellAdvice is the answer to an AdviceQuestion.
type OversellAdvice struct {
	AsOf time.Time
	// Learnt is how many stays of the hotel the advice rests on.
	Learnt int64
	Nights []NightAdvice
	// Unplanned are nights of the range without a plan or a rate: nothing is sold there to give advice on.
	Unplanned []civil.Date
	Proof     AdviceProof
}

// AdviceProof is what the advice would have been worth in the hotel's own past: learnt from the older
// stays, judged on the nights from From to To. It weighs walks as the question does.
type AdviceProof struct {
	From, To    civil.Date
	Results     []oversell.Result
	Calibration []oversell.Calibration
	Currency    money.Currency
}

func (q AdviceQuestion) validate() error {
	switch {
	case !q.From.IsValid() || q.From.Year < 2000 || q.From.Year > 2199:
		return fault.Invalid("from", "expected a date such as 2027-03-14")
	case !q.To.IsValid() || q.To.Before(q.From):
		return fault.Invalid("to", "expected a date not before from %s, got %s", q.From, q.To)
	case q.To.DaysSince(q.From) >= MaxAdviceNights:
		return fault.Invalid("to", "at most %d nights can be asked for at once, got %d", MaxAdviceNights, q.To.DaysSince(q.From)+1)
	case q.WalkPercent < 0 || q.WalkPercent > MaxWalkPercent:
		return fault.Invalid("walkPercent", "expected 0 to %d, got %d", MaxWalkPercent, q.WalkPercent)
	case q.MostPercent < 0 || q.MostPercent > MaxAdvicePercent:
		return fault.Invalid("mostPercent", "expected 0 to %d, got %d", MaxAdvicePercent, q.MostPercent)
	}
	return nil
}

// NightWriter changes nights; an inventory.Service is one.
type NightWriter interface {
	WriteNights(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, changes []inventory.DatedChange) (inventory.NightsSet, error)
}

// Advisor advises on overbooking and writes what it advised. Its methods authorise and validate.
type Advisor struct {
	db         *db.DB
	authorizer Authorizer
	nights     NightWriter
	// kept is what was learnt; a process that is asked for one hotel many times at once learns once.
	kept     *expirable.LRU[pastKey, *hotelPast]
	learning singleflight.Group
}

// NewAdvisor needs a migrated database and where to write nights.
func NewAdvisor(d *db.DB, authorizer Authorizer, nights NightWriter) *Advisor {
	return &Advisor{
		db: d, authorizer: authorizer, nights: nights,
		kept: expirable.NewLRU[pastKey, *hotelPast](keptModels, nil, modelMinutes*time.Minute),
	}
}

// Advise says how many rooms of a type to sell on each night, from who of the hotel's own guests
// came in the last two years. A hotel with too few stays that are over is a conflict, and the message
// says how many there are and how many it takes.
func (a *Advisor) Advise(ctx context.Context, actor tenants.Actor, q AdviceQuestion) (OversellAdvice, error) {
	if err := inventory.AuthorizeAt(ctx, a.db, a.authorizer, actor, policies.ActionNightsRead, "room type", q.RoomType.Region, q.RoomType.UUID); err != nil {
		return OversellAdvice{}, err
	}
	if err := q.validate(); err != nil {
		return OversellAdvice{}, err
	}
	books, err := a.adviceBooks(ctx, actor.Tenant, q)
	if err != nil {
		return OversellAdvice{}, err
	}
	if q.From.Before(books.today) {
		return OversellAdvice{}, fault.Invalid("from", "expected a night from today %s at the hotel on, got %s", books.today, q.From)
	}
	past, err := a.past(ctx, actor.Tenant, q.RoomType, books.hotel, books.today)
	if err != nil {
		return OversellAdvice{}, err
	}
	advice := OversellAdvice{AsOf: books.asOf, Learnt: int64(past.model.Stays())}
	for night := q.From; !night.After(q.To); night = night.AddDays(1) {
		plan, planned := books.plans[night]
		if !planned || plan.AmountMinor == nil || *plan.AmountMinor == 0 {
			advice.Unplanned = append(advice.Unplanned, night)
			continue
		}
		one, err := nightAdvice(past.model, books, q, plan)
		if err != nil {
			return OversellAdvice{}, err
		}
		advice.Nights = append(advice.Nights, one)
	}
	advice.Proof = past.proof(q, books.hotel.currency)
	return advice, nil
}

func nightAdvice(model *oversell.Model, books adviceBooks, q AdviceQuestion, plan dbsqlc.AdvicePlansRow) (NightAdvice, error) {
	out := plan.Night.DaysSince(books.today)
	of := oversell.Night{
		Rooms: int(plan.Rooms), Spread: model.Spread(out), RateMinor: *plan.AmountMinor, WalkMinor: *plan.AmountMinor * q.WalkPercent / 100,
		MaxOversell: int(plan.Rooms * q.MostPercent / 100),
		Next:        model.Chance(oversell.Traits{Booked: books.today, Arrival: plan.Night}, out),
	}
	for _, booked := range books.sold[plan.Night] {
		chance := model.Chance(booked.Traits, booked.Arrival.DaysSince(books.today))
		for range booked.rooms {
			of.OnBooks = append(of.OnBooks, chance)
		}
	}
	found, err := oversell.Advise(of)
	if err != nil {
		return NightAdvice{}, fault.Conflict("no advice for the night %s: %s", plan.Night, err)
	}
	rooms := plan.Rooms
	return NightAdvice{
		Night: plan.Night, Rooms: rooms, Sold: int64(len(of.OnBooks)), Oversell: plan.Oversell,
		Rate:    money.Amount{Minor: *plan.AmountMinor, Currency: books.hotel.currency},
		Advised: int64(found.Limit) - rooms, Low: int64(found.Low) - rooms, High: int64(found.High) - rooms,
		ShowUps: found.ShowUps, ShowUps90: int64(found.Quantile90), WalkChance: found.WalkChance, Walks: found.Walks,
		Gain: money.Amount{Minor: found.GainMinor, Currency: books.hotel.currency},
	}, nil
}

// Apply sets the advised oversell on every night of the question that has advice, all or
// none, and tells which nights are now sold above their limit. Advice is asked for anew, so that what
// is written is as of now.
func (a *Advisor) Apply(ctx context.Context, actor tenants.Actor, q AdviceQuestion) (OversellAdvice, inventory.NightsSet, error) {
	if err := inventory.AuthorizeAt(ctx, a.db, a.authorizer, actor, policies.ActionNightsSet, "room type", q.RoomType.Region, q.RoomType.UUID); err != nil {
		return OversellAdvice{}, inventory.NightsSet{}, err
	}
	advice, err := a.Advise(db.Fresh(ctx), actor, q)
	if err != nil {
		return OversellAdvice{}, inventory.NightsSet{}, err
	}
	if len(advice.Nights) == 0 {
		return OversellAdvice{}, inventory.NightsSet{}, fault.Invalid("from", "no night from %s to %s has a plan and a rate", q.From, q.To)
	}
	changes := make([]inventory.DatedChange, len(advice.Nights))
	for i, night := range advice.Nights {
		changes[i] = inventory.DatedChange{Night: night.Night, Change: inventory.NightChange{Oversell: &night.Advised}}
	}
	set, err := a.nights.WriteNights(ctx, actor, q.RoomType, changes)
	return advice, set, err
}

// adviceHotel is where a question's room type is.
type adviceHotel struct {
	property  uuid.UUID
	zone      *time.Location
	currency  money.Currency
	roomTypes []uuid.UUID
}

// adviceBooks is what is planned and sold on the nights of a question.
type adviceBooks struct {
	asOf  time.Time
	today civil.Date
	hotel adviceHotel
	plans map[civil.Date]dbsqlc.AdvicePlansRow
	sold  map[civil.Date][]bookedRooms
}

type bookedRooms struct {
	oversell.Traits

	rooms int64
}

func (a *Advisor) adviceBooks(ctx context.Context, tenant tenants.TenantID, q AdviceQuestion) (adviceBooks, error) {
	region := string(q.RoomType.Region)
	// May be stale: advice weighs months, and a claim asks the counters.
	return db.InSnapshotAsOf(ctx, a.db, func(ctx context.Context, at db.Snapshot) (adviceBooks, error) {
		b := adviceBooks{plans: map[civil.Date]dbsqlc.AdvicePlansRow{}, sold: map[civil.Date][]bookedRooms{}}
		var err error
		if b.asOf, err = at.AsOf(ctx); err != nil {
			return b, err
		}
		queries := dbsqlc.New(at.Tx)
		place, err := queries.AdvicePlace(ctx, dbsqlc.AdvicePlaceParams{TenantID: tenant.UUID, Region: region, RoomTypeID: q.RoomType.UUID})
		switch {
		case db.IsNoRows(err):
			return b, fault.NotFound("room type")
		case err != nil:
			return b, fmt.Errorf("read the hotel: %w", err)
		}
		b.hotel = adviceHotel{property: place.PropertyID, currency: money.Currency(place.Currency), roomTypes: place.RoomTypeIds}
		if b.hotel.zone, err = time.LoadLocation(place.TimeZone); err != nil {
			return b, fmt.Errorf("the hotel's time zone: %w", err)
		}
		b.today = civil.DateOf(b.asOf.In(b.hotel.zone))
		plans, err := queries.AdvicePlans(ctx, dbsqlc.AdvicePlansParams{
			TenantID: tenant.UUID, Region: region, RoomTypeIds: []uuid.UUID{q.RoomType.UUID}, FirstNight: q.From, LastNight: q.To,
		})
		if err != nil {
			return b, fmt.Errorf("read night plans: %w", err)
		}
		for _, plan := range plans {
			b.plans[plan.Night] = plan
		}
		sold, err := queries.AdviceOnBooks(ctx, dbsqlc.AdviceOnBooksParams{
			TenantID: tenant.UUID, Region: region, RoomTypeID: &q.RoomType.UUID, FirstNight: q.From, LastNight: q.To, RowLimit: maxAdviceBookings,
		})
		if err != nil {
			return b, fmt.Errorf("read what is sold: %w", err)
		}
		for _, row := range sold {
			b.sold[*row.Night] = append(b.sold[*row.Night], bookedRooms{
				Traits: oversell.Traits{Booked: civil.DateOf(row.BookedAt.In(b.hotel.zone)), Arrival: row.Arrival, Channel: row.ChannelID.String()},
				rooms:  row.Quantity,
			})
		}
		return b, nil
	}, db.Stale(adviceStaleness))
}

// hotelPast is what was learnt of a hotel: a model of all its stays, and for the proof one of the older
// ones and the stays that it has not seen.
type hotelPast struct {
	model, older *oversell.Model
	unseen       []oversell.Stay
	from, to     civil.Date
	rooms        map[planNight]dbsqlc.AdvicePlansRow
	// proofs are by the terms of a question; to replay years of stays takes longer than to ask.
	proofs *expirable.LRU[proofKey, AdviceProof]
}

type proofKey struct{ walkPercent, mostPercent int64 }

type planNight struct {
	roomType string
	night    civil.Date
}

type pastKey struct {
	tenant, property uuid.UUID
	today            civil.Date
}

func (a *Advisor) past(ctx context.Context, tenant tenants.TenantID, roomType inventory.RoomTypeID, hotel adviceHotel, today civil.Date) (*hotelPast, error) {
	key := pastKey{tenant: tenant.UUID, property: hotel.property, today: today}
	if known, ok := a.kept.Get(key); ok {
		return known, nil
	}
	learning := a.learning.DoChan(fmt.Sprint(key), func() (any, error) {
		// Others may wait for it, so it goes on when the first caller has gone.
		learn, cancel := context.WithTimeout(context.WithoutCancel(ctx), learnTime)
		defer cancel()
		past, err := a.learn(learn, tenant, roomType, hotel, today)
		if err == nil {
			a.kept.Add(key, past)
		}
		return past, err
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("learn from a hotel's past: %w", ctx.Err())
	case learnt := <-learning:
		past, _ := learnt.Val.(*hotelPast)
		return past, learnt.Err
	}
}

func (a *Advisor) learn(ctx context.Context, tenant tenants.TenantID, roomType inventory.RoomTypeID, hotel adviceHotel, today civil.Date) (*hotelPast, error) {
	first, last, region := today.AddDays(-adviceDays), today.AddDays(-1), string(roomType.Region)
	past := &hotelPast{to: last, rooms: map[planNight]dbsqlc.AdvicePlansRow{}, proofs: expirable.NewLRU[proofKey, AdviceProof](keptProofs, nil, 0)}
	// May be stale: it is about what is over.
	stays, err := db.InSnapshot(ctx, a.db, func(ctx context.Context, tx pgx.Tx) ([]oversell.Stay, error) {
		queries := dbsqlc.New(tx)
		rows, err := queries.AdviceHistory(ctx, dbsqlc.AdviceHistoryParams{
			TenantID: tenant.UUID, Region: region, PropertyID: &hotel.property, RoomTypeIds: hotel.roomTypes,
			FirstNight: first, LastNight: last, RowLimit: maxAdviceStays,
		})
		if err != nil {
			return nil, fmt.Errorf("read past stays: %w", err)
		}
		plans, err := queries.AdvicePlans(ctx, dbsqlc.AdvicePlansParams{
			TenantID: tenant.UUID, Region: region, RoomTypeIds: hotel.roomTypes, FirstNight: first, LastNight: last,
		})
		if err != nil {
			return nil, fmt.Errorf("read past night plans: %w", err)
		}
		clear(past.rooms)
		for _, plan := range plans {
			past.rooms[planNight{plan.RoomTypeID.String(), plan.Night}] = plan
		}
		return pastStays(rows, hotel.zone), nil
	}, db.Stale(adviceStaleness))
	if err != nil {
		return nil, err
	}
	past.model, err = oversell.Fit(stays)
	if errors.Is(err, oversell.ErrTooFewStays) {
		return nil, fault.Conflict("the hotel has %d stays that are over; advice takes at least %d", len(stays), oversell.MinStays)
	}
	if err != nil {
		return nil, err
	}
	past.split(stays)
	return past, nil
}

// pastStays are the rooms of past bookings one by one, as the model counts them.
func pastStays(rows []dbsqlc.AdviceHistoryRow, zone *time.Location) []oversell.Stay {
	var stays []oversell.Stay
	for _, row := range rows {
		stay := oversell.Stay{
			Traits:   oversell.Traits{Booked: civil.DateOf(row.BookedAt.In(zone)), Arrival: row.Arrival, Channel: row.ChannelID.String()},
			RoomType: row.RoomTypeID.String(), Nights: int(row.Nights), Outcome: oversell.OutcomeCancelled, RateMinor: row.AmountMinor / row.RoomNights,
		}
		switch {
		case row.Came:
			stay.Outcome = oversell.OutcomeCame
		case row.NoShow:
			stay.Outcome = oversell.OutcomeNoShow
		default:
			stay.Cancelled = civil.DateOf(row.CancelledAt.In(zone))
		}
		for range row.Rooms {
			stays = append(stays, stay)
		}
	}
	return stays
}

// split keeps a model of the older stays, if they are enough, and the others to judge it by.
func (p *hotelPast) split(stays []oversell.Stay) {
	p.from = stays[int(float64(len(stays))*proofShare)].Arrival
	var older []oversell.Stay
	for _, stay := range stays {
		if stay.Arrival.Before(p.from) {
			older = append(older, stay)
		} else {
			p.unseen = append(p.unseen, stay)
		}
	}
	model, err := oversell.Fit(older)
	if err != nil {
		return // Too few: there is no proof.
	}
	p.older = model
}

// proofDaysOut are the days before a night for which the proof compares guests.
func proofDaysOut() []int { return []int{1, 7, 30} }

func (p *hotelPast) proof(q AdviceQuestion, currency money.Currency) AdviceProof {
	key := proofKey{walkPercent: q.WalkPercent, mostPercent: q.MostPercent}
	if known, ok := p.proofs.Get(key); ok {
		return known
	}
	proof := p.prove(q, currency)
	p.proofs.Add(key, proof)
	return proof
}

// prove replays the stays that the older model has not seen.
func (p *hotelPast) prove(q AdviceQuestion, currency money.Currency) AdviceProof {
	proof := AdviceProof{From: p.from, To: p.to, Currency: currency}
	if p.older == nil {
		return proof
	}
	walk := float64(q.WalkPercent) / 100
	house := oversell.House{
		Rooms: func(roomType string, night civil.Date) int {
			return int(p.rooms[planNight{roomType, night}].Rooms)
		},
		RateMinor: func(roomType string, night civil.Date) int64 {
			if rate := p.rooms[planNight{roomType, night}].AmountMinor; rate != nil {
				return *rate
			}
			return 0
		},
	}
	for _, policy := range []oversell.Policy{
		oversell.NoOversell(), oversell.FlatOversell("5 % more", 5), oversell.FlatOversell("10 % more", 10), oversell.Advised(p.older, walk, int(q.MostPercent)),
	} {
		proof.Results = append(proof.Results, oversell.Replay(p.unseen, house, policy, walk, p.from, p.to))
	}
	for _, daysOut := range proofDaysOut() {
		proof.Calibration = append(proof.Calibration, oversell.Calibrate(p.older, p.unseen, daysOut, p.from, p.to))
	}
	return proof
}
