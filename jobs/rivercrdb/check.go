package rivercrdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// errNotSent is what a recorder answers instead of sending a statement.
var errNotSent = errors.New("rivercrdb: not sent")

// recorder is a transaction that keeps the names of the statements sent through it, and sends
// nothing. riverpgxv5 uses no other method of a transaction for the statements checked here.
type recorder struct {
	pgx.Tx // nil

	names map[string]bool
}

func (r *recorder) Conn() *pgx.Conn { return nil }

func (r *recorder) Exec(_ context.Context, sql string, _ ...any) (pgconn.CommandTag, error) {
	r.names[statementName(sql)] = true
	return pgconn.CommandTag{}, errNotSent
}

func (r *recorder) Query(_ context.Context, sql string, _ ...any) (pgx.Rows, error) {
	r.names[statementName(sql)] = true
	return nil, errNotSent
}

func (r *recorder) QueryRow(_ context.Context, sql string, _ ...any) pgx.Row {
	r.names[statementName(sql)] = true
	if statementName(sql) == "PGGetProductAndVersion" {
		return capabilitiesRow{product: "CockroachDB (as -YB)"}
	}
	return errorRow{errNotSent}
}

// capabilitiesRow is what PGGetProductAndVersion reads from a server of some product, of version 0.
type capabilitiesRow struct{ product string }

func (r capabilitiesRow) Scan(dest ...any) error {
	if len(dest) != 3 {
		return fmt.Errorf("%w: PGGetProductAndVersion reads %d columns", ErrStatementChanged, len(dest))
	}
	product, isString := dest[0].(*string)
	if !isString {
		return fmt.Errorf("%w: PGGetProductAndVersion reads a %T first", ErrStatementChanged, dest[0])
	}
	*product = r.product
	return nil
}

// checkStatements has riverpgxv5 build every statement that this package edits and edits it. It
// fails where a text to replace is gone, and where a statement of that name is no longer sent: it
// may have been renamed, and would go out as it is.
func checkStatements(ctx context.Context, skipLocked bool) error {
	seen := &recorder{names: make(map[string]bool)}
	d, err := newDriver(ctx, nil, skipLocked)
	if err != nil {
		return err
	}
	e := d.UnwrapExecutor(seen)
	unique := []*riverdriver.JobInsertFastParams{{UniqueKey: []byte{1}, UniqueStates: 1}}
	calls := []func() error{
		func() error { return e.InitDriver(ctx) },
		func() error { _, err := e.JobCancel(ctx, &riverdriver.JobCancelParams{}); return err },
		func() error { _, err := e.JobDelete(ctx, &riverdriver.JobDeleteParams{}); return err },
		func() error {
			_, err := e.JobDeleteMany(ctx, &riverdriver.JobDeleteManyParams{WhereClause: "true", OrderByClause: "id"})
			return err
		},
		func() error { _, err := e.JobGetAvailable(ctx, &riverdriver.JobGetAvailableParams{}); return err },
		func() error {
			_, err := e.JobInsertFastMany(ctx, &riverdriver.JobInsertFastManyParams{Jobs: unique})
			return err
		},
		func() error {
			_, err := e.JobInsertFastMany(ctx, &riverdriver.JobInsertFastManyParams{Schema: "s"})
			return err
		},
		func() error { _, err := e.JobInsertFullMany(ctx, &riverdriver.JobInsertFullManyParams{}); return err },
		func() error { _, err := e.JobRescueMany(ctx, &riverdriver.JobRescueManyParams{}); return err },
		func() error { _, err := e.JobSchedule(ctx, &riverdriver.JobScheduleParams{}); return err },
		func() error { _, err := e.JobSchedule(ctx, &riverdriver.JobScheduleParams{Schema: "s"}); return err },
		func() error {
			p := riverdriver.JobSetStateIfRunningManyParams{ID: []int64{1}, State: make([]rivertype.JobState, 1)}
			p.Attempt, p.ErrData, p.MetadataUpdates = make([]*int, 1), make([][]byte, 1), make([][]byte, 1)
			p.FinalizedAt, p.ScheduledAt = make([]*time.Time, 1), make([]*time.Time, 1)
			p.MetadataDoMerge = make([]bool, 1)
			_, err := e.JobSetStateIfRunningMany(ctx, &p)
			return err
		},
		func() error { _, err := e.JobUpdateFull(ctx, &riverdriver.JobUpdateFullParams{}); return err },
		func() error { _, err := e.LeaderAttemptElect(ctx, &riverdriver.LeaderElectParams{}); return err },
		func() error { _, err := e.LeaderAttemptReelect(ctx, &riverdriver.LeaderReelectParams{}); return err },
		func() error { _, err := e.LeaderInsert(ctx, &riverdriver.LeaderInsertParams{}); return err },
		func() error { _, err := e.LeaderResign(ctx, &riverdriver.LeaderResignParams{}); return err },
		func() error { _, err := e.LeaderResign(ctx, &riverdriver.LeaderResignParams{Schema: "s"}); return err },
	}
	for _, call := range calls {
		if err := call(); err != nil && !errors.Is(err, errNotSent) {
			return err
		}
	}
	for _, name := range editedStatements() {
		if !seen.names[name] {
			return fmt.Errorf("%w: River no longer sends %s", ErrStatementChanged, name)
		}
	}
	return nil
}
