package events

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// EndpointChange is what UpdateEndpoint is told; nil leaves a part as it is.
type EndpointChange struct {
	URL         *string
	Description *string
	// Types are those that it is told of from now on; an empty list means all.
	Types   *[]Type
	Enabled *bool
}

// UpdateEndpoint says how an endpoint shall be. Saying it twice changes nothing. What happens while
// it is disabled, it is not told of later: see ReplayBetween.
func (s *Service) UpdateEndpoint(ctx context.Context, actor tenants.Actor, id EndpointID, change EndpointChange) (Endpoint, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEndpointManage, actor.Tenant); err != nil {
		return Endpoint{}, err
	}
	if change.URL != nil {
		if err := s.sender.Check(*change.URL); err != nil {
			return Endpoint{}, err
		}
	}
	if change.Description != nil {
		if err := checkDescription(*change.Description); err != nil {
			return Endpoint{}, err
		}
	}
	if change.Types != nil {
		types, err := checkTypes(*change.Types)
		if err != nil {
			return Endpoint{}, err
		}
		change.Types = &types
	}
	return db.Replayable(ctx, s.db, "events.UpdateEndpoint", func(ctx context.Context, tx pgx.Tx) (Endpoint, error) {
		row, now, err := lockEndpoint(ctx, tx, actor, id)
		if err != nil {
			return Endpoint{}, err
		}
		changed := row
		change.apply(&changed, now)
		if equal(row, changed) {
			return endpointOf(row, now), nil
		}
		after, err := storeEndpoint(ctx, tx, changed, now)
		if err != nil {
			return Endpoint{}, err
		}
		return after, auditTx(ctx, tx, actor, endpointOf(row, now), after)
	})
}

// auditTx logs a change of an endpoint. An Endpoint has no secret; one that was rotated shows by its
// version.
func auditTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, before any, after Endpoint) error {
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionEndpointManage, Resource: after.ID, Before: before, After: after})
}

func (c EndpointChange) apply(row *dbsqlc.WebhookEndpoint, now time.Time) {
	if c.URL != nil {
		row.Url = *c.URL
	}
	if c.Description != nil {
		row.Description = *c.Description
	}
	if c.Types != nil {
		row.EventTypes = typeTexts(*c.Types)
	}
	switch {
	case c.Enabled == nil || *c.Enabled == (EndpointState(row.State) == EndpointStateEnabled):
	case *c.Enabled:
		row.State, row.DisabledReason, row.DisabledAt = string(EndpointStateEnabled), nil, nil
	default:
		disable(row, now)
	}
}

func disable(row *dbsqlc.WebhookEndpoint, now time.Time) {
	reason := string(DisabledReasonRequested)
	row.State, row.DisabledReason, row.DisabledAt = string(EndpointStateDisabled), &reason, &now
}

func equal(a, b dbsqlc.WebhookEndpoint) bool {
	return a.Url == b.Url && a.Description == b.Description && slices.Equal(a.EventTypes, b.EventTypes) && a.State == b.State
}

// RotateSecret gives an endpoint a new secret. The one before signs beside it for SecretOverlap, so
// that a receiver can change over; one that was replaced earlier ends at once.
func (s *Service) RotateSecret(ctx context.Context, actor tenants.Actor, requestKey string, id EndpointID) (EndpointSecret, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEndpointManage, actor.Tenant); err != nil {
		return EndpointSecret{}, err
	}
	command, err := s.endpointCommand(ctx, actor, "rotateWebhookSecret", requestKey, id)
	if err != nil {
		return EndpointSecret{}, err
	}
	secret := newSecret()
	return db.Replayable(ctx, s.db, "events.RotateSecret", func(ctx context.Context, tx pgx.Tx) (EndpointSecret, error) {
		_, replayed, err := command.claimTx(ctx, tx, id.UUID)
		if err != nil {
			return EndpointSecret{}, err
		}
		row, now, err := lockEndpoint(ctx, tx, actor, id)
		if err != nil {
			return EndpointSecret{}, err
		}
		if replayed {
			return secretOf(ctx, dbsqlc.New(tx), actor.Tenant, id, secret)
		}
		before := endpointOf(row, now)
		until := now.Add(SecretOverlap)
		row.PreviousSecret, row.PreviousSecretUntil, row.Secret = row.Secret, &until, secret
		endpoint, err := storeEndpoint(ctx, tx, row, now)
		if err != nil {
			return EndpointSecret{}, err
		}
		return EndpointSecret{Endpoint: endpoint, Secret: secret}, auditTx(ctx, tx, actor, before, endpoint)
	})
}

// endpointCommand is a command about an endpoint and nothing else.
func (s *Service) endpointCommand(ctx context.Context, actor tenants.Actor, operation, requestKey string, id EndpointID) (command, error) {
	home, err := s.home(ctx, actor.Tenant)
	if err != nil {
		return command{}, err
	}
	return newCommand(operation, actor, home, requestKey, struct{ Endpoint string }{id.String()})
}

// DeleteEndpoint ends an endpoint for good; saying it twice changes nothing. Its secrets go at once.
// Deliveries that wait fail when they come due.
func (s *Service) DeleteEndpoint(ctx context.Context, actor tenants.Actor, id EndpointID) error {
	if err := s.authorizer.Authorize(actor, policies.ActionEndpointManage, actor.Tenant); err != nil {
		return err
	}
	_, err := db.Replayable(ctx, s.db, "events.DeleteEndpoint", func(ctx context.Context, tx pgx.Tx) (Endpoint, error) {
		row, now, err := lockAnyEndpoint(ctx, tx, actor, id)
		if err != nil || row.DeletedAt != nil {
			return Endpoint{}, err
		}
		before := endpointOf(row, now)
		if EndpointState(row.State) == EndpointStateEnabled {
			disable(&row, now)
		}
		row.Secret, row.PreviousSecret, row.PreviousSecretUntil, row.DeletedAt = "", "", nil, &now
		after, err := storeEndpoint(ctx, tx, row, now)
		if err != nil {
			return Endpoint{}, err
		}
		return after, tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionEndpointManage, Resource: id, Before: before})
	})
	return err
}

// Ping sends a test to one endpoint, through the same outbox, fan-out and worker as everything else,
// and returns the delivery that will tell how it went.
func (s *Service) Ping(ctx context.Context, actor tenants.Actor, requestKey string, id EndpointID) (Delivery, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEndpointManage, actor.Tenant); err != nil {
		return Delivery{}, err
	}
	command, err := s.endpointCommand(ctx, actor, "pingWebhookEndpoint", requestKey, id)
	if err != nil {
		return Delivery{}, err
	}
	lane := Lane{Tenant: actor.Tenant, Region: command.identity.Region, Endpoint: id}
	return db.Replayable(ctx, s.db, "events.Ping", func(ctx context.Context, tx pgx.Tx) (Delivery, error) {
		return s.pingTx(ctx, tx, actor, command, lane)
	})
}

func (s *Service) pingTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, command command, lane Lane) (Delivery, error) {
	// The request leads to the event, so that a repeated call finds its delivery.
	event := ids.New[EventKind](lane.Region)
	earlier, replayed, err := command.claimTx(ctx, tx, event.UUID)
	if err != nil {
		return Delivery{}, err
	}
	queries := dbsqlc.New(tx)
	row, now, err := lockEndpoint(ctx, tx, actor, lane.Endpoint)
	if err != nil {
		return Delivery{}, err
	}
	if replayed {
		event.UUID = earlier
		return deliveryOfEvent(ctx, queries, lane, event)
	}
	if EndpointState(row.State) != EndpointStateEnabled {
		return Delivery{}, fault.Conflict("the webhook endpoint is disabled: enable it first")
	}
	endpoint, err := storeEndpoint(ctx, tx, row, now)
	if err != nil {
		return Delivery{}, err
	}
	if err := insertTx(ctx, queries, event, NewEvent{
		Tenant: lane.Tenant, Region: lane.Region, Channel: endpoint.Channel, Kind: KindEndpoint, Entity: lane.Endpoint.UUID,
		Version: endpoint.Version, Type: TypeEndpointPing, OccurredAt: now,
	}, nil); err != nil {
		return Delivery{}, err
	}
	if err := s.openTx(ctx, tx, lane.Tenant, event, []EndpointID{lane.Endpoint}, now); err != nil {
		return Delivery{}, err
	}
	if err := tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionEndpointManage, Resource: lane.Endpoint, After: map[string]any{"ping": event},
	}); err != nil {
		return Delivery{}, err
	}
	return deliveryOfEvent(ctx, queries, lane, event)
}

// lockEndpoint locks an endpoint of the actor's, and reads the clock.
func lockEndpoint(ctx context.Context, tx pgx.Tx, actor tenants.Actor, id EndpointID) (dbsqlc.WebhookEndpoint, time.Time, error) {
	row, now, err := lockAnyEndpoint(ctx, tx, actor, id)
	if err == nil && row.DeletedAt != nil {
		err = fault.NotFound("webhook endpoint")
	}
	return row, now, err
}

// lockAnyEndpoint is lockEndpoint for one that may be deleted.
func lockAnyEndpoint(ctx context.Context, tx pgx.Tx, actor tenants.Actor, id EndpointID) (dbsqlc.WebhookEndpoint, time.Time, error) {
	queries := dbsqlc.New(tx)
	row, err := queries.EndpointLock(ctx, dbsqlc.EndpointLockParams{TenantID: actor.Tenant.UUID, ID: id.UUID})
	if db.IsNoRows(err) {
		return dbsqlc.WebhookEndpoint{}, time.Time{}, fault.NotFound("webhook endpoint")
	}
	if err != nil {
		return dbsqlc.WebhookEndpoint{}, time.Time{}, fmt.Errorf("lock the endpoint %s: %w", id, err)
	}
	now, err := clock(ctx, queries)
	if err != nil {
		return dbsqlc.WebhookEndpoint{}, time.Time{}, err
	}
	_, err = mine(actor, endpointOf(row, now))
	return row, now, err
}

// storeEndpoint writes a locked endpoint, and raises its version.
func storeEndpoint(ctx context.Context, tx pgx.Tx, row dbsqlc.WebhookEndpoint, now time.Time) (Endpoint, error) {
	stored, err := dbsqlc.New(tx).EndpointUpdate(ctx, dbsqlc.EndpointUpdateParams{
		TenantID: row.TenantID, ID: row.ID, Url: row.Url, Description: row.Description, EventTypes: row.EventTypes, Secret: row.Secret,
		PreviousSecret: row.PreviousSecret, PreviousSecretUntil: row.PreviousSecretUntil, State: row.State, DisabledReason: row.DisabledReason,
		DisabledAt: row.DisabledAt, DeletedAt: row.DeletedAt,
	})
	if err != nil {
		return Endpoint{}, fmt.Errorf("store the endpoint %s: %w", EndpointID{UUID: row.ID}, err)
	}
	return endpointOf(stored, now), nil
}
