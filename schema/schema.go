// Package schema owns the tables of Holdfast: the migrations, the same files for CockroachDB and
// PostgreSQL, and the check that a running process fits the database it talks to.
//
// Every DDL statement may be run again: CockroachDB commits each one by itself, so a migrator
// that was killed half-way starts its file from the top. River's own tables are not here but in
// package jobs, which pins River's version.
package schema

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/cockroachdb"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
)

//go:embed migrations/*.sql
var files embed.FS

// lockDeadline is how long a migrator waits for another one.
const lockDeadline = 60 * time.Second

// versionTable is golang-migrate's own.
const versionTable = "schema_migrations"

// Files are the migrations, for checks that read every statement.
func Files() fs.FS { return files }

// Latest is the version that this binary was built for.
func Latest() (int, error) {
	entries, err := fs.ReadDir(files, "migrations")
	if err != nil {
		return 0, fmt.Errorf("read the embedded migrations: %w", err)
	}
	latest := 0
	for _, entry := range entries {
		number, _, _ := strings.Cut(entry.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return 0, fmt.Errorf("migration %s does not begin with its number", entry.Name())
		}
		latest = max(latest, version)
	}
	return latest, nil
}

// Migrate brings the database to the latest version. Two at once both end well: one waits.
func Migrate(ctx context.Context, d *db.DB, logger *slog.Logger) error {
	return run(ctx, d, logger, func(m *migrate.Migrate) error { return m.Up() })
}

// MigrateTo goes up or down to a version; 0 empties the database.
func MigrateTo(ctx context.Context, d *db.DB, logger *slog.Logger, version int) error {
	return run(ctx, d, logger, func(m *migrate.Migrate) error {
		if version == 0 {
			return m.Down()
		}
		return m.Migrate(uint(version)) //nolint:gosec // versions are small and positive
	})
}

func run(ctx context.Context, d *db.DB, logger *slog.Logger, step func(*migrate.Migrate) error) error {
	deadline := time.Now().Add(lockDeadline)
	for {
		err := attempt(ctx, d, logger, step)
		if err == nil || errors.Is(err, migrate.ErrNoChange) {
			return nil
		}
		// CockroachDB's lock is a row and does not wait; PostgreSQL's waits by itself.
		if !errors.Is(err, migrate.ErrLocked) && !errors.Is(err, database.ErrLocked) {
			return fmt.Errorf("migrate the schema: %w", err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("migrate the schema: another migrator has held the lock for over %s", lockDeadline)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func attempt(ctx context.Context, d *db.DB, logger *slog.Logger, step func(*migrate.Migrate) error) error {
	source, err := iofs.New(files, "migrations")
	if err != nil {
		return fmt.Errorf("read the embedded migrations: %w", err)
	}
	sqlDB := stdlib.OpenDB(*d.Pool().Config().ConnConfig)
	var driver database.Driver
	if d.Engine() == db.EngineCockroachDB {
		driver, err = cockroachdb.WithInstance(sqlDB, &cockroachdb.Config{MigrationsTable: versionTable})
	} else {
		driver, err = migratepgx.WithInstance(sqlDB, &migratepgx.Config{MigrationsTable: versionTable})
	}
	if err != nil {
		return errors.Join(err, sqlDB.Close())
	}
	m, err := migrate.NewWithInstance("embedded", source, string(d.Engine()), driver)
	if err != nil {
		return errors.Join(err, sqlDB.Close())
	}
	defer func() {
		if sourceErr, dbErr := m.Close(); sourceErr != nil || dbErr != nil {
			logger.WarnContext(ctx, "closing the migrator failed", "error", errors.Join(sourceErr, dbErr))
		}
	}()
	m.Log = migrateLog{ctx: ctx, logger: logger}
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()
	return step(m)
}

// RequireVersion refuses a schema that is older or newer than this binary.
func RequireVersion(ctx context.Context, d *db.DB) error {
	latest, err := Latest()
	if err != nil {
		return err
	}
	var version int64
	var dirty bool
	err = d.Pool().QueryRow(ctx, "SELECT version, dirty FROM schema_migrations LIMIT 1").Scan(&version, &dirty)
	var pgErr *pgconn.PgError
	const undefinedTable = "42P01"
	switch {
	case db.IsNoRows(err), errors.As(err, &pgErr) && pgErr.Code == undefinedTable:
		return fault.Conflict("the database has no Holdfast schema yet: run `holdfast migrate up`")
	case err != nil:
		return db.Classify(err)
	case dirty:
		return fault.Conflict("a migration to version %d did not finish: run `holdfast migrate up` again", version)
	case version < int64(latest):
		return fault.Conflict("the schema is version %d and this binary needs %d: run `holdfast migrate up`", version, latest)
	case version > int64(latest):
		return fault.Conflict("the schema is version %d, newer than this binary's %d: start a newer holdfast", version, latest)
	}
	return nil
}

// migrateLog passes golang-migrate's progress to slog.
type migrateLog struct {
	ctx    context.Context //nolint:containedctx // golang-migrate's Logger takes none
	logger *slog.Logger
}

func (l migrateLog) Printf(format string, args ...any) {
	l.logger.DebugContext(l.ctx, "migration", "progress", strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (l migrateLog) Verbose() bool { return false }
