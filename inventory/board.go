package inventory

import (
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// board is every seat of a show at one instant, as the database has it and no channel in particular
// sees it. It never changes: a later state is another board.
type board struct {
	show    ShowID
	asOf    time.Time
	readAt  time.Time
	version MapVersion
	// since is the sum of the first of this line of boards; what changed before is not known here.
	since int64
	seats []boardSeat
	// levels and blocks are what seats refer to by number.
	levels []PriceLevelID
	blocks []boardBlock
}

// boardBlock is a block that seats may be in, whether it still stands or not.
type boardBlock struct {
	id uuid.UUID
	// channel is the zero id for house seats.
	channel uuid.UUID
	// releaseAt is in microseconds; math.MaxInt64 is never.
	releaseAt int64
	active    bool
	version   int64
}

// boardBlocksOf are the blocks of rows, and their versions together.
func boardBlocksOf(rows []dbsqlc.BlocksForMapRow) (blocks []boardBlock, sum int64) {
	blocks = make([]boardBlock, len(rows))
	for i, row := range rows {
		block := boardBlock{id: row.ID, releaseAt: math.MaxInt64, active: row.State == string(BlockStateActive), version: row.Version}
		if row.ChannelID != nil {
			block.channel = *row.ChannelID
		}
		if row.ReleaseAt != nil {
			block.releaseAt = row.ReleaseAt.UnixMicro()
		}
		blocks[i] = block
		sum += row.Version
	}
	return blocks, sum
}

// stands is whether a block keeps its seats from others at an instant.
func (b boardBlock) stands(at time.Time) bool { return b.active && at.UnixMicro() < b.releaseAt }

// continues reports whether blocks are those of before, changed or not, and perhaps more.
func continues(before, blocks []boardBlock) bool {
	if len(before) > len(blocks) {
		return false
	}
	for i := range before {
		if before[i].id != blocks[i].id {
			return false
		}
	}
	return true
}

// blockNumbers are 1 more than the positions of blocks.
func blockNumbers(blocks []boardBlock) map[uuid.UUID]uint16 {
	numbers := make(map[uuid.UUID]uint16, len(blocks))
	for i, block := range blocks {
		numbers[block.id] = uint16(i + 1) //nolint:gosec // at most maxBlocksEver
	}
	return numbers
}

// boardSeat is 48 bytes: a hall of 50,000 is 2.4 MB.
type boardSeat struct {
	id uuid.UUID
	// claimableAt is in microseconds; 0 for a seat that nobody holds.
	claimableAt int64
	version     int64
	// shown is the sum of the first board that has the row as it is.
	shown int64
	level uint16
	// block is 1 more than the number of the block that the seat is in; 0 is none.
	block uint16
	state seatCode
}

// seatCode is a row's state in one byte.
type seatCode uint8

const (
	seatCodeAvailable seatCode = iota
	seatCodeHeld
	seatCodeBooked
)

func codeOf(state string) seatCode {
	switch seatState(state) {
	case seatStateAvailable:
		return seatCodeAvailable
	case seatStateHeld:
		return seatCodeHeld
	case seatStateBooked:
		return seatCodeBooked
	}
	// The table's CHECK knows no other; what is not known is not offered.
	return seatCodeBooked
}

// newBoard makes a board of rows in the order of their ids. before is the board before it in this
// process, or nil.
func newBoard(show ShowID, before *board, asOf time.Time, rows []dbsqlc.SeatStatusesRow, blocks []dbsqlc.BlocksForMapRow) *board {
	b := &board{show: show, asOf: asOf, seats: make([]boardSeat, len(rows))}
	var sum int64
	b.blocks, sum = boardBlocksOf(blocks)
	numbers := blockNumbers(b.blocks)
	for i, row := range rows {
		sum += row.Version
		b.seats[i] = b.seatOf(row, numbers)
	}
	b.version = MapVersion{Sum: sum, At: asOf}
	b.follow(before)
	return b
}

// with is the board with some rows as they are at a later instant, and sum as its sum. It is false when
// those rows do not make it: others have changed, too.
func (b *board) with(asOf time.Time, sum int64, rows []dbsqlc.SeatStatusesRow, blocks []dbsqlc.BlocksForMapRow) (*board, bool) {
	later := *b
	later.asOf, later.version = asOf, MapVersion{Sum: sum, At: asOf}
	later.seats = slices.Clone(b.seats)
	later.levels = slices.Clone(b.levels)
	var blocked int64
	if later.blocks, blocked = boardBlocksOf(blocks); !continues(b.blocks, later.blocks) {
		return nil, false
	}
	got := b.version.Sum + blocked
	for _, block := range b.blocks {
		got -= block.version
	}
	later.showBlocks(b)
	numbers := blockNumbers(later.blocks)
	for _, row := range rows {
		i, known := SeatBoard{board: &later}.Find(SeatID{UUID: row.SeatID})
		if !known {
			return nil, false
		}
		seat := later.seatOf(row, numbers)
		seat.shown = later.seats[i].shown
		if seat == later.seats[i] {
			continue
		}
		got += seat.version - later.seats[i].version
		seat.shown = sum
		later.seats[i] = seat
	}
	return &later, got == sum
}

// seatOf makes a seat of a row; it adds what the seat refers to.
func (b *board) seatOf(row dbsqlc.SeatStatusesRow, blocks map[uuid.UUID]uint16) boardSeat {
	seat := boardSeat{id: row.SeatID, version: row.Version, state: codeOf(row.State)}
	if row.ClaimableAt != nil {
		seat.claimableAt = row.ClaimableAt.UnixMicro()
	}
	level := PriceLevelID{Region: b.show.Region, UUID: row.PriceLevelID}
	at := slices.Index(b.levels, level)
	if at < 0 {
		at = len(b.levels)
		b.levels = append(b.levels, level)
	}
	seat.level = uint16(at) //nolint:gosec // a show has at most 50 price levels
	if row.BlockID != nil {
		seat.block = blocks[*row.BlockID]
	}
	return seat
}

// follow notes for each seat since when its row is as it is.
func (b *board) follow(before *board) {
	sum := b.version.Sum
	// A sum never falls but by restoring the database.
	known := before != nil && len(before.seats) == len(b.seats) && before.version.Sum <= sum && continues(before.blocks, b.blocks)
	b.since = sum
	if known {
		b.since = before.since
	}
	for i := range b.seats {
		seat := &b.seats[i]
		seat.shown = sum
		if !known {
			continue
		}
		if before.seats[i].id != seat.id {
			// Other seats than before: a new line of boards.
			b.follow(nil)
			return
		}
		seat.shown = before.seats[i].shown
		if before.seats[i] != *seat {
			seat.shown = sum
		}
	}
	if known {
		b.showBlocks(before)
	}
}

// showBlocks notes that the seats of blocks that have changed are shown anew: their own rows have not.
func (b *board) showBlocks(before *board) {
	changed := make([]bool, len(b.blocks)+1)
	anything := false
	for i := range before.blocks {
		if before.blocks[i] != b.blocks[i] {
			changed[i+1], anything = true, true
		}
	}
	if !anything {
		return
	}
	for i := range b.seats {
		if changed[b.seats[i].block] {
			b.seats[i].shown = b.version.Sum
		}
	}
}

// again is the same rows, read once more at a later instant.
func (b *board) again(asOf time.Time) *board {
	later := *b
	later.asOf = asOf
	for i := range b.seats {
		if b.dueWithin(&b.seats[i], b.version.At, asOf) {
			later.version.At = asOf
			break
		}
	}
	return &later
}

// dueAt is whether a seat's hold is over at an instant, so that the seat is free.
func (s *boardSeat) dueAt(at time.Time) bool {
	return s.state == seatCodeHeld && s.claimableAt <= at.UnixMicro()
}

// dueWithin is whether a seat's hold is over, or its block's moment has come, at one of two instants only.
func (b *board) dueWithin(seat *boardSeat, one, other time.Time) bool {
	if seat.dueAt(one) != seat.dueAt(other) {
		return true
	}
	return seat.block > 0 && b.blocks[seat.block-1].stands(one) != b.blocks[seat.block-1].stands(other)
}

// SeatBoard is the seats of a show at one instant as one channel sees them. It never changes and may
// be read by several at once.
type SeatBoard struct {
	*board
	channel tenants.ChannelID
}

// AsOf is the instant, by the database's clock.
func (b SeatBoard) AsOf() time.Time { return b.asOf }

// ReadAt is when the read of it began, by this process's clock: it shows all that was committed
// before.
func (b SeatBoard) ReadAt() time.Time { return b.readAt }

// Version names the state.
func (b SeatBoard) Version() MapVersion { return b.version }

// Len is the number of seats.
func (b SeatBoard) Len() int { return len(b.seats) }

// Seat is one of the seats, which are numbered from 0 by their ids.
func (b SeatBoard) Seat(i int) SeatState {
	seat := &b.seats[i]
	return SeatState{
		Seat: SeatID{Region: b.show.Region, UUID: seat.id}, PriceLevel: b.levels[seat.level], Status: b.Status(i),
	}
}

// Status is what may be done with a seat.
func (b SeatBoard) Status(i int) SeatStatus {
	seat := &b.seats[i]
	free := seat.state == seatCodeAvailable || seat.dueAt(b.asOf)
	switch {
	case !free && seat.state == seatCodeHeld:
		return SeatStatusHeld
	case !free:
		return SeatStatusBooked
	case seat.block > 0 && b.blocks[seat.block-1].stands(b.asOf) && b.blocks[seat.block-1].channel != b.channel.UUID:
		return SeatStatusBlocked
	}
	return SeatStatusAvailable
}

// Find is the number of a seat.
func (b SeatBoard) Find(id SeatID) (int, bool) {
	return slices.BinarySearchFunc(b.seats, id.UUID, func(s boardSeat, id uuid.UUID) int { return compareUUID(s.id, id) })
}

// SeatChanges are the seats that may differ between two states; every one that does is among them.
type SeatChanges struct {
	// Version is the later state's.
	Version MapVersion
	// Seats are numbers of the later board's seats, ascending.
	Seats []int
}

// clockSlack is more than the times of two reads can be out of the order in which they were made.
const clockSlack = 10 * time.Second

// Since tells what may have changed since a version that this or another process gave. It is false
// when this process has not watched the show for long enough to know; then the whole board is the
// answer. A version that is ahead of this board is answered with no changes and itself.
func (b SeatBoard) Since(version MapVersion) (SeatChanges, bool) {
	switch {
	case version.Sum < b.since:
		return SeatChanges{}, false
	case version.Sum > b.version.Sum && b.asOf.After(version.At.Add(clockSlack)):
		// No state of this database is so far ahead of a later one: it was restored, or made up.
		return SeatChanges{}, false
	case version.Sum > b.version.Sum:
		return SeatChanges{Version: version}, true
	}
	changes := SeatChanges{Version: b.version}
	for i := range b.seats {
		if seat := &b.seats[i]; seat.shown > version.Sum || b.dueWithin(seat, version.At, b.asOf) {
			changes.Seats = append(changes.Seats, i)
		}
	}
	return changes, true
}
