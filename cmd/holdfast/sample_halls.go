package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/inventory/charts/halls"
	"github.com/holdfast/holdfast/tenants"
)

// The regions of the sample data. Everything that is sold in euros lies in the first one, so that a
// hold may mix seats, standing places and nights.
const (
	sampleRegionEU ids.Region = "eu"
	sampleRegionUS ids.Region = "us"
)

// theatre sells five evenings with assigned seats at five prices.
func (l sampleLoad) theatre(ctx context.Context) error {
	site := tenants.Site{Name: "Lindenhof Theatre", TimeZone: "Europe/Vienna", Currency: "EUR", Country: "AT", City: "Vienna"}
	levels := []inventory.NewPriceLevel{
		{Name: "Premium", AmountMinor: 129_00, Categories: []string{halls.TheatrePremium}},
		{Name: "Stalls", AmountMinor: 89_00, Categories: []string{halls.TheatreStalls}},
		{Name: "Dress circle", AmountMinor: 95_00, Categories: []string{halls.TheatreDressCircle}},
		{Name: "Balcony", AmountMinor: 49_00, Categories: []string{halls.TheatreBalcony}},
		{Name: "Restricted view", AmountMinor: 29_00, Categories: []string{halls.TheatreRestrictedView}},
	}
	return l.hall(ctx, "theatre", site, halls.Theatre(), "The Lighthouse Keeper", []int{7, 8, 14, 15, 21}, inventory.NewShow{PriceLevels: levels})
}

// arena sells two evenings with assigned seats in the stands and two standing pools on the floor.
func (l sampleLoad) arena(ctx context.Context) error {
	site := tenants.Site{Name: "Harbour Arena", TimeZone: "Europe/Berlin", Currency: "EUR", Country: "DE", City: "Hamburg"}
	show := inventory.NewShow{
		PriceLevels: []inventory.NewPriceLevel{
			{Name: "Front of stage", AmountMinor: 119_00},
			{Name: "Lower tier", AmountMinor: 99_00, Categories: []string{halls.ArenaLowerTier}},
			{Name: "Lower corner", AmountMinor: 85_00, Categories: []string{halls.ArenaLowerCorner}},
			{Name: "Standing", AmountMinor: 69_00},
			{Name: "Upper tier", AmountMinor: 59_00, Categories: []string{halls.ArenaUpperTier}},
			{Name: "Restricted view", AmountMinor: 39_00, Categories: []string{halls.ArenaRestrictedView}},
		},
		Pools: []inventory.NewPool{
			{Name: halls.ArenaPoolFrontOfStage, PriceLevel: "Front of stage", Capacity: 400},
			// Everybody wants this one at once, so its counter is split.
			{Name: halls.ArenaPoolStandingFloor, PriceLevel: "Standing", Capacity: 2_500, Shards: 8},
		},
	}
	return l.hall(ctx, "arena", site, halls.Arena(), "Northbound Live", []int{20, 21}, show)
}

// hall makes a venue with its chart and one event, performed at half past seven in the evening on
// each of some days from today.
func (l sampleLoad) hall(ctx context.Context, key string, site tenants.Site, chart *charts.Chart, eventName string, days []int, show inventory.NewShow) error {
	key = "sample/" + key
	venue, err := l.tenants.CreateVenue(ctx, l.owner, key, tenants.NewVenue{Region: sampleRegionEU, Site: site})
	if err != nil {
		return err
	}
	chartID, err := l.inventory.ImportChart(ctx, l.owner, key, venue.ID, chart)
	if err != nil {
		return err
	}
	event, err := l.inventory.CreateEvent(ctx, l.owner, key, inventory.NewEvent{Venue: venue.ID, Name: eventName})
	if err != nil {
		return err
	}
	zone, err := site.Location()
	if err != nil {
		return err
	}
	today, err := l.today(site)
	if err != nil {
		return err
	}
	for _, days := range days {
		day := today.AddDays(days)
		show := show
		show.Event, show.Chart, show.Name = event, &chartID, eventName
		show.StartsAt = time.Date(day.Year, day.Month, day.Day, 19, 30, 0, 0, zone).UTC()
		if _, err := l.inventory.CreateShow(ctx, l.owner, fmt.Sprintf("%s/show/%d", key, days), show); err != nil {
			return fmt.Errorf("%s on %s: %w", eventName, day, err)
		}
	}
	fmt.Fprintf(l.progress, "  %s, %s: %d shows of %d seats", site.Name, site.City, len(days), chart.SeatCount())
	if n := len(show.Pools); n > 0 {
		fmt.Fprintf(l.progress, " and %d standing pools", n)
	}
	fmt.Fprintln(l.progress)
	return nil
}
