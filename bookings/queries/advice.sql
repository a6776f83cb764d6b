-- name: AdviceHistory :many
-- The stays of a hotel that are over, one row for each item of a booking: its rooms of one type. Nights
-- that were cancelled from a stay are none of it, unless all were; whether its guests came, and how many
-- rooms they took, the first night says.
SELECT s.booking_id, s.item, s.room_type_id, s.channel_id, s.booked_at, min(s.arrival)::date AS arrival,
    count(DISTINCT s.night)::bigint AS nights, sum(CASE WHEN s.night = s.arrival THEN s.quantity ELSE 0 END)::bigint AS rooms,
    sum(s.quantity)::bigint AS room_nights, sum(s.amount_minor)::bigint AS amount_minor,
    bool_or(s.night = s.arrival AND s.state IN ('BOOKED', 'WALKED'))::boolean AS came,
    bool_or(s.night = s.arrival AND s.state = 'NO_SHOW')::boolean AS no_show,
    coalesce(max(s.cancelled_at), s.booked_at)::timestamptz AS cancelled_at
FROM (
    SELECT t.booking_id, t.item, t.room_type_id, t.channel_id, t.booked_at, t.night, t.quantity, t.amount_minor, t.state, t.cancelled_at,
        min(t.night) OVER (PARTITION BY t.booking_id, t.item) AS arrival
    FROM (
        SELECT l.booking_id, l.item, l.room_type_id, b.channel_id, b.booked_at, l.night, l.quantity, l.amount_minor, l.state, c.cancelled_at,
            bool_and(l.state = 'CANCELLED') OVER (PARTITION BY l.booking_id, l.item) AS gone
        FROM bookings b
        JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id
        LEFT JOIN cancelled_lines x ON x.tenant_id = l.tenant_id AND x.region = l.region AND x.booking_id = l.booking_id AND x.ordinal = l.ordinal
        LEFT JOIN cancellations c ON c.tenant_id = x.tenant_id AND c.region = x.region AND c.id = x.cancellation_id
        WHERE b.tenant_id = @tenant_id AND b.region = @region AND l.property_id = @property_id
            AND b.hold_id IN (
                SELECT h.hold_id FROM hold_lines h
                WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.room_type_id = ANY(@room_type_ids::uuid[])
                    AND h.night >= @first_night::date AND h.night <= @last_night::date
            )
    ) t
    WHERE t.gone OR t.state <> 'CANCELLED'
) s
GROUP BY s.booking_id, s.item, s.room_type_id, s.channel_id, s.booked_at
HAVING max(s.night) <= @last_night::date
ORDER BY min(s.night), s.booking_id, s.item
LIMIT @row_limit::bigint;

-- name: AdviceOnBooks :many
-- What is sold of each night of a room type, and to stays that arrive when.
SELECT n.night, n.channel_id, n.booked_at, n.quantity, (
    SELECT min(a.night) FROM booking_lines a
    WHERE a.tenant_id = @tenant_id AND a.region = @region AND a.booking_id = n.booking_id AND a.item = n.item
)::date AS arrival
FROM (
    SELECT l.night, l.booking_id, l.item, b.channel_id, b.booked_at, sum(l.quantity)::bigint AS quantity
    FROM bookings b
    JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id
    WHERE b.tenant_id = @tenant_id AND b.region = @region AND l.room_type_id = @room_type_id AND l.state = 'BOOKED'
        AND l.night >= @first_night::date AND l.night <= @last_night::date
        AND b.hold_id IN (
            SELECT h.hold_id FROM hold_lines h
            WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.room_type_id = @room_type_id
                AND h.night >= @first_night::date AND h.night <= @last_night::date
        )
    GROUP BY l.night, l.booking_id, l.item, b.channel_id, b.booked_at
) n
ORDER BY n.night, n.booked_at, n.booking_id, n.item
LIMIT @row_limit::bigint;

-- name: AdvicePlans :many
SELECT p.room_type_id, p.night, (p.physical - p.out_of_order)::bigint AS rooms, p.oversell, r.amount_minor
FROM night_plans p
LEFT JOIN night_rates r ON r.tenant_id = p.tenant_id AND r.region = p.region AND r.room_type_id = p.room_type_id AND r.night = p.night
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.room_type_id = ANY(@room_type_ids::uuid[])
    AND p.night >= @first_night::date AND p.night <= @last_night::date
ORDER BY p.room_type_id, p.night;

-- name: AdvicePlace :one
-- The hotel of a room type, its zone and money, and its room types.
SELECT p.id AS property_id, p.time_zone, p.currency,
    ARRAY(SELECT t.id FROM room_types t WHERE t.tenant_id = p.tenant_id AND t.region = @region AND t.property_id = p.id ORDER BY t.id)::uuid[] AS room_type_ids
FROM room_types r
JOIN properties p ON p.tenant_id = r.tenant_id AND p.id = r.property_id
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.id = @room_type_id;
