package trade

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade/internal/dbsqlc"
)

// DefaultCalendar is the name of an imported calendar that nobody named.
const DefaultCalendar = "default"

// CalendarTaken is what an import of a calendar did.
type CalendarTaken struct {
	// Events are those that close nights.
	Events int
	// Closed and Opened are how many nights the import closed and opened.
	Closed int
	Opened int
	// Unplanned are nights of events that are not for sale anyway, because nobody has planned them.
	Unplanned int
}

// ImportCalendar makes a calendar's events close the nights of a room type. It is the whole of what the calendar of that
// name says: an event that it has no longer, or that moved, opens the nights that no other event closes, unless
// somebody else had closed them before. The same calendar again changes nothing. Nights that are past stay as they are.
func (s *Service) ImportCalendar(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, name string, content []byte) (CalendarTaken, error) {
	property, err := s.roomAt(ctx, actor, policies.ActionTradeImport, roomType)
	if err != nil {
		return CalendarTaken{}, err
	}
	if name == "" {
		name = DefaultCalendar
	}
	if err := checkCode("name", name); err != nil {
		return CalendarTaken{}, err
	}
	h, err := hotelTx(ctx, s.db.Pool(), actor.Tenant, property)
	if err != nil {
		return CalendarTaken{}, db.Classify(err)
	}
	events, err := readCalendar(content, h.zone)
	if err != nil {
		return CalendarTaken{}, err
	}
	c := calendarImport{hotel: h, room: roomType, name: name, events: events}
	taken, err := db.Replayable(ctx, s.db, "trade.ImportCalendar", func(ctx context.Context, tx pgx.Tx) (CalendarTaken, error) {
		return c.applyTx(ctx, tx, actor)
	})
	if err == nil {
		s.inventory.NoteFed(ctx, inventory.NightsSet{Nights: taken.Closed + taken.Opened})
	}
	return taken, err
}

// calendarImport is a calendar on its way into the database.
type calendarImport struct {
	hotel  hotel
	room   inventory.RoomTypeID
	name   string
	events []event
}

// claimOfNight is that an event closes a night.
type claimOfNight struct {
	night civil.Date
	uid   string
}

// ledger is what calendars close, as far as an import needs it.
type ledger struct {
	// own are the claims of the calendar, and others counts those of all calendars by night.
	own    map[claimOfNight]bool
	claims map[civil.Date]int
	// opens is whether a night is to open when its last claim is gone.
	opens map[civil.Date]bool
}

func (c calendarImport) applyTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor) (CalendarTaken, error) {
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return CalendarTaken{}, err
	}
	today := civil.DateOf(now.In(c.hotel.zone))
	planned, err := inventory.PlannedNightsTx(ctx, tx, c.hotel.tenant, c.hotel.property, []inventory.RoomTypeID{c.room}, today, civil.Date{Year: 2199, Month: time.December, Day: 31})
	if err != nil {
		return CalendarTaken{}, err
	}
	closed := make(map[civil.Date]bool, len(planned))
	for _, night := range planned {
		closed[night.Night] = night.StopSell
	}
	kept, err := c.ledgerTx(ctx, tx, today)
	if err != nil {
		return CalendarTaken{}, err
	}
	wanted, taken := c.wanted(today, closed)
	if len(wanted) > MaxNights {
		return CalendarTaken{}, fault.Invalid("calendar", "its events are of %d nights that are for sale; expected at most %d", len(wanted), MaxNights)
	}
	changes := kept.settle(wanted, closed)
	if err := c.keepTx(ctx, tx, today, kept, wanted); err != nil {
		return CalendarTaken{}, err
	}
	if len(changes) == 0 {
		return taken, nil
	}
	feed := inventory.Feed{RoomType: c.room}
	for night, stop := range changes {
		feed.Nights = append(feed.Nights, inventory.FedNight{DatedChange: inventory.DatedChange{Night: night, Change: inventory.NightChange{StopSell: &stop}}})
		if stop {
			taken.Closed++
		} else {
			taken.Opened++
		}
	}
	if _, err := inventory.FeedTx(ctx, tx, actor, c.hotel.property, []inventory.Feed{feed}); err != nil {
		return CalendarTaken{}, err
	}
	return taken, tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionTradeImport, Resource: c.room,
		After: struct {
			Calendar       string
			Events         int
			Closed, Opened int
		}{c.name, taken.Events, taken.Closed, taken.Opened},
	})
}

// ledgerTx reads what calendars close from a night on.
func (c calendarImport) ledgerTx(ctx context.Context, tx pgx.Tx, from civil.Date) (ledger, error) {
	rows, err := dbsqlc.New(tx).CalendarNightsOf(ctx, dbsqlc.CalendarNightsOfParams{
		TenantID: c.hotel.tenant.UUID, Region: string(c.room.Region), RoomTypeID: c.room.UUID, FirstNight: from,
	})
	if err != nil {
		return ledger{}, fmt.Errorf("read what calendars close: %w", err)
	}
	kept := ledger{own: map[claimOfNight]bool{}, claims: map[civil.Date]int{}, opens: map[civil.Date]bool{}}
	for _, row := range rows {
		kept.claims[row.Night]++
		kept.opens[row.Night] = row.Opens
		if row.Calendar == c.name {
			kept.own[claimOfNight{row.Night, row.Uid}] = true
		}
	}
	return kept, nil
}

// wanted are the claims of the calendar on planned nights that are not past.
func (c calendarImport) wanted(today civil.Date, planned map[civil.Date]bool) (map[claimOfNight]bool, CalendarTaken) {
	taken := CalendarTaken{Events: len(c.events)}
	wanted := map[claimOfNight]bool{}
	for _, e := range c.events {
		for night := e.first; !night.After(e.last); night = night.AddDays(1) {
			if night.Before(today) {
				continue
			}
			if _, known := planned[night]; !known {
				taken.Unplanned++
				continue
			}
			wanted[claimOfNight{night, e.uid}] = true
		}
	}
	return wanted, taken
}

// settle says which nights are to be closed, true, and to be opened, and notes in the ledger whether those that are
// newly closed are to open again.
func (l ledger) settle(wanted map[claimOfNight]bool, closed map[civil.Date]bool) map[civil.Date]bool {
	changes := map[civil.Date]bool{}
	for claim := range wanted {
		if _, known := l.opens[claim.night]; !known {
			l.opens[claim.night] = !closed[claim.night]
		}
		if !closed[claim.night] {
			changes[claim.night] = true
		}
	}
	left := map[civil.Date]int{}
	for night, n := range l.claims {
		left[night] = n
	}
	for claim := range l.own {
		left[claim.night]--
	}
	for claim := range wanted {
		left[claim.night]++
	}
	for claim := range l.own {
		if left[claim.night] == 0 && l.opens[claim.night] && closed[claim.night] {
			changes[claim.night] = false
		}
	}
	return changes
}

// keepTx writes the ledger anew where it differs.
func (c calendarImport) keepTx(ctx context.Context, tx pgx.Tx, today civil.Date, kept ledger, wanted map[claimOfNight]bool) error {
	queries, tenant, region := dbsqlc.New(tx), c.hotel.tenant.UUID, string(c.room.Region)
	gone := dbsqlc.CalendarNightsRemoveParams{TenantID: tenant, Region: region, RoomTypeID: c.room.UUID, Calendar: c.name}
	for claim := range kept.own {
		if !wanted[claim] {
			gone.Nights, gone.Uids = append(gone.Nights, claim.night), append(gone.Uids, claim.uid)
		}
	}
	fresh := dbsqlc.CalendarNightsInsertParams{TenantID: tenant, Region: region, RoomTypeID: c.room.UUID, Calendar: c.name}
	for claim := range wanted {
		if !kept.own[claim] {
			fresh.Nights, fresh.Uids = append(fresh.Nights, claim.night), append(fresh.Uids, claim.uid)
			fresh.Opens = append(fresh.Opens, kept.opens[claim.night])
		}
	}
	if len(gone.Nights) > 0 {
		if _, err := queries.CalendarNightsRemove(ctx, gone); err != nil {
			return fmt.Errorf("remove what a calendar closed: %w", err)
		}
	}
	if len(fresh.Nights) > 0 {
		if _, err := queries.CalendarNightsInsert(ctx, fresh); err != nil {
			return fmt.Errorf("store what a calendar closes: %w", err)
		}
	}
	if _, err := queries.CalendarNightsForget(ctx, dbsqlc.CalendarNightsForgetParams{TenantID: tenant, Region: region, RoomTypeID: c.room.UUID, FirstNight: today}); err != nil {
		return fmt.Errorf("forget what calendars closed in the past: %w", err)
	}
	return nil
}
