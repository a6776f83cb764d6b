package main

import (
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/inventory"
)

// historyRoom names a room type of the history.
type historyRoom struct{ hotel, roomType string }

// historyStock is what a hotel must have had to serve its history. The file does not tell the
// number of rooms, so it is taken to be the most that were ever occupied at once by guests who
// really stayed, by the room type that they had reserved; at least one.
type historyStock struct {
	rooms map[historyRoom]*historyRoomStock
	// first and last are the nights that any booking wants, both included.
	first, last civil.Date
}

// historyRoomStock is the stock of one room type.
type historyRoomStock struct {
	physical int64
	// rates are in minor units, by night; usual is the rate of a night that has none.
	rates map[civil.Date]int64
	usual int64
}

// rateWithoutHistory is the price of a night when no booking of the hotel tells one, in minor units.
const rateWithoutHistory = 100_00

// stockOf derives stock and prices. The price of a night is the median of what guests of that room
// type paid for it, else the median of the room type, else that of the hotel. Free and corrected
// bookings (a rate of 0 or less) say nothing of the price.
func stockOf(rows []historyRow) historyStock {
	type nightOfRoom struct {
		room  historyRoom
		night civil.Date
	}
	stock := historyStock{rooms: map[historyRoom]*historyRoomStock{}}
	occupied := map[nightOfRoom]int64{}
	nightRates := map[nightOfRoom][]int64{}
	roomRates, hotelRates := map[historyRoom][]int64{}, map[string][]int64{}
	for _, row := range rows {
		room := historyRoom{row.hotel, row.roomType}
		if stock.rooms[room] == nil {
			stock.rooms[room] = &historyRoomStock{physical: 1, rates: map[civil.Date]int64{}}
		}
		if !stock.first.IsValid() || row.arrival.Before(stock.first) {
			stock.first = row.arrival
		}
		if last := row.departure(); !stock.last.IsValid() || last.After(stock.last) {
			stock.last = last
		}
		if row.rateMinor > 0 {
			roomRates[room] = append(roomRates[room], row.rateMinor)
			hotelRates[row.hotel] = append(hotelRates[row.hotel], row.rateMinor)
		}
		if row.status != historyCheckedOut {
			continue
		}
		for night := row.arrival; night.Before(row.departure()); night = night.AddDays(1) {
			at := nightOfRoom{room, night}
			occupied[at]++
			stock.rooms[room].physical = max(stock.rooms[room].physical, occupied[at])
			if row.rateMinor > 0 {
				nightRates[at] = append(nightRates[at], row.rateMinor)
			}
		}
	}
	for room, of := range stock.rooms {
		of.usual = median(roomRates[room], median(hotelRates[room.hotel], rateWithoutHistory))
	}
	for at, rates := range nightRates {
		stock.rooms[at.room].rates[at.night] = median(rates, 0)
	}
	return stock
}

// median sorts the values, and is otherwise when there are none.
func median(values []int64, otherwise int64) int64 {
	if len(values) == 0 {
		return otherwise
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// nights are the changes that put a room type on sale, moved forward by so many days. oversell is
// how many rooms may be sold beyond those that there are.
func (s historyStock) nights(room historyRoom, shiftDays int, oversell int64) []inventory.DatedChange {
	of := s.rooms[room]
	var changes []inventory.DatedChange
	for night := s.first; !night.After(s.last); night = night.AddDays(1) {
		rate, ok := of.rates[night]
		if !ok {
			rate = of.usual
		}
		changes = append(changes, inventory.DatedChange{
			Night:  night.AddDays(shiftDays),
			Change: inventory.NightChange{Physical: &of.physical, Oversell: &oversell, RateMinor: &rate},
		})
	}
	return changes
}

// roomsInOrder are the room types by hotel and letter.
func (s historyStock) roomsInOrder() []historyRoom {
	rooms := make([]historyRoom, 0, len(s.rooms))
	for room := range s.rooms {
		rooms = append(rooms, room)
	}
	slices.SortFunc(rooms, func(a, b historyRoom) int {
		if a.hotel != b.hotel {
			return strings.Compare(a.hotel, b.hotel)
		}
		return strings.Compare(a.roomType, b.roomType)
	})
	return rooms
}

// shiftDaysOf is the smallest whole number of weeks, in days, that moves the first night after
// today: the product sells no night of the past, and weekdays stay what they were.
func shiftDaysOf(first, today civil.Date) int {
	const week = 7
	behind := today.DaysSince(first) + 1
	if behind <= 0 {
		return 0
	}
	return (behind + week - 1) / week * week
}

// dateIn is the date of an instant in a time zone.
func dateIn(instant time.Time, zone *time.Location) civil.Date { return civil.DateOf(instant.In(zone)) }
