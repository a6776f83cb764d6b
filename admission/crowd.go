package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/admission/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
)

// crowd is a room as one process knows it: its state of a moment ago, and the visitors that the
// process has counted.
type crowd struct {
	place place
	// counter is whose sums these are in the database.
	counter uuid.UUID
	state   atomic.Pointer[state]
	// reading is held by who reads the room anew.
	reading sync.Mutex

	lock sync.Mutex
	// opening is the one that the counts are of.
	opening int64
	counts  map[int64]int64
	// changed are the buckets whose sums are not written; due says that they will be.
	changed map[int64]bool
	due     bool
}

// state is a room at the moment when it was read. It does not change.
type state struct {
	room   Room
	secret []byte
	clock  reading
	line   line
	sums   []sum
	// complete says that no sum is left out behind those.
	complete bool
	document Document
}

// now is the database's clock, as far as this process can tell.
func (st *state) now(elapsed time.Duration) time.Time { return st.clock.time(elapsed) }

// ahead is how many visitors are called before an order is.
func (st *state) ahead(order int64) int64 {
	now, ahead := st.room.orderAt(st.clock.shown), 0.0
	for _, s := range st.sums {
		ahead += st.line.part(s, st.room.Watermark+1, order, now)
	}
	return int64(ahead)
}

// look is a room's state, a tick old at most. While one caller reads it anew, others are answered
// with what was read before, as long as that is not too old.
func (s *Service) look(ctx context.Context, c *crowd) (*state, error) {
	if st := c.state.Load(); st != nil && s.young(st, s.config.Tick) {
		return st, nil
	}
	if !c.reading.TryLock() {
		if st := c.state.Load(); st != nil && s.young(st, staleFactor*s.config.Tick) {
			return st, nil
		}
		c.reading.Lock()
	}
	defer c.reading.Unlock()
	if st := c.state.Load(); st != nil && s.young(st, s.config.Tick) {
		return st, nil
	}
	return s.lookAgain(ctx, c)
}

func (s *Service) young(st *state, oldest time.Duration) bool {
	age := st.clock.age(s.elapsed())
	return age >= 0 && age < oldest
}

// lookAgain reads a room and moves its watermark when that is due. c.reading is held.
func (s *Service) lookAgain(ctx context.Context, c *crowd) (*state, error) {
	// Others wait for the answer, so it goes on when the caller goes away.
	ctx, cancel := context.WithTimeout(db.Shared(ctx), refreshTimeout)
	defer cancel()
	st, err := s.read(ctx, c)
	s.metrics.refreshed(err)
	if err != nil {
		if fault.KindOf(err) == fault.KindNotFound {
			s.forget(c.place)
			c.state.Store(nil)
			return nil, err
		}
		if old := c.state.Load(); old != nil && s.young(old, 2*staleFactor*s.config.Tick) {
			return old, nil
		}
		return nil, err
	}
	c.state.Store(st)
	return st, nil
}

// read reads the room with its sums in one statement, and moves the watermark when it is due.
func (s *Service) read(ctx context.Context, c *crowd) (*state, error) {
	opening, watermark, from := int64(1), int64(-1), int64(0)
	if old := c.state.Load(); old != nil {
		opening, watermark = old.room.Opening, old.room.Watermark
		from = old.line.bucketOf(max(0, watermark))
	}
	rows, err := s.roomRows(ctx, c.place, opening, from)
	if err == nil && rows[0].Opening != opening {
		opening, watermark = rows[0].Opening, -1
		rows, err = s.roomRows(ctx, c.place, opening, 0)
	}
	if err != nil {
		return nil, err
	}
	row := rows[0]
	st := &state{room: roomOf(c.place, roomRow{
		Opening: row.Opening, OpensAt: row.OpensAt, ClosesAt: row.ClosesAt, WindowSeconds: row.WindowSeconds, RatePerMinute: row.RatePerMinute,
		GrantSeconds: row.GrantSeconds, HoldsPerGrant: row.HoldsPerGrant, Verifier: row.Verifier, Paused: row.Paused, ClosedAt: row.ClosedAt,
		Watermark: row.Watermark,
	}), secret: row.Secret, clock: reading{shown: row.Now, at: s.elapsed()}, complete: len(rows) < maxBuckets}
	st.line, st.room.State = st.room.line(), st.room.stateAt(row.Now)
	for _, r := range rows {
		if r.Bucket >= 0 {
			st.sums = append(st.sums, sum{bucket: r.Bucket, visitors: r.Visitors})
		}
	}
	if err := s.move(ctx, c.place, st, row.Credit, row.MovedAt, row.Version); err != nil {
		return nil, err
	}
	// A process that reads an older state than it showed before does not show it.
	st.room.Watermark = max(st.room.Watermark, watermark)
	st.document = documentOf(st)
	return st, nil
}

func (s *Service) roomRows(ctx context.Context, p place, opening, from int64) ([]dbsqlc.RoomWithCountsRow, error) {
	rows, err := dbsqlc.New(s.db.Pool()).RoomWithCounts(ctx, dbsqlc.RoomWithCountsParams{
		TenantID: p.tenant, Region: string(p.region), ShowID: p.show, Opening: opening, FromBucket: from, MaxBuckets: maxBuckets,
	})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read a waiting room: %w", err))
	}
	if len(rows) == 0 {
		return nil, fault.NotFound("waiting room")
	}
	return rows, nil
}

// move moves the watermark when a tick has passed since it was moved. When another process did so
// meanwhile, the next look shows it.
func (s *Service) move(ctx context.Context, p place, st *state, credit int64, moved time.Time, version int64) error {
	now := st.clock.shown
	// The last of the opening window may be counted a little later.
	since := st.room.AdmitsFrom().Add(s.config.Settle)
	if moved.After(since) {
		since = moved
	}
	// Almost a tick is one: the process that moved it last asks again a tick later, less a breath.
	if st.room.State != StateAdmitting || now.Sub(since) < s.config.Tick*3/4 {
		return nil
	}
	present := st.room.orderAt(now)
	watermark, rest := motion{
		line: st.line, watermark: st.room.Watermark, credit: credit, ratePerMinute: st.room.RatePerMinute, sums: st.sums, complete: st.complete,
		now: present, limit: present - s.config.Settle.Microseconds(),
	}.after(min(now.Sub(since), maxCatchUp))
	n, err := db.InTx(ctx, s.db, "admission.MoveWatermark", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		return dbsqlc.New(tx).WatermarkMove(ctx, dbsqlc.WatermarkMoveParams{
			TenantID: p.tenant, Region: string(p.region), ShowID: p.show, Watermark: watermark, Credit: rest, Now: now,
			Version: version, SeenMovedAt: moved,
		})
	})
	if err != nil {
		return fmt.Errorf("move the watermark of a waiting room: %w", err)
	}
	if n == 1 {
		st.room.Watermark = watermark
	}
	return nil
}

// count counts a visitor who joined, and says whether somebody must see to it that it is written.
func (c *crowd) count(opening, bucket int64) (due bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.opening != opening {
		// Counts of an earlier opening are of no use.
		c.opening, c.counts, c.changed = opening, map[int64]int64{}, map[int64]bool{}
	}
	c.counts[bucket]++
	c.changed[bucket] = true
	due = !c.due
	c.due = true
	return due
}

// mustFlush says whether there is something to write that nobody will.
func (c *crowd) mustFlush() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	must := len(c.changed) > 0 && !c.due
	c.due = c.due || must
	return must
}

// flush writes the sums that have changed. They are this process's own, written whole: after an
// outcome that is not known they are written again.
func (s *Service) flush(ctx context.Context, c *crowd) error {
	c.lock.Lock()
	c.due = false
	opening := c.opening
	buckets := slices.Sorted(maps.Keys(c.changed))
	sums := make([]int64, len(buckets))
	for i, bucket := range buckets {
		sums[i] = c.counts[bucket]
	}
	clear(c.changed)
	c.lock.Unlock()
	for first := 0; first < len(buckets); first += maxFlush {
		last := min(first+maxFlush, len(buckets))
		_, err := db.Replayable(ctx, s.db, "admission.FlushCounts", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			return dbsqlc.New(tx).CountsFlush(ctx, dbsqlc.CountsFlushParams{
				TenantID: c.place.tenant, Region: string(c.place.region), ShowID: c.place.show, Opening: opening, CounterID: c.counter,
				Buckets: buckets[first:last], Visitors: sums[first:last],
			})
		})
		if err != nil {
			c.lock.Lock()
			if c.opening == opening {
				for _, bucket := range buckets[first:] {
					c.changed[bucket] = true
				}
			}
			c.lock.Unlock()
			return fmt.Errorf("write the counts of a waiting room: %w", err)
		}
	}
	return nil
}

// roomRow is a room as every query reads it.
type roomRow = dbsqlc.RoomGetRow

func roomOf(p place, row roomRow) Room {
	return Room{
		Show: inventory.ShowID{Region: p.region, UUID: p.show}, Opening: row.Opening, OpensAt: row.OpensAt, ClosesAt: row.ClosesAt,
		Window: time.Duration(row.WindowSeconds) * time.Second, RatePerMinute: row.RatePerMinute,
		GrantLifetime: time.Duration(row.GrantSeconds) * time.Second, HoldsPerGrant: row.HoldsPerGrant,
		Verifier: row.Verifier, Paused: row.Paused, ClosedAt: row.ClosedAt, Watermark: row.Watermark,
	}
}
