package graph

import (
	"context"
	"fmt"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

// SetPoolShards is the resolver for the setPoolShards field.
func (r *mutationResolver) SetPoolShards(ctx context.Context, input generated.SetPoolShardsInput) (*generated.PoolShardsSet, error) {
	var d decoder
	pool := readID[inventory.PoolKind](&d, "input.pool", input.Pool)
	if d.err != nil {
		return nil, d.err
	}
	over, err := r.inventory.SetPoolShards(ctx, actorOf(ctx), pool, input.Shards)
	return one(over, inInput(err), func(over int64) generated.PoolShardsSet {
		return generated.PoolShardsSet{PoolID: pool.String(), Shards: input.Shards, OversoldBy: over}
	})
}

func readBest(d *decoder, field string, input *generated.BestAvailableInput) *inventory.BestRequest {
	if input == nil {
		return nil
	}
	best := inventory.BestRequest{
		Show: readID[inventory.ShowKind](d, field+".show", input.Show), Quantity: input.Quantity,
		Sections: input.Sections, Accessible: input.Accessible, AllowSplit: input.AllowSplit,
	}
	for i, level := range input.PriceLevels {
		best.PriceLevels = append(best.PriceLevels, readID[inventory.PriceLevelKind](d, fmt.Sprintf("%s.priceLevels[%d]", field, i), level))
	}
	return &best
}
