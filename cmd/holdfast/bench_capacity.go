package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// What the section about capacity does.
const (
	benchYear          = 365
	benchChainTypes    = 10
	benchLoaders       = 2
	benchCapacityHolds = 4
	benchEdits         = 40
)

// benchCapacity is how fast nights are set, and what that does to the holds of another hotel. All of it
// goes through the services in one process, without HTTP.
type benchCapacity struct {
	// EditMs are the median and the 95th percentile of an edit of one room type and 365 nights.
	EditP50Ms float64 `json:"editP50Ms"`
	EditP95Ms float64 `json:"editP95Ms"`
	// Hotels of 10 room types and 365 nights are loaded: so many nights, with their rates, in so long.
	Hotels          int     `json:"hotels"`
	Nights          int     `json:"nights"`
	LoadSeconds     float64 `json:"loadSeconds"`
	NightsPerSecond float64 `json:"nightsPerSecond"`
	// The holds of another hotel, alone, during edits of one room type, and during the load.
	HoldsAlone  benchHoldsBeside `json:"holdsAlone"`
	HoldsEdited benchHoldsBeside `json:"holdsEdited"`
	HoldsLoaded benchHoldsBeside `json:"holdsLoaded"`
}

type benchHoldsBeside struct {
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P95Ms     float64 `json:"p95Ms"`
}

// capacityBench is a chain that is loaded and a hotel that sells meanwhile.
type capacityBench struct {
	*benchStock
	clients int
}

// measureCapacity sets nights while another hotel sells.
func measureCapacity(ctx context.Context, a *app, config benchConfig, say func(string, ...any)) (*benchCapacity, error) {
	b := capacityBench{benchStock: &benchStock{app: a, first: civil.DateOf(time.Now().UTC()).AddDays(30)}, clients: benchCapacityHolds}
	if _, err := b.makeTenant(ctx, "capacity"); err != nil {
		return nil, err
	}
	if err := b.makeHotel(ctx); err != nil {
		return nil, err
	}
	if err := b.analyze(ctx, "night_plans", "night_rates", "night_counters"); err != nil {
		return nil, err
	}
	report := &benchCapacity{Hotels: config.Hotels}
	var err error
	if report.HoldsAlone, err = b.sellBeside(ctx, func(ctx context.Context) error { return waitFor(ctx, config.measured()) }); err != nil {
		return nil, err
	}
	say("  holds alone          p95 %6.1f ms  %6.0f/s", report.HoldsAlone.P95Ms, report.HoldsAlone.PerSecond)
	edited, err := b.addRoomType(ctx, 0, 0)
	if err != nil {
		return nil, err
	}
	var edits []time.Duration
	report.HoldsEdited, err = b.sellBeside(ctx, func(ctx context.Context) error {
		for i := range benchEdits {
			begin := time.Now()
			if err := b.setYear(ctx, edited, int64(50+i)); err != nil {
				return err
			}
			edits = append(edits, time.Since(begin))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(edits)
	edit := benchLoad{latencies: edits}
	report.EditP50Ms, report.EditP95Ms = edit.percentile(50), edit.percentile(95)
	say("  365 nights edited    p50 %6.1f ms, p95 %.1f ms; holds p95 %.1f ms", report.EditP50Ms, report.EditP95Ms, report.HoldsEdited.P95Ms)
	begin := time.Now()
	report.HoldsLoaded, err = b.sellBeside(ctx, func(ctx context.Context) error { return b.loadChain(ctx, config.Hotels) })
	if err != nil {
		return nil, err
	}
	report.LoadSeconds = rounded(time.Since(begin).Seconds(), 10)
	report.Nights = config.Hotels * benchChainTypes * benchYear
	report.NightsPerSecond = rounded(float64(report.Nights)/report.LoadSeconds, 1)
	say("  %d nights loaded  %.0f nights/s in %.0f s; holds p95 %.1f ms", report.Nights, report.NightsPerSecond, report.LoadSeconds, report.HoldsLoaded.P95Ms)
	return report, nil
}

func waitFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// sellBeside lets clients hold one room after the other while something else is done.
func (b *capacityBench) sellBeside(ctx context.Context, act func(ctx context.Context) error) (benchHoldsBeside, error) {
	var over atomic.Bool
	parts := make([][]time.Duration, b.clients)
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range parts {
		group.Go(func() error {
			for !over.Load() && groupCtx.Err() == nil {
				begin := time.Now()
				if err := b.holdOne(groupCtx); err != nil {
					return err
				}
				parts[i] = append(parts[i], time.Since(begin))
			}
			return nil
		})
	}
	begin := time.Now()
	group.Go(func() error {
		defer over.Store(true)
		return act(groupCtx)
	})
	if err := group.Wait(); err != nil {
		return benchHoldsBeside{}, err
	}
	load := benchLoad{latencies: slices.Concat(parts...)}
	slices.Sort(load.latencies)
	return benchHoldsBeside{
		PerSecond: rounded(float64(len(load.latencies))/time.Since(begin).Seconds(), 1), P50Ms: load.percentile(50), P95Ms: load.percentile(95),
	}, nil
}

// holdOne holds a room for three nights and gives it back, so that the hotel is never full.
func (b *capacityBench) holdOne(ctx context.Context) error {
	room, checkIn := b.stay()
	hold, err := b.app.inventory.PlaceHold(ctx, b.actor, inventory.PlaceHold{
		RequestKey: strconv.FormatUint(rand.Uint64(), 36), //nolint:gosec // a key needs no secrecy
		Lines: []inventory.LineRequest{{Stay: &inventory.StayRequest{
			RoomType: room, CheckIn: checkIn, CheckOut: checkIn.AddDays(3), Rooms: 1,
		}}},
	})
	if err != nil {
		return err
	}
	_, err = b.app.inventory.ReleaseHold(ctx, b.actor, hold.ID, strconv.FormatUint(rand.Uint64(), 36)) //nolint:gosec // a key needs no secrecy
	return err
}

// loadChain sets a year of every room type of so many hotels, a few at once.
func (b *capacityBench) loadChain(ctx context.Context, hotels int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(benchLoaders)
	for hotel := 1; hotel <= hotels; hotel++ {
		group.Go(func() error {
			for i := range benchChainTypes {
				room, err := b.addRoomType(ctx, hotel, i)
				if err != nil {
					return err
				}
				if err := b.setYear(ctx, room, 40); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// addRoomType adds a room type to a hotel of the chain, and the hotel with its first.
func (b *capacityBench) addRoomType(ctx context.Context, hotel, i int) (inventory.RoomTypeID, error) {
	name := fmt.Sprintf("chain-%d", hotel)
	// The same request key is answered with the same hotel.
	property, err := b.app.tenants.CreateProperty(ctx, b.actor, name, tenants.NewProperty{Region: demoRegion, Site: benchSite(name)})
	if err != nil {
		return inventory.RoomTypeID{}, err
	}
	return b.app.inventory.CreateRoomType(ctx, b.actor, fmt.Sprintf("%s-%d", name, i), inventory.NewRoomType{
		Property: property.ID, Name: "Room type " + strconv.Itoa(i+1), MaxGuests: 2,
	})
}

func (b *capacityBench) setYear(ctx context.Context, room inventory.RoomTypeID, rooms int64) error {
	rate, percent := int64(benchNightMinor), int64(5)
	_, err := b.app.inventory.SetNights(ctx, b.actor, inventory.NightsEdit{
		RoomType: &room, Nights: inventory.NightRange{First: b.first, Last: b.first.AddDays(benchYear - 1)},
		Change: inventory.NightChange{Physical: &rooms, OversellPercent: &percent, RateMinor: &rate},
	})
	return err
}

func (c *benchCapacity) print(out io.Writer) {
	fmt.Fprintf(out, "\nNights of one room type and a year are set in %.1f ms (p95 %.1f ms); %d nights of %d hotels are loaded at %.0f nights/s.\n",
		c.EditP50Ms, c.EditP95Ms, c.Nights, c.Hotels, c.NightsPerSecond)
	fmt.Fprintf(out, "Holds of another hotel, p95: alone %.1f ms, during edits %.1f ms, during the load %.1f ms.\n",
		c.HoldsAlone.P95Ms, c.HoldsEdited.P95Ms, c.HoldsLoaded.P95Ms)
}
