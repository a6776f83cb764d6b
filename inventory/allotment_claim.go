package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// What a claim knows of allotments. A channel's units come from its own allotments first, those that are
// released first before others, and then from what everybody may sell; each night decides for itself.
// A line remembers its bucket, and whoever gives its unit back gives it back there.

// readAllotments reads what is set aside of the wanted pools and nights, when anything ever was.
func (f *facts) readAllotments(ctx context.Context, tx pgx.Tx, at place, c claim) error {
	var units []uuid.UUID
	for _, pool := range c.pools {
		if f.pools[pool].allotted {
			units = append(units, pool)
		}
	}
	first, last := civil.Date{Year: 9999, Month: time.December, Day: 31}, poolNight
	for _, stay := range c.stays() {
		for night := stay.checkIn; night.Before(stay.checkOut); night = night.AddDays(1) {
			if f.nights[stay.room][night].HasAllotment {
				units = append(units, stay.room)
				first, last = earlier(first, night), later(last, night)
			}
		}
	}
	if len(units) == 0 {
		return nil
	}
	slices.SortFunc(units, compareUUID)
	var err error
	if f.parts, err = partsOn(ctx, tx, at, slices.Compact(units), first, last); err != nil {
		return err
	}
	f.partsOf = map[nightKey][]allotmentPart{}
	for _, part := range f.parts {
		f.partsOf[part.key()] = append(f.partsOf[part.key()], part)
	}
	return nil
}

func earlier(a, b civil.Date) civil.Date {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b civil.Date) civil.Date {
	if b.After(a) {
		return b
	}
	return a
}

// bucketsOf are the buckets that a channel may sell a night or pool from, in their order. There are none
// when its allotments are not to be sold from any more and forbid it to sell what everybody may.
func (f facts) bucketsOf(channel, unit uuid.UUID, night civil.Date) []uuid.UUID {
	return bucketsOf(f.partsOf[nightKey{owner: unit, night: night}], channel, f.now)
}

// bucketsOf chooses among all parts of one night or pool.
func bucketsOf(parts []allotmentPart, channel uuid.UUID, now time.Time) []uuid.UUID {
	if len(parts) == 0 {
		return []uuid.UUID{sharedBucket}
	}
	var own []allotmentPart
	shared := true
	for _, part := range parts {
		if part.channel != channel || part.state == partCancelled {
			continue
		}
		shared = shared && part.sellsShared
		if part.open(now) {
			own = append(own, part)
		}
	}
	byClaim(own)
	buckets := make([]uuid.UUID, 0, len(own)+1)
	for _, part := range own {
		buckets = append(buckets, part.allotment)
	}
	if shared {
		buckets = append(buckets, sharedBucket)
	}
	return buckets
}

// needsAllotments reports whether a wish wants what its channel cannot sell from anywhere, so that the
// refusal needs a closer look.
func (b *batch) needsAllotments(f facts) bool {
	if len(f.parts) == 0 {
		return false
	}
	for _, w := range b.wishes {
		for _, pool := range w.claim.pools {
			if len(f.bucketsOf(w.actor.Channel.UUID, pool, poolNight)) == 0 {
				return true
			}
		}
		for _, stay := range w.claim.stays() {
			for night := stay.checkIn; night.Before(stay.checkOut); night = night.AddDays(1) {
				if len(f.bucketsOf(w.actor.Channel.UUID, stay.room, night)) == 0 {
					return true
				}
			}
		}
	}
	return false
}

// roomsFor chooses the counters of one night: in the quick path the first that the channel may sell from,
// in the careful path what the locked rows have left of each.
func (b *batch) roomsFor(w wish, f facts, stock stock, stay *StayRequest, night civil.Date) []nightPart {
	buckets := f.bucketsOf(w.actor.Channel.UUID, stay.RoomType.UUID, night)
	if !b.careful {
		return []nightPart{{bucket: buckets[0], quantity: stay.Rooms}}
	}
	var taken []nightPart
	left := stay.Rooms
	for _, bucket := range buckets {
		row := stock.nights[nightKey{owner: stay.RoomType.UUID, bucket: bucket, night: night}]
		if part := min(left, max(0, row.Ceiling-row.Held-row.Booked)); part > 0 {
			taken = append(taken, nightPart{bucket: bucket, quantity: part})
			left -= part
		}
	}
	return taken
}

// nightPart is how many rooms of a night come from one bucket.
type nightPart struct {
	bucket   uuid.UUID
	quantity int64
}

// nightLeft is what the buckets have left of a night.
func (s stock) nightLeft(room uuid.UUID, night civil.Date, buckets []uuid.UUID) int64 {
	free := int64(0)
	for _, bucket := range buckets {
		row := s.nights[nightKey{owner: room, bucket: bucket, night: night}]
		free += max(0, row.Ceiling-row.Held-row.Booked)
	}
	return free
}

// poolLeft is what the buckets have left of a pool.
func (s stock) poolLeft(pool uuid.UUID, buckets []uuid.UUID) int64 {
	free := int64(0)
	for _, row := range s.pools {
		if row.PoolID == pool && slices.Contains(buckets, row.Bucket) {
			free += max(0, row.Ceiling-row.Held-row.Booked)
		}
	}
	return free
}

// dueAllotments are those of which something wanted should have been released by now.
func (f facts) dueAllotments() []uuid.UUID {
	var due []uuid.UUID
	for _, part := range f.parts {
		if part.due(f.now) {
			due = append(due, part.allotment)
		}
	}
	slices.SortFunc(due, compareUUID)
	return slices.Compact(due)
}

// usedDue reports whether a winner got units of an allotment whose release has come while the claim
// waited for its turn.
func (f facts) usedDue(winners []won, now time.Time) bool {
	if len(f.parts) == 0 {
		return false
	}
	due := map[nightKey]bool{}
	for _, part := range f.parts {
		if part.due(now) {
			due[part.bucket()] = true
		}
	}
	for _, w := range winners {
		for _, line := range w.lines {
			switch line.Kind {
			case LineKindPool:
				if due[nightKey{owner: line.Pool.UUID, bucket: line.Bucket, night: poolNight}] {
					return true
				}
			case LineKindNight:
				if due[nightKey{owner: line.RoomType.UUID, bucket: line.Bucket, night: line.Night}] {
					return true
				}
			case LineKindSeat:
			}
		}
	}
	return false
}

// fitAllotments shares out anew what the locked rows show: units may have come back to an allotment that
// was released, or more may be sold again of a night that was oversold.
func (b *batch) fitAllotments(ctx context.Context, tx pgx.Tx, f facts, s *stock) error {
	if len(f.parts) == 0 {
		return nil
	}
	for _, pool := range b.all.pools {
		here := f.partsOf[nightKey{owner: pool, night: poolNight}]
		if len(here) == 0 {
			continue
		}
		changed, err := fitPoolTx(ctx, tx, b.at, poolStock(pool, f.pools[pool].capacity, f.pools[pool].shards, s.pools, here), s.pools)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		if err := b.lockCounters(ctx, tx, f, units{}, s); err != nil {
			return err
		}
	}
	for _, stay := range b.all.stays() {
		limits := newNightLimits(b.at, stay.room)
		for night := stay.checkIn; night.Before(stay.checkOut); night = night.AddDays(1) {
			if here := f.partsOf[nightKey{owner: stay.room, night: night}]; len(here) > 0 {
				s.fitNight(limits, stay.room, night, capacityOf(f.nights[stay.room][night]), here)
			}
		}
		if err := limits.writeCountersTx(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// capacityOf is how many rooms of a night can be sold, whoever sells them.
func capacityOf(plan dbsqlc.NightsForClaimRow) int64 {
	return max(0, plan.Physical-plan.OutOfOrder+plan.Oversell)
}

// fitNight changes the rows of a night, and notes what is to be written.
func (s *stock) fitNight(limits *nightLimits, room uuid.UUID, night civil.Date, capacity int64, parts []allotmentPart) {
	shared := nightKey{owner: room, bucket: sharedBucket, night: night}
	row := s.nights[shared]
	here := unitStock{unit: room, night: night, planned: true, capacity: capacity, sharedTaken: row.Held + row.Booked, sharedLimit: row.SellLimit}
	for _, part := range parts {
		row, counted := s.nights[part.bucket()]
		here.buckets = append(here.buckets, bucketStock{part: part, taken: row.Held + row.Booked, limit: row.SellLimit, counted: counted})
	}
	to := here.fit(isOpen)
	limits.add(here, to)
	set := func(key nightKey, limit int64) {
		row := s.nights[key]
		row.SellLimit, row.Ceiling = limit, max(limit, row.Held+row.Booked)
		s.nights[key] = row
	}
	set(shared, to.shared)
	for i, part := range parts {
		if here.buckets[i].counted {
			set(part.bucket(), to.buckets[i])
		}
	}
}

// overdue is what a claim that looks closer should give back first.
type overdue struct{ holds, allotments []uuid.UUID }

// releaseOverdue releases allotments in transactions of their own: a claim that is refused would take it
// back, and each release is told of by itself.
func (s *Service) releaseOverdue(ctx context.Context, at place, allotments []uuid.UUID) error {
	for _, id := range allotments {
		if _, err := s.releaseDue(ctx, at, id); err != nil {
			return fmt.Errorf("release %s: %w", AllotmentID{Region: at.region, UUID: id}, err)
		}
	}
	return nil
}
