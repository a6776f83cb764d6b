package main

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// sampleNights is how far ahead the sample hotels sell.
const sampleNights = 400

// sampleHotel is one house of the sample chain.
type sampleHotel struct {
	key    string
	region ids.Region
	site   tenants.Site
	rooms  []sampleRoom
	// weekendStay is how many nights a stay that arrives on a Friday or Saturday must have; 0 is no rule.
	weekendStay int64
	// fullOn is a night, counted from today, on which no room can be had; 0 is none.
	fullOn int
	// houseLimit caps the sum of all rooms on the ten nights from houseLimitFrom days after today.
	houseLimit int64
}

// sampleRoom is a room type with its price on an ordinary weekday.
type sampleRoom struct {
	name      string
	guests    int64
	count     int64
	rateMinor int64
}

const (
	sampleHouseLimitFrom   = 30
	sampleHouseLimitNights = 10
)

func sampleHotels() []sampleHotel {
	return []sampleHotel{
		{
			key: "vienna", region: sampleRegionEU, fullOn: 10,
			site:  tenants.Site{Name: "Lindenhof Hotel", TimeZone: "Europe/Vienna", Currency: "EUR", Country: "AT", City: "Vienna"},
			rooms: []sampleRoom{{"Courtyard double", 2, 48, 139_00}, {"Corner king", 2, 16, 189_00}, {"Family suite", 4, 6, 279_00}},
		},
		{
			key: "hamburg", region: sampleRegionEU, houseLimit: 90,
			site:  tenants.Site{Name: "Harbour Quay Hotel", TimeZone: "Europe/Berlin", Currency: "EUR", Country: "DE", City: "Hamburg"},
			rooms: []sampleRoom{{"Single", 1, 30, 89_00}, {"Double", 2, 60, 119_00}, {"Quayside suite", 3, 8, 239_00}},
		},
		{
			key: "innsbruck", region: sampleRegionEU, weekendStay: 2,
			site:  tenants.Site{Name: "Larchwood Lodge", TimeZone: "Europe/Vienna", Currency: "EUR", Country: "AT", City: "Innsbruck"},
			rooms: []sampleRoom{{"Valley double", 2, 24, 149_00}, {"Mountain double", 2, 12, 179_00}, {"Chalet", 6, 4, 390_00}},
		},
		{
			key: "chicago", region: sampleRegionUS,
			site:  tenants.Site{Name: "Lakeside House", TimeZone: "America/Chicago", Currency: "USD", Country: "US", City: "Chicago"},
			rooms: []sampleRoom{{"Queen", 2, 70, 159_00}, {"Two queens", 4, 40, 189_00}, {"Lake suite", 4, 10, 320_00}},
		},
		{
			key: "san-francisco", region: sampleRegionUS, weekendStay: 2,
			site:  tenants.Site{Name: "Fogbank Inn", TimeZone: "America/Los_Angeles", Currency: "USD", Country: "US", City: "San Francisco"},
			rooms: []sampleRoom{{"Studio", 2, 28, 199_00}, {"Bay king", 2, 14, 259_00}, {"Loft", 4, 5, 410_00}},
		},
	}
}

func (l sampleLoad) hotel(ctx context.Context, h sampleHotel) error {
	property, err := l.tenants.CreateProperty(ctx, l.owner, "sample/"+h.key, tenants.NewProperty{Region: h.region, Site: h.site})
	if err != nil {
		return err
	}
	today, err := l.today(h.site)
	if err != nil {
		return err
	}
	for _, room := range h.rooms {
		id, err := l.inventory.CreateRoomType(ctx, l.owner, "sample/"+h.key+"/"+room.name, inventory.NewRoomType{
			Property: property.ID, Name: room.name, MaxGuests: room.guests,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", room.name, err)
		}
		nights := make([]inventory.DatedChange, sampleNights)
		for i := range nights {
			nights[i] = h.night(room, today.AddDays(i), i)
		}
		if _, err := l.inventory.WriteNights(ctx, l.owner, id, nights); err != nil {
			return fmt.Errorf("%s: %w", room.name, err)
		}
	}
	if h.houseLimit > 0 {
		nights := inventory.NightRange{First: today.AddDays(sampleHouseLimitFrom), Last: today.AddDays(sampleHouseLimitFrom + sampleHouseLimitNights - 1)}
		if _, err := l.inventory.SetNights(ctx, l.owner, inventory.NightsEdit{
			Property: &property.ID, Nights: nights, Change: inventory.NightChange{HouseLimit: &h.houseLimit},
		}); err != nil {
			return fmt.Errorf("set the house limit: %w", err)
		}
	}
	fmt.Fprintf(l.progress, "  %s, %s (%s): %d room types, %d nights\n", h.site.Name, h.site.City, h.region, len(h.rooms), sampleNights)
	return nil
}

// night is the stock, price and rules of one night, which is so many days from today.
func (h sampleHotel) night(room sampleRoom, night civil.Date, fromToday int) inventory.DatedChange {
	weekend := night.Weekday() == time.Friday || night.Weekday() == time.Saturday
	percent := int64(100)
	switch {
	case weekend:
		percent += 25
	case night.Weekday() == time.Sunday:
		percent -= 10
	}
	switch night.Month { //nolint:exhaustive // the other months are ordinary ones
	case time.July, time.August, time.December:
		percent += 15
	}
	rate, outOfOrder := room.rateMinor*percent/100, int64(0)
	if h.fullOn > 0 && fromToday == h.fullOn {
		outOfOrder = room.count
	}
	change := inventory.NightChange{Physical: &room.count, OutOfOrder: &outOfOrder, RateMinor: &rate}
	if weekend && h.weekendStay > 0 {
		change.MinStayArrival = &h.weekendStay
	}
	return inventory.DatedChange{Night: night, Change: change}
}
