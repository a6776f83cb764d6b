package events

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Replayed says what a replay opened again.
type Replayed struct {
	Endpoint Endpoint
	// Events is how many are sent again.
	Events int
	// ContinueFrom is where the next replay of the same time begins; nil when all of it was opened.
	ContinueFrom *time.Time
}

// Replay sends events to an endpoint again, or for the first time, whatever became of them before: up
// to MaxReplayedByID of one region, each with all its tries before it. The types that the endpoint
// subscribes to do not matter; its channel does.
func (s *Service) Replay(ctx context.Context, actor tenants.Actor, requestKey string, id EndpointID, events []EventID) (Replayed, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEventReplay, actor.Tenant); err != nil {
		return Replayed{}, err
	}
	if n := len(events); n < 1 || n > MaxReplayedByID {
		return Replayed{}, fault.Invalid("events", "expected 1 to %d events, got %d", MaxReplayedByID, n)
	}
	region, seen := events[0].Region, map[EventID]bool{}
	var wanted []uuid.UUID
	for i, event := range events {
		if event.Region != region {
			return Replayed{}, fault.Invalid(fmt.Sprintf("events[%d]", i), "a replay lies in one region, which is %q by its first event", region)
		}
		if !seen[event] {
			wanted = append(wanted, event.UUID)
		}
		seen[event] = true
	}
	type content struct {
		Endpoint EndpointID
		Events   []EventID
	}
	command, err := newCommand("replayEvents", actor, region, requestKey, content{id, events})
	if err != nil {
		return Replayed{}, err
	}
	return s.replay(ctx, actor, command, id, region, func(ctx context.Context, queries *dbsqlc.Queries, endpoint Endpoint) (Replayed, []uuid.UUID, error) {
		rows, err := queries.EventGetMany(ctx, dbsqlc.EventGetManyParams{TenantID: actor.Tenant.UUID, Region: string(region), Ids: wanted})
		if err != nil {
			return Replayed{}, nil, fmt.Errorf("read the events to replay: %w", err)
		}
		endpoint.Types = nil
		for _, row := range rows {
			if !endpoint.takes(eventOf(actor.Tenant, row)) {
				return Replayed{}, nil, fault.NotFound("event for this endpoint")
			}
		}
		if len(rows) != len(wanted) {
			return Replayed{}, nil, fault.NotFound("event for this endpoint")
		}
		return Replayed{Events: len(wanted)}, wanted, nil
	})
}

// ReplayBetween sends to an endpoint again what it subscribes to and what happened in a region from
// one moment up to, but not at, another: at most MaxReplayed events of at most MaxReplaySpan. Where
// there were more, it says from when to go on.
func (s *Service) ReplayBetween(ctx context.Context, actor tenants.Actor, requestKey string, id EndpointID, region ids.Region, from, to time.Time) (Replayed, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEventReplay, actor.Tenant); err != nil {
		return Replayed{}, err
	}
	switch {
	case !from.Before(to):
		return Replayed{}, fault.Invalid("to", "expected a moment after from")
	case to.Sub(from) > MaxReplaySpan:
		return Replayed{}, fault.Invalid("to", "expected a moment at most %d days after from", int(MaxReplaySpan.Hours())/24)
	}
	type content struct {
		Endpoint EndpointID
		Region   ids.Region
		From, To time.Time
	}
	command, err := newCommand("replayEventsBetween", actor, region, requestKey, content{id, region, from.UTC(), to.UTC()})
	if err != nil {
		return Replayed{}, err
	}
	return s.replay(ctx, actor, command, id, region, func(ctx context.Context, queries *dbsqlc.Queries, endpoint Endpoint) (Replayed, []uuid.UUID, error) {
		return between(ctx, queries, endpoint, region, from, to)
	})
}

// between chooses what an endpoint is told of. Events never change, so a repeated call chooses the
// same.
func between(ctx context.Context, queries *dbsqlc.Queries, endpoint Endpoint, region ids.Region, from, to time.Time) (Replayed, []uuid.UUID, error) {
	var channel *tenants.ChannelID
	if !endpoint.Channel.IsZero() {
		channel = &endpoint.Channel
	}
	// Before the first moment is after the last id of the moment before it: the database keeps
	// microseconds.
	after := EventCursor{OccurredAt: from.Add(-time.Microsecond), ID: uuid.Max}
	found, err := page(ctx, queries, endpoint.Tenant, region, channel, after, to, MaxReplayed+1)
	if err != nil {
		return Replayed{}, nil, err
	}
	var result Replayed
	if len(found) > MaxReplayed {
		next := found[MaxReplayed].OccurredAt
		result.ContinueFrom, found = &next, found[:MaxReplayed]
	}
	var chosen []uuid.UUID
	for _, event := range found {
		if endpoint.takes(event) {
			chosen = append(chosen, event.ID.UUID)
		}
	}
	result.Events = len(chosen)
	return result, chosen, nil
}

// replay opens the deliveries of chosen events again, with one job that sends them.
func (s *Service) replay(ctx context.Context, actor tenants.Actor, command command, id EndpointID, region ids.Region,
	choose func(ctx context.Context, queries *dbsqlc.Queries, endpoint Endpoint) (Replayed, []uuid.UUID, error),
) (Replayed, error) {
	return db.Replayable(ctx, s.db, "events.Replay", func(ctx context.Context, tx pgx.Tx) (Replayed, error) {
		queries := dbsqlc.New(tx)
		_, replayed, err := command.claimTx(ctx, tx, id.UUID)
		if err != nil {
			return Replayed{}, err
		}
		row, now, err := endpointRow(ctx, queries, actor.Tenant, id)
		if err != nil {
			return Replayed{}, err
		}
		endpoint, err := mine(actor, endpointOf(row, now))
		if err != nil {
			return Replayed{}, err
		}
		if endpoint.State != EndpointStateEnabled && !replayed {
			return Replayed{}, fault.Conflict("the webhook endpoint is disabled: enable it first")
		}
		result, events, err := choose(ctx, queries, endpoint)
		result.Endpoint = endpoint
		if err != nil || replayed || len(events) == 0 {
			return result, err
		}
		if err := s.reopenTx(ctx, tx, Lane{Tenant: actor.Tenant, Region: region, Endpoint: id}, events, now); err != nil {
			return Replayed{}, err
		}
		return result, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionEventReplay, Resource: id, After: map[string]any{"region": region, "events": len(events)},
		})
	})
}

func (s *Service) reopenTx(ctx context.Context, tx pgx.Tx, lane Lane, events []uuid.UUID, now time.Time) error {
	params := dbsqlc.DeliveriesReopenParams{TenantID: lane.Tenant.UUID, Region: string(lane.Region), EndpointID: lane.Endpoint.UUID, Now: now, EventIds: events}
	for range events {
		params.Ids = append(params.Ids, uuid.New())
	}
	if _, err := dbsqlc.New(tx).DeliveriesReopen(ctx, params); err != nil {
		return fmt.Errorf("open deliveries to %s again: %w", lane.Endpoint, err)
	}
	return s.jobs.EnqueueDeliveriesTx(ctx, tx, lane)
}
