// Package dbtest gives each test package its own migrated database, on the engine that
// HOLDFAST_TEST_DATABASE_URL names or else on one that internal/embedded finds and starts.
//
// A test package declares
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
// and its tests call Open. Tests run in parallel on one database and stay apart by tenant.
package dbtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/embedded"
	"github.com/holdfast/holdfast/schema"
)

// URLVariable names the server that tests run on; its database is only used to create others.
const URLVariable = "HOLDFAST_TEST_DATABASE_URL"

// shared is what one test binary has: an engine, and one database on it. It is filled by the first
// Open, because a run of only pure tests needs no engine.
type sharedDatabase struct {
	once   sync.Once
	err    error
	engine *embedded.Engine
	server string
	name   string
	url    string
	db     *db.DB
}

//nolint:gochecknoglobals // a test binary has exactly one engine, and testing offers no other place
var shared sharedDatabase

// Main runs the package's tests, then drops its database and stops the engine it started.
func Main(m *testing.M) {
	code := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, "dbtest:", err)
		code = max(code, 1)
	}
	os.Exit(code) //nolint:revive // it stands for the TestMain that calls it
}

// Open is the package's migrated database. Do not close it.
func Open(t testing.TB) *db.DB {
	t.Helper()
	shared.open(t)
	return shared.db
}

// URL is the address of the package's database, for tests that start processes or connections of
// their own.
func URL(t testing.TB) string {
	t.Helper()
	shared.open(t)
	return shared.url
}

// Create makes another, empty database on the same engine, dropped when the test ends.
func Create(t testing.TB) string {
	t.Helper()
	shared.open(t)
	name := newName()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := execute(ctx, shared.server, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := drop(ctx, shared.server, shared.db.Engine(), name); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	return onDatabase(shared.server, name)
}

func (s *sharedDatabase) open(t testing.TB) {
	t.Helper()
	s.once.Do(func() { s.err = s.start() })
	if s.err != nil {
		t.Fatalf("no database to test on: %v", s.err)
	}
}

func (s *sharedDatabase) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	engine, err := embedded.Start(ctx, embedded.Config{
		URL: os.Getenv(URLVariable), URLSource: URLVariable, Progress: os.Stderr,
	})
	if err != nil {
		return err
	}
	s.engine, s.server, s.name = engine, engine.URL(), newName()
	if err := execute(ctx, s.server, "CREATE DATABASE "+s.name); err != nil {
		return fmt.Errorf("create a database for the tests: %w", err)
	}
	s.url = onDatabase(s.server, s.name)
	if s.db, err = db.Open(ctx, db.Config{URL: s.url, URLSource: URLVariable, MaxConnections: 24}); err != nil {
		return err
	}
	return schema.Migrate(ctx, s.db, slog.New(slog.DiscardHandler))
}

func (s *sharedDatabase) close() error {
	if s.engine == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var product db.Engine
	if s.db != nil {
		s.db.Close()
		product = s.db.Engine()
	}
	return errors.Join(drop(ctx, s.server, product, s.name), s.engine.Close())
}

func newName() string { return "holdfast_test_" + uuid.NewString()[:8] }

// drop takes an engine of "" for one that never answered.
func drop(ctx context.Context, server string, engine db.Engine, name string) error {
	statement := "DROP DATABASE IF EXISTS " + name
	switch engine {
	case db.EngineCockroachDB:
		statement += " CASCADE"
	case db.EnginePostgreSQL:
		statement += " WITH (FORCE)"
	}
	if err := execute(ctx, server, statement); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

func execute(ctx context.Context, server, statement string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// onDatabase is the same server's URL with another database.
func onDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}
