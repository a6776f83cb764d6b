package inventory

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// boards keeps the latest board of the shows that are looked at, so that however many look at one
// the database is asked once. It bounds the shows and the seats that it keeps.
type boards struct {
	read     func(ctx context.Context, key boardKey, before *board, stale bool) (*board, error)
	maxSeats int

	mu    sync.Mutex
	shows *simplelru.LRU[boardKey, *watchedShow]
	seats int
}

// boardKey names a show of a tenant: another tenant's is not there.
type boardKey struct {
	tenant tenants.TenantID
	show   ShowID
}

// watchedShow is one show's latest board and who waits for the next. Its fields are guarded by the
// mutex of boards.
type watchedShow struct {
	latest *board
	// reading is under way; next begins when it has ended, for those who came while it was.
	reading, next *boardRead
	// watchers are told of each new version; a poll runs as long as there are any.
	watchers map[*BoardWatch]struct{}
	polling  bool
}

// boardRead is one read of a board that several wait for.
type boardRead struct {
	began  time.Time
	fresh  bool
	done   chan struct{}
	result *board
	err    error
}

const (
	maxBoards = 10_000
	// maxBoardSeats is about 50 MB.
	maxBoardSeats    = 1_000_000
	boardReadTimeout = 30 * time.Second
	// boardStaleness is how old on CockroachDB a board may be that need not be of the present; it
	// counts as a part of its age.
	boardStaleness = time.Second
)

func newBoards(maxSeats int, read func(context.Context, boardKey, *board, bool) (*board, error)) *boards {
	// What is evicted is chosen by shrink: a show that is watched stays.
	shows, err := simplelru.NewLRU[boardKey, *watchedShow](math.MaxInt32, nil)
	if err != nil {
		// It refuses a size below one only.
		panic(err)
	}
	return &boards{read: read, maxSeats: maxSeats, shows: shows}
}

// SeatBoard reads the seats of a show as this actor's channel sees them. The board is at most maxAge
// old, and with a maxAge of 0 shows all that was committed before the call; calls at the same time
// share reads.
func (s *Service) SeatBoard(ctx context.Context, actor tenants.Actor, show ShowID, maxAge time.Duration) (SeatBoard, error) {
	if err := s.authorizeShows(ctx, actor, policies.ActionAvailabilityRead, []ShowID{show}); err != nil {
		return SeatBoard{}, err
	}
	found, err := s.boards.get(ctx, boardKey{tenant: actor.Tenant, show: show}, maxAge)
	if err != nil {
		return SeatBoard{}, err
	}
	return SeatBoard{board: found, channel: actor.Channel}, nil
}

func (b *boards) get(ctx context.Context, key boardKey, maxAge time.Duration) (*board, error) {
	b.mu.Lock()
	show := b.showOf(key)
	if show.latest != nil && maxAge > 0 && time.Since(show.latest.readAt) <= maxAge {
		found := show.latest
		b.mu.Unlock()
		return found, nil
	}
	wait := show.reading
	switch {
	case wait == nil:
		wait = newBoardRead(maxAge == 0)
		show.reading = wait
		b.begin(ctx, key, show)
	case maxAge == 0 || time.Since(wait.began) > maxAge:
		// What is being read now may be too old for this caller.
		if show.next == nil {
			show.next = newBoardRead(false)
		}
		wait = show.next
		wait.fresh = wait.fresh || maxAge == 0
	}
	b.mu.Unlock()
	select {
	case <-wait.done:
		return wait.result, wait.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newBoardRead(fresh bool) *boardRead { return &boardRead{fresh: fresh, done: make(chan struct{})} }

// showOf finds or adds a show; the mutex is held.
func (b *boards) showOf(key boardKey) *watchedShow {
	show, ok := b.shows.Get(key)
	if !ok {
		b.shrink(key)
		show = &watchedShow{}
		b.shows.Add(key, show)
	}
	return show
}

// begin starts the read that show.reading is; the mutex is held. It goes on when the caller who wanted
// it first has gone, for there may be others.
func (b *boards) begin(ctx context.Context, key boardKey, show *watchedShow) {
	read, before := show.reading, show.latest
	read.began = time.Now()
	ctx = db.Shared(ctx)
	go func() {
		limited, cancel := context.WithTimeout(ctx, boardReadTimeout)
		defer cancel()
		read.result, read.err = b.read(limited, key, before, !read.fresh)
		if read.err == nil {
			read.result.readAt = read.began
			if !read.fresh && read.result.asOf.Before(read.began.Add(-boardStaleness/2)) {
				read.result.readAt = read.began.Add(-boardStaleness)
			}
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended(key, show, read)
		show.reading, show.next = show.next, nil
		if show.reading != nil {
			b.begin(ctx, key, show)
		}
	}()
}

// ended keeps the result of a read, unless a later state is known already, and tells who waits; the
// mutex is held.
func (b *boards) ended(key boardKey, show *watchedShow, read *boardRead) {
	defer close(read.done)
	if read.err != nil {
		return
	}
	if latest := show.latest; latest != nil && read.result.version.Sum < latest.version.Sum && read.result.asOf.Before(latest.asOf.Add(clockSlack)) {
		// A stale read came after a fresh one.
		read.result = latest
		return
	}
	changed := show.latest == nil || show.latest.version != read.result.version
	kept, current := b.shows.Peek(key)
	if current && kept == show {
		if show.latest != nil {
			b.seats -= len(show.latest.seats)
		}
		b.seats += len(read.result.seats)
		show.latest = read.result
		b.shrink(key)
	}
	if changed {
		for watch := range show.watchers {
			watch.tell()
		}
	}
}

// shrink forgets the shows that were looked at longest ago until the rest fits; the mutex is held.
// A show without seats is not worth keeping, and one that is watched or being read is kept.
func (b *boards) shrink(key boardKey) {
	if show, ok := b.shows.Peek(key); ok && show.latest != nil && len(show.latest.seats) == 0 && len(show.watchers) == 0 && show.next == nil {
		b.shows.Remove(key)
	}
	for range b.shows.Len() {
		if b.seats <= b.maxSeats && b.shows.Len() <= maxBoards {
			return
		}
		oldest, show, _ := b.shows.GetOldest()
		if len(show.watchers) > 0 || show.reading != nil && oldest != key {
			b.shows.Get(oldest) // looked at
			continue
		}
		b.shows.Remove(oldest)
		if show.latest != nil {
			b.seats -= len(show.latest.seats)
		}
	}
}

// longestWrite is longer than nearly all transactions that write seats: what one wrote that took longer
// is missed by the read of what was written lately, and the sum tells.
const longestWrite = time.Minute

func rowsOf(written []dbsqlc.SeatsWrittenSinceRow) []dbsqlc.SeatStatusesRow {
	rows := make([]dbsqlc.SeatStatusesRow, len(written))
	for i, row := range written {
		rows[i] = dbsqlc.SeatStatusesRow(row)
	}
	return rows
}

// readBoard reads a board. Of a board that is known, only the rows are read that were written since; when
// none was, none.
func (s *Service) readBoard(ctx context.Context, key boardKey, before *board, stale bool) (*board, error) {
	if !stale {
		ctx = db.Fresh(ctx)
	}
	// May be stale: the map of a show on sale is what most people look at, and a claim locks the seats
	// themselves.
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (*board, error) {
		asOf, err := at.AsOf(ctx)
		if err != nil {
			return nil, err
		}
		queries := dbsqlc.New(at.Tx)
		blocks := func() ([]dbsqlc.BlocksForMapRow, error) {
			rows, err := queries.BlocksForMap(ctx, dbsqlc.BlocksForMapParams{TenantID: key.tenant.UUID, Region: string(key.show.Region), ShowID: key.show.UUID})
			if err != nil {
				return nil, fmt.Errorf("read the blocks of a show: %w", err)
			}
			return rows, nil
		}
		if before != nil {
			now, err := queries.SeatVersions(ctx, dbsqlc.SeatVersionsParams{TenantID: key.tenant.UUID, Region: string(key.show.Region), ShowID: key.show.UUID})
			if err != nil {
				return nil, fmt.Errorf("read the version of a seat map: %w", err)
			}
			if now.Seats == int64(len(before.seats)) {
				if now.Sum == before.version.Sum {
					return before.again(asOf), nil
				}
				written, err := queries.SeatsWrittenSince(ctx, dbsqlc.SeatsWrittenSinceParams{
					TenantID: key.tenant.UUID, Region: string(key.show.Region), ShowID: key.show.UUID, Since: before.asOf.Add(-longestWrite).Unix(),
				})
				if err != nil {
					return nil, fmt.Errorf("read the seats that have changed: %w", err)
				}
				known, err := blocks()
				if err != nil {
					return nil, err
				}
				if found, ok := before.with(asOf, now.Sum, rowsOf(written), known); ok {
					return found, nil
				}
			}
		}
		rows, err := queries.SeatStatuses(ctx, dbsqlc.SeatStatusesParams{TenantID: key.tenant.UUID, Region: string(key.show.Region), ShowID: key.show.UUID})
		if err != nil {
			return nil, fmt.Errorf("read the seat map: %w", err)
		}
		known, err := blocks()
		if err != nil {
			return nil, err
		}
		return newBoard(key.show, before, asOf, rows, known), nil
	}, db.Stale(boardStaleness))
}
