package bookings

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist"
)

// Retention is for how long rows are kept that nobody needs for ever. The zero value is the
// defaults.
type Retention struct {
	// Requests is how long a request key answers again with the result of the first time, at least
	// request.MinRetention. Default 72 hours.
	Requests time.Duration
	// Sessions is how long an expired session of a guest is still told apart from an unknown one.
	// One whose guest still holds something stays. Default 24 hours.
	Sessions time.Duration
	// ProviderEvents is how long it is known which events of payment providers were dealt with: long
	// enough that none of them is sent again. Those that a person has to look at stay. Default 90
	// days.
	ProviderEvents time.Duration
	// Events is how long what happened to bookings can be read and replayed, and how long a delivery
	// that has ended is kept, as an entry of a waiting list that is over. Default 30 days.
	Events time.Duration
}

// The least that Validate accepts: a provider repeats an event for days, and an endpoint that was
// down is sent what it missed for three.
const (
	minProviderEventRetention = 7 * 24 * time.Hour
	minEventRetention         = 4 * 24 * time.Hour
)

// admissionAge is for how long it is known whom a waiting room let in, and how many waited: longer than
// any room is open, so that no ticket is exchanged twice.
const admissionAge = 30 * 24 * time.Hour

// WithDefaults fills in what is zero.
func (r Retention) WithDefaults() Retention {
	const day = 24 * time.Hour
	for setting, fallback := range map[*time.Duration]time.Duration{
		&r.Requests: 3 * day, &r.Sessions: day, &r.ProviderEvents: 90 * day, &r.Events: 30 * day,
	} {
		if *setting == 0 {
			*setting = fallback
		}
	}
	return r
}

// Validate names the setting that is too short.
func (r Retention) Validate() error {
	r = r.WithDefaults()
	switch {
	case r.Requests < request.MinRetention:
		return fmt.Errorf("the retention of requests: expected at least %s, got %s", request.MinRetention, r.Requests)
	case r.Sessions < 0:
		return errors.New("the retention of sessions must not be negative")
	case r.ProviderEvents < minProviderEventRetention:
		return fmt.Errorf("the retention of provider events: expected at least %s, got %s", minProviderEventRetention, r.ProviderEvents)
	case r.Events < minEventRetention:
		return fmt.Errorf("the retention of events: expected at least %s, got %s", minEventRetention, r.Events)
	}
	return nil
}

// Retained is a table whose old rows are deleted.
type Retained struct {
	// Table is its name.
	Table string
	// age is how old its rows become.
	age time.Duration
	// delete removes at most limit rows of one place that are older than an instant.
	delete func(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error)
	// installation is for rows that belong to no place.
	installation bool
}

// Tables are what is deleted. A table whose rows refer to those of another comes before it.
func (r Retention) Tables() []Retained {
	r = r.WithDefaults()
	return []Retained{
		{Table: "requests", age: r.Requests, delete: request.DeleteTx},
		{Table: "guest_sessions", age: r.Sessions, delete: deleteSessionsTx},
		{Table: "provider_events", age: r.ProviderEvents, delete: payments.DeleteEventsTx},
		{Table: "webhook_deliveries", age: r.Events, delete: events.DeleteDeliveriesTx},
		{Table: "waiting_entries", age: r.Events, delete: waitlist.DeleteEntriesTx},
		{Table: "outbox_events", age: r.Events, delete: events.DeleteEventsTx},
		{Table: "admission_grants", age: admissionAge, delete: deleteGrantsTx},
		{Table: "waiting_room_counts", age: admissionAge, delete: deleteCountsTx},
		{Table: "admin_sessions", installation: true, delete: func(ctx context.Context, tx pgx.Tx, _ uuid.UUID, _ ids.Region, before time.Time, limit int32) (int64, error) {
			return tenants.DeleteAdminSessionsTx(ctx, tx, before, limit)
		}},
	}
}

// retentionBatch is how many rows one transaction deletes: few enough that nobody waits long for one
// of them.
const retentionBatch = 500

// DeleteOld deletes the rows of a table that are older than they need to become, place by place in
// small transactions, at most limit of them, and says how many. Fewer than limit means that none are
// left. Running it twice, or in two processes at once, changes nothing more. When a place fails, the
// others are still gone through.
func (s *Service) DeleteOld(ctx context.Context, table Retained, limit int64) (int64, error) {
	places, err := s.retentionPlaces(ctx, table)
	if err != nil {
		return 0, db.Classify(err)
	}
	now, err := inventory.Now(ctx, s.db.Pool())
	if err != nil {
		return 0, db.Classify(err)
	}
	before := now.Add(-table.age)
	// In no order: with more to delete than limit, each place has its turn.
	rand.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	var deleted int64
	var failures []error
	for _, at := range places {
		for deleted < limit && ctx.Err() == nil {
			batch := min(limit-deleted, retentionBatch)
			n, err := db.Replayable(ctx, s.db, "bookings.DeleteOld", func(ctx context.Context, tx pgx.Tx) (int64, error) {
				return table.delete(ctx, tx, at.Tenant.UUID, at.Region, before, int32(batch)) //nolint:gosec // at most retentionBatch
			})
			deleted += n
			if err != nil {
				failures = append(failures, fmt.Errorf("%s of %s in %s: %w", table.Table, at.Tenant, at.Region, err))
			}
			if err != nil || n < batch {
				break
			}
		}
	}
	return deleted, errors.Join(append(failures, ctx.Err())...)
}

// retentionPlaces are where a table's rows can be. What came before its tenant was known, such as
// the request that made it or an event about nothing of ours, is kept without one.
func (s *Service) retentionPlaces(ctx context.Context, table Retained) ([]payments.Place, error) {
	if table.installation {
		return []payments.Place{{}}, nil
	}
	rows, err := dbsqlc.New(s.db.Pool()).RetentionPlaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list where rows can be: %w", err)
	}
	nobodys := []ids.Region{payments.UnroutedRegion}
	places := make([]payments.Place, 0, len(rows)+1)
	for _, row := range rows {
		region := ids.Region(row.Region)
		places = append(places, payments.Place{Tenant: tenants.TenantID{UUID: row.TenantID}, Region: region})
		if !slices.Contains(nobodys, region) {
			nobodys = append(nobodys, region)
		}
	}
	for _, region := range nobodys {
		places = append(places, payments.Place{Region: region})
	}
	return places, nil
}

func deleteGrantsTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	queries := dbsqlc.New(tx)
	old := dbsqlc.AdmissionUsesDeleteParams{TenantID: tenant, Region: string(region), ExpiredBefore: before, MaxRows: limit}
	if _, err := queries.AdmissionUsesDelete(ctx, old); err != nil {
		return 0, fmt.Errorf("delete the uses of old admission grants: %w", err)
	}
	n, err := queries.AdmissionGrantsDelete(ctx, dbsqlc.AdmissionGrantsDeleteParams(old))
	if err != nil {
		return 0, fmt.Errorf("delete old admission grants: %w", err)
	}
	return n, nil
}

func deleteCountsTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	n, err := dbsqlc.New(tx).WaitingRoomCountsDelete(ctx, dbsqlc.WaitingRoomCountsDeleteParams{
		TenantID: tenant, Region: string(region), ClosedBefore: before, MaxRows: limit,
	})
	if err != nil {
		return 0, fmt.Errorf("delete how many waited in rooms that have closed: %w", err)
	}
	return n, nil
}

func deleteSessionsTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	n, err := dbsqlc.New(tx).SessionsDelete(ctx, dbsqlc.SessionsDeleteParams{
		TenantID: tenant, Region: string(region), ExpiredBefore: before, MaxRows: limit,
	})
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions: %w", err)
	}
	return n, nil
}
