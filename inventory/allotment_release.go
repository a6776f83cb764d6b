package inventory

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// ReleaseDue gives the rest of allotments whose time has come to everybody, at most limit of them, each
// in a transaction of its own, and says how many. It is a job's work: for events and lists, never needed
// for a sale, because claims and readers look at the time themselves. Two at once share the work, and
// running it twice changes nothing.
func (s *Service) ReleaseDue(ctx context.Context, limit int) (int, error) {
	queries := dbsqlc.New(s.db.Pool())
	places, err := queries.SellingPlaces(ctx)
	if err != nil {
		return 0, db.Classify(fmt.Errorf("list where stock lives: %w", err))
	}
	now, err := Now(ctx, s.db.Pool())
	if err != nil {
		return 0, db.Classify(err)
	}
	params := dbsqlc.AllotmentsDueParams{Now: now, MaxAllotments: int32(min(limit, 10_000))} //nolint:gosec // bounded here
	for _, p := range places {
		params.TenantIds = append(params.TenantIds, p.TenantID)
		params.Regions = append(params.Regions, p.Region)
	}
	due, err := queries.AllotmentsDue(ctx, params)
	if err != nil {
		return 0, db.Classify(fmt.Errorf("list allotments to release: %w", err))
	}
	released := 0
	var failures []error
	for _, row := range due {
		if ctx.Err() != nil {
			break
		}
		// One that cannot be released must not keep its neighbours.
		changed, err := s.releaseDue(ctx, place{tenant: row.TenantID, region: ids.Region(row.Region)}, row.AllotmentID)
		if err != nil {
			failures = append(failures, fmt.Errorf("release %s: %w", AllotmentID{Region: ids.Region(row.Region), UUID: row.AllotmentID}, err))
		}
		if changed {
			released++
		}
	}
	return released, errors.Join(failures...)
}

// releaseDue releases what is due of one allotment, and reports whether anything still was.
func (s *Service) releaseDue(ctx context.Context, at place, id uuid.UUID) (bool, error) {
	return db.Replayable(ctx, s.db, "inventory.ReleaseDue", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		e, err := lockAllotment(ctx, tx, at, AllotmentID{Region: at.region, UUID: id}, nil)
		if err != nil {
			return false, err
		}
		due := func(_ civil.Date, part *editedPart) bool {
			return part.releaseAt != nil && !e.now.Before(*part.releaseAt)
		}
		if !e.release(due) {
			return false, nil
		}
		return true, s.storeEditTx(ctx, tx, e, AllotmentActionReleased)
	})
}
