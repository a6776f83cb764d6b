package inventory_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/schema"
)

// planned is which indexes each statement of the hold path uses, at a million seats and a million
// nights of one tenant. A statement that is not here fails the test, so that a new one is looked at.
func planned() map[string]string {
	return map[string]string{
		"BlocksForClaim":       "seat_blocks_pkey",
		"BlocksForMap":         "seat_blocks_by_show",
		"BlocksOfShowInForce":  "seat_blocks_by_show",
		"CalendarHouses":       "house_counters_pkey",
		"CalendarNights":       "night_counters_pkey, night_plans_pkey, night_rates_pkey",
		"ChartGet":             "seating_charts_pkey",
		"ChartOfShow":          "shows_pkey",
		"ChannelNotSelling":    "channel_offers_pkey, channel_sales_pkey",
		"DueUnits":             "hold_lines_pkey, holds_due",
		"HoldBuyers":           "holds_pkey",
		"HoldEnd":              "holds_pkey",
		"HoldGet":              "holds_pkey",
		"HoldLines":            "hold_lines_pkey",
		"HoldLinesInsert":      "",
		"HoldLock":             "holds_pkey",
		"HoldReschedule":       "holds_pkey",
		"HoldsActiveOfGuests":  "holds_by_buyer",
		"HoldsDue":             "holds_due",
		"HoldsDueOnCounters":   "hold_lines_pkey, holds_due",
		"HoldsExpire":          "holds_pkey",
		"HoldsInsert":          "",
		"HoldsLock":            "holds_pkey",
		"HoldsOfBuyersOnUnits": "hold_lines_pkey, holds_by_buyer",
		"HouseCountersHold":    "house_counters_pkey",
		"HouseCountersLock":    "house_counters_pkey",
		"HouseCountersMove":    "house_counters_pkey",
		"NightCountersHold":    "night_counters_pkey",
		"NightCountersLock":    "night_counters_pkey",
		"NightCountersMove":    "night_counters_pkey",
		"NightsForClaim":       "night_plans_pkey, night_rates_pkey, rate_plan_nights_pkey, rate_plans_pkey",
		"Now":                  "",
		"PoolCounterHold":      "pool_counters_pkey",
		"PoolCounterMove":      "pool_counters_pkey",
		"PoolCountersLock":     "pool_counters_pkey",
		"PoolsForClaim":        "pools_pkey, price_levels_pkey",
		"PoolsOfShows":         "past_pool_counters_pkey, pool_counters_pkey, pools_name_unique",
		"PriceLevelsOfShows":   "price_levels_pkey",
		"PolicyStepsOfScopes":  "cancellation_policies_pkey, cancellation_steps_pkey, tax_rates_pkey",
		"PricingOfRooms":       "guest_price_ages_pkey, guest_prices_pkey, rate_adjustments_pkey, rounding_rules_pkey, stay_charges_pkey, tax_rates_pkey",
		"PromotionsForClaim":   "presale_counters_pkey, promotion_scopes_pkey, promotions_pkey",
		"RequestGet":           "requests_pkey",
		"RequestInsert":        "",
		"SearchPlanNights":     "rate_plan_nights_pkey",
		"SearchProperties":     "booking_windows_pkey, channel_offers_pkey, channel_sales_pkey, properties_pkey, property_places_pkey",
		"SearchRoomTypes":      "room_types_name_unique",
		"SearchRatePlans":      "booking_windows_pkey, channel_rate_plans_pkey, channel_sales_pkey, rate_plans_code_unique",
		"RoomTypesForClaim":    "booking_windows_pkey, channel_offers_pkey, channel_sales_pkey, properties_pkey, room_types_pkey",
		"SeatStatuses":         "past_show_seats_pkey, show_seats_pkey",
		"SeatsBook":            "show_seats_pkey",
		"SeatsDueHolds":        "show_seats_pkey",
		"SeatsForChoice":       "show_seats_pkey",
		"SeatsFree":            "show_seats_pkey",
		"SeatsHold":            "show_seats_pkey",
		"SeatsLock":            "show_seats_pkey",
		"SeatsReschedule":      "show_seats_pkey",
		"ShowsForClaim":        "channel_offers_pkey, channel_sales_pkey, shows_pkey",
		"TermsOfScopes":        "sales_terms_pkey",
		// The archiver, and a cancellation after it.
		"PastPoolCounterMove":    "past_pool_counters_pkey",
		"PastPoolCountersInsert": "pool_counters_pkey",
		"PastSeatsFree":          "past_show_seats_pkey",
		"PastSeatsInsert":        "show_seats_pkey",
		"PoolCountersRemove":     "pool_counters_pkey",
		"PoolCountersToMove":     "pool_counters_pkey",
		"PoolsToMove":            "pool_counters_pkey, pools_name_unique",
		"SeatsRemove":            "show_seats_pkey",
		"SeatsToMove":            "show_seats_pkey",
		"ShowArchive":            "shows_pkey",
		"ShowComplete":           "shows_pkey",
		"ShowStageLock":          "shows_pkey",
		"ShowUnitsHeld":          "pool_counters_pkey, pools_name_unique, show_seats_pkey",
		"ShowsToArchive":         "shows_to_archive",
		// The sweeper begins with the directory of who sells where: hundreds of rows, read every few
		// seconds by one process.
		"SellingPlaces": "SCAN OF properties, SCAN OF venues",
	}
}

// bulk fills the tables of one tenant: a million seats and nights, and for each other table enough
// rows that reading all of them would show. What fills a million comes in so many statements.
func bulk(parts int) []string {
	queries := []string{}
	// {part} chooses a part of so many rows.
	add := func(of int, query string) {
		for i := range parts {
			size := of / parts
			queries = append(queries, strings.ReplaceAll(query, "{part}", fmt.Sprintf("ORDER BY id LIMIT %d OFFSET %d", size, i*size)))
		}
	}
	queries = append(queries, bulkOfParents()...)
	add(100, `INSERT INTO show_seats (tenant_id, region, show_id, seat_id, price_level_id)
		SELECT s.tenant_id, s.region, s.id, ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, s.event_id
		FROM (SELECT * FROM shows WHERE name = 'Show' {part}) AS s, generate_series(1, 10000) AS n
		ORDER BY s.id, n`)
	add(1000, `INSERT INTO night_plans (tenant_id, region, room_type_id, night, physical)
		SELECT r.tenant_id, r.region, r.id, '2097-01-01'::date + n, 10
		FROM (SELECT * FROM room_types WHERE name = 'Type' {part}) AS r, generate_series(0, 999) AS n
		ORDER BY r.id, n`)
	add(1000, `INSERT INTO night_rates (tenant_id, region, room_type_id, night, amount_minor)
		SELECT r.tenant_id, r.region, r.id, '2097-01-01'::date + n, 10000
		FROM (SELECT * FROM room_types WHERE name = 'Type' {part}) AS r, generate_series(0, 999) AS n
		ORDER BY r.id, n`)
	add(1000, `INSERT INTO night_counters (tenant_id, region, room_type_id, bucket, night, sell_limit, ceiling)
		SELECT r.tenant_id, r.region, r.id, '00000000-0000-0000-0000-000000000000', '2097-01-01'::date + n, 10, 10
		FROM (SELECT * FROM room_types WHERE name = 'Type' {part}) AS r, generate_series(0, 999) AS n
		ORDER BY r.id, n`)
	return append(queries, bulkOfHolds()...)
}

func bulkOfParents() []string {
	return []string{
		// The rows below have no parents; nothing here asks for them.
		"ALTER TABLE shows DROP CONSTRAINT shows_event",
		"ALTER TABLE price_levels DROP CONSTRAINT price_levels_show",
		"ALTER TABLE pools DROP CONSTRAINT pools_show",
		"ALTER TABLE pools DROP CONSTRAINT pools_level",
		"ALTER TABLE night_plans DROP CONSTRAINT night_plans_room_type",
		"ALTER TABLE night_rates DROP CONSTRAINT night_rates_room_type",
		"ALTER TABLE hold_lines DROP CONSTRAINT hold_lines_hold",

		`INSERT INTO properties (tenant_id, id, region, name, time_zone, currency, country, city)
		SELECT $1, gen_random_uuid(), 'eu', 'Inn', 'Europe/Vienna', 'EUR', 'AT', 'Vienna' FROM generate_series(1, 5000)`,
		`INSERT INTO shows (tenant_id, region, id, event_id, venue_id, name, state, starts_at, currency)
		SELECT $1, 'eu', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'Show', 'ON_SALE', now(), 'EUR' FROM generate_series(1, 20000)`,
		`INSERT INTO price_levels (tenant_id, region, show_id, id, name, amount_minor)
		SELECT tenant_id, region, id, gen_random_uuid(), 'Level', 100 FROM shows WHERE name = 'Show'`,
		`INSERT INTO pools (tenant_id, region, id, show_id, price_level_id, name, capacity, shards)
		SELECT tenant_id, region, gen_random_uuid(), show_id, id, 'Pool', 100, 4 FROM price_levels WHERE name = 'Level'`,
		`INSERT INTO pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, ceiling)
		SELECT tenant_id, region, id, '00000000-0000-0000-0000-000000000000', n, 25, 25 FROM pools, generate_series(0, 3) AS n WHERE name = 'Pool'`,
		`INSERT INTO room_types (tenant_id, region, id, property_id, name, max_guests)
		SELECT tenant_id, region, gen_random_uuid(), id, 'Type', 2 FROM properties`,
		`INSERT INTO rate_plans (tenant_id, region, id, property_id, code, name)
		SELECT tenant_id, region, gen_random_uuid(), id, 'BAR', 'Best available rate' FROM properties`,
		`INSERT INTO seat_blocks (tenant_id, region, id, show_id, reason, note, release_at, created_at)
		SELECT tenant_id, region, gen_random_uuid(), id, 'House', '', now() + n * interval '1 day', now()
		FROM shows, generate_series(1, 3) AS n WHERE name = 'Show'`,
		`INSERT INTO sales_terms (tenant_id, scope_id, hold_seconds) SELECT tenant_id, id, 300 FROM shows WHERE name = 'Show'`,
		`INSERT INTO past_show_seats (tenant_id, region, show_id, seat_id, price_level_id)
		SELECT s.tenant_id, s.region, s.id, ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, s.event_id
		FROM (SELECT * FROM shows WHERE name = 'Show' ORDER BY id DESC LIMIT 20) AS s, generate_series(1, 5000) AS n`,
		`INSERT INTO past_pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, ceiling)
		SELECT $1, 'eu', gen_random_uuid(), '00000000-0000-0000-0000-000000000000', n, 25, 25 FROM generate_series(1, 20000) AS m, generate_series(0, 3) AS n`,
	}
}

func bulkOfHolds() []string {
	return []string{
		`INSERT INTO seating_charts (tenant_id, region, id, venue_id, name, geometry, seat_count)
		SELECT c.tenant_id, c.region, gen_random_uuid(), c.venue_id, 'Chart', '{}', 0 FROM seating_charts c, generate_series(1, 5000) AS n`,
		`INSERT INTO house_counters (tenant_id, region, property_id, night, sell_limit, ceiling)
		SELECT p.tenant_id, p.region, p.id, '2097-01-01'::date + n, 10, 10
		FROM (SELECT * FROM properties WHERE name = 'Inn' ORDER BY id LIMIT 500) AS p, generate_series(0, 199) AS n`,
		// Most holds have ended; some are live, and some of those due.
		`INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline, claimable_at, ended_at,
			max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline, max_per_instrument, total_minor, currency)
		SELECT $1, 'eu', gen_random_uuid(), gen_random_uuid(), 'GUEST', gen_random_uuid(),
			CASE WHEN n <= 5000 THEN 'ACTIVE' WHEN n % 2 = 0 THEN 'CONFIRMED' ELSE 'EXPIRED' END,
			now() - n * interval '1 second', now() + (4000 - n) * interval '1 second', now(), now() + (4000 - n) * interval '1 second',
			CASE WHEN n <= 5000 THEN NULL ELSE now() END,
			1, 300, 900, 120, 120, 'HONOUR', 'RELEASE', 5, 100, 'EUR'
		FROM generate_series(1, 100000) AS n`,
		`INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, pool_id, shard, property_id, room_type_id, night, bucket, quantity, amount_minor)
		SELECT h.tenant_id, h.region, h.id, n, n, CASE WHEN n = 0 THEN 'POOL' ELSE 'NIGHT' END,
			CASE WHEN n = 0 THEN h.id END, CASE WHEN n = 0 THEN h.channel_id END, CASE WHEN n = 0 THEN 0 END,
			CASE WHEN n > 0 THEN h.id END, CASE WHEN n > 0 THEN h.channel_id END, CASE WHEN n > 0 THEN '2097-11-05'::date END,
			'00000000-0000-0000-0000-000000000000', 1, 100
		FROM holds h, generate_series(0, 2) AS n`,
		`INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id)
		SELECT $1, 'eu', 'placeHold/GUEST/' || gen_random_uuid()::text, 'k' || n::text, 'x', gen_random_uuid() FROM generate_series(1, 100000) AS n`,
	}
}

// No statement in the path of a hold may scan, however much stock there is.
func TestNoStatementOfTheHoldPathScans(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: it loads two million rows")
	}
	databaseURL := dbtest.Create(t)
	recorder, throughWire := newWire(t, databaseURL)
	d, err := db.Open(t.Context(), db.Config{URL: throughWire})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := schema.Migrate(t.Context(), d, discard()); err != nil {
		t.Fatal(err)
	}
	tenant := inventorytest.NewOn(t, d)
	hall := tenant.Hall(20, inventorytest.PoolOf("Floor", 8, 4))
	hotel := tenant.Hotel()
	room := hotel.Stocked("Double", 2, 1, 10)
	hotel.SetHouseLimit(1, 10, inventorytest.Of[int64](2))
	tenant.SetTerms(inventory.TermsChange{})
	guest, other := tenant.Guest(), tenant.Guest()
	hall.Block(guest.Actor.Channel, 1)
	load(t, tenant)

	recorder.forget()
	everyStatementOfTheHoldPath(t, tenant, guest, other, hall, room)

	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	want := planned()
	for name := range want {
		if _, sent := recorder.last[name]; !sent {
			t.Errorf("%s was not sent", name)
		}
	}
	for name, statement := range recorder.last {
		got := explain(t, conn, d.Engine(), statement)
		if d.Engine() == db.EngineCockroachDB {
			// Its plans of an INSERT name the tables that foreign keys look at, and which of two indexes with
			// the same first columns it takes depends on its version. None of that is a scan.
			if _, known := want[name]; !known || strings.Contains(got, "SCAN") && !strings.Contains(want[name], "SCAN") {
				t.Errorf("%s reads by %q, want %q", name, got, want[name])
			}
			continue
		}
		if got != want[name] {
			t.Errorf("%s reads by %q, want %q", name, got, want[name])
		}
	}
}

// load fills the tables. PostgreSQL loads the large ones without indexes and logs, and makes the
// indexes afterwards.
func load(t *testing.T, tenant *inventorytest.Tenant) {
	t.Helper()
	// CockroachDB wants many small transactions.
	queries := bulk(50)
	if tenant.DB.Engine() == db.EnginePostgreSQL {
		queries = bulk(1)
		var before, after []string
		for table, key := range map[string]string{
			"show_seats": "tenant_id, region, show_id, seat_id", "night_plans": "tenant_id, region, room_type_id, night",
			"night_rates": "tenant_id, region, room_type_id, night", "night_counters": "tenant_id, region, room_type_id, bucket, night",
		} {
			before = append(before, "ALTER TABLE "+table+" SET UNLOGGED", "ALTER TABLE "+table+" DROP CONSTRAINT "+table+"_pkey")
			after = append(after, "ALTER TABLE "+table+" ADD CONSTRAINT "+table+"_pkey PRIMARY KEY ("+key+")")
		}
		queries = slices.Concat(before, queries, after)
	}
	// CockroachDB analyzes tables one by one.
	for _, table := range []string{
		"properties", "seating_charts", "shows", "price_levels", "pools", "pool_counters", "room_types", "sales_terms", "show_seats",
		"night_plans", "night_rates", "night_counters", "house_counters", "holds", "hold_lines", "requests",
	} {
		queries = append(queries, "ANALYZE "+table)
	}
	for _, query := range queries {
		var args []any
		if strings.Contains(query, "$1") {
			args = []any{tenant.ID.UUID}
		}
		if _, err := tenant.DB.Pool().Exec(t.Context(), query, args...); err != nil {
			t.Fatalf("%.60s: %v", query, err)
		}
	}
}

// everyStatementOfTheHoldPath places, replays, is refused, reaps, extends, releases, pays and
// cancels holds of every kind of unit, and sweeps.
func everyStatementOfTheHoldPath(t *testing.T, tenant *inventorytest.Tenant, guest, other inventorytest.Buyer, hall *inventorytest.Hall, room *inventorytest.Room) {
	t.Helper()
	wishes := []inventory.LineRequest{hall.Seats(1, 2), hall.Pools[0].Units(8), room.Rooms(2, 5, 7)}
	hold, err := guest.TryKey("again", wishes...)
	if err != nil {
		t.Fatal(tenant.Explain(err))
	}
	if _, err := guest.TryKey("again", wishes...); err != nil {
		t.Fatal(tenant.Explain(err))
	}
	for _, buyer := range []inventorytest.Buyer{guest, other} {
		if _, err := buyer.Try(wishes...); err == nil {
			t.Fatal("held twice")
		}
	}
	guest.Extend(hold)
	guest.Read(hold)
	tenant.Lapse(hold)
	second := other.Hold(wishes...)
	other.Release(second)
	third := other.Hold(wishes...)
	if _, err := tenant.Checkout(third.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.Confirm(third.ID); err != nil {
		t.Fatal(err)
	}
	if err := tenant.Return(third); err != nil {
		t.Fatal(err)
	}
	other.Release(other.Hold(hall.Best(2)))
	// The sweeper begins with the oldest; those of the bulk are of nothing.
	oldest := guest.Hold(wishes...)
	for _, query := range []string{
		"UPDATE holds SET deadline = '2000-01-01', lease_deadline = '2000-01-01', claimable_at = '2000-01-01' WHERE tenant_id = $1 AND region = 'eu' AND id = $2",
		"UPDATE show_seats SET claimable_at = '2000-01-01' WHERE tenant_id = $1 AND hold_id = $2",
	} {
		if _, err := tenant.DB.Pool().Exec(t.Context(), query, tenant.ID.UUID, oldest.ID.UUID); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := tenant.Inventory.ExpireDue(t.Context(), 1); err != nil || n != 1 {
		t.Fatalf("swept %d, %v", n, err)
	}
	guest.SeatStatuses(hall)
	guest.Available(hall)
	guest.Calendar(room, 1, 10)
	// The archiver begins with the oldest, too.
	sold := guest.Hold(hall.Seats(3, 4), hall.Pools[0].Units(2))
	if _, err := tenant.Confirm(sold.ID); err != nil {
		t.Fatal(err)
	}
	hall.Over(100 * week)
	if done, err := tenant.Inventory.ArchiveDue(t.Context(), inventory.Archiving{CompletedBefore: tenant.Now().Add(-99 * week), MaxRows: 1000}); err != nil || done.Shows != 1 {
		t.Fatalf("archived %+v, %v", done, err)
	}
	if err := tenant.Return(sold); err != nil {
		t.Fatal(err)
	}
}

// explain says which indexes a statement reads by, planned for its arguments and in general, and
// that it scans when it does.
func explain(t *testing.T, conn *pgx.Conn, engine db.Engine, s statement) string {
	t.Helper()
	if engine == db.EngineCockroachDB {
		return explainCockroachDB(t, conn, s)
	}
	custom := readPlan(t, conn.PgConn().ExecParams(t.Context(), "EXPLAIN (FORMAT JSON) "+s.sql, s.values, nil, s.formats, nil).Read)
	arguments := ""
	if len(s.values) > 0 {
		arguments = "(" + strings.TrimSuffix(strings.Repeat("NULL, ", len(s.values)), ", ") + ")"
	}
	for _, query := range []string{"SET plan_cache_mode = force_generic_plan", "DEALLOCATE ALL", "PREPARE looked_at AS " + s.sql} {
		if _, err := conn.PgConn().Exec(t.Context(), query).ReadAll(); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	generic := readPlan(t, conn.PgConn().ExecParams(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE looked_at"+arguments, nil, nil, nil, nil).Read)
	if custom != generic {
		return custom + "; in general " + generic
	}
	return custom
}

func readPlan(t *testing.T, read func() *pgconn.Result) string {
	t.Helper()
	result := read()
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(result.Rows[0][0], &plans); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	plans[0].Plan.collect(found)
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}

// planNode is what matters here of PostgreSQL's plans.
type planNode struct {
	NodeType     string `json:"Node Type"`
	RelationName string `json:"Relation Name"`
	IndexName    string `json:"Index Name"`
	Plans        []planNode
}

func (n planNode) collect(found map[string]bool) {
	switch {
	case n.NodeType == "Seq Scan":
		found["SCAN OF "+n.RelationName] = true
	case n.IndexName == "price_levels_name_unique":
		// A show has few levels: the index on their names begins with the same columns as the key.
		found["price_levels_pkey"] = true
	case n.IndexName != "":
		found[n.IndexName] = true
	}
	for _, child := range n.Plans {
		child.collect(found)
	}
}

// explainCockroachDB reads the tables and indexes from the lines such as "table: holds@holds_due".
func explainCockroachDB(t *testing.T, conn *pgx.Conn, s statement) string {
	t.Helper()
	result := conn.PgConn().ExecParams(t.Context(), "EXPLAIN "+s.sql, s.values, nil, s.formats, nil).Read()
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	found := map[string]bool{}
	for _, row := range result.Rows {
		line := string(row[0])
		if _, used, ok := strings.Cut(line, "table: "); ok {
			table, index, _ := strings.Cut(used, "@")
			if index == "primary" {
				index = table + "_pkey"
			}
			found[index] = true
		}
		if strings.Contains(line, "FULL SCAN") {
			found["SCAN"] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}
