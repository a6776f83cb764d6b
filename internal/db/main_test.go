package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is how long a test waits for a condition before it gives up.
const patience = 20 * time.Second

// counter is one row that says how often something happened.
type counter struct{ tenant uuid.UUID }

// newCounter makes a row that nobody else has: pool_counters stands alone, and its ceiling is a
// CHECK.
func newCounter(t *testing.T) counter {
	t.Helper()
	c := counter{tenant: uuid.New()}
	if _, err := dbtest.Open(t).Pool().Exec(t.Context(), `
INSERT INTO pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, ceiling)
VALUES ($1::uuid, 'eu', $1::uuid, $1::uuid, 0, 1000, 1000)`, c.tenant); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c counter) read(ctx context.Context, q querier) (int64, error) {
	var held int64
	err := q.QueryRow(ctx, "SELECT held FROM pool_counters WHERE tenant_id = $1::uuid", c.tenant).Scan(&held)
	return held, err
}

// set is the second half of a read-modify-write, which only isolation makes safe.
func (c counter) set(ctx context.Context, tx pgx.Tx, held int64) error {
	_, err := tx.Exec(ctx, "UPDATE pool_counters SET held = $2::bigint WHERE tenant_id = $1::uuid", c.tenant, held)
	return err
}

func (c counter) add(ctx context.Context, tx pgx.Tx) (int64, error) {
	var held int64
	err := tx.QueryRow(ctx, "UPDATE pool_counters SET held = held + 1 WHERE tenant_id = $1::uuid RETURNING held", c.tenant).Scan(&held)
	return held, err
}

func (c counter) want(t *testing.T, want int64) {
	t.Helper()
	got, err := c.read(t.Context(), dbtest.Open(t).Pool())
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the counter is %d, want %d", got, want)
	}
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// open is a pool of its own, for tests that break connections.
func open(t *testing.T, config db.Config) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// behindProxy is a pool whose connections lead through a proxy.
func behindProxy(t *testing.T) (*db.DB, *dbtest.Proxy) {
	t.Helper()
	proxy := dbtest.NewProxy(t, dbtest.URL(t))
	return open(t, db.Config{URL: proxy.URL(), MaxConnections: 4}), proxy
}

// void makes a transaction of what has no result.
func void(fn func(ctx context.Context, tx pgx.Tx) error) func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
	return func(ctx context.Context, tx pgx.Tx) (struct{}, error) { return struct{}{}, fn(ctx, tx) }
}
