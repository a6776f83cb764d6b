-- name: BookingLinesEnd :execrows
UPDATE booking_lines
SET state = @to_state, ended_by = @ended_by::uuid
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = @booking_id AND ordinal = ANY(@ordinals::bigint[])
    AND state = 'BOOKED';

-- name: BookingLinesAdded :execrows
UPDATE booking_lines
SET added_by = @added_by::uuid
WHERE tenant_id = @tenant_id AND region = @region AND booking_id = @booking_id AND ordinal = ANY(@ordinals::bigint[]);

-- name: BookingChange :execrows
UPDATE bookings
SET total_minor = @total_minor, cancellation = @cancellation::jsonb, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND version = @version;

-- name: StayChangeInsert :exec
INSERT INTO stay_changes (tenant_id, region, id, booking_id, booking_version, item, kind, currency, added_minor, returned_minor, fee_minor,
    waived_minor, refund_minor, credited_minor, due_minor, due_state, reason, key_id, session_id, changed_at)
VALUES (@tenant_id, @region, @id, @booking_id, @booking_version, @item, @kind, @currency, @added_minor, @returned_minor, @fee_minor,
    @waived_minor, @refund_minor, @credited_minor, @due_minor, @due_state, @reason, @key_id, @session_id, @changed_at);

-- name: StayChangesOfBooking :many
SELECT c.id, c.booking_id, c.booking_version, c.item, c.kind, c.currency, c.added_minor, c.returned_minor, c.fee_minor, c.waived_minor,
    c.refund_minor, c.credited_minor, c.due_minor, c.due_state, c.settled_minor, c.dropped_minor, c.settle_method, c.settle_note, c.settled_at,
    c.reason, c.changed_at, k.property_id, k.room_type_id, k.night, k.to_room_type_id, k.nights, k.rooms, k.rate_difference_minor,
    k.lodging_minor, k.goodwill_minor, k.transport_minor, k.cost_minor, k.refund_minor AS given_minor
FROM stay_changes c
LEFT JOIN compensations k ON k.tenant_id = c.tenant_id AND k.region = c.region AND k.id = c.id
WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.booking_id = @booking_id
ORDER BY c.booking_version;

-- name: StayChangeBooking :one
SELECT booking_id
FROM stay_changes
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: StayChangeSettle :execrows
UPDATE stay_changes
SET settled_minor = settled_minor + sqlc.arg(settled)::bigint, dropped_minor = dropped_minor + sqlc.arg(dropped)::bigint,
    due_state = @due_state, settle_method = @settle_method, settle_note = @settle_note, settled_by = @settled_by,
    settled_at = @settled_at
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND due_state = 'DUE';

-- name: StayChangesDue :many
-- What is still to be paid, the longest due first.
SELECT c.id, c.booking_id, c.changed_at
FROM stay_changes c
WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.due_state = 'DUE'
    AND (c.changed_at, c.id) > (@after_time::timestamptz, @after_id::uuid)
ORDER BY c.changed_at, c.id
LIMIT @max_rows;

-- name: CompensationInsert :exec
INSERT INTO compensations (tenant_id, region, id, property_id, room_type_id, night, to_room_type_id, nights, rooms, rate_difference_minor,
    lodging_minor, goodwill_minor, transport_minor, cost_minor, refund_minor, currency)
VALUES (@tenant_id, @region, @id, @property_id, @room_type_id, @night, @to_room_type_id, @nights, @rooms, @rate_difference_minor,
    @lodging_minor, @goodwill_minor, @transport_minor, @cost_minor, @refund_minor, @currency);

-- name: CompensationsOfProperty :many
SELECT night, kind, sum(rooms)::bigint AS rooms, sum(nights * rooms)::bigint AS room_nights, count(*) AS stays,
    sum(rate_difference_minor)::bigint AS rate_difference_minor, sum(lodging_minor)::bigint AS lodging_minor,
    sum(goodwill_minor)::bigint AS goodwill_minor, sum(transport_minor)::bigint AS transport_minor, sum(cost_minor)::bigint AS cost_minor,
    sum(given_minor)::bigint AS refund_minor
FROM (
    SELECT k.night, c.kind, k.rooms, k.nights, k.rate_difference_minor, k.lodging_minor, k.goodwill_minor, k.transport_minor,
        k.cost_minor, k.refund_minor AS given_minor
    FROM compensations k
    JOIN stay_changes c ON c.tenant_id = k.tenant_id AND c.region = k.region AND c.id = k.id
    WHERE k.tenant_id = @tenant_id AND k.region = @region AND k.property_id = @property_id
        AND k.night >= @first_night::date AND k.night <= @last_night::date) AS p
GROUP BY night, kind
ORDER BY night, kind;

-- name: WalkTermsGet :one
SELECT w.night_minor, w.goodwill_minor, w.transport_minor, p.currency
FROM walk_terms w
JOIN properties p ON p.tenant_id = w.tenant_id AND p.id = w.property_id
WHERE w.tenant_id = @tenant_id AND w.property_id = @property_id;

-- name: WalkTermsSet :exec
INSERT INTO walk_terms (tenant_id, property_id, night_minor, goodwill_minor, transport_minor, updated_at)
VALUES (@tenant_id, @property_id, @night_minor, @goodwill_minor, @transport_minor, clock_timestamp())
ON CONFLICT (tenant_id, property_id) DO UPDATE
SET night_minor = excluded.night_minor, goodwill_minor = excluded.goodwill_minor, transport_minor = excluded.transport_minor,
    updated_at = excluded.updated_at;
