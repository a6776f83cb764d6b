package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// Deliver sends what is due in a lane, the oldest first, until nothing is, a try fails, or its time
// is up; more says that it was the time. When enough others are at the endpoint already, or the
// endpoint rests after failures, it does nothing: what is due stays due.
func (s *Service) Deliver(ctx context.Context, lane Lane) (more bool, err error) {
	if !s.lanes.enter(lane.Endpoint) {
		return false, nil
	}
	defer s.lanes.leave(lane.Endpoint)
	started := time.Now()
	for range maxRun {
		try, err := s.claim(ctx, lane)
		switch {
		case err != nil:
			return false, err
		case try.delivery.IsZero():
			return false, nil
		case try.abandoned:
			continue
		}
		answer := s.sender.Send(ctx, try.message)
		s.config.AfterStep("send")
		if err := ctx.Err(); err != nil {
			return false, err // It was cut off. The delivery is due again after its lease.
		}
		if err := s.record(ctx, lane, try, answer); err != nil {
			return false, err
		}
		s.lanes.note(lane.Endpoint, answer.Delivered())
		if !answer.Delivered() {
			return false, nil
		}
		if time.Since(started) > runTime {
			break
		}
	}
	return true, nil
}

// try is a delivery that this process has taken to send.
type try struct {
	// delivery is zero when nothing was due.
	delivery DeliveryID
	// abandoned says that what was due has failed without being sent.
	abandoned bool
	attempts  int64
	openedAt  time.Time
	message   Message
}

// claim takes the oldest delivery that is due. Until it comes back with the answer, or its lease ends,
// nobody else sends it.
func (s *Service) claim(ctx context.Context, lane Lane) (try, error) {
	return db.Replayable(ctx, s.db, "events.ClaimDelivery", func(ctx context.Context, tx pgx.Tx) (try, error) {
		queries := dbsqlc.New(tx)
		// What has come due while this waits for the row's lock is the next claim's.
		now, err := clock(ctx, queries)
		if err != nil {
			return try{}, err
		}
		due, err := queries.DeliveryDueLock(ctx, dbsqlc.DeliveryDueLockParams{
			TenantID: lane.Tenant.UUID, Region: string(lane.Region), EndpointID: lane.Endpoint.UUID, Now: now,
		})
		if db.IsNoRows(err) {
			return try{}, nil
		}
		if err != nil {
			return try{}, fmt.Errorf("look for a delivery that is due: %w", err)
		}
		claimed := try{delivery: DeliveryID{Region: lane.Region, UUID: due.ID}, attempts: due.Attempts + 1, openedAt: due.OpenedAt}
		endpoint, reason, err := open(ctx, queries, lane)
		if err != nil {
			return try{}, err
		}
		if reason != "" {
			claimed.abandoned = true
			return claimed, s.abandonTx(ctx, queries, lane, reason, now)
		}
		if claimed.message, err = messageOf(ctx, queries, lane, endpoint, due.EventID, now); err != nil {
			return try{}, err
		}
		if err := queries.DeliveryUpdateClaimed(ctx, dbsqlc.DeliveryUpdateClaimedParams{
			TenantID: lane.Tenant.UUID, Region: string(lane.Region), ID: due.ID, Now: now, DueAgainAt: now.Add(deliveryLease),
		}); err != nil {
			return try{}, fmt.Errorf("claim the delivery %s: %w", claimed.delivery, err)
		}
		return claimed, nil
	})
}

// open reads the endpoint of a lane, or says why it takes nothing.
func open(ctx context.Context, queries *dbsqlc.Queries, lane Lane) (dbsqlc.WebhookEndpoint, string, error) {
	rows, err := queries.EndpointGetMany(ctx, dbsqlc.EndpointGetManyParams{TenantID: lane.Tenant.UUID, Ids: []uuid.UUID{lane.Endpoint.UUID}})
	switch {
	case err != nil:
		return dbsqlc.WebhookEndpoint{}, "", fmt.Errorf("read the endpoint %s: %w", lane.Endpoint, err)
	case len(rows) == 0 || rows[0].DeletedAt != nil:
		return dbsqlc.WebhookEndpoint{}, "the endpoint was deleted", nil
	case EndpointState(rows[0].State) != EndpointStateEnabled:
		return dbsqlc.WebhookEndpoint{}, "the endpoint is disabled", nil
	}
	return rows[0], "", nil
}

// abandonTx gives up what is due for an endpoint that takes nothing.
func (s *Service) abandonTx(ctx context.Context, queries *dbsqlc.Queries, lane Lane, reason string, now time.Time) error {
	_, err := queries.DeliveriesUpdateAbandoned(ctx, dbsqlc.DeliveriesUpdateAbandonedParams{
		TenantID: lane.Tenant.UUID, Region: string(lane.Region), EndpointID: lane.Endpoint.UUID, Now: now, LastError: reason, MaxRows: maxAbandoned,
	})
	if err != nil {
		return fmt.Errorf("give up deliveries to %s: %w", lane.Endpoint, err)
	}
	return nil
}

func messageOf(ctx context.Context, queries *dbsqlc.Queries, lane Lane, endpoint dbsqlc.WebhookEndpoint, event uuid.UUID, now time.Time) (Message, error) {
	rows, err := queries.EventGetMany(ctx, dbsqlc.EventGetManyParams{TenantID: lane.Tenant.UUID, Region: string(lane.Region), Ids: []uuid.UUID{event}})
	if err != nil {
		return Message{}, fmt.Errorf("read the event of a delivery: %w", err)
	}
	if len(rows) == 0 {
		return Message{}, fmt.Errorf("read the event %s of a delivery: there is none", EventID{Region: lane.Region, UUID: event})
	}
	e := eventOf(lane.Tenant, rows[0])
	body, err := e.Payload()
	if err != nil {
		return Message{}, err
	}
	message := Message{ID: e.ID.String(), URL: endpoint.Url, Secrets: []string{endpoint.Secret}, Body: body}
	if endpoint.PreviousSecretUntil != nil && endpoint.PreviousSecretUntil.After(now) {
		message.Secrets = append(message.Secrets, endpoint.PreviousSecret)
	}
	return message, nil
}

// The results of a try, as its metric names them.
const (
	resultDelivered = "delivered"
	resultRetry     = "retry"
	resultGivenUp   = "given_up"
	resultGone      = "gone"
)

// record writes down what became of a try, unless somebody else has taken the delivery since.
func (s *Service) record(ctx context.Context, lane Lane, t try, answer Answer) error {
	result, err := db.Replayable(ctx, s.db, "events.RecordDelivery", func(ctx context.Context, tx pgx.Tx) (string, error) {
		return recordTx(ctx, tx, lane, t, answer)
	})
	if err != nil {
		return err
	}
	s.metrics.attempts.WithLabelValues(result).Inc()
	if result == resultGone {
		s.config.Logger.WarnContext(ctx, "a webhook endpoint answered that it is gone, and was disabled", "tenant", lane.Tenant.String(), "endpoint", lane.Endpoint.String())
	}
	return nil
}

func recordTx(ctx context.Context, tx pgx.Tx, lane Lane, t try, answer Answer) (string, error) {
	queries := dbsqlc.New(tx)
	now, err := clock(ctx, queries)
	if err != nil {
		return "", err
	}
	result, state := resultDelivered, DeliveryStateDelivered
	switch {
	case answer.Delivered():
	case answer.gone():
		result, state = resultGone, DeliveryStateFailed
	case now.Sub(t.openedAt) >= RetryFor:
		result, state = resultGivenUp, DeliveryStateFailed
	default:
		return resultRetry, retryTx(ctx, queries, lane, t, answer, now)
	}
	if _, err := queries.DeliveryUpdateSettled(ctx, dbsqlc.DeliveryUpdateSettledParams{
		TenantID: lane.Tenant.UUID, Region: string(lane.Region), ID: t.delivery.UUID, Attempts: t.attempts, State: string(state), Now: now,
		LastStatus: statusOrNull(answer), LastError: shortened(answer.Error),
	}); err != nil {
		return "", fmt.Errorf("settle the delivery %s: %w", t.delivery, err)
	}
	if result == resultGone {
		if _, err := queries.EndpointUpdateGone(ctx, dbsqlc.EndpointUpdateGoneParams{
			TenantID: lane.Tenant.UUID, ID: lane.Endpoint.UUID, Url: t.message.URL, Now: now,
		}); err != nil {
			return "", fmt.Errorf("disable the endpoint %s: %w", lane.Endpoint, err)
		}
	}
	return result, nil
}

// retryTx sets the next try. The last one is made when RetryFor is over.
func retryTx(ctx context.Context, queries *dbsqlc.Queries, lane Lane, t try, answer Answer, now time.Time) error {
	next := now.Add(backOff(t.attempts))
	if last := t.openedAt.Add(RetryFor); next.After(last) {
		next = last
	}
	if _, err := queries.DeliveryUpdateRetry(ctx, dbsqlc.DeliveryUpdateRetryParams{
		TenantID: lane.Tenant.UUID, Region: string(lane.Region), ID: t.delivery.UUID, Attempts: t.attempts, NextAttemptAt: next,
		LastStatus: statusOrNull(answer), LastError: shortened(answer.Error),
	}); err != nil {
		return fmt.Errorf("set the next try of the delivery %s: %w", t.delivery, err)
	}
	return nil
}

// backOff is the wait after so many tries: doubled each time up to the bound, of which a random half
// is left out, so that a receiver that comes back is not met by all at once.
func backOff(attempts int64) time.Duration {
	wait := firstRetry
	for range attempts - 1 {
		if wait >= longestRetry {
			break
		}
		wait *= 2
	}
	wait = min(wait, longestRetry)
	return wait/2 + rand.N(wait/2+1) //nolint:gosec // jitter needs no secrecy
}

func statusOrNull(answer Answer) *int64 {
	if answer.Status == 0 {
		return nil
	}
	status := int64(answer.Status)
	return &status
}

// shortened fits the column, in whole characters.
func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maxErrorLength {
		return text
	}
	return string([]rune(text)[:maxErrorLength-1]) + "…"
}

// LanesDue are the lanes in which a delivery is due, at most limit, those that wait longest first.
func (s *Service) LanesDue(ctx context.Context, limit int) ([]Lane, error) {
	rows, _, err := s.lanesDue(ctx, limit)
	if err != nil {
		return nil, db.Classify(err)
	}
	due := make([]Lane, len(rows))
	for i, row := range rows {
		due[i] = Lane{Tenant: tenants.TenantID{UUID: row.TenantID}, Region: ids.Region(row.Region), Endpoint: EndpointID{UUID: row.EndpointID}}
	}
	return due, nil
}

// lanesDue also gives the clock that decided.
func (s *Service) lanesDue(ctx context.Context, limit int) ([]dbsqlc.LanesDueRow, time.Time, error) {
	queries := dbsqlc.New(s.db.Pool())
	tenantIDs, regions, err := s.places(ctx, queries)
	if err != nil {
		return nil, time.Time{}, err
	}
	now, err := clock(ctx, queries)
	if err != nil {
		return nil, time.Time{}, err
	}
	rows, err := queries.LanesDue(ctx, dbsqlc.LanesDueParams{
		TenantIds: tenantIDs, Regions: regions, Now: now, DeletedAfter: now.Add(-afterDeletion), MaxLanes: int64(limit),
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("list the deliveries that are due: %w", err)
	}
	return rows, now, nil
}
