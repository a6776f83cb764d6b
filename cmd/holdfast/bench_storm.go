package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// An expiry storm: the first buyers of a show have come at one moment and paid nothing, so that all
// their holds end at one moment, and everybody wants what becomes free.
const (
	// benchStormSeats is the largest hall of it.
	benchStormSeats = 50_000
	// benchStormSweep is how many holds the sweeper looks at, call by call, as in package jobs.
	benchStormSweep = 2000
)

// runExpiryStorm makes a storm for each number of clients, and holds the same seats of a quiet show with
// plain SQL.
func runExpiryStorm(ctx context.Context, b *benchRun) ([]benchCell, error) {
	hall := benchHall(min(b.config.Seats, benchStormSeats))
	venue, err := b.stock.app.tenants.CreateVenue(ctx, b.stock.actor, "storm", tenants.NewVenue{Region: demoRegion, Site: benchSite("Storm hall")})
	if err != nil {
		return nil, err
	}
	event, err := b.stock.app.inventory.CreateEvent(ctx, b.stock.actor, "storm", inventory.NewEvent{Venue: venue.ID, Name: "Storm"})
	if err != nil {
		return nil, err
	}
	chart, err := b.stock.app.inventory.ImportChart(ctx, b.stock.actor, "storm", venue.ID, hall)
	if err != nil {
		return nil, err
	}
	shows := 0
	next := func() ([]benchTriple, error) {
		shows++
		id, err := b.stock.app.inventory.CreateShow(ctx, b.stock.actor, "storm-"+strconv.Itoa(shows), inventory.NewShow{
			Event: event, Chart: &chart, Name: "Storm " + strconv.Itoa(shows), StartsAt: time.Now().AddDate(0, 2, 0),
			PriceLevels: []inventory.NewPriceLevel{{Name: "Seat", AmountMinor: benchSeatMinor, Categories: []string{benchCategory}}},
		})
		if err != nil {
			return nil, err
		}
		return triplesOf(id, hall), b.stock.analyze(ctx, "show_seats")
	}
	var cells []benchCell
	for _, clients := range b.config.Clients {
		triples, err := next()
		if err != nil {
			return nil, err
		}
		cell, err := b.storm(ctx, clients, triples)
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	if !b.config.Baseline {
		return cells, nil
	}
	triples, err := next()
	if err != nil {
		return nil, err
	}
	quiet := takingTurns(triples)
	return cells, b.compare(ctx, benchExpiryStorm, cells, b.stock.plainly(func(hold plainHold) plainAct {
		want := quiet()
		return func(ctx context.Context, tx pgx.Tx) error { return hold.seats(ctx, tx, want) }
	}))
}

// takingTurns gives out groups of seats one after another, and begins again at the end.
func takingTurns(triples []benchTriple) func() benchTriple {
	var given atomic.Uint64
	return func() benchTriple { return triples[(given.Add(1)-1)%uint64(len(triples))] }
}

// storm lets buyers hold what is in due holds while the sweeper ends these, as workers would have it.
func (b *benchRun) storm(ctx context.Context, clients int, triples []benchTriple) (benchCell, error) {
	if err := b.stock.makeDueSeats(ctx, triples); err != nil {
		return benchCell{}, err
	}
	// The sweeper is to meet other groups than the buyers: they are in another order.
	slices.Reverse(triples)
	next := takingTurns(triples)
	sweeping, stop := context.WithCancel(ctx)
	swept := make(chan error, 1)
	go func() { swept <- b.sweepAll(sweeping) }()
	cell, err := b.measureCell(ctx, benchExpiryStorm, clients, b.stock.holds(func() apiInput { return next().input() }))
	stop()
	if sweepErr := <-swept; sweepErr != nil && !errors.Is(sweepErr, context.Canceled) && ctx.Err() == nil {
		err = errors.Join(err, sweepErr)
	}
	if err != nil {
		return benchCell{}, err
	}
	// The next storm begins with all of this one's holds ended.
	return cell, b.sweepAll(ctx)
}

// sweepAll ends due holds until there are none, or ctx ends.
func (b *benchRun) sweepAll(ctx context.Context) error {
	for {
		n, err := b.stock.app.inventory.ExpireDue(ctx, benchStormSweep)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case n == 0:
			return nil
		}
	}
}

// makeDueSeats writes holds of three seats each, of all seats of a show, as if they had been placed an
// hour ago.
func (b *benchStock) makeDueSeats(ctx context.Context, triples []benchTriple) error {
	d, tenant := b.app.store.db, b.actor.Tenant.UUID
	// A seat says the same as its hold, to the microsecond that databases keep.
	due := time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond)
	for batch := range slices.Chunk(triples, benchDuePerInsert) {
		var ids, holds, seats []uuid.UUID
		var ordinals []int64
		for _, triple := range batch {
			id := uuid.New()
			ids = append(ids, id)
			for i, seat := range triple.seats {
				holds, seats, ordinals = append(holds, id), append(seats, seat.UUID), append(ordinals, int64(i))
			}
		}
		show := batch[0].show.UUID
		for _, statement := range []struct {
			sql  string
			args []any
		}{
			{`INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline,
				claimable_at, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline,
				max_per_instrument, total_minor, currency)
			SELECT $1::uuid, $2::text, h.id, $3::uuid, 'GUEST', h.id, 'ACTIVE', $6::timestamptz - interval '1 hour', $6::timestamptz, $6::timestamptz, $6::timestamptz, 0, 60, 60, 60, 60, 'HONOUR', 'RELEASE', 1, $4::bigint, 'EUR'
			FROM (SELECT unnest($5::uuid[]) AS id) AS h`, []any{tenant, demoRegion, b.channel.UUID, int64(benchSeatsPerHold * benchSeatMinor), ids, due}},
			{
				`INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, seat_id, bucket, quantity, amount_minor)
			SELECT $1::uuid, $2::text, l.hold_id, l.ordinal, 0, 'SEAT', $3::uuid, l.seat_id, '00000000-0000-0000-0000-000000000000'::uuid, 1, $4::bigint
			FROM (SELECT unnest($5::uuid[]) AS hold_id, unnest($6::uuid[]) AS seat_id, unnest($7::bigint[]) AS ordinal) AS l`,
				[]any{tenant, demoRegion, show, int64(benchSeatMinor), holds, seats, ordinals},
			},
			{
				`UPDATE show_seats AS s SET state = 'HELD', hold_id = l.hold_id, claimable_at = $6::timestamptz
			FROM (SELECT unnest($4::uuid[]) AS hold_id, unnest($5::uuid[]) AS seat_id) AS l
			WHERE s.tenant_id = $1::uuid AND s.region = $2::text AND s.show_id = $3::uuid AND s.seat_id = l.seat_id`,
				[]any{tenant, demoRegion, show, holds, seats, due},
			},
		} {
			if err := execInTx(ctx, d, statement.sql, statement.args...); err != nil {
				return err
			}
		}
	}
	return b.analyze(ctx, "holds", "hold_lines", "show_seats")
}
