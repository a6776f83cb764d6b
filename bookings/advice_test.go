package bookings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/policies"
)

const (
	pastDays   = 120
	pastPerDay = 4
	pastRooms  = 20
)

// adviceShop is a hotel with a past: four guests arrived each day for four months, booked twenty days
// before, and of five bookings one was cancelled a week before its arrival.
type adviceShop struct {
	*bookingstest.Shop

	advisor *bookings.Advisor
	room    *inventorytest.Room
	today   civil.Date
}

func openAdvice(t *testing.T, days int) adviceShop {
	t.Helper()
	shop := bookingstest.New(t)
	room := shop.HotelIn("Europe/Lisbon", "EUR").Room("Double")
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	s := adviceShop{Shop: shop, advisor: bookings.NewAdvisor(shop.DB, enforcer, shop.Inventory), room: room, today: civil.DateOf(shop.Now().In(zone))}
	room.Stock(pastRooms, s.today.AddDays(-pastDays-10), s.today.AddDays(60))
	guest := shop.Guest()
	template := guest.Hold(room.On(1, s.today.AddDays(1), s.today.AddDays(2)))
	shop.Pay(guest, template, "tok_approve")
	s.Exec(`INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline, claimable_at,
			ended_at, extensions, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline,
			max_per_instrument, capture, total_minor, currency)
		SELECT h.tenant_id, h.region, md5('past ' || n)::uuid, h.channel_id, h.buyer_kind, h.buyer_id, h.state, h.placed_at, h.deadline, h.lease_deadline,
			h.claimable_at, h.ended_at, h.extensions, h.max_extensions, h.hold_seconds, h.max_hold_seconds, h.processing_seconds, h.grace_seconds,
			h.late_payment, h.on_decline, h.max_per_instrument, h.capture, h.total_minor, h.currency
		FROM holds h, generate_series(1, $3::bigint) AS n WHERE h.tenant_id = $1 AND h.id = $2`, template.ID.UUID, days*pastPerDay)
	s.Exec(`INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, property_id, room_type_id, night, bucket, quantity, amount_minor)
		SELECT l.tenant_id, l.region, md5('past ' || n)::uuid, 0, 0, 'NIGHT', l.property_id, l.room_type_id, $4::date - 1 - (n / 4)::int, l.bucket, 1, 10000
		FROM hold_lines l, generate_series(1, $3::bigint) AS n WHERE l.tenant_id = $1 AND l.hold_id = $2`, template.ID.UUID, days*pastPerDay, s.today)
	s.Exec(`INSERT INTO bookings (tenant_id, region, id, hold_id, channel_id, buyer_kind, buyer_id, reference, state, total_minor, currency, booked_at)
		SELECT b.tenant_id, b.region, md5('past ' || n)::uuid, md5('past ' || n)::uuid, b.channel_id, b.buyer_kind, b.buyer_id, 'PAST' || lpad(n::text, 8, '0'),
			CASE WHEN n % 5 = 0 THEN 'CANCELLED' ELSE 'BOOKED' END, 10000, b.currency, ($4::date - 21 - (n / 4)::int)::timestamptz + interval '12 hours'
		FROM bookings b, generate_series(1, $3::bigint) AS n WHERE b.tenant_id = $1 AND b.hold_id = $2`, template.ID.UUID, days*pastPerDay, s.today)
	s.Exec(`INSERT INTO booking_lines (tenant_id, region, booking_id, ordinal, item, kind, property_id, room_type_id, night, bucket, quantity, amount_minor, state)
		SELECT l.tenant_id, l.region, l.hold_id, l.ordinal, l.item, l.kind, l.property_id, l.room_type_id, l.night, l.bucket, l.quantity, l.amount_minor, b.state
		FROM hold_lines l JOIN bookings b ON b.tenant_id = l.tenant_id AND b.region = l.region AND b.hold_id = l.hold_id
		WHERE l.tenant_id = $1 AND b.reference LIKE 'PAST%'`)
	s.Exec(`INSERT INTO cancellations (tenant_id, region, id, booking_id, booking_version, currency, fee_minor, refund_minor, credited_minor, waived_minor, reason, key_id, cancelled_at)
		SELECT l.tenant_id, l.region, l.booking_id, l.booking_id, 2, 'EUR', 0, 0, 0, 0, '', l.booking_id, (l.night - 7)::timestamptz + interval '12 hours'
		FROM booking_lines l WHERE l.tenant_id = $1 AND l.state = 'CANCELLED'`)
	s.Exec(`INSERT INTO cancelled_lines (tenant_id, region, booking_id, ordinal, cancellation_id, amount_minor, tax_minor, fee_minor, fee_tax_minor)
		SELECT l.tenant_id, l.region, l.booking_id, l.ordinal, l.booking_id, l.amount_minor, 0, 0, 0
		FROM booking_lines l WHERE l.tenant_id = $1 AND l.state = 'CANCELLED'`)
	return s
}

func (s adviceShop) question(first, last int) bookings.AdviceQuestion {
	return bookings.AdviceQuestion{RoomType: s.room.ID, From: s.today.AddDays(first), To: s.today.AddDays(last), WalkPercent: 200, MostPercent: 50}
}

// One of five cancels: of twenty rooms, about twenty-four can be sold, and the night that is so near that
// nobody cancels any more gets hardly any.
func TestAdviceFromTheHotelsOwnPast(t *testing.T) {
	t.Parallel()
	s := openAdvice(t, pastDays)
	advice, err := s.advisor.Advise(t.Context(), s.Owner, s.question(1, 31))
	if err != nil {
		t.Fatal(err)
	}
	if advice.Learnt != pastDays*pastPerDay || len(advice.Nights) != 31 || len(advice.Unplanned) != 0 {
		t.Fatalf("learnt from %d stays, %d nights, %v unplanned", advice.Learnt, len(advice.Nights), advice.Unplanned)
	}
	near, far := advice.Nights[0], advice.Nights[30]
	if near.Advised != 0 {
		t.Errorf("tomorrow %d more are advised", near.Advised)
	}
	if far.Advised < 2 || far.Advised > 6 || far.Low > far.Advised || far.High < far.Advised || far.WalkChance <= 0 || far.WalkChance > 0.5 || far.Gain.Minor <= 0 {
		t.Errorf("in a month: %+v", far)
	}
	if far.Rooms != pastRooms || far.Sold != 0 || far.Oversell != 0 || far.Rate.Minor != inventorytest.NightPrice(far.Night) || near.Sold != 1 {
		t.Errorf("the night stands at %+v, the one sold at %+v", far, near)
	}
	if len(advice.Proof.Results) != 4 || len(advice.Proof.Calibration) != 3 {
		t.Fatalf("the proof is %+v", advice.Proof)
	}
	for _, result := range advice.Proof.Results {
		if result.Refused != 0 || result.Walked != 0 || result.Slept == 0 {
			t.Errorf("a house that was never full: %+v", result)
		}
	}
}

// A stay that was shortened is over when its guests have left, and is as long as they were there.
func TestAdviceCountsTheNightsThatWereKept(t *testing.T) {
	t.Parallel()
	s := openAdvice(t, pastDays)
	s.Exec(`INSERT INTO booking_lines (tenant_id, region, booking_id, ordinal, item, kind, property_id, room_type_id, night, bucket, quantity, amount_minor, state)
		SELECT l.tenant_id, l.region, l.booking_id, 1, l.item, l.kind, l.property_id, l.room_type_id, $2::date + 5, l.bucket, 3, 70000, 'CANCELLED'
		FROM booking_lines l JOIN bookings b ON b.tenant_id = l.tenant_id AND b.region = l.region AND b.id = l.booking_id
		WHERE l.tenant_id = $1 AND l.state = 'BOOKED' AND b.reference LIKE 'PAST%'`, s.today)
	advice, err := s.advisor.Advise(t.Context(), s.Owner, s.question(1, 31))
	if err != nil {
		t.Fatal(err)
	}
	if advice.Learnt != pastDays*pastPerDay {
		t.Errorf("learnt from %d stays, expected %d", advice.Learnt, pastDays*pastPerDay)
	}
	if far := advice.Nights[30].Advised; far < 2 || far > 6 {
		t.Errorf("in a month %d are advised", far)
	}
}

// What is advised can be sold, and no more.
func TestAppliedAdviceSells(t *testing.T) {
	t.Parallel()
	s := openAdvice(t, pastDays)
	for range 2 {
		advice, set, err := s.advisor.Apply(t.Context(), s.Owner, s.question(30, 31))
		if err != nil {
			t.Fatal(err)
		}
		if set.Nights != 2 || len(set.Oversold) != 0 || advice.Nights[0].Advised < 1 {
			t.Fatalf("set %+v by %+v", set, advice.Nights)
		}
		var logged int
		if err := s.DB.Pool().QueryRow(t.Context(), "SELECT count(*) FROM audit_entries WHERE tenant_id = $1 AND action = 'nights.set' AND resource = $2 AND after::text ILIKE $3",
			s.ID.UUID, s.room.ID.String(), fmt.Sprintf("%%\"Oversell\": %d%%", advice.Nights[0].Advised)).Scan(&logged); err != nil || logged == 0 {
			t.Errorf("the log of changes has %d entries with the advice: %v", logged, err)
		}
		left := s.Guest().Calendar(s.room, s.day(advice.Nights[0].Night), s.day(advice.Nights[0].Night))
		if left[0] != pastRooms+advice.Nights[0].Advised {
			t.Errorf("%d can be held, advised are %d more than %d", left[0], advice.Nights[0].Advised, pastRooms)
		}
	}
}

// day is a date as the fixtures count their days.
func (s adviceShop) day(night civil.Date) int { return night.DaysSince(inventorytest.Nov(0)) }

func TestAdviceRefusesBadInput(t *testing.T) {
	t.Parallel()
	s := openAdvice(t, 2)
	for want, change := range map[string]func(*bookings.AdviceQuestion){
		"from: expected a night from today":                          func(q *bookings.AdviceQuestion) { q.From = s.today.AddDays(-1) },
		"to: expected a date not before from":                        func(q *bookings.AdviceQuestion) { q.To = q.From.AddDays(-1) },
		"to: at most 92 nights can be asked for at once, got 93":     func(q *bookings.AdviceQuestion) { q.To = q.From.AddDays(92) },
		"walkPercent: expected 0 to 10000, got -1":                   func(q *bookings.AdviceQuestion) { q.WalkPercent = -1 },
		"mostPercent: expected 0 to 100, got 101":                    func(q *bookings.AdviceQuestion) { q.MostPercent = 101 },
		"the hotel has 8 stays that are over; advice takes at least": func(*bookings.AdviceQuestion) {},
		"room type": func(q *bookings.AdviceQuestion) { q.RoomType = inventorytest.Random[inventory.RoomTypeKind]() },
	} {
		q := s.question(1, 3)
		change(&q)
		if _, err := s.advisor.Advise(t.Context(), s.Owner, q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, _, err := s.advisor.Apply(t.Context(), s.Owner, q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("apply: got %v, want %s", err, want)
		}
	}
	if _, err := s.advisor.Advise(t.Context(), s.Guest().Actor, s.question(1, 3)); fault.KindOf(err) != fault.KindDenied {
		t.Errorf("a guest asks for advice: %v", err)
	}
	other := openAdvice(t, 2)
	if _, err := s.advisor.Advise(t.Context(), other.Owner, s.question(1, 3)); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("another tenant asks: %v", err)
	}
}
