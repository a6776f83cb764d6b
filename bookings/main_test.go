package bookings_test

import (
	"flag"
	"log/slog"
	"testing"

	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
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

// box is a shop with a hall of ten seats, a pool of ten and a room type of two rooms in November.
type box struct {
	*bookingstest.Shop
	hall *inventorytest.Hall
	room *inventorytest.Room
}

func open(t *testing.T, change ...func(*bookingstest.Setup)) box {
	t.Helper()
	shop := bookingstest.New(t, change...)
	return box{
		Shop: shop, hall: shop.Hall(10, inventorytest.PoolOf("Floor", 10, 1)),
		room: shop.Hotel().Stocked("Double", 2, 1, 30),
	}
}

func (b box) floor() inventorytest.Pool { return b.hall.Pools[0] }

// ownDatabase is for tests that sweep: expiry looks at every tenant of a database.
func ownDatabase(t *testing.T) func(*bookingstest.Setup) {
	t.Helper()
	return onDatabase(openDatabase(t, db.Config{URL: dbtest.Create(t), MaxConnections: 16}))
}

func onDatabase(d *db.DB) func(*bookingstest.Setup) {
	return func(s *bookingstest.Setup) { s.DB = d }
}

func openDatabase(t *testing.T, config db.Config) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if err := schema.Migrate(t.Context(), d, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return d
}

// impatient is a shop whose provider may hang.
func impatient(s *bookingstest.Setup) {
	s.Sales.CallTimeout = bookingstest.HangingCallTimeout
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\ngot:  %s\nwant: %s", what, got, want)
	}
}

func expectFault(t *testing.T, what string, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != want {
		t.Errorf("%s: got %v, want a fault %s", what, err, want)
	}
}

// taken are the seat's status, and the held and booked units of the pool and of a night.
func (b box) counts() [2]inventorytest.Count {
	return [2]inventorytest.Count{b.floor().Count(), b.room.Count(5)}
}

func (b box) terms(change inventory.TermsChange) box {
	b.SetTerms(change)
	return b
}

func keep() inventory.TermsChange {
	return inventory.TermsChange{OnDecline: inventorytest.Of(inventory.OnDeclineKeep)}
}

func manual() inventory.TermsChange {
	return inventory.TermsChange{Capture: inventorytest.Of(inventory.CaptureManual)}
}

func refundLate() inventory.TermsChange {
	return inventory.TermsChange{LatePayment: inventorytest.Of(inventory.LatePaymentRefund)}
}
