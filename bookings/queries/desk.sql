-- name: StaysOnDate :many
-- Stays of a property that arrive on a date, leave on it, or sleep in on its night, found through the holds
-- that they were. night is the first night of who arrives, the last of who leaves. Who sleeps in has come,
-- and not gone before the night was over.
SELECT DISTINCT b.reference, b.id, l.item
FROM hold_lines h
JOIN bookings b ON b.tenant_id = h.tenant_id AND b.region = h.region AND b.hold_id = h.hold_id
JOIN booking_lines l ON l.tenant_id = b.tenant_id AND l.region = b.region AND l.booking_id = b.id AND l.night = @night::date
    AND l.property_id = @property_id AND l.state IN ('BOOKED', 'NO_SHOW')
WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.room_type_id = ANY(@room_type_ids::uuid[]) AND h.night = @night::date
    AND (b.reference > @after_reference::text OR (b.reference = @after_reference::text AND l.item > @after_item::bigint))
    AND (@kind::text <> 'ARRIVALS' OR NOT EXISTS (
        SELECT 1
        FROM booking_lines e
        WHERE e.tenant_id = l.tenant_id AND e.region = l.region AND e.booking_id = l.booking_id AND e.item = l.item
            AND e.night < @night::date AND e.state IN ('BOOKED', 'NO_SHOW')))
    AND (@kind::text <> 'DEPARTURES' OR NOT EXISTS (
        SELECT 1
        FROM booking_lines e
        WHERE e.tenant_id = l.tenant_id AND e.region = l.region AND e.booking_id = l.booking_id AND e.item = l.item
            AND e.night > @night::date AND e.state IN ('BOOKED', 'NO_SHOW')))
    AND (@kind::text <> 'IN_HOUSE' OR (l.state = 'BOOKED' AND EXISTS (
        SELECT 1
        FROM checked_in_rooms c
        WHERE c.tenant_id = l.tenant_id AND c.region = l.region AND c.booking_id = l.booking_id AND c.item = l.item
            AND (c.state = 'CHECKED_IN' OR c.checked_out_at >= @night_over::timestamptz))))
ORDER BY b.reference, l.item
LIMIT @max_rows;

-- name: BookingsByID :many
SELECT region, id, hold_id, channel_id, buyer_kind, buyer_id, reference, partner_reference, contact_name, contact_email,
    state, total_minor, currency, version, booked_at, cancellation, commission_basis_points
FROM bookings
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]);

-- name: RoomNightsOfBookings :many
SELECT n.booking_id, n.ordinal, n.slot, n.night, n.room_id, r.number, r.room_type_id
FROM room_nights n
JOIN physical_rooms r ON r.tenant_id = n.tenant_id AND r.region = n.region AND r.id = n.room_id
WHERE n.tenant_id = @tenant_id AND n.region = @region AND n.booking_id = ANY(@booking_ids::uuid[])
ORDER BY n.booking_id, n.slot, n.night;

-- name: CheckedInOfBookings :many
SELECT booking_id, item, slot, state, checked_in_at, checked_out_at
FROM checked_in_rooms
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = ANY(@booking_ids::uuid[])
ORDER BY booking_id, item, slot;

-- name: RoomNightsBetween :many
-- What some rooms are taken for.
SELECT room_id, night, (period_id IS NOT NULL)::boolean AS out_of_order, booking_id
FROM room_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_id = ANY(@room_ids::uuid[])
    AND night >= @first_night::date AND night <= @last_night::date
ORDER BY room_id, night;

-- name: GuestNightsInsert :execrows
INSERT INTO room_nights (tenant_id, region, room_id, night, room_type_id, booking_id, ordinal, slot)
SELECT @tenant_id::uuid, @region::text, n.room_id, n.night, n.room_type_id, @booking_id::uuid, n.ordinal, @slot::bigint
FROM (
    SELECT unnest(@room_ids::uuid[]) AS room_id, unnest(@room_type_ids::uuid[]) AS room_type_id,
        unnest(@nights::date[]) AS night, unnest(@ordinals::bigint[]) AS ordinal) AS n;

-- name: GuestNightsDelete :execrows
-- Frees rooms of some lines, of one of the rooms of the stay or, with a negative slot, of all.
DELETE FROM room_nights
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = @booking_id AND ordinal = ANY(@ordinals::bigint[])
    AND (@slot::bigint < 0 OR slot = @slot::bigint);

-- name: CheckIn :execrows
INSERT INTO checked_in_rooms (tenant_id, region, booking_id, item, slot, state, checked_in_at)
SELECT @tenant_id::uuid, @region::text, @booking_id::uuid, @item::bigint, s.slot, 'CHECKED_IN', @now::timestamptz
FROM (SELECT unnest(@slots::bigint[]) AS slot) AS s;

-- name: CheckOut :execrows
UPDATE checked_in_rooms
SET state = 'CHECKED_OUT', checked_out_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = @booking_id AND item = @item AND slot = ANY(@slots::bigint[])
    AND state = 'CHECKED_IN';

-- name: NoShowReleaseInsert :exec
INSERT INTO no_show_releases (tenant_id, region, id, booking_id, booking_version, cancellation_id, currency, fee_minor, refund_minor,
    credited_minor, waived_minor, reason, released_at)
VALUES (@tenant_id, @region, @id, @booking_id, @booking_version, @cancellation_id, @currency, @fee_minor, @refund_minor,
    @credited_minor, @waived_minor, @reason, @released_at);

-- name: NoShowLinesInsert :execrows
INSERT INTO no_show_lines (tenant_id, region, booking_id, ordinal, release_id, amount_minor, fee_minor)
SELECT @tenant_id::uuid, @region::text, @booking_id::uuid, l.ordinal, @release_id::uuid, l.amount_minor, l.fee_minor
FROM (
    SELECT unnest(@ordinals::bigint[]) AS ordinal, unnest(@amount_minors::bigint[]) AS amount_minor,
        unnest(@fee_minors::bigint[]) AS fee_minor) AS l;

-- name: NoShowReleaseGet :one
SELECT id, booking_id, booking_version, cancellation_id, currency, fee_minor, refund_minor, credited_minor, waived_minor, reason, released_at
FROM no_show_releases
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: NoShowLinesOfBooking :many
SELECT ordinal, release_id, amount_minor, fee_minor
FROM no_show_lines
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = @booking_id
ORDER BY ordinal;

-- name: GuestNightsDisplace :execrows
-- Takes a room from a booking on some nights.
DELETE FROM room_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_id = @room_id AND booking_id = @booking_id
    AND night >= @first_night::date AND night <= @last_night::date;
