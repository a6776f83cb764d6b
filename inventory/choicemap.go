package inventory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// choiceMaps keeps, for the shows that best seats are asked of, what stood in their seats a moment ago.
// It is where candidates come from and decides nothing: a claim locks what it was offered and looks
// again. A map is read by one at a time, refreshed in the background while it is used, and never older
// than choiceMaxAge when somebody chooses from it.
type choiceMaps struct {
	db   *db.DB
	maps *lru.Cache[owner, *choiceMap]
	mu   sync.Mutex
}

func newChoiceMaps(d *db.DB) *choiceMaps {
	maps, err := lru.New[owner, *choiceMap](maxChoiceMaps)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &choiceMaps{db: d, maps: maps}
}

// choiceMap is the seats of one show, by their places in its hall.
type choiceMap struct {
	show owner
	hall *seating

	// loading is held by who reads the map, mu by who looks at it or notes something in it.
	loading, mu sync.Mutex
	seats       []choiceSeat
	levels      []uuid.UUID
	blocks      []uuid.UUID
	// strict: the terms forbid that single seats are left.
	strict bool
	// begun is when the read began, by this process's clock; asOf is its instant by the database's.
	begun, asOf time.Time
	refreshing  bool
	// reading: a read is under way, and since are the notes made since it began, which it may not have
	// seen.
	reading bool
	since   []seatNote
}

// choiceSeat is the state of a seat. freeAt is in microseconds since 1970: seatFree, seatGone, or when
// its hold is due.
type choiceSeat struct {
	freeAt int64
	level  uint16
	// block is one more than the number of the channel that owns the seat; 0 is everybody's.
	block uint16
}

const (
	seatFree = math.MinInt64
	seatGone = math.MaxInt64
)

type seatNote struct {
	place  int32
	freeAt int64
}

// of is the map of a show whose hall is known; it may have to be read first.
func (c *choiceMaps) of(ctx context.Context, show owner, hall *seating) (*choiceMap, error) {
	c.mu.Lock()
	m, ok := c.maps.Get(show)
	if !ok {
		m = &choiceMap{show: show, hall: hall}
		c.maps.Add(show, m)
	}
	c.mu.Unlock()
	m.mu.Lock()
	age := time.Since(m.begun)
	refresh := age > choiceRefreshAge && age <= choiceMaxAge && !m.refreshing
	m.refreshing = m.refreshing || refresh
	m.mu.Unlock()
	switch {
	case age > choiceMaxAge:
		return m, c.readSince(db.Shared(ctx), m, time.Now().Add(-choiceMaxAge))
	case refresh:
		go func() {
			// Its failure is told to whoever needs a younger map.
			_ = c.readSince(db.Shared(ctx), m, time.Now())
			m.mu.Lock()
			m.refreshing = false
			m.mu.Unlock()
		}()
	}
	return m, nil
}

// readSince reads the map, unless somebody's read of it began after an instant.
func (c *choiceMaps) readSince(ctx context.Context, m *choiceMap, since time.Time) error {
	m.loading.Lock()
	defer m.loading.Unlock()
	m.mu.Lock()
	young := m.begun.After(since)
	m.reading = !young
	m.mu.Unlock()
	if young {
		return nil
	}
	defer func() {
		m.mu.Lock()
		m.reading, m.since = false, nil
		m.mu.Unlock()
	}()
	begun := time.Now()
	// Read at the present: seats that nobody was given need not be asked for in vain.
	fresh, err := db.InSnapshotAsOf(ctx, c.db, func(ctx context.Context, at db.Snapshot) (*choiceMap, error) {
		return readChoiceMap(ctx, at, m.show, m.hall)
	})
	if err != nil {
		return fmt.Errorf("read the seats of a show: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seats, m.levels, m.blocks, m.strict, m.asOf, m.begun = fresh.seats, fresh.levels, fresh.blocks, fresh.strict, fresh.asOf, begun
	for _, note := range m.since {
		m.seats[note.place].freeAt = note.freeAt
	}
	return nil
}

func readChoiceMap(ctx context.Context, at db.Snapshot, show owner, hall *seating) (*choiceMap, error) {
	asOf, err := at.AsOf(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := dbsqlc.New(at.Tx).SeatsForChoice(ctx, dbsqlc.SeatsForChoiceParams{TenantID: show.tenant, Region: string(show.region), ShowID: show.stock})
	if err != nil {
		return nil, err
	}
	kept, err := blocksInForce(ctx, at.Tx, show, asOf)
	if err != nil {
		return nil, err
	}
	terms, err := termsOf(ctx, at.Tx, show.tenant, []uuid.UUID{show.stock})
	if err != nil {
		return nil, err
	}
	levels, err := dbsqlc.New(at.Tx).PriceLevelsOfShows(ctx, dbsqlc.PriceLevelsOfShowsParams{TenantID: show.tenant, Region: string(show.region), ShowIds: []uuid.UUID{show.stock}})
	if err != nil {
		return nil, err
	}
	m := &choiceMap{seats: make([]choiceSeat, len(hall.seats)), strict: terms.OrphanSeats == OrphanSeatsRefuse, asOf: asOf}
	for _, level := range levels {
		m.levels = append(m.levels, level.ID)
	}
	for i := range m.seats {
		m.seats[i].freeAt = seatGone
	}
	for _, row := range rows {
		place, ok := hall.at[row.SeatID]
		if !ok {
			continue
		}
		seat := choiceSeat{level: numberOf(&m.levels, row.PriceLevelID)}
		if row.BlockID != nil {
			if channel, in := kept[*row.BlockID]; in {
				seat.block = 1 + numberOf(&m.blocks, channel)
			}
		}
		seat.freeAt = freeAt(row.State, row.ClaimableAt)
		m.seats[place] = seat
	}
	return m, nil
}

// freeAt is from when a seat in a state may be taken.
func freeAt(state string, claimableAt *time.Time) int64 {
	switch {
	case state == string(seatStateAvailable):
		return seatFree
	case state == string(seatStateHeld) && claimableAt != nil:
		return claimableAt.UnixMicro()
	}
	return seatGone
}

// numberOf is the position of an id in a list, to which it is added when it is new.
func numberOf(list *[]uuid.UUID, id uuid.UUID) uint16 {
	at := slices.Index(*list, id)
	if at < 0 {
		at = len(*list)
		*list = append(*list, id)
	}
	return uint16(at) //nolint:gosec // price levels and channels are bounded by far
}

// now is about what the database's clock says.
func (m *choiceMap) now() int64 { return m.asOf.Add(time.Since(m.begun)).UnixMicro() }

// note keeps what was seen of seats under lock.
func (m *choiceMap) note(notes []seatNote) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range notes {
		if int(n.place) < len(m.seats) {
			m.seats[n.place].freeAt = n.freeAt
		}
	}
	if m.reading {
		m.since = append(m.since, notes...)
	}
}

// noteLocked keeps what a batch has seen under lock, so that the next choice does not offer it again. A
// transaction that starts over has seen it all the same.
func (c *choiceMaps) noteLocked(b *batch, s stock) {
	for show, rows := range s.seats {
		m, ok := c.maps.Peek(owner{place: b.at, stock: show})
		if !ok {
			continue
		}
		notes := make([]seatNote, 0, len(rows))
		for id, row := range rows {
			if place, ok := m.hall.at[id.UUID]; ok {
				notes = append(notes, seatNote{place: place, freeAt: freeAt(row.State, row.ClaimableAt)})
			}
		}
		m.note(notes)
	}
}

// noteHolds keeps what holds have just taken.
func (c *choiceMaps) noteHolds(at place, answers []answer) {
	notes := map[uuid.UUID][]seatNote{}
	for _, a := range answers {
		for _, line := range a.hold.Lines {
			m, ok := c.maps.Peek(owner{place: at, stock: line.Show.UUID})
			if !ok || line.Kind != LineKindSeat || a.hold.State != HoldStateActive {
				continue
			}
			if place, ok := m.hall.at[line.Seat.UUID]; ok {
				notes[line.Show.UUID] = append(notes[line.Show.UUID], seatNote{place: place, freeAt: a.hold.ClaimableAt.UnixMicro()})
			}
		}
	}
	for show, list := range notes {
		if m, ok := c.maps.Peek(owner{place: at, stock: show}); ok {
			m.note(list)
		}
	}
}
