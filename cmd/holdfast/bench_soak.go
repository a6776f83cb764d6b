package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/payments/sandbox"
)

// How long a soak may be, and how it goes.
const (
	benchMinSoak = time.Second
	benchMaxSoak = 24 * time.Hour
	// benchSoakBuyers buy one after the other with a pause, so that the workers keep up and what is
	// waited for is bounded.
	benchSoakBuyers = 8
	benchSoakPause  = 100 * time.Millisecond
	// benchSoakParts is how many figures there are of the memory; each is of so many looks.
	benchSoakParts = 10
	benchSoakLooks = 20
	// benchSoakSettle bounds the wait for the last payments after the last buyer.
	benchSoakSettle = 5 * time.Minute
	benchSoakHang   = 15 * time.Second
)

// benchFault is one way in which the provider goes wrong.
type benchFault struct {
	token string
	// perMille is of how many of 1,000 payments.
	perMille int
}

// benchFaults are the faults of a soak; the other payments are approved.
func benchFaults() []benchFault {
	return []benchFault{
		{sandbox.TokenTimeoutApprove, 20},
		{sandbox.TokenLateApproveAfter + "3s", 20},
		{sandbox.TokenPendingApproveAfter + "1s", 20},
		{sandbox.TokenUnknownThenApprove, 20},
		{sandbox.TokenErrorApprove, 10},
		{sandbox.TokenLostOnce, 10},
		{sandbox.TokenWebhookTwice, 20},
		{sandbox.TokenWebhookBeforeResponse, 20},
		{sandbox.TokenWebhookNever, 10},
		{sandbox.TokenApproveThenDecline, 10},
		{sandbox.TokenDecline, 20},
		{sandbox.TokenWrongAmount, 10},
		{sandbox.TokenRefundTimeout, 10},
	}
}

// benchSoakWebhooks is how unreliable all webhooks are beside that.
func benchSoakWebhooks() sandbox.WebhookFaults {
	return sandbox.WebhookFaults{Seed: 1, Drop: 0.01, Double: 0.1, Shuffle: 0.1}
}

// benchSoaked is the memory of a server with its workers while payments go wrong.
type benchSoaked struct {
	Seconds float64 `json:"seconds"`
	// Payments were begun, Faulty of them with a provider that went wrong.
	Payments int64            `json:"payments"`
	Faulty   int64            `json:"faulty"`
	Refused  map[string]int   `json:"refused"`
	Errors   map[string]int   `json:"errors,omitempty"`
	Memory   []benchSoakPoint `json:"memory"`
	// HeapSlope and RSSSlope are bytes a minute, of the straight line that fits the memory best; the
	// first figure, in which pools and caches fill, is left out.
	HeapSlope float64 `json:"heapSlopeBytesPerMinute"`
	RSSSlope  float64 `json:"rssSlopeBytesPerMinute"`
	// Booked are the bookings, and BookedMinor what they cost; KeptMinor is what the provider has
	// taken and not given back. The two are the same when all is right.
	Booked      int64      `json:"booked"`
	BookedMinor int64      `json:"bookedMinor"`
	KeptMinor   int64      `json:"keptMinor"`
	Audit       benchAudit `json:"audit"`
}

// benchSoakPoint is the memory in one part of the soak.
type benchSoakPoint struct {
	// Second is when the part ended, from the beginning.
	Second float64 `json:"second"`
	// HeapBytes is the least that the heap had, which is about what a collection left; RSSBytes is the
	// most that was resident, 0 where the system does not tell.
	HeapBytes int64 `json:"heapBytes"`
	RSSBytes  int64 `json:"rssBytes"`
	// Payments were begun so far.
	Payments int64 `json:"payments"`
}

// measureSoak lets buyers buy for a while from a server process with workers, whose provider goes
// wrong all the time, and waits until every payment has ended.
func measureSoak(ctx context.Context, a *app, config benchConfig, say func(string, ...any)) (report *benchSoaked, ok bool, err error) {
	stock, err := makeBenchShow(ctx, a, "soak")
	if err != nil {
		return nil, false, err
	}
	provider, _, err := startSandbox(ctx, sandbox.Config{
		SecretKey: newSecret(), WebhookSecrets: []string{newSecret()}, Latency: benchLatency, HangLimit: benchSoakHang, WebhookFaults: benchSoakWebhooks(),
	})
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, closeSandbox(ctx, provider)) }()
	access := provider.GatewayConfig()
	server, err := startBenchServer(ctx, config.Server, a.store.url, "HOLDFAST_WORKERS=true", "HOLDFAST_SANDBOX_URL="+access.BaseURL,
		"HOLDFAST_SANDBOX_SECRET="+access.SecretKey, "HOLDFAST_SANDBOX_WEBHOOK_SECRETS="+strings.Join(access.WebhookSecrets, ","))
	if err != nil {
		return nil, false, err
	}
	running := true
	stop := func() error {
		if !running {
			return nil
		}
		running = false
		return server.stop()
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := provider.SetWebhookURL(server.url + "/webhooks/payments/" + sandbox.Name); err != nil {
		return nil, false, err
	}
	if err := stock.startSessions(ctx, server.url, config.Guests, []int{benchSoakBuyers}); err != nil {
		return nil, false, err
	}
	defer stock.api.close()
	soak := &benchSoak{stock: stock, server: server, say: say}
	if report, err = soak.run(ctx, config.Soak); err != nil {
		return nil, false, err
	}
	if err := stock.settled(ctx, provider); err != nil {
		return nil, false, err
	}
	// What the workers have in hand is finished, so that the audit sees the end of it.
	if err := stop(); err != nil {
		return nil, false, err
	}
	if report.Booked, report.BookedMinor, err = stock.booked(ctx); err != nil {
		return nil, false, err
	}
	report.KeptMinor = stock.keptBy(provider)
	audit, err := a.bookings.Audit(ctx, nil)
	report.Audit.OK = audit.OK
	return report, audit.OK && len(report.Errors) == 0 && report.KeptMinor == report.BookedMinor, err
}

// benchSoak is a soak under way.
type benchSoak struct {
	stock            *benchStock
	server           *benchServer
	say              func(string, ...any)
	payments, faulty atomic.Int64
}

func (s *benchSoak) run(ctx context.Context, lasts time.Duration) (*benchSoaked, error) {
	var load benchLoad
	var points []benchSoakPoint
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		load, err = runLoad(ctx, benchSoakBuyers, 0, lasts, s.buy)
		return err
	})
	group.Go(func() (err error) {
		points, err = s.watch(ctx, lasts)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(load.errors) > 0 {
		s.say("  %s", load.complaints())
	}
	report := &benchSoaked{
		Seconds: rounded(lasts.Seconds(), 10), Payments: s.payments.Load(), Faulty: s.faulty.Load(), Refused: load.refused, Errors: load.errors, Memory: points,
	}
	report.HeapSlope = slopePerMinute(points[1:], func(p benchSoakPoint) int64 { return p.HeapBytes })
	report.RSSSlope = slopePerMinute(points[1:], func(p benchSoakPoint) int64 { return p.RSSBytes })
	return report, nil
}

// buy begins one payment and does not wait for its end when the provider goes wrong.
func (s *benchSoak) buy(ctx context.Context) (string, error) {
	token, at := sandbox.TokenApprove, rand.IntN(1000)
	for _, fault := range benchFaults() {
		if at -= fault.perMille; at < 0 {
			token = fault.token
			s.faulty.Add(1)
			break
		}
	}
	s.payments.Add(1)
	_, paid, err := s.stock.checkOut(ctx, token)
	select {
	case <-ctx.Done():
	case <-time.After(benchSoakPause):
	}
	return paid.Code, err
}

// watch looks at the server's memory until the soak is over.
func (s *benchSoak) watch(ctx context.Context, lasts time.Duration) ([]benchSoakPoint, error) {
	client := &http.Client{Timeout: apiCallTimeout, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(lasts / (benchSoakParts * benchSoakLooks))
	defer ticker.Stop()
	begin := time.Now()
	var points []benchSoakPoint
	for len(points) < benchSoakParts {
		var point benchSoakPoint
		for range benchSoakLooks {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-ticker.C:
			}
			heap, err := heapOf(ctx, client, s.server.url)
			if err != nil {
				return nil, err
			}
			if point.HeapBytes == 0 || heap < point.HeapBytes {
				point.HeapBytes = heap
			}
			point.RSSBytes = max(point.RSSBytes, s.server.memory().now)
		}
		point.Second, point.Payments = rounded(time.Since(begin).Seconds(), 10), s.payments.Load()
		points = append(points, point)
		s.say("  %6.0f s  heap %6.1f MiB  resident %6.1f MiB  %d payments", point.Second, mebibytes(point.HeapBytes), mebibytes(point.RSSBytes), point.Payments)
	}
	return points, nil
}

// errNoHeap says that a server's metrics do not tell its heap.
var errNoHeap = errors.New("the metrics do not tell how large the heap is")

// heapOf is what a server's metrics say of its heap, in bytes.
func heapOf(ctx context.Context, client *http.Client, url string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("ask for the metrics: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask for the metrics: %w", err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(io.LimitReader(response.Body, apiMaxResponseBytes))
	heap := int64(-1)
	// It is read to the end, so that the connection can be used again.
	for lines.Scan() {
		value, found := strings.CutPrefix(lines.Text(), "go_memstats_heap_alloc_bytes ")
		if !found {
			continue
		}
		parsed, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("read the size of the heap: %w", err)
		}
		heap = int64(parsed)
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read the metrics: %w", err)
	}
	if heap < 0 {
		return 0, errNoHeap
	}
	return heap, nil
}

// slopePerMinute is by how much a figure grows a minute along the straight line that fits best, by
// least squares; 0 of less than two points.
func slopePerMinute(points []benchSoakPoint, figure func(benchSoakPoint) int64) float64 {
	n := float64(len(points))
	var x, y, xx, xy float64
	for _, p := range points {
		minute, value := p.Second/60, float64(figure(p))
		x, y, xx, xy = x+minute, y+value, xx+minute*minute, xy+minute*value
	}
	below := n*xx - x*x
	if len(points) < 2 || below == 0 {
		return 0
	}
	return rounded((n*xy-x*y)/below, 1)
}

// settled waits until every payment and refund has ended and the provider has told all it will.
func (b *benchStock) settled(ctx context.Context, provider *sandbox.Server) error {
	ctx, cancel := context.WithTimeout(ctx, benchSoakSettle)
	defer cancel()
	if err := provider.DrainWebhooks(ctx); err != nil {
		return fmt.Errorf("wait for the provider's last webhooks: %w", err)
	}
	for {
		var open int64
		if err := b.app.store.db.Pool().QueryRow(ctx, `SELECT
				(SELECT count(*) FROM payment_attempts WHERE tenant_id = $1 AND region = $2 AND settled_at IS NULL)
				+ (SELECT count(*) FROM refunds WHERE tenant_id = $1 AND region = $2 AND settled_at IS NULL)`,
			b.actor.Tenant.UUID, demoRegion).Scan(&open); err != nil {
			return fmt.Errorf("count the payments and refunds that are open: %w", err)
		}
		if open == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d payments and refunds were still open after %s: %w", open, benchSoakSettle, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

func (s *benchSoaked) print(out io.Writer) {
	fmt.Fprintf(out, "\nSoak of %g s: %d payments, %d of them with a provider that goes wrong; refused: %s.\n", s.Seconds, s.Payments, s.Faulty, counts(s.Refused, s.Errors))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "second\theap MiB\tresident MiB\tpayments\t")
	for _, point := range s.Memory {
		fmt.Fprintf(table, "%.0f\t%.1f\t%.1f\t%d\t\n", point.Second, mebibytes(point.HeapBytes), mebibytes(point.RSSBytes), point.Payments)
	}
	// The terminal may be gone; the exit status says the same.
	_ = table.Flush()
	fmt.Fprintf(out, "Slope: heap %+.2f MiB a minute, resident %+.2f MiB a minute.\n", mebibytes(int64(s.HeapSlope)), mebibytes(int64(s.RSSSlope)))
	fmt.Fprintf(out, "%d bookings of %d cents; the provider kept %d cents.\n", s.Booked, s.BookedMinor, s.KeptMinor)
}
