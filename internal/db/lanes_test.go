package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// The back office waits for its share, and buyers have the rest of the pool all the while.
func TestTheBackOfficeHasAShareOfTheConnections(t *testing.T) {
	t.Parallel()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t), MaxConnections: 4, BackOfficeConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	office := db.BackOffice(t.Context())
	var reports []*pgxpool.Conn
	for range 2 {
		conn, err := d.Pool().Acquire(office)
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, conn)
	}
	brief, cancel := context.WithTimeout(office, 50*time.Millisecond)
	defer cancel()
	if conn, err := d.Pool().Acquire(brief); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a third report got %v, %v", conn, err)
	}
	var buyers []*pgxpool.Conn
	for range 2 {
		conn, err := d.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatalf("a buyer beside the reports: %v", err)
		}
		buyers = append(buyers, conn)
	}
	// A report that waits gets the connection that one gives back, also one that was broken.
	waiting := make(chan error)
	go func() {
		_, err := db.InTx(office, d, "test.Report", func(ctx context.Context, tx pgx.Tx) (int, error) {
			var one int
			err := tx.QueryRow(ctx, "SELECT 1").Scan(&one)
			return one, err
		})
		waiting <- err
	}()
	if err := reports[0].Conn().Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	reports[0].Release()
	if err := <-waiting; err != nil {
		t.Fatalf("the report that waited: %v", err)
	}
	reports[1].Release()
	for _, conn := range buyers {
		conn.Release()
	}
	// Nothing of the share is lost: both can be had again.
	for range 2 {
		conn, err := d.Pool().Acquire(office)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
}

func TestTheShareIsBounded(t *testing.T) {
	t.Parallel()
	for share, ok := range map[int]bool{-1: false, 0: true, 8: true, 10_001: false} {
		err := db.Config{URL: "postgres://localhost/holdfast", BackOfficeConnections: share}.Validate()
		if (err == nil) != ok {
			t.Errorf("%d: got %v", share, err)
		}
	}
}
