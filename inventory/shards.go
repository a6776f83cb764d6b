package inventory

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// SetPoolShards splits the counter of a pool over more rows or fewer, while it is sold. A row that is
// over the new number keeps what it has held and sold, and goes when it has nothing: what is given back
// to it is found by claims that look closer. over says by how many units the pool is oversold. The pool
// of a show that is over for good is refused with fault.KindConflict.
func (s *Service) SetPoolShards(ctx context.Context, actor tenants.Actor, id PoolID, shards int64) (over int64, err error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionPoolUpdate, "pool", id.Region, id.UUID); err != nil {
		return 0, err
	}
	if shards < 1 || shards > maxShards {
		return 0, fault.Invalid("shards", "expected 1 to %d, got %d", maxShards, shards)
	}
	at := placeOf(actor.Tenant, id.Region)
	return db.Replayable(ctx, s.db, "inventory.SetPoolShards", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		over, err := setShardsTx(ctx, tx, at, id.UUID, shards)
		if err != nil {
			return 0, err
		}
		return over, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionPoolUpdate, Resource: id, After: map[string]int64{"shards": shards},
		})
	})
}

func setShardsTx(ctx context.Context, tx pgx.Tx, at place, id uuid.UUID, shards int64) (over int64, err error) {
	queries := dbsqlc.New(tx)
	n, err := queries.PoolShardsSet(ctx, dbsqlc.PoolShardsSetParams{TenantID: at.tenant, Region: string(at.region), ID: id, Shards: shards})
	if err != nil {
		return 0, fmt.Errorf("set a pool's shards: %w", err)
	}
	if n == 0 {
		return 0, fault.NotFound("pool")
	}
	if err := requireCurrent(ctx, tx, at, id); err != nil {
		return 0, err
	}
	pool, err := queries.PoolGet(ctx, dbsqlc.PoolGetParams{TenantID: at.tenant, Region: string(at.region), ID: id})
	if err != nil {
		return 0, fmt.Errorf("read a pool: %w", err)
	}
	lock := dbsqlc.PoolCountersLockParams{TenantID: at.tenant, Region: string(at.region), PoolIds: []uuid.UUID{id}}
	rows, err := queries.PoolCountersLock(ctx, lock)
	if err != nil {
		return 0, fmt.Errorf("lock pool counters: %w", err)
	}
	there := map[int64]bool{}
	for _, row := range rows {
		if row.Bucket == sharedBucket {
			there[row.Shard] = true
		}
	}
	more := dbsqlc.PoolCountersInsertParams{TenantID: at.tenant, Region: string(at.region), PoolID: id, Bucket: sharedBucket}
	for shard := range shards {
		if !there[shard] {
			more.Shards, more.SellLimits = append(more.Shards, shard), append(more.SellLimits, 0)
		}
	}
	if len(more.Shards) > 0 {
		if _, err := queries.PoolCountersInsert(ctx, more); err != nil {
			return 0, fmt.Errorf("store pool counters: %w", err)
		}
		if rows, err = queries.PoolCountersLock(ctx, lock); err != nil {
			return 0, fmt.Errorf("lock pool counters: %w", err)
		}
	}
	parts, err := partsOn(ctx, tx, at, []uuid.UUID{id}, poolNight, poolNight)
	if err != nil {
		return 0, err
	}
	// What allotments keep is not spread. One that was released keeps less once its sales are given back.
	stock := poolStock(id, pool.Capacity, shards, rows, parts)
	shared := pool.Capacity
	if len(parts) > 0 {
		to := stock.fit(isOpen)
		if _, err := fitBucketsTx(ctx, tx, at, stock, to); err != nil {
			return 0, err
		}
		shared = to.shared
	}
	if _, err = spreadCapacity(ctx, tx, at, id, rows, shared, shards); err != nil {
		return 0, err
	}
	over = max(0, stock.taken()-pool.Capacity)
	if _, err := queries.PoolCountersRemoveEmpty(ctx, dbsqlc.PoolCountersRemoveEmptyParams{
		TenantID: at.tenant, Region: string(at.region), PoolID: id, Bucket: sharedBucket, FromShard: shards,
	}); err != nil {
		return 0, fmt.Errorf("remove empty pool counters: %w", err)
	}
	return over, nil
}

// spreadCapacity shares the capacity that every channel may sell over the shards of a pool: each keeps what it has sold, and the
// rest is spread evenly over those that are sold from. While more is sold than there is, no single
// shard can know when the pool is below its capacity again: then all limits are 0, and a claim that
// looks closer spreads the capacity anew, see reopenPools.
func spreadCapacity(ctx context.Context, tx pgx.Tx, at place, pool uuid.UUID, rows []dbsqlc.PoolCountersLockRow, capacity, shards int64) (over int64, err error) {
	shared, _, taken := sharedStock(rows, pool)
	over = max(0, taken-capacity)
	for _, row := range shared {
		limit := row.Held + row.Booked
		if row.Shard < shards {
			limit += shareOf(max(0, capacity-taken), shards, row.Shard)
		}
		switch {
		case over > 0 && len(shared) == 1:
			limit = capacity
		case over > 0:
			limit = 0
		}
		if _, err := dbsqlc.New(tx).PoolCounterLimitSet(ctx, dbsqlc.PoolCounterLimitSetParams{
			TenantID: at.tenant, Region: string(at.region), PoolID: pool, Bucket: row.Bucket, Shard: row.Shard, SellLimit: limit,
		}); err != nil {
			return 0, fmt.Errorf("set a pool counter's limit: %w", err)
		}
	}
	return over, nil
}
