package bookings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// deleteOld runs the retention of one table, for every tenant of the database.
func deleteOld(t *testing.T, b box, r bookings.Retention, table string, limit int64) int64 {
	t.Helper()
	for _, retained := range r.Tables() {
		if retained.Table == table {
			n, err := b.Sales.DeleteOld(t.Context(), retained, limit)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("nothing is retained in %s", table)
	return 0
}

// A client may repeat a request for a day, whatever is deleted meanwhile, and gets the first answer.
func TestAReplayWithinADayOutlivesTheRetention(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	input := bookingstest.CheckoutOf(hold, sandbox.TokenApprove)
	first, err := b.Sales.Checkout(t.Context(), guest.Actor, input)
	if err != nil {
		t.Fatal(err)
	}
	shortest := bookings.Retention{Requests: 24 * time.Hour}
	b.Exec("UPDATE requests SET created_at = created_at - interval '23 hours 50 minutes' WHERE tenant_id = $1")
	if n := deleteOld(t, b, shortest, "requests", 1000); n != 0 {
		t.Fatalf("%d request keys of less than a day were deleted", n)
	}
	again, err := b.Sales.Checkout(t.Context(), guest.Actor, input)
	if err != nil || again.Booking == nil || again.Booking.ID != first.Booking.ID {
		t.Fatalf("the replay is answered with %+v, %v", again, err)
	}
	b.Exec("UPDATE requests SET created_at = created_at - interval '20 minutes' WHERE tenant_id = $1")
	if n := deleteOld(t, b, shortest, "requests", 1000); n < 2 {
		t.Errorf("%d request keys of more than a day were deleted, want that of the hold and that of the checkout at least", n)
	}
	if n := deleteOld(t, b, shortest, "requests", 1000); n != 0 {
		t.Errorf("running again deleted %d more", n)
	}
	// The sale does not depend on its key.
	if got := b.Sale(hold); got != "CONFIRMED SUCCEEDED/APPLIED BOOKED" {
		t.Errorf("afterwards the sale is %s", got)
	}
	b.audit(t)
}

// Old rows go, everything else stays, and a second run finds nothing more.
func TestOldRowsAreDeleted(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	guest := b.Guest()
	live := guest.Hold(b.hall.Seats(2))
	b.Exec("DELETE FROM outbox_events WHERE tenant_id = $1")
	b.Exec("DELETE FROM requests WHERE tenant_id = $1")
	b.Exec("UPDATE guest_sessions SET expires_at = now() - interval '400 days' WHERE tenant_id = $1")
	sessions := func(id uuid.UUID, age string) {
		b.Exec(`INSERT INTO guest_sessions (tenant_id, region, id, channel_id, secret_hash, expires_at)
			VALUES ($1, 'eu', $2, $2, 'hash', now() - $3::text::interval)`, id, age)
	}
	holder, stranger, recent := live.Buyer.ID, uuid.New(), uuid.New()
	b.Exec("DELETE FROM guest_sessions WHERE tenant_id = $1 AND id = $2", holder)
	sessions(holder, "400 days")
	sessions(stranger, "25 hours")
	sessions(recent, "23 hours")
	event := func(result, age string, tenant uuid.UUID, region string) {
		b.Exec(`INSERT INTO provider_events (tenant_id, region, provider, event_id, type, account, attempt_id, amount_minor, currency, result, received_at)
			SELECT $5::uuid, $6::text, 'sandbox', $2::text || ' ' || $3::text, 'charge.succeeded', '', $4::uuid, 1, 'EUR', $2::text, now() - $3::text::interval WHERE $1::uuid IS NOT NULL`,
			result, age, uuid.New(), tenant, region)
	}
	for _, result := range []string{"APPLIED", "ALREADY_KNOWN", "IGNORED", "UNMATCHED", "MISMATCH"} {
		event(result, "91 days", b.ID.UUID, "eu")
		event(result, "89 days", b.ID.UUID, "eu")
	}
	// One about nothing of ours, and one of a request that made its tenant.
	event("IGNORED", "92 days", uuid.Nil, "xx")
	b.Exec("INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id, created_at) SELECT $2::uuid, 'eu', 'createTenant', 'old', '', $1::uuid, now() - interval '73 hours'", uuid.Nil)
	for i, age := range []string{"31 days", "29 days"} {
		b.Exec(`INSERT INTO outbox_events (tenant_id, region, id, entity_kind, entity_id, version, type, occurred_at)
			VALUES ($1, 'eu', $2, 'BOOKING', $2, $3, $4::text, now() - $4::text::interval)`, uuid.New(), i, age)
		b.Exec("INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id, created_at) VALUES ($1, 'eu', 'placeHold', $2, '', $1, now() - interval '73 hours')", age)
	}
	// One that waits for its deliveries, because nobody worked the queue of events.
	b.Exec(`INSERT INTO outbox_events (tenant_id, region, id, entity_kind, entity_id, version, type, occurred_at, fan_out_due_at)
		VALUES ($1, 'eu', $2, 'BOOKING', $2, 9, '32 days', now() - interval '32 days', now() - interval '32 days')`, uuid.New())
	b.Exec("INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id, created_at) VALUES ($1, 'eu', 'placeHold', 'young', '', $1, now() - interval '71 hours')")

	// A waiting room that was opened twice and closed long ago, one that is open, and grants of both.
	other := b.hall.Show.UUID
	b.Exec(`INSERT INTO waiting_rooms (tenant_id, region, show_id, opening, secret, opens_at, closes_at, window_seconds, rate_per_minute, grant_seconds, holds_per_grant, moved_at)
		VALUES ($1, 'eu', $2, 2, decode(repeat('00', 32), 'hex'), now() - interval '1 hour', now() + interval '1 day', 60, 60, 60, 1, now())`, other)
	for opening := 1; opening <= 2; opening++ {
		b.Exec("INSERT INTO waiting_room_counts (tenant_id, region, show_id, opening, bucket, counter_id, visitors) VALUES ($1, 'eu', $2, $3, 0, $2, 7)", other, opening)
	}
	grant := func(expired string, used int) {
		id := uuid.New()
		b.Exec(`INSERT INTO admission_grants (tenant_id, region, id, show_id, ticket, session_id, issued_at, expires_at, holds, used)
			VALUES ($1, 'eu', $2, $3, $2, $2, now() - interval '60 days', now() - $4::text::interval, 1, $5)`, id, other, expired, used)
		b.Exec("INSERT INTO admission_uses (tenant_id, region, grant_id, ordinal, hold_id) SELECT $1, 'eu', $2, 1, $2 FROM generate_series(1, $3)", id, used)
	}
	grant("31 days", 1)
	grant("29 days", 0)

	for _, table := range []string{"requests", "guest_sessions", "provider_events", "outbox_events", "admission_grants", "waiting_room_counts"} {
		deleteOld(t, b, bookings.Retention{}, table, 1000)
		if n := deleteOld(t, b, bookings.Retention{}, table, 1000); n != 0 {
			t.Errorf("running again deleted %d more of %s", n, table)
		}
	}
	left := func(statement string) string {
		rows, err := b.DB.Pool().Query(t.Context(), statement)
		if err != nil {
			t.Fatal(err)
		}
		values, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(values, ", ")
	}
	for what, c := range map[string]struct{ statement, want string }{
		"requests": {"SELECT key FROM requests WHERE scope IN ('placeHold', 'createTenant')", "young"},
		"provider events": {
			"SELECT event_id FROM provider_events ORDER BY event_id",
			"ALREADY_KNOWN 89 days, APPLIED 89 days, IGNORED 89 days, MISMATCH 89 days, MISMATCH 91 days, UNMATCHED 89 days, UNMATCHED 91 days",
		},
		"grants":          {"SELECT (expires_at > now() - interval '30 days')::text FROM admission_grants", "true"},
		"their uses":      {"SELECT ordinal::text FROM admission_uses", ""},
		"waiting":         {"SELECT opening::text FROM waiting_room_counts", "2"},
		"events":          {"SELECT type FROM outbox_events ORDER BY type", "29 days, 32 days"},
		"holder session":  {fmt.Sprintf("SELECT id::text FROM guest_sessions WHERE id = '%s'", holder), holder.String()},
		"recent session":  {fmt.Sprintf("SELECT id::text FROM guest_sessions WHERE id = '%s'", recent), recent.String()},
		"expired session": {fmt.Sprintf("SELECT id::text FROM guest_sessions WHERE id = '%s'", stranger), ""},
	} {
		if got := left(c.statement); got != c.want {
			t.Errorf("%s: %q are left, want %q", what, got, c.want)
		}
	}
	// The hold ends, and with it the reason to keep its guest's session.
	guest.Release(live)
	deleteOld(t, b, bookings.Retention{}, "guest_sessions", 1000)
	if got := left("SELECT id::text FROM guest_sessions"); got != recent.String() {
		t.Errorf("after the hold the sessions %q are left", got)
	}
	b.audit(t)
}

// A run is bounded, in batches of its own; the next one goes on where it stopped.
func TestTheRetentionIsBounded(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	b.Exec("DELETE FROM requests WHERE tenant_id = $1")
	b.Exec(`INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id, created_at)
		SELECT $1, 'eu', 'placeHold', n::text, '', $1, now() - interval '100 hours' FROM generate_series(1, 1300) AS n`)
	for i, want := range []int64{1200, 100, 0} {
		if n := deleteOld(t, b, bookings.Retention{}, "requests", 1200); n != want {
			t.Errorf("run %d deleted %d, want %d", i, n, want)
		}
	}
}

// Each deletion finds its rows through an index, among many that stay.
func TestTheRetentionReadsOnlyWhatItDeletes(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	if b.DB.Engine() != db.EnginePostgreSQL {
		t.Skip("the plans are read as PostgreSQL writes them")
	}
	for _, statement := range []string{
		`INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id, created_at)
			SELECT $1, 'eu', 'placeHold/' || n, n::text, '', $1, now() - interval '1 second' * n FROM generate_series(1, 30000) AS n`,
		`INSERT INTO guest_sessions (tenant_id, region, id, channel_id, secret_hash, expires_at)
			SELECT $1, 'eu', gen_random_uuid(), $1, 'hash', now() + interval '1 second' * n FROM generate_series(1, 30000) AS n`,
		`INSERT INTO provider_events (tenant_id, region, provider, event_id, type, account, attempt_id, amount_minor, currency, result, received_at)
			SELECT $1, 'eu', 'sandbox', n::text, '', '', $1, 1, 'EUR', 'APPLIED', now() - interval '1 second' * n FROM generate_series(1, 30000) AS n`,
		`INSERT INTO outbox_events (tenant_id, region, id, entity_kind, entity_id, version, type, occurred_at)
			SELECT $1, 'eu', gen_random_uuid(), 'BOOKING', gen_random_uuid(), 1, '', now() - interval '1 second' * n FROM generate_series(1, 30000) AS n`,
	} {
		b.Exec(statement)
	}
	if _, err := b.DB.Pool().Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	for table, index := range map[string]string{
		"requests": "requests_by_age", "guest_sessions": "guest_sessions_by_expiry",
		"provider_events": "provider_events_by_age", "outbox_events": "outbox_events_by_time",
	} {
		plan := explainDeletion(t, b, table)
		if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan on "+table) {
			t.Errorf("%s: the plan is\n%s\nwant %s and no scan of the table", table, plan, index)
		}
	}
}

// explainDeletion is the plan of a table's deletion, as it is sent.
func explainDeletion(t *testing.T, b box, table string) string {
	t.Helper()
	for _, retained := range (bookings.Retention{}).Tables() {
		if retained.Table != table {
			continue
		}
		plan, err := db.InTx(t.Context(), b.DB, "test.Explain", func(ctx context.Context, tx pgx.Tx) (string, error) {
			explained := &explainingTx{Tx: tx}
			_, err := bookings.DeleteForTest(ctx, explained, retained, b.ID.UUID, inventorytest.Region, time.Now().Add(-1000*time.Hour), 500)
			return strings.Join(explained.lines, "\n"), err
		})
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	t.Fatalf("nothing is retained in %s", table)
	return ""
}

func TestTheRetentionIsChecked(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]bookings.Retention{
		"requests":        {Requests: 23 * time.Hour},
		"sessions":        {Sessions: -1},
		"provider events": {ProviderEvents: time.Hour},
		"events":          {Events: time.Hour},
	} {
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "of "+want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := (bookings.Retention{}).Validate(); err != nil {
		t.Error(err)
	}
}

// explainingTx asks for the plan of each statement before it runs.
type explainingTx struct {
	pgx.Tx

	lines []string
}

// Exec explains and executes.
func (x *explainingTx) Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error) {
	rows, err := x.Query(ctx, "EXPLAIN "+statement, args...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	x.lines = append(x.lines, lines...)
	return x.Tx.Exec(ctx, statement, args...)
}
