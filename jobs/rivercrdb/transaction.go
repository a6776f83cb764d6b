package rivercrdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	// ErrSecondStatement says that River sent a second statement in a transaction whose first one
	// this driver has run, and thereby committed, alone. The River in use is not the one it was
	// written for.
	ErrSecondStatement = errors.New("rivercrdb: a second statement in a transaction that was meant to have one")

	// ErrTextMode says that a connection's default mode is pgx's exec or simple protocol. River
	// adapts its JSON parameters to those modes by the types in its own statements, and this
	// driver changes the types.
	ErrTextMode = errors.New("rivercrdb: pgx's exec and simple_protocol modes are not supported")
)

// querier is the part of pgx.Tx that riverpgxv5 uses.
type querier interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// rewriteTx rewrites what riverpgxv5 sends through it.
type rewriteTx struct {
	pgx.Tx

	rewriter *rewriter
	// refusal, when set, is the answer to every statement.
	refusal error
}

// newRewriteTx wraps a transaction once, however often it is handed over.
func newRewriteTx(tx pgx.Tx, r *rewriter) *rewriteTx {
	if wrapped, ok := tx.(*rewriteTx); ok {
		return wrapped
	}
	wrapped := &rewriteTx{Tx: tx, rewriter: r}
	if conn := tx.Conn(); conn != nil {
		wrapped.refusal = refuseTextMode(conn.Config().DefaultQueryExecMode)
	}
	return wrapped
}

func refuseTextMode(mode pgx.QueryExecMode) error {
	if mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol {
		return fmt.Errorf("%w: the connection's default mode is %s", ErrTextMode, mode)
	}
	return nil
}

func (t *rewriteTx) rewrite(ctx context.Context, sql string) (string, error) {
	if t.refusal != nil {
		return "", t.refusal
	}
	return t.rewriter.rewrite(sql, isPlainInsert(ctx))
}

// Begin opens a savepoint.
func (t *rewriteTx) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := t.Tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &rewriteTx{Tx: tx, rewriter: t.rewriter, refusal: t.refusal}, nil
}

// Conn is nil so that riverpgxv5 does not copy the connection's configuration for each statement
// to learn its mode, which newRewriteTx has looked at once.
func (t *rewriteTx) Conn() *pgx.Conn { return nil }

func (t *rewriteTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	sql, err := t.rewrite(ctx, sql)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.Tx.Exec(ctx, sql, args...)
}

func (t *rewriteTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	sql, err := t.rewrite(ctx, sql)
	if err != nil {
		return nil, err
	}
	return t.Tx.Query(ctx, sql, args...) //nolint:rowserrcheck // riverpgxv5 reads the rows
}

func (t *rewriteTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	sql, err := t.rewrite(ctx, sql)
	if err != nil {
		return errorRow{err}
	}
	return t.Tx.QueryRow(ctx, sql, args...)
}

type errorRow struct{ err error }

func (r errorRow) Scan(...any) error { return r.err }

// poolTx lets the pool stand where riverpgxv5 expects a transaction. Only the methods below are
// ever called on it: the executor made from it is handed out without Commit and Rollback.
type poolTx struct {
	pgx.Tx // nil

	pool *pgxpool.Pool
}

func (t *poolTx) Begin(context.Context) (pgx.Tx, error) { return &lazyTx{pool: t.pool}, nil }

func (t *poolTx) Conn() *pgx.Conn { return nil }

func (t *poolTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return t.pool.CopyFrom(ctx, table, columns, rows)
}

func (t *poolTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.pool.Exec(ctx, sql, args...)
}

func (t *poolTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.pool.Query(ctx, sql, args...) //nolint:rowserrcheck // riverpgxv5 reads the rows
}

func (t *poolTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.pool.QueryRow(ctx, sql, args...)
}

// lazyTx is a transaction that begins with its first statement, unless that is one which River
// sends alone: then it runs as an implicit transaction, which the server retries by itself after a
// serialization failure and which costs one round trip instead of three. River does not retry, and
// a periodic job whose insert fails is lost.
type lazyTx struct {
	pgx.Tx // nil until begun

	pool *pgxpool.Pool
	// explicit forbids running a statement alone, once somebody else holds the transaction, too.
	explicit bool
	// alone is the name of the statement that ran by itself.
	alone string
}

// sentAlone is whether River v0.51.2 sends this statement as the only one of its transactions when
// there is no NOTIFY: Client.Insert and InsertMany, the periodic job enqueuer, the job scheduler.
func sentAlone(name string) bool { return name == "JobInsertFastMany" || name == "JobSchedule" }

// target is where the next statement goes.
func (t *lazyTx) target(ctx context.Context, sql string) (querier, error) {
	switch {
	case t.Tx != nil:
		return t.Tx, nil
	case t.alone != "":
		return nil, fmt.Errorf("%w: %s, then %.60q", ErrSecondStatement, t.alone, sql)
	case !t.explicit && sentAlone(statementName(sql)):
		t.alone = statementName(sql)
		return t.pool, nil
	}
	tx, err := t.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	t.Tx = tx
	return tx, nil
}

// Begin opens a savepoint, and the transaction with it.
func (t *lazyTx) Begin(ctx context.Context) (pgx.Tx, error) {
	t.explicit = true
	target, err := t.target(ctx, "SAVEPOINT")
	if err != nil {
		return nil, err
	}
	return target.Begin(ctx)
}

func (t *lazyTx) Commit(ctx context.Context) error {
	if t.Tx == nil {
		return nil
	}
	return t.Tx.Commit(ctx)
}

func (t *lazyTx) Rollback(ctx context.Context) error {
	if t.Tx == nil {
		return nil
	}
	return t.Tx.Rollback(ctx)
}

func (t *lazyTx) Conn() *pgx.Conn { return nil }

// CopyFrom always runs in a transaction: outside one, an old CockroachDB commits a COPY piecemeal.
func (t *lazyTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	target, err := t.target(ctx, "COPY")
	if err != nil {
		return 0, err
	}
	return target.CopyFrom(ctx, table, columns, rows)
}

func (t *lazyTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	target, err := t.target(ctx, sql)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	return target.Exec(ctx, sql, args...)
}

func (t *lazyTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	target, err := t.target(ctx, sql)
	if err != nil {
		return nil, err
	}
	return target.Query(ctx, sql, args...) //nolint:rowserrcheck // riverpgxv5 reads the rows
}

func (t *lazyTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	target, err := t.target(ctx, sql)
	if err != nil {
		return errorRow{err}
	}
	return target.QueryRow(ctx, sql, args...)
}
