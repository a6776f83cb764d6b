package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/schema"
)

// benchNightsVersion is the first version of the schema that has nights.
const benchNightsVersion = 2

// How the nights of the migration are spread and loaded.
const (
	benchNightsPerRoom  = 1000
	benchRoomsPerInsert = 5
	benchMaxNights      = 10_000_000
	benchMigrationLimit = 30 * time.Minute
)

// benchMigration is how long a database full of nights takes to be brought up to date.
type benchMigration struct {
	// Nights are nights of room types; each is a row of the plan, the rate and the counter.
	Nights      int     `json:"nights"`
	Rows        int     `json:"rows"`
	FromVersion int     `json:"fromVersion"`
	ToVersion   int     `json:"toVersion"`
	Seconds     float64 `json:"seconds"`
}

// measureMigration fills a database of its own at the schema's version that first had nights, and
// migrates it to the latest, River's tables included.
func measureMigration(ctx context.Context, s *store, config benchConfig, say func(string, ...any)) (report *benchMigration, err error) {
	ctx, cancel := context.WithTimeout(ctx, benchMigrationLimit)
	defer cancel()
	latest, err := schema.Latest()
	if err != nil {
		return nil, err
	}
	name := "holdfast_bench_" + randomName()
	target, err := createDatabase(ctx, s.url, name)
	defer func() { err = errors.Join(err, dropDatabase(ctx, s.url, name)) }()
	if err != nil {
		return nil, err
	}
	d, err := db.Open(ctx, db.Config{URL: target, MaxConnections: 4})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := schema.MigrateTo(ctx, d, discard(), benchNightsVersion); err != nil {
		return nil, err
	}
	rooms := (config.Nights + benchNightsPerRoom - 1) / benchNightsPerRoom
	report = &benchMigration{Nights: rooms * benchNightsPerRoom, Rows: 3 * rooms * benchNightsPerRoom, FromVersion: benchNightsVersion, ToVersion: latest}
	say("  loading %d nights, %d rows …", report.Nights, report.Rows)
	if err := loadNights(ctx, d, rooms); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := errors.Join(schema.Migrate(ctx, d, discard()), jobs.Migrate(ctx, d)); err != nil {
		return nil, err
	}
	report.Seconds = rounded(time.Since(begin).Seconds(), 100)
	say("  from version %d to %d: %.2f s", report.FromVersion, report.ToVersion, report.Seconds)
	return report, nil
}

// loadNights fills the tables of nights in many small transactions, as CockroachDB wants it.
func loadNights(ctx context.Context, d *db.DB, rooms int) error {
	tenant, property := uuid.New(), uuid.New()
	if err := execInTx(ctx, d, `INSERT INTO tenants (id, name, slug, home_region, payment_provider, payment_account)
		VALUES ($1::uuid, 'Benchmark', 'benchmark', 'eu', 'offline', 'benchmark')`, tenant); err != nil {
		return err
	}
	if err := execInTx(ctx, d, `INSERT INTO properties (tenant_id, id, region, name, time_zone, currency, country, city)
		VALUES ($1::uuid, $2::uuid, 'eu', 'Benchmark hotel', 'Europe/Vienna', 'EUR', 'AT', 'Vienna')`, tenant, property); err != nil {
		return err
	}
	for first := 0; first < rooms; first += benchRoomsPerInsert {
		ids := make([]uuid.UUID, min(benchRoomsPerInsert, rooms-first))
		for i := range ids {
			ids[i] = uuid.New()
		}
		if err := execInTx(ctx, d, `INSERT INTO room_types (tenant_id, region, id, property_id, name, max_guests)
			SELECT $1::uuid, 'eu', r.id, $2::uuid, r.id::text, 2 FROM (SELECT unnest($3::uuid[]) AS id) AS r`, tenant, property, ids); err != nil {
			return err
		}
		// The last number is benchNightsPerRoom - 1: a parameter would be a bigint, which a date takes on
		// one engine only.
		for _, statement := range []string{
			`INSERT INTO night_plans (tenant_id, region, room_type_id, night, physical)
				SELECT $1::uuid, 'eu', r.id, '2030-01-01'::date + n, 10 FROM (SELECT unnest($2::uuid[]) AS id) AS r, generate_series(0, 999) AS n`,
			`INSERT INTO night_rates (tenant_id, region, room_type_id, night, amount_minor)
				SELECT $1::uuid, 'eu', r.id, '2030-01-01'::date + n, 12000 FROM (SELECT unnest($2::uuid[]) AS id) AS r, generate_series(0, 999) AS n`,
			`INSERT INTO night_counters (tenant_id, region, room_type_id, bucket, night, sell_limit, ceiling)
				SELECT $1::uuid, 'eu', r.id, '00000000-0000-0000-0000-000000000000'::uuid, '2030-01-01'::date + n, 10, 10
				FROM (SELECT unnest($2::uuid[]) AS id) AS r, generate_series(0, 999) AS n`,
		} {
			if err := execInTx(ctx, d, statement, tenant, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

func execInTx(ctx context.Context, d *db.DB, statement string, args ...any) error {
	_, err := db.InTx(ctx, d, "bench.Load", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		_, err := tx.Exec(ctx, statement, args...)
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("load the benchmark's rows: %w", err)
	}
	return nil
}
