package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

const (
	benchMaxEvents = 1_000_000
	// benchEventSenders is how many events are on their way at once.
	benchEventSenders  = 16
	benchWebhooksLimit = time.Hour
)

// benchWebhooks is how fast a provider's signed events are taken.
type benchWebhooks struct {
	// Events were sent twice each, Senders at once. Each tells of a charge of an open payment, so that
	// the first makes a booking and the second changes nothing.
	Events              int     `json:"events"`
	Senders             int     `json:"senders"`
	FreshPerSecond      float64 `json:"freshPerSecond"`
	DuplicatesPerSecond float64 `json:"duplicatesPerSecond"`
	// Booked and Recorded are the bookings and the events that there are afterwards.
	Booked   int64      `json:"booked"`
	Recorded int64      `json:"recorded"`
	Audit    benchAudit `json:"audit"`
}

// measureWebhooks sends events of a provider that has fallen silent and comes back.
func measureWebhooks(ctx context.Context, s *store, config benchConfig, say func(string, ...any)) (report *benchWebhooks, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, benchWebhooksLimit)
	defer cancel()
	till, err := openBenchTill(ctx, s, "webhooks", 0)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, till.close(ctx)) }()
	open, err := till.stock.makeOpen(ctx, config.Events)
	if err != nil {
		return nil, false, err
	}
	report = &benchWebhooks{Events: config.Events, Senders: benchEventSenders}
	for _, rate := range []struct {
		name      string
		perSecond *float64
	}{{"fresh", &report.FreshPerSecond}, {"duplicates", &report.DuplicatesPerSecond}} {
		if *rate.perSecond, err = till.sendEvents(ctx, open); err != nil {
			return nil, false, err
		}
		say("  %-10s  %8.0f events/s", rate.name, *rate.perSecond)
	}
	if report.Booked, _, err = till.stock.booked(ctx); err != nil {
		return nil, false, err
	}
	if err := s.db.Pool().QueryRow(ctx, `SELECT count(*) FROM provider_events WHERE tenant_id = $1 AND region = $2`,
		till.stock.actor.Tenant.UUID, demoRegion).Scan(&report.Recorded); err != nil {
		return nil, false, fmt.Errorf("count the provider's events: %w", err)
	}
	audit, err := till.app.bookings.Audit(ctx, nil)
	report.Audit.OK = audit.OK
	return report, audit.OK && report.Booked == int64(config.Events) && report.Recorded == int64(config.Events), err
}

// sendEvents sends the event of each payment once, and is how many a second were taken.
func (t *benchTill) sendEvents(ctx context.Context, open []uuid.UUID) (float64, error) {
	transport := &http.Transport{MaxIdleConns: benchEventSenders, MaxIdleConnsPerHost: benchEventSenders}
	defer transport.CloseIdleConnections()
	client := &http.Client{Timeout: apiCallTimeout, Transport: transport}
	begin := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(benchEventSenders)
	for _, attempt := range open {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return t.sendEvent(ctx, client, attempt)
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return rounded(float64(len(open))/time.Since(begin).Seconds(), 10), nil
}

// sendEvent tells that a payment's charge succeeded, as the sandbox does.
func (t *benchTill) sendEvent(ctx context.Context, client *http.Client, attempt uuid.UUID) error {
	now := time.Now().UTC()
	key := payments.AttemptID{Region: demoRegion, UUID: attempt}.String()
	body, err := json.Marshal(map[string]any{
		"id": "evt_" + attempt.String(), "type": "charge.succeeded", "createdAt": now,
		"charge": map[string]any{
			"id": "ch_" + attempt.String(), "account": t.stock.account(), "key": key, "status": "approved", "amountMinor": benchTillMinor,
			"capturedMinor": benchTillMinor, "currency": "EUR", "reference": map[string]any{"tenant": t.stock.actor.Tenant.String(), "attempt": key},
		},
	})
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.webhooksURL(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the request of an event: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(sandbox.SignatureHeader, signSandboxEvent(t.webhookSecret, now, body))
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, apiMaxResponseBytes))
	if err != nil {
		return fmt.Errorf("read the answer to an event: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("an event was answered with status %d: %s", response.StatusCode, said)
	}
	return nil
}

// signSandboxEvent is what SignatureHeader says of itself.
func signSandboxEvent(secret string, at time.Time, body []byte) string {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(timestamp + "."))
	sum.Write(body)
	return "t=" + timestamp + ",v1=" + hex.EncodeToString(sum.Sum(nil))
}

func (w *benchWebhooks) print(out io.Writer) {
	fmt.Fprintf(out, "\nWebhooks of %d payments, %d at once: %.0f fresh events/s, %.0f duplicates/s.\n", w.Events, w.Senders, w.FreshPerSecond, w.DuplicatesPerSecond)
}
