package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// EventKind is something that happened.
type EventKind struct{}

// Prefix of an event's public id. Productions on a stage have "event".
func (EventKind) Prefix() string { return "evt" }

// EventID names an event; it carries the region of what the event is about.
type EventID = ids.ID[EventKind]

// Event is one change of one thing.
type Event struct {
	ID     EventID
	Tenant tenants.TenantID
	// Channel is the one that made the sale, or zero for none.
	Channel tenants.ChannelID
	Kind    Kind
	// Entity is the thing's id without its kind; see Subject.
	Entity uuid.UUID
	// Version is the thing's after the change, so that a receiver can put events of one thing in
	// order and leave out what it has seen.
	Version int64
	Type    Type
	// OccurredAt is the database's clock in the transaction of the change.
	OccurredAt time.Time
}

// Kinds of the public ids of what events are about. The packages that own these things do not stand
// below this one; a test of package jobs holds what receivers are told against their ids.
type (
	bookingKind struct{}
	refundKind  struct{}
	disputeKind struct{}
	// allotmentKind is an allotment.
	allotmentKind struct{}
	blockKind     struct{}
	roomKind      struct{}
	// waitingEntryKind is an entry of a waiting list.
	waitingEntryKind struct{}
)

// Prefix of a booking's public id.
func (bookingKind) Prefix() string { return "book" }

// Prefix of a refund's public id.
func (refundKind) Prefix() string { return "refund" }

// Prefix of a dispute's public id.
func (disputeKind) Prefix() string { return "dispute" }

// Prefix of an allotment's public id.
func (allotmentKind) Prefix() string { return "allotment" }

// Prefix of a seat block's public id.
func (blockKind) Prefix() string { return "block" }

// Prefix of a physical room's public id.
func (roomKind) Prefix() string { return "door" }

// Prefix of a waiting list entry's public id.
func (waitingEntryKind) Prefix() string { return "wait" }

// Subject is the public id of what the event is about.
func (e Event) Subject() string {
	switch e.Kind {
	case KindBooking:
		return ids.ID[bookingKind]{Region: e.ID.Region, UUID: e.Entity}.String()
	case KindRefund:
		return ids.ID[refundKind]{Region: e.ID.Region, UUID: e.Entity}.String()
	case KindDispute:
		return ids.ID[disputeKind]{Region: e.ID.Region, UUID: e.Entity}.String()
	case KindAllotment:
		return ids.ID[allotmentKind]{Region: e.ID.Region, UUID: e.Entity}.String()
	case KindBlock:
		return ids.ID[blockKind]{Region: e.ID.Region, UUID: e.Entity}.String()
	case KindRoom:
		return ids.ID[roomKind]{Region: e.ID.Region, UUID: e.Entity}.String()
	case KindWaitingEntry:
		return ids.ID[waitingEntryKind]{Region: e.ID.Region, UUID: e.Entity}.String()
	case KindEndpoint:
		return EndpointID{UUID: e.Entity}.String()
	}
	return e.Entity.String()
}

// NewEvent is what EmitTx is told.
type NewEvent struct {
	Tenant  tenants.TenantID
	Region  ids.Region
	Channel tenants.ChannelID
	Kind    Kind
	Entity  uuid.UUID
	Version int64
	Type    Type
	// OccurredAt is the database's clock, read in the transaction of the change.
	OccurredAt time.Time
}

// EmitTx writes an event in the transaction of the change that it tells of. The caller enqueues the
// job that fans it out in the same transaction; where that job is lost, FanOutDue finds the event. A
// type that the table does not have, or has for another kind of thing, is a defect.
func EmitTx(ctx context.Context, tx pgx.Tx, e NewEvent) (EventID, error) {
	id, due := ids.New[EventKind](e.Region), e.OccurredAt.Add(fanOutPatience)
	return id, insertTx(ctx, dbsqlc.New(tx), id, e, &due)
}

// insertTx writes an event; without a time at which it is due, nobody fans it out.
func insertTx(ctx context.Context, queries *dbsqlc.Queries, id EventID, e NewEvent, due *time.Time) error {
	if meaning, known := meaningOf(e.Type); !known || meaning.Kind != e.Kind {
		return fmt.Errorf("record an event: events.Meanings has no type %q about a %s", e.Type, e.Kind)
	}
	if err := queries.EventInsert(ctx, dbsqlc.EventInsertParams{
		TenantID: e.Tenant.UUID, Region: string(e.Region), ID: id.UUID, ChannelID: orNull(e.Channel), EntityKind: string(e.Kind), EntityID: e.Entity,
		Version: e.Version, Type: string(e.Type), OccurredAt: e.OccurredAt, FanOutDueAt: due,
	}); err != nil {
		return fmt.Errorf("record the event %s: %w", e.Type, err)
	}
	return nil
}

// payload is the body of a delivery, as Standard Webhooks shape it.
type payload struct {
	Type      Type      `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

// data is what a receiver is told; it asks the API for more.
type data struct {
	Event   string  `json:"event"`
	Kind    Kind    `json:"kind"`
	ID      string  `json:"id"`
	Version int64   `json:"version"`
	Region  string  `json:"region"`
	Channel *string `json:"channel"`
}

// Payload is the body that each delivery of the event has, byte for byte.
func (e Event) Payload() ([]byte, error) {
	content := payload{Type: e.Type, Timestamp: e.OccurredAt.UTC(), Data: data{
		Event: e.ID.String(), Kind: e.Kind, ID: e.Subject(), Version: e.Version, Region: string(e.ID.Region),
	}}
	if !e.Channel.IsZero() {
		channel := e.Channel.String()
		content.Data.Channel = &channel
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the event %s: %w", e.ID, err)
	}
	return body, nil
}

func eventOf(tenant tenants.TenantID, row dbsqlc.EventGetManyRow) Event {
	return Event{
		ID: EventID{Region: ids.Region(row.Region), UUID: row.ID}, Tenant: tenant, Channel: channelOf(row.ChannelID), Kind: Kind(row.EntityKind),
		Entity: row.EntityID, Version: row.Version, Type: Type(row.Type), OccurredAt: row.OccurredAt,
	}
}

// orNull is how "no channel" is stored.
func orNull(channel tenants.ChannelID) *uuid.UUID {
	if channel.IsZero() {
		return nil
	}
	return &channel.UUID
}

func channelOf(id *uuid.UUID) tenants.ChannelID {
	if id == nil {
		return tenants.ChannelID{}
	}
	return tenants.ChannelID{UUID: *id}
}
