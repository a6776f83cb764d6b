package main

import (
	"context"
	"math/rand/v2"
	"strconv"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// A flash sale: a chain of hotels, ten of which are in an advertisement.
const (
	benchSaleHot = 10
	// benchSaleTimes is how many times more often each of these is asked for than each of the others.
	benchSaleTimes  = 100
	benchSaleNights = 60
	// benchSaleRooms is how many rooms each hotel has: so many that none is sold out.
	benchSaleRooms = 100_000
)

// benchHotel is one of the chain.
type benchHotel struct {
	house tenants.PropertyID
	room  inventory.RoomTypeID
}

// runFlashSale measures holds of all hotels together.
func runFlashSale(ctx context.Context, b *benchRun) ([]benchCell, error) {
	b.say("  Making %d hotels …", b.config.Hotels)
	hotels, err := b.stock.makeChain(ctx, b.config.Hotels)
	if err != nil {
		return nil, err
	}
	first := b.stock.first
	hold := b.stock.holds(func() apiInput {
		hotel, night := saleStay(hotels, first)
		return stayInput(hotel.room.String(), night.String(), night.AddDays(benchStayNights).String())
	})
	plain := b.stock.plainly(func(hold plainHold) plainAct {
		hotel, night := saleStay(hotels, first)
		return func(ctx context.Context, tx pgx.Tx) error {
			return hold.stayAt(ctx, tx, hotel.house.UUID, hotel.room, night)
		}
	})
	return b.measure(ctx, benchFlashSale, hold, plain)
}

// saleStay is a random stay: at one of the first hotels benchSaleTimes as often as at another.
func saleStay(hotels []benchHotel, first civil.Date) (benchHotel, civil.Date) {
	night := first.AddDays(rand.IntN(benchSaleNights - benchStayNights))
	const hotWeight = benchSaleHot * benchSaleTimes
	n := rand.IntN(hotWeight + len(hotels) - benchSaleHot)
	if n < hotWeight {
		return hotels[n/benchSaleTimes], night
	}
	return hotels[benchSaleHot+n-hotWeight], night
}

// makeChain makes the hotels, each with one room type.
func (b *benchStock) makeChain(ctx context.Context, count int) ([]benchHotel, error) {
	const atOnce = 8
	hotels := make([]benchHotel, count)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range hotels {
		group.Go(func() (err error) {
			hotels[i], err = b.makeChainHotel(ctx, "chain-"+strconv.Itoa(i))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return hotels, b.analyze(context.WithoutCancel(ctx), "night_plans", "night_rates", "night_counters")
}

func (b *benchStock) makeChainHotel(ctx context.Context, name string) (benchHotel, error) {
	property, err := b.app.tenants.CreateProperty(ctx, b.actor, name, tenants.NewProperty{Region: demoRegion, Site: benchSite(name)})
	if err != nil {
		return benchHotel{}, err
	}
	room, err := b.app.inventory.CreateRoomType(ctx, b.actor, name, inventory.NewRoomType{Property: property.ID, Name: "Double", MaxGuests: 2})
	if err != nil {
		return benchHotel{}, err
	}
	rooms, rate := int64(benchSaleRooms), int64(benchNightMinor)
	_, err = b.app.inventory.SetNights(ctx, b.actor, inventory.NightsEdit{
		RoomType: &room, Nights: inventory.NightRange{First: b.first, Last: b.first.AddDays(benchSaleNights - 1)},
		Change: inventory.NightChange{Physical: &rooms, RateMinor: &rate},
	})
	return benchHotel{house: property.ID, room: room}, err
}
