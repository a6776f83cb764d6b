package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/tenants"
)

// How much stock there is, so that nothing is sold out while it is measured.
const (
	benchRoomTypes   = 20
	benchNightCount  = 365
	benchRooms       = 20_000
	benchPlaces      = 10_000_000
	benchStayNights  = 3
	benchHoldSeconds = 86_400
	// benchSeatsPerHold is a group: three who go out together.
	benchSeatsPerHold = 3
	// benchSeatRate is how many seats a second are provided for; when they are used up all the
	// same, the report shows refusals.
	benchSeatRate = 3500 * benchSeatsPerHold
	benchMaxShows = 40
)

// benchStock is what is held, and who holds it.
type benchStock struct {
	app   *app
	actor tenants.Actor
	key   string
	// channel is the web shop.
	channel tenants.ChannelID
	triples []benchTriple
	rooms   []inventory.RoomTypeID
	house   tenants.PropertyID
	pool    inventory.PoolID
	show    inventory.ShowID
	shards  int
	first   civil.Date

	api    *apiClient
	guests []apiCaller
	// nextTriple, nextSeat and nextGuest count what was given out.
	nextTriple, nextSeat, nextGuest atomic.Uint64
}

// benchTriple is a group of seats of one show.
type benchTriple struct {
	show  inventory.ShowID
	seats []inventory.SeatID
}

func (t benchTriple) input() apiInput {
	var ids []string
	for _, seat := range t.seats {
		ids = append(ids, seat.String())
	}
	return seatsInput(t.show.String(), ids...)
}

// makeBenchStock sets up a tenant with everything to hold, through the services, because a hall of
// this size is no GraphQL request.
func makeBenchStock(ctx context.Context, a *app, config benchConfig) (*benchStock, error) {
	stock := &benchStock{app: a, shards: config.Shards, first: civil.DateOf(time.Now().UTC()).AddDays(30)}
	venue, err := stock.makeTenant(ctx, "benchmark")
	if err != nil {
		return nil, err
	}
	event, err := a.inventory.CreateEvent(ctx, stock.actor, "event", inventory.NewEvent{Venue: venue, Name: "Benchmark"})
	if err != nil {
		return nil, err
	}
	if err := stock.makeSeats(ctx, venue, event, config); err != nil {
		return nil, err
	}
	if err := stock.makeHotel(ctx); err != nil {
		return nil, err
	}
	return stock, stock.analyze(ctx, "show_seats", "pool_counters", "night_plans", "night_rates", "night_counters")
}

// analyze gives the planner its statistics. A database in use has them; right after a bulk load
// they would come at some moment in the middle of the measurement.
func (b *benchStock) analyze(ctx context.Context, tables ...string) error {
	for _, table := range tables {
		if _, err := b.app.store.db.Pool().Exec(ctx, "ANALYZE "+table); err != nil {
			return fmt.Errorf("collect statistics of %s: %w", table, err)
		}
	}
	return nil
}

// makeTenant sets up a tenant of this name, with a web shop and a venue.
func (b *benchStock) makeTenant(ctx context.Context, name string) (tenants.VenueID, error) {
	platformKey, err := tenants.BootstrapPlatformKey(ctx, b.app.store.db, name)
	if err != nil {
		return tenants.VenueID{}, err
	}
	platform, err := b.app.tenants.Authenticate(ctx, platformKey, "")
	if err != nil {
		return tenants.VenueID{}, err
	}
	created, err := b.app.tenants.CreateTenant(ctx, platform, "tenant", tenants.NewTenant{Name: name, Slug: name, HomeRegion: demoRegion})
	if err != nil {
		return tenants.VenueID{}, err
	}
	if b.actor, err = b.app.tenants.Authenticate(ctx, created.Secret, ""); err != nil {
		return tenants.VenueID{}, err
	}
	channel, err := b.app.tenants.CreateChannel(ctx, b.actor, "channel", tenants.NewChannel{Name: "Web shop", Type: tenants.ChannelTypeOwnSite})
	if err != nil {
		return tenants.VenueID{}, err
	}
	key, err := b.app.tenants.CreateKey(ctx, b.actor, "key", tenants.NewKey{
		Tenant: b.actor.Tenant, Type: tenants.KeyTypePublishable, Mode: tenants.ModeLive, Name: "Web shop", Channel: channel.ID,
	})
	if err != nil {
		return tenants.VenueID{}, err
	}
	b.key, b.channel = key.Secret, channel.ID
	holdSeconds, holdsPerBuyer := int64(benchHoldSeconds), int64(1000)
	if _, err := b.app.inventory.SetTerms(ctx, b.actor, inventory.TermsScope{}, inventory.TermsChange{
		HoldSeconds: &holdSeconds, MaxHoldSeconds: &holdSeconds, MaxActiveHoldsPerBuyer: &holdsPerBuyer,
	}); err != nil {
		return tenants.VenueID{}, err
	}
	venue, err := b.app.tenants.CreateVenue(ctx, b.actor, "venue", tenants.NewVenue{Region: demoRegion, Site: benchSite("Benchmark hall")})
	return venue.ID, err
}

func benchSite(name string) tenants.Site {
	return tenants.Site{Name: name, TimeZone: "Europe/Vienna", Currency: "EUR", Country: "AT", City: "Vienna"}
}

// makeSeats puts as many shows of one hall on sale as the measurement may use up, one after another.
// The first show has the pool.
func (b *benchStock) makeSeats(ctx context.Context, venue tenants.VenueID, event inventory.EventID, config benchConfig) error {
	hall := benchHall(config.Seats)
	chart, err := b.app.inventory.ImportChart(ctx, b.actor, "chart", venue, hall)
	if err != nil {
		return err
	}
	shows := max(1, config.Shows)
	if config.measures(benchHolds) && slices.Contains(config.Scenarios, benchSeats) {
		cells := len(config.Clients)
		if config.Baseline {
			cells += len(config.baselineClients())
		}
		wanted := int(benchSeatRate * (config.measured() + config.warmUp()).Seconds() * float64(cells))
		shows = max(shows, min(benchMaxShows, 1+wanted/config.Seats))
	}
	for i := range shows {
		show := inventory.NewShow{
			Event: event, Chart: &chart, Name: "Show " + strconv.Itoa(i+1), StartsAt: time.Now().AddDate(0, 2, 0),
			PriceLevels: []inventory.NewPriceLevel{{Name: "Seat", AmountMinor: benchSeatMinor, Categories: []string{benchCategory}}},
		}
		if i == 0 {
			show.Pools = []inventory.NewPool{{Name: "Standing", PriceLevel: "Seat", Capacity: benchPlaces, Shards: int64(config.Shards)}}
		}
		id, err := b.app.inventory.CreateShow(ctx, b.actor, "show-"+strconv.Itoa(i), show)
		if err != nil {
			return err
		}
		b.triples = append(b.triples, triplesOf(id, hall)...)
		if i == 0 {
			b.show = id
		}
	}
	return b.findPool(ctx)
}

// triplesOf are random groups of seats of a show. Each seat is in one of them, so that what is refused
// is the product's doing; up to two are left over.
func triplesOf(show inventory.ShowID, hall *charts.Chart) []benchTriple {
	var seats []inventory.SeatID
	for place := range hall.Seats() {
		seats = append(seats, inventory.SeatID{Region: demoRegion, UUID: place.Seat.ID})
	}
	rand.Shuffle(len(seats), func(i, j int) { seats[i], seats[j] = seats[j], seats[i] })
	var triples []benchTriple
	for group := range slices.Chunk(seats, benchSeatsPerHold) {
		if len(group) == benchSeatsPerHold {
			triples = append(triples, benchTriple{show: show, seats: group})
		}
	}
	return triples
}

// findPool learns the id of the one pool of the show.
func (b *benchStock) findPool(ctx context.Context) error {
	pools, err := b.app.inventory.PoolsOfShows(ctx, b.actor, []inventory.ShowID{b.show})
	if err != nil {
		return err
	}
	for _, pool := range pools[b.show] {
		b.pool = pool.ID
	}
	return nil
}

const (
	benchSeatMinor = 5000
	benchCategory  = "Seat"
)

// benchHall is a plain rectangle of so many seats, 100 in a row.
func benchHall(seats int) *charts.Chart {
	const rowLength, pitch = 100, 25.0
	zone := charts.Zone{ID: "stand", Name: "Stand", Rows: []charts.Row{}, Areas: []charts.Area{}}
	for first := 0; first < seats; first += rowLength {
		y := float64(first/rowLength) * pitch
		row := charts.Row{Label: strconv.Itoa(first/rowLength + 1), Position: charts.Point{X: 0, Y: y}}
		for i := range min(rowLength, seats-first) {
			row.Seats = append(row.Seats, charts.Seat{
				ID: uuid.New(), Ref: fmt.Sprintf("%s-%d", row.Label, i+1), Number: strconv.Itoa(i + 1), X: float64(i) * pitch, Y: y, Category: benchCategory,
			})
		}
		zone.Rows = append(zone.Rows, row)
	}
	return &charts.Chart{
		Name: "Benchmark hall", Size: charts.Size{Width: rowLength * pitch, Height: float64(len(zone.Rows)+1) * pitch},
		FocalPoint: charts.Point{X: rowLength * pitch / 2}, Categories: []charts.Category{{Name: benchCategory}}, Zones: []charts.Zone{zone},
	}
}

func (b *benchStock) makeHotel(ctx context.Context) error {
	property, err := b.app.tenants.CreateProperty(ctx, b.actor, "property", tenants.NewProperty{Region: demoRegion, Site: benchSite("Benchmark hotel")})
	if err != nil {
		return err
	}
	b.house = property.ID
	rooms, rate := int64(benchRooms), int64(benchNightMinor)
	for i := range benchRoomTypes {
		room, err := b.app.inventory.CreateRoomType(ctx, b.actor, "room-"+strconv.Itoa(i), inventory.NewRoomType{
			Property: property.ID, Name: "Room type " + strconv.Itoa(i+1), MaxGuests: 2,
		})
		if err != nil {
			return err
		}
		if _, err := b.app.inventory.SetNights(ctx, b.actor, inventory.NightsEdit{
			RoomType: &room, Nights: inventory.NightRange{First: b.first, Last: b.first.AddDays(benchNightCount - 1)},
			Change: inventory.NightChange{Physical: &rooms, RateMinor: &rate},
		}); err != nil {
			return err
		}
		b.rooms = append(b.rooms, room)
	}
	return nil
}

const benchNightMinor = 12_000

// startSessions makes the guests, each with a session. They take turns, so that each has few holds,
// as in life. clients are how many will call at once, cell by cell.
func (b *benchStock) startSessions(ctx context.Context, url string, guests int, clients []int) error {
	const atOnce = 8
	b.api = newAPIClient(url, max(slices.Max(clients), atOnce))
	b.guests = make([]apiCaller, guests)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range b.guests {
		group.Go(func() error {
			session, err := ask[struct {
				Token string `json:"token"`
			}](ctx, apiCaller{api: b.api, key: b.key}, apiStartSession, nil)
			b.guests[i] = apiCaller{api: b.api, key: b.key, session: session.Token}
			return err
		})
	}
	return group.Wait()
}

// apiBenchHold asks for what a shop needs to know of a hold.
const apiBenchHold = `mutation ($input: PlaceHoldInput!) { result: placeHold(input: $input) {
	... on Hold { id state deadline total { amountMinor currency } }
	... on HoldRefused { code message }
} }`

// holder places holds of a scenario through the API, each as the next guest.
func (b *benchStock) holder(scenario string) benchHolder {
	return b.holds(func() apiInput { return b.wish(scenario) })
}

// holds places holds of one line through the API, each as the next guest.
func (b *benchStock) holds(wish func() apiInput) benchHolder {
	return func(ctx context.Context) (string, error) {
		guest := b.guests[b.nextGuest.Add(1)%uint64(len(b.guests))]
		answer, err := ask[apiPlaced](ctx, guest, apiBenchHold, map[string]any{
			"input": map[string]any{"requestKey": uuid.NewString(), "lines": []apiInput{wish()}},
		})
		return answer.Code, err
	}
}

func (b *benchStock) wish(scenario string) apiInput {
	switch scenario {
	case benchSeats:
		return b.triple().input()
	case benchPool:
		return poolInput(b.pool.String(), 1)
	default:
		room, night := b.stay()
		return stayInput(room.String(), night.String(), night.AddDays(benchStayNights).String())
	}
}

// triple is the next of the groups of seats, show by show. Past the last it begins again, and is
// refused.
func (b *benchStock) triple() benchTriple {
	return b.triples[(b.nextTriple.Add(1)-1)%uint64(len(b.triples))]
}

// stay is a random room type and a random first night.
func (b *benchStock) stay() (inventory.RoomTypeID, civil.Date) {
	return b.rooms[rand.IntN(len(b.rooms))], b.first.AddDays(rand.IntN(benchNightCount - benchStayNights))
}

// nextOfTriples is the next single seat of the random triples. Past the last it begins again, and is
// refused.
func (b *benchStock) nextOfTriples() (inventory.ShowID, inventory.SeatID) {
	next := b.nextSeat.Add(1) - 1
	triple := b.triples[next/benchSeatsPerHold%uint64(len(b.triples))]
	return triple.show, triple.seats[next%benchSeatsPerHold]
}
