package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// reaping is a set of due holds whose rows are locked.
type reaping struct {
	now   time.Time
	holds []uuid.UUID
	lines []HoldLine
	// codes are the presale codes and promotions whose uses the holds have.
	codes []uuid.UUID
}

// lockDue locks holds in ascending id, reads the clock after the wait, and keeps those that are
// still live and due: in between they may have been paid, extended or reaped by somebody else.
func lockDue(ctx context.Context, tx pgx.Tx, at place, candidates []uuid.UUID) (reaping, error) {
	if len(candidates) == 0 {
		return reaping{}, nil
	}
	rows, err := dbsqlc.New(tx).HoldsLock(ctx, dbsqlc.HoldsLockParams{TenantID: at.tenant, Region: string(at.region), Ids: candidates})
	if err != nil {
		return reaping{}, fmt.Errorf("lock due holds: %w", err)
	}
	r := reaping{}
	if r.now, err = Now(ctx, tx); err != nil {
		return reaping{}, err
	}
	for _, row := range rows {
		if HoldState(row.State).Live() && !r.now.Before(row.ClaimableAt) {
			r.holds = append(r.holds, row.ID)
			if row.PresaleCodeID != nil {
				r.codes = append(r.codes, *row.PresaleCodeID)
			}
			if row.PromotionID != nil {
				r.codes = append(r.codes, *row.PromotionID)
			}
		}
	}
	if len(r.holds) == 0 {
		return r, nil
	}
	lines, err := linesOf(ctx, tx, at.tenant, at.region, r.holds)
	if err != nil {
		return reaping{}, err
	}
	for _, hold := range r.holds {
		r.lines = append(r.lines, lines[hold]...)
	}
	return r, nil
}

// reap ends the holds and gives all their units back, in lock order.
func (r reaping) reap(ctx context.Context, tx pgx.Tx, at place) error {
	if len(r.holds) == 0 {
		return nil
	}
	n, err := dbsqlc.New(tx).HoldsExpire(ctx, dbsqlc.HoldsExpireParams{TenantID: at.tenant, Region: string(at.region), Ids: r.holds, Now: r.now})
	if err != nil {
		return fmt.Errorf("expire holds: %w", err)
	}
	if n != int64(len(r.holds)) {
		return fmt.Errorf("expire holds: %d of %d were due under lock", n, len(r.holds))
	}
	given := gather(r.lines)
	if err := given.freeSeats(ctx, tx, at, string(seatStateHeld), r.holds); err != nil {
		return err
	}
	if err := given.apply(ctx, tx, at, unhold()); err != nil {
		return err
	}
	return moveUses(ctx, tx, at, r.codes, unhold())
}

// ExpireDue ends due holds of every tenant, at most limit of them, in small transactions, and says
// how many. It is the sweeper's work: for display and metrics, never needed for correctness. Two
// sweepers at once share the work, and running it twice changes nothing.
func (s *Service) ExpireDue(ctx context.Context, limit int) (int, error) {
	queries := dbsqlc.New(s.db.Pool())
	places, err := queries.SellingPlaces(ctx)
	if err != nil {
		return 0, db.Classify(fmt.Errorf("list where stock lives: %w", err))
	}
	now, err := Now(ctx, s.db.Pool())
	if err != nil {
		return 0, db.Classify(err)
	}
	params := dbsqlc.HoldsDueParams{Now: now, MaxHolds: int32(min(limit, 10_000))} //nolint:gosec // bounded here
	for _, p := range places {
		params.TenantIds = append(params.TenantIds, p.TenantID)
		params.Regions = append(params.Regions, p.Region)
	}
	due, err := queries.HoldsDue(ctx, params)
	if err != nil {
		return 0, db.Classify(fmt.Errorf("list due holds: %w", err))
	}
	byPlace := map[place][]uuid.UUID{}
	for _, hold := range due {
		at := place{tenant: hold.TenantID, region: ids.Region(hold.Region)}
		byPlace[at] = append(byPlace[at], hold.ID)
	}
	expired := 0
	var failures []error
	for at, holds := range byPlace {
		if err := s.sortByUnit(ctx, at, holds); err != nil {
			failures = append(failures, err)
		}
		for batch := range slices.Chunk(holds, sweepBatch) {
			n, err := s.expireBatch(ctx, at, batch)
			expired += n
			if err != nil && len(batch) > 1 {
				// One hold that cannot be ended must not keep its neighbours.
				n, err = s.expireEach(ctx, at, batch)
				expired += n
			}
			if err != nil {
				failures = append(failures, err)
			}
		}
	}
	return expired, errors.Join(failures...)
}

// sortByUnit puts holds of the same units next to each other, so that a batch touches few rows of
// stock. While many buyers want them, each row it touches is one more that somebody may have written
// since the batch began, and then it begins again; a batch of 50 holds of all sorts hardly ever ends.
func (s *Service) sortByUnit(ctx context.Context, at place, holds []uuid.UUID) error {
	lines, err := linesOf(ctx, s.db.Pool(), at.tenant, at.region, holds)
	if err != nil {
		return db.Classify(err)
	}
	slices.SortStableFunc(holds, func(a, b uuid.UUID) int {
		return slices.CompareFunc(lines[a], lines[b], func(a, b HoldLine) int { return compareUnits(a.Unit(), b.Unit()) })
	})
	return nil
}

// compareUnits orders units as their rows are locked, without regard to the quantity.
func compareUnits(a, b Unit) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind), compareUUID(a.Show, b.Show), compareUUID(a.Pool, b.Pool), compareUUID(a.RoomType, b.RoomType),
		compareUUID(a.Bucket, b.Bucket), cmp.Compare(a.Shard, b.Shard), a.Night.Compare(b.Night), compareUUID(a.Seat, b.Seat),
	)
}

func (s *Service) expireBatch(ctx context.Context, at place, holds []uuid.UUID) (int, error) {
	return db.Replayable(ctx, s.db, "inventory.ExpireDue", func(ctx context.Context, tx pgx.Tx) (int, error) {
		r, err := lockDue(ctx, tx, at, holds)
		if err != nil {
			return 0, err
		}
		return len(r.holds), r.reap(ctx, tx, at)
	})
}

// expireEach ends holds one by one, as far as it can.
func (s *Service) expireEach(ctx context.Context, at place, holds []uuid.UUID) (int, error) {
	expired := 0
	var failures []error
	for _, hold := range holds {
		n, err := s.expireBatch(ctx, at, []uuid.UUID{hold})
		expired += n
		if err != nil {
			failures = append(failures, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return expired, errors.Join(failures...)
}

// expireOn gives back one batch of due holds on the counters that a claim wants, in a transaction
// of its own: a refused claim rolls back and would otherwise reap the same ones again and again.
func (s *Service) expireOn(ctx context.Context, b *batch) (int, error) {
	return db.Replayable(ctx, s.db, "inventory.ExpireDue", func(ctx context.Context, tx pgx.Tx) (int, error) {
		f, err := factsOf(ctx, tx, b.at, b.all, b.codes(), b.promotionCodes())
		if err != nil {
			return 0, err
		}
		due, err := b.dueOnCounters(ctx, tx, f, maxReap)
		if err != nil {
			return 0, err
		}
		r, err := lockDue(ctx, tx, b.at, due)
		if err != nil {
			return 0, err
		}
		return len(r.holds), r.reap(ctx, tx, b.at)
	})
}
