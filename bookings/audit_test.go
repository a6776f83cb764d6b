package bookings_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// damaged is a shop with one of everything that the audit looks at.
type damaged struct {
	box
	active  inventory.Hold
	booked  inventory.Hold
	booking uuid.UUID
	orphan  uuid.UUID
	applied uuid.UUID
	// cancelled is a booking of which one line was cancelled for a fee, and some more was given back;
	// partly is its payment.
	cancelled uuid.UUID
	partly    uuid.UUID
	// allotment is of a night that nobody wants.
	allotment uuid.UUID
}

func openDamaged(t *testing.T, change ...func(*bookingstest.Setup)) damaged {
	t.Helper()
	b := open(t, change...)
	limit := int64(3)
	b.room.Hotel.SetHouseLimit(1, 10, &limit)
	guest, late := b.Guest(), b.Guest()
	d := damaged{box: b}
	d.allotment = b.Allot(b.room.Nights(b.Partner("Tour operator").Actor.Channel, 1, 20, 20)).ID.UUID
	d.active = guest.Hold(b.hall.Seats(1), b.floor().Units(2), b.room.Stay(5, 6))
	d.booked = guest.Hold(b.hall.Seats(2), b.floor().Units(3), b.room.Stay(5, 6))
	b.Pay(guest, d.booked, sandbox.TokenApprove)
	d.booking, d.applied = b.BookingOf(d.booked).ID.UUID, b.Attempts(d.booked)[0].ID.UUID
	lost := late.Hold(b.hall.Seats(3))
	b.Pay(late, lost, sandbox.TokenWrongAmount)
	d.orphan = b.Attempts(lost)[0].ID.UUID
	b.setPolicy(t, ofVenue(b.hall.Venue), inventory.FeePercent(1000))
	parted := late.Hold(b.hall.Seats(4, 5))
	b.Pay(late, parted, sandbox.TokenApprove)
	booking := b.BookingOf(parted).ID
	d.cancelled, d.partly = booking.UUID, b.Attempts(parted)[0].ID.UUID
	b.cancel(t, b.Owner, bookings.Cancel{Booking: booking, Ordinals: []int64{0}})
	if _, err := b.Sales.RefundBooking(t.Context(), b.Owner, refundOf(booking, 100)); err != nil {
		t.Fatal(err)
	}
	return d
}

// Each check of the audit finds its violation, names who is affected, and leaves the rest in peace.
func TestTheAuditFindsDamage(t *testing.T) {
	t.Parallel()
	seat := func(b box, number int) uuid.UUID { return b.hall.Seats(number).Seats.Seats[0].UUID }
	for name, c := range map[string]struct {
		check  string
		damage string
		args   func(d damaged) []any
		names  func(d damaged) string
	}{
		"a seat booked twice": {
			"no seat with two owners", "UPDATE booking_lines SET seat_id = $2 WHERE tenant_id = $1 AND seat_id IS NOT NULL",
			func(d damaged) []any { return []any{seat(d.box, 1)} }, func(d damaged) string { return seat(d.box, 1).String() },
		},
		"a held seat that was freed": {
			"every live hold owns all its seats",
			"UPDATE show_seats SET state = 'AVAILABLE', hold_id = NULL, claimable_at = NULL WHERE tenant_id = $1 AND seat_id = $2",
			func(d damaged) []any { return []any{seat(d.box, 1)} }, func(d damaged) string { return d.active.ID.UUID.String() },
		},
		"a held seat that others may take earlier": {
			"every live hold owns all its seats", "UPDATE show_seats SET claimable_at = claimable_at - interval '1 minute' WHERE tenant_id = $1 AND seat_id = $2",
			func(d damaged) []any { return []any{seat(d.box, 1)} }, func(d damaged) string { return d.active.ID.UUID.String() },
		},
		"a booked seat that was freed": {
			"every booking owns all its seats",
			"UPDATE show_seats SET state = 'AVAILABLE', hold_id = NULL WHERE tenant_id = $1 AND seat_id = $2",
			func(d damaged) []any { return []any{seat(d.box, 2)} }, func(d damaged) string { return d.booking.String() },
		},
		"a seat held by nobody": {
			"every taken seat has a live line",
			"UPDATE show_seats SET state = 'HELD', hold_id = $2, claimable_at = now() WHERE tenant_id = $1 AND seat_id = $3",
			func(d damaged) []any { return []any{d.active.ID.UUID, seat(d.box, 9)} }, func(d damaged) string { return seat(d.box, 9).String() },
		},
		"a booked seat whose line was cancelled": {
			"every taken seat has a live line", "UPDATE booking_lines SET state = 'CANCELLED' WHERE tenant_id = $1 AND seat_id = $2",
			func(d damaged) []any { return []any{seat(d.box, 2)} }, func(d damaged) string { return seat(d.box, 2).String() },
		},
		"a seat of a block that is nowhere": {
			"every seat set aside is in a block of its show and channel",
			"UPDATE show_seats SET block_id = $2, block_channel_id = $2 WHERE tenant_id = $1 AND seat_id = $3",
			func(d damaged) []any { return []any{d.orphan, seat(d.box, 9)} }, func(d damaged) string { return seat(d.box, 9).String() },
		},
		"a block whose release was not kept": {
			"every release of a block is kept once and told at most once",
			`INSERT INTO seat_blocks (tenant_id, region, id, show_id, reason, note, state, released_at, released_by, created_at)
			SELECT $1, 'eu', $2, $3, 'Camera', '', 'RELEASED', now(), 'COMMAND', now()`,
			func(d damaged) []any { return []any{d.orphan, d.hall.Show.UUID} }, func(d damaged) string { return d.orphan.String() },
		},
		"a physical room for a line that is no night": {
			"every physical room is taken for a line that stands or a period",
			`WITH r AS (
				INSERT INTO physical_rooms (tenant_id, region, id, property_id, room_type_id, number, floor, notes, created_at)
				SELECT t.tenant_id, t.region, $2::uuid, t.property_id, t.id, '101', '', '', now() FROM room_types t WHERE t.tenant_id = $1 AND t.id = $3
				RETURNING tenant_id, region, id, room_type_id)
			INSERT INTO room_nights (tenant_id, region, room_id, night, room_type_id, booking_id, ordinal, slot)
			SELECT r.tenant_id, r.region, r.id, '2030-01-01', r.room_type_id, l.booking_id, l.ordinal, 0
			FROM r JOIN booking_lines l ON l.tenant_id = r.tenant_id AND l.kind <> 'NIGHT' LIMIT 1`,
			func(d damaged) []any { return []any{d.orphan, d.room.ID.UUID} }, func(d damaged) string { return d.orphan.String() },
		},
		"a night that counts a room out of order without a period": {
			"nights count the rooms that are out of order",
			`UPDATE night_plans SET out_of_order_set = 0, out_of_order_rooms = 1, out_of_order = 1
			WHERE tenant_id = $1 AND room_type_id = $2 AND night = $3`,
			func(d damaged) []any { return []any{d.room.ID.UUID, inventorytest.Nov(9)} }, func(d damaged) string { return d.room.ID.UUID.String() },
		},
		"a settled no-show without its lines": {
			"every settled no-show adds up",
			`INSERT INTO no_show_releases (tenant_id, region, id, booking_id, booking_version, currency, fee_minor, refund_minor, credited_minor, waived_minor, reason, released_at)
			SELECT tenant_id, region, $2, id, 1, 'EUR', 5, 0, 0, 0, '', now() FROM bookings WHERE tenant_id = $1 LIMIT 1`,
			func(d damaged) []any { return []any{d.orphan} }, func(d damaged) string { return d.orphan.String() },
		},
		"a pool that lost a unit": {
			"pool counters equal their live lines", "UPDATE pool_counters SET held = held + 1 WHERE tenant_id = $1 AND pool_id = $2",
			func(d damaged) []any { return []any{d.floor().ID.UUID} }, func(d damaged) string { return d.floor().ID.UUID.String() },
		},
		"a night that gained a room": {
			"night counters equal their live lines", "UPDATE night_counters SET booked = booked - 1 WHERE tenant_id = $1 AND room_type_id = $2 AND booked > 0",
			func(d damaged) []any { return []any{d.room.ID.UUID} }, func(d damaged) string { return d.room.ID.UUID.String() },
		},
		"a house that lost a room": {
			"house counters equal their room types", "UPDATE house_counters SET held = held + 1 WHERE tenant_id = $1 AND night = $2",
			func(d damaged) []any { return []any{inventorytest.Nov(5)} }, func(d damaged) string { return d.room.Hotel.Property.ID.UUID.String() },
		},
		"a ceiling that lets more in": {
			"no counter above its ceiling", "UPDATE pool_counters SET ceiling = ceiling + 5 WHERE tenant_id = $1 AND pool_id = $2",
			func(d damaged) []any { return []any{d.floor().ID.UUID} }, func(d damaged) string { return d.floor().ID.UUID.String() },
		},
		"a ceiling that hides stock": {
			"no counter above its ceiling", "UPDATE night_counters SET ceiling = ceiling - 1 WHERE tenant_id = $1 AND room_type_id = $2 AND held = 0",
			func(d damaged) []any { return []any{d.room.ID.UUID} }, func(d damaged) string { return d.room.ID.UUID.String() },
		},
		"a house ceiling": {
			"no counter above its ceiling", "UPDATE house_counters SET ceiling = ceiling + 1 WHERE tenant_id = $1",
			func(damaged) []any { return nil }, func(d damaged) string { return d.room.Hotel.Property.ID.UUID.String() },
		},
		"a night that sells more than its plan": {
			"night limits equal their plans", "UPDATE night_counters SET sell_limit = sell_limit + 1, ceiling = ceiling + 1 WHERE tenant_id = $1 AND room_type_id = $2",
			func(d damaged) []any { return []any{d.room.ID.UUID} }, func(d damaged) string { return d.room.ID.UUID.String() },
		},
		"a job without its chunks": {
			"jobs write all their nights", `INSERT INTO night_edits (tenant_id, region, id, property_id, first_night, last_night, weekdays, change, author, state, nights, created_at)
			SELECT p.tenant_id, p.region, $2, p.id, '2030-01-01', '2032-12-31', 127, '{}', '{}', 'RUNNING', 1096, now() FROM properties p WHERE p.tenant_id = $1 LIMIT 1`,
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booking.String() },
		},
		"a line without its pool": {
			"no line without its counter", "UPDATE hold_lines SET shard = 7 WHERE tenant_id = $1 AND hold_id = $2 AND kind = 'POOL'",
			func(d damaged) []any { return []any{d.active.ID.UUID} }, func(d damaged) string { return d.active.ID.UUID.String() },
		},
		"a booked line without its night": {
			"no line without its counter", "UPDATE booking_lines SET night = '2001-01-01' WHERE tenant_id = $1 AND booking_id = $2 AND kind = 'NIGHT'",
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booking.String() },
		},
		"a booking of another price": {
			"every confirmed hold is one booking at its price", "UPDATE bookings SET total_minor = total_minor + 1 WHERE tenant_id = $1 AND id = $2",
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booked.ID.UUID.String() },
		},
		"a booking without its lines": {
			"every confirmed hold is one booking at its price", "DELETE FROM booking_lines WHERE tenant_id = $1 AND booking_id = $2",
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booked.ID.UUID.String() },
		},
		"a confirmed hold without a booking": {
			"every confirmed hold is one booking at its price", "UPDATE holds SET state = 'CONFIRMED', ended_at = now() WHERE tenant_id = $1 AND id = $2",
			func(d damaged) []any { return []any{d.active.ID.UUID} }, func(d damaged) string { return d.active.ID.UUID.String() },
		},
		"a payment without a booking": {
			"every captured payment has a booking or a refund", "UPDATE payment_attempts SET hold_id = $2 WHERE tenant_id = $1 AND id = $3",
			func(d damaged) []any { return []any{d.active.ID.UUID, d.applied} }, func(d damaged) string { return d.applied.String() },
		},
		"an orphan that keeps the money": {
			"every captured payment has a booking or a refund", "UPDATE payment_attempts SET refunded_minor = 0 WHERE tenant_id = $1 AND id = $2",
			func(d damaged) []any { return []any{d.orphan} }, func(d damaged) string { return d.orphan.String() },
		},
		"a booking that nobody paid": {
			"every booking with a price was paid", "UPDATE payment_attempts SET disposition = 'ORPHANED' WHERE tenant_id = $1 AND id = $2",
			func(d damaged) []any { return []any{d.applied} }, func(d damaged) string { return d.booking.String() },
		},
		"a use of a code that no hold has": {
			"presale counters equal their holds",
			"INSERT INTO presale_counters (tenant_id, region, code_id, sell_limit, held, ceiling) VALUES ($1, 'eu', $2, 5, 1, 5)",
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booking.String() },
		},
		"an allotment of more than there is": {
			"allotments fit into what there is", "UPDATE night_counters SET sell_limit = sell_limit + 1, ceiling = ceiling + 1 WHERE tenant_id = $1 AND night = '2097-11-20' AND bucket <> $2",
			func(d damaged) []any { return []any{d.allotment} }, func(d damaged) string { return d.room.ID.UUID.String() },
		},
		"an allotment without its counter": {
			"allotments fit into what there is", "DELETE FROM night_counters WHERE tenant_id = $1 AND bucket = $2",
			func(d damaged) []any { return []any{d.allotment} }, func(d damaged) string { return d.allotment.String() },
		},
		"stock set aside for nobody": {
			"allotments fit into what there is", "UPDATE night_counters SET bucket = $2 WHERE tenant_id = $1 AND bucket = $3",
			func(d damaged) []any { return []any{d.orphan, d.allotment} }, func(d damaged) string { return d.orphan.String() },
		},
		"a grant that counts a use that no hold took": {
			"every use of a grant is one hold of its guest",
			"INSERT INTO admission_grants (tenant_id, region, id, show_id, ticket, session_id, issued_at, expires_at, holds, used) VALUES ($1, 'eu', $2, $2, $2, $2, now(), now() + interval '1 minute', 2, 1)",
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booking.String() },
		},
		"a line sold as a plan that nobody has": {
			"nights are sold as plans of their hotel", "UPDATE booking_lines SET rate_plan_id = $2 WHERE tenant_id = $1 AND booking_id = $2",
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booking.String() },
		},
		"an offer without a hold": {
			"every offer of a waiting list is one hold of its buyer",
			`WITH l AS (INSERT INTO waiting_lists (tenant_id, region, scope_id, scope_kind, is_open, offer_seconds, max_entries, looked_at)
					VALUES ($1, 'eu', $2, 'SHOW', true, 600, 10, now()))
				INSERT INTO waiting_entries (tenant_id, region, id, scope_id, number, channel_id, buyer_kind, buyer_id, lines, fingerprint, state, joined_at, expires_at, offered_at, hold_id)
				VALUES ($1, 'eu', $2, $2, 1, $2, 'GUEST', $2, '[]', '0123456789abcdef0123456789abcdef', 'OFFERED', now(), now() + interval '1 hour', now(), $2)`,
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booking.String() },
		},
		"a tax that is not its share": {
			"every line's tax is its share of the price", "UPDATE booking_lines SET tax_minor = tax_minor + 1 WHERE tenant_id = $1 AND booking_id = $2",
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booking.String() },
		},
		"a tax that is missing": {
			"every line's tax is its share of the price", "UPDATE booking_lines SET tax_basis_points = 2100 WHERE tenant_id = $1 AND booking_id = $2",
			func(d damaged) []any { return []any{d.booking} }, func(d damaged) string { return d.booking.String() },
		},
		"a fee that its lines do not have": {
			"every cancellation is the sum of its lines", "UPDATE cancellations SET fee_minor = fee_minor + 1 WHERE tenant_id = $1",
			func(damaged) []any { return nil }, func(d damaged) string { return d.cancelled.String() },
		},
		"a fee that is kept twice": {
			"every captured payment has a booking or a refund", "UPDATE cancellations SET fee_minor = fee_minor + 1 WHERE tenant_id = $1",
			func(damaged) []any { return nil }, func(d damaged) string { return d.partly.String() },
		},
		"a cancelled line that stands": {
			"every cancellation is the sum of its lines", "UPDATE booking_lines SET state = 'BOOKED' WHERE tenant_id = $1 AND booking_id = $2",
			func(d damaged) []any { return []any{d.cancelled} }, func(d damaged) string { return d.cancelled.String() },
		},
		"a cancelled line of another price": {
			"every cancellation is the sum of its lines", "UPDATE cancelled_lines SET amount_minor = amount_minor + 1 WHERE tenant_id = $1",
			func(damaged) []any { return nil }, func(d damaged) string { return d.cancelled.String() },
		},
		"money given back that nobody decided": {
			"every captured payment has a booking or a refund", "DELETE FROM booking_refunds WHERE tenant_id = $1",
			func(damaged) []any { return nil }, func(d damaged) string { return d.partly.String() },
		},
		"a dispute that is not counted": {
			"disputes add up", "UPDATE payment_attempts SET lost_minor = 1 WHERE tenant_id = $1 AND id = $2",
			func(d damaged) []any { return []any{d.applied} }, func(d damaged) string { return d.applied.String() },
		},
		"a refund that is not counted": {
			"refunds add up and stay within what was captured", "UPDATE refunds SET amount_minor = amount_minor - 1 WHERE tenant_id = $1 AND attempt_id = $2",
			func(d damaged) []any { return []any{d.orphan} }, func(d damaged) string { return d.orphan.String() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDamaged(t)
			d.audit(t)
			d.Exec(c.damage, c.args(d)...)
			report, err := d.Sales.Audit(t.Context(), &d.ID)
			if err != nil {
				t.Fatal(err)
			}
			if report.OK || len(report.Checks) < 18 {
				t.Errorf("the audit of %d checks says %v", len(report.Checks), report.OK)
			}
			for _, check := range report.Checks {
				if check.Name != c.check {
					continue
				}
				if check.OK || check.Violations == 0 || !strings.Contains(strings.Join(check.Examples, "\n"), c.names(d)) {
					t.Errorf("%s: %+v, want %s named", check.Name, check, c.names(d))
				}
				return
			}
			t.Errorf("there is no check %q", c.check)
		})
	}
}

// One tenant's damage is not another's, and the installation's audit sees it.
func TestAnAuditIsOfATenantOrOfAll(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, ownDatabase(t))
	whole := open(t, onDatabase(d.DB))
	d.Exec("UPDATE pool_counters SET held = held + 1 WHERE tenant_id = $1")
	whole.Audit()
	report, err := whole.Sales.Audit(t.Context(), nil)
	if err != nil || report.OK {
		t.Errorf("the audit of all says %+v, %v", report, err)
	}
}

// However many offenders there are, the report has their number and only some of their names.
func TestTheAuditCountsAllAndNamesSome(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.Exec(`INSERT INTO pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, ceiling)
		SELECT $1, 'eu', $2, '00000000-0000-0000-0000-000000000000', n, 4, 5 FROM generate_series(100, 156) AS n`, uuid.New())
	report, err := b.Sales.Audit(t.Context(), &b.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range report.Checks {
		if check.Name == "no counter above its ceiling" {
			if check.OK || check.Violations != 57 || len(check.Examples) != 20 {
				t.Errorf("57 offenders are reported as %d with %d examples", check.Violations, len(check.Examples))
			}
		} else if !check.OK || check.Violations != 0 || len(check.Examples) != 0 {
			t.Errorf("%s: %+v", check.Name, check)
		}
	}
}
