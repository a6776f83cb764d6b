package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// errLookCloser ends the quick attempt: units of due holds must be reaped first, or a guard spoke
// and the exact answer needs the counters' rows.
var errLookCloser = errors.New("the claim needs the careful path")

// errMoreDue ends a careful attempt that would refuse although due holds still have the units.
var errMoreDue = errors.New("more holds are due than the claim has given back")

// errAlone is the answer of a wish that a batch leaves to a transaction of its own.
var errAlone = errors.New("the request is to be decided alone")

// nothingWon ends a batch in which every wish was answered with an error, so that it leaves no trace.
type nothingWon struct{ answers []answer }

// Error says so.
func (*nothingWon) Error() string { return "no wish of the batch was granted" }

// batch is wishes of one tenant and region that are decided in one transaction, in the order of
// their arrival. A single wish is a batch of one: both are judged by the same code. Its fields do
// not change within a transaction, which may run several times.
//
// A batch of several is of one show or of one property, so that all have the same sales terms.
type batch struct {
	at     place
	wishes []wish
	// all is what the wishes want together.
	all   claim
	learn func(f facts)
	// halls are the seating of the shows whose seats are wanted; noteSeats tells what was seen of seats
	// under lock, and spread chooses the counters of pools.
	halls     map[uuid.UUID]*seating
	noteSeats func(b *batch, s stock)
	spread    *spread
	careful   bool
	// due are holds that had units of the wishes and whose time was over when the batch began to look
	// closer.
	due []uuid.UUID
}

func newBatch(wishes []wish, learn func(facts)) *batch {
	b := &batch{at: placeOf(wishes[0].actor.Tenant, wishes[0].claim.region), wishes: wishes, learn: learn}
	b.all.region = b.at.region
	for _, w := range wishes {
		b.all.lines = append(b.all.lines, w.claim.lines...)
		b.all.shows = append(b.all.shows, w.claim.shows...)
		b.all.pools = append(b.all.pools, w.claim.pools...)
		b.all.rooms = append(b.all.rooms, w.claim.rooms...)
		b.all.channels = append(b.all.channels, w.actor.Channel.UUID)
	}
	for _, list := range []*[]uuid.UUID{&b.all.shows, &b.all.pools, &b.all.rooms, &b.all.channels} {
		slices.SortFunc(*list, compareUUID)
		*list = slices.Compact(*list)
	}
	return b
}

// run is the transaction.
func (b *batch) run(ctx context.Context, tx pgx.Tx) ([]answer, error) {
	if len(b.wishes) == 1 {
		if hold, replayed, err := b.claimKey(ctx, tx); err != nil || replayed {
			return []answer{{hold: hold}}, err
		}
	}
	answers := make([]answer, len(b.wishes))
	if len(b.wishes) > 1 {
		if err := b.claimKeys(ctx, tx, answers); err != nil {
			return nil, err
		}
	}
	grants, err := b.lockGrants(ctx, tx)
	if err != nil {
		return nil, err
	}
	f, err := factsOf(ctx, tx, b.at, b.all, b.codes(), b.promotionCodes())
	if err != nil {
		return nil, err
	}
	f.grants, f.terms = grants, b.offerTerms(f.terms)
	b.learn(f)
	judged, err := b.judgeRules(f, answers)
	if err != nil {
		return nil, err
	}
	if !b.careful && b.needsAllotments(f) {
		return nil, errLookCloser
	}
	if err := b.readBuyers(ctx, tx, &f, answers); err != nil {
		return nil, err
	}
	stock, err := b.lock(ctx, tx, &f, answers)
	if err != nil {
		return nil, err
	}
	b.noteSeats(b, stock)
	winners, err := b.judge(ctx, tx, &f, stock, judged, answers)
	if err != nil {
		return nil, err
	}
	b.spread.learn(f, stock.pools)
	if err := b.markOwn(ctx, tx, f, winners, answers); err != nil {
		return nil, err
	}
	if len(winners) == 0 {
		return nil, &nothingWon{answers: answers}
	}
	holds, err := b.write(ctx, tx, f, winners)
	if err != nil {
		return nil, err
	}
	if err := b.noteOffers(ctx, tx, holds); err != nil {
		return nil, err
	}
	for i, next := 0, 0; i < len(answers); i++ {
		if answers[i].err == nil {
			answers[i].hold = holds[next]
			next++
		}
	}
	return answers, b.forgetRefused(ctx, tx, answers)
}

// claimKey takes the request key of the only wish, or answers it as the same request was before.
func (b *batch) claimKey(ctx context.Context, tx pgx.Tx) (Hold, bool, error) {
	w := b.wishes[0]
	earlier, replayed, err := request.Claim(ctx, tx, b.identity(w), w.fingerprint, w.hold)
	if errors.Is(err, request.ErrKeyReused) {
		return Hold{}, false, Refuse(RefusalRequestKeyReused, messageOf(RefusalRequestKeyReused))
	}
	if err != nil || !replayed {
		return Hold{}, false, err
	}
	hold, err := replayOf(ctx, tx, w.actor.Tenant, HoldID{Region: b.at.region, UUID: earlier})
	return hold, true, err
}

func (b *batch) identity(w wish) request.Identity {
	return request.Identity{Tenant: b.at.tenant, Region: b.at.region, Scope: w.scope, Key: w.requestKey}
}

// claimKeys takes the request keys of all wishes. One that was used before is for a transaction of
// its own, which answers it as before or refuses it.
func (b *batch) claimKeys(ctx context.Context, tx pgx.Tx, answers []answer) error {
	claims := make([]request.NewClaim, len(b.wishes))
	for i, w := range b.wishes {
		claims[i] = request.NewClaim{Scope: w.scope, Key: w.requestKey, Fingerprint: w.fingerprint, ResultID: w.hold}
	}
	fresh, err := request.ClaimAll(ctx, tx, b.at.tenant, b.at.region, claims)
	if err != nil {
		return err
	}
	for i := range answers {
		if !fresh[i] {
			answers[i].err = errAlone
		}
	}
	return nil
}

// forgetRefused gives back the request keys of wishes that were refused beside others that were not:
// a refusal leaves no trace, so that the buyer may try again with the same key.
func (b *batch) forgetRefused(ctx context.Context, tx pgx.Tx, answers []answer) error {
	var refused []request.NewClaim
	for i, w := range b.wishes {
		if answers[i].err != nil && !errors.Is(answers[i].err, errAlone) {
			refused = append(refused, request.NewClaim{Scope: w.scope, Key: w.requestKey, ResultID: w.hold})
		}
	}
	return request.Forget(ctx, tx, b.at.tenant, b.at.region, refused)
}

// codes are the presale codes that the wishes name.
func (b *batch) codes() []string {
	var codes []string
	for _, w := range b.wishes {
		if w.claim.presaleCode != "" {
			codes = append(codes, w.claim.presaleCode)
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// replayOf is the hold that the same request led to before, as it stands now.
func replayOf(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id HoldID) (Hold, error) {
	hold, err := GetHold(ctx, tx, tenant, id)
	if err != nil {
		return Hold{}, err
	}
	now, err := Now(ctx, tx)
	if err != nil {
		return Hold{}, err
	}
	hold.State = hold.StateAt(now)
	return hold, nil
}

// judgeRules says for each wish what speaks against it whatever is left of the units. In the quick
// path a wish that is refused only in part needs a closer look, so that its refusal names everything
// at once.
func (b *batch) judgeRules(f facts, answers []answer) ([][]RefusedLine, error) {
	judged := make([][]RefusedLine, len(b.wishes))
	for i, w := range b.wishes {
		if answers[i].err != nil {
			continue
		}
		refused, err := w.claim.judgeRules(w.actor, f)
		if err == nil {
			refused, err = f.judgeAdmission(w, refused)
		}
		switch {
		case err != nil:
			answers[i].err = err
		case len(refused) == 0:
		case w.claim.refusedWhole(refused):
			answers[i].err = refuseLines(refused)
		case b.careful:
			judged[i] = refused
		default:
			return nil, errLookCloser
		}
	}
	return judged, nil
}

// readBuyers reads what the guests of the batch have already, in the transaction of the claim, so
// that parallel requests cannot all see the same free place.
func (b *batch) readBuyers(ctx context.Context, tx pgx.Tx, f *facts, answers []answer) error {
	var guests []uuid.UUID
	for i, w := range b.wishes {
		if answers[i].err == nil && w.buyer.Kind == tenants.BuyerKindGuest {
			guests = append(guests, w.buyer.ID)
		}
	}
	f.has = map[uuid.UUID]*possessions{}
	for _, guest := range guests {
		f.has[guest] = &possessions{units: map[uuid.UUID]int64{}}
	}
	if len(guests) == 0 {
		return nil
	}
	active, err := dbsqlc.New(tx).HoldsActiveOfGuests(ctx, dbsqlc.HoldsActiveOfGuestsParams{
		TenantID: b.at.tenant, Region: string(b.at.region), BuyerIds: guests, Since: f.now.Add(-longestHold), Now: f.now,
	})
	if err != nil {
		return fmt.Errorf("count the buyers' holds: %w", err)
	}
	for _, row := range active {
		f.has[row.BuyerID].holds = row.Holds
	}
	if f.terms.MaxUnitsPerBuyer == nil || len(f.shows) == 0 {
		return nil
	}
	shows := make([]uuid.UUID, 0, len(f.shows))
	for show := range f.shows {
		shows = append(shows, show)
	}
	units, err := dbsqlc.New(tx).UnitsOfGuests(ctx, dbsqlc.UnitsOfGuestsParams{
		TenantID: b.at.tenant, Region: string(b.at.region), BuyerIds: guests, ShowIds: shows, Now: f.now,
	})
	if err != nil {
		return fmt.Errorf("count the buyers' units: %w", err)
	}
	for _, row := range units {
		f.has[row.BuyerID].units[row.ShowID] = row.Units
	}
	return nil
}

// lock takes the rows of all wishes that are still open: in the quick path the seats only.
func (b *batch) lock(ctx context.Context, tx pgx.Tx, f *facts, answers []answer) (stock, error) {
	open := false
	for i := range answers {
		open = open || answers[i].err == nil
	}
	if !open {
		return stock{}, nil
	}
	if b.careful {
		return b.lockAll(ctx, tx, f)
	}
	s := stock{shard: map[uuid.UUID]int64{}}
	var err error
	s.seats, err = b.lockSeats(ctx, tx, *f)
	return s, err
}

// lockSeats locks the wanted seats of every show, shows and seats in ascending order.
func (b *batch) lockSeats(ctx context.Context, tx pgx.Tx, f facts) (map[uuid.UUID]map[SeatID]dbsqlc.SeatsLockRow, error) {
	return lockSeatsOf(ctx, tx, b.at, b.all.shows, b.seatsToLock(f))
}

func lockSeatsOf(ctx context.Context, tx pgx.Tx, at place, shows []uuid.UUID, wanted map[uuid.UUID][]uuid.UUID) (map[uuid.UUID]map[SeatID]dbsqlc.SeatsLockRow, error) {
	locked := make(map[uuid.UUID]map[SeatID]dbsqlc.SeatsLockRow, len(shows))
	for _, show := range shows {
		rows, err := dbsqlc.New(tx).SeatsLock(ctx, dbsqlc.SeatsLockParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: show, SeatIds: wanted[show],
		})
		if err != nil {
			return nil, fmt.Errorf("lock seats of show %s: %w", show, err)
		}
		locked[show] = make(map[SeatID]dbsqlc.SeatsLockRow, len(rows))
		for _, row := range rows {
			locked[show][SeatID{Region: at.region, UUID: row.SeatID}] = row
		}
	}
	return locked, nil
}

// judge decides the wishes in the order of their arrival: what one gets is gone for the next. It
// marks the units of each winner in stock, and answers the others.
func (b *batch) judge(ctx context.Context, tx pgx.Tx, f *facts, stock stock, judged [][]RefusedLine, answers []answer) ([]won, error) {
	if err := b.readBlocks(ctx, tx, &stock); err != nil {
		return nil, err
	}
	if stock.anySeatTaken() || len(stock.blocks) > 0 {
		// The wait for the locks may have outlasted a deadline.
		now, err := Now(ctx, tx)
		if err != nil {
			return nil, err
		}
		f.now = now
		if !b.careful && b.needsAllotments(*f) {
			// One came due meanwhile.
			return nil, errLookCloser
		}
	}
	var winners []won
	soldOut := false
	for i, w := range b.wishes {
		if answers[i].err != nil {
			continue
		}
		w, unmet, err := b.choose(w, *f, stock)
		if err != nil {
			answers[i].err = err
			continue
		}
		if refusal := f.judgeBuyer(w); refusal != nil {
			answers[i].err = refusal
			continue
		}
		if refusal := f.judgeGrant(w); refusal != nil {
			// Used up by a wish before it in the batch.
			answers[i].err = refusal
			continue
		}
		refused, err := b.judgeSeats(w, *f, stock)
		if err != nil {
			return nil, err
		}
		refused = append(refused, unmet...)
		if len(refused) == 0 {
			refused = b.judgeNeighbours(w, *f, stock)
		}
		if len(refused) > 0 && b.looksCloser(w) {
			return nil, errLookCloser
		}
		refused = append(judged[i], refused...)
		var total money.Amount
		var prices heldPrices
		if len(refused) == 0 {
			if prices, err = f.pricesOf(w.claim, stock.uses); err == nil {
				total, err = f.totalOf(w, stock, prices)
			}
			if err != nil {
				answers[i].err = err
				continue
			}
		}
		if b.careful {
			counters := append(f.judgePromotion(prices, stock), w.judgeCounters(*f, stock)...)
			soldOut = soldOut || len(counters) > 0
			refused = append(refused, counters...)
		}
		if len(refused) > 0 {
			answers[i].err = refuseLines(refused)
			continue
		}
		winner := won{wish: w, lines: b.linesOf(w, *f, stock, prices), prices: prices, total: total, presale: f.presaleID(w.claim), overridden: stock.overriddenBy(w, f.now)}
		stock.take(winner)
		f.note(w)
		f.noteGrant(w)
		winners = append(winners, winner)
	}
	if soldOut {
		return winners, b.judgeMoreDue(ctx, tx, f)
	}
	return winners, nil
}

// judgeSeats judges the seats of a wish over the locked rows. In the quick path, due holds must be
// reaped first; and a refused wish that also wants counted stock is looked at whole, so that the
// refusal names everything at once.
func (b *batch) judgeSeats(w wish, f facts, stock stock) ([]RefusedLine, error) {
	var refused []RefusedLine
	anyDue := false
	for i, line := range w.claim.lines {
		if line.Seats == nil || f.shows[line.Seats.Show.UUID].completed {
			continue // of a completed show, judgeSale has said what there is to say
		}
		lost, due := judgeSeats(i, line.Seats.Seats, stock.seats[line.Seats.Show.UUID], stock.closedTo(w, f.now), f.now)
		refused = append(refused, lost...)
		anyDue = anyDue || due
	}
	if anyDue || len(refused) > 0 && b.looksCloser(w) {
		return nil, errLookCloser
	}
	return refused, nil
}

// looksCloser reports whether a wish whose seats are refused must be judged by the careful path, which
// sees its counted stock, too.
func (b *batch) looksCloser(w wish) bool {
	return !b.careful && len(w.claim.pools)+len(w.claim.rooms) > 0
}

// markOwn tells each refused buyer which of the lost units are in a live hold of their own, so that
// nobody reads "sold out" because of their own cart.
func (b *batch) markOwn(ctx context.Context, tx pgx.Tx, f facts, winners []won, answers []answer) error {
	var owners, pools, rooms, buyers []uuid.UUID
	for i, w := range b.wishes {
		for _, line := range refusedLines(answers[i].err) {
			switch {
			case line.Code == RefusalHeldByOther && line.HeldByYou != nil:
				owners = append(owners, line.HeldByYou.UUID)
			case line.Code == RefusalSoldOut && line.Pool != nil:
				pools, buyers = append(pools, line.Pool.UUID), append(buyers, w.buyer.ID)
			case line.Code == RefusalSoldOut && line.Night != nil:
				rooms, buyers = append(rooms, w.claim.lines[line.Line].Stay.RoomType.UUID), append(buyers, w.buyer.ID)
			}
		}
	}
	own, err := b.ownHolds(ctx, tx, f, owners, buyers, pools, rooms)
	if err != nil {
		return err
	}
	for i, w := range b.wishes {
		if answers[i].err == nil {
			// Those of this batch are not stored yet.
			own.add(winners[0])
			winners = winners[1:]
			continue
		}
		lines := refusedLines(answers[i].err)
		for j := range lines {
			line := &lines[j]
			switch {
			case line.Code == RefusalHeldByOther && line.HeldByYou != nil:
				if own.buyers[line.HeldByYou.UUID] == w.buyer {
					line.Code = RefusalHeldByYou
				} else {
					line.HeldByYou = nil
				}
			case line.Code == RefusalSoldOut && line.Pool != nil:
				line.HeldByYou = own.counters[ownCounter{buyer: w.buyer, unit: line.Pool.UUID}]
			case line.Code == RefusalSoldOut && line.Night != nil:
				line.HeldByYou = own.counters[ownCounter{buyer: w.buyer, unit: w.claim.lines[line.Line].Stay.RoomType.UUID, night: *line.Night}]
			}
		}
		var refusal *Refusal
		if errors.As(answers[i].err, &refusal) && len(lines) > 0 {
			answers[i].err = refuseLines(lines)
		}
	}
	return nil
}

// refusedLines are the lines of a refusal by lines; other answers have none.
func refusedLines(err error) []RefusedLine {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal.Lines
	}
	return nil
}

// ownHolds says whose holds are, and who has live holds on which counted stock.
type ownHolds struct {
	buyers   map[uuid.UUID]tenants.Buyer
	counters map[ownCounter]*HoldID
}

type ownCounter struct {
	buyer tenants.Buyer
	unit  uuid.UUID
	// night is zero for a pool.
	night civil.Date
}

func (b *batch) ownHolds(ctx context.Context, tx pgx.Tx, f facts, owners, buyers, pools, rooms []uuid.UUID) (ownHolds, error) {
	own := ownHolds{buyers: map[uuid.UUID]tenants.Buyer{}, counters: map[ownCounter]*HoldID{}}
	queries := dbsqlc.New(tx)
	if len(owners) > 0 {
		rows, err := queries.HoldBuyers(ctx, dbsqlc.HoldBuyersParams{TenantID: b.at.tenant, Region: string(b.at.region), Ids: owners})
		if err != nil {
			return own, fmt.Errorf("read the owners of seats: %w", err)
		}
		for _, row := range rows {
			own.buyers[row.ID] = tenants.Buyer{Kind: tenants.BuyerKind(row.BuyerKind), ID: row.BuyerID}
		}
	}
	if len(buyers) > 0 {
		rows, err := queries.HoldsOfBuyersOnUnits(ctx, dbsqlc.HoldsOfBuyersOnUnitsParams{
			TenantID: b.at.tenant, Region: string(b.at.region), BuyerIds: buyers, Since: f.now.Add(-longestHold), Now: f.now,
			PoolIds: pools, RoomTypeIds: rooms,
		})
		if err != nil {
			return own, fmt.Errorf("read the buyers' own holds: %w", err)
		}
		for _, row := range rows {
			key := ownCounter{buyer: tenants.Buyer{Kind: tenants.BuyerKind(row.BuyerKind), ID: row.BuyerID}}
			switch {
			case row.PoolID != nil:
				key.unit = *row.PoolID
			case row.RoomTypeID != nil && row.Night != nil:
				key.unit, key.night = *row.RoomTypeID, *row.Night
			}
			own.counters[key] = &HoldID{Region: b.at.region, UUID: row.ID}
		}
	}
	return own, nil
}

// add notes the hold of a winner.
func (o ownHolds) add(w won) {
	id := HoldID{Region: w.wish.claim.region, UUID: w.wish.hold}
	o.buyers[w.wish.hold] = w.wish.buyer
	for _, line := range w.lines {
		switch line.Kind {
		case LineKindPool:
			o.counters[ownCounter{buyer: w.wish.buyer, unit: line.Pool.UUID}] = &id
		case LineKindNight:
			o.counters[ownCounter{buyer: w.wish.buyer, unit: line.RoomType.UUID, night: line.Night}] = &id
		case LineKindSeat:
		}
	}
}
