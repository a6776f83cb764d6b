package rivercrdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// ErrNotMigrated says that the tables of Migrate are not where the driver looks for them.
var ErrNotMigrated = errors.New("rivercrdb: the tables of Migrate are missing")

// Config is where River's tables are.
type Config struct {
	// Schema holds River's tables. It must be the one in river.Config. Empty, the default, leaves
	// it to the connection's search_path.
	Schema string
}

// Validate refuses the schema names that river.Config refuses.
func (c Config) Validate() error {
	const maxLength = 46
	if len(c.Schema) > maxLength {
		return fmt.Errorf("rivercrdb: Config.Schema is longer than %d characters", maxLength)
	}
	if c.Schema != "" && !schemaName.MatchString(c.Schema) {
		return fmt.Errorf("rivercrdb: Config.Schema %q has other characters than letters, digits and underscores, or starts with a digit", c.Schema)
	}
	return nil
}

var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Driver is a riverdriver.Driver[pgx.Tx] for CockroachDB. It works on PostgreSQL, too, over the
// same tables, though there is no reason to use it there but to test.
type Driver struct {
	*riverpgxv5.Driver

	// plain is riverpgxv5 for inserts without a unique job; see executor.JobInsertFastMany.
	plain    *riverpgxv5.Driver
	pool     *pgxpool.Pool
	rewriter *rewriter
}

var _ riverdriver.Driver[pgx.Tx] = (*Driver)(nil)

// New makes a driver over a pool whose database has been through Migrate.
//
// It checks that every statement of River that it must edit is one it knows (ErrStatementChanged),
// that the tables are there (ErrNotMigrated), that the pool uses a mode of pgx that River's JSON
// survives (ErrTextMode), and asks the server once whether it takes SKIP LOCKED. Make a new Driver
// after the cluster has been upgraded past 22.2.
//
// The driver neither owns nor closes the pool. A larger results_buffer_size in the pool's URL, such
// as 1048576 bytes, lets the server retry more statements by itself.
func New(ctx context.Context, pool *pgxpool.Pool, config Config) (*Driver, error) {
	if pool == nil {
		return nil, errors.New("rivercrdb: New needs a pool")
	}
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := refuseTextMode(pool.Config().ConnConfig.DefaultQueryExecMode); err != nil {
		return nil, err
	}
	skipLocked, err := probeSkipLocked(ctx, pool, config)
	if err != nil {
		return nil, err
	}
	if err := checkStatements(ctx, skipLocked); err != nil {
		return nil, err
	}
	d, err := newDriver(ctx, pool, skipLocked)
	if err != nil {
		return nil, err
	}
	// The answer is a constant, kept for the driver's lifetime: asked here, it never becomes the
	// first statement of a transaction that should hold only an insert.
	if err := d.GetExecutor().InitDriver(ctx); err != nil {
		return nil, fmt.Errorf("rivercrdb: initialize riverpgxv5: %w", err)
	}
	return d, nil
}

func newDriver(ctx context.Context, pool *pgxpool.Pool, skipLocked bool) (*Driver, error) {
	plain := riverpgxv5.New(nil)
	// Told here, it never asks the server.
	if err := plain.UnwrapExecutor(plainCapabilities{}).InitDriver(ctx); err != nil {
		return nil, fmt.Errorf("rivercrdb: initialize riverpgxv5 for plain inserts: %w", err)
	}
	return &Driver{Driver: riverpgxv5.New(nil), plain: plain, pool: pool, rewriter: &rewriter{skipLocked: skipLocked}}, nil
}

// plainCapabilities answers River's question for the product with one that has xmax.
type plainCapabilities struct{ pgx.Tx }

func (plainCapabilities) Conn() *pgx.Conn { return nil }

func (plainCapabilities) QueryRow(context.Context, string, ...any) pgx.Row {
	return capabilitiesRow{product: "CockroachDB"}
}

// probeSkipLocked is whether the server takes FOR UPDATE SKIP LOCKED. It asks on the table that it
// is for, and for the column that tells these tables from River's own.
func probeSkipLocked(ctx context.Context, pool *pgxpool.Pool, config Config) (bool, error) {
	const (
		featureNotSupported = "0A000"
		syntaxError         = "42601"
		undefinedColumn     = "42703"
		undefinedTable      = "42P01"
	)
	_, err := pool.Exec(ctx, "SELECT unique_active FROM "+schemaPrefix(config.Schema)+"river_job LIMIT 0 FOR UPDATE SKIP LOCKED")
	if err == nil {
		return true, nil
	}
	var serverErr *pgconn.PgError
	if errors.As(err, &serverErr) {
		switch serverErr.Code {
		case featureNotSupported, syntaxError:
			return false, nil
		case undefinedColumn, undefinedTable:
			return false, fmt.Errorf("%w: %w", ErrNotMigrated, err)
		}
	}
	return false, fmt.Errorf("rivercrdb: ask the server for SKIP LOCKED: %w", err)
}

// SkipLocked is whether jobs are fetched with SKIP LOCKED. Without it, clients that fetch from one
// queue wait for each other, and for whoever has inserted into it and not committed yet.
func (d *Driver) SkipLocked() bool { return d.rewriter.skipLocked }

// GetExecutor runs statements on the pool.
func (d *Driver) GetExecutor() riverdriver.Executor {
	tx := newRewriteTx(&poolTx{pool: d.pool}, d.rewriter)
	// As an Executor only: River takes whatever has Commit for an open transaction.
	return &executor{Executor: d.Driver.UnwrapExecutor(tx), plain: d.plain.UnwrapExecutor(tx), driver: d}
}

// UnwrapExecutor runs statements in a transaction of the caller.
func (d *Driver) UnwrapExecutor(tx pgx.Tx) riverdriver.ExecutorTx {
	return d.newExecutorTx(d.Driver.UnwrapExecutor(newRewriteTx(tx, d.rewriter)))
}

// UnwrapTx is the transaction below an executor, for River's test helpers.
func (d *Driver) UnwrapTx(execTx riverdriver.ExecutorTx) pgx.Tx {
	wrapped := execTx.(*executorTx).tx //nolint:forcetypeassert // an executor of another driver is a bug of the caller
	if lazy, ok := wrapped.Tx.(*lazyTx); ok {
		lazy.explicit = true
		return wrapped
	}
	return wrapped.Tx
}

// PoolIsSet is true.
func (d *Driver) PoolIsSet() bool { return d.pool != nil }

// SupportsListener is false: there is no LISTEN.
func (d *Driver) SupportsListener() bool { return false }

// SupportsListenNotify is false: there is no NOTIFY.
func (d *Driver) SupportsListenNotify() bool { return false }

// GetListener is a listener that cannot connect. River asks for none, because of SupportsListener.
func (d *Driver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return noListener{}
}

type noListener struct{ riverdriver.Listener }

func (noListener) Close(context.Context) error { return nil }

func (noListener) Connect(context.Context) error {
	return fmt.Errorf("rivercrdb: listen: %w", riverdriver.ErrNotImplemented)
}

// GetMigrationDefaultLines is empty, for the reason of GetMigrationLines.
func (d *Driver) GetMigrationDefaultLines() []string { return nil }

// GetMigrationLines is empty, so that rivermigrate refuses to start: half of River's migrations
// fail on CockroachDB, and none of them makes the tables that this driver needs.
func (d *Driver) GetMigrationLines() []string { return nil }

// GetMigrationFS panics as riverpgxv5 does for a line that does not exist: there are none.
func (d *Driver) GetMigrationFS(line string) fs.FS {
	panic("migration line does not exist: " + line + " (use rivercrdb.Migrate)")
}

// GetMigrationTruncateTables are the tables of Migrate.
func (d *Driver) GetMigrationTruncateTables(string, int) []string {
	return []string{"river_job", "river_leader", "river_queue"}
}
