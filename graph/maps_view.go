package graph

import (
	"encoding/base64"
	"fmt"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

// seatStatesView joins the status of a show's seats with its chart, whose ids and labels are made once.
func seatStatesView(board inventory.SeatBoard, geometry *hall) ([]generated.SeatState, error) {
	view := make([]generated.SeatState, board.Len())
	levels := map[inventory.PriceLevelID]string{}
	for i := range view {
		seat := board.Seat(i)
		shown, ok := geometry.seats[seat.Seat.UUID]
		if !ok {
			return nil, notInChart(seat.Seat)
		}
		level, ok := levels[seat.PriceLevel]
		if !ok {
			level = seat.PriceLevel.String()
			levels[seat.PriceLevel] = level
		}
		view[i] = generated.SeatState{SeatID: shown.ID, Seat: *shown, PriceLevelID: level, Status: generated.SeatStatus(seat.Status)}
	}
	return view, nil
}

func notInChart(seat inventory.SeatID) error {
	return fmt.Errorf("seat %s is not in the chart of its show", seat)
}

// The status of a seat in 2 bits.
const (
	bitsAvailable byte = 0
	bitsHeld      byte = 1
	bitsBooked    byte = 2
	bitsBlocked   byte = 3

	seatsPerByte = 4
)

func bitsOf(status inventory.SeatStatus) byte {
	switch status {
	case inventory.SeatStatusAvailable:
		return bitsAvailable
	case inventory.SeatStatusHeld:
		return bitsHeld
	case inventory.SeatStatusBooked:
		return bitsBooked
	case inventory.SeatStatusBlocked:
		return bitsBlocked
	}
	return bitsBlocked
}

// packedView is the status of every seat of a chart in 2 bits. A seat that the show does not sell is
// blocked.
func packedView(board inventory.SeatBoard, geometry *hall) (string, error) {
	packed := make([]byte, (len(geometry.places)+seatsPerByte-1)/seatsPerByte)
	for i := range packed {
		packed[i] = bitsBlocked | bitsBlocked<<2 | bitsBlocked<<4 | bitsBlocked<<6
	}
	for i := range board.Len() {
		seat := board.Seat(i)
		place, ok := geometry.places[seat.Seat.UUID]
		if !ok {
			return "", notInChart(seat.Seat)
		}
		shift := 2 * (place % seatsPerByte)
		packed[place/seatsPerByte] = packed[place/seatsPerByte]&^(bitsBlocked<<shift) | bitsOf(seat.Status)<<shift
	}
	return base64.StdEncoding.EncodeToString(packed), nil
}

// seatMapChangeView leads from a version to a board; nil is a client without a map.
func seatMapChangeView(board inventory.SeatBoard, geometry *hall, since *inventory.MapVersion) (*generated.SeatMapChange, error) {
	view := &generated.SeatMapChange{Version: board.Version().String(), AsOf: board.AsOf(), Seats: []generated.SeatChange{}}
	if since != nil {
		changes, ok := board.Since(*since)
		if ok && len(changes.Seats) <= max(leastPacked, board.Len()/seatsPerChange) {
			text := since.String()
			view.Since, view.Version = &text, changes.Version.String()
			var err error
			view.Seats, err = seatChangesView(board, geometry, changes.Seats)
			return view, err
		}
	}
	packed, err := packedView(board, geometry)
	view.Packed = &packed
	return view, err
}

// One change takes about 90 bytes, one seat of a packed map a third of a byte.
const (
	seatsPerChange = 256
	leastPacked    = 32
)

func seatChangesView(board inventory.SeatBoard, geometry *hall, seats []int) ([]generated.SeatChange, error) {
	view := make([]generated.SeatChange, len(seats))
	for i, number := range seats {
		seat := board.Seat(number)
		place, ok := geometry.places[seat.Seat.UUID]
		if !ok {
			return nil, notInChart(seat.Seat)
		}
		view[i] = generated.SeatChange{Index: int64(place), SeatID: seat.Seat.String(), Status: generated.SeatStatus(seat.Status)}
	}
	return view, nil
}
