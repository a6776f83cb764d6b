package rivercrdb_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/jobs/rivercrdb"
)

func TestMigrateRunsAgainAndInParallel(t *testing.T) {
	t.Parallel()
	pool := newPool(t, dbtest.Create(t))
	if _, err := rivercrdb.New(t.Context(), pool, rivercrdb.Config{}); !errors.Is(err, rivercrdb.ErrNotMigrated) {
		t.Errorf("before Migrate: got error %v, want ErrNotMigrated", err)
	}
	for _, schema := range []string{"", "River_eu"} {
		for range 2 {
			errs := make([]error, 4)
			var group sync.WaitGroup
			for i := range errs {
				group.Go(func() { errs[i] = rivercrdb.Migrate(t.Context(), pool, rivercrdb.Config{Schema: schema}) })
			}
			group.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("schema %q: %v", schema, err)
			}
		}
		driver, err := rivercrdb.New(t.Context(), pool, rivercrdb.Config{Schema: schema})
		if err != nil {
			t.Fatalf("schema %q: %v", schema, err)
		}
		t.Logf("SKIP LOCKED: %t", driver.SkipLocked())
	}
}

func TestConfigRefusesWhatRiverRefuses(t *testing.T) {
	t.Parallel()
	for schema, ok := range map[string]bool{"": true, "river_eu": true, "River": true, "1st": false, `a"b`: false, strings.Repeat("a", 47): false} {
		if err := (rivercrdb.Config{Schema: schema}).Validate(); (err == nil) != ok {
			t.Errorf("%q: got error %v, want valid %t", schema, err, ok)
		}
	}
}

func TestNewRefusesRiversOwnTables(t *testing.T) {
	t.Parallel()
	pool := newPool(t, dbtest.Create(t))
	if onCockroachDB(t, pool) {
		t.Skip("River's own migrations do not run on CockroachDB")
	}
	if err := stock(pool).migrate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := rivercrdb.New(t.Context(), pool, rivercrdb.Config{}); !errors.Is(err, rivercrdb.ErrNotMigrated) {
		t.Errorf("got error %v, want ErrNotMigrated", err)
	}
}

func onCockroachDB(t *testing.T, pool *pgxpool.Pool) bool {
	t.Helper()
	var is bool
	if err := pool.QueryRow(t.Context(), "SELECT version() LIKE '%CockroachDB%'").Scan(&is); err != nil {
		t.Fatal(err)
	}
	return is
}

func TestTextModesAreRefused(t *testing.T) {
	t.Parallel()
	url := dbtest.Create(t)
	driver := newDriver(t, newPool(t, url))
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		config.ConnConfig.DefaultQueryExecMode = mode
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		if _, err := rivercrdb.New(t.Context(), pool, rivercrdb.Config{}); !errors.Is(err, rivercrdb.ErrTextMode) {
			t.Errorf("%s: got error %v, want ErrTextMode", mode, err)
		}
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := driver.UnwrapExecutor(tx).Ping(t.Context()); !errors.Is(err, rivercrdb.ErrTextMode) {
			t.Errorf("%s, a caller's transaction: got error %v, want ErrTextMode", mode, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func newDriver(t *testing.T, pool *pgxpool.Pool) *rivercrdb.Driver {
	t.Helper()
	if err := rivercrdb.Migrate(t.Context(), pool, rivercrdb.Config{}); err != nil {
		t.Fatal(err)
	}
	driver, err := rivercrdb.New(t.Context(), pool, rivercrdb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

func insertOne(ctx context.Context, e riverdriver.Executor) error {
	_, err := e.JobInsertFastMany(ctx, &riverdriver.JobInsertFastManyParams{Jobs: []*riverdriver.JobInsertFastParams{{
		EncodedArgs: []byte("{}"), Kind: "k", MaxAttempts: 1, Priority: 1, Queue: "q", State: rivertype.JobStateAvailable,
	}}})
	return err
}

func TestATransactionWithOneInsertRunsAlone(t *testing.T) {
	t.Parallel()
	driver := newDriver(t, newPool(t, dbtest.Create(t)))
	tx, err := driver.GetExecutor().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := insertOne(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	if err := insertOne(t.Context(), tx); !errors.Is(err, rivercrdb.ErrSecondStatement) {
		t.Errorf("a second insert: got error %v, want ErrSecondStatement", err)
	}
	if err := tx.Ping(t.Context()); !errors.Is(err, rivercrdb.ErrSecondStatement) {
		t.Errorf("another statement: got error %v, want ErrSecondStatement", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

// Any other first statement, a savepoint, or a second holder makes it an ordinary transaction.
func TestOtherTransactionsAreReal(t *testing.T) {
	t.Parallel()
	pool := newPool(t, dbtest.Create(t))
	driver := newDriver(t, pool)
	for name, begin := range map[string]func(riverdriver.ExecutorTx) (riverdriver.Executor, error){
		"another statement first": func(tx riverdriver.ExecutorTx) (riverdriver.Executor, error) { return tx, tx.Ping(t.Context()) },
		"a savepoint":             func(tx riverdriver.ExecutorTx) (riverdriver.Executor, error) { return tx.Begin(t.Context()) },
		"handed out": func(tx riverdriver.ExecutorTx) (riverdriver.Executor, error) {
			return driver.UnwrapExecutor(driver.UnwrapTx(tx)), nil
		},
	} {
		tx, err := driver.GetExecutor().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e, err := begin(tx)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 2 {
			if err := insertOne(t.Context(), e); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Errorf("%s: roll back: %v", name, err)
		}
	}
	n, err := driver.GetExecutor().JobCountByState(t.Context(), &riverdriver.JobCountByStateParams{State: rivertype.JobStateAvailable})
	if err != nil || n != 0 {
		t.Errorf("%d jobs survived a rollback, error %v", n, err)
	}
}

func TestUnwrapTxIsTheCallersTransaction(t *testing.T) {
	t.Parallel()
	pool := newPool(t, dbtest.Create(t))
	driver := newDriver(t, pool)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if got := driver.UnwrapTx(driver.UnwrapExecutor(tx)); got != tx {
		t.Errorf("got %T, want the transaction that was handed over", got)
	}
}

func TestRiversMigrationsAreRefused(t *testing.T) {
	t.Parallel()
	driver := newDriver(t, newPool(t, dbtest.Create(t)))
	if _, err := rivermigrate.New(driver, nil); err == nil {
		t.Error("rivermigrate accepts the driver")
	}
	if driver.DatabaseName() != riverpgxv5.New(nil).DatabaseName() {
		t.Error("River does not know the database's name")
	}
}
