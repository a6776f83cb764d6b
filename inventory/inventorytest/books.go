package inventorytest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/inventory"
)

// Count is a counter's row, or the sum of several.
type Count struct {
	Limit, Held, Booked, Ceiling int64
}

// everyPoolCounter and everySeat are the rows of current shows and of past ones.
const (
	everyPoolCounter = `(SELECT tenant_id, pool_id, bucket, shard, sell_limit, held, booked, ceiling FROM pool_counters
		UNION ALL SELECT tenant_id, pool_id, bucket, shard, sell_limit, held, booked, ceiling FROM past_pool_counters)`
	everySeat = `(SELECT tenant_id, region, show_id, seat_id, state, hold_id, claimable_at FROM show_seats
		UNION ALL SELECT tenant_id, region, show_id, seat_id, state, hold_id, claimable_at FROM past_show_seats)`
)

// Count of the pool is the sum over its shards, wherever they stand.
func (p Pool) Count() Count {
	p.tenant.t.Helper()
	return p.tenant.count(everyPoolCounter+" AS c", "pool_id = $2", p.ID.UUID)
}

// Count of a night of November.
func (r *Room) Count(day int) Count {
	r.Hotel.tenant.t.Helper()
	return r.Hotel.tenant.count("night_counters", "room_type_id = $2 AND night = $3", r.ID.UUID, Nov(day))
}

// HouseCount is the counter of the whole house on a night of November.
func (h *Hotel) HouseCount(day int) Count {
	h.tenant.t.Helper()
	return h.tenant.count("house_counters", "property_id = $2 AND night = $3", h.Property.ID.UUID, Nov(day))
}

func (x *Tenant) count(table, which string, args ...any) Count {
	x.t.Helper()
	var c Count
	err := x.DB.Pool().QueryRow(x.t.Context(), `SELECT COALESCE(sum(sell_limit), 0)::bigint, COALESCE(sum(held), 0)::bigint,
		COALESCE(sum(booked), 0)::bigint, COALESCE(sum(ceiling), 0)::bigint FROM `+table+` WHERE tenant_id = $1 AND `+which,
		append([]any{x.ID.UUID}, args...)...).Scan(&c.Limit, &c.Held, &c.Booked, &c.Ceiling)
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

// Rows is how many rows of the tenant a table has.
func (x *Tenant) Rows(table string) int {
	x.t.Helper()
	var n int
	if err := x.DB.Pool().QueryRow(x.t.Context(), "SELECT count(*) FROM "+table+" WHERE tenant_id = $1", x.ID.UUID).Scan(&n); err != nil {
		x.t.Fatal(err)
	}
	return n
}

// Audit compares the tenant's books with each other: every counter with the sum of the live lines,
// every live line of a seat with the seat's owner, and every counter with its ceiling. returned are
// confirmed holds whose units were all given back.
func (x *Tenant) Audit(returned ...inventory.HoldID) {
	x.t.Helper()
	back := make([]uuid.UUID, len(returned))
	for i, id := range returned {
		back[i] = id.UUID
	}
	var wrong []string
	for _, counter := range []struct{ table, rows, owner, part, line string }{
		{"pool_counters", everyPoolCounter + " AS p", "pool_id", "bucket::text || ' ' || shard::text", "POOL"},
		{"night_counters", "night_counters", "room_type_id", "bucket::text || ' ' || night::text", "NIGHT"},
		{"house_counters", "house_counters", "property_id", "night::text", "NIGHT"},
	} {
		wrong = append(wrong, x.list(`
			SELECT '`+counter.table+` ' || c.owner::text || ' ' || c.part || ': held ' || c.held::text || ' booked ' || c.booked::text
				|| ' ceiling ' || c.ceiling::text || ', lines say ' || COALESCE(l.held, 0)::text || ' ' || COALESCE(l.booked, 0)::text
			FROM (SELECT `+counter.owner+` AS owner, `+counter.part+` AS part, held, booked, ceiling, sell_limit FROM `+counter.rows+` WHERE tenant_id = $1) AS c
			LEFT JOIN (
				SELECT l.`+counter.owner+` AS owner, `+counter.part+` AS part,
					sum(CASE WHEN h.state IN ('ACTIVE', 'PROCESSING') THEN l.quantity ELSE 0 END)::bigint AS held,
					sum(CASE WHEN h.state = 'CONFIRMED' AND NOT h.id = ANY($2::uuid[]) THEN l.quantity ELSE 0 END)::bigint AS booked
				FROM holds h JOIN hold_lines l ON l.tenant_id = h.tenant_id AND l.region = h.region AND l.hold_id = h.id
				WHERE h.tenant_id = $1 AND l.kind = '`+counter.line+`'
				GROUP BY 1, 2) AS l ON l.owner = c.owner AND l.part = c.part
			WHERE c.held <> COALESCE(l.held, 0) OR c.booked <> COALESCE(l.booked, 0) OR c.held + c.booked > c.ceiling
				OR c.ceiling <> GREATEST(c.sell_limit, c.held + c.booked)`, back)...)
	}
	wrong = append(wrong, x.list(`
		SELECT 'night ' || p.night::text || ': limits of ' || sum(c.sell_limit)::text || ' for ' || (p.physical - p.out_of_order + p.oversell)::text
		FROM night_plans p JOIN night_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.room_type_id = p.room_type_id AND c.night = p.night
		WHERE p.tenant_id = $1 AND cardinality($2::uuid[]) >= 0
		GROUP BY p.room_type_id, p.night, p.physical, p.out_of_order, p.oversell
		HAVING sum(c.sell_limit) > p.physical - p.out_of_order + p.oversell`, back)...)
	wrong = append(wrong, x.list(`
		SELECT 'pool ' || p.name || ': limits of ' || sum(c.sell_limit)::text || ' for ' || p.capacity::text
		FROM pools p JOIN pool_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.id
		WHERE p.tenant_id = $1 AND cardinality($2::uuid[]) >= 0
		GROUP BY p.id, p.name, p.capacity
		HAVING sum(c.sell_limit) > p.capacity`, back)...)
	// A sale keeps its use of a presale code whether or not its units were given back.
	wrong = append(wrong, x.list(`
		SELECT 'presale code ' || c.code_id::text || ': held ' || c.held::text || ' booked ' || c.booked::text
		FROM presale_counters c
		LEFT JOIN (
			SELECT u.code, sum(CASE WHEN u.state IN ('ACTIVE', 'PROCESSING') THEN 1 ELSE 0 END)::bigint AS held,
				sum(CASE WHEN u.state = 'CONFIRMED' THEN 1 ELSE 0 END)::bigint AS booked
			FROM (
				SELECT presale_code_id AS code, state FROM holds WHERE tenant_id = $1 AND presale_code_id IS NOT NULL
				UNION ALL
				SELECT promotion_id AS code, state FROM holds WHERE tenant_id = $1 AND promotion_id IS NOT NULL) AS u
			GROUP BY 1) AS h ON h.code = c.code_id
		WHERE c.tenant_id = $1 AND cardinality($2::uuid[]) >= 0
			AND (c.held <> COALESCE(h.held, 0) OR c.booked <> COALESCE(h.booked, 0))`, back)...)
	wrong = append(wrong, x.list(`
		SELECT 'seat ' || l.seat_id::text || ' is not owned by its hold ' || h.id::text || ' ' || h.state
		FROM holds h JOIN hold_lines l ON l.tenant_id = h.tenant_id AND l.region = h.region AND l.hold_id = h.id
		LEFT JOIN `+everySeat+` AS s ON s.tenant_id = l.tenant_id AND s.region = l.region AND s.show_id = l.show_id AND s.seat_id = l.seat_id
			AND s.hold_id = h.id AND s.state = CASE WHEN h.state = 'CONFIRMED' THEN 'BOOKED' ELSE 'HELD' END
		WHERE h.tenant_id = $1 AND l.kind = 'SEAT' AND h.state IN ('ACTIVE', 'PROCESSING', 'CONFIRMED')
			AND NOT h.id = ANY($2::uuid[]) AND s.seat_id IS NULL`, back)...)
	wrong = append(wrong, x.list(`
		SELECT 'seat ' || s.seat_id::text || ' is ' || s.state || ' without a live line of hold ' || s.hold_id::text
		FROM `+everySeat+` AS s
		WHERE s.tenant_id = $1 AND s.state <> 'AVAILABLE' AND NOT EXISTS (
			SELECT 1 FROM holds h JOIN hold_lines l ON l.tenant_id = h.tenant_id AND l.region = h.region AND l.hold_id = h.id
			WHERE h.tenant_id = s.tenant_id AND h.region = s.region AND h.id = s.hold_id AND l.show_id = s.show_id AND l.seat_id = s.seat_id
				AND (h.state IN ('ACTIVE', 'PROCESSING') AND s.state = 'HELD' AND s.claimable_at = h.claimable_at
					OR h.state = 'CONFIRMED' AND s.state = 'BOOKED' AND NOT h.id = ANY($2::uuid[])))`, back)...)
	if len(wrong) > 0 {
		slices.Sort(wrong)
		x.t.Errorf("the books do not agree:\n%s", strings.Join(wrong, "\n"))
	}
}

func (x *Tenant) list(query string, returned []uuid.UUID) []string {
	x.t.Helper()
	rows, err := x.DB.Pool().Query(x.t.Context(), query, x.ID.UUID, returned)
	if err != nil {
		x.t.Fatal(fmt.Errorf("audit: %w", err))
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			x.t.Fatal(err)
		}
		found = append(found, text)
	}
	if err := rows.Err(); err != nil {
		x.t.Fatal(fmt.Errorf("audit: %w", err))
	}
	return found
}
