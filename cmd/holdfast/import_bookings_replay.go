package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
)

const (
	// codeBadInput is what the product refuses as malformed, such as a stay without nights.
	codeBadInput = "BAD_INPUT"
	// codeRefusedBefore is what an earlier, interrupted import was refused: a refusal leaves no trace
	// of its reason.
	codeRefusedBefore = "REFUSED_BEFORE"

	// maxTries bounds how often one booking is tried when others are in the way or its hold ran out.
	maxTries = 10
	// paymentPatience is how long a payment may take, which the offline provider answers at once.
	paymentPatience = time.Minute
	progressEvery   = 5 * time.Second
	paymentPoll     = 50 * time.Millisecond
	contentionPause = 500 * time.Millisecond
)

// replay is one history on its way through the product.
type replay struct {
	setup historySetup
	plan  historyPlan
	h     history
	// settled are the events that an earlier import has behind it.
	settled []bool

	lock     sync.Mutex
	booked   map[int]bookings.BookingID
	replayed int
	counts   map[historyStatus]int
	refused  map[string]*refusedRows
	byRoom   map[historyRoom]*historyRoomReport
}

func newReplay(setup historySetup, h history) *replay {
	r := &replay{
		setup: setup, h: h, plan: planOf(h.rows), booked: make(map[int]bookings.BookingID, len(h.rows)),
		counts: map[historyStatus]int{}, refused: map[string]*refusedRows{}, byRoom: map[historyRoom]*historyRoomReport{},
	}
	r.settled = make([]bool, len(r.plan.events))
	if len(setup.earlier) > 0 {
		r.settled = r.plan.settledBy(h.rows, r.traced)
	}
	for _, refusal := range h.malformed {
		r.refuse(refusal)
	}
	return r
}

// traced reports whether an earlier import left a trace of an event.
func (r *replay) traced(event historyEvent) bool {
	earlier, ok := r.setup.earlier[event.row]
	switch event.kind {
	case historyCancels:
		return ok && earlier.cancelled
	case historyMisses:
		return ok && earlier.noShow
	case historyBooks:
	}
	return ok
}

// run replays everything, and shows how far it is.
func (r *replay) run(ctx context.Context, workers int, progress io.Writer) error {
	meter := newMeter(progress, len(r.plan.events))
	defer meter.close()
	return r.plan.run(ctx, workers, func(ctx context.Context, index int) error {
		defer meter.add()
		event := r.plan.events[index]
		err := r.happen(ctx, event, r.settled[index])
		if err != nil {
			return fmt.Errorf("line %d: %w", r.h.rows[event.row].line, err)
		}
		return nil
	})
}

func (r *replay) happen(ctx context.Context, event historyEvent, settled bool) error {
	if event.kind == historyBooks {
		return r.book(ctx, event.row, settled)
	}
	r.lock.Lock()
	id, booked := r.booked[event.row]
	r.lock.Unlock()
	row := r.h.rows[event.row]
	switch {
	case !booked:
		return nil // It was refused, so there is nothing to cancel.
	case settled && r.traced(event):
	case event.kind == historyCancels:
		err := patiently(ctx, func() error {
			_, err := r.setup.app.bookings.CancelBooking(ctx, r.setup.actor, bookings.Cancel{RequestKey: r.key(row, "cancel", 1), Booking: id, WaiveFee: true, Reason: "cancelled in the history"})
			return err
		})
		if err != nil {
			return fmt.Errorf("cancel: %w", err)
		}
	default:
		err := patiently(ctx, func() error {
			_, err := r.setup.app.bookings.MarkNoShow(ctx, r.setup.actor, bookings.NoShow{RequestKey: r.key(row, "no-show", 1), Booking: id, History: true})
			return err
		})
		if err != nil {
			return fmt.Errorf("mark a no-show: %w", err)
		}
	}
	r.count(row.status)
	return nil
}

// patiently tries again what lost to others; its request key makes that safe.
func patiently(ctx context.Context, act func() error) error {
	for try := 1; ; try++ {
		err := act()
		if !errors.Is(err, db.ErrContention) || try == maxTries || !wait(ctx, contentionPause) {
			return err
		}
	}
}

// key is the request key of one step of one row: the same at every run, so that nothing is done
// twice.
func (r *replay) key(row historyRow, step string, try int) string {
	key := "import-bookings/" + strconv.Itoa(r.setup.shiftDays) + "/" + historyReference(r.h, row.line) + "/" + step
	if try > 1 {
		key += "/" + strconv.Itoa(try)
	}
	return key
}

// book holds, pays and confirms one row, or notes why it was refused.
func (r *replay) book(ctx context.Context, index int, settled bool) error {
	row := r.h.rows[index]
	if earlier, ok := r.setup.earlier[index]; ok {
		r.accept(index, earlier.id, true)
		return nil
	}
	if settled {
		r.refuse(historyRefusal{row.line, codeRefusedBefore, "refused by the import that was interrupted"})
		return nil
	}
	for try := 1; ; try++ {
		id, err := r.sell(ctx, row, try)
		if err == nil {
			r.accept(index, id, false)
			return nil
		}
		var refusal *inventory.Refusal
		switch {
		case !errors.As(err, &refusal):
			if fault.KindOf(err) != fault.KindInvalid {
				return err
			}
			r.refuse(historyRefusal{row.line, codeBadInput, err.Error()})
			return nil
		case try < maxTries && refusal.Code == inventory.RefusalHoldExpired:
			// The hold of an import that was interrupted has run out: place another.
		case try < maxTries && refusal.Code == inventory.RefusalBusy:
			wait(ctx, refusal.RetryAfter)
		default:
			r.refuse(historyRefusal{row.line, string(refusal.Code), r.explain(refusal)})
			return nil
		}
	}
}

// sell takes a row through the saga, as any seller does.
func (r *replay) sell(ctx context.Context, row historyRow, try int) (bookings.BookingID, error) {
	a, actor, shift := r.setup.app, r.setup.actor, r.setup.shiftDays
	hold, err := a.inventory.PlaceHold(ctx, actor, inventory.PlaceHold{
		RequestKey: r.key(row, "hold", try),
		Lines: []inventory.LineRequest{{Stay: &inventory.StayRequest{
			RoomType: r.setup.rooms[historyRoom{row.hotel, row.roomType}],
			CheckIn:  row.arrival.AddDays(shift), CheckOut: row.departure().AddDays(shift), Rooms: 1,
		}}},
	})
	if err != nil {
		return bookings.BookingID{}, err
	}
	outcome, err := a.bookings.Checkout(ctx, actor, bookings.Checkout{
		RequestKey: r.key(row, "checkout", try), Hold: hold.ID, MethodToken: "line-" + strconv.Itoa(row.line),
		ExpectedTotal: hold.Total, PartnerReference: historyReference(r.h, row.line),
	})
	if err != nil {
		return bookings.BookingID{}, err
	}
	if outcome.Booking == nil {
		return r.finish(ctx, outcome)
	}
	return outcome.Booking.ID, nil
}

// finish drives a payment that an import which was killed had begun, until it is booked.
func (r *replay) finish(ctx context.Context, outcome bookings.Outcome) (bookings.BookingID, error) {
	ctx, cancel := context.WithTimeout(ctx, paymentPatience)
	defer cancel()
	for {
		if outcome.Attempt != nil {
			if err := r.setup.app.bookings.DriveCharge(ctx, payments.Located[payments.AttemptID]{Tenant: r.setup.tenant.ID, ID: outcome.Attempt.ID}); err != nil {
				return bookings.BookingID{}, err
			}
		}
		booking, err := r.setup.app.bookings.BookingOfHold(ctx, r.setup.actor, outcome.Hold.ID)
		if err != nil {
			return bookings.BookingID{}, err
		}
		if booking != nil {
			return booking.ID, nil
		}
		if !wait(ctx, paymentPoll) {
			return bookings.BookingID{}, errors.New("the payment of a hold did not end")
		}
	}
}

func (r *replay) accept(index int, id bookings.BookingID, replayed bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	row := r.h.rows[index]
	r.booked[index] = id
	r.room(row).Accepted++
	if replayed {
		r.replayed++
	}
	if row.status == historyCheckedOut {
		r.counts[historyCheckedOut]++
	}
}

func (r *replay) count(status historyStatus) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.counts[status]++
}

func (r *replay) refuse(refusal historyRefusal) {
	r.lock.Lock()
	defer r.lock.Unlock()
	rows := r.refused[refusal.code]
	if rows == nil {
		rows = &refusedRows{}
		r.refused[refusal.code] = rows
	}
	rows.add(refusal)
}

func (r *replay) room(row historyRow) *historyRoomReport {
	room := historyRoom{row.hotel, row.roomType}
	if r.byRoom[room] == nil {
		r.byRoom[room] = &historyRoomReport{}
	}
	return r.byRoom[room]
}

// explain says which nights a refusal speaks of, in the dates of the file.
func (r *replay) explain(refusal *inventory.Refusal) string {
	nights := 0
	text := refusal.Message
	for _, line := range refusal.Lines {
		if line.Night == nil || line.Code != refusal.Code {
			continue
		}
		if nights == 0 {
			text += ": night " + line.Night.AddDays(-r.setup.shiftDays).String()
		}
		nights++
	}
	if nights > 1 {
		text += fmt.Sprintf(" and %d more", nights-1)
	}
	return text
}

// wait reports false when ctx ended first.
func wait(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// meter shows progress: a bar on a terminal, otherwise a line every few seconds.
type meter struct {
	bar     *progressbar.ProgressBar
	lock    sync.Mutex
	out     io.Writer
	total   int
	done    int
	started time.Time
	shown   time.Time
}

func newMeter(out io.Writer, total int) *meter {
	m := &meter{out: out, total: total, started: time.Now(), shown: time.Now()}
	if file, ok := out.(*os.File); ok && isTerminal(file) {
		m.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription("Replaying"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("events"),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
	}
	return m
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (m *meter) add() {
	if m.bar != nil {
		_ = m.bar.Add(1) // A terminal that is gone stops no import.
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	m.done++
	if now := time.Now(); now.Sub(m.shown) >= progressEvery {
		m.shown = now
		fmt.Fprintf(m.out, "%d of %d events, %.0f a second\n", m.done, m.total, float64(m.done)/now.Sub(m.started).Seconds())
	}
}

func (m *meter) close() {
	if m.bar != nil {
		_ = m.bar.Exit()
	}
}
