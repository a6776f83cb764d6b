package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/inventory"
)

// earlierBooking is what an earlier import made of a row.
type earlierBooking struct {
	id        bookings.BookingID
	cancelled bool
	noShow    bool
}

// referenceDigits is how much of a file's digest tells it apart from others.
const referenceDigits = 16

// historyReference is the partner reference of a booking that was imported: the file, how many of
// its rows were taken, and the line. It is how an import finds its own bookings again.
func historyReference(h history, line int) string {
	return h.digest[:referenceDigits] + "/" + strconv.Itoa(h.lines) + "/" + strconv.Itoa(line)
}

// findEarlier reads every booking of the tenant. Without --again there must be none.
func (s *historySetup) findEarlier(ctx context.Context, c importBookingsCommand, h history) error {
	rowOf := make(map[string]int, len(h.rows))
	for i, row := range h.rows {
		rowOf[historyReference(h, row.line)] = i
	}
	s.earlier = map[int]earlierBooking{}
	var after *bookings.Cursor
	for {
		page, more, err := s.app.bookings.Bookings(ctx, s.actor, historyRegion, after, inventory.MaxPage)
		if err != nil {
			return err
		}
		if len(page) > 0 && !c.Again {
			return fmt.Errorf("the tenant %q has bookings already: run again with --again to go on with them, or choose another --tenant-slug", c.TenantSlug)
		}
		for _, booking := range page {
			row, ok := rowOf[booking.PartnerReference]
			switch {
			case ok:
				s.takeEarlier(h.rows[row], row, booking)
			case strings.HasPrefix(booking.PartnerReference, h.digest[:referenceDigits]+"/"):
				return fmt.Errorf("the tenant %q has this file already, with another --limit: choose another --tenant-slug", c.TenantSlug)
			}
			after = &bookings.Cursor{BookedAt: booking.BookedAt, ID: booking.ID.UUID}
		}
		if !more {
			return nil
		}
	}
}

func (s *historySetup) takeEarlier(row historyRow, index int, booking bookings.Booking) {
	earlier := earlierBooking{id: booking.ID, cancelled: booking.State == bookings.StateCancelled}
	for _, line := range booking.Lines {
		earlier.noShow = earlier.noShow || line.State == bookings.LineStateNoShow
		if line.Ordinal == 0 {
			s.shiftDays = line.Night.DaysSince(row.arrival)
		}
	}
	s.earlier[index] = earlier
}
