package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// How due holds are made and swept.
const (
	benchDuePerInsert = 2000
	// benchSweep is how many holds one call of the sweeper looks at, as in package jobs.
	benchSweep      = 2000
	benchMaxDue     = 1_000_000
	benchSweepLimit = 10 * time.Minute
	benchDueMinor   = 2000
)

// benchSwept is how fast due holds are ended.
type benchSwept struct {
	// Due holds were due at once, each of one unit of one pool.
	Due            int     `json:"due"`
	Seconds        float64 `json:"seconds"`
	HoldsPerSecond float64 `json:"holdsPerSecond"`
}

// measureSweep makes holds that are due already and lets the sweeper end them.
func measureSweep(ctx context.Context, stock *benchStock, config benchConfig, say func(string, ...any)) (*benchSwept, error) {
	ctx, cancel := context.WithTimeout(ctx, benchSweepLimit)
	defer cancel()
	if err := stock.makeDue(ctx, config.Due); err != nil {
		return nil, err
	}
	begin, swept := time.Now(), 0
	for swept < config.Due {
		n, err := stock.app.inventory.ExpireDue(ctx, benchSweep)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fmt.Errorf("the sweeper ended %d of %d due holds and found no more", swept, config.Due)
		}
		swept += n
	}
	took := time.Since(begin).Seconds()
	report := &benchSwept{Due: swept, Seconds: rounded(took, 100), HoldsPerSecond: rounded(float64(swept)/took, 10)}
	say("  %d due holds  %8.0f holds/s", report.Due, report.HoldsPerSecond)
	return report, nil
}

// makeDue writes holds of the pool as if they had been placed an hour ago.
func (b *benchStock) makeDue(ctx context.Context, due int) error {
	d, tenant := b.app.store.db, b.actor.Tenant.UUID
	ids := make([]uuid.UUID, due)
	for i := range ids {
		ids[i] = uuid.New()
	}
	for batch := range slices.Chunk(ids, benchDuePerInsert) {
		if err := execInTx(ctx, d, `INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline,
				claimable_at, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline,
				max_per_instrument, total_minor, currency)
			SELECT $1::uuid, $2::text, h.id, $3::uuid, 'GUEST', h.id, 'ACTIVE', now() - interval '1 hour', now() - interval '1 minute', now() - interval '1 minute',
				now() - interval '1 minute', 0, 60, 60, 60, 60, 'HONOUR', 'RELEASE', 1, $4::bigint, 'EUR'
			FROM (SELECT unnest($5::uuid[]) AS id) AS h`, tenant, demoRegion, b.channel.UUID, int64(benchDueMinor), batch); err != nil {
			return err
		}
		if err := execInTx(ctx, d, `INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, pool_id, shard, bucket, quantity, amount_minor)
			SELECT $1::uuid, $2::text, h.id, 0, 0, 'POOL', $3::uuid, $4::uuid, 0, '00000000-0000-0000-0000-000000000000'::uuid, 1, $5::bigint
			FROM (SELECT unnest($6::uuid[]) AS id) AS h`, tenant, demoRegion, b.show.UUID, b.pool.UUID, int64(benchDueMinor), batch); err != nil {
			return err
		}
		if err := execInTx(ctx, d, `UPDATE pool_counters SET held = held + $4::bigint
			WHERE tenant_id = $1::uuid AND region = $2::text AND pool_id = $3::uuid AND bucket = '00000000-0000-0000-0000-000000000000'::uuid AND shard = 0`,
			tenant, demoRegion, b.pool.UUID, int64(len(batch))); err != nil {
			return err
		}
	}
	return b.analyze(ctx, "holds", "hold_lines")
}
