-- name: BookingsOfNight :many
-- Bookings with lines that still stand on a night of some room types, found through the holds that
-- they were: booking lines are written with every sale and have no index of their own.
SELECT b.region, b.id, b.hold_id, b.channel_id, b.buyer_kind, b.buyer_id, b.reference, b.partner_reference, b.contact_name, b.contact_email,
    b.state, b.total_minor, b.currency, b.version, b.booked_at, b.cancellation, b.commission_basis_points
FROM bookings b
WHERE b.tenant_id = @tenant_id AND b.region = @region
    AND (b.booked_at, b.id) < (@before_time::timestamptz, @before_id::uuid)
    AND b.hold_id IN (
        SELECT h.hold_id
        FROM hold_lines h
        WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.room_type_id = ANY(@room_type_ids::uuid[]) AND h.night = @night::date)
    AND EXISTS (
        SELECT 1
        FROM booking_lines l
        WHERE l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id AND l.night = @night::date
            AND l.room_type_id = ANY(@room_type_ids::uuid[]) AND l.state NOT IN ('CANCELLED', 'CHANGED', 'WALKED'))
ORDER BY b.booked_at DESC, b.id DESC
LIMIT @max_rows;

-- name: SeatHistory :many
-- What became of one seat of a show, the newest first, from the lines of its holds and bookings and from
-- its moves between blocks. The steps of one instant and subject are in the order in which they can follow
-- each other. A block that is released as a whole lets go of the seats that joined it once more often than
-- they left it, at its moment or, after a command, when that was given.
WITH u AS (
    SELECT l.hold_id, l.ordinal, l.quantity
    FROM hold_lines l
    WHERE l.tenant_id = @tenant_id AND l.region = @region AND l.show_id = @show_id AND l.seat_id = @seat_id),
m AS (
    SELECT b.change_id, b.from_block, b.to_block, b.moved_at
    FROM seat_block_moves b
    WHERE b.tenant_id = @tenant_id AND b.region = @region AND b.show_id = @show_id AND b.seat_id = @seat_id)
SELECT e.at, e.step, e.subject_id, e.ordinal, e.quantity, e.change, e.booking_id, e.block_id, e.allotment_id, e.channel_id, e.actor, e.reason, e.note
FROM (
    SELECT h.placed_at AS at, 1::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'HELD'::text AS change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, (h.buyer_kind || ' ' || h.buyer_id::text)::text AS actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    UNION ALL
    SELECT c.changed_at AS at, 2::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, c.change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, c.actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    JOIN hold_changes c ON c.tenant_id = @tenant_id AND c.region = @region AND c.hold_id = u.hold_id
    UNION ALL
    SELECT h.ended_at AS at, 3::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity,
        CASE WHEN h.state = 'EXPIRED' THEN 'EXPIRED' ELSE 'RELEASED' END AS change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, ''::text AS actor,
        CASE WHEN h.state = 'EXPIRED' THEN 'the deadline passed' ELSE 'the payment was declined' END AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    WHERE h.state = 'EXPIRED' OR h.state = 'RELEASED' AND NOT EXISTS (
        SELECT 1
        FROM hold_changes c
        WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.hold_id = u.hold_id AND c.change = 'RELEASED')
    UNION ALL
    SELECT b.booked_at AS at, 4::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'SOLD'::text AS change, b.id AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, b.channel_id, (b.buyer_kind || ' ' || b.buyer_id::text)::text AS actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN bookings b ON b.tenant_id = @tenant_id AND b.region = @region AND b.hold_id = u.hold_id
    UNION ALL
    SELECT x.cancelled_at AS at, 5::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'CANCELLED'::text AS change, b.id AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, b.channel_id,
        CASE WHEN x.session_id IS NULL THEN 'KEY ' || x.key_id::text ELSE 'GUEST ' || x.session_id::text END AS actor, x.reason, ''::text AS note
    FROM u
    JOIN bookings b ON b.tenant_id = @tenant_id AND b.region = @region AND b.hold_id = u.hold_id
    JOIN cancelled_lines k ON k.tenant_id = @tenant_id AND k.region = @region AND k.booking_id = b.id AND k.ordinal = u.ordinal
    JOIN cancellations x ON x.tenant_id = @tenant_id AND x.region = @region AND x.id = k.cancellation_id
    UNION ALL
    SELECT m.moved_at AS at, 6::bigint AS step, m.change_id AS subject_id, 0::bigint AS ordinal, 1::bigint AS quantity, 'UNBLOCKED'::text AS change,
        NULL::uuid AS booking_id, o.id AS block_id, NULL::uuid AS allotment_id, COALESCE(o.channel_id, '00000000-0000-0000-0000-000000000000'::uuid) AS channel_id,
        COALESCE('KEY ' || c.key_id::text, '') AS actor, CASE WHEN m.to_block IS NULL THEN '' ELSE 'moved to another block' END AS reason, ''::text AS note
    FROM m
    JOIN seat_blocks o ON o.tenant_id = @tenant_id AND o.region = @region AND o.id = m.from_block
    LEFT JOIN seat_block_changes c ON c.tenant_id = @tenant_id AND c.region = @region AND c.id = m.change_id
    UNION ALL
    SELECT m.moved_at AS at, 7::bigint AS step, m.change_id AS subject_id, 0::bigint AS ordinal, 1::bigint AS quantity, 'BLOCKED'::text AS change,
        NULL::uuid AS booking_id, o.id AS block_id, NULL::uuid AS allotment_id, COALESCE(o.channel_id, '00000000-0000-0000-0000-000000000000'::uuid) AS channel_id,
        COALESCE('KEY ' || c.key_id::text, '') AS actor, COALESCE(c.block_reason, o.reason) AS reason, COALESCE(c.block_note, o.note) AS note
    FROM m
    JOIN seat_blocks o ON o.tenant_id = @tenant_id AND o.region = @region AND o.id = m.to_block
    LEFT JOIN seat_block_changes c ON c.tenant_id = @tenant_id AND c.region = @region AND c.id = m.change_id
    UNION ALL
    SELECT GREATEST(COALESCE(o.released_at, o.release_at), i.joined_at + interval '1 microsecond') AS at, 6::bigint AS step, o.id AS subject_id,
        0::bigint AS ordinal, 1::bigint AS quantity, 'UNBLOCKED'::text AS change, NULL::uuid AS booking_id, o.id AS block_id, NULL::uuid AS allotment_id,
        COALESCE(o.channel_id, '00000000-0000-0000-0000-000000000000'::uuid) AS channel_id, COALESCE('KEY ' || c.key_id::text, '') AS actor,
        CASE WHEN o.released_by = 'COMMAND' THEN 'the block was released' ELSE 'the moment of the block''s release came' END AS reason, ''::text AS note
    FROM (
        SELECT w.block_id, max(w.joined_at) AS joined_at
        FROM (
            SELECT m.to_block AS block_id, 1 AS moves, m.moved_at AS joined_at FROM m WHERE m.to_block IS NOT NULL
            UNION ALL
            SELECT m.from_block AS block_id, -1 AS moves, NULL::timestamptz AS joined_at FROM m WHERE m.from_block IS NOT NULL) AS w
        GROUP BY w.block_id
        HAVING sum(w.moves) > 0) AS i
    JOIN seat_blocks o ON o.tenant_id = @tenant_id AND o.region = @region AND o.id = i.block_id
    LEFT JOIN seat_block_changes c ON c.tenant_id = @tenant_id AND c.region = @region AND c.block_id = o.id AND c.kind = 'RELEASED'
    WHERE o.state = 'RELEASED' OR o.release_at <= @as_of::timestamptz) AS e
WHERE (e.at, e.subject_id, e.ordinal, e.step) < (@before_time::timestamptz, @before_subject::uuid, @before_ordinal::bigint, @before_step::bigint)
ORDER BY e.at DESC, e.subject_id DESC, e.ordinal DESC, e.step DESC
LIMIT @max_rows;

-- name: PoolHistory :many
-- As SeatHistory, of one pool, and of what allotments set aside of it. What is due for release is
-- released, whether or not anybody has carried it out.
WITH u AS (
    SELECT l.hold_id, l.ordinal, l.quantity
    FROM hold_lines l
    WHERE l.tenant_id = @tenant_id AND l.region = @region AND l.pool_id = @pool_id),
m AS (
    SELECT a.allotment_id, a.version, a.units, a.by_time, a.moved_at
    FROM allotment_moves a
    WHERE a.tenant_id = @tenant_id AND a.region = @region AND a.unit_id = @pool_id AND a.night = '0001-01-01'::date)
SELECT e.at, e.step, e.subject_id, e.ordinal, e.quantity, e.change, e.booking_id, e.block_id, e.allotment_id, e.channel_id, e.actor, e.reason, e.note
FROM (
    SELECT h.placed_at AS at, 1::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'HELD'::text AS change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, (h.buyer_kind || ' ' || h.buyer_id::text)::text AS actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    UNION ALL
    SELECT c.changed_at AS at, 2::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, c.change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, c.actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    JOIN hold_changes c ON c.tenant_id = @tenant_id AND c.region = @region AND c.hold_id = u.hold_id
    UNION ALL
    SELECT h.ended_at AS at, 3::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity,
        CASE WHEN h.state = 'EXPIRED' THEN 'EXPIRED' ELSE 'RELEASED' END AS change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, ''::text AS actor,
        CASE WHEN h.state = 'EXPIRED' THEN 'the deadline passed' ELSE 'the payment was declined' END AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    WHERE h.state = 'EXPIRED' OR h.state = 'RELEASED' AND NOT EXISTS (
        SELECT 1
        FROM hold_changes c
        WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.hold_id = u.hold_id AND c.change = 'RELEASED')
    UNION ALL
    SELECT b.booked_at AS at, 4::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'SOLD'::text AS change, b.id AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, b.channel_id, (b.buyer_kind || ' ' || b.buyer_id::text)::text AS actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN bookings b ON b.tenant_id = @tenant_id AND b.region = @region AND b.hold_id = u.hold_id
    UNION ALL
    SELECT x.cancelled_at AS at, 5::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'CANCELLED'::text AS change, b.id AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, b.channel_id,
        CASE WHEN x.session_id IS NULL THEN 'KEY ' || x.key_id::text ELSE 'GUEST ' || x.session_id::text END AS actor, x.reason, ''::text AS note
    FROM u
    JOIN bookings b ON b.tenant_id = @tenant_id AND b.region = @region AND b.hold_id = u.hold_id
    JOIN cancelled_lines k ON k.tenant_id = @tenant_id AND k.region = @region AND k.booking_id = b.id AND k.ordinal = u.ordinal
    JOIN cancellations x ON x.tenant_id = @tenant_id AND x.region = @region AND x.id = k.cancellation_id
    UNION ALL
    SELECT m.moved_at AS at, 8::bigint AS step, m.allotment_id AS subject_id, m.version AS ordinal, abs(m.units) AS quantity,
        CASE WHEN m.units > 0 THEN 'ALLOTTED' ELSE 'UNALLOTTED' END AS change, NULL::uuid AS booking_id, NULL::uuid AS block_id,
        m.allotment_id, a.channel_id, COALESCE('KEY ' || c.key_id::text, '') AS actor,
        CASE c.action WHEN 'CHANGED' THEN 'the allotment was changed' WHEN 'RELEASED' THEN 'the allotment was released'
            WHEN 'CANCELLED' THEN 'the allotment was cancelled' ELSE 'the allotment was made definite' END AS reason, ''::text AS note
    FROM m
    JOIN allotments a ON a.tenant_id = @tenant_id AND a.region = @region AND a.id = m.allotment_id
    LEFT JOIN allotment_changes c ON c.tenant_id = @tenant_id AND c.region = @region AND c.allotment_id = m.allotment_id AND c.version = m.version
    WHERE NOT m.by_time
    UNION ALL
    SELECT GREATEST(d.released_at, l.moved_at + interval '1 microsecond') AS at, 9::bigint AS step, d.allotment_id AS subject_id, 0::bigint AS ordinal,
        d.quantity, 'UNALLOTTED'::text AS change, NULL::uuid AS booking_id, NULL::uuid AS block_id, d.allotment_id, a.channel_id,
        ''::text AS actor, 'the time of its release came'::text AS reason, ''::text AS note
    FROM (
        SELECT m.allotment_id, -m.units AS quantity, m.moved_at AS released_at
        FROM m
        WHERE m.by_time
        UNION ALL
        SELECT p.allotment_id, p.quantity, p.release_at AS released_at
        FROM allotment_parts p
        WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.unit_id = @pool_id AND p.night = '0001-01-01'::date
            AND p.state = 'OPEN' AND p.quantity > 0 AND p.release_at <= @as_of::timestamptz) AS d
    JOIN allotments a ON a.tenant_id = @tenant_id AND a.region = @region AND a.id = d.allotment_id
    LEFT JOIN (
        SELECT m.allotment_id, max(m.moved_at) AS moved_at
        FROM m
        WHERE NOT m.by_time
        GROUP BY m.allotment_id) AS l ON l.allotment_id = d.allotment_id) AS e
WHERE (e.at, e.subject_id, e.ordinal, e.step) < (@before_time::timestamptz, @before_subject::uuid, @before_ordinal::bigint, @before_step::bigint)
ORDER BY e.at DESC, e.subject_id DESC, e.ordinal DESC, e.step DESC
LIMIT @max_rows;

-- name: NightHistory :many
-- As PoolHistory, of one night of a room type.
WITH u AS (
    SELECT l.hold_id, l.ordinal, l.quantity, l.added_by
    FROM hold_lines l
    WHERE l.tenant_id = @tenant_id AND l.region = @region AND l.room_type_id = @room_type_id AND l.night = @night::date),
m AS (
    SELECT a.allotment_id, a.version, a.units, a.by_time, a.moved_at
    FROM allotment_moves a
    WHERE a.tenant_id = @tenant_id AND a.region = @region AND a.unit_id = @room_type_id AND a.night = @night::date)
SELECT e.at, e.step, e.subject_id, e.ordinal, e.quantity, e.change, e.booking_id, e.block_id, e.allotment_id, e.channel_id, e.actor, e.reason, e.note
FROM (
    SELECT h.placed_at AS at, 1::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'HELD'::text AS change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, (h.buyer_kind || ' ' || h.buyer_id::text)::text AS actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    WHERE u.added_by IS NULL
    UNION ALL
    SELECT c.changed_at AS at, 2::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, c.change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, c.actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    JOIN hold_changes c ON c.tenant_id = @tenant_id AND c.region = @region AND c.hold_id = u.hold_id
    WHERE u.added_by IS NULL
    UNION ALL
    SELECT h.ended_at AS at, 3::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity,
        CASE WHEN h.state = 'EXPIRED' THEN 'EXPIRED' ELSE 'RELEASED' END AS change, NULL::uuid AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, h.channel_id, ''::text AS actor,
        CASE WHEN h.state = 'EXPIRED' THEN 'the deadline passed' ELSE 'the payment was declined' END AS reason, ''::text AS note
    FROM u
    JOIN holds h ON h.tenant_id = @tenant_id AND h.region = @region AND h.id = u.hold_id
    WHERE h.state = 'EXPIRED' OR h.state = 'RELEASED' AND NOT EXISTS (
        SELECT 1
        FROM hold_changes c
        WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.hold_id = u.hold_id AND c.change = 'RELEASED')
    UNION ALL
    SELECT b.booked_at AS at, 4::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'SOLD'::text AS change, b.id AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, b.channel_id, (b.buyer_kind || ' ' || b.buyer_id::text)::text AS actor, ''::text AS reason, ''::text AS note
    FROM u
    JOIN bookings b ON b.tenant_id = @tenant_id AND b.region = @region AND b.hold_id = u.hold_id
    WHERE u.added_by IS NULL
    UNION ALL
    SELECT m.changed_at AS at, 4::bigint AS step, u.hold_id, u.ordinal, u.quantity, 'MOVED_IN'::text AS change, b.id AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, b.channel_id,
        CASE WHEN m.session_id IS NULL THEN 'KEY ' || m.key_id::text ELSE 'GUEST ' || m.session_id::text END AS actor, m.reason, ''::text AS note
    FROM u
    JOIN bookings b ON b.tenant_id = @tenant_id AND b.region = @region AND b.hold_id = u.hold_id
    JOIN stay_changes m ON m.tenant_id = @tenant_id AND m.region = @region AND m.id = u.added_by
    UNION ALL
    SELECT m.changed_at AS at, 6::bigint AS step, u.hold_id, u.ordinal, u.quantity,
        CASE WHEN m.kind = 'WALK' THEN 'WALKED' ELSE 'MOVED_OUT' END AS change, b.id AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, b.channel_id,
        CASE WHEN m.session_id IS NULL THEN 'KEY ' || m.key_id::text ELSE 'GUEST ' || m.session_id::text END AS actor, m.reason, ''::text AS note
    FROM u
    JOIN bookings b ON b.tenant_id = @tenant_id AND b.region = @region AND b.hold_id = u.hold_id
    JOIN booking_lines l ON l.tenant_id = @tenant_id AND l.region = @region AND l.booking_id = b.id AND l.ordinal = u.ordinal
    JOIN stay_changes m ON m.tenant_id = @tenant_id AND m.region = @region AND m.id = l.ended_by
    UNION ALL
    SELECT x.cancelled_at AS at, 5::bigint AS step, u.hold_id AS subject_id, u.ordinal, u.quantity, 'CANCELLED'::text AS change, b.id AS booking_id,
        NULL::uuid AS block_id, NULL::uuid AS allotment_id, b.channel_id,
        CASE WHEN x.session_id IS NULL THEN 'KEY ' || x.key_id::text ELSE 'GUEST ' || x.session_id::text END AS actor, x.reason, ''::text AS note
    FROM u
    JOIN bookings b ON b.tenant_id = @tenant_id AND b.region = @region AND b.hold_id = u.hold_id
    JOIN cancelled_lines k ON k.tenant_id = @tenant_id AND k.region = @region AND k.booking_id = b.id AND k.ordinal = u.ordinal
    JOIN cancellations x ON x.tenant_id = @tenant_id AND x.region = @region AND x.id = k.cancellation_id
    UNION ALL
    SELECT m.moved_at AS at, 8::bigint AS step, m.allotment_id AS subject_id, m.version AS ordinal, abs(m.units) AS quantity,
        CASE WHEN m.units > 0 THEN 'ALLOTTED' ELSE 'UNALLOTTED' END AS change, NULL::uuid AS booking_id, NULL::uuid AS block_id,
        m.allotment_id, a.channel_id, COALESCE('KEY ' || c.key_id::text, '') AS actor,
        CASE c.action WHEN 'CHANGED' THEN 'the allotment was changed' WHEN 'RELEASED' THEN 'the allotment was released'
            WHEN 'CANCELLED' THEN 'the allotment was cancelled' ELSE 'the allotment was made definite' END AS reason, ''::text AS note
    FROM m
    JOIN allotments a ON a.tenant_id = @tenant_id AND a.region = @region AND a.id = m.allotment_id
    LEFT JOIN allotment_changes c ON c.tenant_id = @tenant_id AND c.region = @region AND c.allotment_id = m.allotment_id AND c.version = m.version
    WHERE NOT m.by_time
    UNION ALL
    SELECT GREATEST(d.released_at, l.moved_at + interval '1 microsecond') AS at, 9::bigint AS step, d.allotment_id AS subject_id, 0::bigint AS ordinal,
        d.quantity, 'UNALLOTTED'::text AS change, NULL::uuid AS booking_id, NULL::uuid AS block_id, d.allotment_id, a.channel_id,
        ''::text AS actor, 'the time of its release came'::text AS reason, ''::text AS note
    FROM (
        SELECT m.allotment_id, -m.units AS quantity, m.moved_at AS released_at
        FROM m
        WHERE m.by_time
        UNION ALL
        SELECT p.allotment_id, p.quantity, p.release_at AS released_at
        FROM allotment_parts p
        WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.unit_id = @room_type_id AND p.night = @night::date
            AND p.state = 'OPEN' AND p.quantity > 0 AND p.release_at <= @as_of::timestamptz) AS d
    JOIN allotments a ON a.tenant_id = @tenant_id AND a.region = @region AND a.id = d.allotment_id
    LEFT JOIN (
        SELECT m.allotment_id, max(m.moved_at) AS moved_at
        FROM m
        WHERE NOT m.by_time
        GROUP BY m.allotment_id) AS l ON l.allotment_id = d.allotment_id) AS e
WHERE (e.at, e.subject_id, e.ordinal, e.step) < (@before_time::timestamptz, @before_subject::uuid, @before_ordinal::bigint, @before_step::bigint)
ORDER BY e.at DESC, e.subject_id DESC, e.ordinal DESC, e.step DESC
LIMIT @max_rows;

-- name: OccupancyOfProperty :many
-- Each planned night of each room type with what is taken of it, whatever bucket it came from.
SELECT p.night, p.room_type_id, p.physical, p.out_of_order, p.oversell, p.allotted, c.held, c.booked
FROM night_plans p
JOIN (
    SELECT n.room_type_id, n.night, sum(n.held)::bigint AS held, sum(n.booked)::bigint AS booked
    FROM night_counters n
    WHERE n.tenant_id = @tenant_id AND n.region = @region AND n.room_type_id = ANY(@room_type_ids::uuid[])
        AND n.night >= @first_night::date AND n.night <= @last_night::date
    GROUP BY n.room_type_id, n.night) AS c ON c.room_type_id = p.room_type_id AND c.night = p.night
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.room_type_id = ANY(@room_type_ids::uuid[])
    AND p.night >= @first_night::date AND p.night <= @last_night::date
ORDER BY p.night, p.room_type_id;

-- name: RevenueOfProperty :many
-- The price of the lines that still stand, by room type and night.
SELECT l.room_type_id::uuid AS room_type_id, l.night::date AS night, sum(l.amount_minor)::bigint AS amount_minor
FROM hold_lines h
JOIN bookings b ON b.tenant_id = h.tenant_id AND b.region = h.region AND b.hold_id = h.hold_id
JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id AND l.ordinal = h.ordinal
WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.room_type_id = ANY(@room_type_ids::uuid[])
    AND h.night >= @first_night::date AND h.night <= @last_night::date AND l.state NOT IN ('CANCELLED', 'CHANGED', 'WALKED')
GROUP BY l.room_type_id, l.night
ORDER BY l.night, l.room_type_id;

-- name: PickUpOfProperty :many
-- What was sold and what was cancelled of each night from one moment up to, but not at, another, and
-- what was on the books at both. What a change of a stay has added was sold then, and what it has ended,
-- cancelled.
SELECT h.room_type_id::uuid AS room_type_id, h.night::date AS night,
    sum(CASE WHEN COALESCE(ca.changed_at, b.booked_at) >= @since::timestamptz AND COALESCE(ca.changed_at, b.booked_at) < @until::timestamptz THEN l.quantity ELSE 0 END)::bigint AS sold,
    sum(CASE WHEN COALESCE(x.cancelled_at, ce.changed_at) >= @since::timestamptz AND COALESCE(x.cancelled_at, ce.changed_at) < @until::timestamptz THEN l.quantity ELSE 0 END)::bigint AS cancelled,
    sum(CASE WHEN COALESCE(ca.changed_at, b.booked_at) < @since::timestamptz AND (COALESCE(x.cancelled_at, ce.changed_at) IS NULL OR COALESCE(x.cancelled_at, ce.changed_at) >= @since::timestamptz) THEN l.quantity ELSE 0 END)::bigint AS rooms_before,
    sum(CASE WHEN COALESCE(ca.changed_at, b.booked_at) < @until::timestamptz AND (COALESCE(x.cancelled_at, ce.changed_at) IS NULL OR COALESCE(x.cancelled_at, ce.changed_at) >= @until::timestamptz) THEN l.quantity ELSE 0 END)::bigint AS rooms_after,
    sum(CASE WHEN COALESCE(ca.changed_at, b.booked_at) < @since::timestamptz AND (COALESCE(x.cancelled_at, ce.changed_at) IS NULL OR COALESCE(x.cancelled_at, ce.changed_at) >= @since::timestamptz) THEN l.amount_minor ELSE 0 END)::bigint AS revenue_before,
    sum(CASE WHEN COALESCE(ca.changed_at, b.booked_at) < @until::timestamptz AND (COALESCE(x.cancelled_at, ce.changed_at) IS NULL OR COALESCE(x.cancelled_at, ce.changed_at) >= @until::timestamptz) THEN l.amount_minor ELSE 0 END)::bigint AS revenue_after
FROM hold_lines h
JOIN bookings b ON b.tenant_id = h.tenant_id AND b.region = h.region AND b.hold_id = h.hold_id
JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id AND l.ordinal = h.ordinal
LEFT JOIN cancelled_lines k ON k.tenant_id = l.tenant_id AND k.region = l.region AND k.booking_id = l.booking_id AND k.ordinal = l.ordinal
LEFT JOIN cancellations x ON x.tenant_id = k.tenant_id AND x.region = k.region AND x.id = k.cancellation_id
LEFT JOIN stay_changes ca ON ca.tenant_id = l.tenant_id AND ca.region = l.region AND ca.id = l.added_by
LEFT JOIN stay_changes ce ON ce.tenant_id = l.tenant_id AND ce.region = l.region AND ce.id = l.ended_by
WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.room_type_id = ANY(@room_type_ids::uuid[])
    AND h.night >= @first_night::date AND h.night <= @last_night::date
GROUP BY h.room_type_id, h.night
ORDER BY h.night, h.room_type_id;

-- name: RoomTypesOfProperty :many
SELECT r.id, r.name
FROM room_types r
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.property_id = @property_id
ORDER BY r.name, r.id;

-- name: SeatsOfShowCount :one
SELECT ((SELECT count(*) FROM show_seats s WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id AND s.seat_id = @seat_id)
    + (SELECT count(*) FROM past_show_seats p WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.show_id = @show_id AND p.seat_id = @seat_id))::bigint AS seats;

-- name: PoolsCount :one
SELECT count(*) AS pools
FROM pools
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;
