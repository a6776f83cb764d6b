package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// FanOut makes the deliveries of an event: one for each enabled endpoint that wants it and is no
// younger, each with its job. Doing it again changes nothing.
func (s *Service) FanOut(ctx context.Context, tenant tenants.TenantID, id EventID) error {
	lag, err := db.Replayable(ctx, s.db, "events.FanOut", func(ctx context.Context, tx pgx.Tx) (time.Duration, error) {
		queries := dbsqlc.New(tx)
		row, err := queries.EventLock(ctx, dbsqlc.EventLockParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
		if err != nil && !db.IsNoRows(err) {
			return 0, fmt.Errorf("lock the event %s: %w", id, err)
		}
		if err != nil || row.FanOutDueAt == nil {
			return -1, nil // It is done, or gone.
		}
		now, err := clock(ctx, queries)
		if err != nil {
			return 0, err
		}
		event := eventOf(tenant, dbsqlc.EventGetManyRow{
			Region: row.Region, ID: row.ID, ChannelID: row.ChannelID, EntityKind: row.EntityKind, EntityID: row.EntityID,
			Version: row.Version, Type: row.Type, OccurredAt: row.OccurredAt,
		})
		wanted, err := audience(ctx, queries, event)
		if err != nil {
			return 0, err
		}
		if err := s.openTx(ctx, tx, tenant, id, wanted, now); err != nil {
			return 0, err
		}
		if err := queries.EventUpdateFannedOut(ctx, dbsqlc.EventUpdateFannedOutParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID}); err != nil {
			return 0, fmt.Errorf("note that the event %s was fanned out: %w", id, err)
		}
		return max(now.Sub(event.OccurredAt), 0), nil
	})
	if err == nil && lag >= 0 {
		s.metrics.fanOut.Observe(lag.Seconds())
	}
	return err
}

// audience is the endpoints that are told of an event.
func audience(ctx context.Context, queries *dbsqlc.Queries, event Event) ([]EndpointID, error) {
	rows, err := queries.EndpointsEnabled(ctx, dbsqlc.EndpointsEnabledParams{TenantID: event.Tenant.UUID, ChannelID: orNull(event.Channel)})
	if err != nil {
		return nil, fmt.Errorf("list the endpoints for the event %s: %w", event.ID, err)
	}
	var wanted []EndpointID
	for _, row := range rows {
		endpoint := Endpoint{ID: EndpointID{UUID: row.ID}, Channel: channelOf(row.ChannelID), Types: typesOf(row.EventTypes), CreatedAt: row.CreatedAt}
		if endpoint.takes(event) && !event.OccurredAt.Before(endpoint.CreatedAt) {
			wanted = append(wanted, endpoint.ID)
		}
	}
	return wanted, nil
}

// openTx makes the deliveries of an event that are not there yet, and their jobs.
func (s *Service) openTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, event EventID, endpoints []EndpointID, now time.Time) error {
	if len(endpoints) == 0 {
		return nil
	}
	params := dbsqlc.DeliveriesInsertParams{TenantID: tenant.UUID, Region: string(event.Region), EventID: event.UUID, Now: now}
	for _, endpoint := range endpoints {
		params.Ids = append(params.Ids, uuid.New())
		params.EndpointIds = append(params.EndpointIds, endpoint.UUID)
	}
	made, err := dbsqlc.New(tx).DeliveriesInsert(ctx, params)
	if err != nil {
		return fmt.Errorf("store the deliveries of the event %s: %w", event, err)
	}
	if len(made) == 0 {
		return nil
	}
	opened := make([]Lane, len(made))
	for i, endpoint := range made {
		opened[i] = Lane{Tenant: tenant, Region: event.Region, Endpoint: EndpointID{UUID: endpoint}}
	}
	return s.jobs.EnqueueDeliveriesTx(ctx, tx, opened...)
}

// FanOutDue fans out events whose job was lost, at most limit, the oldest first, and says how many it
// found. It may run in several processes at once.
func (s *Service) FanOutDue(ctx context.Context, limit int) (int, error) {
	queries := dbsqlc.New(s.db.Pool())
	tenantIDs, regions, err := s.places(ctx, queries)
	if err != nil {
		return 0, db.Classify(err)
	}
	now, err := clock(ctx, queries)
	if err != nil {
		return 0, db.Classify(err)
	}
	rows, err := queries.EventsToFanOut(ctx, dbsqlc.EventsToFanOutParams{TenantIds: tenantIDs, Regions: regions, Now: now, MaxEvents: int64(limit)})
	if err != nil {
		return 0, db.Classify(fmt.Errorf("list the events that wait: %w", err))
	}
	var failures []error
	for _, row := range rows {
		if ctx.Err() != nil {
			break
		}
		id := EventID{Region: ids.Region(row.Region), UUID: row.ID}
		failures = append(failures, s.FanOut(ctx, tenants.TenantID{UUID: row.TenantID}, id))
	}
	return len(rows), errors.Join(append(failures, ctx.Err())...)
}

// places are the tenants and regions in which something may happen.
func (s *Service) places(ctx context.Context, queries *dbsqlc.Queries) ([]uuid.UUID, []string, error) {
	rows, err := queries.EventPlaces(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list where events occur: %w", err)
	}
	tenantIDs, regions := make([]uuid.UUID, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		tenantIDs[i], regions[i] = row.TenantID, row.Region
	}
	return tenantIDs, regions, nil
}
