package inventorytest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/tenants"
)

// SeatPrice and PoolPrice are what a seat and a place in a pool cost, in minor units.
const (
	SeatPrice = 5000
	PoolPrice = 3000
)

// chartName makes the seats' ids; see charts.SeatID.
const chartName = "Small hall"

// Hall is a show with seats numbered from 1, and pools.
type Hall struct {
	Venue tenants.VenueID
	Event inventory.EventID
	// Chart is nil for a show without seats.
	Chart *inventory.ChartID
	Show  inventory.ShowID
	// Pools stand in the order in which they were asked for.
	Pools []Pool

	tenant *Tenant
}

// Pool is a quantity sold without seats.
type Pool struct {
	ID     inventory.PoolID
	Name   string
	tenant *Tenant
}

// PoolOf is what a hall's pool is to be: its counter split over so many shards.
func PoolOf(name string, capacity, shards int64) inventory.NewPool {
	return inventory.NewPool{Name: name, PriceLevel: "Floor", Capacity: capacity, Shards: shards}
}

// Hall puts a show on sale, in euros, with so many seats and these pools.
func (x *Tenant) Hall(seats int, pools ...inventory.NewPool) *Hall {
	x.t.Helper()
	return x.HallIn("EUR", seats, pools...)
}

// HallIn is Hall in another currency.
func (x *Tenant) HallIn(currency money.Currency, seats int, pools ...inventory.NewPool) *Hall {
	x.t.Helper()
	return x.hallOf(currency, Chart(seats), pools...)
}

func (x *Tenant) hallOf(currency money.Currency, seating *charts.Chart, pools ...inventory.NewPool) *Hall {
	x.t.Helper()
	seats := seating.SeatCount()
	ctx := x.t.Context()
	venue, err := x.Tenants.CreateVenue(ctx, x.Owner, Key(), tenants.NewVenue{Region: Region, Site: site("Hall", "Europe/Vienna", currency)})
	if err != nil {
		x.t.Fatal(err)
	}
	event, err := x.Inventory.CreateEvent(ctx, x.Owner, Key(), inventory.NewEvent{Venue: venue.ID, Name: "The play"})
	if err != nil {
		x.t.Fatal(err)
	}
	hall := &Hall{Venue: venue.ID, Event: event, tenant: x}
	if seats > 0 {
		chart, err := x.Inventory.ImportChart(ctx, x.Owner, Key(), venue.ID, seating)
		if err != nil {
			x.t.Fatal(err)
		}
		hall.Chart = &chart
	}
	if hall.Show, err = x.Inventory.CreateShow(ctx, x.Owner, Key(), hall.NewShow(pools...)); err != nil {
		x.t.Fatal(err)
	}
	hall.Pools = hall.poolsOf(hall.Show, pools)
	for number := 1; number <= seats; number++ {
		x.names[hall.seat(number).UUID] = strconv.Itoa(number)
	}
	return hall
}

// NewShow is a sound description of another show in the hall.
func (h *Hall) NewShow(pools ...inventory.NewPool) inventory.NewShow {
	return inventory.NewShow{
		Event: h.Event, Chart: h.Chart, Name: "Evening", StartsAt: time.Date(Year, 11, 20, 19, 0, 0, 0, time.UTC),
		PriceLevels: []inventory.NewPriceLevel{
			{Name: "Seat", AmountMinor: SeatPrice, Categories: []string{"Seat"}},
			{Name: "Floor", AmountMinor: PoolPrice},
		},
		Pools: pools,
	}
}

// Another puts one more show of the same hall on sale. Its seats have the same ids.
func (h *Hall) Another(pools ...inventory.NewPool) *Hall {
	h.tenant.t.Helper()
	other := *h
	show, err := h.tenant.Inventory.CreateShow(h.tenant.t.Context(), h.tenant.Owner, Key(), h.NewShow(pools...))
	if err != nil {
		h.tenant.t.Fatal(err)
	}
	other.Show, other.Pools = show, h.poolsOf(show, pools)
	return &other
}

func (h *Hall) poolsOf(show inventory.ShowID, asked []inventory.NewPool) []Pool {
	h.tenant.t.Helper()
	found, err := h.tenant.Inventory.PoolsOfShows(h.tenant.t.Context(), h.tenant.Owner, []inventory.ShowID{show})
	if err != nil {
		h.tenant.t.Fatal(err)
	}
	byName := map[string]inventory.PoolID{}
	for _, pool := range found[show] {
		byName[pool.Name] = pool.ID
		h.tenant.names[pool.ID.UUID] = pool.Name
	}
	pools := make([]Pool, len(asked))
	for i, pool := range asked {
		pools[i] = Pool{ID: byName[pool.Name], Name: pool.Name, tenant: h.tenant}
	}
	return pools
}

// Chart is a hall of so many seats, numbered from 1, in rows of 25.
func Chart(seats int) *charts.Chart {
	chart := &charts.Chart{
		Name: chartName, Size: charts.Size{Width: 1000, Height: 1000}, FocalPoint: charts.Point{X: 500},
		Categories: []charts.Category{{Name: "Seat"}},
		Zones:      []charts.Zone{{ID: "s", Name: "Stalls"}},
	}
	zone := &chart.Zones[0]
	for i := range seats {
		if i%25 == 0 {
			zone.Rows = append(zone.Rows, charts.Row{Label: fmt.Sprint(len(zone.Rows) + 1)})
		}
		row := &zone.Rows[len(zone.Rows)-1]
		ref := strconv.Itoa(i + 1)
		row.Seats = append(row.Seats, charts.Seat{
			ID: charts.SeatID(chartName, ref), Ref: ref, Number: ref, X: float64(i%25) * 25, Y: float64(i/25) * 25, Category: "Seat",
		})
	}
	return chart
}

func (h *Hall) seat(number int) inventory.SeatID {
	return inventory.SeatID{Region: Region, UUID: charts.SeatID(chartName, strconv.Itoa(number))}
}

// Seats is the wish for these seats.
func (h *Hall) Seats(numbers ...int) inventory.LineRequest {
	wish := inventory.SeatsRequest{Show: h.Show}
	for _, number := range numbers {
		wish.Seats = append(wish.Seats, h.seat(number))
	}
	return inventory.LineRequest{Seats: &wish}
}

// SeatStatuses are what a buyer sees of every seat, by its number.
func (b Buyer) SeatStatuses(h *Hall) map[int]inventory.SeatStatus {
	b.tenant.t.Helper()
	seats, err := b.tenant.Inventory.SeatMap(b.tenant.t.Context(), b.Actor, h.Show)
	if err != nil {
		b.tenant.t.Fatal(err)
	}
	statuses := make(map[int]inventory.SeatStatus, len(seats.Seats))
	for _, seat := range seats.Seats {
		number, err := strconv.Atoi(b.tenant.nameOf(seat.Seat.UUID))
		if err != nil {
			b.tenant.t.Fatal(err)
		}
		statuses[number] = seat.Status
	}
	return statuses
}

// SeatStatus is what a buyer sees of a seat.
func (b Buyer) SeatStatus(h *Hall, number int) inventory.SeatStatus {
	b.tenant.t.Helper()
	return b.SeatStatuses(h)[number]
}

// Units is the wish for a quantity of the pool.
func (p Pool) Units(quantity int64) inventory.LineRequest {
	return inventory.LineRequest{Pool: &inventory.PoolRequest{Pool: p.ID, Quantity: quantity}}
}

// Available is how many units a buyer sees in the first pool of a hall's show.
func (b Buyer) Available(h *Hall) int64 {
	b.tenant.t.Helper()
	pools, err := b.tenant.Inventory.PoolsOfShows(b.tenant.t.Context(), b.Actor, []inventory.ShowID{h.Show})
	if err != nil {
		b.tenant.t.Fatal(err)
	}
	for _, pool := range pools[h.Show] {
		if pool.ID == h.Pools[0].ID {
			return pool.Available
		}
	}
	b.tenant.t.Fatal("the show has no such pool")
	return 0
}

// SetState puts the show on sale, closes it or hides it.
func (h *Hall) SetState(state inventory.ShowState) {
	h.tenant.t.Helper()
	if err := h.tenant.Inventory.SetShowState(h.tenant.t.Context(), h.tenant.Owner, h.Show, state); err != nil {
		h.tenant.t.Fatal(err)
	}
}

// SetCapacity changes what the pool sells, and says by how much it then is oversold.
func (p Pool) SetCapacity(capacity int64) (over int64) {
	p.tenant.t.Helper()
	over, err := p.tenant.Inventory.SetPoolCapacity(p.tenant.t.Context(), p.tenant.Owner, p.ID, capacity)
	if err != nil {
		p.tenant.t.Fatal(err)
	}
	return over
}

// SetShards splits the pool's counter over so many rows.
func (p Pool) SetShards(shards int64) (over int64) {
	p.tenant.t.Helper()
	over, err := p.tenant.Inventory.SetPoolShards(p.tenant.t.Context(), p.tenant.Owner, p.ID, shards)
	if err != nil {
		p.tenant.t.Fatal(err)
	}
	return over
}

// Random is a well-formed id of nothing.
func Random[K ids.Kind]() ids.ID[K] { return ids.New[K](Region) }
