package schema

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/sqlfloor"
)

// settings are what tests change.
type settings struct {
	// engine chooses golang-migrate's driver and the kind of lock.
	engine db.Engine
	// lockDeadline is how long a migrator waits for another one.
	lockDeadline time.Duration
}

func defaultSettings(d *db.DB) settings {
	return settings{engine: d.Engine(), lockDeadline: time.Minute}
}

// run migrates to a version with the lock held throughout, so that what looks unfinished is
// nobody's work in progress.
func run(ctx context.Context, d *db.DB, logger *slog.Logger, target int, s settings) (err error) {
	session, err := lock(ctx, d, logger, s)
	if err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	defer func() {
		if releaseErr := session.release(); releaseErr != nil && err == nil {
			err = fmt.Errorf("migrate the schema: give the lock back: %w", releaseErr)
		}
	}()
	source, err := iofs.New(files, "migrations")
	if err != nil {
		return fmt.Errorf("read the embedded migrations: %w", err)
	}
	defer func() { _ = source.Close() }()
	m, err := migrate.NewWithInstance("embedded", source, string(s.engine), locked{session.driver})
	if err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	latest, err := Latest()
	if err != nil {
		return err
	}
	migrator := migrator{migrate: m, driver: session.driver, latest: latest, logger: logger}
	if err := migrator.settle(ctx, target); err != nil {
		return err
	}
	return migrator.moveTo(ctx, target)
}

// locked is a driver whose lock is held already. golang-migrate would take it for each step and
// give it back in between.
type locked struct{ database.Driver }

func (locked) Lock() error   { return nil }
func (locked) Unlock() error { return nil }

// Run runs a file statement by statement, each in a transaction of its own. As one text it would be one
// transaction on PostgreSQL and, depending on its version, one or many on CockroachDB, which cannot
// use in a transaction all that was changed in it before. Every statement may run again, so a file
// that ends half-way is completed by its next run.
func (l locked) Run(migration io.Reader) error {
	text, err := io.ReadAll(migration)
	if err != nil {
		return fmt.Errorf("read a migration: %w", err)
	}
	for _, statement := range sqlfloor.Split(string(text)) {
		err := l.Driver.Run(strings.NewReader(statement.Text))
		var failed database.Error
		if errors.As(err, &failed) {
			failed.Line += uint(statement.Line - 1) //nolint:gosec // lines are counted from 1
			return failed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// migrator moves between versions. Version 0 is an empty database.
type migrator struct {
	migrate *migrate.Migrate
	driver  database.Driver
	latest  int
	logger  *slog.Logger
}

// version is where the database is; dirty, that a step towards it did not finish.
func (m migrator) version() (version int, dirty bool, err error) {
	version, dirty, err = m.driver.Version()
	if err != nil {
		return 0, false, fmt.Errorf("read the schema's version: %w", err)
	}
	if version > m.latest {
		return 0, false, newerSchema(int64(version), m.latest)
	}
	// golang-migrate writes -1 for an empty database.
	return max(version, 0), dirty, nil
}

// settle completes the step that a killed migrator left unfinished. golang-migrate refuses such a
// database, because it cannot know which statements of the file have run; ours may all run again.
func (m migrator) settle(ctx context.Context, target int) error {
	version, dirty, err := m.version()
	if err != nil || !dirty {
		return err
	}
	m.logger.WarnContext(ctx, "completing a schema migration that did not finish", "version", version)
	// It was on its way up to the version: run that file again. On its way down to it, the file
	// changes nothing.
	if err := m.force(version - 1); err != nil {
		return err
	}
	if version > 0 {
		if err := m.step(version, 1); err != nil {
			return err
		}
	}
	// Who wants to go down, or no further, also wants the rest of the version above gone.
	if target <= version && version < m.latest {
		return m.force(version + 1)
	}
	return nil
}

func (m migrator) force(version int) error {
	if version < 1 {
		version = database.NilVersion
	}
	if err := m.migrate.Force(version); err != nil {
		return fmt.Errorf("set the schema's version to %d: %w", version, err)
	}
	return nil
}

// moveTo goes file by file, and stops between two of them when ctx ends.
func (m migrator) moveTo(ctx context.Context, target int) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("migrate the schema: %w", err)
		}
		version, _, err := m.version()
		if err != nil {
			return err
		}
		switch {
		case version == target:
			return nil
		case version < target:
			if err := m.step(version+1, 1); err != nil {
				return err
			}
			m.logger.InfoContext(ctx, "schema migration applied", "version", version+1, "of", target)
		default:
			if err := m.step(version, -1); err != nil {
				return err
			}
			m.logger.InfoContext(ctx, "schema migration taken back", "version", version, "down_to", target)
		}
	}
}

// step runs the up or the down file of one version.
func (m migrator) step(version, direction int) error {
	err := m.migrate.Steps(direction)
	// golang-migrate's message repeats the whole file.
	var failed database.Error
	if errors.As(err, &failed) && failed.OrigErr != nil {
		return fmt.Errorf("migration %d, line %d: %w", version, failed.Line, failed.OrigErr)
	}
	if err != nil {
		return fmt.Errorf("migration %d: %w", version, err)
	}
	return nil
}
