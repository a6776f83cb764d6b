// Package schema owns the tables of Holdfast: the migrations, the same files for CockroachDB and
// PostgreSQL, and the check that a running process fits the database it talks to.
//
// Every DDL statement may be run again: CockroachDB commits each one by itself, so a migrator
// that was killed half-way leaves a part of its file behind, and the next one starts that file from
// the top. River's own tables are not here but in package jobs, which pins River's version.
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

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
)

//go:embed migrations/*.sql
var files embed.FS

// Files are the migrations, for checks that read every statement.
func Files() fs.FS { return files }

// Latest is the version that this binary was built for. Versions are counted from 1 without gaps.
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

// Migrate brings the database to the latest version. Two at once both end well: one waits. What a
// killed migrator has begun is completed. A schema that is newer than this binary is refused with
// fault.KindConflict and left alone.
//
// When ctx ends, the file that is being applied is still completed.
func Migrate(ctx context.Context, d *db.DB, logger *slog.Logger) error {
	latest, err := Latest()
	if err != nil {
		return err
	}
	return run(ctx, d, logger, latest, defaultSettings(d))
}

// MigrateTo goes up or down to a version; 0 empties the database.
func MigrateTo(ctx context.Context, d *db.DB, logger *slog.Logger, version int) error {
	latest, err := Latest()
	if err != nil {
		return err
	}
	if version < 0 || version > latest {
		return fault.Invalid("version", "expected 0 to %d", latest)
	}
	return run(ctx, d, logger, version, defaultSettings(d))
}

// RequireVersion refuses to start on a schema that is older or newer than this binary, or half
// migrated.
func RequireVersion(ctx context.Context, d *db.DB) error {
	return require(ctx, d, false)
}

// RequireServable is the same question of a process that runs already: a newer schema is no reason
// to stop serving, because each migration leaves the release before it able to work.
func RequireServable(ctx context.Context, d *db.DB) error {
	return require(ctx, d, true)
}

func require(ctx context.Context, d *db.DB, newerIsFine bool) error {
	latest, err := Latest()
	if err != nil {
		return err
	}
	version, dirty, known, err := readVersion(ctx, d)
	switch {
	case err != nil:
		return err
	case !known:
		return fault.Conflict("the database has no Holdfast schema yet: run `holdfast migrate up`")
	case version > int64(latest) && newerIsFine:
		return nil
	case version > int64(latest):
		return newerSchema(version, latest)
	case dirty && version < 1:
		return fault.Conflict("the removal of the schema did not finish: run `holdfast migrate up`")
	case dirty:
		return fault.Conflict("a migration to version %d did not finish: run `holdfast migrate up` again", version)
	case version < int64(latest):
		return fault.Conflict("the schema is version %d and this binary needs %d: run `holdfast migrate up`", version, latest)
	}
	return nil
}

// readVersion is the database's own word; known is false for one without a schema.
func readVersion(ctx context.Context, d *db.DB) (version int64, dirty, known bool, err error) {
	err = d.Pool().QueryRow(ctx, "SELECT version, dirty FROM schema_migrations LIMIT 1").Scan(&version, &dirty)
	var pgErr *pgconn.PgError
	const undefinedTable = "42P01"
	switch {
	case db.IsNoRows(err), errors.As(err, &pgErr) && pgErr.Code == undefinedTable:
		return 0, false, false, nil
	case err != nil:
		return 0, false, false, db.Classify(fmt.Errorf("read the schema's version: %w", err))
	}
	return version, dirty, true, nil
}

// Version is the version of a database's schema, 0 for one that has none. Half a migration counts as
// done.
func Version(ctx context.Context, d *db.DB) (int, error) {
	version, _, _, err := readVersion(ctx, d)
	return int(max(version, 0)), err
}

// Names are what the migrations from one version to another are called, both included.
func Names(from, to int) ([]string, error) {
	entries, err := fs.ReadDir(files, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read the embedded migrations: %w", err)
	}
	var names []string
	for _, entry := range entries {
		number, rest, _ := strings.Cut(entry.Name(), "_")
		name, up := strings.CutSuffix(rest, ".up.sql")
		if version, err := strconv.Atoi(number); err == nil && up && version >= from && version <= to {
			names = append(names, name)
		}
	}
	return names, nil
}

func newerSchema(version int64, latest int) error {
	return fault.Conflict("the schema is version %d, newer than this binary's %d: start a newer holdfast", version, latest)
}
