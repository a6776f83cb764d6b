package inventory

import (
	"fmt"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// judgeRules says everything that speaks against a claim whatever is left of the units: form that
// needs the database to see (dates in the past), sale windows, restrictions and limits. The lines
// it returns name every rule that was broken.
func (c claim) judgeRules(actor tenants.Actor, f facts) ([]RefusedLine, error) {
	if err := c.judgeExists(f); err != nil {
		return nil, err
	}
	if actor.ChannelSuspended {
		return nil, Refuse(RefusalChannelSuspended, messageOf(RefusalChannelSuspended))
	}
	if err := c.judgeDates(f); err != nil {
		return nil, err
	}
	if err := c.judgeCurrency(f); err != nil {
		return nil, err
	}
	presale, err := c.judgePresale(f)
	if err != nil {
		return nil, err
	}
	var refused []RefusedLine
	var seats, quantity int64
	for i, line := range c.lines {
		switch {
		case line.Seats != nil:
			seats += line.seatCount()
			if code := f.shows[line.Seats.Show.UUID].judgeSale(f.now, presale); code != "" {
				refused = append(refused, RefusedLine{Line: i, Code: code})
			}
			refused = append(refused, over(i, seats, f.terms.MaxSeatsPerHold)...)
		case line.Pool != nil:
			quantity += line.Pool.Quantity
			if code := f.shows[f.pools[line.Pool.Pool.UUID].show].judgeSale(f.now, presale); code != "" {
				refused = append(refused, RefusedLine{Line: i, Code: code, Pool: &line.Pool.Pool})
			}
			refused = append(refused, over(i, quantity, f.terms.MaxQuantityPerHold)...)
		case line.Stay != nil:
			quantity += line.Stay.Rooms
			refused = append(refused, c.override.rest(refuseStay(i, judgeStay(*line.Stay, f.stay(*line.Stay))))...)
			for _, line := range over(i, quantity, f.terms.MaxQuantityPerHold) {
				line.Level = RuleLevelTerms
				refused = append(refused, line)
			}
		}
	}
	return append(refused, c.judgeOffers(actor.Channel, f)...), nil
}

// judgeExists answers an id that is not the tenant's like one that nobody has.
func (c claim) judgeExists(f facts) error {
	for _, show := range c.shows {
		if _, ok := f.shows[show]; !ok {
			return fault.NotFound("show")
		}
	}
	for _, pool := range c.pools {
		if _, ok := f.pools[pool]; !ok {
			return fault.NotFound("pool")
		}
	}
	for _, room := range c.rooms {
		if _, ok := f.rooms[room]; !ok {
			return fault.NotFound("room type")
		}
	}
	return c.judgePlans(f)
}

// judgeDates refuses stays that begin before today at the property: a mistake of form, but only
// the property's zone and the database's clock can tell.
func (c claim) judgeDates(f facts) error {
	for i, line := range c.lines {
		if line.Stay == nil {
			continue
		}
		if today := f.rooms[line.Stay.RoomType.UUID].today; line.Stay.CheckIn.Before(today) {
			return fault.Invalid(fmt.Sprintf("lines[%d].stay.checkIn", i), "expected today at the property (%s) or later, got %s", today, line.Stay.CheckIn)
		}
	}
	return nil
}

func (c claim) judgeCurrency(f facts) error {
	var first money.Currency
	for i, line := range c.lines {
		currency := f.currencyOf(line)
		if first == "" {
			first = currency
		}
		if currency != first {
			return fault.Invalid(fmt.Sprintf("lines[%d]", i), "a hold has one currency; this line is in %s, the first in %s", currency, first)
		}
	}
	return nil
}

func (f facts) currencyOf(line LineRequest) money.Currency {
	switch {
	case line.Seats != nil:
		return f.shows[line.Seats.Show.UUID].currency
	case line.Pool != nil:
		return f.shows[f.pools[line.Pool.Pool.UUID].show].currency
	default:
		return f.rooms[line.Stay.RoomType.UUID].currency
	}
}

// judgeSale is the rule of a show's sale window, "" when it is open. Hold, extend and checkout all
// ask it, so that a show that closes in between closes for all three.
func (s showFacts) judgeSale(now time.Time, presale *presaleFacts) RefusalCode {
	switch {
	case s.state != ShowStateOnSale, s.completed:
		return RefusalSaleClosed
	case !now.Before(s.shuts):
		return RefusalSaleClosed
	case s.opens != nil && now.Before(*s.opens) && (presale == nil || presale.show != s.id || !presale.openAt(now)):
		return RefusalSaleNotOpen
	}
	return ""
}

// refusedWhole reports whether rules speak against every line as a whole, so that a refusal need not
// look at what is left of the units. A night that is closed or missing says nothing of the others.
func (c claim) refusedWhole(refused []RefusedLine) bool {
	whole := make(map[int]bool, len(c.lines))
	for _, line := range refused {
		if line.Code != RefusalStopSell && line.Code != RefusalNoSuchNight {
			whole[line.Line] = true
		}
	}
	return len(whole) == len(c.lines)
}

func over(line int, count, limit int64) []RefusedLine {
	if count <= limit {
		return nil
	}
	return []RefusedLine{{Line: line, Code: RefusalLimitPerHold, Limit: &limit}}
}

// judgeSeats looks at the locked rows of one line's seats; closed says which are in a block that is not
// the buyer's. Seats of due holds are returned apart: whoever wants them reaps those holds first.
func judgeSeats(line int, wanted []SeatID, rows map[SeatID]dbsqlc.SeatsLockRow, closed func(dbsqlc.SeatsLockRow) bool, now time.Time) (refused []RefusedLine, due bool) {
	for _, seat := range wanted {
		row, ok := rows[seat]
		at := RefusedLine{Line: line, Seat: &seat}
		switch {
		case !ok:
			at.Code = RefusalNoSuchSeat
		case closed(row):
			at.Code = RefusalInOtherBlock
		case row.State == string(seatStateAvailable):
			continue
		case row.State == string(seatStateHeld) && row.ClaimableAt != nil && !now.Before(*row.ClaimableAt):
			due = true
			continue
		default:
			at.Code = RefusalHeldByOther
			// Whose it is, is asked once for all lines; see markOwn.
			at.HeldByYou = &HoldID{Region: seat.Region, UUID: *row.HoldID}
		}
		refused = append(refused, at)
	}
	return refused, due
}
