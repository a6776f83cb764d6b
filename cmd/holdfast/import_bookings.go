package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

type importBookingsCommand struct {
	File       string `arg:"" help:"A CSV file of hotel bookings, also compressed by gzip."`
	TenantSlug string `default:"booking-history" help:"The tenant to import into; it is made when it is not there."`
	Again      bool   `help:"Go on with a tenant that has bookings already: rows that are booked are not booked twice."`
	Limit      int    `placeholder:"ROWS" help:"Import the first rows only; 0 is all."`
	Oversell   int64  `placeholder:"PERCENT" help:"How many percent more rooms are sold than there are, 0 to 500."`
	Workers    int    `default:"8" help:"How many bookings are under way at once, 1 to 64."`
	ThrowAway  bool   `help:"Import into a database of its own that is deleted afterwards: to try a file out, and faster."`
	JSON       bool   `name:"json" help:"Print one JSON object."`
}

// Help is what --help says beyond the flags.
func (importBookingsCommand) Help() string {
	return `The file is a CSV of hotel bookings as in the public "Hotel booking demand" data.
It needs a header row with these columns, in any order, and may have others:

` + strings.Join(historyColumnHelp(), "\n") + `

Every row is held, paid and booked by the code that serves the API; a cancelled
one is cancelled on its day and a no-show marked on its arrival. What happens to a
night happens in the order of the history.

The product sells no night of the past, so all dates are moved forward by the
smallest number of whole weeks that puts the first arrival after today. The file
does not tell how many rooms there are: per room type it is taken to be the most
that were occupied at once by guests who stayed, so what the hotels had sold beyond
that is refused as sold out; --oversell allows it.

An import that was interrupted goes on when it is run again with --again.`
}

const (
	historyTenantName = "Booking history"
	historyKeyName    = "Booking history import"
	historyRegion     = ids.Region("eu")
	historyZone       = "Europe/Lisbon"
	historyCurrency   = "EUR"
	historyCountry    = "PT"

	maxWorkers  = 64
	maxOversell = 500
)

func (c *importBookingsCommand) validate() error {
	switch {
	case c.Limit < 0:
		return fmt.Errorf("--limit: expected 0 or more, got %d", c.Limit)
	case c.Oversell < 0 || c.Oversell > maxOversell:
		return fmt.Errorf("--oversell: expected 0 to %d, got %d", maxOversell, c.Oversell)
	case c.Workers < 1 || c.Workers > maxWorkers:
		return fmt.Errorf("--workers: expected 1 to %d, got %d", maxWorkers, c.Workers)
	}
	return nil
}

// Run reads the file, replays it, and prints what became of it.
func (c *importBookingsCommand) Run(ctx context.Context, root *cli) error {
	if err := c.validate(); err != nil {
		return err
	}
	content, digest, err := readImport(c.File)
	if err != nil {
		return err
	}
	h, err := parseHistory(c.File, content, digest)
	if err != nil {
		return err
	}
	if c.ThrowAway {
		temporary := *root
		temporary.DatabaseURL, temporary.DataDir = "", ""
		root = &temporary
	}
	return root.withApp(ctx, func(ctx context.Context, a *app) error {
		report, err := a.importBookings(ctx, *c, h, os.Stderr)
		if report == nil {
			return err
		}
		if c.JSON {
			if encodeErr := json.NewEncoder(os.Stdout).Encode(report); encodeErr != nil {
				return errors.Join(err, fmt.Errorf("print the report: %w", encodeErr))
			}
		} else {
			report.print(os.Stdout)
		}
		if err == nil && !report.OK {
			return errAudit
		}
		return err
	})
}

// importBookings replays a history. The report is nil when the import could not begin; when it was
// interrupted the report says how far it came, and the error why.
func (a *app) importBookings(ctx context.Context, c importBookingsCommand, h history, progress io.Writer) (*historyReport, error) {
	if len(h.rows) == 0 {
		return nil, fmt.Errorf("%s: no row can be read%s", c.File, firstProblem(h))
	}
	// Stock, prices and dates come from the whole file, so that they do not depend on a limit.
	stock := stockOf(h.rows)
	h = h.limited(c.Limit)
	var report *historyReport
	err := a.asOperator(ctx, historyKeyName, func(ctx context.Context, operator tenants.Actor) error {
		setup, err := a.historySetup(ctx, operator, c, h, stock.first)
		if err != nil {
			return err
		}
		if err := setup.sell(ctx, stock, c.Oversell); err != nil {
			return fmt.Errorf("set up the hotels of the history: %w", err)
		}
		if setup.shiftDays > 0 {
			fmt.Fprintf(progress, "The history begins on %s; every date is moved forward by %d weeks, to %s.\n",
				stock.first, setup.shiftDays/7, stock.first.AddDays(setup.shiftDays))
		}
		replay := newReplay(setup, h)
		started := time.Now()
		err = replay.run(ctx, c.Workers, progress)
		report = replay.report(c, stock, time.Since(started))
		if err != nil {
			return fmt.Errorf("the import is not complete; run it again with --again to go on: %w", err)
		}
		audit, err := a.bookings.Audit(ctx, &setup.tenant.ID)
		if err != nil {
			return err
		}
		report.Audit, report.OK = &audit, audit.OK
		return nil
	})
	return report, err
}

// firstProblem says why no row can be read.
func firstProblem(h history) string {
	if len(h.malformed) == 0 {
		return ": there is none"
	}
	return fmt.Sprintf("; line %d: %s", h.malformed[0].line, h.malformed[0].reason)
}

// historySetup is where a history is imported to.
type historySetup struct {
	app    *app
	tenant tenants.Tenant
	// adminKey is told only when the tenant was made just now.
	adminKey string
	// actor is the import's own key, which sells at the box office.
	actor     tenants.Actor
	shiftDays int
	rooms     map[historyRoom]inventory.RoomTypeID
	// earlier are the bookings of an earlier, interrupted import of the same file, by row.
	earlier map[int]earlierBooking
}

// historySetup finds or makes the tenant and the import's own key, and what an earlier import of
// the same rows left. first is the first night of the history.
func (a *app) historySetup(ctx context.Context, operator tenants.Actor, c importBookingsCommand, h history, first civil.Date) (historySetup, error) {
	s := historySetup{app: a}
	if err := s.findTenant(ctx, operator, c.TenantSlug); err != nil {
		return s, err
	}
	if err := s.findKey(ctx, operator); err != nil {
		return s, err
	}
	if s.adminKey == "" {
		if err := s.findEarlier(ctx, c, h); err != nil {
			return s, err
		}
	}
	if len(s.earlier) > 0 {
		return s, nil // The dates of an import that goes on were moved when it began.
	}
	now, err := inventory.Now(ctx, a.store.db.Pool())
	if err != nil {
		return s, err
	}
	zone, err := time.LoadLocation(historyZone)
	if err != nil {
		return s, fmt.Errorf("the time zone of the hotels: %w", err)
	}
	s.shiftDays = shiftDaysOf(first, dateIn(now, zone))
	return s, nil
}

func (s *historySetup) findTenant(ctx context.Context, operator tenants.Actor, slug string) error {
	all, err := s.app.allTenants(ctx, operator)
	if err != nil {
		return err
	}
	for _, tenant := range all {
		if tenant.Slug != slug {
			continue
		}
		if tenant.PaymentProvider != offlineProvider {
			return fmt.Errorf("--tenant-slug: the tenant %q takes payments through %q; a history is imported into one with the provider %q", slug, tenant.PaymentProvider, offlineProvider)
		}
		s.tenant = tenant
		return nil
	}
	created, err := s.app.tenants.CreateTenant(ctx, operator, "import-bookings/"+slug, tenants.NewTenant{
		Name: historyTenantName, Slug: slug, HomeRegion: historyRegion, PaymentProvider: offlineProvider,
	})
	s.tenant, s.adminKey = created.Tenant, created.Secret
	return err
}

// findKey takes the same key for every import into a tenant, because requests are told apart by the
// key that makes them.
func (s *historySetup) findKey(ctx context.Context, operator tenants.Actor) error {
	keys, err := s.app.allKeys(ctx, operator, s.tenant.ID)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if key.Name == historyKeyName && key.Type == tenants.KeyTypeAdmin && key.RevokedAt == nil {
			s.actor = actorOf(key)
			return nil
		}
	}
	boxOffice, err := boxOfficeOf(keys)
	if err != nil {
		return err
	}
	created, err := s.app.tenants.CreateKey(ctx, operator, "import-bookings", tenants.NewKey{
		Tenant: s.tenant.ID, Type: tenants.KeyTypeAdmin, Mode: tenants.ModeLive, Name: historyKeyName, Channel: boxOffice,
	})
	s.actor = actorOf(created.Key)
	return err
}

// sell puts every room type of the history on sale. It may run again.
func (s *historySetup) sell(ctx context.Context, stock historyStock, oversellPercent int64) error {
	// A stay may be as long as the product allows at all, and nobody is in a hurry.
	nights, window, longest := int64(366), int64(3_600), int64(7_200)
	if _, err := s.app.inventory.SetTerms(ctx, s.actor, inventory.TermsScope{}, inventory.TermsChange{
		MaxNightsPerStay: &nights, HoldSeconds: &window, MaxHoldSeconds: &longest, ProcessingSeconds: &window, GraceSeconds: &window,
	}); err != nil {
		return err
	}
	properties := map[string]tenants.PropertyID{}
	s.rooms = map[historyRoom]inventory.RoomTypeID{}
	for _, room := range stock.roomsInOrder() {
		property, ok := properties[room.hotel]
		if !ok {
			made, err := s.app.tenants.CreateProperty(ctx, s.actor, "import-bookings/"+room.hotel, tenants.NewProperty{
				Region: historyRegion,
				Site:   tenants.Site{Name: room.hotel, TimeZone: historyZone, Currency: historyCurrency, Country: historyCountry, City: cityOf(room.hotel)},
			})
			if err != nil {
				return err
			}
			property = made.ID
			properties[room.hotel] = property
		}
		id, err := s.app.inventory.CreateRoomType(ctx, s.actor, "import-bookings/"+room.hotel+"/"+room.roomType, inventory.NewRoomType{
			Property: property, Name: "Room type " + room.roomType, MaxGuests: 4,
		})
		if err != nil {
			return err
		}
		s.rooms[room] = id
		oversell := (stock.rooms[room].physical*oversellPercent + 99) / 100
		changes := stock.nights(room, s.shiftDays, oversell)
		for start := 0; start < len(changes); start += inventory.MaxNightsPerEdit {
			part := changes[start:min(len(changes), start+inventory.MaxNightsPerEdit)]
			if _, err := s.app.inventory.WriteNights(ctx, s.actor, id, part); err != nil {
				return fmt.Errorf("%s, room type %s: %w", room.hotel, room.roomType, err)
			}
		}
	}
	return nil
}

// cityOf is where the two hotels of the history are.
func cityOf(hotel string) string {
	if hotel == historyResortHotel {
		return "Algarve"
	}
	return "Lisbon"
}
