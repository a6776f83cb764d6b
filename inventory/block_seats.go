package inventory

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// SeatSelection names seats of a show: by their ids, as whole rows, as whole zones of the hall. A seat
// that is named twice counts once.
type SeatSelection struct {
	Seats []SeatID
	Rows  []ZoneRow
	// Zones are names of zones, which halls call sections, blocks or tiers.
	Zones []string
}

// ZoneRow is a row of a zone by its label. Rows of the zone with the same label belong to it, too.
type ZoneRow struct {
	Zone string
	Row  string
}

// selected is a selection's seats, in ascending order.
type selected struct {
	seats []uuid.UUID
	// fields says where the selection names a seat by its id.
	fields map[uuid.UUID]string
}

// resolve turns a selection into seats. What it names must be in the hall; whether the show has a seat
// that is named by its id is known when it is locked.
func (s *Service) resolve(ctx context.Context, at place, show ShowID, selection SeatSelection) (selected, error) {
	result := selected{fields: map[uuid.UUID]string{}}
	if err := selection.validate(show); err != nil {
		return result, err
	}
	for i, seat := range selection.Seats {
		if _, twice := result.fields[seat.UUID]; !twice {
			result.fields[seat.UUID] = fmt.Sprintf("seats.seats[%d]", i)
		}
		result.seats = append(result.seats, seat.UUID)
	}
	if len(selection.Rows)+len(selection.Zones) > 0 {
		chart, err := s.chartOfShow(ctx, at, show)
		if err != nil {
			return result, err
		}
		named, err := selection.inChart(chart)
		if err != nil {
			return result, err
		}
		result.seats = append(result.seats, named...)
	}
	slices.SortFunc(result.seats, compareUUID)
	result.seats = slices.Compact(result.seats)
	if len(result.seats) > maxSeatsPerEdit {
		return result, fault.Invalid("seats", "expected at most %d seats at a time, got %d; name fewer zones or rows", maxSeatsPerEdit, len(result.seats))
	}
	return result, nil
}

func (n SeatSelection) validate(show ShowID) error {
	switch {
	case len(n.Seats)+len(n.Rows)+len(n.Zones) == 0:
		return fault.Invalid("seats", "expected at least one seat, row or zone")
	case len(n.Seats) > maxSeatsPerEdit:
		return fault.Invalid("seats.seats", "expected at most %d, got %d; name whole rows or zones", maxSeatsPerEdit, len(n.Seats))
	case len(n.Rows) > maxNamesPerEdit:
		return fault.Invalid("seats.rows", "expected at most %d, got %d; name whole zones", maxNamesPerEdit, len(n.Rows))
	case len(n.Zones) > maxNamesPerEdit:
		return fault.Invalid("seats.zones", "expected at most %d, got %d", maxNamesPerEdit, len(n.Zones))
	}
	for i, seat := range n.Seats {
		if seat.Region != show.Region {
			return fault.Invalid(fmt.Sprintf("seats.seats[%d]", i), "the seat is of another region than its show")
		}
	}
	return nil
}

// chartOfShow reads the hall of a show.
func (s *Service) chartOfShow(ctx context.Context, at place, show ShowID) (*charts.Chart, error) {
	queries := dbsqlc.New(s.db.Pool())
	row, err := queries.ShowChart(ctx, dbsqlc.ShowChartParams{TenantID: at.tenant, Region: string(at.region), ID: show.UUID})
	switch {
	case db.IsNoRows(err):
		return nil, fault.NotFound("show")
	case err != nil:
		return nil, db.Classify(fmt.Errorf("read the show of a block: %w", err))
	case row.ChartID == nil:
		return nil, fault.Invalid("seats", "the show has no seats")
	}
	chart, err := queries.ChartGet(ctx, dbsqlc.ChartGetParams{TenantID: at.tenant, Region: string(at.region), ID: *row.ChartID})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read the hall of a block: %w", err))
	}
	return decodeChart(chart.Geometry)
}

// inChart finds the seats of rows and zones.
func (n SeatSelection) inChart(chart *charts.Chart) ([]uuid.UUID, error) {
	var seats []uuid.UUID
	zones := map[string]bool{}
	rows := map[ZoneRow]bool{}
	for z := range chart.Zones {
		zone := &chart.Zones[z]
		zones[zone.Name] = true
		whole := slices.Contains(n.Zones, zone.Name)
		for r := range zone.Rows {
			row := &zone.Rows[r]
			key := ZoneRow{Zone: zone.Name, Row: row.Label}
			rows[key] = true
			if !whole && !slices.Contains(n.Rows, key) {
				continue
			}
			for i := range row.Seats {
				seats = append(seats, row.Seats[i].ID)
			}
		}
	}
	for i, zone := range n.Zones {
		if !zones[zone] {
			return nil, fault.Invalid(fmt.Sprintf("seats.zones[%d]", i), "the hall has no zone %.50q", zone)
		}
	}
	for i, row := range n.Rows {
		field := fmt.Sprintf("seats.rows[%d]", i)
		if !zones[row.Zone] {
			return nil, fault.Invalid(field+".zone", "the hall has no zone %.50q", row.Zone)
		}
		if !rows[row] {
			return nil, fault.Invalid(field+".row", "the zone %.50q has no row %.50q", row.Zone, row.Row)
		}
	}
	if len(seats) == 0 {
		return nil, fault.Invalid("seats", "no seat is in the named rows and zones")
	}
	return seats, nil
}
