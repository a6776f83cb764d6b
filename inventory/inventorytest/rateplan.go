package inventorytest

import (
	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/inventory"
)

// Plan adds a rate plan to a hotel.
func (x *Tenant) Plan(hotel *Hotel, plan inventory.NewRatePlan) inventory.RatePlanID {
	x.t.Helper()
	plan.Property = hotel.Property.ID
	created, err := x.Inventory.CreateRatePlan(x.t.Context(), x.Owner, Key(), plan)
	if err != nil {
		x.t.Fatal(err)
	}
	return created.ID
}

// SetPlan changes what a rate plan says of nights of a room type.
func (x *Tenant) SetPlan(room *Room, plan inventory.RatePlanID, first, last civil.Date, change inventory.NightChange) {
	x.t.Helper()
	if _, err := x.Inventory.SetNights(x.t.Context(), x.Owner, inventory.NightsEdit{
		RoomType: &room.ID, RatePlan: &plan, Nights: inventory.NightRange{First: first, Last: last}, Change: change,
	}); err != nil {
		x.t.Fatal(err)
	}
}
