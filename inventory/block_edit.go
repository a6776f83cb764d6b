package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// NewSeatBlock is seats to be set aside.
type NewSeatBlock struct {
	Show ShowID
	// Channel is to sell the seats; zero makes them house seats, which need a Reason.
	Channel tenants.ChannelID
	// Reason is at most maxBlockReason characters, Note at most maxBlockNote.
	Reason string
	Note   string
	// Release is when the seats are for sale to everybody.
	Release Moment
	Seats   SeatSelection
}

// Moment is an instant, given as such or as what the clocks of the venue show. The zero Moment is never.
type Moment struct {
	At *time.Time
	// Local is a date and time such as 2027-03-14T18:00. One that the clocks show twice means the second,
	// one that they skip is as long after the shift as it would be after the time skipped from.
	Local string
}

// BlockEdit is what became of a change of a block's seats.
type BlockEdit struct {
	Block SeatBlock
	// Seats is how many were named.
	Seats int64
	// Kept are those of them that somebody holds or has bought, and Kept keeps them: at most maxSeatsNamed,
	// of KeptCount. They are in the block, and its channel sells them if they come back.
	Kept      []SeatState
	KeptCount int64
}

// BlockRefused says why seats of a block were not set aside, moved or released. Nothing was changed.
type BlockRefused struct {
	Refusal
	// Seats are at most maxSeatsNamed of those that were in the way; Count is how many there are.
	Seats []RefusedSeat
	Count int64
}

// RefusedSeat is a seat that could not join, move to or leave a block.
type RefusedSeat struct {
	Seat SeatID
	Code RefusalCode
	// Block is the one that the seat is in, or nil.
	Block *BlockID
}

// Unwrap makes it a Refusal.
func (r *BlockRefused) Unwrap() error { return &r.Refusal }

// CreateSeatBlock sets seats of a show aside. A seat of another block is refused, by name; one that
// somebody holds or has bought keeps its owner, and is the block's when it comes back.
func (s *Service) CreateSeatBlock(ctx context.Context, actor tenants.Actor, requestKey string, input NewSeatBlock) (BlockEdit, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionBlockSet, "show", input.Show.Region, input.Show.UUID); err != nil {
		return BlockEdit{}, err
	}
	if err := checkBlockTexts(input.Channel, input.Reason, input.Note); err != nil {
		return BlockEdit{}, err
	}
	if err := input.Release.check(); err != nil {
		return BlockEdit{}, err
	}
	at := placeOf(actor.Tenant, input.Show.Region)
	seats, err := s.resolve(ctx, at, input.Show, input.Seats)
	if err != nil {
		return BlockEdit{}, err
	}
	id, err := s.create(ctx, actor, at.region, "createSeatBlock", requestKey, input, func(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
		return createBlockTx(ctx, tx, at, actor, id, input, seats)
	})
	if err != nil {
		return BlockEdit{}, err
	}
	return s.blockEdit(ctx, at, id, seats)
}

func createBlockTx(ctx context.Context, tx pgx.Tx, at place, actor tenants.Actor, id uuid.UUID, input NewSeatBlock, seats selected) error {
	show, err := lockBlocksOf(ctx, tx, at, input.Show.UUID)
	if err != nil {
		return err
	}
	queries := dbsqlc.New(tx)
	block := blockEnds{at: at, show: input.Show.UUID, to: id}
	if !input.Channel.IsZero() {
		block.channel = &input.Channel.UUID
		_, err := queries.ChannelForBlock(ctx, dbsqlc.ChannelForBlockParams{TenantID: at.tenant, ID: input.Channel.UUID})
		if db.IsNoRows(err) {
			return fault.NotFound("channel")
		}
		if err != nil {
			return fmt.Errorf("read the channel of a block: %w", err)
		}
	}
	n, err := queries.BlocksCount(ctx, dbsqlc.BlocksCountParams{TenantID: at.tenant, Region: string(at.region), ShowID: input.Show.UUID})
	if err != nil {
		return fmt.Errorf("count the blocks of a show: %w", err)
	}
	switch {
	case n.Standing >= maxBlocksPerShow:
		return fault.Conflict("the show has %d blocks that stand; release one first", n.Standing)
	case n.Made >= maxBlocksEver:
		return fault.Conflict("%d blocks were made of the show, the released ones counted, and there may be no more: change one that stands", n.Made)
	}
	now, moved, err := block.take(ctx, tx, seats, func(time.Time) error { return nil })
	if err != nil {
		return err
	}
	release, err := input.Release.instant(ctx, tx, at, show.VenueID, now)
	if err != nil {
		return err
	}
	if err := queries.BlockInsert(ctx, dbsqlc.BlockInsertParams{
		TenantID: at.tenant, Region: string(at.region), ID: id, ShowID: input.Show.UUID, ChannelID: block.channel,
		Reason: input.Reason, Note: input.Note, ReleaseAt: release, CreatedAt: now,
	}); err != nil {
		return fmt.Errorf("store a block: %w", err)
	}
	change := blockNote{
		id: uuid.New(), block: id, kind: BlockCreated, seats: int64(len(seats.seats)), actor: actor, blockReason: input.Reason, blockNote: input.Note,
	}
	if err := noteBlocks(ctx, tx, at, []blockNote{change}, now); err != nil {
		return err
	}
	return block.noteMoves(ctx, tx, change.id, moved, now)
}

// AssignSeats adds seats that are in no block to one that stands.
func (s *Service) AssignSeats(ctx context.Context, actor tenants.Actor, requestKey string, id BlockID, selection SeatSelection) (BlockEdit, error) {
	return s.editSeats(ctx, actor, requestKey, "assignSeats", nil, &id, selection)
}

// MoveSeats takes seats from one block to another of the same show. For no moment are they for sale to
// others.
func (s *Service) MoveSeats(ctx context.Context, actor tenants.Actor, requestKey string, from, to BlockID, selection SeatSelection) (BlockEdit, error) {
	for _, id := range []BlockID{from, to} {
		if err := s.authorizeAt(ctx, actor, policies.ActionBlockSet, "seat block", id.Region, id.UUID); err != nil {
			return BlockEdit{}, err
		}
	}
	if from == to {
		return BlockEdit{}, fault.Invalid("toBlock", "expected another block than fromBlock")
	}
	if from.Region != to.Region {
		return BlockEdit{}, fault.Invalid("toBlock", "the blocks are of different regions")
	}
	return s.editSeats(ctx, actor, requestKey, "moveSeats", &from, &to, selection)
}

// ReleaseSeats takes seats out of a block, so that every channel may sell them.
func (s *Service) ReleaseSeats(ctx context.Context, actor tenants.Actor, requestKey string, id BlockID, selection SeatSelection) (BlockEdit, error) {
	return s.editSeats(ctx, actor, requestKey, "releaseSeats", &id, nil, selection)
}

// editSeats moves seats: out of a block where from is given, into one where to is.
func (s *Service) editSeats(ctx context.Context, actor tenants.Actor, requestKey, operation string, from, to *BlockID, selection SeatSelection) (BlockEdit, error) {
	of := from
	if to != nil {
		of = to
	}
	if err := s.authorizeAt(ctx, actor, policies.ActionBlockSet, "seat block", of.Region, of.UUID); err != nil {
		return BlockEdit{}, err
	}
	at := placeOf(actor.Tenant, of.Region)
	blocks, err := dbsqlc.New(s.db.Pool()).BlocksByID(ctx, dbsqlc.BlocksByIDParams{TenantID: at.tenant, Region: string(at.region), Ids: []uuid.UUID{of.UUID}})
	if err != nil {
		return BlockEdit{}, db.Classify(fmt.Errorf("read a block: %w", err))
	}
	if len(blocks) == 0 {
		return BlockEdit{}, fault.NotFound("seat block")
	}
	seats, err := s.resolve(ctx, at, ShowID{Region: at.region, UUID: blocks[0].ShowID}, selection)
	if err != nil {
		return BlockEdit{}, err
	}
	ends := blockEnds{at: at, show: blocks[0].ShowID}
	if from != nil {
		ends.from = from.UUID
	}
	if to != nil {
		ends.to = to.UUID
	}
	content := struct {
		From, To  uuid.UUID
		Selection SeatSelection
	}{ends.from, ends.to, selection}
	if _, err := s.create(ctx, actor, at.region, operation, requestKey, content, func(ctx context.Context, tx pgx.Tx, _ uuid.UUID) error {
		if _, err := lockBlocksOf(ctx, tx, at, ends.show); err != nil {
			return err
		}
		return ends.move(ctx, tx, actor, seats)
	}); err != nil {
		return BlockEdit{}, err
	}
	return s.blockEdit(ctx, at, of.UUID, seats)
}

// BlockTerms are what to set of a block; nil leaves a value as it is.
type BlockTerms struct {
	Reason *string
	Note   *string
	// Release is a new moment. With NeverRelease, the block has none any more.
	Release      *Moment
	NeverRelease bool
}

// ChangeSeatBlock changes the reason, the note or the moment of release of a block that stands.
func (s *Service) ChangeSeatBlock(ctx context.Context, actor tenants.Actor, requestKey string, id BlockID, change BlockTerms) (SeatBlock, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionBlockSet, "seat block", id.Region, id.UUID); err != nil {
		return SeatBlock{}, err
	}
	if change.Release != nil {
		if change.NeverRelease {
			return SeatBlock{}, fault.Invalid("neverRelease", "expected a moment of release or neverRelease, not both")
		}
		if err := change.Release.check(); err != nil {
			return SeatBlock{}, err
		}
	}
	at := placeOf(actor.Tenant, id.Region)
	content := struct {
		ID     string
		Change BlockTerms
	}{id.String(), change}
	if _, err := s.create(ctx, actor, at.region, "changeSeatBlock", requestKey, content, func(ctx context.Context, tx pgx.Tx, _ uuid.UUID) error {
		return changeBlockTx(ctx, tx, at, actor, id.UUID, change)
	}); err != nil {
		return SeatBlock{}, err
	}
	return s.SeatBlock(ctx, actor, id)
}

func changeBlockTx(ctx context.Context, tx pgx.Tx, at place, actor tenants.Actor, id uuid.UUID, change BlockTerms) error {
	rows, err := lockBlocks(ctx, tx, at, id)
	if err != nil {
		return err
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return err
	}
	block := blockOf(at, rows[id])
	if block.stateAt(now) == BlockStateReleased {
		return Refuse(RefusalBlockReleased, messageOf(RefusalBlockReleased))
	}
	if change.Reason != nil {
		block.Reason = *change.Reason
	}
	if change.Note != nil {
		block.Note = *change.Note
	}
	if err := checkBlockTexts(block.Channel, block.Reason, block.Note); err != nil {
		return err
	}
	switch {
	case change.NeverRelease:
		block.ReleaseAt = nil
	case change.Release != nil:
		show, err := dbsqlc.New(tx).ShowChart(ctx, dbsqlc.ShowChartParams{TenantID: at.tenant, Region: string(at.region), ID: block.Show.UUID})
		if err != nil {
			return fmt.Errorf("read the show of a block: %w", err)
		}
		if block.ReleaseAt, err = change.Release.instant(ctx, tx, at, show.VenueID, now); err != nil {
			return err
		}
	}
	if _, err := dbsqlc.New(tx).BlockSet(ctx, dbsqlc.BlockSetParams{
		TenantID: at.tenant, Region: string(at.region), ID: id, Reason: block.Reason, Note: block.Note, ReleaseAt: block.ReleaseAt,
	}); err != nil {
		return fmt.Errorf("change a block: %w", err)
	}
	return noteBlocks(ctx, tx, at, []blockNote{{
		block: id, kind: BlockChanged, actor: actor, blockReason: block.Reason, blockNote: block.Note,
	}}, now)
}

// blockEnds is where seats come from and where they go to; the zero UUID is no block.
type blockEnds struct {
	at       place
	show     uuid.UUID
	from, to uuid.UUID
	// channel is that of to; nil for house seats.
	channel *uuid.UUID
}

// move takes seats from one end to the other, between blocks that stand.
func (e blockEnds) move(ctx context.Context, tx pgx.Tx, actor tenants.Actor, seats selected) error {
	var named []uuid.UUID
	for _, id := range []uuid.UUID{e.from, e.to} {
		if id != uuid.Nil {
			named = append(named, id)
		}
	}
	blocks, err := lockBlocks(ctx, tx, e.at, named...)
	if err != nil {
		return err
	}
	for _, id := range named {
		if blocks[id].ShowID != e.show {
			return fault.Invalid("fromBlock", "the blocks are of different shows")
		}
	}
	if e.to != uuid.Nil {
		e.channel = blocks[e.to].ChannelID
	}
	now, moved, err := e.take(ctx, tx, seats, func(now time.Time) error {
		for _, id := range named {
			if blockOf(e.at, blocks[id]).stateAt(now) == BlockStateReleased {
				return &BlockRefused{Refusal: *Refuse(RefusalBlockReleased, messageOf(RefusalBlockReleased))}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := dbsqlc.New(tx).BlockTouch(ctx, dbsqlc.BlockTouchParams{TenantID: e.at.tenant, Region: string(e.at.region), Ids: named}); err != nil {
		return fmt.Errorf("change a block: %w", err)
	}
	notes := e.notes(actor, int64(len(seats.seats)))
	// The last is that of the block which seats join, if there is one.
	last := &notes[len(notes)-1]
	last.id, last.blockReason, last.blockNote = uuid.New(), blocks[last.block].Reason, blocks[last.block].Note
	if err := noteBlocks(ctx, tx, e.at, notes, now); err != nil {
		return err
	}
	return e.noteMoves(ctx, tx, last.id, moved, now)
}

func (e blockEnds) notes(actor tenants.Actor, seats int64) []blockNote {
	switch {
	case e.from == uuid.Nil:
		return []blockNote{{block: e.to, kind: BlockAssigned, seats: seats, actor: actor}}
	case e.to == uuid.Nil:
		return []blockNote{{block: e.from, kind: BlockSeatsReleased, seats: seats, actor: actor}}
	}
	return []blockNote{
		{block: e.from, other: e.to, kind: BlockMovedOut, seats: seats, actor: actor},
		{block: e.to, other: e.from, kind: BlockMovedIn, seats: seats, actor: actor},
	}
}

// take locks the seats, judges each, and writes where they belong now, and says which of them come from
// elsewhere. It leaves who holds or has bought them as it is. check may refuse the change at the moment of the clock after the locks, which is the
// answer.
func (e blockEnds) take(ctx context.Context, tx pgx.Tx, seats selected, check func(now time.Time) error) (now time.Time, moved seatMoves, err error) {
	queries := dbsqlc.New(tx)
	rows, err := queries.SeatsLock(ctx, dbsqlc.SeatsLockParams{
		TenantID: e.at.tenant, Region: string(e.at.region), ShowID: e.show, SeatIds: seats.seats,
	})
	if err != nil {
		return now, moved, fmt.Errorf("lock seats for a block: %w", err)
	}
	if err := seats.requireAll(rows); err != nil {
		return now, moved, err
	}
	if now, err = Now(ctx, tx); err != nil {
		return now, moved, err
	}
	if err := check(now); err != nil {
		return now, moved, err
	}
	if moved, err = e.judge(ctx, tx, rows, now); err != nil {
		return now, moved, err
	}
	params := dbsqlc.SeatsBlockParams{TenantID: e.at.tenant, Region: string(e.at.region), ShowID: e.show, SeatIds: seats.seats}
	if e.to != uuid.Nil {
		// House seats are of the zero channel, which nobody sells through.
		channel := uuid.Nil
		if e.channel != nil {
			channel = *e.channel
		}
		params.BlockID, params.BlockChannelID = &e.to, &channel
	}
	n, err := queries.SeatsBlock(ctx, params)
	if err != nil {
		return now, moved, fmt.Errorf("set seats aside: %w", err)
	}
	if n != int64(len(seats.seats)) {
		return now, moved, fmt.Errorf("set seats aside: %d of %d were locked", n, len(seats.seats))
	}
	return now, moved, nil
}

// requireAll names the first seat that the show does not have.
func (s selected) requireAll(rows []dbsqlc.SeatsLockRow) error {
	if len(rows) == len(s.seats) {
		return nil
	}
	known := make(map[uuid.UUID]bool, len(rows))
	for _, row := range rows {
		known[row.SeatID] = true
	}
	missing, first := "seats", len(s.fields)
	for seat, field := range s.fields {
		var at int
		if _, err := fmt.Sscanf(field, "seats.seats[%d]", &at); err == nil && !known[seat] && at < first {
			missing, first = field, at
		}
	}
	return fault.Invalid(missing, "the show has no such seat")
}

// judge says which seats come from elsewhere, or which may not leave where they are.
func (e blockEnds) judge(ctx context.Context, tx pgx.Tx, rows []dbsqlc.SeatsLockRow, now time.Time) (seatMoves, error) {
	var in []uuid.UUID
	for _, row := range rows {
		if row.BlockID != nil {
			in = append(in, *row.BlockID)
		}
	}
	slices.SortFunc(in, compareUUID)
	known, err := dbsqlc.New(tx).BlocksForClaim(ctx, dbsqlc.BlocksForClaimParams{TenantID: e.at.tenant, Region: string(e.at.region), Ids: slices.Compact(in)})
	if err != nil {
		return seatMoves{}, fmt.Errorf("read the blocks of seats: %w", err)
	}
	stands := make(map[uuid.UUID]bool, len(known))
	for _, block := range known {
		// No channel is the zero one: what keeps its seats from it stands.
		stands[block.ID] = keepsFrom(block, tenants.ChannelID{}, now)
	}
	refused := &BlockRefused{}
	moved := seatMoves{}
	for _, row := range rows {
		current := uuid.Nil
		if row.BlockID != nil && stands[*row.BlockID] {
			current = *row.BlockID
		}
		seat := RefusedSeat{Seat: SeatID{Region: e.at.region, UUID: row.SeatID}}
		if current != uuid.Nil {
			seat.Block = &BlockID{Region: e.at.region, UUID: current}
		}
		switch {
		case current == e.from:
			moved.seats, moved.from = append(moved.seats, row.SeatID), append(moved.from, current)
			continue
		case e.from != uuid.Nil:
			seat.Code = RefusalNotInBlock
		case current == e.to:
			continue // it is there already
		default:
			seat.Code = RefusalInOtherBlock
		}
		if refused.Count++; refused.Count <= maxSeatsNamed {
			refused.Seats = append(refused.Seats, seat)
		}
	}
	if refused.Count == 0 {
		return moved, nil
	}
	code := refused.Seats[0].Code
	refused.Refusal = *Refuse(code, messageOfBlock(code))
	return seatMoves{}, refused
}

// messageOfBlock is what people who set seats aside are told, who need other words than buyers.
func messageOfBlock(code RefusalCode) string {
	if code == RefusalInOtherBlock {
		return "seats are in another block; move them from it"
	}
	return messageOf(code)
}

// lockBlocksOf locks the row of a show whose blocks are to change, and refuses a show that is over for
// good.
func lockBlocksOf(ctx context.Context, tx pgx.Tx, at place, show uuid.UUID) (dbsqlc.ShowForBlockRow, error) {
	row, err := dbsqlc.New(tx).ShowForBlock(ctx, dbsqlc.ShowForBlockParams{TenantID: at.tenant, Region: string(at.region), ID: show})
	switch {
	case db.IsNoRows(err):
		return row, fault.NotFound("show")
	case err != nil:
		return row, fmt.Errorf("lock the show of a block: %w", err)
	case row.CompletedAt != nil:
		return row, fault.Conflict("the show is over, and its stock is archived")
	}
	return row, nil
}

// lockBlocks locks blocks of the tenant, or says that there is one that it does not have.
func lockBlocks(ctx context.Context, tx pgx.Tx, at place, blocks ...uuid.UUID) (map[uuid.UUID]dbsqlc.BlocksByIDRow, error) {
	rows, err := dbsqlc.New(tx).BlocksLock(ctx, dbsqlc.BlocksLockParams{TenantID: at.tenant, Region: string(at.region), Ids: blocks})
	if err != nil {
		return nil, fmt.Errorf("lock blocks: %w", err)
	}
	if len(rows) != len(blocks) {
		return nil, fault.NotFound("seat block")
	}
	locked := make(map[uuid.UUID]dbsqlc.BlocksByIDRow, len(rows))
	for _, row := range rows {
		locked[row.ID] = dbsqlc.BlocksByIDRow(row)
	}
	return locked, nil
}

// blockEdit is what became of an edit, or of an earlier one with the same request key, as it stands now.
func (s *Service) blockEdit(ctx context.Context, at place, id uuid.UUID, seats selected) (BlockEdit, error) {
	edit, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (BlockEdit, error) {
		edit := BlockEdit{Seats: int64(len(seats.seats))}
		queries := dbsqlc.New(tx)
		rows, err := queries.BlocksByID(ctx, dbsqlc.BlocksByIDParams{TenantID: at.tenant, Region: string(at.region), Ids: []uuid.UUID{id}})
		if err != nil {
			return edit, fmt.Errorf("read a block: %w", err)
		}
		blocks, err := blocksOf(ctx, tx, at, rows)
		if err != nil || len(blocks) == 0 {
			return edit, err
		}
		edit.Block = blocks[0]
		taken, err := queries.SeatsTaken(ctx, dbsqlc.SeatsTakenParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: edit.Block.Show.UUID, SeatIds: seats.seats, AsOf: edit.Block.AsOf,
		})
		if err != nil {
			return edit, fmt.Errorf("read who has seats of a block: %w", err)
		}
		edit.KeptCount = int64(len(taken))
		for _, row := range taken[:min(len(taken), maxSeatsNamed)] {
			edit.Kept = append(edit.Kept, SeatState{Seat: SeatID{Region: at.region, UUID: row.SeatID}, Status: SeatStatus(row.State)})
		}
		return edit, nil
	})
	return edit, db.Classify(err)
}

func checkBlockTexts(channel tenants.ChannelID, reason, note string) error {
	if channel.IsZero() && reason == "" {
		return fault.Invalid("reason", "expected why the seats are the house's, or a channel that sells them")
	}
	if reason != "" {
		if err := checkText("reason", reason, maxBlockReason); err != nil {
			return err
		}
	}
	if note != "" {
		return checkText("note", note, maxBlockNote)
	}
	return nil
}

// checkText refuses what is no line of text for people.
func checkText(field, text string, most int) error {
	fits := utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) && strings.TrimSpace(text) != ""
	if n := utf8.RuneCountInString(text); !fits || n > most {
		return fault.Invalid(field, "expected 1 to %d characters on one line", most)
	}
	return nil
}
