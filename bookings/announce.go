package bookings

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/inventory"
)

// Announcer writes what becomes of allotments to the outbox: stock itself knows no events.
type Announcer struct{ jobs Enqueuer }

var _ inventory.Announcer = (*Announcer)(nil)

// NewAnnouncer needs who enqueues the jobs that tell others.
func NewAnnouncer(jobs Enqueuer) *Announcer { return &Announcer{jobs: jobs} }

// AnnounceTx records that an allotment was released or cancelled. Of other news nobody is told.
func (a *Announcer) AnnounceTx(ctx context.Context, tx pgx.Tx, news inventory.AllotmentNews) error {
	event := events.NewEvent{
		Tenant: news.Tenant, Region: news.Allotment.Region, Channel: news.Channel, Kind: events.KindAllotment, Entity: news.Allotment.UUID,
		Version: news.Version, OccurredAt: news.At,
	}
	switch news.Action {
	case inventory.AllotmentActionReleased:
		event.Type = events.TypeAllotmentReleased
	case inventory.AllotmentActionCancelled:
		event.Type = events.TypeAllotmentCancelled
	case inventory.AllotmentActionCreated, inventory.AllotmentActionChanged, inventory.AllotmentActionMadeDefinite:
		return nil
	}
	return tellTx(ctx, tx, a.jobs, event)
}

// TellTx writes any event, for packages that know no jobs.
func (a *Announcer) TellTx(ctx context.Context, tx pgx.Tx, event events.NewEvent) error {
	return tellTx(ctx, tx, a.jobs, event)
}

// tellTx writes an event in the transaction of its change, and the job that tells others of it.
func tellTx(ctx context.Context, tx pgx.Tx, jobs Enqueuer, event events.NewEvent) error {
	id, err := events.EmitTx(ctx, tx, event)
	if err != nil {
		return err
	}
	return jobs.EnqueueTx(ctx, tx, EventJob{Tenant: event.Tenant, Region: event.Region, Event: id.UUID})
}
