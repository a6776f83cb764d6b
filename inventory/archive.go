package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// ShowStage says in which tables a show's seats and pool counters stand. It is apart from ShowState,
// which is the tenant's: what a show looks like does not change because its rows have moved.
type ShowStage string

// The stages of a show.
const (
	// ShowStageCurrent: in the tables that are sold from.
	ShowStageCurrent ShowStage = "CURRENT"
	// ShowStageCompleted: over for good, and being moved; a row stands in either table.
	ShowStageCompleted ShowStage = "COMPLETED"
	// ShowStageArchived: in the past tables.
	ShowStageArchived ShowStage = "ARCHIVED"
)

// StageTransition is a change of a show's stage. The SQL guards on the source.
type StageTransition struct {
	Name     string
	From, To ShowStage
}

// StageTransitions of a show; the diagram in docs/archive.md is made from them. None leads back.
func StageTransitions() []StageTransition {
	return []StageTransition{transitionComplete(), transitionArchive()}
}

func transitionComplete() StageTransition {
	return StageTransition{Name: "complete", From: ShowStageCurrent, To: ShowStageCompleted}
}

func transitionArchive() StageTransition {
	return StageTransition{Name: "archive", From: ShowStageCompleted, To: ShowStageArchived}
}

func stageOf(completedAt, archivedAt *time.Time) ShowStage {
	switch {
	case archivedAt != nil:
		return ShowStageArchived
	case completedAt != nil:
		return ShowStageCompleted
	}
	return ShowStageCurrent
}

// Archiving says which shows to archive, and how much in one run.
type Archiving struct {
	// CompletedBefore leaves shows alone that started, or whose sale closed, later.
	CompletedBefore time.Time
	// MaxRows ends the run after the transaction that reaches it.
	MaxRows int64
	// AfterStep is called after each transaction, outside it, with "complete", "seats", "counters" or
	// "archive". Failure tests use it to stop there; nil is nothing.
	AfterStep func(step string)
}

// Archived is what a run did.
type Archived struct {
	// Shows reached their last stage.
	Shows int64
	// Seats and PoolCounters are the rows moved.
	Seats        int64
	PoolCounters int64
	// Waiting are due shows of which live holds have units; a later run takes them up.
	Waiting int64
}

func (a Archived) rows() int64 { return a.Seats + a.PoolCounters }

// errUnitsHeld ends the completion of a show of which somebody holds units.
var errUnitsHeld = errors.New("a live hold has units of the show")

// errNotOver ends the completion of a show whose end does not lie far enough back.
var errNotOver = errors.New("the show is not over")

// ArchiveDue moves the seats and pool counters of shows that are over out of the tables that are
// sold from, oldest shows first. Each transaction moves a bounded range of keys, so that a run may
// be ended anywhere and any later one goes on; two at once share the work. It does not ask for
// permission: it is the operator's.
//
// First the show's stage becomes COMPLETED, under which every claim of it is refused as that of a
// closed one. That happens only while nobody holds units of it, so that no lease ever meets it.
// Readers, cancellations and the audit look into both tables at any stage.
func (s *Service) ArchiveDue(ctx context.Context, input Archiving) (Archived, error) {
	if input.MaxRows < 1 {
		return Archived{}, fault.Invalid("maxRows", "expected at least 1, got %d", input.MaxRows)
	}
	if input.AfterStep == nil {
		input.AfterStep = func(string) {}
	}
	due, err := s.showsToArchive(ctx, input.CompletedBefore)
	if err != nil {
		return Archived{}, db.Classify(err)
	}
	var done Archived
	var failures []error
	for _, row := range due {
		if done.rows() >= input.MaxRows || ctx.Err() != nil {
			break
		}
		show := moving{Service: s, at: place{tenant: row.TenantID, region: ids.Region(row.Region)}, show: row.ID, input: input, done: &done}
		switch err := show.run(ctx); {
		case errors.Is(err, errUnitsHeld):
			done.Waiting++
		case err != nil:
			// One show that cannot be moved must not keep its neighbours.
			failures = append(failures, fmt.Errorf("archive show %s: %w", ShowID{Region: show.at.region, UUID: row.ID}, err))
		}
	}
	if done.Seats > 0 {
		s.noteGrowth(ctx, "past_show_seats", done.Seats)
	}
	return done, errors.Join(failures...)
}

func (s *Service) showsToArchive(ctx context.Context, completedBefore time.Time) ([]dbsqlc.ShowsToArchiveRow, error) {
	queries := dbsqlc.New(s.db.Pool())
	places, err := queries.SellingPlaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list where stock lives: %w", err)
	}
	params := dbsqlc.ShowsToArchiveParams{CompletedBefore: completedBefore, MaxShows: maxShowsToArchive}
	for _, p := range places {
		params.TenantIds = append(params.TenantIds, p.TenantID)
		params.Regions = append(params.Regions, p.Region)
	}
	due, err := queries.ShowsToArchive(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list shows to archive: %w", err)
	}
	return due, nil
}

// moving is one show on its way to the past tables.
type moving struct {
	*Service
	at    place
	show  uuid.UUID
	input Archiving
	done  *Archived
}

// run goes through the steps from wherever an earlier run ended, until the show is archived or the
// run has moved enough.
func (m moving) run(ctx context.Context) error {
	stage, err := step(ctx, m, "complete", m.completeTx)
	if errors.Is(err, errNotOver) {
		return nil // it was put off since it was listed
	}
	if err != nil || stage == ShowStageArchived {
		return err
	}
	if enough, err := m.moveSeats(ctx); err != nil || enough {
		return err
	}
	if enough, err := m.movePools(ctx); err != nil || enough {
		return err
	}
	archived, err := step(ctx, m, "archive", m.archiveTx)
	if archived {
		m.done.Shows++
	}
	return err
}

// lockedShow is what a step knows of its show while it holds the show's row.
type lockedShow struct {
	stage ShowStage
	// over: both its start and the end of its sale lie back as far as they must.
	over bool
}

func isOver(row dbsqlc.ShowStageLockRow, before time.Time) bool {
	return !row.StartsAt.After(before) && (row.SaleClosesAt == nil || !row.SaleClosesAt.After(before))
}

// step is one transaction on the show's locked row.
func step[T any](ctx context.Context, m moving, name string, act func(ctx context.Context, tx pgx.Tx, show lockedShow) (T, error)) (T, error) {
	result, err := db.Replayable(ctx, m.db, "inventory.Archive", func(ctx context.Context, tx pgx.Tx) (T, error) {
		row, err := dbsqlc.New(tx).ShowStageLock(ctx, dbsqlc.ShowStageLockParams{TenantID: m.at.tenant, Region: string(m.at.region), ID: m.show})
		if err != nil {
			var zero T
			return zero, fmt.Errorf("lock the show: %w", err)
		}
		return act(ctx, tx, lockedShow{stage: stageOf(row.CompletedAt, row.ArchivedAt), over: isOver(row, m.input.CompletedBefore)})
	})
	if err == nil {
		m.input.AfterStep(name)
	}
	return result, err
}

// completeTx makes the show one of which nothing can be claimed. A claim at the same moment has read
// the row that this writes, and writes rows that this reads: one of the two starts over.
func (m moving) completeTx(ctx context.Context, tx pgx.Tx, show lockedShow) (ShowStage, error) {
	t := transitionComplete()
	switch {
	case show.stage != t.From:
		return show.stage, nil
	case !show.over:
		return show.stage, errNotOver
	}
	queries := dbsqlc.New(tx)
	now, err := Now(ctx, tx)
	if err != nil {
		return show.stage, err
	}
	n, err := queries.ShowComplete(ctx, dbsqlc.ShowCompleteParams{TenantID: m.at.tenant, Region: string(m.at.region), ID: m.show, Now: now})
	if err != nil {
		return show.stage, fmt.Errorf("%s the show: %w", t.Name, err)
	}
	if n != 1 {
		return show.stage, fmt.Errorf("%s the show: it is not %s", t.Name, t.From)
	}
	held, err := queries.ShowUnitsHeld(ctx, dbsqlc.ShowUnitsHeldParams{TenantID: m.at.tenant, Region: string(m.at.region), ShowID: m.show})
	if err != nil {
		return show.stage, fmt.Errorf("look for live holds: %w", err)
	}
	if held {
		return show.stage, errUnitsHeld
	}
	return t.To, nil
}

// moveSeats moves range after range, and reports whether the run has moved enough before the last.
func (m moving) moveSeats(ctx context.Context) (enough bool, err error) {
	first := uuid.Nil
	for {
		moved, err := step(ctx, m, "seats", func(ctx context.Context, tx pgx.Tx, show lockedShow) ([]uuid.UUID, error) {
			return m.moveSeatsTx(ctx, tx, show, first)
		})
		if err != nil || len(moved) == 0 {
			return false, err
		}
		m.done.Seats += int64(len(moved))
		first = moved[len(moved)-1]
		if m.done.rows() >= m.input.MaxRows {
			return true, nil
		}
	}
}

func (m moving) moveSeatsTx(ctx context.Context, tx pgx.Tx, show lockedShow, first uuid.UUID) ([]uuid.UUID, error) {
	if show.stage != ShowStageCompleted {
		return nil, nil // somebody else has moved the rest
	}
	queries := dbsqlc.New(tx)
	seats, err := queries.SeatsToMove(ctx, dbsqlc.SeatsToMoveParams{
		TenantID: m.at.tenant, Region: string(m.at.region), ShowID: m.show, FirstSeat: first, MaxRows: archiveBatch,
	})
	if err != nil {
		return nil, fmt.Errorf("lock seats: %w", err)
	}
	if len(seats) == 0 {
		return nil, nil
	}
	last := seats[len(seats)-1]
	inserted, err := queries.PastSeatsInsert(ctx, dbsqlc.PastSeatsInsertParams{
		TenantID: m.at.tenant, Region: string(m.at.region), ShowID: m.show, FirstSeat: first, LastSeat: last,
	})
	if err != nil {
		return nil, fmt.Errorf("store past seats: %w", err)
	}
	removed, err := queries.SeatsRemove(ctx, dbsqlc.SeatsRemoveParams{
		TenantID: m.at.tenant, Region: string(m.at.region), ShowID: m.show, FirstSeat: first, LastSeat: last,
	})
	if err != nil {
		return nil, fmt.Errorf("remove seats: %w", err)
	}
	return seats, sameCount("seats", len(seats), inserted, removed)
}

// movePools moves the counters of pool after pool, and reports whether the run has moved enough
// before the last.
func (m moving) movePools(ctx context.Context) (enough bool, err error) {
	for {
		moved, err := step(ctx, m, "counters", m.moveCountersTx)
		if err != nil || moved == 0 {
			return false, err
		}
		m.done.PoolCounters += moved
		if m.done.rows() >= m.input.MaxRows {
			return true, nil
		}
	}
}

// moveCountersTx moves a range of the counters of the show's first pool that has any left.
func (m moving) moveCountersTx(ctx context.Context, tx pgx.Tx, show lockedShow) (int64, error) {
	if show.stage != ShowStageCompleted {
		return 0, nil // somebody else has moved the rest
	}
	queries := dbsqlc.New(tx)
	pools, err := queries.PoolsToMove(ctx, dbsqlc.PoolsToMoveParams{TenantID: m.at.tenant, Region: string(m.at.region), ShowID: m.show})
	if err != nil {
		return 0, fmt.Errorf("list pools: %w", err)
	}
	if len(pools) == 0 {
		return 0, nil
	}
	counters, err := queries.PoolCountersToMove(ctx, dbsqlc.PoolCountersToMoveParams{
		TenantID: m.at.tenant, Region: string(m.at.region), PoolID: pools[0], MaxRows: archiveBatch,
	})
	if err != nil {
		return 0, fmt.Errorf("lock pool counters: %w", err)
	}
	last := counters[len(counters)-1]
	inserted, err := queries.PastPoolCountersInsert(ctx, dbsqlc.PastPoolCountersInsertParams{
		TenantID: m.at.tenant, Region: string(m.at.region), PoolID: pools[0], LastBucket: last.Bucket, LastShard: last.Shard,
	})
	if err != nil {
		return 0, fmt.Errorf("store past pool counters: %w", err)
	}
	removed, err := queries.PoolCountersRemove(ctx, dbsqlc.PoolCountersRemoveParams{
		TenantID: m.at.tenant, Region: string(m.at.region), PoolID: pools[0], LastBucket: last.Bucket, LastShard: last.Shard,
	})
	if err != nil {
		return 0, fmt.Errorf("remove pool counters: %w", err)
	}
	return removed, sameCount("pool counters", len(counters), inserted, removed)
}

// archiveTx ends the moving, if nothing is left to be moved.
func (m moving) archiveTx(ctx context.Context, tx pgx.Tx, show lockedShow) (bool, error) {
	t := transitionArchive()
	if show.stage != t.From {
		return false, nil // somebody else has
	}
	seats, err := m.moveSeatsTx(ctx, tx, show, uuid.Nil)
	if err != nil {
		return false, err
	}
	counters, err := m.moveCountersTx(ctx, tx, show)
	if err != nil {
		return false, err
	}
	if len(seats) > 0 || counters > 0 {
		return false, fmt.Errorf("%s the show: seats or pool counters were added to it meanwhile", t.Name)
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return false, err
	}
	n, err := dbsqlc.New(tx).ShowArchive(ctx, dbsqlc.ShowArchiveParams{TenantID: m.at.tenant, Region: string(m.at.region), ID: m.show, Now: now})
	if err != nil {
		return false, fmt.Errorf("%s the show: %w", t.Name, err)
	}
	if n != 1 {
		return false, fmt.Errorf("%s the show: it is not %s", t.Name, t.From)
	}
	return true, nil
}

// sameCount refuses to commit when what was locked, stored and removed are not the same rows.
func sameCount(what string, locked int, inserted, removed int64) error {
	if inserted != int64(locked) || removed != int64(locked) {
		return fmt.Errorf("move %s: %d were locked, %d stored, %d removed", what, locked, inserted, removed)
	}
	return nil
}

// requireCurrent refuses a command on the stock of a pool whose show is over for good.
func requireCurrent(ctx context.Context, tx pgx.Tx, at place, pool uuid.UUID) error {
	row, err := dbsqlc.New(tx).ShowStageOfPool(ctx, dbsqlc.ShowStageOfPoolParams{TenantID: at.tenant, Region: string(at.region), ID: pool})
	if err != nil {
		return fmt.Errorf("read the stage of a pool's show: %w", err)
	}
	if stageOf(row.CompletedAt, row.ArchivedAt) != ShowStageCurrent {
		return fault.Conflict("the show is over, and its stock is archived")
	}
	return nil
}
