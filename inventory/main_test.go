package inventory_test

import (
	"errors"
	"flag"
	"log/slog"
	"testing"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/schema"
)

func TestMain(m *testing.M) {
	// The model test opens a hall and a hotel for each schedule; -rapid.checks asks for more.
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	dbtest.Main(m)
}

// ownDatabase is for tests that sweep the due holds of every tenant while others run.
func ownDatabase(t *testing.T) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.Create(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if err := schema.Migrate(t.Context(), d, discard()); err != nil {
		t.Fatal(err)
	}
	return d
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// tally counts what racers were told. Anything but success and refusals is an error.
func tally(t *testing.T, tenant *inventorytest.Tenant, results []error) (won int, refused map[string]int) {
	t.Helper()
	refused = map[string]int{}
	for _, err := range results {
		var refusal *inventory.Refusal
		switch {
		case err == nil:
			won++
		case errors.As(err, &refusal):
			refused[tenant.Explain(err)]++
		default:
			t.Errorf("neither held nor refused: %v", err)
		}
	}
	return won, refused
}

func expectCount(t *testing.T, what string, got inventorytest.Count, limit, held, booked int64) {
	t.Helper()
	want := inventorytest.Count{Limit: limit, Held: held, Booked: booked, Ceiling: max(limit, held+booked)}
	if got != want {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func expectAnswer(t *testing.T, tenant *inventorytest.Tenant, err error, want string) {
	t.Helper()
	if got := tenant.Explain(err); got != want {
		t.Errorf("got:  %s\nwant: %s", got, want)
	}
}

func refusalIn(t *testing.T, err error) *inventory.Refusal {
	t.Helper()
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v, want a refusal", err)
	}
	return refusal
}
