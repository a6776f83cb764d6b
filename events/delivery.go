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

// DeliveryKind is one event for one endpoint.
type DeliveryKind struct{}

// Prefix of a delivery's public id.
func (DeliveryKind) Prefix() string { return "delivery" }

// DeliveryID names a delivery. Receivers never see it: they know a delivery by its event.
type DeliveryID = ids.ID[DeliveryKind]

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states of a delivery.
const (
	// DeliveryStatePending: it is due, waits for its next try, or is under way.
	DeliveryStatePending DeliveryState = "PENDING"
	// DeliveryStateDelivered: the receiver answered with 2xx.
	DeliveryStateDelivered DeliveryState = "DELIVERED"
	// DeliveryStateFailed: it was tried for RetryFor in vain, or the endpoint takes no more.
	DeliveryStateFailed DeliveryState = "FAILED"
)

// Delivery is one event for one endpoint.
type Delivery struct {
	ID       DeliveryID
	Endpoint EndpointID
	Event    Event
	State    DeliveryState
	// Attempts are the tries since it was opened.
	Attempts  int64
	CreatedAt time.Time
	// OpenedAt is when its tries began: when it was made, or replayed last.
	OpenedAt time.Time
	// NextAttemptAt is nil once it has ended.
	NextAttemptAt *time.Time
	LastAttemptAt *time.Time
	// LastStatus is the receiver's HTTP status at the last try; 0 for none.
	LastStatus int
	// LastError says in a few words why the last try failed.
	LastError string
	SettledAt *time.Time
}

// DeliveryCursor is where a page of deliveries ended; pages run from the newest.
type DeliveryCursor struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// Deliveries lists those of an endpoint in one region from the newest, at most limit after the
// cursor, and says whether more follow. state "" means every state. Those that have ended can be read
// for 30 days.
func (s *Service) Deliveries(ctx context.Context, actor tenants.Actor, endpoint EndpointID, region ids.Region, state DeliveryState, after *DeliveryCursor, limit int) ([]Delivery, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEndpointRead, actor.Tenant); err != nil {
		return nil, false, err
	}
	if err := checkPage(limit); err != nil {
		return nil, false, err
	}
	switch state {
	case "", DeliveryStatePending, DeliveryStateDelivered, DeliveryStateFailed:
	default:
		return nil, false, fault.Invalid("state", "expected %s, %s or %s, got %.20q", DeliveryStatePending, DeliveryStateDelivered, DeliveryStateFailed, state)
	}
	if _, err := s.endpoint(ctx, actor, endpoint); err != nil {
		return nil, false, err
	}
	before := DeliveryCursor{CreatedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), ID: uuid.Max}
	if after != nil {
		before = *after
	}
	rows, err := s.deliveryRows(ctx, Lane{Tenant: actor.Tenant, Region: region, Endpoint: endpoint}, state, before, int64(limit)+1)
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list the deliveries of %s: %w", endpoint, err))
	}
	more := len(rows) > limit
	rows = rows[:min(limit, len(rows))]
	found := make([]Delivery, len(rows))
	for i, row := range rows {
		found[i] = deliveryOf(actor.Tenant, row)
	}
	return found, more, nil
}

func (s *Service) deliveryRows(ctx context.Context, lane Lane, state DeliveryState, before DeliveryCursor, limit int64) ([]dbsqlc.DeliveryGetRow, error) {
	queries := dbsqlc.New(s.db.Pool())
	var found []dbsqlc.DeliveryGetRow
	if state == "" {
		rows, err := queries.DeliveriesPage(ctx, dbsqlc.DeliveriesPageParams{
			TenantID: lane.Tenant.UUID, Region: string(lane.Region), EndpointID: lane.Endpoint.UUID,
			Before: before.CreatedAt, BeforeID: before.ID, MaxRows: limit,
		})
		for _, row := range rows {
			found = append(found, dbsqlc.DeliveryGetRow(row))
		}
		return found, err
	}
	rows, err := queries.DeliveriesOfStatePage(ctx, dbsqlc.DeliveriesOfStatePageParams{
		TenantID: lane.Tenant.UUID, Region: string(lane.Region), EndpointID: lane.Endpoint.UUID, State: string(state),
		Before: before.CreatedAt, BeforeID: before.ID, MaxRows: limit,
	})
	for _, row := range rows {
		found = append(found, dbsqlc.DeliveryGetRow(row))
	}
	return found, err
}

// deliveryOfEvent reads the delivery of an event to an endpoint.
func deliveryOfEvent(ctx context.Context, queries *dbsqlc.Queries, lane Lane, event EventID) (Delivery, error) {
	row, err := queries.DeliveryGet(ctx, dbsqlc.DeliveryGetParams{
		TenantID: lane.Tenant.UUID, Region: string(lane.Region), EventID: event.UUID, EndpointID: lane.Endpoint.UUID,
	})
	if db.IsNoRows(err) {
		return Delivery{}, fault.NotFound("delivery")
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("read the delivery of %s to %s: %w", event, lane.Endpoint, err)
	}
	return deliveryOf(lane.Tenant, row), nil
}

func deliveryOf(tenant tenants.TenantID, row dbsqlc.DeliveryGetRow) Delivery {
	d := Delivery{
		ID: DeliveryID{Region: ids.Region(row.Region), UUID: row.ID}, Endpoint: EndpointID{UUID: row.EndpointID},
		Event: eventOf(tenant, dbsqlc.EventGetManyRow{
			Region: row.Region, ID: row.EventID, ChannelID: row.ChannelID, EntityKind: row.EntityKind, EntityID: row.EntityID,
			Version: row.Version, Type: row.Type, OccurredAt: row.OccurredAt,
		}),
		State: DeliveryState(row.State), Attempts: row.Attempts, CreatedAt: row.CreatedAt, OpenedAt: row.OpenedAt, NextAttemptAt: row.NextAttemptAt,
		LastAttemptAt: row.LastAttemptAt, LastError: row.LastError, SettledAt: row.SettledAt,
	}
	if row.LastStatus != nil {
		d.LastStatus = int(*row.LastStatus)
	}
	return d
}
