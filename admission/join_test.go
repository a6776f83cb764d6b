package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/admission/internal/dbsqlc"
	"github.com/holdfast/holdfast/admission/proofofwork"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/tenants"
)

// visitorName is a visitor's secret.
func visitorName(i int) string { return fmt.Sprintf("a-visitor-who-waits-%06d", i) }

// Who joins in the opening window draws a place, and coming first gains nothing; who comes later stands
// behind all of those, in the order of arrival.
func TestTheOpeningWindowIsADraw(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), func(r *admission.NewRoom) { r.Window, r.OpensAt = 10*time.Minute, h0(t).Add(-time.Minute) })
	const n = 2000
	orders := make([]float64, n)
	for i := range orders {
		orders[i] = float64(h.join(h.room, h.Widget, visitorName(i)).Order)
	}
	window := float64((10 * time.Minute).Microseconds())
	// The correlation of arrival and place: of independent ones it is below 0.1 but once in 100,000 times.
	mean, meanI, top, a, b := 0.0, float64(n-1)/2, 0.0, 0.0, 0.0
	for _, order := range orders {
		mean += order / n
	}
	for i, order := range orders {
		top += (float64(i) - meanI) * (order - mean)
		a += (float64(i) - meanI) * (float64(i) - meanI)
		b += (order - mean) * (order - mean)
	}
	if r := top / math.Sqrt(a*b); math.Abs(r) > 0.1 {
		t.Errorf("arrival and place correlate by %g", r)
	}
	// They are spread over the window evenly: each quarter has about a quarter.
	var quarters [4]int
	for _, order := range orders {
		if order < 0 || order >= window {
			t.Fatalf("order %g is outside the window", order)
		}
		quarters[int(order*4/window)]++
	}
	for i, count := range quarters {
		if count < n/4-120 || count > n/4+120 {
			t.Errorf("quarter %d has %d of %d", i, count, n)
		}
	}
	if h.Rows("holds")+h.Rows("requests") > 20 {
		t.Error("joining wrote rows")
	}
	h.pass(10 * time.Minute)
	wait(t, func() error {
		if room, err := h.room.Room(t.Context(), h.Widget, h.hall.Show); err != nil || room.State != admission.StateAdmitting {
			return fmt.Errorf("the room is %s: %w", room.State, err)
		}
		return nil
	})
	last := int64(window)
	for i := range 10 {
		late := h.join(h.room, h.Widget, visitorName(n+i))
		if late.Order < last {
			t.Errorf("who came later stands at %d, before %d", late.Order, last)
		}
		last = late.Order
	}
}

// h0 is about now, for a room that is to open; the database's clock judges.
func h0(t *testing.T) time.Time {
	t.Helper()
	return inventorytest.New(t).Now()
}

// Joining again a hundred times gives no better place than the first, and counts once.
func TestRefreshingGainsNothing(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]time.Duration{"in the opening window": 30 * time.Minute, "after it": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, quick(), func(r *admission.NewRoom) { r.Window, r.RatePerMinute = window, 1 })
			elsewhere := process(t, quick())
			guest := h.Guest()
			first := h.join(h.room, guest.Actor, "")
			for range 100 {
				if again := h.join(h.room, guest.Actor, ""); again.Order != first.Order || again.Token != first.Token {
					t.Fatalf("joining again gave order %d, the first was %d", again.Order, first.Order)
				}
			}
			// Another process does not remember the guest, and gives no better place either.
			if other := h.join(elsewhere, guest.Actor, ""); other.Order < first.Order {
				t.Errorf("another process gave order %d, the first was %d", other.Order, first.Order)
			}
			again, err := h.room.Join(t.Context(), guest.Actor, admission.Join{Show: h.hall.Show, Again: true})
			if err != nil || again.Order < first.Order {
				t.Errorf("a new place is order %d: %v", again.Order, err)
			}
			wait(t, func() error {
				var here int64
				err := h.DB.Pool().QueryRow(t.Context(), "SELECT COALESCE(sum(visitors), 0)::bigint FROM waiting_room_counts WHERE tenant_id = $1", h.ID.UUID).Scan(&here)
				if err == nil && (here < 2 || here > 3) {
					err = fmt.Errorf("%d are counted", here)
				}
				return err
			})
		})
	}
}

// A visitor's own secret must be hard to guess, and a session needs none.
func TestVisitorsAreNamedWell(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	for _, visitor := range []string{"short", strings.Repeat("x", 65), strings.Repeat("x", 30) + " ", strings.Repeat("é", 20)} {
		_, err := h.room.Join(t.Context(), h.Widget, admission.Join{Show: h.hall.Show, Visitor: visitor})
		expect(t, err, "invalid")
	}
	_, err := h.room.Join(t.Context(), h.Guest().Actor, admission.Join{Show: h.hall.Show, Visitor: visitorName(1)})
	expect(t, err, "invalid")
	made := h.join(h.room, h.Widget, "")
	if again := h.join(h.room, h.Widget, made.Visitor); again.Token != made.Token {
		t.Error("the visitor that was made up has another place the next time")
	}
	_, err = h.room.Join(t.Context(), h.Widget, admission.Join{Show: ids.New[inventory.ShowKind](inventorytest.Region)})
	expect(t, err, "not_found")
}

// Three processes read, count and move one room while visitors join each of them: nobody meets an
// error, the watermark never goes back, and everybody is called once all are counted.
func TestSeveralProcessesMoveOneWatermark(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), func(r *admission.NewRoom) { r.RatePerMinute = 60_000 })
	processes := []*admission.Service{h.room, process(t, quick()), process(t, quick())}
	var tickets [3][]admission.Ticket
	ctx, stop := context.WithCancel(t.Context())
	var pollers sync.WaitGroup
	for i, p := range processes {
		for range 4 {
			pollers.Go(func() {
				last := int64(-1)
				for ctx.Err() == nil {
					room, err := p.Room(ctx, h.Widget, h.hall.Show)
					if errors.Is(err, context.Canceled) || ctx.Err() != nil {
						return
					}
					if err != nil || room.Watermark < last {
						t.Errorf("process %d: watermark %d after %d: %v", i, room.Watermark, last, err)
						return
					}
					last = room.Watermark
				}
			})
		}
	}
	var joins sync.WaitGroup
	for i, p := range processes {
		joins.Go(func() {
			for j := range 100 {
				joined, err := p.Join(t.Context(), h.Widget, admission.Join{Show: h.hall.Show, Visitor: visitorName(1000*i + j)})
				if err != nil {
					t.Error(err)
					return
				}
				tickets[i] = append(tickets[i], joined)
			}
		})
	}
	joins.Wait()
	for i := range tickets {
		for _, ticket := range tickets[i] {
			h.called(processes[(i+1)%3], h.Widget, ticket.Token)
		}
	}
	stop()
	pollers.Wait()
	wait(t, func() error {
		var counted int64
		err := h.DB.Pool().QueryRow(t.Context(), "SELECT COALESCE(sum(visitors), 0)::bigint FROM waiting_room_counts WHERE tenant_id = $1", h.ID.UUID).Scan(&counted)
		if err == nil && counted != 300 {
			err = fmt.Errorf("%d are counted", counted)
		}
		return err
	})
}

// A write that arrives late, such as one that was started over, does not undo what a later one of the
// same process has counted.
func TestALateCountUndoesNothing(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	guest := h.Guest()
	h.join(h.room, guest.Actor, "")
	counted := func() (visitors int64) {
		if err := h.DB.Pool().QueryRow(t.Context(), "SELECT COALESCE(sum(visitors), 0)::bigint FROM waiting_room_counts WHERE tenant_id = $1", h.ID.UUID).Scan(&visitors); err != nil {
			t.Fatal(err)
		}
		return visitors
	}
	wait(t, func() error {
		if n := counted(); n != 1 {
			return fmt.Errorf("%d are counted", n)
		}
		return nil
	})
	write := dbsqlc.CountsFlushParams{TenantID: h.ID.UUID, Region: string(h.hall.Show.Region), ShowID: h.hall.Show.UUID}
	var bucket int64
	if err := h.DB.Pool().QueryRow(t.Context(), "SELECT opening, counter_id, bucket FROM waiting_room_counts WHERE tenant_id = $1", h.ID.UUID).
		Scan(&write.Opening, &write.CounterID, &bucket); err != nil {
		t.Fatal(err)
	}
	for _, visitors := range []int64{100, 1} {
		write.Buckets, write.Visitors = []int64{bucket}, []int64{visitors}
		if _, err := dbsqlc.New(h.DB.Pool()).CountsFlush(t.Context(), write); err != nil {
			t.Fatal(err)
		}
	}
	if n := counted(); n != 100 {
		t.Errorf("%d are counted, want 100", n)
	}
}

// R81: a process that dies with visitors it has not counted delays nobody: they are called, by others.
func TestAProcessThatDiesDelaysNobody(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	dying := process(t, quick())
	guest := h.Guest()
	joined := h.join(dying, guest.Actor, "")
	dying.Kill()
	h.called(h.room, guest.Actor, joined.Token)
	grant, err := h.room.Admit(t.Context(), guest.Actor, joined.Token, "")
	expect(t, err, "ok")
	_, err = h.hold(guest, grant.ID)
	expect(t, err, "ok")
}

// A computer whose time jumps, forward or back, gives places by the database's clock all the same.
func TestClocksOfApplicationsDoNotMatter(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), func(r *admission.NewRoom) { r.RatePerMinute = 1 })
	for _, jump := range []time.Duration{time.Hour, -3 * time.Hour, 240 * time.Hour, -time.Minute} {
		h.room.ShiftTime(jump)
		before := h.Now()
		joined, err := h.room.Join(t.Context(), h.Widget, admission.Join{Show: h.hall.Show})
		after := h.Now()
		if err != nil {
			t.Fatal(err)
		}
		opened := joined.Place.Room.OpensAt
		// A state that is a tick old at most is gone on from.
		if early, late := before.Sub(opened)-time.Second, after.Sub(opened); time.Duration(joined.Order)*time.Microsecond < early || time.Duration(joined.Order)*time.Microsecond > late {
			t.Errorf("after a jump of %s the order is %d, want %d to %d", jump, joined.Order, early.Microseconds(), late.Microseconds())
		}
	}
}

// While a room is paused nobody is called, and the time is not made up for afterwards.
func TestAPauseIsNotMadeUpFor(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), func(r *admission.NewRoom) { r.Window, r.RatePerMinute = 10*time.Minute, 60 })
	yes, no := true, false
	if _, err := h.room.Update(t.Context(), h.Owner, h.hall.Show, admission.Change{Paused: &yes}); err != nil {
		t.Fatal(err)
	}
	// Two thousand visitors drew places, as another process counted.
	if _, err := h.DB.Pool().Exec(t.Context(), `INSERT INTO waiting_room_counts (tenant_id, region, show_id, opening, bucket, counter_id, visitors)
		SELECT $1, 'eu', $2, 1, b, $2, 10 FROM generate_series(0, 199) AS b`, h.ID.UUID, h.hall.Show.UUID); err != nil {
		t.Fatal(err)
	}
	h.pass(20 * time.Minute)
	wait(t, func() error {
		if waiting, err := h.room.Waiting(t.Context(), h.Owner, h.hall.Show); err != nil || waiting != 2000 {
			return fmt.Errorf("%d wait, %w", waiting, err)
		}
		return nil
	})
	room, err := h.room.Update(t.Context(), h.Owner, h.hall.Show, admission.Change{Paused: &no})
	if err != nil || room.State != admission.StateAdmitting {
		t.Fatalf("%s, %v", room.State, err)
	}
	wait(t, func() error {
		if room, err = h.room.Room(t.Context(), h.Owner, h.hall.Show); err != nil || room.Watermark < 0 {
			return fmt.Errorf("watermark %d, %w", room.Watermark, err)
		}
		return nil
	})
	// A slow machine may have taken half a minute; twenty minutes would have called twelve hundred.
	if waiting, err := h.room.Waiting(t.Context(), h.Owner, h.hall.Show); err != nil || waiting < 1900 {
		t.Errorf("%d wait, %v", waiting, err)
	}
}

// R77: the end of a room passes with no writes, and the sale is open to all.
func TestTheEndOfARoomNeedsNobody(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	guest := h.Guest()
	joined := h.join(h.room, guest.Actor, "")
	guest.Refused("ADMISSION_REQUIRED", h.hall.Pools[0].Units(1))
	h.pass(2 * time.Hour)
	guest.Hold(h.hall.Pools[0].Units(1))
	wait(t, func() error {
		_, err := h.room.Join(t.Context(), h.Guest().Actor, admission.Join{Show: h.hall.Show})
		var refusal *inventory.Refusal
		if !errors.As(err, &refusal) || refusal.Code != inventory.RefusalRoomClosed {
			return fmt.Errorf("joined a room that is over: %w", err)
		}
		return nil
	})
	_, err := h.room.Admit(t.Context(), guest.Actor, joined.Token, "")
	expect(t, err, "WAITING_ROOM_CLOSED")
	document, err := h.room.Document(t.Context(), joined.Address)
	expect(t, err, "ok")
	var read struct{ State string }
	if err := json.Unmarshal(document.Body, &read); err != nil || read.State != "CLOSED" {
		t.Errorf("the document says %s", document.Body)
	}
}

// The public document is small however many wait, and its line says for any order how many are before.
func TestTheDocumentIsSmallAndRight(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), func(r *admission.NewRoom) { r.Window = 30 * time.Minute })
	if _, err := h.DB.Pool().Exec(t.Context(), `INSERT INTO waiting_room_counts (tenant_id, region, show_id, opening, bucket, counter_id, visitors)
		SELECT $1, 'eu', $2, 1, b, $2, 4000 FROM generate_series(0, 255) AS b`, h.ID.UUID, h.hall.Show.UUID); err != nil {
		t.Fatal(err)
	}
	address, err := h.room.Address(t.Context(), h.Widget, h.hall.Show)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Waiting int64
		Line    [][2]int64
	}
	wait(t, func() error {
		document, err := h.room.Document(t.Context(), address)
		if err != nil {
			return err
		}
		if len(document.Body) > 2048 {
			return fmt.Errorf("%d bytes", len(document.Body))
		}
		if err := json.Unmarshal(document.Body, &read); err != nil || read.Waiting != 1_024_000 {
			return fmt.Errorf("%d wait, %w", read.Waiting, err)
		}
		return nil
	})
	if !slices.IsSortedFunc(read.Line, func(a, b [2]int64) int { return int(a[0] - b[0]) }) || read.Line[len(read.Line)-1][1] != read.Waiting {
		t.Errorf("the line is %v", read.Line)
	}
	joined := h.join(h.room, h.Widget, visitorName(1))
	share := float64(joined.Order) / float64((30 * time.Minute).Microseconds())
	if want := share * 1_024_000; math.Abs(float64(joined.Place.Position)-want) > 5 {
		t.Errorf("order %d is at position %d, want about %g", joined.Order, joined.Place.Position, want)
	}
}

// device is a verifier that asks a service, here a function, at the door.
type device func(ctx context.Context, visit admission.Visit, proof string) error

func (device) Name() string                     { return "device" }
func (device) Asks(m admission.Moment) bool     { return m == admission.MomentAdmission }
func (device) Challenge(admission.Visit) string { return "site-key" }
func (d device) Verify(ctx context.Context, visit admission.Visit, proof string) error {
	return d(ctx, visit, proof)
}

// A verifier may ask at the door: who proves nothing stays outside and keeps the place, and a service
// that is down lets nobody in.
func TestAVerifierAtTheDoor(t *testing.T) {
	t.Parallel()
	config := quick()
	config.Verifiers = []admission.Verifier{device(func(_ context.Context, _ admission.Visit, proof string) error {
		switch proof {
		case "good":
			return nil
		case "down":
			return errors.New("connection refused")
		}
		return admission.ErrProof
	})}
	h := open(t, config, func(r *admission.NewRoom) { r.Verifier = "device" })
	guest := h.Guest()
	joined := h.join(h.room, guest.Actor, "")
	h.called(h.room, guest.Actor, joined.Token)
	_, err := h.room.Admit(t.Context(), guest.Actor, joined.Token, "")
	expect(t, err, "VERIFICATION_REQUIRED")
	var refusal *admission.Refusal
	if !errors.As(err, &refusal) || refusal.Challenge != "site-key" || refusal.Verifier != "device" {
		t.Errorf("the refusal is %+v", refusal)
	}
	_, err = h.room.Admit(t.Context(), guest.Actor, joined.Token, "down")
	expect(t, err, "unavailable")
	_, err = h.room.Admit(t.Context(), guest.Actor, joined.Token, "good")
	expect(t, err, "ok")
	// A process that has not this verifier lets nobody in either.
	other := h.Guest()
	waiting := h.join(h.room, other.Actor, "")
	h.called(h.room, other.Actor, waiting.Token)
	_, err = process(t, quick()).Admit(t.Context(), other.Actor, waiting.Token, "good")
	expect(t, err, "unavailable")
}

// Work is of one visitor and one opening; each bit doubles it.
func TestWorkIsForOneVisitor(t *testing.T) {
	t.Parallel()
	if _, err := proofofwork.New(0); err == nil {
		t.Error("no work is accepted")
	}
	work, err := proofofwork.New(16)
	if err != nil {
		t.Fatal(err)
	}
	visit := admission.Visit{Tenant: tenants.TenantID{}, Show: ids.New[inventory.ShowKind](inventorytest.Region), Moment: admission.MomentJoin, Opening: 1, Subject: "visitor/one"}
	proof, err := proofofwork.Solve(t.Context(), work.Challenge(visit))
	if err != nil {
		t.Fatal(err)
	}
	if err := work.Verify(t.Context(), visit, proof); err != nil {
		t.Error(err)
	}
	others := 0
	for i := range 50 {
		visit.Subject = fmt.Sprintf("visitor/%d", i)
		if work.Verify(t.Context(), visit, proof) == nil {
			others++
		}
	}
	if others > 0 {
		t.Errorf("the work of one is good for %d of 50 others", others)
	}
	for _, bad := range []string{"", strings.Repeat("0", 1000)} {
		if work.Verify(t.Context(), visit, bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// R79: many who poll one room make the database read it once a tick, not once each.
func TestACrowdIsReadOnce(t *testing.T) {
	t.Parallel()
	config := quick()
	config.Tick, config.Flush, config.Settle = time.Hour, time.Hour, 24*time.Hour
	h := open(t, config, nil)
	address, err := h.room.Address(t.Context(), h.Widget, h.hall.Show)
	if err != nil {
		t.Fatal(err)
	}
	first, err := h.room.Document(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	inventorytest.Race(200, func(i int) error {
		for j := range 20 {
			if document, err := h.room.Document(t.Context(), address); err != nil || document.ETag != first.ETag {
				t.Errorf("the document is another: %v", err)
			}
			h.join(h.room, h.Widget, visitorName(100*i+j))
		}
		return nil
	})
	if n := h.Rows("waiting_room_counts"); n != 0 {
		t.Errorf("%d rows were written before it was time", n)
	}
	h.room.Close()
	var counted int64
	if err := h.DB.Pool().QueryRow(t.Context(), "SELECT sum(visitors)::bigint FROM waiting_room_counts WHERE tenant_id = $1", h.ID.UUID).Scan(&counted); err != nil || counted != 4000 {
		t.Errorf("%d are counted, %v", counted, err)
	}
}
