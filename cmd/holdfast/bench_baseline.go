package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
)

// What the product is compared with: the same hold as somebody would write it by hand, in plain SQL
// over pgx, one serializable transaction a hold, without a server, limits or refusals that explain.
// It writes the same rows, so that the audit holds for it, too.

// errTaken says that the unit was not to be had.
var errTaken = errors.New("taken")

// plainHold is one hold under way.
type plainHold struct {
	stock *benchStock
	id    uuid.UUID
	now   time.Time
}

// plainHolder places holds of a scenario with plain SQL.
func (b *benchStock) plainHolder(scenario string) benchHolder {
	return b.plainly(func(hold plainHold) plainAct {
		act := hold.nights
		switch scenario {
		case benchSeats:
			next := b.triple()
			act = func(ctx context.Context, tx pgx.Tx) error { return hold.seats(ctx, tx, next) }
		case benchPool:
			act = hold.pool
		}
		return act
	})
}

// plainAct claims and writes what is held, after the request.
type plainAct func(ctx context.Context, tx pgx.Tx) error

// plainly places one hold with plain SQL.
func (b *benchStock) plainly(choose func(hold plainHold) plainAct) benchHolder {
	return func(ctx context.Context) (string, error) {
		hold := plainHold{stock: b, id: uuid.New(), now: time.Now().UTC()}
		act := choose(hold)
		_, err := db.InTx(ctx, b.app.store.db, "bench.PlainHold", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
			if err := hold.request(ctx, tx); err != nil {
				return struct{}{}, err
			}
			return struct{}{}, act(ctx, tx)
		})
		switch {
		case errors.Is(err, errTaken), db.ViolatedConstraint(err) != "":
			return "TAKEN", nil
		case errors.Is(err, db.ErrContention):
			return refusalBusy, nil
		}
		return "", err
	}
}

// deadline ends with the benchmark's other holds, on a whole microsecond as databases keep it.
func (h plainHold) deadline() time.Time {
	return h.now.Add(benchHoldSeconds * time.Second).Truncate(time.Microsecond)
}

func (h plainHold) request(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id) VALUES ($1, $2, 'plain', $3, $4, $5)`,
		h.stock.actor.Tenant.UUID, demoRegion, h.id.String(), h.id[:], h.id)
	return wrapPlain("store the request", err)
}

// seats takes a group of seats of one show: three statements for the seats, however many they are.
func (h plainHold) seats(ctx context.Context, tx pgx.Tx, want benchTriple) error {
	ids := make([]uuid.UUID, len(want.seats))
	for i, seat := range want.seats {
		ids[i] = seat.UUID
	}
	key := []any{h.stock.actor.Tenant.UUID, demoRegion, want.show.UUID, ids}
	rows, err := tx.Query(ctx, `SELECT state FROM show_seats WHERE tenant_id = $1 AND region = $2 AND show_id = $3 AND seat_id = ANY($4::uuid[])
		ORDER BY seat_id FOR UPDATE`, key...)
	if err != nil {
		return wrapPlain("lock the seats", err)
	}
	states, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return wrapPlain("lock the seats", err)
	}
	for _, state := range states {
		if state != "AVAILABLE" {
			return errTaken
		}
	}
	var price int64
	if err := tx.QueryRow(ctx, `SELECT sum(p.amount_minor)::bigint FROM show_seats s JOIN price_levels p
		ON p.tenant_id = s.tenant_id AND p.region = s.region AND p.show_id = s.show_id AND p.id = s.price_level_id
		WHERE s.tenant_id = $1 AND s.region = $2 AND s.show_id = $3 AND s.seat_id = ANY($4::uuid[])`, key...).Scan(&price); err != nil {
		return wrapPlain("read the price", err)
	}
	if err := exactly(int64(len(ids)))(tx.Exec(ctx, `UPDATE show_seats SET state = 'HELD', hold_id = $5, claimable_at = $6
		WHERE tenant_id = $1 AND region = $2 AND show_id = $3 AND seat_id = ANY($4::uuid[])`, append(key, h.id, h.deadline())...)); err != nil {
		return wrapPlain("take the seats", err)
	}
	if err := h.insert(ctx, tx, price); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, seat_id, bucket, quantity, amount_minor)
		SELECT $1::uuid, $2::text, $5::uuid, (row_number() OVER (ORDER BY s.seat_id) - 1), 0, 'SEAT', $3::uuid, s.seat_id, $6::uuid, 1, $7::bigint
		FROM (SELECT unnest($4::uuid[]) AS seat_id) AS s`, append(key, h.id, uuid.Nil, price/int64(len(ids)))...)
	return wrapPlain("store the lines", err)
}

func (h plainHold) pool(ctx context.Context, tx pgx.Tx) error {
	pool := h.stock.pool
	var price int64
	if err := tx.QueryRow(ctx, `SELECT l.amount_minor FROM pools p JOIN price_levels l
		ON l.tenant_id = p.tenant_id AND l.region = p.region AND l.show_id = p.show_id AND l.id = p.price_level_id
		WHERE p.tenant_id = $1 AND p.region = $2 AND p.id = $3`, h.stock.actor.Tenant.UUID, demoRegion, pool.UUID).Scan(&price); err != nil {
		return wrapPlain("read the price", err)
	}
	shard := rand.Int64N(int64(h.stock.shards))
	if err := exactly(1)(tx.Exec(ctx, `UPDATE pool_counters SET held = held + 1
		WHERE tenant_id = $1 AND region = $2 AND pool_id = $3 AND bucket = $4 AND shard = $5`,
		h.stock.actor.Tenant.UUID, demoRegion, pool.UUID, uuid.Nil, shard)); err != nil {
		return wrapPlain("count the place", err)
	}
	if err := h.insert(ctx, tx, price); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, pool_id, shard, bucket, quantity, amount_minor)
		VALUES ($1, $2, $3, 0, 0, 'POOL', $4, $5, $6, $7, 1, $8)`,
		h.stock.actor.Tenant.UUID, demoRegion, h.id, h.stock.show.UUID, pool.UUID, shard, uuid.Nil, price)
	return wrapPlain("store the line", err)
}

func (h plainHold) nights(ctx context.Context, tx pgx.Tx) error {
	room, first := h.stock.stay()
	return h.stayAt(ctx, tx, h.stock.house.UUID, room, first)
}

// stayAt takes a room of a hotel for some nights.
func (h plainHold) stayAt(ctx context.Context, tx pgx.Tx, house uuid.UUID, room inventory.RoomTypeID, first civil.Date) error {
	key := []any{h.stock.actor.Tenant.UUID, demoRegion, room.UUID, first, first.AddDays(benchStayNights - 1)}
	var price, planned int64
	if err := tx.QueryRow(ctx, `SELECT COALESCE(sum(amount_minor), 0)::bigint, count(*) FROM night_rates
		WHERE tenant_id = $1 AND region = $2 AND room_type_id = $3 AND night BETWEEN $4 AND $5`, key...).Scan(&price, &planned); err != nil {
		return wrapPlain("read the price", err)
	}
	if planned != benchStayNights {
		return errTaken
	}
	if err := exactly(benchStayNights)(tx.Exec(ctx, `UPDATE night_counters SET held = held + 1
		WHERE tenant_id = $1 AND region = $2 AND room_type_id = $3 AND night BETWEEN $4 AND $5 AND bucket = $6`, append(key, uuid.Nil)...)); err != nil {
		return wrapPlain("count the nights", err)
	}
	if err := h.insert(ctx, tx, price); err != nil {
		return err
	}
	return wrapPlain("store the lines", exactly(benchStayNights)(tx.Exec(ctx, `INSERT INTO hold_lines
			(tenant_id, region, hold_id, ordinal, item, kind, property_id, room_type_id, night, bucket, quantity, amount_minor)
		SELECT tenant_id, region, $6::uuid, night - $4::date, 0, 'NIGHT', $7::uuid, room_type_id, night, $8::uuid, 1, amount_minor
		FROM night_rates WHERE tenant_id = $1 AND region = $2 AND room_type_id = $3 AND night BETWEEN $4 AND $5`,
		append(key, h.id, house, uuid.Nil)...)))
}

// insert stores the hold with the product's default terms.
func (h plainHold) insert(ctx context.Context, tx pgx.Tx, total int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline,
			claimable_at, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline,
			max_per_instrument, total_minor, currency)
		VALUES ($1, $2, $3, $4, 'KEY', $5, 'ACTIVE', $6, $7, $7, $7, 1, $8, $8, 120, 120, 'HONOUR', 'RELEASE', 5, $9, 'EUR')`,
		h.stock.actor.Tenant.UUID, demoRegion, h.id, h.stock.actor.Channel.UUID, h.stock.actor.Key.UUID, h.now, h.deadline(), benchHoldSeconds, total)
	return wrapPlain("store the hold", err)
}

// exactly makes another number of rows than n an error.
func exactly(n int64) func(pgconn.CommandTag, error) error {
	return func(tag pgconn.CommandTag, err error) error {
		if err == nil && tag.RowsAffected() != n {
			return errTaken
		}
		return err
	}
}

func wrapPlain(doing string, err error) error {
	if err == nil || errors.Is(err, errTaken) {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}
