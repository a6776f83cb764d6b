package graph

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// The names of lists in their cursors.
const (
	listEvents     = "events"
	listEndpoints  = "webhookEndpoints"
	listDeliveries = "webhookDeliveries"
)

// Events is the resolver for the events field. A reader who is up to date keeps its cursor.
func (r *queryResolver) Events(ctx context.Context, region string, first int64, after *string, since *time.Time) (*generated.ChangeEventConnection, error) {
	var d decoder
	where := readRegion(&d, "region", region)
	var from events.EventCursor
	if after != nil {
		from.OccurredAt, from.ID = readTimeCursor(&d, listEvents, after)
	} else if since != nil {
		// Before the first event of a moment is after the last of the one before.
		from = events.EventCursor{OccurredAt: since.Add(-time.Microsecond), ID: uuid.Max}
	}
	if d.err != nil {
		return nil, d.err
	}
	found, more, err := r.events.Events(ctx, actorOf(ctx), where, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.ChangeEventConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, changeEventCursor, changeEventView,
		func(cursor string, node generated.ChangeEvent) generated.ChangeEventEdge {
			return generated.ChangeEventEdge{Cursor: cursor, Node: node}
		})
	if c.PageInfo.EndCursor == nil {
		c.PageInfo.EndCursor = after
	}
	return &c, nil
}

// WebhookEndpoints is the resolver for the webhookEndpoints field.
func (r *queryResolver) WebhookEndpoints(ctx context.Context, first int64, after *string) (*generated.WebhookEndpointConnection, error) {
	var d decoder
	var from events.EndpointID
	if cursor := readCursor(&d, listEndpoints, after); cursor != "" {
		from = readGlobalID[events.EndpointKind](&d, "after", cursor)
	}
	if d.err != nil {
		return nil, d.err
	}
	found, more, err := r.events.Endpoints(ctx, actorOf(ctx), from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.WebhookEndpointConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more,
		func(e events.Endpoint) string { return encodeCursor(listEndpoints, e.ID.String()) }, endpointView,
		func(cursor string, node generated.WebhookEndpoint) generated.WebhookEndpointEdge {
			return generated.WebhookEndpointEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// WebhookEndpoint is the resolver for the webhookEndpoint field.
func (r *queryResolver) WebhookEndpoint(ctx context.Context, id string) (*generated.WebhookEndpoint, error) {
	var d decoder
	wanted := readGlobalID[events.EndpointKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	endpoint, err := r.events.Endpoint(ctx, actorOf(ctx), wanted)
	return one(endpoint, err, endpointView)
}

// WebhookDeliveries is the resolver for the webhookDeliveries field.
func (r *queryResolver) WebhookDeliveries(ctx context.Context, endpoint, region string, state *generated.WebhookDeliveryState, first int64, after *string) (*generated.WebhookDeliveryConnection, error) {
	var d decoder
	whose := readGlobalID[events.EndpointKind](&d, "endpoint", endpoint)
	where := readRegion(&d, "region", region)
	at, id := readTimeCursor(&d, listDeliveries, after)
	if d.err != nil {
		return nil, d.err
	}
	var from *events.DeliveryCursor
	if after != nil {
		from = &events.DeliveryCursor{CreatedAt: at, ID: id}
	}
	var only events.DeliveryState
	if state != nil {
		only = events.DeliveryState(*state)
	}
	found, more, err := r.events.Deliveries(ctx, actorOf(ctx), whose, where, only, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.WebhookDeliveryConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, deliveryCursor, deliveryView,
		func(cursor string, node generated.WebhookDelivery) generated.WebhookDeliveryEdge {
			return generated.WebhookDeliveryEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

func (r *queryResolver) changeEvent(ctx context.Context, text string) (*generated.ChangeEvent, error) {
	var d decoder
	id := readID[events.EventKind](&d, "id", text)
	if d.err != nil {
		return nil, d.err
	}
	event, err := r.events.Event(ctx, actorOf(ctx), id)
	return one(event, err, changeEventView)
}

// CreateWebhookEndpoint is the resolver for the createWebhookEndpoint field.
func (r *mutationResolver) CreateWebhookEndpoint(ctx context.Context, input generated.CreateWebhookEndpointInput) (*generated.WebhookEndpointSecret, error) {
	var d decoder
	endpoint := events.NewEndpoint{
		URL: input.URL, Description: textOf(input.Description), Types: readTypes(input.Types),
		Channel: readOptionalGlobalID[tenants.ChannelKind](&d, "input.channel", input.Channel),
	}
	if d.err != nil {
		return nil, d.err
	}
	made, err := r.events.CreateEndpoint(ctx, actorOf(ctx), input.RequestKey, endpoint)
	return one(made, inInput(err), endpointSecretView)
}

// UpdateWebhookEndpoint is the resolver for the updateWebhookEndpoint field.
func (r *mutationResolver) UpdateWebhookEndpoint(ctx context.Context, input generated.UpdateWebhookEndpointInput) (*generated.WebhookEndpoint, error) {
	var d decoder
	id := readGlobalID[events.EndpointKind](&d, "input.endpoint", input.Endpoint)
	if d.err != nil {
		return nil, d.err
	}
	change := events.EndpointChange{URL: input.URL, Description: input.Description, Enabled: input.Enabled}
	// An empty list says something; one that is left out does not.
	if input.Types != nil {
		types := readTypes(input.Types)
		change.Types = &types
	}
	endpoint, err := r.events.UpdateEndpoint(ctx, actorOf(ctx), id, change)
	return one(endpoint, inInput(err), endpointView)
}

// RotateWebhookSecret is the resolver for the rotateWebhookSecret field.
func (r *mutationResolver) RotateWebhookSecret(ctx context.Context, input generated.WebhookEndpointInput) (*generated.WebhookEndpointSecret, error) {
	var d decoder
	id := readGlobalID[events.EndpointKind](&d, "input.endpoint", input.Endpoint)
	if d.err != nil {
		return nil, d.err
	}
	rotated, err := r.events.RotateSecret(ctx, actorOf(ctx), input.RequestKey, id)
	return one(rotated, inInput(err), endpointSecretView)
}

// DeleteWebhookEndpoint is the resolver for the deleteWebhookEndpoint field.
func (r *mutationResolver) DeleteWebhookEndpoint(ctx context.Context, input generated.DeleteWebhookEndpointInput) (*generated.WebhookEndpointDeleted, error) {
	var d decoder
	id := readGlobalID[events.EndpointKind](&d, "input.endpoint", input.Endpoint)
	if d.err != nil {
		return nil, d.err
	}
	err := r.events.DeleteEndpoint(ctx, actorOf(ctx), id)
	return one(generated.WebhookEndpointDeleted{EndpointID: id.String()}, inInput(err), func(deleted generated.WebhookEndpointDeleted) generated.WebhookEndpointDeleted { return deleted })
}

// PingWebhookEndpoint is the resolver for the pingWebhookEndpoint field.
func (r *mutationResolver) PingWebhookEndpoint(ctx context.Context, input generated.WebhookEndpointInput) (*generated.WebhookDelivery, error) {
	var d decoder
	id := readGlobalID[events.EndpointKind](&d, "input.endpoint", input.Endpoint)
	if d.err != nil {
		return nil, d.err
	}
	delivery, err := r.events.Ping(ctx, actorOf(ctx), input.RequestKey, id)
	return one(delivery, inInput(err), deliveryView)
}

// ReplayEvents is the resolver for the replayEvents field.
func (r *mutationResolver) ReplayEvents(ctx context.Context, input generated.ReplayEventsInput) (*generated.EventsReplayed, error) {
	var d decoder
	id := readGlobalID[events.EndpointKind](&d, "input.endpoint", input.Endpoint)
	wanted := make([]ids.ID[events.EventKind], len(input.Events))
	for i, text := range input.Events {
		wanted[i] = readID[events.EventKind](&d, fmt.Sprintf("input.events[%d]", i), text)
	}
	if d.err != nil {
		return nil, d.err
	}
	replayed, err := r.events.Replay(ctx, actorOf(ctx), input.RequestKey, id, wanted)
	return one(replayed, inInput(err), replayedView)
}

// ReplayEventsBetween is the resolver for the replayEventsBetween field.
func (r *mutationResolver) ReplayEventsBetween(ctx context.Context, input generated.ReplayEventsBetweenInput) (*generated.EventsReplayed, error) {
	var d decoder
	id := readGlobalID[events.EndpointKind](&d, "input.endpoint", input.Endpoint)
	region := readRegion(&d, "input.region", input.Region)
	if d.err != nil {
		return nil, d.err
	}
	replayed, err := r.events.ReplayBetween(ctx, actorOf(ctx), input.RequestKey, id, region, input.From, input.To)
	return one(replayed, inInput(err), replayedView)
}
