package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/inventory"
)

// How blocks of seats are measured.
const (
	// benchMaxBlockSeats is the most that one change of a block may name.
	benchMaxBlockSeats = 20_000
	// benchBlockClients hold seats of other shows meanwhile, benchBlockShows of them, so that none is sold out.
	benchBlockClients = 16
	benchBlockShows   = 5
)

// benchBlocked is what assigning many seats to a block costs, and what it costs those who hold seats of
// other shows at the same time. The holds are placed in the process, without HTTP.
type benchBlocked struct {
	// Seats are assigned at a time, all seats of one show.
	Seats int `json:"seats"`
	// Assigned and Released count how often that was done while others held.
	Assigned int `json:"assigned"`
	Released int `json:"released"`
	// AssignMs and ReleaseMs are medians.
	AssignMs  float64 `json:"assignMs"`
	ReleaseMs float64 `json:"releaseMs"`
	// Alone is the holds of other shows without blocks, Meanwhile while seats are assigned and released.
	Alone     benchCell `json:"alone"`
	Meanwhile benchCell `json:"meanwhile"`
}

// blockStock is a hall of which one show is set aside, and others are sold.
type blockStock struct {
	*benchStock
	blocked inventory.ShowID
	zone    string
}

// measureBlocks holds seats alone, and then while all seats of another show are set aside and released
// again and again. ok is false when a hold or an edit failed.
func measureBlocks(ctx context.Context, a *app, config benchConfig, say func(string, ...any)) (report *benchBlocked, ok bool, err error) {
	stock, err := makeBlockStock(ctx, a, config.BlockSeats)
	if err != nil {
		return nil, false, err
	}
	alone, err := runLoad(ctx, benchBlockClients, config.warmUp(), config.measured(), stock.hold)
	if err != nil {
		return nil, false, err
	}
	report = &benchBlocked{Seats: config.BlockSeats, Alone: alone.cell("alone", benchBlockClients)}
	done, edits := make(chan struct{}), make(chan blockEdits, 1)
	go func() { edits <- stock.edit(ctx, done) }()
	meanwhile, err := runLoad(ctx, benchBlockClients, config.warmUp(), config.measured(), stock.hold)
	close(done)
	made := <-edits
	if err := errors.Join(err, made.err); err != nil {
		return nil, false, err
	}
	report.Meanwhile = meanwhile.cell("meanwhile", benchBlockClients)
	report.Assigned, report.Released = len(made.assigned), len(made.released)
	report.AssignMs, report.ReleaseMs = medianMs(made.assigned), medianMs(made.released)
	for _, cell := range []benchCell{report.Alone, report.Meanwhile} {
		say("  %-9s  %8.0f holds/s  p50 %6.1f ms  p95 %6.1f ms  p99 %6.1f ms", cell.Scenario, cell.HoldsPerSecond, cell.P50Ms, cell.P95Ms, cell.P99Ms)
	}
	say("  %d seats are assigned in %.0f ms, released in %.0f ms", report.Seats, report.AssignMs, report.ReleaseMs)
	return report, len(alone.errors)+len(meanwhile.errors) == 0, nil
}

func makeBlockStock(ctx context.Context, a *app, seats int) (*blockStock, error) {
	stock := &blockStock{benchStock: &benchStock{app: a}}
	venue, err := stock.makeTenant(ctx, "benchmark-blocks")
	if err != nil {
		return nil, err
	}
	event, err := a.inventory.CreateEvent(ctx, stock.actor, "event", inventory.NewEvent{Venue: venue, Name: "Benchmark"})
	if err != nil {
		return nil, err
	}
	hall := benchHall(seats)
	stock.zone = hall.Zones[0].Name
	chart, err := a.inventory.ImportChart(ctx, stock.actor, "chart", venue, hall)
	if err != nil {
		return nil, err
	}
	for i := range 1 + benchBlockShows {
		id, err := a.inventory.CreateShow(ctx, stock.actor, "show-"+strconv.Itoa(i), inventory.NewShow{
			Event: event, Chart: &chart, Name: "Show " + strconv.Itoa(i+1), StartsAt: time.Now().AddDate(0, 2, 0),
			PriceLevels: []inventory.NewPriceLevel{{Name: "Seat", AmountMinor: benchSeatMinor, Categories: []string{benchCategory}}},
		})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			stock.blocked = id
			continue
		}
		stock.triples = append(stock.triples, triplesOf(id, hall)...)
	}
	return stock, stock.analyze(ctx, "show_seats")
}

// hold takes the next seat of the shows that are sold.
func (b *blockStock) hold(ctx context.Context) (string, error) {
	show, seat := b.nextOfTriples()
	_, err := b.app.inventory.PlaceHold(ctx, b.actor, inventory.PlaceHold{
		RequestKey: uuid.NewString(), Lines: []inventory.LineRequest{{Seats: &inventory.SeatsRequest{Show: show, Seats: []inventory.SeatID{seat}}}},
	})
	var refusal *inventory.Refusal
	if errors.As(err, &refusal) {
		return string(refusal.Code), nil
	}
	return "", err
}

// blockEdits is how long each edit took.
type blockEdits struct {
	assigned, released []time.Duration
	err                error
}

// edit sets all seats of a show aside and takes them back, until done is closed; the edit under way then
// is finished.
func (b *blockStock) edit(ctx context.Context, done <-chan struct{}) blockEdits {
	var edits blockEdits
	all := inventory.SeatSelection{Zones: []string{b.zone}}
	for {
		begin := time.Now()
		edit, err := b.app.inventory.CreateSeatBlock(ctx, b.actor, uuid.NewString(), inventory.NewSeatBlock{Show: b.blocked, Channel: b.channel, Seats: all})
		if err != nil {
			edits.err = fmt.Errorf("assign seats: %w", err)
			return edits
		}
		assigned := time.Now()
		if _, err := b.app.inventory.ReleaseSeats(ctx, b.actor, uuid.NewString(), edit.Block.ID, all); err != nil {
			edits.err = fmt.Errorf("release seats: %w", err)
			return edits
		}
		edits.assigned = append(edits.assigned, assigned.Sub(begin))
		edits.released = append(edits.released, time.Since(assigned))
		select {
		case <-done:
			return edits
		default:
		}
	}
}

func medianMs(all []time.Duration) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return rounded(float64(sorted[len(sorted)/2])/float64(time.Millisecond), 10)
}

func (b *benchBlocked) print(out io.Writer) {
	fmt.Fprintf(out, "\nBlocks: %d seats of a show are assigned in %.0f ms and released in %.0f ms (medians of %d). One-seat holds of other shows, %d at once: p95 %.1f ms alone, %.1f ms meanwhile; %.0f and %.0f holds/s.\n",
		b.Seats, b.AssignMs, b.ReleaseMs, b.Assigned, b.Alone.Clients, b.Alone.P95Ms, b.Meanwhile.P95Ms, b.Alone.HoldsPerSecond, b.Meanwhile.HoldsPerSecond)
}
