package trade

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade/internal/dbsqlc"
)

// fileHeader are the columns of an exported file, all of which an import takes.
func fileHeader() []string {
	return []string{
		columnNight, "physical", "out_of_order", "oversell", "oversell_percent", columnRate, "stop_sell", "closed_to_arrival", "closed_to_departure",
		"min_stay_arrival", "max_stay_arrival", "min_stay_through", "max_stay_through",
	}
}

// roomAt finds a room type where the actor may act.
func (s *Service) roomAt(ctx context.Context, actor tenants.Actor, action tenants.Action, id inventory.RoomTypeID) (tenants.PropertyID, error) {
	if err := inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, action, "room type", id.Region, id.UUID); err != nil {
		return tenants.PropertyID{}, err
	}
	row, err := dbsqlc.New(s.db.Pool()).RoomTypeHotel(ctx, dbsqlc.RoomTypeHotelParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID})
	switch {
	case db.IsNoRows(err):
		return tenants.PropertyID{}, fault.NotFound("room type")
	case err != nil:
		return tenants.PropertyID{}, db.Classify(fmt.Errorf("read the room type: %w", err))
	}
	return tenants.PropertyID{Region: ids.Region(id.Region), UUID: row.PropertyID}, nil
}

// ExportNights writes the nights of a room type from first to last, both included, as a CSV file that ImportNights
// takes and that changes nothing.
func (s *Service) ExportNights(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, first, last civil.Date) ([]byte, error) {
	property, err := s.roomAt(ctx, actor, policies.ActionTradeRead, roomType)
	if err != nil {
		return nil, err
	}
	if err := checkRange(first, last); err != nil {
		return nil, err
	}
	x, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (exported, error) {
		h, err := hotelTx(ctx, tx, actor.Tenant, property)
		if err != nil {
			return exported{}, err
		}
		nights, err := inventory.PlannedNightsTx(ctx, tx, actor.Tenant, property, []inventory.RoomTypeID{roomType}, first, last)
		return exported{h, nights}, err
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	table := [][]string{fileHeader()}
	for _, night := range x.nights {
		table = append(table, fileLine(night, x.hotel.currency))
	}
	if err := csv.NewWriter(&out).WriteAll(table); err != nil {
		return nil, fmt.Errorf("write a file of nights: %w", err)
	}
	return out.Bytes(), nil
}

func fileLine(n inventory.PlannedNight, currency money.Currency) []string {
	number := func(value int64) string { return strconv.FormatInt(value, 10) }
	oversell, percent, rate := number(n.Oversell), "", ""
	if n.OversellPercent != nil {
		oversell, percent = "", number(*n.OversellPercent)
	}
	if n.RateMinor != nil {
		rate = decimal(*n.RateMinor, currency)
	}
	return []string{
		n.Night.String(), number(n.Physical), number(n.OutOfOrder), oversell, percent, rate,
		strconv.FormatBool(n.StopSell), strconv.FormatBool(n.ClosedToArrival), strconv.FormatBool(n.ClosedToDeparture),
		number(rule(n.MinStayArrival)), number(rule(n.MaxStayArrival)), number(rule(n.MinStayThrough)), number(rule(n.MaxStayThrough)),
	}
}

// ImportNights writes a CSV file of up to MaxNights nights of a room type, all or none. Its error names the lines.
func (s *Service) ImportNights(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, content []byte) (inventory.NightsSet, error) {
	property, err := s.roomAt(ctx, actor, policies.ActionTradeImport, roomType)
	if err != nil {
		return inventory.NightsSet{}, err
	}
	h, err := hotelTx(ctx, s.db.Pool(), actor.Tenant, property)
	if err != nil {
		return inventory.NightsSet{}, db.Classify(err)
	}
	if len(content) > MaxBytes {
		return inventory.NightsSet{}, fault.Invalid("nights", "expected a file of at most %d bytes; send it in parts", MaxBytes)
	}
	var found []string
	lines := ReadNights(content, h.currency, func(line int, column, format string, args ...any) {
		where := fmt.Sprintf("line %d", line)
		if column != "" {
			where += ", column " + column
		}
		if len(found) < maxErrors {
			found = append(found, where+": "+fmt.Sprintf(format, args...))
		}
	})
	if len(found) == 0 && len(lines) > MaxNights {
		found = append(found, fmt.Sprintf("line %d: expected at most %d nights; send the file in parts", lines[MaxNights].Line, MaxNights))
	}
	if len(found) > 0 {
		return inventory.NightsSet{}, fault.Invalid("nights", "%s", strings.Join(found, "\n"))
	}
	feed := inventory.Feed{RoomType: roomType}
	for _, line := range lines {
		feed.Nights = append(feed.Nights, inventory.FedNight{DatedChange: line.Change})
	}
	set, err := db.Replayable(ctx, s.db, "trade.ImportNights", func(ctx context.Context, tx pgx.Tx) (inventory.NightsSet, error) {
		return inventory.FeedTx(ctx, tx, actor, property, []inventory.Feed{feed})
	})
	if err != nil {
		return inventory.NightsSet{}, onLine(err, lines)
	}
	s.inventory.NoteFed(ctx, set)
	return set, nil
}

// onLine says on which line a night stands that the database refuses.
func onLine(err error, lines []NightLine) error {
	var invalid *fault.Error
	if !errors.As(err, &invalid) || invalid.Kind != fault.KindInvalid {
		return err
	}
	i := slices.IndexFunc(lines, func(l NightLine) bool {
		return strings.HasPrefix(invalid.Message, "night "+l.Change.Night.String()+":") || strings.HasPrefix(invalid.Message, "night "+l.Change.Night.String()+" ")
	})
	if i < 0 {
		return err
	}
	return fault.Invalid("nights", "line %d: %s: %s", lines[i].Line, invalid.Field, invalid.Message)
}
