-- name: HoldLinesAdded :execrows
-- Says of lines that were just stored which change of the booking added them.
UPDATE hold_lines
SET added_by = @added_by::uuid
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = @hold_id AND ordinal = ANY(@ordinals::bigint[]);

-- name: RoomNights :many
-- What there is and what is taken of nights of room types, over all buckets, and how much the shared
-- bucket has left; with the rate. What holds have whose time is over is free.
SELECT p.room_type_id, p.night, p.physical, p.out_of_order, (c.held - COALESCE(d.due, 0))::bigint AS held, c.booked,
    (c.shared_free + COALESCE(d.due, 0))::bigint AS shared_free, r.amount_minor
FROM night_plans p
JOIN (
    SELECT n.room_type_id, n.night, sum(n.held)::bigint AS held, sum(n.booked)::bigint AS booked,
        sum(CASE WHEN n.bucket = '00000000-0000-0000-0000-000000000000'::uuid THEN n.ceiling - n.held - n.booked ELSE 0 END)::bigint AS shared_free
    FROM night_counters n
    WHERE n.tenant_id = @tenant_id AND n.region = @region AND n.room_type_id = ANY(@room_type_ids::uuid[])
        AND n.night >= @first_night::date AND n.night <= @last_night::date
    GROUP BY n.room_type_id, n.night) AS c ON c.room_type_id = p.room_type_id AND c.night = p.night
LEFT JOIN night_rates r ON r.tenant_id = p.tenant_id AND r.region = p.region AND r.room_type_id = p.room_type_id AND r.night = p.night
LEFT JOIN (
    SELECT l.room_type_id, l.night, sum(l.quantity)::bigint AS due
    FROM hold_lines l
    JOIN holds h ON h.tenant_id = l.tenant_id AND h.region = l.region AND h.id = l.hold_id
    WHERE l.tenant_id = @tenant_id AND l.region = @region AND l.room_type_id = ANY(@room_type_ids::uuid[])
        AND l.night >= @first_night::date AND l.night <= @last_night::date
        AND h.state IN ('ACTIVE', 'PROCESSING') AND h.claimable_at <= @now::timestamptz
    GROUP BY l.room_type_id, l.night) AS d ON d.room_type_id = p.room_type_id AND d.night = p.night
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.room_type_id = ANY(@room_type_ids::uuid[])
    AND p.night >= @first_night::date AND p.night <= @last_night::date
ORDER BY p.room_type_id, p.night;

-- name: RoomsNearby :many
-- The room types of a property, and of the tenant's other properties of the same region, city, country
-- and currency.
SELECT r.id, r.name, r.max_guests, r.property_id, p.name AS property_name
FROM properties h
JOIN properties p ON p.tenant_id = h.tenant_id AND p.region = h.region AND p.country = h.country AND p.city = h.city AND p.currency = h.currency
JOIN room_types r ON r.tenant_id = p.tenant_id AND r.region = p.region AND r.property_id = p.id
WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.id = @property_id
ORDER BY r.property_id, r.id
LIMIT @max_rows;
