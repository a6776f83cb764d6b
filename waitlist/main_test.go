package waitlist_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/waitlist"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// shop is a tenant that sells and has waiting lists. Nobody serves them but the test.
type shop struct {
	*bookingstest.Shop
	t     *testing.T
	lists *waitlist.Service
}

func open(t *testing.T) shop {
	t.Helper()
	s := shop{Shop: bookingstest.New(t), t: t}
	s.lists = s.service(s.Inventory, bookings.NewAnnouncer(bookingstest.Nobody{}))
	return s
}

// service is one process more, with a stock of its own. Requests look at no list by themselves.
func (s shop) service(stock waitlist.Stock, teller waitlist.Teller) *waitlist.Service {
	s.t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		s.t.Fatal(err)
	}
	lists, err := waitlist.NewService(s.DB, enforcer, stock, teller, waitlist.Config{LookEvery: time.Nanosecond})
	if err != nil {
		s.t.Fatal(err)
	}
	return lists
}

// stock is what another process knows of the stock.
func (s shop) stock() *inventory.Service {
	s.t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		s.t.Fatal(err)
	}
	return inventory.NewService(s.DB, enforcer)
}

func of(hall *inventorytest.Hall) waitlist.Scope { return waitlist.Scope{Show: hall.Show} }

// openList opens the list of a show or hotel.
func (s shop) openList(scope waitlist.Scope, change ...func(*waitlist.Change)) {
	s.t.Helper()
	yes := true
	set := waitlist.Change{Open: &yes}
	for _, c := range change {
		c(&set)
	}
	if _, err := s.lists.Set(s.t.Context(), s.Owner, scope, set); err != nil {
		s.t.Fatal(err)
	}
}

func (s shop) tryJoin(buyer inventorytest.Buyer, lines ...inventory.LineRequest) (waitlist.Entry, error) {
	return s.lists.Join(s.t.Context(), buyer.Actor, waitlist.Join{RequestKey: inventorytest.Key(), Lines: lines})
}

func (s shop) join(buyer inventorytest.Buyer, lines ...inventory.LineRequest) waitlist.Entry {
	s.t.Helper()
	entry, err := s.tryJoin(buyer, lines...)
	if err != nil {
		s.t.Fatalf("refused: %s", s.Explain(err))
	}
	return entry
}

// serve looks at all lists of the tenant, as the job does, and no others.
func (s shop) serve() {
	s.t.Helper()
	if err := s.lists.ServeTenant(s.t.Context(), s.ID); err != nil {
		s.t.Error(err)
	}
}

// standing says where entries stand, as their buyers are told, such as "OFFERED WAITING 1".
func (s shop) standing(entries ...waitlist.Entry) string {
	s.t.Helper()
	words := make([]string, len(entries))
	for i, entry := range entries {
		read := s.read(entry)
		words[i] = string(read.State)
		if read.Ahead > 0 {
			words[i] += " behind " + string(rune('0'+read.Ahead))
		}
	}
	return strings.Join(words, ", ")
}

func (s shop) read(entry waitlist.Entry) waitlist.Entry {
	s.t.Helper()
	read, err := s.lists.Get(s.t.Context(), s.ID, entry.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return read
}

func (s shop) expect(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// held is the hold that was placed for an entry.
func (s shop) held(entry waitlist.Entry) inventory.Hold {
	s.t.Helper()
	read := s.read(entry)
	if read.Hold.IsZero() {
		s.t.Fatalf("nothing is held for the entry, which is %s", read.State)
	}
	hold, err := inventory.GetHold(s.t.Context(), s.DB.Pool(), s.ID, read.Hold)
	if err != nil {
		s.t.Fatal(err)
	}
	return hold
}

// failing is a Teller that fails, as a process that dies in the middle of an offer.
type failing struct{}

var errDied = errors.New("died")

func (failing) TellTx(context.Context, pgx.Tx, events.NewEvent) error { return errDied }
