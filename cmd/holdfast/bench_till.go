package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// What the sections about payments sell: single places of one show, whose counter is split, so that
// the payments are measured and not one hot row.
const (
	benchTillMinor  = 2500
	benchTillShards = 64
)

// Limits of what is sold through a till.
const (
	// benchBusyTries is how often a buyer asks again who is told BUSY, with a pause between.
	benchBusyTries = 100
	benchBusyPause = 10 * time.Millisecond
	// benchInlineWait is how long a checkout waits for the provider, so that nobody asks after a
	// payment while all buyers are made to wait.
	benchInlineWait = 20 * time.Second
	// benchMaxInline lets every buyer's payment be driven by the server, for there are no workers.
	benchMaxInline = 4 * benchMaxClients
	// benchWebhookPatience bounds the wait for the provider's last webhooks.
	benchWebhookPatience = time.Minute
)

// benchTill is a tenant that sells from a server in this process, with the sandbox as its provider.
// There are no workers: it is the buyers' path that is measured.
type benchTill struct {
	app      *app
	provider *sandbox.Server
	gateway  *benchGateway
	web      *server
	stock    *benchStock
	// webhookSecret signs the provider's events.
	webhookSecret string
}

// openBenchTill starts everything over a migrated database. The tenant is called name.
func openBenchTill(ctx context.Context, s *store, name string, latency time.Duration) (till *benchTill, err error) {
	till = &benchTill{webhookSecret: newSecret()}
	defer func() {
		if err != nil {
			err = errors.Join(err, till.close(ctx))
		}
	}()
	provider, gateways, err := startSandbox(ctx, sandbox.Config{SecretKey: newSecret(), WebhookSecrets: []string{till.webhookSecret}, Latency: latency})
	if err != nil {
		return till, err
	}
	till.provider, till.gateway = provider, &benchGateway{Gateway: gateways[sandbox.Name]}
	if till.app, err = newBenchApp(ctx, s, till.gateway); err != nil {
		return till, err
	}
	if till.stock, err = makeBenchShow(ctx, till.app, name); err != nil {
		return till, err
	}
	handler, err := till.app.handler(httpOptions{})
	if err != nil {
		return till, err
	}
	listener, err := bind(ctx, "127.0.0.1:0")
	if err != nil {
		return till, err
	}
	till.web = serveOn(listener, handler)
	return till, nil
}

// newBenchApp is services that are paid through a gateway, with metrics of their own.
func newBenchApp(ctx context.Context, s *store, gateway payments.Gateway) (*app, error) {
	own := *s
	own.registry = prometheus.NewRegistry()
	return newApp(ctx, &own, map[string]payments.Gateway{sandbox.Name: gateway}, discard(), appSettings{
		tuneSales: func(c *bookings.Config) { c.InlineWait, c.MaxInline = benchInlineWait, benchMaxInline },
	})
}

// webhooksURL is where the provider tells of its decisions.
func (t *benchTill) webhooksURL() string { return t.web.url + "/webhooks/payments/" + sandbox.Name }

// close stops what was started, the last first. It may be called on half a till.
func (t *benchTill) close(ctx context.Context) error {
	if t.stock != nil && t.stock.api != nil {
		t.stock.api.close()
	}
	var err error
	if t.web != nil {
		err = t.web.close(ctx)
	}
	if t.provider != nil {
		err = errors.Join(err, closeSandbox(ctx, t.provider))
	}
	if t.app != nil {
		t.app.close()
	}
	return err
}

// makeBenchShow sets up a tenant with one show of places.
func makeBenchShow(ctx context.Context, a *app, name string) (*benchStock, error) {
	stock := &benchStock{app: a, shards: benchTillShards}
	venue, err := stock.makeTenant(ctx, name)
	if err != nil {
		return nil, err
	}
	event, err := a.inventory.CreateEvent(ctx, stock.actor, "event", inventory.NewEvent{Venue: venue, Name: name})
	if err != nil {
		return nil, err
	}
	if stock.show, err = a.inventory.CreateShow(ctx, stock.actor, "show", inventory.NewShow{
		Event: event, Name: name, StartsAt: time.Now().AddDate(0, 2, 0),
		PriceLevels: []inventory.NewPriceLevel{{Name: "Standing", AmountMinor: benchTillMinor}},
		Pools:       []inventory.NewPool{{Name: "Standing", PriceLevel: "Standing", Capacity: benchPlaces, Shards: benchTillShards}},
	}); err != nil {
		return nil, err
	}
	if err := stock.findPool(ctx); err != nil {
		return nil, err
	}
	return stock, stock.analyze(ctx, "pool_counters")
}

// buy is one whole saga: a place is held, paid and booked. The answer is the code of what kept it
// from being booked.
func (b *benchStock) buy(ctx context.Context) (string, error) {
	guest, paid, err := b.checkOut(ctx, sandbox.TokenApprove)
	if err != nil || paid.Code != "" || paid.Booking != nil {
		return paid.Code, err
	}
	hold := paid.Hold
	if err := poll(ctx, "a hold to be booked", func(ctx context.Context) (bool, string, error) {
		hold, err = ask[apiHold](ctx, guest, apiReadHold, map[string]any{"id": paid.Hold.ID})
		return hold.State != "PROCESSING", hold.State, err
	}); err != nil {
		return "", err
	}
	if hold.Booking == nil {
		return hold.State, nil
	}
	return "", nil
}

// checkOut holds a place as the next guest and pays with a card that nobody used before.
func (b *benchStock) checkOut(ctx context.Context, token string) (apiCaller, apiPaid, error) {
	guest := b.guests[b.nextGuest.Add(1)%uint64(len(b.guests))]
	holdKey, payKey := uuid.NewString(), uuid.NewString()
	placed, err := untilAnswered(ctx, func(ctx context.Context) (apiPlaced, error) {
		return guest.place(ctx, holdKey, poolInput(b.pool.String(), 1))
	})
	if err != nil || placed.Code != "" {
		return guest, apiPaid{apiRefusal: placed.apiRefusal}, err
	}
	paid, err := untilAnswered(ctx, func(ctx context.Context) (apiPaid, error) {
		return ask[apiPaid](ctx, guest, apiCheckout, map[string]any{"input": apiInput{
			"requestKey": payKey, "hold": placed.ID, "paymentMethod": apiInput{"token": token + ":" + payKey},
			"expectedTotal": placed.Total.input(), "contact": apiInput{"name": "Guest"},
		}})
	})
	return guest, paid, err
}

// untilAnswered asks again while the answer is BUSY, as a client should.
func untilAnswered[T interface{ refusalCode() string }](ctx context.Context, call func(ctx context.Context) (T, error)) (answer T, err error) {
	for range benchBusyTries {
		if answer, err = call(ctx); err != nil || answer.refusalCode() != refusalBusy {
			break
		}
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(benchBusyPause):
		}
	}
	return answer, err
}

// benchOpenPerInsert is how many open payments one transaction makes.
const benchOpenPerInsert = 2000

// makeOpen writes payments whose outcome is not known, as a provider leaves them that has fallen
// silent: their holds can be bought for another day, and they are due to be asked about. Each has
// the id of its hold.
func (b *benchStock) makeOpen(ctx context.Context, open int) ([]uuid.UUID, error) {
	d, tenant := b.app.store.db, b.actor.Tenant
	all := make([]uuid.UUID, open)
	for i := range all {
		all[i] = uuid.New()
	}
	for batch := range slices.Chunk(all, benchOpenPerInsert) {
		shards, counted := make([]int64, len(batch)), make([]int64, b.shards)
		each := make([]int64, b.shards)
		for i := range shards {
			shards[i] = int64(i % b.shards)
			counted[shards[i]]++
		}
		for i := range each {
			each[i] = int64(i)
		}
		for _, statement := range []struct {
			sql  string
			args []any
		}{
			{`INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline,
					claimable_at, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline,
					max_per_instrument, total_minor, currency)
				SELECT $1::uuid, $2::text, h.id, $3::uuid, 'GUEST', h.id, 'PROCESSING', now() - interval '1 hour', now() + interval '1 day',
					now() + interval '1 day', now() + interval '1 day', 0, 60, 60, 60, 60, 'HONOUR', 'RELEASE', 5, $4::bigint, 'EUR'
				FROM (SELECT unnest($5::uuid[]) AS id) AS h`, []any{tenant.UUID, demoRegion, b.channel.UUID, int64(benchTillMinor), batch}},
			{
				`INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, pool_id, shard, bucket, quantity, amount_minor)
				SELECT $1::uuid, $2::text, h.id, 0, 0, 'POOL', $3::uuid, $4::uuid, h.shard, '00000000-0000-0000-0000-000000000000'::uuid, 1, $5::bigint
				FROM (SELECT unnest($6::uuid[]) AS id, unnest($7::bigint[]) AS shard) AS h`,
				[]any{tenant.UUID, demoRegion, b.show.UUID, b.pool.UUID, int64(benchTillMinor), batch, shards},
			},
			{
				`UPDATE pool_counters AS c SET held = c.held + l.held
				FROM (SELECT unnest($4::bigint[]) AS shard, unnest($5::bigint[]) AS held) AS l
				WHERE c.tenant_id = $1::uuid AND c.region = $2::text AND c.pool_id = $3::uuid
					AND c.bucket = '00000000-0000-0000-0000-000000000000'::uuid AND c.shard = l.shard`,
				[]any{tenant.UUID, demoRegion, b.pool.UUID, each, counted},
			},
			{`INSERT INTO checkouts (tenant_id, region, hold_id, contact_name, contact_email, partner_reference)
				SELECT $1::uuid, $2::text, h.id, '', '', '' FROM (SELECT unnest($3::uuid[]) AS id) AS h`, []any{tenant.UUID, demoRegion, batch}},
			{
				`INSERT INTO payment_attempts (tenant_id, region, id, hold_id, provider, account, method_token, amount_minor, currency, state, checks,
					next_check_at, created_at, submitted_at)
				SELECT $1::uuid, $2::text, h.id, h.id, $3::text, $4::text, 'tok', $5::bigint, 'EUR', 'UNKNOWN', 9, now() - interval '1 second',
					now() - interval '1 hour', now() - interval '1 hour'
				FROM (SELECT unnest($6::uuid[]) AS id) AS h`,
				[]any{tenant.UUID, demoRegion, sandbox.Name, b.account(), int64(benchTillMinor), batch},
			},
		} {
			if err := execInTx(ctx, d, statement.sql, statement.args...); err != nil {
				return nil, err
			}
		}
	}
	return all, b.analyze(ctx, "holds", "hold_lines", "checkouts", "payment_attempts")
}

// account is the tenant's at the provider.
func (b *benchStock) account() string { return b.actor.Tenant.String() }

// booked is what the tenant has sold.
func (b *benchStock) booked(ctx context.Context) (count, minor int64, err error) {
	if err := b.app.store.db.Pool().QueryRow(ctx, `SELECT count(*), COALESCE(sum(total_minor), 0)::bigint FROM bookings WHERE tenant_id = $1 AND region = $2`,
		b.actor.Tenant.UUID, demoRegion).Scan(&count, &minor); err != nil {
		return 0, 0, fmt.Errorf("count the bookings: %w", err)
	}
	return count, minor, nil
}

// keptBy is what a provider has taken for the tenant and not given back.
func (b *benchStock) keptBy(provider *sandbox.Server) int64 {
	return provider.CapturedTotal(b.account())["EUR"] - provider.RefundedTotal(b.account())["EUR"]
}

// benchGateway counts the calls that wait for the provider.
type benchGateway struct {
	payments.Gateway
	waiting atomic.Int64
	// gathering is where charges meet before they are sent on; nil is nowhere.
	gathering atomic.Pointer[benchGathering]
}

// Charge implements payments.Gateway.
func (g *benchGateway) Charge(ctx context.Context, request payments.ChargeRequest) (payments.Outcome, error) {
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	if all := g.gathering.Load(); all != nil {
		if err := all.join(ctx); err != nil {
			return payments.Outcome{}, err
		}
	}
	return g.Gateway.Charge(ctx, request)
}

// Fingerprint implements payments.Gateway.
func (g *benchGateway) Fingerprint(ctx context.Context, account, methodToken string) (string, error) {
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	return g.Gateway.Fingerprint(ctx, account, methodToken)
}

// benchGathering keeps those who come until it is opened.
type benchGathering struct {
	expected int64
	came     atomic.Int64
	// complete is closed by the last who is expected, and open by who lets them go.
	complete, open chan struct{}
}

func newBenchGathering(expected int) *benchGathering {
	return &benchGathering{expected: int64(expected), complete: make(chan struct{}), open: make(chan struct{})}
}

func (g *benchGathering) join(ctx context.Context) error {
	if g.came.Add(1) == g.expected {
		close(g.complete)
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// benchWatchEvery is how often connections and waiting calls are counted.
const benchWatchEvery = time.Millisecond

// benchPeaks are the most of something at one moment.
type benchPeaks struct{ connections, waiting int64 }

// watchPeaks counts connections in use and calls that wait for the provider until stop, which is
// called once and tells the peaks.
func watchPeaks(pool *pgxpool.Pool, gateway *benchGateway) (stop func() benchPeaks) {
	quit, peaks := make(chan struct{}), make(chan benchPeaks)
	go func() {
		ticker := time.NewTicker(benchWatchEvery)
		defer ticker.Stop()
		var most benchPeaks
		for {
			select {
			case <-ticker.C:
				most.connections = max(most.connections, int64(pool.Stat().AcquiredConns()))
				most.waiting = max(most.waiting, gateway.waiting.Load())
			case <-quit:
				peaks <- most
				return
			}
		}
	}()
	return func() benchPeaks {
		close(quit)
		return <-peaks
	}
}
