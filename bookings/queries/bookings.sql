-- name: CheckoutSet :exec
INSERT INTO checkouts (tenant_id, region, hold_id, contact_name, contact_email, partner_reference)
VALUES (@tenant_id, @region, @hold_id, @contact_name, @contact_email, @partner_reference)
ON CONFLICT (tenant_id, region, hold_id) DO UPDATE
SET contact_name = excluded.contact_name, contact_email = excluded.contact_email, partner_reference = excluded.partner_reference;

-- name: CheckoutGet :one
SELECT contact_name, contact_email, partner_reference
FROM checkouts
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = @hold_id;

-- name: BookingInsert :exec
INSERT INTO bookings (tenant_id, region, id, hold_id, channel_id, buyer_kind, buyer_id, reference, partner_reference,
    contact_name, contact_email, state, total_minor, currency, booked_at, cancellation, commission_basis_points)
VALUES (@tenant_id, @region, @id, @hold_id, @channel_id, @buyer_kind, @buyer_id, @reference, @partner_reference,
    @contact_name, @contact_email, 'BOOKED', @total_minor, @currency, @booked_at, @cancellation::jsonb,
    COALESCE((SELECT s.commission_basis_points FROM channel_sales s WHERE s.tenant_id = @tenant_id AND s.channel_id = @channel_id), 0));

-- name: BookingLinesInsert :execrows
-- The hold's lines become the booking's, each with the tax in its price, in one statement.
INSERT INTO booking_lines (tenant_id, region, booking_id, ordinal, item, kind, show_id, seat_id, pool_id, shard,
    property_id, room_type_id, night, bucket, quantity, amount_minor, state, tax_basis_points, tax_minor, rate_plan_id)
SELECT l.tenant_id, l.region, @booking_id::uuid, l.ordinal, l.item, l.kind, l.show_id, l.seat_id, l.pool_id, l.shard,
    l.property_id, l.room_type_id, l.night, l.bucket, l.quantity, l.amount_minor, 'BOOKED', t.tax_basis_points, t.tax_minor, l.rate_plan_id
FROM hold_lines l
JOIN (
    SELECT unnest(@ordinals::bigint[]) AS ordinal, unnest(@tax_basis_points::bigint[]) AS tax_basis_points,
        unnest(@tax_minors::bigint[]) AS tax_minor) AS t ON t.ordinal = l.ordinal
WHERE l.tenant_id = @tenant_id AND l.region = @region AND l.hold_id = @hold_id;

-- name: BookingGet :one
SELECT region, id, hold_id, channel_id, buyer_kind, buyer_id, reference, partner_reference, contact_name, contact_email,
    state, total_minor, currency, version, booked_at, cancellation, commission_basis_points
FROM bookings
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: BookingByReference :one
SELECT id
FROM bookings
WHERE tenant_id = @tenant_id AND region = @region AND reference = @reference;

-- name: BookingByHold :one
SELECT region, id, hold_id, channel_id, buyer_kind, buyer_id, reference, partner_reference, contact_name, contact_email,
    state, total_minor, currency, version, booked_at, cancellation, commission_basis_points
FROM bookings
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = @hold_id;

-- name: BookingLock :one
SELECT region, id, hold_id, channel_id, buyer_kind, buyer_id, reference, partner_reference, contact_name, contact_email,
    state, total_minor, currency, version, booked_at, cancellation, commission_basis_points
FROM bookings
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: BookingsPage :many
SELECT region, id, hold_id, channel_id, buyer_kind, buyer_id, reference, partner_reference, contact_name, contact_email,
    state, total_minor, currency, version, booked_at, cancellation, commission_basis_points
FROM bookings
WHERE tenant_id = @tenant_id AND region = @region
    AND (booked_at < @before::timestamptz OR (booked_at = @before::timestamptz AND id < @before_id::uuid))
    AND (NOT @one_channel::boolean OR channel_id = @channel_id::uuid)
ORDER BY booked_at DESC, id DESC
LIMIT @max_rows;

-- name: BookingsOfBuyerPage :many
SELECT region, id, hold_id, channel_id, buyer_kind, buyer_id, reference, partner_reference, contact_name, contact_email,
    state, total_minor, currency, version, booked_at, cancellation, commission_basis_points
FROM bookings
WHERE tenant_id = @tenant_id AND region = @region AND buyer_id = @buyer_id AND buyer_kind = @buyer_kind
    AND (booked_at < @before::timestamptz OR (booked_at = @before::timestamptz AND id < @before_id::uuid))
ORDER BY booked_at DESC, id DESC
LIMIT @max_rows;

-- name: BookingLines :many
SELECT l.booking_id, l.ordinal, l.item, l.kind, l.show_id, l.seat_id, l.pool_id, l.shard, l.property_id, l.room_type_id, l.night,
    l.bucket, l.quantity, l.amount_minor, l.rate_plan_id, l.state, l.tax_basis_points, l.tax_minor, c.cancellation_id,
    COALESCE(c.fee_minor, 0)::bigint AS fee_minor, COALESCE(c.fee_tax_minor, 0)::bigint AS fee_tax_minor
FROM booking_lines l
LEFT JOIN cancelled_lines c ON c.tenant_id = l.tenant_id AND c.region = l.region AND c.booking_id = l.booking_id AND c.ordinal = l.ordinal
WHERE l.tenant_id = @tenant_id AND l.region = @region AND l.booking_id = ANY(@booking_ids::uuid[]);

-- name: BookingLinesMove :execrows
UPDATE booking_lines
SET state = @to_state
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = @booking_id AND ordinal = ANY(@ordinals::bigint[])
    AND state = ANY(@from_states::text[]);

-- name: BookingTouch :execrows
UPDATE bookings
SET state = @state, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND version = @version;

-- name: TenantPayments :one
SELECT payment_provider, payment_account
FROM tenants
WHERE id = @tenant_id;

-- name: SellingPlaces :many
SELECT tenant_id, region FROM properties
UNION
SELECT tenant_id, region FROM venues
ORDER BY tenant_id, region;
