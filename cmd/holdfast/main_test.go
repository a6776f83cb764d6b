package main

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/schema"
	"github.com/holdfast/holdfast/tenants"
)

// asProcess makes the test binary be the command, for tests of several processes.
const asProcess = "HOLDFAST_TEST_AS_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		main()
	}
	dbtest.Main(m)
}

//nolint:gochecknoglobals // the package's database is made once, and testing offers no other place
var jobTables sync.Once

// newTestApp is the services over the package's database.
func newTestApp(t testing.TB) *app {
	t.Helper()
	d := dbtest.Open(t)
	var err error
	jobTables.Do(func() { err = jobs.Migrate(t.Context(), d) })
	if err != nil {
		t.Fatal(err)
	}
	return appOn(t, d)
}

// newEmptyApp is the services over a database without any tenant.
func newEmptyApp(t testing.TB) *app {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.Create(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if err := schema.Migrate(t.Context(), d, discard()); err != nil {
		t.Fatal(err)
	}
	if err := jobs.Migrate(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return appOn(t, d)
}

func appOn(t testing.TB, d *db.DB) *app {
	t.Helper()
	a, err := newApp(t.Context(), &store{db: d}, nil, discard(), appSettings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return a
}

// newOwner makes a tenant and acts as its admin.
func newOwner(t testing.TB, a *app) tenants.Actor {
	t.Helper()
	var owner tenants.Actor
	err := a.asOperator(t.Context(), "Tests", func(ctx context.Context, operator tenants.Actor) error {
		created, err := a.tenants.CreateTenant(ctx, operator, rand.Text(), tenants.NewTenant{Name: "Astoria", Slug: newSlug(), HomeRegion: "eu"})
		owner = actorOf(created.AdminKey)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

func newSlug() string { return "t-" + strings.ToLower(rand.Text()[:20]) }

// file writes a file for a test to import.
func file(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// realInput is a file of the folder that lies beside the checkout, where there is one.
func realInput(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the real input %s is not beside this checkout", path)
	}
	return path
}

// wantError checks that an error says every one of some words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; expected one that says %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
}
