package inventorytest

import (
	"errors"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Nights is a definite allotment to be, of so many rooms on the nights from first to last of November,
// whose channel may sell what everybody may besides.
func (r *Room) Nights(channel tenants.ChannelID, rooms int64, first, last int) inventory.NewAllotment {
	return inventory.NewAllotment{
		Channel: channel, Name: "Tours", RoomType: &r.ID, Nights: &inventory.NightRange{First: Nov(first), Last: Nov(last)},
		Quantity: rooms, SellsShared: true, Definite: true,
	}
}

// Part is a definite allotment to be, of so many units of the pool.
func (p Pool) Part(channel tenants.ChannelID, units int64) inventory.NewAllotment {
	return inventory.NewAllotment{Channel: channel, Name: "Fan club", Pool: &p.ID, Quantity: units, SellsShared: true, Definite: true}
}

// Allot must be given an allotment.
func (x *Tenant) Allot(input inventory.NewAllotment) inventory.Allotment {
	x.t.Helper()
	allotment, err := x.Inventory.CreateAllotment(x.t.Context(), x.Owner, Key(), input)
	if err != nil {
		x.t.Fatalf("refused: %s", x.Explain(err))
	}
	return allotment
}

// TryAllot returns what the service says of an allotment to be.
func (x *Tenant) TryAllot(input inventory.NewAllotment) error {
	_, err := x.Inventory.CreateAllotment(x.t.Context(), x.Owner, Key(), input)
	return err
}

// Resize gives every night of an allotment a new size, and returns what the service says.
func (x *Tenant) Resize(a inventory.Allotment, quantity int64) error {
	_, err := x.Inventory.UpdateAllotment(x.t.Context(), x.Owner, Key(), a.ID, inventory.AllotmentChange{Quantity: &quantity})
	return err
}

// MakeDefinite returns what the service says.
func (x *Tenant) MakeDefinite(a inventory.Allotment) error {
	_, err := x.Inventory.MakeAllotmentDefinite(x.t.Context(), x.Owner, Key(), a.ID)
	return err
}

// ReleaseAllotment gives all of an allotment to everybody, and returns what the service says.
func (x *Tenant) ReleaseAllotment(a inventory.Allotment) error {
	_, err := x.Inventory.ReleaseAllotment(x.t.Context(), x.Owner, Key(), a.ID, nil)
	return err
}

// CancelAllotment returns what the service says.
func (x *Tenant) CancelAllotment(a inventory.Allotment) error {
	_, err := x.Inventory.CancelAllotment(x.t.Context(), x.Owner, Key(), a.ID)
	return err
}

// Allotment is as the tenant's admin sees it.
func (x *Tenant) Allotment(a inventory.Allotment) inventory.Allotment {
	x.t.Helper()
	found, err := x.Inventory.Allotment(x.t.Context(), x.Owner, a.ID)
	if err != nil {
		x.t.Fatal(err)
	}
	return found
}

// Stock is what an allotment has of each of its nights, or of its pool.
func (x *Tenant) Stock(a inventory.Allotment) []inventory.AllotmentStock {
	x.t.Helper()
	found, err := x.Inventory.AllotmentStocks(x.t.Context(), x.Owner, []inventory.AllotmentID{a.ID})
	if err != nil {
		x.t.Fatal(err)
	}
	return found[a.ID]
}

// History is what happened to an allotment, the latest first.
func (x *Tenant) History(a inventory.Allotment) []inventory.AllotmentAction {
	x.t.Helper()
	entries, _, err := x.Inventory.AllotmentHistory(x.t.Context(), x.Owner, a.ID, 0, inventory.MaxPage)
	if err != nil {
		x.t.Fatal(err)
	}
	actions := make([]inventory.AllotmentAction, len(entries))
	for i, entry := range entries {
		actions[i] = entry.Action
	}
	return actions
}

// TickAllotments lets so much time pass for the releases of the tenant's allotments.
func (x *Tenant) TickAllotments(d time.Duration) {
	x.t.Helper()
	var failed error
	for _, table := range []string{"allotment_parts", "allotments"} {
		_, err := x.DB.Pool().Exec(x.t.Context(), "UPDATE "+table+" SET release_at = release_at - $2::interval WHERE tenant_id = $1", x.ID.UUID, d)
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		x.t.Fatal(failed)
	}
}
