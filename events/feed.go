package events

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// EventCursor is how far somebody has read the feed.
type EventCursor struct {
	OccurredAt time.Time
	ID         uuid.UUID
}

// Events lists what happened in a region, in order, at most limit after the cursor, and says whether
// more follow: for a partner the sales of its channel, for an admin everything.
//
// Events appear when they are Config.FeedHorizon old. From then on nothing is ever added before or
// between them, so that a reader who goes on from its last cursor misses nothing and gets nothing
// twice.
func (s *Service) Events(ctx context.Context, actor tenants.Actor, region ids.Region, after EventCursor, limit int) ([]Event, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEventRead, actor.Tenant); err != nil {
		return nil, false, err
	}
	if err := checkPage(limit); err != nil {
		return nil, false, err
	}
	channel, err := reach(actor)
	if err != nil {
		return nil, false, err
	}
	queries := dbsqlc.New(s.db.Pool())
	now, err := clock(ctx, queries)
	if err != nil {
		return nil, false, db.Classify(err)
	}
	rows, err := page(ctx, queries, actor.Tenant, region, channel, after, now.Add(-s.config.FeedHorizon), int64(limit)+1)
	if err != nil {
		return nil, false, db.Classify(err)
	}
	more := len(rows) > limit
	return rows[:min(limit, len(rows))], more, nil
}

// page reads events in order, of one channel or of all.
func page(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, region ids.Region, channel *tenants.ChannelID, after EventCursor, before time.Time, limit int64) ([]Event, error) {
	var found []Event
	if channel != nil {
		rows, err := queries.EventsOfChannelPage(ctx, dbsqlc.EventsOfChannelPageParams{
			TenantID: tenant.UUID, Region: string(region), ChannelID: channel.UUID, After: after.OccurredAt, AfterID: after.ID, Before: before, MaxRows: limit,
		})
		if err != nil {
			return nil, fmt.Errorf("list the events of a channel: %w", err)
		}
		for _, row := range rows {
			found = append(found, eventOf(tenant, dbsqlc.EventGetManyRow(row)))
		}
		return found, nil
	}
	rows, err := queries.EventsPage(ctx, dbsqlc.EventsPageParams{
		TenantID: tenant.UUID, Region: string(region), After: after.OccurredAt, AfterID: after.ID, Before: before, MaxRows: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("list the events: %w", err)
	}
	for _, row := range rows {
		found = append(found, eventOf(tenant, dbsqlc.EventGetManyRow(row)))
	}
	return found, nil
}

// Event is one event that the actor may be told of: a partner those of its channel's sales, an admin
// all.
func (s *Service) Event(ctx context.Context, actor tenants.Actor, id EventID) (Event, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEventRead, actor.Tenant); err != nil {
		return Event{}, err
	}
	channel, err := reach(actor)
	if err != nil {
		return Event{}, err
	}
	rows, err := dbsqlc.New(s.db.Pool()).EventGetMany(ctx, dbsqlc.EventGetManyParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), Ids: []uuid.UUID{id.UUID}})
	if err != nil {
		return Event{}, db.Classify(fmt.Errorf("read the event %s: %w", id, err))
	}
	if len(rows) == 0 {
		return Event{}, fault.NotFound("event")
	}
	event := eventOf(actor.Tenant, rows[0])
	if channel != nil && *channel != event.Channel {
		return Event{}, fault.NotFound("event")
	}
	return event, nil
}
