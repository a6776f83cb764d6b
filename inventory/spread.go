package inventory

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// spread routes claims of a pool to the rows of its counter. All claims of a batch go to one row, so
// that a batch writes one and several processes seldom want the same one. What a careful look has shown
// to be left of each row is remembered for a moment, so that claims near the end of a pool go where
// something is left. It decides nothing: the counter's CHECK does, and a claim that one row cannot
// serve is served by all of them in one transaction, see takeFromPool.
type spread struct {
	mu    sync.Mutex
	pools *lru.Cache[uuid.UUID, shardsLeft]
}

// shardsLeft is what was left of a pool's rows.
type shardsLeft struct {
	seen time.Time
	left []int64
}

func newSpread() *spread {
	pools, err := lru.New[uuid.UUID, shardsLeft](maxKnownOwners)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &spread{pools: pools}
}

// choose is a row that seems to have a quantity left, at random among those; any row when none seems
// to.
func (s *spread) choose(pool uuid.UUID, shards, quantity int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.pools.Get(pool)
	if !ok || time.Since(known.seen) > shardsKnownFor || int64(len(known.left)) != shards {
		return rand.Int64N(shards) //nolint:gosec // spreading needs no secrecy
	}
	var enough []int64
	for shard, left := range known.left {
		if left >= quantity {
			enough = append(enough, int64(shard))
		}
	}
	if len(enough) == 0 {
		return rand.Int64N(shards) //nolint:gosec // as above
	}
	shard := enough[rand.IntN(len(enough))] //nolint:gosec // as above
	known.left[shard] -= quantity
	return shard
}

// learn keeps what is left of the rows of pools that were locked.
func (s *spread) learn(f facts, rows []dbsqlc.PoolCountersLockRow) {
	if len(rows) == 0 {
		return
	}
	found := map[uuid.UUID][]int64{}
	for _, row := range rows {
		shards := f.pools[row.PoolID].shards
		if row.Bucket != sharedBucket || row.Shard >= shards {
			continue
		}
		if found[row.PoolID] == nil {
			found[row.PoolID] = make([]int64, shards)
		}
		found[row.PoolID][row.Shard] = max(0, row.Ceiling-row.Held-row.Booked)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for pool, left := range found {
		s.pools.Add(pool, shardsLeft{seen: time.Now(), left: left})
	}
}

// shardsFor chooses the counters of a pool: in the quick path one for the whole batch, in the careful
// path what the locked rows have left, the fullest first.
func (b *batch) shardsFor(pool uuid.UUID, shards, quantity int64, buckets []uuid.UUID, stock stock) []poolUnits {
	if b.careful {
		return stock.takeFromPool(pool, quantity, buckets)
	}
	if buckets[0] != sharedBucket {
		return []poolUnits{{pool: pool, bucket: buckets[0], quantity: quantity}}
	}
	if _, chosen := stock.shard[pool]; !chosen {
		wanted := int64(0)
		for _, line := range b.all.lines {
			if line.Pool != nil && line.Pool.Pool.UUID == pool {
				wanted += line.Pool.Quantity
			}
		}
		stock.shard[pool] = b.spread.choose(pool, shards, wanted)
	}
	return []poolUnits{{pool: pool, bucket: sharedBucket, shard: stock.shard[pool], quantity: quantity}}
}
