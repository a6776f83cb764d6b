-- name: CancellationInsert :exec
INSERT INTO cancellations (tenant_id, region, id, booking_id, booking_version, currency, fee_minor, refund_minor, credited_minor,
    waived_minor, reason, key_id, session_id, cancelled_at)
VALUES (@tenant_id, @region, @id, @booking_id, @booking_version, @currency, @fee_minor, @refund_minor, @credited_minor,
    @waived_minor, @reason, @key_id, @session_id, @cancelled_at);

-- name: CancelledLinesInsert :execrows
INSERT INTO cancelled_lines (tenant_id, region, booking_id, ordinal, cancellation_id, amount_minor, tax_minor, fee_minor, fee_tax_minor)
SELECT @tenant_id::uuid, @region::text, @booking_id::uuid, l.ordinal, @cancellation_id::uuid, l.amount_minor, l.tax_minor,
    l.fee_minor, l.fee_tax_minor
FROM (
    SELECT unnest(@ordinals::bigint[]) AS ordinal, unnest(@amount_minors::bigint[]) AS amount_minor,
        unnest(@tax_minors::bigint[]) AS tax_minor, unnest(@fee_minors::bigint[]) AS fee_minor,
        unnest(@fee_tax_minors::bigint[]) AS fee_tax_minor) AS l;

-- name: CancellationGet :one
SELECT id, booking_id, booking_version, currency, fee_minor, refund_minor, credited_minor, waived_minor, reason, cancelled_at
FROM cancellations
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: CancellationsOfBooking :many
SELECT id, booking_id, booking_version, currency, fee_minor, refund_minor, credited_minor, waived_minor, reason, cancelled_at
FROM cancellations
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = @booking_id
ORDER BY booking_version;

-- name: RefundedByKey :one
-- What one key or member has given back on a booking outside cancellations.
SELECT COALESCE(sum(amount_minor), 0)::bigint AS given_minor
FROM booking_refunds
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = @booking_id AND key_id = @key_id;

-- name: BookingRefundInsert :exec
INSERT INTO booking_refunds (tenant_id, region, id, booking_id, attempt_id, amount_minor, currency, reason, key_id, decided_at)
VALUES (@tenant_id, @region, @id, @booking_id, @attempt_id, @amount_minor, @currency, @reason, @key_id, @decided_at);

-- name: BookingsOfHolds :many
SELECT id, hold_id
FROM bookings
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = ANY(@hold_ids::uuid[]);
