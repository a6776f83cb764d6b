package inventorytest

import (
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Year is when guests of these hotels arrive: far enough ahead never to be in the past.
const Year = 2097

// Nov is a day of November of Year; 0 is the last of October, 31 the first of December.
func Nov(day int) civil.Date {
	return civil.Date{Year: Year, Month: time.October, Day: 31}.AddDays(day)
}

// NightPrice is what a room of the fixtures costs on a night, in minor units: a little more each
// day, so that a stay's price is a sum and not a product.
func NightPrice(night civil.Date) int64 { return 10_000 + int64(night.Day)*100 }

// Hotel is a property.
type Hotel struct {
	Property tenants.Property
	tenant   *Tenant
}

// Room is a room type of a hotel.
type Room struct {
	ID    inventory.RoomTypeID
	Hotel *Hotel
}

// Hotel opens a hotel in Vienna that sells in euros.
func (x *Tenant) Hotel() *Hotel {
	x.t.Helper()
	return x.HotelIn("Europe/Vienna", "EUR")
}

// HotelIn opens a hotel in a time zone, that sells in a currency.
func (x *Tenant) HotelIn(zone string, currency money.Currency) *Hotel {
	x.t.Helper()
	property, err := x.Tenants.CreateProperty(x.t.Context(), x.Owner, Key(), tenants.NewProperty{Region: Region, Site: site("Hotel", zone, currency)})
	if err != nil {
		x.t.Fatal(err)
	}
	return &Hotel{Property: property, tenant: x}
}

// Room adds a room type without nights.
func (h *Hotel) Room(name string) *Room {
	h.tenant.t.Helper()
	id, err := h.tenant.Inventory.CreateRoomType(h.tenant.t.Context(), h.tenant.Owner, Key(), inventory.NewRoomType{
		Property: h.Property.ID, Name: name, MaxGuests: 2,
	})
	if err != nil {
		h.tenant.t.Fatal(err)
	}
	return &Room{ID: id, Hotel: h}
}

// Stocked adds a room type with so many rooms on every night from the first to the last of
// November, both included.
func (h *Hotel) Stocked(name string, rooms int64, first, last int) *Room {
	h.tenant.t.Helper()
	room := h.Room(name)
	room.Stock(rooms, Nov(first), Nov(last))
	return room
}

// Stock puts rooms on sale on every night from first to last, at NightPrice.
func (r *Room) Stock(rooms int64, first, last civil.Date) {
	t := r.Hotel.tenant
	t.t.Helper()
	var changes []inventory.DatedChange
	for night := first; !night.After(last); night = night.AddDays(1) {
		changes = append(changes, inventory.DatedChange{Night: night, Change: inventory.NightChange{Physical: &rooms, RateMinor: Of(NightPrice(night))}})
	}
	if _, err := t.Inventory.WriteNights(t.t.Context(), t.Owner, r.ID, changes); err != nil {
		t.t.Fatal(err)
	}
}

// Set changes the nights from first to last of November.
func (r *Room) Set(first, last int, change inventory.NightChange) inventory.NightsSet {
	t := r.Hotel.tenant
	t.t.Helper()
	set, err := t.Inventory.SetNights(t.t.Context(), t.Owner, inventory.NightsEdit{
		RoomType: &r.ID, Nights: inventory.NightRange{First: Nov(first), Last: Nov(last)}, Change: change,
	})
	if err != nil {
		t.t.Fatal(err)
	}
	return set
}

// Stay is the wish for one room on the nights of [checkIn, checkOut) of November.
func (r *Room) Stay(checkIn, checkOut int) inventory.LineRequest {
	return r.Rooms(1, checkIn, checkOut)
}

// Rooms is the wish for several rooms.
func (r *Room) Rooms(rooms int64, checkIn, checkOut int) inventory.LineRequest {
	return r.On(rooms, Nov(checkIn), Nov(checkOut))
}

// On is the wish for rooms on any dates.
func (r *Room) On(rooms int64, checkIn, checkOut civil.Date) inventory.LineRequest {
	return inventory.LineRequest{Stay: &inventory.StayRequest{RoomType: r.ID, CheckIn: checkIn, CheckOut: checkOut, Rooms: rooms}}
}

// SetHouseLimit caps the whole house on the nights from first to last of November; nil removes it.
func (h *Hotel) SetHouseLimit(first, last int, limit *int64) inventory.NightsSet {
	h.tenant.t.Helper()
	set, err := h.tenant.Inventory.SetNights(h.tenant.t.Context(), h.tenant.Owner, inventory.NightsEdit{
		Property: &h.Property.ID, Nights: inventory.NightRange{First: Nov(first), Last: Nov(last)},
		Change: inventory.NightChange{HouseLimit: limit, NoHouseLimit: limit == nil},
	})
	if err != nil {
		h.tenant.t.Fatal(err)
	}
	return set
}

// Calendar is how many rooms a buyer sees on the nights from first to last of November. A night
// that is not on sale at all is -1.
func (b Buyer) Calendar(r *Room, first, last int) []int64 {
	b.tenant.t.Helper()
	calendar, err := b.tenant.Inventory.Calendar(b.tenant.t.Context(), b.Actor, r.Hotel.Property, inventory.CalendarQuestion{RoomTypes: []inventory.RoomTypeID{r.ID}, First: Nov(first), Last: Nov(last)})
	if err != nil {
		b.tenant.t.Fatal(err)
	}
	left := make([]int64, last-first+1)
	for i := range left {
		left[i] = -1
	}
	for _, night := range calendar.Nights {
		left[night.Night.DaysSince(Nov(first))] = night.Available
	}
	return left
}
