package regions

import (
	"context"
	"fmt"
	"time"
)

// Cluster is the database that a mapping is applied to.
type Cluster interface {
	// Settle waits for schema changes that are still running: CockroachDB goes on with one after
	// its client has died.
	Settle(ctx context.Context) error
	// Catalog reads the present state. The mapping tells which codes need not be looked for.
	Catalog(ctx context.Context, desired Mapping) (Catalog, error)
	// Execute runs one statement by itself, outside a transaction.
	Execute(ctx context.Context, statement string) error
}

// Progress is told before and after each step.
type Progress struct {
	// Number counts from 1 to Total.
	Number, Total int
	Step          Step
	// Done is true after the step; Took is then how long it ran.
	Done bool
	Took time.Duration
}

// Apply brings the cluster to the mapping, step by step, and proves from the catalog that it got
// there. It has no time limit of its own, because SET LOCALITY rewrites tables of any size. When it
// fails or is killed, running it again continues: it plans from what it finds. One Apply runs at a
// time; a second one fails at the first statement that the other has already run.
func Apply(ctx context.Context, cluster Cluster, desired Mapping, report func(Progress)) error {
	if err := cluster.Settle(ctx); err != nil {
		return fmt.Errorf("wait for earlier schema changes: %w", err)
	}
	steps, err := planFor(ctx, cluster, desired)
	if err != nil {
		return err
	}
	for i, step := range steps {
		progress := Progress{Number: i + 1, Total: len(steps), Step: step}
		report(progress)
		begun := time.Now()
		if err := cluster.Execute(ctx, step.Statement); err != nil {
			return fmt.Errorf("step %d of %d, %s: %w (run again to continue)", i+1, len(steps), step.Statement, err)
		}
		progress.Done, progress.Took = true, time.Since(begun)
		report(progress)
	}
	if len(steps) == 0 {
		return nil
	}
	left, err := planFor(ctx, cluster, desired)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("all %d steps ran, and the catalog still differs from the mapping; the first difference: %s", len(steps), left[0].Statement)
	}
	return nil
}

func planFor(ctx context.Context, cluster Cluster, desired Mapping) ([]Step, error) {
	present, err := cluster.Catalog(ctx, desired)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return Plan(desired, present)
}
