-- Each query counts all its violations and shows a few of them. It is ordered by that count, which is
-- the same in every row, so that no planner takes the LIMIT for an early end: the plan that is
-- quickest to the first row took minutes for 45,000 held seats.

-- name: AuditSeatOwners :many
-- A seat in two live lines has two owners.
SELECT l.tenant_id, l.region, l.show_id, l.seat_id, count(*) AS owners, count(*) OVER () AS violations
FROM (
    SELECT hl.tenant_id, hl.region, hl.show_id, hl.seat_id
    FROM hold_lines hl
    JOIN holds h ON h.tenant_id = hl.tenant_id AND h.region = hl.region AND h.id = hl.hold_id
    WHERE hl.kind = 'SEAT' AND h.state IN ('ACTIVE', 'PROCESSING')
    UNION ALL
    SELECT bl.tenant_id, bl.region, bl.show_id, bl.seat_id
    FROM booking_lines bl
    WHERE bl.kind = 'SEAT' AND bl.state <> 'CANCELLED') AS l
WHERE @every_tenant::boolean OR l.tenant_id = @tenant_id::uuid
GROUP BY l.tenant_id, l.region, l.show_id, l.seat_id
HAVING count(*) > 1
ORDER BY violations
LIMIT @max_examples;

-- name: AuditHoldsOwnSeats :many
-- A live hold that does not own a seat of its own lines.
SELECT h.tenant_id, h.region, h.id, l.seat_id, count(*) OVER () AS violations
FROM holds h
JOIN hold_lines l ON l.tenant_id = h.tenant_id AND l.region = h.region AND l.hold_id = h.id AND l.kind = 'SEAT'
LEFT JOIN show_seats s ON s.tenant_id = l.tenant_id AND s.region = l.region AND s.show_id = l.show_id AND s.seat_id = l.seat_id
LEFT JOIN past_show_seats p ON p.tenant_id = l.tenant_id AND p.region = l.region AND p.show_id = l.show_id AND p.seat_id = l.seat_id
WHERE h.state IN ('ACTIVE', 'PROCESSING') AND (@every_tenant::boolean OR h.tenant_id = @tenant_id::uuid)
    AND (COALESCE(s.seat_id, p.seat_id) IS NULL OR COALESCE(s.state, p.state) <> 'HELD'
        OR COALESCE(s.hold_id, p.hold_id) <> h.id OR COALESCE(s.claimable_at, p.claimable_at) <> h.claimable_at)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditBookingsOwnSeats :many
-- A booked line whose seat is not booked for it.
SELECT b.tenant_id, b.region, b.id, l.seat_id, count(*) OVER () AS violations
FROM bookings b
JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id AND l.kind = 'SEAT' AND l.state <> 'CANCELLED'
LEFT JOIN show_seats s ON s.tenant_id = l.tenant_id AND s.region = l.region AND s.show_id = l.show_id AND s.seat_id = l.seat_id
LEFT JOIN past_show_seats p ON p.tenant_id = l.tenant_id AND p.region = l.region AND p.show_id = l.show_id AND p.seat_id = l.seat_id
WHERE (@every_tenant::boolean OR b.tenant_id = @tenant_id::uuid)
    AND (COALESCE(s.seat_id, p.seat_id) IS NULL OR COALESCE(s.state, p.state) <> 'BOOKED' OR COALESCE(s.hold_id, p.hold_id) <> b.hold_id)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditSeatsHaveLines :many
-- A seat that is held although no line of a live hold names it, or booked although no line of its
-- booking that still stands does.
SELECT s.tenant_id, s.region, s.show_id, s.seat_id, count(*) OVER () AS violations
FROM (
    SELECT hot.tenant_id, hot.region, hot.show_id, hot.seat_id, hot.state, hot.hold_id, hot.claimable_at FROM show_seats hot
    UNION ALL
    SELECT past.tenant_id, past.region, past.show_id, past.seat_id, past.state, past.hold_id, past.claimable_at FROM past_show_seats past) AS s
WHERE s.state <> 'AVAILABLE' AND (@every_tenant::boolean OR s.tenant_id = @tenant_id::uuid)
    AND NOT (s.state = 'HELD' AND EXISTS (
        SELECT 1
        FROM hold_lines l
        JOIN holds h ON h.tenant_id = l.tenant_id AND h.region = l.region AND h.id = l.hold_id
        WHERE l.tenant_id = s.tenant_id AND l.region = s.region AND l.hold_id = s.hold_id AND l.seat_id = s.seat_id
            AND l.show_id = s.show_id AND h.state IN ('ACTIVE', 'PROCESSING')))
    AND NOT (s.state = 'BOOKED' AND EXISTS (
        SELECT 1
        FROM bookings b
        JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id
        WHERE b.tenant_id = s.tenant_id AND b.region = s.region AND b.hold_id = s.hold_id AND l.seat_id = s.seat_id
            AND l.show_id = s.show_id AND l.state <> 'CANCELLED'))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditPoolCounters :many
SELECT c.tenant_id, c.region, c.pool_id, c.shard, c.held, c.booked, COALESCE(l.held, 0)::bigint AS lines_held, COALESCE(l.booked, 0)::bigint AS lines_booked, count(*) OVER () AS violations
FROM (
    SELECT hot.tenant_id, hot.region, hot.pool_id, hot.bucket, hot.shard, hot.held, hot.booked FROM pool_counters hot
    UNION ALL
    SELECT past.tenant_id, past.region, past.pool_id, past.bucket, past.shard, past.held, past.booked FROM past_pool_counters past) AS c
LEFT JOIN (
    SELECT u.tenant_id, u.region, u.pool_id, u.bucket, u.shard, sum(u.held)::bigint AS held, sum(u.booked)::bigint AS booked
    FROM (
        SELECT hl.tenant_id, hl.region, hl.pool_id, hl.bucket, hl.shard, hl.quantity AS held, 0::bigint AS booked
        FROM hold_lines hl
        JOIN holds h ON h.tenant_id = hl.tenant_id AND h.region = hl.region AND h.id = hl.hold_id
        WHERE hl.kind = 'POOL' AND h.state IN ('ACTIVE', 'PROCESSING')
        UNION ALL
        SELECT bl.tenant_id, bl.region, bl.pool_id, bl.bucket, bl.shard, 0::bigint AS held, bl.quantity AS booked
        FROM booking_lines bl
        WHERE bl.kind = 'POOL' AND bl.state <> 'CANCELLED') AS u
    GROUP BY u.tenant_id, u.region, u.pool_id, u.bucket, u.shard) AS l
    ON l.tenant_id = c.tenant_id AND l.region = c.region AND l.pool_id = c.pool_id AND l.bucket = c.bucket AND l.shard = c.shard
WHERE (@every_tenant::boolean OR c.tenant_id = @tenant_id::uuid)
    AND (c.held <> COALESCE(l.held, 0) OR c.booked <> COALESCE(l.booked, 0))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditNightCounters :many
SELECT c.tenant_id, c.region, c.room_type_id, c.night, c.held, c.booked, COALESCE(l.held, 0)::bigint AS lines_held, COALESCE(l.booked, 0)::bigint AS lines_booked, count(*) OVER () AS violations
FROM night_counters c
LEFT JOIN (
    SELECT u.tenant_id, u.region, u.room_type_id, u.bucket, u.night, sum(u.held)::bigint AS held, sum(u.booked)::bigint AS booked
    FROM (
        SELECT hl.tenant_id, hl.region, hl.room_type_id, hl.bucket, hl.night, hl.quantity AS held, 0::bigint AS booked
        FROM hold_lines hl
        JOIN holds h ON h.tenant_id = hl.tenant_id AND h.region = hl.region AND h.id = hl.hold_id
        WHERE hl.kind = 'NIGHT' AND h.state IN ('ACTIVE', 'PROCESSING')
        UNION ALL
        SELECT bl.tenant_id, bl.region, bl.room_type_id, bl.bucket, bl.night, 0::bigint AS held, bl.quantity AS booked
        FROM booking_lines bl
        WHERE bl.kind = 'NIGHT' AND bl.state NOT IN ('CANCELLED', 'CHANGED', 'WALKED')) AS u
    GROUP BY u.tenant_id, u.region, u.room_type_id, u.bucket, u.night) AS l
    ON l.tenant_id = c.tenant_id AND l.region = c.region AND l.room_type_id = c.room_type_id AND l.bucket = c.bucket AND l.night = c.night
WHERE (@every_tenant::boolean OR c.tenant_id = @tenant_id::uuid)
    AND (c.held <> COALESCE(l.held, 0) OR c.booked <> COALESCE(l.booked, 0))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditHouseCounters :many
SELECT c.tenant_id, c.region, c.property_id, c.night, c.held, c.booked, COALESCE(n.held, 0)::bigint AS lines_held, COALESCE(n.booked, 0)::bigint AS lines_booked, count(*) OVER () AS violations
FROM house_counters c
LEFT JOIN (
    SELECT r.tenant_id, r.region, r.property_id, k.night, sum(k.held)::bigint AS held, sum(k.booked)::bigint AS booked
    FROM night_counters k
    JOIN room_types r ON r.tenant_id = k.tenant_id AND r.region = k.region AND r.id = k.room_type_id
    GROUP BY r.tenant_id, r.region, r.property_id, k.night) AS n
    ON n.tenant_id = c.tenant_id AND n.region = c.region AND n.property_id = c.property_id AND n.night = c.night
WHERE (@every_tenant::boolean OR c.tenant_id = @tenant_id::uuid)
    AND (c.held <> COALESCE(n.held, 0) OR c.booked <> COALESCE(n.booked, 0))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditCeilings :many
-- What is held and booked is within the ceiling, and the ceiling is the limit, or what is sold while
-- that is more. A ceiling below it would hide stock.
SELECT c.kind, c.tenant_id, c.region, c.id, c.night, count(*) OVER () AS violations
FROM (
    SELECT 'pool' AS kind, tenant_id, region, pool_id AS id, NULL::date AS night
    FROM pool_counters
    WHERE (held + booked > ceiling OR ceiling <> GREATEST(sell_limit, held + booked)) AND (@every_tenant::boolean OR tenant_id = @tenant_id::uuid)
    UNION ALL
    SELECT 'pool' AS kind, tenant_id, region, pool_id AS id, NULL::date AS night
    FROM past_pool_counters
    WHERE (held + booked > ceiling OR ceiling <> GREATEST(sell_limit, held + booked)) AND (@every_tenant::boolean OR tenant_id = @tenant_id::uuid)
    UNION ALL
    SELECT 'night' AS kind, tenant_id, region, room_type_id AS id, night
    FROM night_counters
    WHERE (held + booked > ceiling OR ceiling <> GREATEST(sell_limit, held + booked)) AND (@every_tenant::boolean OR tenant_id = @tenant_id::uuid)
    UNION ALL
    SELECT 'house' AS kind, tenant_id, region, property_id AS id, night
    FROM house_counters
    WHERE (held + booked > ceiling OR ceiling <> GREATEST(sell_limit, held + booked)) AND (@every_tenant::boolean OR tenant_id = @tenant_id::uuid)) AS c
ORDER BY violations
LIMIT @max_examples;

-- name: AuditNightLimits :many
-- The shared stock of a night is what the plan says. Of nights with allotments AuditAllotments asks.
SELECT p.tenant_id, p.region, p.room_type_id, p.night, count(*) OVER () AS violations
FROM night_plans p
LEFT JOIN night_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.room_type_id = p.room_type_id
    AND c.bucket = '00000000-0000-0000-0000-000000000000'::uuid AND c.night = p.night
WHERE (@every_tenant::boolean OR p.tenant_id = @tenant_id::uuid)
    AND (c.night IS NULL OR NOT p.has_allotment AND c.sell_limit <> p.physical - p.out_of_order + p.oversell)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditNightsJobs :many
-- A job that is done has no chunk left, and its chunks are the nights that it had to write.
SELECT e.tenant_id, e.region, e.id, count(*) OVER () AS violations
FROM night_edits e
LEFT JOIN (
    SELECT k.tenant_id, k.region, k.edit_id, sum(k.nights)::bigint AS nights, sum(CASE WHEN k.state = 'WAITING' THEN 1 ELSE 0 END)::bigint AS waiting
    FROM night_edit_chunks k
    GROUP BY k.tenant_id, k.region, k.edit_id) AS c ON c.tenant_id = e.tenant_id AND c.region = e.region AND c.edit_id = e.id
WHERE (@every_tenant::boolean OR e.tenant_id = @tenant_id::uuid)
    AND (COALESCE(c.nights, 0) <> e.nights OR (e.state = 'DONE' AND COALESCE(c.waiting, 0) > 0))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditLinesHaveCounters :many
-- Counted lines of live holds and of bookings whose counter row does not exist.
SELECT u.tenant_id, u.region, u.owner_id, u.kind, u.unit_id, u.night, count(*) OVER () AS violations
FROM (
    SELECT hl.tenant_id, hl.region, hl.hold_id AS owner_id, hl.kind, COALESCE(hl.pool_id, hl.room_type_id) AS unit_id, hl.pool_id, hl.room_type_id, hl.bucket, hl.shard, hl.night
    FROM hold_lines hl
    JOIN holds h ON h.tenant_id = hl.tenant_id AND h.region = hl.region AND h.id = hl.hold_id
    WHERE hl.kind <> 'SEAT' AND h.state IN ('ACTIVE', 'PROCESSING')
    UNION ALL
    SELECT bl.tenant_id, bl.region, bl.booking_id AS owner_id, bl.kind, COALESCE(bl.pool_id, bl.room_type_id) AS unit_id, bl.pool_id, bl.room_type_id, bl.bucket, bl.shard, bl.night
    FROM booking_lines bl
    WHERE bl.kind <> 'SEAT' AND bl.state NOT IN ('CANCELLED', 'CHANGED', 'WALKED')) AS u
LEFT JOIN (
    SELECT hot.tenant_id, hot.region, hot.pool_id, hot.bucket, hot.shard FROM pool_counters hot
    UNION ALL
    SELECT past.tenant_id, past.region, past.pool_id, past.bucket, past.shard FROM past_pool_counters past) AS p
    ON p.tenant_id = u.tenant_id AND p.region = u.region AND p.pool_id = u.pool_id AND p.bucket = u.bucket AND p.shard = u.shard
LEFT JOIN night_counters n ON n.tenant_id = u.tenant_id AND n.region = u.region AND n.room_type_id = u.room_type_id AND n.bucket = u.bucket AND n.night = u.night
WHERE (@every_tenant::boolean OR u.tenant_id = @tenant_id::uuid)
    AND ((u.kind = 'POOL' AND p.pool_id IS NULL) OR (u.kind = 'NIGHT' AND n.room_type_id IS NULL))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditStockPlaces :many
-- A seat or a counter that stands in both tables, or in one in which its show has none: the past
-- tables before it was completed, the others after it was archived.
SELECT w.kind, w.tenant_id, w.region, w.id, w.owner_id, count(*) OVER () AS violations
FROM (
    SELECT 'seat' AS kind, s.tenant_id, s.region, s.seat_id AS id, s.show_id AS owner_id
    FROM past_show_seats s
    JOIN show_seats hot ON hot.tenant_id = s.tenant_id AND hot.region = s.region AND hot.show_id = s.show_id AND hot.seat_id = s.seat_id
    WHERE @every_tenant::boolean OR s.tenant_id = @tenant_id::uuid
    UNION ALL
    SELECT 'counter' AS kind, c.tenant_id, c.region, c.pool_id AS id, c.pool_id AS owner_id
    FROM past_pool_counters c
    JOIN pool_counters hot ON hot.tenant_id = c.tenant_id AND hot.region = c.region AND hot.pool_id = c.pool_id AND hot.bucket = c.bucket AND hot.shard = c.shard
    WHERE @every_tenant::boolean OR c.tenant_id = @tenant_id::uuid
    UNION ALL
    SELECT 'show' AS kind, w.tenant_id, w.region, w.id, w.event_id AS owner_id
    FROM shows w
    WHERE (@every_tenant::boolean OR w.tenant_id = @tenant_id::uuid)
        AND ((w.archived_at IS NOT NULL AND (w.completed_at IS NULL
                OR EXISTS (SELECT 1 FROM show_seats s WHERE s.tenant_id = w.tenant_id AND s.region = w.region AND s.show_id = w.id)))
            OR (w.completed_at IS NULL
                AND EXISTS (SELECT 1 FROM past_show_seats s WHERE s.tenant_id = w.tenant_id AND s.region = w.region AND s.show_id = w.id)))
    UNION ALL
    SELECT 'pool' AS kind, p.tenant_id, p.region, p.id, p.show_id AS owner_id
    FROM pools p
    JOIN shows w ON w.tenant_id = p.tenant_id AND w.region = p.region AND w.id = p.show_id
    WHERE (@every_tenant::boolean OR p.tenant_id = @tenant_id::uuid)
        AND ((w.archived_at IS NOT NULL
                AND EXISTS (SELECT 1 FROM pool_counters c WHERE c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.id))
            OR (w.completed_at IS NULL
                AND EXISTS (SELECT 1 FROM past_pool_counters c WHERE c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.id)))) AS w
ORDER BY violations
LIMIT @max_examples;

-- name: AuditCapturedPayments :many
-- A captured payment that bought no booking and is not being refunded whole; or one that keeps more,
-- or less, than the lines of its booking that still stand and the fees of those that do not, less
-- what was given back besides. What a lost dispute took need not be refunded any more, and takes no
-- line away. What a change of a stay has left to be paid at the desk is no part of it.
SELECT a.tenant_id, a.region, a.id, count(*) OVER () AS violations
FROM payment_attempts a
LEFT JOIN bookings b ON b.tenant_id = a.tenant_id AND b.region = a.region AND b.hold_id = a.hold_id
LEFT JOIN (
    SELECT d.tenant_id, d.region, d.booking_id, sum(d.minor)::bigint AS minor
    FROM (
        SELECT bl.tenant_id, bl.region, bl.booking_id, bl.amount_minor AS minor
        FROM booking_lines bl
        WHERE bl.state NOT IN ('CANCELLED', 'CHANGED')
        UNION ALL
        SELECT c.tenant_id, c.region, c.booking_id, c.fee_minor + c.credited_minor AS minor
        FROM cancellations c
        UNION ALL
        SELECT sc.tenant_id, sc.region, sc.booking_id, sc.fee_minor + sc.credited_minor - sc.due_minor AS minor
        FROM stay_changes sc
        UNION ALL
        SELECT br.tenant_id, br.region, br.booking_id, - br.amount_minor AS minor
        FROM booking_refunds br) AS d
    GROUP BY d.tenant_id, d.region, d.booking_id) AS due
    ON due.tenant_id = b.tenant_id AND due.region = b.region AND due.booking_id = b.id
WHERE a.state = 'SUCCEEDED' AND (@every_tenant::boolean OR a.tenant_id = @tenant_id::uuid)
    AND ((a.disposition = 'APPLIED' AND (b.id IS NULL OR a.captured_minor - a.refunded_minor < COALESCE(due.minor, 0)
            OR a.captured_minor - a.refunded_minor - a.lost_minor > COALESCE(due.minor, 0)))
        OR (a.disposition = 'ORPHANED' AND a.refunded_minor + a.lost_minor < a.captured_minor))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditLineTaxes :many
-- The tax of a line is the share of its price that its rate says, rounded half up: written without a
-- division, for which the engines have different meanings. The tax of a stay is a part of its price; see
-- AuditStayPrices.
SELECT l.tenant_id, l.region, l.booking_id, l.ordinal, count(*) OVER () AS violations
FROM booking_lines l
WHERE (@every_tenant::boolean OR l.tenant_id = @tenant_id::uuid)
    AND (2 * l.tax_minor * (10000 + l.tax_basis_points) > 2 * l.amount_minor * l.tax_basis_points + 10000 + l.tax_basis_points
        OR 2 * l.amount_minor * l.tax_basis_points >= 2 * l.tax_minor * (10000 + l.tax_basis_points) + 10000 + l.tax_basis_points)
    AND NOT EXISTS (
        SELECT 1
        FROM bookings b
        JOIN stay_prices p ON p.tenant_id = b.tenant_id AND p.region = b.region AND p.hold_id = b.hold_id
        WHERE b.tenant_id = l.tenant_id AND b.region = l.region AND b.id = l.booking_id AND p.item = l.item)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditStayPrices :many
-- The lines of a stay, of its hold and of its booking, together are the price that was stored for it, and
-- the taxes of the booking's lines its tax.
SELECT w.tenant_id, w.region, w.hold_id, w.item, w.total_minor, w.lines_minor, count(*) OVER () AS violations
FROM (
    SELECT p.tenant_id, p.region, p.hold_id, p.item, p.total_minor, COALESCE(sum(l.amount_minor), 0)::bigint AS lines_minor,
        p.tax_minor, p.tax_minor AS lines_tax
    FROM stay_prices p
    LEFT JOIN hold_lines l ON l.tenant_id = p.tenant_id AND l.region = p.region AND l.hold_id = p.hold_id AND l.item = p.item
    WHERE @every_tenant::boolean OR p.tenant_id = @tenant_id::uuid
    GROUP BY p.tenant_id, p.region, p.hold_id, p.item, p.total_minor, p.tax_minor
    UNION ALL
    SELECT p.tenant_id, p.region, p.hold_id, p.item, p.total_minor, COALESCE(sum(l.amount_minor), 0)::bigint AS lines_minor,
        p.tax_minor, COALESCE(sum(l.tax_minor), 0)::bigint AS lines_tax
    FROM stay_prices p
    JOIN bookings b ON b.tenant_id = p.tenant_id AND b.region = p.region AND b.hold_id = p.hold_id
    LEFT JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id AND l.item = p.item
    WHERE @every_tenant::boolean OR p.tenant_id = @tenant_id::uuid
    GROUP BY p.tenant_id, p.region, p.hold_id, p.item, p.total_minor, p.tax_minor) AS w
WHERE w.total_minor <> w.lines_minor OR w.tax_minor <> w.lines_tax
ORDER BY violations
LIMIT @max_examples;

-- name: AuditCancellations :many
-- A cancelled line that costs more than its price, or was not that price and tax when it was sold, or
-- still stands; and a cancellation whose fee and refund are not those of its lines.
SELECT c.tenant_id, c.region, c.id, c.booking_id, count(*) OVER () AS violations
FROM cancellations c
LEFT JOIN (
    SELECT cl.tenant_id, cl.region, cl.cancellation_id, count(*) AS lines, sum(cl.amount_minor)::bigint AS amount_minor,
        sum(cl.fee_minor)::bigint AS fee_minor,
        sum(CASE WHEN bl.state = 'CANCELLED' AND bl.amount_minor = cl.amount_minor AND bl.tax_minor = cl.tax_minor
            AND cl.fee_minor BETWEEN 0 AND cl.amount_minor AND cl.fee_tax_minor BETWEEN 0 AND cl.tax_minor THEN 1 ELSE 0 END)::bigint AS sound
    FROM cancelled_lines cl
    LEFT JOIN booking_lines bl ON bl.tenant_id = cl.tenant_id AND bl.region = cl.region AND bl.booking_id = cl.booking_id AND bl.ordinal = cl.ordinal
    GROUP BY cl.tenant_id, cl.region, cl.cancellation_id) AS s
    ON s.tenant_id = c.tenant_id AND s.region = c.region AND s.cancellation_id = c.id
WHERE (@every_tenant::boolean OR c.tenant_id = @tenant_id::uuid)
    AND (s.lines IS NULL OR s.sound <> s.lines OR s.fee_minor <> c.fee_minor
        OR s.amount_minor - s.fee_minor <> c.refund_minor + c.credited_minor)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditRefundSums :many
-- What an attempt counts as refunded is the sum of its refunds that have not failed.
SELECT a.tenant_id, a.region, a.id, count(*) OVER () AS violations
FROM payment_attempts a
LEFT JOIN (
    SELECT r.tenant_id, r.region, r.attempt_id, sum(r.amount_minor)::bigint AS amount_minor
    FROM refunds r
    WHERE r.state <> 'FAILED'
    GROUP BY r.tenant_id, r.region, r.attempt_id) AS s
    ON s.tenant_id = a.tenant_id AND s.region = a.region AND s.attempt_id = a.id
WHERE (@every_tenant::boolean OR a.tenant_id = @tenant_id::uuid)
    AND (a.refunded_minor <> COALESCE(s.amount_minor, 0) OR a.refunded_minor > a.captured_minor)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditDisputeSums :many
-- What an attempt counts as disputed and as lost is the sum of its disputes.
SELECT a.tenant_id, a.region, a.id, count(*) OVER () AS violations
FROM payment_attempts a
LEFT JOIN (
    SELECT d.tenant_id, d.region, d.attempt_id,
        sum(CASE WHEN d.state = 'OPENED' THEN d.amount_minor ELSE 0 END)::bigint AS disputed,
        sum(CASE WHEN d.state = 'LOST' THEN d.amount_minor ELSE 0 END)::bigint AS lost
    FROM disputes d
    GROUP BY d.tenant_id, d.region, d.attempt_id) AS s
    ON s.tenant_id = a.tenant_id AND s.region = a.region AND s.attempt_id = a.id
WHERE (@every_tenant::boolean OR a.tenant_id = @tenant_id::uuid)
    AND (a.disputed_minor <> COALESCE(s.disputed, 0) OR a.lost_minor <> COALESCE(s.lost, 0))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditBookingsMatchHolds :many
-- A confirmed hold has one booking with all its lines and its price, as far as no change of a stay has
-- moved them; a booking has a confirmed hold.
-- The lines of both are counted, because a sum of nothing is not unequal to anything.
SELECT h.tenant_id, h.region, h.id, count(*) OVER () AS violations
FROM holds h
LEFT JOIN bookings b ON b.tenant_id = h.tenant_id AND b.region = h.region AND b.hold_id = h.id
LEFT JOIN (
    SELECT bl.tenant_id, bl.region, bl.booking_id, count(*) AS lines,
        sum(CASE WHEN bl.state = 'CHANGED' THEN 0 ELSE bl.amount_minor END)::bigint AS amount_minor
    FROM booking_lines bl
    GROUP BY bl.tenant_id, bl.region, bl.booking_id) AS s
    ON s.tenant_id = b.tenant_id AND s.region = b.region AND s.booking_id = b.id
LEFT JOIN (
    SELECT sc.tenant_id, sc.region, sc.booking_id, sum(sc.added_minor - sc.returned_minor)::bigint AS amount_minor
    FROM stay_changes sc
    GROUP BY sc.tenant_id, sc.region, sc.booking_id) AS m
    ON m.tenant_id = b.tenant_id AND m.region = b.region AND m.booking_id = b.id
LEFT JOIN (
    SELECT hl.tenant_id, hl.region, hl.hold_id, count(*) AS lines
    FROM hold_lines hl
    GROUP BY hl.tenant_id, hl.region, hl.hold_id) AS c
    ON c.tenant_id = h.tenant_id AND c.region = h.region AND c.hold_id = h.id
WHERE (@every_tenant::boolean OR h.tenant_id = @tenant_id::uuid)
    AND ((h.state = 'CONFIRMED') <> (b.id IS NOT NULL)
        OR (b.id IS NOT NULL AND (b.total_minor <> h.total_minor + COALESCE(m.amount_minor, 0) OR COALESCE(s.amount_minor, 0) <> b.total_minor
            OR COALESCE(s.lines, 0) <> COALESCE(c.lines, 0))))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditPaidBookings :many
-- A booking with a price was paid: exactly one attempt of its hold is applied, for the price of the sale.
SELECT b.tenant_id, b.region, b.id, count(*) OVER () AS violations
FROM bookings b
JOIN holds h ON h.tenant_id = b.tenant_id AND h.region = b.region AND h.id = b.hold_id
LEFT JOIN payment_attempts a ON a.tenant_id = b.tenant_id AND a.region = b.region AND a.hold_id = b.hold_id AND a.disposition = 'APPLIED'
WHERE h.total_minor > 0 AND (@every_tenant::boolean OR b.tenant_id = @tenant_id::uuid)
    AND (a.id IS NULL OR a.captured_minor <> h.total_minor)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditCounts :one
-- How much an audit has looked at.
SELECT
    (SELECT count(*) FROM tenants t WHERE @every_tenant::boolean OR t.id = @tenant_id::uuid) AS tenants,
    (SELECT count(*) FROM holds h WHERE @every_tenant::boolean OR h.tenant_id = @tenant_id::uuid) AS holds,
    (SELECT count(*) FROM bookings b WHERE @every_tenant::boolean OR b.tenant_id = @tenant_id::uuid) AS bookings,
    (SELECT count(*) FROM payment_attempts a WHERE @every_tenant::boolean OR a.tenant_id = @tenant_id::uuid) AS payments;

-- name: AuditPresaleCounters :many
-- A sale keeps its use of a code or of a promotion, also when it is cancelled.
SELECT c.tenant_id, c.region, c.code_id, c.held, c.booked, COALESCE(h.held, 0)::bigint AS holds_held, COALESCE(h.booked, 0)::bigint AS holds_booked,
    count(*) OVER () AS violations
FROM presale_counters c
LEFT JOIN (
    SELECT u.tenant_id, u.region, u.code_id,
        sum(CASE WHEN u.state IN ('ACTIVE', 'PROCESSING') THEN 1 ELSE 0 END)::bigint AS held,
        sum(CASE WHEN u.state = 'CONFIRMED' THEN 1 ELSE 0 END)::bigint AS booked
    FROM (
        SELECT tenant_id, region, state, presale_code_id AS code_id FROM holds WHERE presale_code_id IS NOT NULL
        UNION ALL
        SELECT tenant_id, region, state, promotion_id AS code_id FROM holds WHERE promotion_id IS NOT NULL) AS u
    GROUP BY u.tenant_id, u.region, u.code_id) AS h
    ON h.tenant_id = c.tenant_id AND h.region = c.region AND h.code_id = c.code_id
WHERE (@every_tenant::boolean OR c.tenant_id = @tenant_id::uuid)
    AND (c.held <> COALESCE(h.held, 0) OR c.booked <> COALESCE(h.booked, 0))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditAllotments :many
-- Where stock is set aside: the limits of all counters together within what there is to sell, each open
-- part of an allotment with a counter of at most its size, and no such counter without its part.
SELECT w.kind, w.tenant_id, w.region, w.id, w.night, count(*) OVER () AS violations
FROM (
    SELECT 'pool' AS kind, p.tenant_id, p.region, p.id, NULL::date AS night
    FROM pools p
    JOIN pool_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.id
    WHERE p.has_allotment AND (@every_tenant::boolean OR p.tenant_id = @tenant_id::uuid)
    GROUP BY p.tenant_id, p.region, p.id, p.capacity
    HAVING sum(c.sell_limit) > p.capacity
    UNION ALL
    SELECT 'night' AS kind, p.tenant_id, p.region, p.room_type_id AS id, p.night
    FROM night_plans p
    JOIN night_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.room_type_id = p.room_type_id AND c.night = p.night
    WHERE p.has_allotment AND (@every_tenant::boolean OR p.tenant_id = @tenant_id::uuid)
    GROUP BY p.tenant_id, p.region, p.room_type_id, p.night, p.physical, p.out_of_order, p.oversell
    HAVING sum(c.sell_limit) > GREATEST(0, p.physical - p.out_of_order + p.oversell)
    UNION ALL
    SELECT 'allotment' AS kind, a.tenant_id, a.region, a.allotment_id AS id, a.night
    FROM allotment_parts a
    LEFT JOIN night_counters n ON n.tenant_id = a.tenant_id AND n.region = a.region AND n.room_type_id = a.unit_id AND n.bucket = a.allotment_id AND n.night = a.night
    LEFT JOIN pool_counters c ON c.tenant_id = a.tenant_id AND c.region = a.region AND c.pool_id = a.unit_id AND c.bucket = a.allotment_id
    LEFT JOIN past_pool_counters past ON past.tenant_id = a.tenant_id AND past.region = a.region AND past.pool_id = a.unit_id AND past.bucket = a.allotment_id
    WHERE a.state = 'OPEN' AND (@every_tenant::boolean OR a.tenant_id = @tenant_id::uuid)
        AND (COALESCE(n.sell_limit, c.sell_limit, past.sell_limit) IS NULL
            OR COALESCE(n.sell_limit, c.sell_limit, past.sell_limit) > GREATEST(a.quantity, COALESCE(n.held + n.booked, c.held + c.booked, past.held + past.booked)))
    UNION ALL
    SELECT 'counter' AS kind, n.tenant_id, n.region, n.bucket AS id, n.night
    FROM night_counters n
    LEFT JOIN allotment_parts a ON a.tenant_id = n.tenant_id AND a.region = n.region AND a.allotment_id = n.bucket AND a.night = n.night AND a.unit_id = n.room_type_id
    WHERE n.bucket <> '00000000-0000-0000-0000-000000000000'::uuid AND a.allotment_id IS NULL AND (@every_tenant::boolean OR n.tenant_id = @tenant_id::uuid)
    UNION ALL
    SELECT 'counter' AS kind, c.tenant_id, c.region, c.bucket AS id, NULL::date AS night
    FROM pool_counters c
    LEFT JOIN allotment_parts a ON a.tenant_id = c.tenant_id AND a.region = c.region AND a.allotment_id = c.bucket AND a.unit_id = c.pool_id
    WHERE c.bucket <> '00000000-0000-0000-0000-000000000000'::uuid AND a.allotment_id IS NULL AND (@every_tenant::boolean OR c.tenant_id = @tenant_id::uuid)) AS w
ORDER BY violations
LIMIT @max_examples;

-- name: AuditGrants :many
-- Each use of an admission grant is one hold of the grant's guest, and a grant counts its uses.
SELECT g.tenant_id, g.region, g.id, g.used, COALESCE(c.uses, 0)::bigint AS uses, COALESCE(c.holds, 0)::bigint AS holds, count(*) OVER () AS violations
FROM admission_grants g
LEFT JOIN (
    SELECT u.tenant_id, u.region, u.grant_id, count(*) AS uses, count(h.id) AS holds
    FROM admission_uses u
    JOIN admission_grants o ON o.tenant_id = u.tenant_id AND o.region = u.region AND o.id = u.grant_id
    LEFT JOIN holds h ON h.tenant_id = u.tenant_id AND h.region = u.region AND h.id = u.hold_id
        AND h.buyer_kind = 'GUEST' AND h.buyer_id = o.session_id
    GROUP BY u.tenant_id, u.region, u.grant_id) AS c
    ON c.tenant_id = g.tenant_id AND c.region = g.region AND c.grant_id = g.id
WHERE (@every_tenant::boolean OR g.tenant_id = @tenant_id::uuid)
    AND (g.used <> COALESCE(c.uses, 0) OR COALESCE(c.uses, 0) <> COALESCE(c.holds, 0))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditSeatBlocks :many
-- A seat that is in a block of another show or channel than its row says, or in one that does not exist.
SELECT s.tenant_id, s.region, s.show_id, s.seat_id, count(*) OVER () AS violations
FROM (
    SELECT hot.tenant_id, hot.region, hot.show_id, hot.seat_id, hot.block_id, hot.block_channel_id FROM show_seats hot
    UNION ALL
    SELECT past.tenant_id, past.region, past.show_id, past.seat_id, past.block_id, past.block_channel_id FROM past_show_seats past) AS s
LEFT JOIN seat_blocks b ON b.tenant_id = s.tenant_id AND b.region = s.region AND b.id = s.block_id
WHERE (@every_tenant::boolean OR s.tenant_id = @tenant_id::uuid)
    AND ((s.block_id IS NULL) <> (s.block_channel_id IS NULL)
        OR (s.block_id IS NOT NULL AND (b.id IS NULL OR b.show_id <> s.show_id
            OR COALESCE(b.channel_id, '00000000-0000-0000-0000-000000000000'::uuid) <> s.block_channel_id)))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditBlockReleases :many
-- A release that was told more than once, or kept more than once, or of a block that stands.
SELECT b.tenant_id, b.region, b.id, count(*) OVER () AS violations
FROM seat_blocks b
LEFT JOIN (
    SELECT e.tenant_id, e.region, e.entity_id, count(*) AS told
    FROM outbox_events e
    WHERE e.entity_kind = 'block' AND e.type = 'block.released'
    GROUP BY e.tenant_id, e.region, e.entity_id) AS e ON e.tenant_id = b.tenant_id AND e.region = b.region AND e.entity_id = b.id
LEFT JOIN (
    SELECT c.tenant_id, c.region, c.block_id, count(*) AS kept
    FROM seat_block_changes c
    WHERE c.kind = 'RELEASED'
    GROUP BY c.tenant_id, c.region, c.block_id) AS c ON c.tenant_id = b.tenant_id AND c.region = b.region AND c.block_id = b.id
WHERE (@every_tenant::boolean OR b.tenant_id = @tenant_id::uuid)
    AND (COALESCE(e.told, 0) > CASE WHEN b.state = 'RELEASED' THEN 1 ELSE 0 END
        OR COALESCE(c.kept, 0) <> CASE WHEN b.state = 'RELEASED' THEN 1 ELSE 0 END)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditRatePlans :many
-- A line that was sold as a rate plan of another hotel than its own, or of none; and a plan that derives its
-- prices from another hotel's plan, or from one that derives its own.
SELECT w.kind, w.tenant_id, w.region, w.id, count(*) OVER () AS violations
FROM (
    SELECT 'hold' AS kind, l.tenant_id, l.region, l.hold_id AS id
    FROM hold_lines l
    LEFT JOIN rate_plans p ON p.tenant_id = l.tenant_id AND p.region = l.region AND p.id = l.rate_plan_id
    WHERE l.rate_plan_id IS NOT NULL AND (p.id IS NULL OR l.property_id IS NULL OR p.property_id <> l.property_id)
        AND (@every_tenant::boolean OR l.tenant_id = @tenant_id::uuid)
    UNION ALL
    SELECT 'booking' AS kind, l.tenant_id, l.region, l.booking_id AS id
    FROM booking_lines l
    LEFT JOIN rate_plans p ON p.tenant_id = l.tenant_id AND p.region = l.region AND p.id = l.rate_plan_id
    WHERE l.rate_plan_id IS NOT NULL AND (p.id IS NULL OR l.property_id IS NULL OR p.property_id <> l.property_id)
        AND (@every_tenant::boolean OR l.tenant_id = @tenant_id::uuid)
    UNION ALL
    SELECT 'rate plan' AS kind, c.tenant_id, c.region, c.id
    FROM rate_plans c
    LEFT JOIN rate_plans p ON p.tenant_id = c.tenant_id AND p.region = c.region AND p.id = c.parent_id
    WHERE c.parent_id IS NOT NULL AND (p.id IS NULL OR p.property_id <> c.property_id OR p.derive_kind IS NOT NULL)
        AND (@every_tenant::boolean OR c.tenant_id = @tenant_id::uuid)) AS w
ORDER BY violations
LIMIT @max_examples;

-- name: AuditRoomNights :many
-- A physical room that is given to a line which does not stand, is of another night or hotel, or has fewer
-- rooms; that is of another hotel or type than it says; or that is out of order beyond its period.
SELECT n.tenant_id, n.region, n.room_id, n.night, count(*) OVER () AS violations
FROM room_nights n
LEFT JOIN physical_rooms r ON r.tenant_id = n.tenant_id AND r.region = n.region AND r.id = n.room_id
LEFT JOIN booking_lines l ON l.tenant_id = n.tenant_id AND l.region = n.region AND l.booking_id = n.booking_id AND l.ordinal = n.ordinal
LEFT JOIN out_of_order_periods o ON o.tenant_id = n.tenant_id AND o.region = n.region AND o.id = n.period_id
WHERE (@every_tenant::boolean OR n.tenant_id = @tenant_id::uuid)
    AND (r.id IS NULL
        OR (n.booking_id IS NOT NULL AND (l.booking_id IS NULL OR l.kind <> 'NIGHT' OR l.state NOT IN ('BOOKED', 'NO_SHOW') OR l.night <> n.night
            OR l.property_id <> r.property_id OR n.slot >= l.quantity))
        OR (n.period_id IS NOT NULL AND (o.id IS NULL OR o.room_id <> n.room_id OR o.room_type_id <> n.room_type_id
            OR n.night < o.first_night OR n.night > o.last_night)))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditOutOfOrder :many
-- A planned night that counts other rooms out of order than have a period on it, and a period without one of
-- its nights.
SELECT w.tenant_id, w.region, w.id, w.night, w.counted, w.periods, count(*) OVER () AS violations
FROM (
    SELECT p.tenant_id, p.region, p.room_type_id AS id, p.night, p.out_of_order_rooms AS counted, COALESCE(c.rooms, 0)::bigint AS periods
    FROM night_plans p
    LEFT JOIN (
        SELECT n.tenant_id, n.region, n.room_type_id, n.night, count(*) AS rooms
        FROM room_nights n
        WHERE n.period_id IS NOT NULL
        GROUP BY n.tenant_id, n.region, n.room_type_id, n.night) AS c
        ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.room_type_id = p.room_type_id AND c.night = p.night
    WHERE p.out_of_order_rooms <> COALESCE(c.rooms, 0)
    UNION ALL
    SELECT o.tenant_id, o.region, o.id, o.first_night AS night, (o.last_night - o.first_night + 1)::bigint AS counted, COALESCE(c.nights, 0)::bigint AS periods
    FROM out_of_order_periods o
    LEFT JOIN (
        SELECT n.tenant_id, n.region, n.period_id, count(*) AS nights
        FROM room_nights n
        WHERE n.period_id IS NOT NULL
        GROUP BY n.tenant_id, n.region, n.period_id) AS c
        ON c.tenant_id = o.tenant_id AND c.region = o.region AND c.period_id = o.id
    WHERE (o.last_night - o.first_night + 1)::bigint <> COALESCE(c.nights, 0)
        AND NOT (o.state = 'ENDED' AND COALESCE(c.nights, 0) = 0)) AS w
WHERE @every_tenant::boolean OR w.tenant_id = @tenant_id::uuid
ORDER BY violations
LIMIT @max_examples;

-- name: AuditNoShows :many
-- A settled no-show whose line is not marked, or was sold for another price; and a release that does not
-- add up: its fee, refund and what was given back before are the price of its lines.
SELECT r.tenant_id, r.region, r.id, r.booking_id, count(*) OVER () AS violations
FROM no_show_releases r
LEFT JOIN (
    SELECT n.tenant_id, n.region, n.release_id, sum(n.amount_minor)::bigint AS amount_minor, sum(n.fee_minor)::bigint AS fee_minor,
        sum(CASE WHEN l.state = 'NO_SHOW' AND l.amount_minor = n.amount_minor THEN 0 ELSE 1 END)::bigint AS unsound
    FROM no_show_lines n
    LEFT JOIN booking_lines l ON l.tenant_id = n.tenant_id AND l.region = n.region AND l.booking_id = n.booking_id AND l.ordinal = n.ordinal
    GROUP BY n.tenant_id, n.region, n.release_id) AS p
    ON p.tenant_id = r.tenant_id AND p.region = r.region AND p.release_id = r.id
LEFT JOIN (
    SELECT k.tenant_id, k.region, k.cancellation_id, sum(k.amount_minor)::bigint AS amount_minor, sum(k.fee_minor)::bigint AS fee_minor
    FROM cancelled_lines k
    GROUP BY k.tenant_id, k.region, k.cancellation_id) AS c
    ON c.tenant_id = r.tenant_id AND c.region = r.region AND c.cancellation_id = r.cancellation_id
WHERE (@every_tenant::boolean OR r.tenant_id = @tenant_id::uuid)
    AND (COALESCE(p.unsound, 0) > 0 OR r.fee_minor <> COALESCE(p.fee_minor, 0) + COALESCE(c.fee_minor, 0)
        OR r.fee_minor + r.refund_minor + r.credited_minor <> COALESCE(p.amount_minor, 0) + COALESCE(c.amount_minor, 0))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditStayChanges :many
-- A change of a stay is the sum of its lines: what it ended is CHANGED, or WALKED when there was no room,
-- and cost what the change says, and so did what it added. A compensation is what its change was for.
SELECT c.tenant_id, c.region, c.id, c.booking_id, count(*) OVER () AS violations
FROM stay_changes c
LEFT JOIN (
    SELECT bl.tenant_id, bl.region, bl.added_by, sum(bl.amount_minor)::bigint AS amount_minor
    FROM booking_lines bl
    WHERE bl.added_by IS NOT NULL
    GROUP BY bl.tenant_id, bl.region, bl.added_by) AS a
    ON a.tenant_id = c.tenant_id AND a.region = c.region AND a.added_by = c.id
LEFT JOIN (
    SELECT bl.tenant_id, bl.region, bl.ended_by, count(*) AS lines,
        sum(CASE WHEN bl.state = 'CHANGED' THEN 1 ELSE 0 END)::bigint AS changed,
        sum(CASE WHEN bl.state = 'WALKED' THEN 1 ELSE 0 END)::bigint AS walked,
        sum(CASE WHEN bl.state = 'CHANGED' THEN bl.amount_minor ELSE 0 END)::bigint AS amount_minor
    FROM booking_lines bl
    WHERE bl.ended_by IS NOT NULL
    GROUP BY bl.tenant_id, bl.region, bl.ended_by) AS e
    ON e.tenant_id = c.tenant_id AND e.region = c.region AND e.ended_by = c.id
LEFT JOIN compensations k ON k.tenant_id = c.tenant_id AND k.region = c.region AND k.id = c.id
WHERE (@every_tenant::boolean OR c.tenant_id = @tenant_id::uuid)
    AND (COALESCE(a.amount_minor, 0) <> c.added_minor OR COALESCE(e.amount_minor, 0) <> c.returned_minor
        OR COALESCE(e.lines, 0) <> CASE WHEN c.kind = 'WALK' THEN COALESCE(e.walked, 0) ELSE COALESCE(e.changed, 0) END
        OR (c.kind = 'CHANGE') <> (k.id IS NULL))
ORDER BY violations
LIMIT @max_examples;

-- name: AuditEndedLines :many
-- A line that is CHANGED or WALKED, and only such a line, was ended by a change of its booking.
SELECT bl.tenant_id, bl.region, bl.booking_id, bl.ordinal, count(*) OVER () AS violations
FROM booking_lines bl
LEFT JOIN stay_changes c ON c.tenant_id = bl.tenant_id AND c.region = bl.region AND c.id = bl.ended_by AND c.booking_id = bl.booking_id
WHERE (@every_tenant::boolean OR bl.tenant_id = @tenant_id::uuid)
    AND (bl.state IN ('CHANGED', 'WALKED')) <> (c.id IS NOT NULL)
ORDER BY violations
LIMIT @max_examples;

-- name: AuditWaitingEntries :many
-- An entry of a waiting list whose hold is not its buyer's, became something else, or was told twice.
SELECT e.tenant_id, e.region, e.id, e.state, count(*) OVER () AS violations
FROM waiting_entries e
LEFT JOIN holds h ON h.tenant_id = e.tenant_id AND h.region = e.region AND h.id = e.hold_id
LEFT JOIN (
    SELECT o.tenant_id, o.region, o.entity_id, count(*) AS told
    FROM outbox_events o
    WHERE o.entity_kind = 'waiting_entry' AND o.type = 'waitinglist.offered'
    GROUP BY o.tenant_id, o.region, o.entity_id) AS t ON t.tenant_id = e.tenant_id AND t.region = e.region AND t.entity_id = e.id
WHERE (@every_tenant::boolean OR e.tenant_id = @tenant_id::uuid)
    AND (COALESCE(t.told, 0) > CASE WHEN e.hold_id IS NULL THEN 0 ELSE 1 END
        OR (e.hold_id IS NOT NULL AND (h.id IS NULL OR h.buyer_kind <> e.buyer_kind OR h.buyer_id <> e.buyer_id OR h.channel_id <> e.channel_id
            OR (e.state = 'SERVED' AND h.state <> 'CONFIRMED') OR (e.state = 'DECLINED' AND h.state <> 'RELEASED')
            OR (e.state = 'LAPSED' AND h.state <> 'EXPIRED'))))
ORDER BY violations
LIMIT @max_examples;
