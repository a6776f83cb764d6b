package inventory

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// setAside is how many units a part sets aside: its size while it is open, whatever of it is sold.
func (p allotmentPart) setAside() int64 {
	if p.state != partOpen {
		return 0
	}
	return p.quantity
}

// noteMovesTx keeps, for the history of each night or pool, by how many units a version of the allotment
// sets aside more or less of it: one statement, whatever the number of nights. What was due for release and
// is released or cancelled now was everybody's since it was due, whoever carries it out, and when.
func (e *edit) noteMovesTx(ctx context.Context, tx pgx.Tx, version int64) error {
	params := dbsqlc.AllotmentMovesInsertParams{
		TenantID: e.at.tenant, Region: string(e.at.region), UnitID: e.allotment.unit(), AllotmentID: e.allotment.ID.UUID, Version: version,
	}
	for _, date := range e.touched() {
		part := e.parts[date]
		units := allotmentPart{state: part.state, quantity: part.quantity}.setAside() - part.before.setAside()
		if units == 0 {
			continue
		}
		byTime, at := part.before.due(e.now) && part.state != partOpen, e.now
		if byTime {
			at = *part.before.releaseAt
		}
		params.Nights = append(params.Nights, date)
		params.Units = append(params.Units, units)
		params.ByTimes = append(params.ByTimes, byTime)
		params.MovedAts = append(params.MovedAts, at)
	}
	if len(params.Nights) == 0 {
		return nil
	}
	if _, err := dbsqlc.New(tx).AllotmentMovesInsert(ctx, params); err != nil {
		return fmt.Errorf("keep what an allotment sets aside: %w", err)
	}
	return nil
}
