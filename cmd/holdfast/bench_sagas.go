package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// benchLatency is how long the provider takes for each answer. A saga waits for two: which card
	// it is, and the charge.
	benchLatency = 20 * time.Millisecond
	// benchGatherLimit bounds the wait until every buyer waits for the provider.
	benchGatherLimit = 12 * time.Second
	// benchGatherSamples is how often connections are counted while they do.
	benchGatherSamples = 20
	// benchSold is how many bookings a shop has before its sagas are measured. The planner reads small
	// tables whole, and serializable readers of whole tables meet everybody: no shop in use is like that.
	benchSold = 5000
	// benchReconcileEvery is how often the reconciler looks, as workers would have it, for payments
	// whose driver was kept from finishing.
	benchReconcileEvery = time.Second
	// benchSagaRounds is how often all buyers can buy within a cell, at least: a cell that is shorter
	// than a saga would see only the fastest.
	benchSagaRounds = 3
)

// errGather says that not all buyers came to wait for the provider at once.
var errGather = errors.New("not every buyer got as far as the provider")

// benchSagas is how fast places are held, paid and booked, end to end.
type benchSagas struct {
	// LatencyMs is the provider's, of each of its answers.
	LatencyMs float64     `json:"latencyMs"`
	Cells     []benchSaga `json:"cells"`
	// Before are the bookings that the shop had already.
	Before int64 `json:"before"`
	// Booked are all sagas that ended well, warm-ups included; BookedMinor is what they cost, and
	// KeptMinor what the provider has taken. The two are the same when all is right.
	Booked      int64      `json:"booked"`
	BookedMinor int64      `json:"bookedMinor"`
	KeptMinor   int64      `json:"keptMinor"`
	Audit       benchAudit `json:"audit"`
}

// benchSaga is what so many buyers at once achieved.
type benchSaga struct {
	Buyers int `json:"buyers"`
	// Seconds is how long the cell was measured: longer than the others where a saga takes long.
	Seconds        float64 `json:"seconds"`
	SagasPerSecond float64 `json:"sagasPerSecond"`
	// The percentiles are of sagas that began while the cell was measured and ended in a booking,
	// whenever that was.
	P50Ms       float64          `json:"p50Ms"`
	P95Ms       float64          `json:"p95Ms"`
	P99Ms       float64          `json:"p99Ms"`
	Refused     map[string]int   `json:"refused"`
	Errors      map[string]int   `json:"errors,omitempty"`
	Connections benchConnections `json:"connections"`
}

// benchConnections are connections to the database in the server's pool.
type benchConnections struct {
	// Limit is how many the pool has at most.
	Limit int64 `json:"limit"`
	// Peak is the most in use at once, and PeakWaiting the most calls to the provider that waited at
	// once, both while sagas were measured.
	Peak        int64 `json:"peak"`
	PeakWaiting int64 `json:"peakWaiting"`
	// WhileAllWait is how many were in use while every buyer waited for the provider: all are made to
	// wait together for this, once, before the measurement.
	WhileAllWait int64 `json:"whileAllWait"`
}

// measureSagas measures whole sales with each number of buyers.
func measureSagas(ctx context.Context, s *store, config benchConfig, say func(string, ...any)) (report *benchSagas, ok bool, err error) {
	till, err := openBenchTill(ctx, s, "sagas", benchLatency)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, till.close(ctx)) }()
	if err := till.provider.SetWebhookURL(till.webhooksURL()); err != nil {
		return nil, false, err
	}
	if err := till.stock.startSessions(ctx, till.web.url, config.Guests, config.Buyers); err != nil {
		return nil, false, err
	}
	report, ok = &benchSagas{LatencyMs: float64(benchLatency) / float64(time.Millisecond)}, true
	if err := till.sellBefore(ctx, s, min(benchSold, config.Attempts)); err != nil {
		return nil, false, err
	}
	var minorBefore int64
	if report.Before, minorBefore, err = till.stock.booked(ctx); err != nil {
		return nil, false, err
	}
	stop := till.startReconciler(ctx)
	defer stop()
	for _, buyers := range config.Buyers {
		cell, load, err := till.measureBuyers(ctx, config, buyers)
		if err != nil {
			return nil, false, err
		}
		report.Cells = append(report.Cells, cell)
		ok = ok && len(cell.Errors) == 0
		say("  %4d buyers   %8.0f sagas/s  p50 %6.1f ms  p95 %6.1f ms  p99 %6.1f ms  connections %d of %d, %d while all wait  %s", buyers, cell.SagasPerSecond,
			cell.P50Ms, cell.P95Ms, cell.P99Ms, cell.Connections.Peak, cell.Connections.Limit, cell.Connections.WhileAllWait, load.complaints())
	}
	drained, cancel := context.WithTimeout(ctx, benchWebhookPatience)
	defer cancel()
	if err := till.provider.DrainWebhooks(drained); err != nil {
		return nil, false, fmt.Errorf("wait for the provider's last webhooks: %w", err)
	}
	if report.Booked, report.BookedMinor, err = till.stock.booked(ctx); err != nil {
		return nil, false, err
	}
	report.Booked -= report.Before
	report.BookedMinor -= minorBefore
	report.KeptMinor = till.stock.keptBy(till.provider)
	audit, err := till.app.bookings.Audit(ctx, nil)
	report.Audit.OK = audit.OK
	return report, ok && audit.OK && report.KeptMinor == report.BookedMinor, err
}

// sellBefore makes bookings of the till's tenant, as a provider that answers at once lets the
// reconciler make them.
func (t *benchTill) sellBefore(ctx context.Context, s *store, bookings int) error {
	provider := &benchPrompt{}
	provider.paid.Store(true)
	a, err := newBenchApp(ctx, s, provider)
	if err != nil {
		return err
	}
	defer a.close()
	earlier := &benchStock{app: a, shards: t.stock.shards, actor: t.stock.actor, channel: t.stock.channel, show: t.stock.show, pool: t.stock.pool}
	if _, err := earlier.makeOpen(ctx, bookings); err != nil {
		return err
	}
	if _, err := earlier.reconcileAll(ctx, bookings); err != nil {
		return err
	}
	return earlier.analyze(ctx, "holds", "hold_lines", "checkouts", "payment_attempts", "bookings", "booking_lines", "pool_counters", "events")
}

// startReconciler looks after payments until stop, which waits for the last look.
func (t *benchTill) startReconciler(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(benchReconcileEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				// What could not be done now is due again, as with workers.
				_, _ = t.app.bookings.Reconcile(ctx, benchReconcileBatch)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// measureBuyers measures one cell.
func (t *benchTill) measureBuyers(ctx context.Context, config benchConfig, buyers int) (benchSaga, benchLoad, error) {
	pool := t.app.store.db.Pool()
	cell := benchSaga{Buyers: buyers, Connections: benchConnections{Limit: int64(pool.Stat().MaxConns())}}
	asked := time.Now()
	var err error
	if cell.Connections.WhileAllWait, err = t.connectionsWhileAllWait(ctx, buyers); err != nil {
		return cell, benchLoad{}, err
	}
	round := time.Since(asked)
	warmUp, measured := max(config.warmUp(), round), max(config.measured(), benchSagaRounds*round)
	begun := &benchBegun{since: time.Now().Add(warmUp)}
	peaksOf := watchPeaks(pool, t.gateway)
	load, err := runLoad(ctx, buyers, warmUp, measured, begun.measure(t.stock.buy))
	peaks := peaksOf()
	if err != nil {
		return cell, load, err
	}
	cell.Seconds, cell.SagasPerSecond = rounded(measured.Seconds(), 10), rounded(float64(len(load.latencies))/load.took.Seconds(), 10)
	all := benchLoad{latencies: slices.Sorted(slices.Values(begun.latencies))}
	cell.P50Ms, cell.P95Ms, cell.P99Ms = all.percentile(50), all.percentile(95), all.percentile(99)
	cell.Refused, cell.Errors = load.refused, load.errors
	cell.Connections.Peak, cell.Connections.PeakWaiting = peaks.connections, peaks.waiting
	return cell, load, nil
}

// benchBegun keeps how long what began at or after an instant took.
type benchBegun struct {
	since     time.Time
	lock      sync.Mutex
	latencies []time.Duration
}

// measure keeps the time of what act does without an error or a refusal.
func (b *benchBegun) measure(act benchHolder) benchHolder {
	return func(ctx context.Context) (string, error) {
		begin := time.Now()
		code, err := act(ctx)
		if err == nil && code == "" && !begin.Before(b.since) {
			b.lock.Lock()
			defer b.lock.Unlock()
			b.latencies = append(b.latencies, time.Since(begin))
		}
		return code, err
	}
}

// connectionsWhileAllWait lets every buyer pay at once, keeps them all waiting for the provider, and
// counts the connections in use meanwhile. Nothing else happens then, so what waiting takes is in
// every count; the lowest leaves out what was just being given back.
func (t *benchTill) connectionsWhileAllWait(ctx context.Context, buyers int) (int64, error) {
	all := newBenchGathering(buyers)
	t.gateway.gathering.Store(all)
	defer t.gateway.gathering.Store(nil)
	var group errgroup.Group
	for range buyers {
		group.Go(func() error {
			code, err := t.stock.buy(ctx)
			if err == nil && code != "" {
				err = fmt.Errorf("a buyer was told %s", code)
			}
			return err
		})
	}
	timer := time.NewTimer(benchGatherLimit)
	defer timer.Stop()
	var least int64
	var err error
	select {
	case <-all.complete:
		least, err = t.leastConnections(ctx)
	case <-timer.C:
		err = fmt.Errorf("%w: %d of %d within %s", errGather, all.came.Load(), buyers, benchGatherLimit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	close(all.open)
	return least, errors.Join(err, group.Wait())
}

func (t *benchTill) leastConnections(ctx context.Context) (int64, error) {
	ticker := time.NewTicker(benchWatchEvery)
	defer ticker.Stop()
	least := int64(t.app.store.db.Pool().Stat().AcquiredConns())
	for range benchGatherSamples {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-ticker.C:
			least = min(least, int64(t.app.store.db.Pool().Stat().AcquiredConns()))
		}
	}
	return least, nil
}

func (s *benchSagas) print(out io.Writer) {
	fmt.Fprintf(out, "\nSagas (hold, checkout, booked), the provider at %g ms an answer:\n", s.LatencyMs)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "buyers\tsagas/s\tp50 ms\tp95 ms\tp99 ms\tconnections\tmost waiting\tconnections while all wait\trefused\t")
	for _, cell := range s.Cells {
		fmt.Fprintf(table, "%d\t%.0f\t%.1f\t%.1f\t%.1f\t%d of %d\t%d\t%d\t%s\t\n", cell.Buyers, cell.SagasPerSecond, cell.P50Ms, cell.P95Ms, cell.P99Ms,
			cell.Connections.Peak, cell.Connections.Limit, cell.Connections.PeakWaiting, cell.Connections.WhileAllWait, counts(cell.Refused, cell.Errors))
	}
	// The terminal may be gone; the exit status says the same.
	_ = table.Flush()
	fmt.Fprintf(out, "%d bookings of %d cents; the provider took %d cents.\n", s.Booked, s.BookedMinor, s.KeptMinor)
}
