package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/inventory"
)

// The best available seats: groups of benchBestSeats ask for seats of one show, which has as many seats
// as --seats says and is empty at first. Each number of clients has shows of its own; when one is sold,
// the next is asked for.
const (
	benchBest      = "best-available"
	benchBestSeats = 3
	// benchBestShows is how many shows a cell may use up.
	benchBestShows = 4
)

// benchRush is one cell of the scenario.
type benchRush struct {
	stock *benchStock
	shows []inventory.ShowID
	// at is the show that is on sale.
	at atomic.Int64
	// rows are the rows of seats and their places in them.
	rows map[string][2]int
	// held and together count groups, and those whose seats are beside each other.
	held, together atomic.Int64
}

// measureBest measures the scenario with each number of clients.
func (b *benchStock) measureBest(ctx context.Context, config benchConfig, say func(string, ...any)) ([]benchCell, error) {
	var cells []benchCell
	for i, clients := range config.Clients {
		rush, err := b.newRush(ctx, "best-"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		before, err := b.choices(ctx)
		if err != nil {
			return nil, err
		}
		load, err := runLoad(ctx, clients, config.warmUp(), config.measured(), rush.hold)
		if err != nil {
			return nil, err
		}
		after, err := b.choices(ctx)
		if err != nil {
			return nil, err
		}
		cell := load.cell(benchBest, clients)
		if held := after["held"] - before["held"]; held > 0 {
			cell.Tries = rounded((held+after["outrun"]-before["outrun"])/held, 100)
		}
		if held := rush.held.Load(); held > 0 {
			cell.Together = rounded(float64(rush.together.Load())/float64(held), 1000)
		}
		cells = append(cells, cell)
		say("  %4d clients  %8.0f holds/s  p50 %6.1f ms  p95 %6.1f ms  p99 %6.1f ms  together %.1f %%  %.2f tries  %s",
			clients, cell.HoldsPerSecond, cell.P50Ms, cell.P95Ms, cell.P99Ms, 100*cell.Together, cell.Tries, load.complaints())
	}
	return cells, nil
}

// newRush puts shows of the stock's hall on sale.
func (b *benchStock) newRush(ctx context.Context, name string) (*benchRush, error) {
	first, err := b.app.inventory.Show(ctx, b.actor, b.show)
	if err != nil {
		return nil, err
	}
	hall, err := b.app.inventory.Chart(ctx, b.actor, *first.Chart)
	if err != nil {
		return nil, err
	}
	rush := &benchRush{stock: b, rows: map[string][2]int{}}
	number := 0
	for z := range hall.Zones {
		for r := range hall.Zones[z].Rows {
			number++
			for i, seat := range hall.Zones[z].Rows[r].Seats {
				rush.rows[inventory.SeatID{Region: demoRegion, UUID: seat.ID}.String()] = [2]int{number, i}
			}
		}
	}
	for range benchBestShows {
		show := inventory.NewShow{
			Event: first.Event, Chart: first.Chart, Name: name, StartsAt: time.Now().AddDate(0, 2, 0),
			PriceLevels: []inventory.NewPriceLevel{{Name: "Seat", AmountMinor: benchSeatMinor, Categories: []string{benchCategory}}},
		}
		id, err := b.app.inventory.CreateShow(ctx, b.actor, uuid.NewString(), show)
		if err != nil {
			return nil, err
		}
		rush.shows = append(rush.shows, id)
	}
	return rush, b.analyze(ctx, "show_seats")
}

// apiBestHold asks for the seats that were chosen, too.
const apiBestHold = `mutation ($input: PlaceHoldInput!) { result: placeHold(input: $input) {
	... on Hold { id state deadline total { amountMinor currency } lines { unit { seatId } } }
	... on HoldRefused { code message }
} }`

// apiBest is its answer.
type apiBest struct {
	Lines []struct {
		Unit struct {
			SeatID string `json:"seatId"`
		} `json:"unit"`
	} `json:"lines"`
	apiRefusal
}

// hold is one group's request.
func (r *benchRush) hold(ctx context.Context) (string, error) {
	at := r.at.Load()
	guest := r.stock.guests[r.stock.nextGuest.Add(1)%uint64(len(r.stock.guests))]
	answer, err := ask[apiBest](ctx, guest, apiBestHold, map[string]any{"input": map[string]any{
		"requestKey": uuid.NewString(),
		"lines":      []apiInput{{"bestAvailable": apiInput{"show": r.shows[at].String(), "quantity": benchBestSeats, "allowSplit": true}}},
	}})
	if err == nil && answer.Code == string(inventory.RefusalSoldOut) && int(at)+1 < len(r.shows) {
		r.at.CompareAndSwap(at, at+1)
	}
	if err == nil && answer.Code == "" {
		r.held.Add(1)
		if r.beside(answer) {
			r.together.Add(1)
		}
	}
	return answer.Code, err
}

// beside reports whether the seats of an answer stand in one row without a gap.
func (r *benchRush) beside(answer apiBest) bool {
	least, most := [2]int{}, [2]int{}
	for i, line := range answer.Lines {
		at := r.rows[line.Unit.SeatID]
		if i == 0 {
			least, most = at, at
		}
		if at[0] != least[0] {
			return false
		}
		least[1], most[1] = min(least[1], at[1]), max(most[1], at[1])
	}
	return most[1]-least[1] == len(answer.Lines)-1
}

var choicesLine = regexp.MustCompile(`(?m)^holdfast_seat_choices_total\{[^}]*outcome="(\w+)"[^}]*\} (\S+)$`)

// choices reads from the server's metrics how many choices of seats came to what.
func (b *benchStock) choices(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(b.api.endpoint, "/graphql")+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("ask for the metrics: %w", err)
	}
	answer, err := b.api.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for the metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	found := map[string]float64{}
	for _, match := range choicesLine.FindAllStringSubmatch(string(text), -1) {
		if found[match[1]], err = strconv.ParseFloat(match[2], 64); err != nil {
			return nil, fmt.Errorf("read the metrics: %w", err)
		}
	}
	return found, nil
}
