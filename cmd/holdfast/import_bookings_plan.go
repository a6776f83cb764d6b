package main

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"

	"cloud.google.com/go/civil"
)

// historyEventKind is what happened to a booking on a day.
type historyEventKind int

// The kinds of event, in the order in which they happen on one day: the file has no hours.
const (
	historyBooks historyEventKind = iota
	historyMisses
	historyCancels
)

// historyEvent is one thing that happened.
type historyEvent struct {
	row  int
	kind historyEventKind
	day  civil.Date
}

// historyPlan is every event of a history in chronological order, and for each the later events
// that must wait for it.
//
// Events of one room type that have a night in common happen one after the other, in exactly this
// order. Events without a common night touch different stock, so the outcome does not depend on
// which of them is first, and they may happen at the same time.
type historyPlan struct {
	events []historyEvent
	// after lists, for each event, those that wait for it; before counts those that it waits for.
	after  [][]int32
	before []int32
}

func planOf(rows []historyRow) historyPlan {
	p := historyPlan{events: make([]historyEvent, 0, len(rows)+len(rows)/2)}
	for i, row := range rows {
		p.events = append(p.events, historyEvent{row: i, kind: historyBooks, day: row.booked})
		switch row.status {
		case historyCancelled:
			day := row.settled
			if day.Before(row.booked) {
				day = row.booked
			}
			p.events = append(p.events, historyEvent{row: i, kind: historyCancels, day: day})
		case historyNoShow:
			p.events = append(p.events, historyEvent{row: i, kind: historyMisses, day: row.arrival})
		case historyCheckedOut:
		}
	}
	slices.SortStableFunc(p.events, func(a, b historyEvent) int {
		if c := a.day.Compare(b.day); c != 0 {
			return c
		}
		if c := cmp.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		return cmp.Compare(a.row, b.row)
	})
	p.after = make([][]int32, len(p.events))
	p.before = make([]int32, len(p.events))
	chains := nightChains(rows)
	latest := map[nightChain]int32{}
	for i, event := range p.events {
		for _, chain := range chains(event.row) {
			if earlier, ok := latest[chain]; ok && !slices.Contains(p.after[earlier], int32(i)) { //nolint:gosec // bounded by maxHistoryLines
				p.after[earlier] = append(p.after[earlier], int32(i)) //nolint:gosec // as above
				p.before[i]++
			}
			latest[chain] = int32(i) //nolint:gosec // as above
		}
	}
	return p
}

// nightChain is one night of one room type: what happens to it happens in order.
type nightChain struct {
	room  historyRoom
	night civil.Date
	// alone is the row of a chain that belongs to it alone, from 1.
	alone int
}

// nightChains gives the chains of a row. A row without nights has one of its own, so that its
// events stay in order.
func nightChains(rows []historyRow) func(row int) []nightChain {
	return func(i int) []nightChain {
		row := rows[i]
		room := historyRoom{row.hotel, row.roomType}
		chains := make([]nightChain, 0, max(1, row.nights))
		for night := row.arrival; night.Before(row.departure()) && len(chains) <= maxChainedNights; night = night.AddDays(1) {
			chains = append(chains, nightChain{room: room, night: night})
		}
		if len(chains) == 0 {
			chains = append(chains, nightChain{alone: i + 1})
		}
		return chains
	}
}

// maxChainedNights is more than any stay can have; a longer one is refused whatever is left.
const maxChainedNights = 366

// settledBy says which events an earlier, interrupted import has behind it, from those that left a
// trace: an event of the same night that happened later proves that it was judged, even when it
// was refused and left nothing.
func (p historyPlan) settledBy(rows []historyRow, traced func(historyEvent) bool) []bool {
	chains := nightChains(rows)
	later := map[nightChain]bool{}
	settled := make([]bool, len(p.events))
	for i := len(p.events) - 1; i >= 0; i-- {
		of := chains(p.events[i].row)
		settled[i] = traced(p.events[i]) || slices.ContainsFunc(of, func(chain nightChain) bool { return later[chain] })
		if settled[i] {
			for _, chain := range of {
				later[chain] = true
			}
		}
	}
	return settled
}

// run lets every event happen, on several workers, earliest first among those whose turn it is. It
// stops at the first error, or when ctx ends; events under way are finished.
func (p historyPlan) run(ctx context.Context, workers int, happen func(ctx context.Context, index int) error) error {
	r := planRun{before: slices.Clone(p.before), left: len(p.events)}
	r.changed = sync.NewCond(&r.lock)
	for i := range p.events {
		if r.before[i] == 0 {
			r.ready = append(r.ready, i)
		}
	}
	heap.Init(&r.ready)
	stop := context.AfterFunc(ctx, func() { r.fail(context.Cause(ctx)) })
	defer stop()
	// What is under way is finished: half a booking would have to be mended.
	finishing := context.WithoutCancel(ctx)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				i, ok := r.next()
				if !ok {
					return
				}
				if err := happen(finishing, i); err != nil {
					r.fail(err)
					return
				}
				r.done(p.after[i])
			}
		})
	}
	group.Wait()
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.left == 0 {
		return nil
	}
	return r.err
}

// planRun is a run under way.
type planRun struct {
	lock    sync.Mutex
	changed *sync.Cond
	ready   eventHeap
	before  []int32
	left    int
	err     error
}

func (r *planRun) next() (int, bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for r.err == nil && r.left > 0 && len(r.ready) == 0 {
		r.changed.Wait()
	}
	if r.err != nil || r.left == 0 {
		return 0, false
	}
	index, ok := heap.Pop(&r.ready).(int)
	return index, ok
}

func (r *planRun) done(after []int32) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, next := range after {
		if r.before[next]--; r.before[next] == 0 {
			heap.Push(&r.ready, int(next))
		}
	}
	r.left--
	r.changed.Broadcast()
}

func (r *planRun) fail(err error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.changed.Broadcast()
}

// eventHeap gives the earliest event first.
type eventHeap []int

func (h eventHeap) Len() int           { return len(h) }
func (h eventHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h eventHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *eventHeap) Push(x any) {
	if index, ok := x.(int); ok {
		*h = append(*h, index)
	}
}

// Pop is for package heap.
func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
