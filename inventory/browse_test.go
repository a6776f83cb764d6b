package inventory_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

// nobodyMay refuses everything.
type nobodyMay struct{ err error }

func (n nobodyMay) Authorize(tenants.Actor, tenants.Action, tenants.TenantID) error { return n.err }

// Every method that acts for somebody asks the authorizer before anything else: here there is not
// even a database.
func TestNothingHappensWithoutPermission(t *testing.T) {
	t.Parallel()
	refusal := fault.Denied("not today")
	service := reflect.ValueOf(inventory.NewService(nil, nobodyMay{refusal}))
	asked := 0
	for i := range service.NumMethod() {
		method := service.Method(i).Type()
		if method.NumIn() < 2 || method.In(1) != reflect.TypeFor[tenants.Actor]() {
			continue
		}
		asked++
		arguments := []reflect.Value{reflect.ValueOf(t.Context())}
		for p := 1; p < method.NumIn(); p++ {
			arguments = append(arguments, reflect.New(method.In(p)).Elem())
		}
		results := service.Method(i).Call(arguments)
		if err, _ := results[len(results)-1].Interface().(error); !errors.Is(err, refusal) {
			t.Errorf("%s: got %v, want the authorizer's refusal", service.Type().Method(i).Name, err)
		}
	}
	if asked < 20 {
		t.Errorf("only %d methods were asked", asked)
	}
}

func TestPagesOfShows(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	elsewhere := tenant.Hall(0, inventorytest.PoolOf("Floor", 1, 1))
	guest := tenant.Guest()
	start := time.Date(inventorytest.Year, 1, 1, 20, 0, 0, 0, time.UTC)
	var want []inventory.ShowID
	for i := range 7 {
		input := hall.NewShow(inventorytest.PoolOf("Floor", 1, 1))
		input.StartsAt = start.AddDate(0, 0, i/2) // two a day, at the same time
		if i == 3 {
			input.State = inventory.ShowStateDraft
		}
		id, err := tenant.Inventory.CreateShow(t.Context(), tenant.Owner, inventorytest.Key(), input)
		if err != nil {
			t.Fatal(err)
		}
		if i != 3 {
			want = append(want, id)
		}
	}
	draft := func(actor tenants.Actor) int {
		shows, _, err := tenant.Inventory.Shows(t.Context(), actor, inventory.ShowFilter{Region: inventorytest.Region}, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(shows)
	}
	if admin, public := draft(tenant.Owner), draft(guest.Actor); admin != 9 || public != 8 {
		t.Errorf("the admin sees %d shows, the guest %d", admin, public)
	}
	var got []inventory.ShowID
	var cursor *inventory.ShowCursor
	for more := true; more; {
		var page []inventory.Show
		var err error
		page, more, err = tenant.Inventory.Shows(t.Context(), guest.Actor,
			inventory.ShowFilter{Region: inventorytest.Region, Venue: &hall.Venue, From: start}, cursor, 2)
		if err != nil || len(page) == 0 {
			t.Fatalf("a page of %d, %v", len(page), err)
		}
		for _, show := range page {
			got = append(got, show.ID)
			cursor = &inventory.ShowCursor{StartsAt: show.StartsAt, ID: show.ID.UUID}
		}
	}
	want = append(want, hall.Show) // it starts in November
	byID := func(a, b inventory.ShowID) int { return slices.Compare(a.UUID[:], b.UUID[:]) }
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	if !slices.Equal(got, want) {
		t.Errorf("pages gave %d shows, want %d, each once", len(got), len(want))
	}
	if slices.Contains(got, elsewhere.Show) {
		t.Error("a show of another venue is among them")
	}
}

func TestADraftIsNotForSale(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(2)
	guest := tenant.Guest()
	hall.SetState(inventory.ShowStateDraft)
	_, err := tenant.Inventory.Show(t.Context(), guest.Actor, hall.Show)
	expectAnswer(t, tenant, err, "not_found: no such show")
	if _, err := tenant.Inventory.Show(t.Context(), tenant.Owner, hall.Show); err != nil {
		t.Error(err)
	}
	guest.Refused("SALE_CLOSED", hall.Seats(1))
	hall.SetState(inventory.ShowStateOnSale)
	guest.Hold(hall.Seats(1))
}

// A calendar offers what can be held, and what can be held is offered: each night by itself.
func TestTheCalendarAndTheClaimAgree(t *testing.T) {
	t.Parallel()
	e := newEvening(t)
	guest := e.tenant.Guest()
	e.tenant.SetTerms(inventory.TermsChange{MaxActiveHoldsPerBuyer: inventorytest.Of[int64](100)})
	guest.Hold(e.room.Stay(2, 4))
	guest.Hold(e.room.Rooms(2, 6, 7))
	guest.Hold(e.room.Stay(3, 4))
	for i, available := range guest.Calendar(e.room, 1, 12) {
		_, err := e.tenant.Guest().Try(e.room.Stay(i+1, i+2))
		if (available > 0) != (err == nil) {
			t.Errorf("%d Nov is shown with %d left, and a claim is told %s", i+1, available, e.tenant.Explain(err))
		}
	}
}
