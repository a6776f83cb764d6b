-- name: BookingsOfNight :many
-- Bookings with lines that still stand on a night of some room types, found through the holds that
-- they were: booking lines are written with every sale and have no index of their own.
SELECT b.region, b.id, b.hold_id, b.channel_id, b.buyer_kind, b.buyer_id, b.reference, b.partner_reference, b.contact_name, b.contact_email,
    b.state, b.total_minor, b.currency, b.version, b.booked_at, b.cancellation
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
            AND l.room_type_id = ANY(@room_type_ids::uuid[]) AND l.state <> 'CANCELLED')
ORDER BY b.booked_at DESC, b.id DESC
LIMIT @max_rows;
