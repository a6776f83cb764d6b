package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// webhookWorkers is how many deliveries are under way at once.
const webhookWorkers = 8

// maxReceiverAnswer bounds how much of a receiver's answer is read, in bytes, so that its
// connection can be used again.
const maxReceiverAnswer = 4 << 10

// WebhookStats counts what happened to webhooks since the server was made.
type WebhookStats struct {
	// Queued are waiting for delivery or for another try.
	Queued int
	// Delivered were answered with 2xx; a webhook sent twice counts twice.
	Delivered int
	// FailedTries were answered otherwise or not at all, and tried again.
	FailedTries int
	// Dropped did not fit the queue, or failed as often as is tried.
	Dropped int
}

// webhooks delivers events.
type webhooks struct {
	config Config
	client *http.Client
	// ctx is the life of the workers; cancel ends it.
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	// ready has room for the whole queue, so that nobody ever waits to put something in.
	ready chan *delivery

	mu    sync.Mutex
	url   string
	stats WebhookStats
	// chance decides the configured faults.
	chance *rand.Rand
	// idle closes when the queue becomes empty.
	idle chan struct{}
}

type delivery struct {
	id    string
	body  []byte
	tries int
	// tried closes after the first try.
	tried chan struct{}
}

func newWebhooks(config Config) *webhooks {
	ctx, cancel := context.WithCancel(context.Background())
	w := &webhooks{
		config: config,
		client: &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: webhookWorkers, MaxConnsPerHost: webhookWorkers, IdleConnTimeout: 30 * time.Second},
			// A redirect is not a receipt.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		ctx:    ctx,
		cancel: cancel,
		ready:  make(chan *delivery, config.WebhookQueue),
		url:    config.WebhookURL,
		chance: rand.New(rand.NewPCG(config.WebhookFaults.Seed, 0)), //nolint:gosec // faults are to be repeatable, not secret
	}
	for range webhookWorkers {
		w.done.Go(w.work)
	}
	return w
}

// announce queues an event as often as its token says; the channel closes after the first try.
func (w *webhooks) announce(event wireEvent, kind webhookKind) <-chan struct{} {
	tried := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	faults := w.config.WebhookFaults
	// Drawn for each event alike, so that one share does not change what another one meets.
	drop, double, shuffle := w.chance.Float64() < faults.Drop, w.chance.Float64() < faults.Double, w.chance.Float64() < faults.Shuffle
	wait := time.Duration(w.chance.Int64N(int64(faults.ShuffleWithin)))
	if kind == webhookNever || w.url == "" || drop {
		close(tried)
		return tried
	}
	body, err := json.Marshal(event)
	if err != nil {
		panic(fmt.Sprintf("sandbox: encode a webhook: %v", err))
	}
	if !shuffle {
		wait = 0
	}
	if !w.enqueue(&delivery{id: event.ID, body: body, tried: tried}, wait) {
		close(tried)
		return tried
	}
	if kind == webhookTwice || double {
		w.enqueue(&delivery{id: event.ID, body: body, tried: make(chan struct{})}, 0)
	}
	return tried
}

// enqueue takes a delivery, for after a wait, unless the queue is full. The caller holds the lock.
func (w *webhooks) enqueue(d *delivery, wait time.Duration) bool {
	if w.stats.Queued >= w.config.WebhookQueue {
		w.stats.Dropped++
		w.config.Logger.Warn("sandbox webhook dropped: the queue is full", slog.String("event", d.id))
		return false
	}
	if w.stats.Queued == 0 {
		w.idle = make(chan struct{})
	}
	w.stats.Queued++
	if wait > 0 {
		time.AfterFunc(w.config.scaled(wait), func() { w.ready <- d })
		return true
	}
	w.ready <- d
	return true
}

func (w *webhooks) work() {
	for {
		select {
		case <-w.ctx.Done():
			return
		case d := <-w.ready:
			w.try(d)
		}
	}
}

func (w *webhooks) try(d *delivery) {
	err := w.send(d.body)
	d.tries++
	if d.tries == 1 {
		close(d.tried)
	}
	switch {
	case err == nil:
		w.settle(func(stats *WebhookStats) { stats.Delivered++ })
	case w.ctx.Err() != nil:
		// The server is closing; it counts what is left in the queue.
	case d.tries >= w.config.WebhookAttempts:
		w.settle(func(stats *WebhookStats) { stats.FailedTries++; stats.Dropped++ })
		w.config.Logger.Warn("sandbox webhook dropped: tried too often", slog.String("event", d.id), slog.Int("tries", d.tries), slog.Any("error", err))
	default:
		w.mu.Lock()
		w.stats.FailedTries++
		w.mu.Unlock()
		time.AfterFunc(w.backoff(d.tries), func() { w.ready <- d })
	}
}

// settle takes a delivery out of the queue.
func (w *webhooks) settle(count func(*WebhookStats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	count(&w.stats)
	w.stats.Queued--
	if w.stats.Queued == 0 {
		close(w.idle)
	}
}

// send makes one delivery. The signature is made anew each time, so that a late delivery is as
// fresh as a first one.
func (w *webhooks) send(body []byte) error {
	ctx, cancel := context.WithTimeout(w.ctx, w.config.WebhookTimeout)
	defer cancel()
	w.mu.Lock()
	target := w.url
	w.mu.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the delivery of a webhook: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(SignatureHeader, sign(w.config.WebhookSecrets, w.config.Now(), body))
	response, err := w.client.Do(request)
	if err != nil {
		return fmt.Errorf("deliver a webhook: %w", err)
	}
	defer response.Body.Close()
	// What the receiver says does not matter, only that it is done saying it.
	_, _ = io.CopyN(io.Discard, response.Body, maxReceiverAnswer)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("deliver a webhook: the receiver answered %s", response.Status)
	}
	return nil
}

// backoff is the wait after so many tries: doubled each time up to the bound, of which a random
// half is left out, so that a receiver that comes back is not met by all at once.
func (w *webhooks) backoff(tries int) time.Duration {
	wait := w.config.WebhookRetryFirst
	for range tries - 1 {
		if wait >= w.config.WebhookRetryMax {
			break
		}
		wait *= 2
	}
	wait = w.config.scaled(min(wait, w.config.WebhookRetryMax))
	return wait/2 + rand.N(wait/2+1)
}

func (w *webhooks) setURL(target string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.url = target
}

func (w *webhooks) snapshot() WebhookStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// drain waits until nothing is queued.
func (w *webhooks) drain(ctx context.Context) error {
	for {
		w.mu.Lock()
		queued, idle := w.stats.Queued, w.idle
		w.mu.Unlock()
		if queued == 0 {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d sandbox webhooks: %w", queued, ctx.Err())
		}
	}
}

// close stops delivering; what is queued is lost, as it may be with any provider.
func (w *webhooks) close() {
	w.cancel()
	w.done.Wait()
	w.client.CloseIdleConnections()
	if left := w.snapshot().Queued; left > 0 {
		w.config.Logger.Warn("sandbox webhooks lost: the provider is closing", slog.Int("queued", left))
	}
}
