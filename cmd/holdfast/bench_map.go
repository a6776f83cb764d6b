package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/inventory"
)

const (
	benchMapping = "map"

	// benchMapReaders look at the map at once, benchMapRounds times, in turns with those who read the same
	// bytes from a bare handler. The turns are short, so that both meet the same machine: a cell's time is
	// that of benchMapTurns.
	benchMapReaders = 64
	benchMapRounds  = 9
	benchMapTurns   = 3
	// benchMapPace is the time between two holds that change the map, and benchMapSample between two
	// looks at its age.
	benchMapPace   = 20 * time.Millisecond
	benchMapSample = 10 * time.Millisecond
	benchMapGuests = 200
	// One seat in benchMapHeldShare is held before, so that the map is one of a show in the middle of its
	// sale; benchMapSeatsHeld is how many one hold takes.
	benchMapHeldShare = 3
	benchMapSeatsHeld = 100
	benchMapLimit     = time.Hour
)

// benchMaps is how fast the map of a show on sale is read from memory, while its seats change.
type benchMaps struct {
	Seats   int `json:"seats"`
	Readers int `json:"readers"`
	// Bytes are of one answer, ZippedBytes as it is sent.
	Bytes       int `json:"bytes"`
	ZippedBytes int `json:"zippedBytes"`
	// PerSecond are the answers, Bare those of a handler of net/http that serves the same bytes, in a
	// process of its own, too; Ratio is the median of the rounds'.
	PerSecond float64 `json:"perSecond"`
	Bare      float64 `json:"barePerSecond"`
	Ratio     float64 `json:"ratio"`
	// The ages are of what the map says when it has arrived.
	AgeP50Ms float64 `json:"ageP50Ms"`
	AgeP99Ms float64 `json:"ageP99Ms"`
	AgeMaxMs float64 `json:"ageMaxMs"`
	// HoldsPerSecond changed the map meanwhile.
	HoldsPerSecond float64        `json:"holdsPerSecond"`
	Errors         map[string]int `json:"errors,omitempty"`
	Memory         benchMemory    `json:"memory"`
	Audit          benchAudit     `json:"audit"`
}

// benchMapQuery is what a seat picker reads.
const benchMapQuery = `query ($id: ID!) { show(id: $id) { seatMap { asOf version packed } } }`

// measureMaps lets readers look at the map of a show through a server process, while guests hold its
// seats.
func measureMaps(ctx context.Context, a *app, config benchConfig, say func(string, ...any)) (report *benchMaps, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, benchMapLimit)
	defer cancel()
	stock := &benchStock{app: a, shards: 1}
	venue, err := stock.makeTenant(ctx, "map")
	if err != nil {
		return nil, false, err
	}
	event, err := a.inventory.CreateEvent(ctx, stock.actor, "event", inventory.NewEvent{Venue: venue, Name: "Benchmark"})
	if err != nil {
		return nil, false, err
	}
	one := config
	one.Clients = nil // one show is enough
	if err := errors.Join(stock.makeSeats(ctx, venue, event, one), stock.analyze(ctx, "show_seats")); err != nil {
		return nil, false, err
	}
	server, err := startBenchServer(ctx, config.Server, a.store.url)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	report = &benchMaps{Seats: config.Seats, Readers: benchMapReaders, Errors: map[string]int{}}
	report.Memory.StartBytes = server.memory().now
	if err := stock.startSessions(ctx, server.url, benchMapGuests, []int{1}); err != nil {
		return nil, false, err
	}
	defer stock.api.close()
	if err := stock.holdMany(ctx, benchSeatsPerHold*len(stock.triples)/benchMapHeldShare); err != nil {
		return nil, false, err
	}
	if err := report.measure(ctx, stock, server.url, config, say); err != nil {
		return nil, false, err
	}
	memory := server.memory()
	report.Memory.EndBytes, report.Memory.PeakBytes = memory.now, memory.peak
	audit, err := a.bookings.Audit(ctx, nil)
	report.Audit.OK = audit.OK
	return report, audit.OK && len(report.Errors) == 0, err
}

func (m *benchMaps) measure(ctx context.Context, stock *benchStock, server string, config benchConfig, say func(string, ...any)) (err error) {
	reader := newMapReader(server, stock)
	defer reader.http.CloseIdleConnections()
	plain, _, err := reader.read(ctx, false)
	if err != nil {
		return err
	}
	zipped, _, err := reader.read(ctx, true)
	if err != nil {
		return err
	}
	m.Bytes, m.ZippedBytes = len(plain), len(zipped)
	bare, err := startBenchServer(ctx, append(slices.Clone(config.Bare), reader.url), "", benchBareKey+"="+stock.key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.stop()) }()
	bareReader := newMapReader(bare.url, stock)
	defer bareReader.http.CloseIdleConnections()

	var ages []time.Duration
	var ours, theirs, ratios []float64
	selling, stop := context.WithCancel(ctx)
	defer stop()
	var beside errgroup.Group
	holds, began := 0, time.Now()
	beside.Go(func() (err error) {
		holds, err = stock.sell(selling)
		return err
	})
	beside.Go(func() (err error) {
		ages, err = reader.watchAge(selling)
		return err
	})
	for range benchMapRounds {
		rate, err := m.round(ctx, config, reader)
		if err != nil {
			return err
		}
		bareRate, err := m.round(ctx, config, bareReader)
		if err != nil {
			return err
		}
		say("  %d readers  %8.0f maps/s  bare handler %8.0f/s  ratio %.2f", benchMapReaders, rate, bareRate, rate/bareRate)
		ours, theirs, ratios = append(ours, rate), append(theirs, bareRate), append(ratios, rate/bareRate)
	}
	took := time.Since(began)
	stop()
	if err := beside.Wait(); err != nil {
		return err
	}
	m.PerSecond, m.Bare, m.Ratio = rounded(middleRate(ours), 10), rounded(middleRate(theirs), 10), rounded(middleRate(ratios), 100)
	slices.Sort(ages)
	load := benchLoad{latencies: ages}
	m.AgeP50Ms, m.AgeP99Ms, m.AgeMaxMs = load.percentile(50), load.percentile(99), load.percentile(100)
	m.HoldsPerSecond = rounded(float64(holds)/took.Seconds(), 10)
	return nil
}

// round is how many maps a second the readers get.
func (m *benchMaps) round(ctx context.Context, config benchConfig, reader *mapReader) (float64, error) {
	load, err := runLoad(ctx, benchMapReaders, config.warmUp()/benchMapTurns, config.measured()/benchMapTurns, func(ctx context.Context) (string, error) {
		_, _, err := reader.read(ctx, true)
		return "", err
	})
	if err != nil {
		return 0, err
	}
	for code, n := range load.errors {
		m.Errors[code] += n
	}
	return float64(len(load.latencies)) / load.took.Seconds(), nil
}

func middleRate(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// benchBareKey is the key with which the bare server reads the answer that it serves.
const benchBareKey = "HOLDFAST_BENCH_KEY"

// serveBare reads an answer once and serves it until it is told to end, in a process of its own, as the
// server that it is compared with.
func serveBare(ctx context.Context, address string, logger *slog.Logger) error {
	reader := &mapReader{http: &http.Client{Timeout: apiCallTimeout}, url: address, key: os.Getenv(benchBareKey)}
	body, header, err := reader.read(ctx, true)
	if err != nil {
		return err
	}
	listener, err := bind(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := serveOn(listener, bareHandler(body, header))
	logger.InfoContext(ctx, "serving", "url", s.url)
	select {
	case <-ctx.Done():
		err = nil
	case err = <-s.failures:
	}
	return errors.Join(err, s.close(ctx))
}

// bareHandler serves the same bytes with the same headers, and does nothing else.
func bareHandler(body []byte, header http.Header) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{"Content-Type", "Content-Encoding", "Etag", "Cache-Control", "Vary"} {
			w.Header()[name] = header[name]
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		// The client may be gone; the load counts what arrived.
		_, _ = w.Write(body)
	})
}

// mapReader reads one show's map as a seat picker does.
type mapReader struct {
	http *http.Client
	url  string
	key  string
}

func newMapReader(server string, stock *benchStock) *mapReader {
	variables := fmt.Sprintf(`{"id":%q}`, stock.show.String())
	return &mapReader{
		http: &http.Client{Timeout: apiCallTimeout, Transport: &http.Transport{
			MaxIdleConns: benchMapReaders, MaxIdleConnsPerHost: benchMapReaders, DisableCompression: true,
		}},
		url: server + "/graphql?" + url.Values{"query": {benchMapQuery}, "variables": {variables}}.Encode(), key: stock.key,
	}
}

// read reads the map, compressed if the server finds it worth it, or not; what is compressed stays so.
func (r *mapReader) read(ctx context.Context, zipped bool) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("make the request of a map: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+r.key)
	if zipped {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	response, err := r.http.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("read a map: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, apiMaxResponseBytes))
	if err != nil {
		return nil, nil, fmt.Errorf("read a map: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("a map was answered with status %d: %.200s", response.StatusCode, body)
	}
	return body, response.Header, nil
}

// watchAge looks at the map until ctx ends, and is how old each was when it had arrived.
func (r *mapReader) watchAge(ctx context.Context) ([]time.Duration, error) {
	ticker := time.NewTicker(benchMapSample)
	defer ticker.Stop()
	var ages []time.Duration
	for {
		select {
		case <-ctx.Done():
			return ages, nil
		case <-ticker.C:
		}
		body, _, err := r.read(ctx, false)
		if ctx.Err() != nil {
			return ages, nil
		}
		if err != nil {
			return nil, err
		}
		arrived := time.Now()
		var answer struct {
			Data struct {
				Show struct {
					SeatMap struct {
						AsOf time.Time `json:"asOf"`
					} `json:"seatMap"`
				} `json:"show"`
			} `json:"data"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, fmt.Errorf("read a map: %w", err)
		}
		ages = append(ages, arrived.Sub(answer.Data.Show.SeatMap.AsOf))
	}
}

// holdMany lets guests hold so many of the shuffled seats, a hundred each.
func (b *benchStock) holdMany(ctx context.Context, seats int) error {
	many := int64(benchMapSeatsHeld)
	if _, err := b.app.inventory.SetTerms(ctx, b.actor, inventory.TermsScope{}, inventory.TermsChange{MaxSeatsPerHold: &many}); err != nil {
		return err
	}
	for i, held := 0, 0; held < seats; i++ {
		wish := inventory.SeatsRequest{Show: b.show}
		for range min(benchMapSeatsHeld, seats-held) {
			_, seat := b.nextOfTriples()
			wish.Seats = append(wish.Seats, seat)
		}
		guest, err := b.app.tenants.Authenticate(ctx, b.key, b.guests[i%len(b.guests)].session)
		if err != nil {
			return err
		}
		if _, err := b.app.inventory.PlaceHold(ctx, guest, inventory.PlaceHold{
			RequestKey: uuid.NewString(), Lines: []inventory.LineRequest{{Seats: &wish}},
		}); err != nil {
			return err
		}
		held += len(wish.Seats)
	}
	return nil
}

// sell lets guests hold a seat each, one after the other, until ctx ends, and is how many did.
func (b *benchStock) sell(ctx context.Context) (int, error) {
	ticker := time.NewTicker(benchMapPace)
	defer ticker.Stop()
	held := 0
	for {
		select {
		case <-ctx.Done():
			return held, nil
		case <-ticker.C:
		}
		_, seat := b.nextOfTriples()
		_, err := ask[apiPlaced](ctx, b.guests[held%len(b.guests)], apiBenchHold, map[string]any{
			"input": map[string]any{"requestKey": uuid.NewString(), "lines": []apiInput{seatsInput(b.show.String(), seat.String())}},
		})
		if ctx.Err() != nil {
			return held, nil
		}
		if err != nil {
			return held, err
		}
		held++
	}
}

func (m *benchMaps) print(out io.Writer) {
	fmt.Fprintf(out, "\nMap of %d seats, %d bytes, %d compressed, %d readers while %.0f holds/s change it: %.0f maps/s, bare handler %.0f/s, ratio %.2f; age p50 %.0f ms, p99 %.0f ms, at most %.0f ms.\n",
		m.Seats, m.Bytes, m.ZippedBytes, m.Readers, m.HoldsPerSecond, m.PerSecond, m.Bare, m.Ratio, m.AgeP50Ms, m.AgeP99Ms, m.AgeMaxMs)
}
