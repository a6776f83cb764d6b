package main

import (
	"context"
	"os"
	"testing"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/embedded"
)

// The database is stopped and started again, twice, while buyers buy. They are answered, or told
// UNAVAILABLE; what they were told stands, and each of their requests has its effect once.
func TestARestartOfTheDatabaseUnderLoad(t *testing.T) {
	t.Parallel()
	if os.Getenv(dbtest.URLVariable) != "" {
		t.Skipf("the server that %s names is not this test's to restart", dbtest.URLVariable)
	}
	ctx := t.Context()
	config := embedded.Config{DataDir: t.TempDir(), NoFetch: true}
	engine, err := embedded.Start(ctx, config)
	if err != nil {
		t.Skipf("this test restarts a database of its own, and none can be started here: %v", err)
	}
	// Whatever becomes of the test, the engine of the moment is stopped.
	t.Cleanup(func() { _ = engine.Close() })
	target, err := createDatabase(ctx, engine.URL(), databaseName)
	if err != nil {
		t.Fatal(err)
	}
	s := newFaultSite(t, target, 20)
	s.work(s.app)
	for range 2 {
		buyers := s.newBuyers(20)
		s.shop(buyers, func(ctx context.Context) error {
			if err := s.booked(ctx, len(s.buyers)/4); err != nil {
				return err
			}
			if err := engine.Stop(ctx); err != nil {
				return err
			}
			// The engine outlives ctx, which ends with this story.
			engine, err = embedded.Start(context.WithoutCancel(ctx), config)
			return err
		})
		s.settle()
		s.audit()
	}
}

// booked waits until there are so many bookings.
func (s *faultSite) booked(ctx context.Context, want int) error {
	return poll(ctx, "the first bookings", func(ctx context.Context) (bool, string, error) {
		var n int
		err := s.app.store.db.Pool().QueryRow(ctx, "SELECT count(*) FROM bookings").Scan(&n)
		return n >= want, "fewer", err
	})
}
