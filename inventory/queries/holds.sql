-- name: Now :one
-- The database's clock, asked in a statement of its own: in the target list of a SELECT … FOR
-- UPDATE it would be read before the wait for the lock.
SELECT clock_timestamp()::timestamptz AS now;

-- name: HoldsInsert :execrows
-- Holds of one claim, or of several that were combined: they have the same terms and deadline.
INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline,
    claimable_at, extensions, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds,
    late_payment, on_decline, max_per_instrument, capture, total_minor, currency, presale_code_id, overrides_restrictions)
SELECT @tenant_id::uuid, @region::text, h.id, h.channel_id, h.buyer_kind, h.buyer_id, 'ACTIVE', @placed_at::timestamptz,
    @deadline::timestamptz, sqlc.arg(deadline)::timestamptz, sqlc.arg(deadline)::timestamptz, 0, @max_extensions::bigint, @hold_seconds::bigint,
    @max_hold_seconds::bigint, @processing_seconds::bigint, @grace_seconds::bigint, @late_payment::text, @on_decline::text,
    @max_per_instrument::bigint, @capture::text, h.total_minor, h.currency, NULLIF(h.presale_code_id, '00000000-0000-0000-0000-000000000000'::uuid),
    h.overrides_restrictions
FROM (
    SELECT unnest(@ids::uuid[]) AS id, unnest(@channel_ids::uuid[]) AS channel_id, unnest(@buyer_kinds::text[]) AS buyer_kind,
        unnest(@buyer_ids::uuid[]) AS buyer_id, unnest(@totals::bigint[]) AS total_minor, unnest(@currencies::text[]) AS currency,
        unnest(@presale_code_ids::uuid[]) AS presale_code_id, unnest(@overrides_restrictions::boolean[]) AS overrides_restrictions) AS h;

-- name: HoldLinesInsert :execrows
INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, seat_id, pool_id, shard,
    property_id, room_type_id, night, bucket, quantity, amount_minor, rate_plan_id)
SELECT @tenant_id::uuid, @region::text, l.hold_id, l.ordinal, l.item, l.kind,
    NULLIF(l.show_id, '00000000-0000-0000-0000-000000000000'::uuid),
    NULLIF(l.seat_id, '00000000-0000-0000-0000-000000000000'::uuid),
    NULLIF(l.pool_id, '00000000-0000-0000-0000-000000000000'::uuid),
    NULLIF(l.shard, -1),
    NULLIF(l.property_id, '00000000-0000-0000-0000-000000000000'::uuid),
    NULLIF(l.room_type_id, '00000000-0000-0000-0000-000000000000'::uuid),
    NULLIF(l.night, '0001-01-01'::date),
    l.bucket, l.quantity, l.amount_minor,
    NULLIF(l.rate_plan_id, '00000000-0000-0000-0000-000000000000'::uuid)
FROM (
    SELECT unnest(@hold_ids::uuid[]) AS hold_id, unnest(@ordinals::bigint[]) AS ordinal, unnest(@items::bigint[]) AS item,
        unnest(@kinds::text[]) AS kind, unnest(@show_ids::uuid[]) AS show_id, unnest(@seat_ids::uuid[]) AS seat_id,
        unnest(@pool_ids::uuid[]) AS pool_id, unnest(@shards::bigint[]) AS shard, unnest(@property_ids::uuid[]) AS property_id,
        unnest(@room_type_ids::uuid[]) AS room_type_id, unnest(@nights::date[]) AS night, unnest(@buckets::uuid[]) AS bucket,
        unnest(@quantities::bigint[]) AS quantity, unnest(@amounts::bigint[]) AS amount_minor,
        unnest(@rate_plan_ids::uuid[]) AS rate_plan_id) AS l;

-- name: HoldGet :one
SELECT id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline, claimable_at, ended_at,
    extensions, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline,
    max_per_instrument, capture, total_minor, currency, presale_code_id, overrides_restrictions, version
FROM holds
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: HoldLock :one
SELECT id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline, claimable_at, ended_at,
    extensions, max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline,
    max_per_instrument, capture, total_minor, currency, presale_code_id, overrides_restrictions, version
FROM holds
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: HoldsLock :many
SELECT id, state, claimable_at, presale_code_id
FROM holds
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[])
ORDER BY id
FOR UPDATE;

-- name: HoldLines :many
SELECT hold_id, ordinal, item, kind, show_id, seat_id, pool_id, shard, property_id, room_type_id, night, bucket,
    quantity, amount_minor, rate_plan_id
FROM hold_lines
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = ANY(@hold_ids::uuid[]);

-- name: HoldEnd :execrows
UPDATE holds
SET state = @to_state, ended_at = @now::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = ANY(@from_states::text[]);

-- name: HoldsExpire :execrows
UPDATE holds
SET state = 'EXPIRED', ended_at = @now::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[])
    AND state IN ('ACTIVE', 'PROCESSING') AND claimable_at <= @now::timestamptz;

-- name: HoldReschedule :execrows
UPDATE holds
SET state = @to_state, deadline = @deadline, lease_deadline = @lease_deadline, claimable_at = @claimable_at,
    extensions = @extensions, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = ANY(@from_states::text[]);

-- name: HoldsActiveOfGuests :many
SELECT buyer_id, count(*) AS holds
FROM holds
WHERE tenant_id = @tenant_id AND region = @region AND buyer_id = ANY(@buyer_ids::uuid[]) AND buyer_kind = 'GUEST'
    AND placed_at > @since::timestamptz AND state IN ('ACTIVE', 'PROCESSING') AND claimable_at > @now::timestamptz
GROUP BY buyer_id;

-- name: HoldsOfBuyersOnUnits :many
-- OFFSET 0 keeps the planner from reading all lines of a pool or night instead of the buyers' own.
SELECT h.id, h.buyer_kind, h.buyer_id, l.pool_id, l.room_type_id, l.night
FROM holds h
CROSS JOIN LATERAL (
    SELECT own.pool_id, own.room_type_id, own.night
    FROM hold_lines own
    WHERE own.tenant_id = h.tenant_id AND own.region = h.region AND own.hold_id = h.id
    OFFSET 0) AS l
WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.buyer_id = ANY(@buyer_ids::uuid[])
    AND h.placed_at > @since::timestamptz AND h.state IN ('ACTIVE', 'PROCESSING') AND h.claimable_at > @now::timestamptz
    AND (l.pool_id = ANY(@pool_ids::uuid[]) OR l.room_type_id = ANY(@room_type_ids::uuid[]))
LIMIT 1000;

-- name: HoldsDueOnCounters :many
-- OFFSET 0 keeps the planner from turning the question around and reading the lines of all holds.
SELECT h.id
FROM holds h
WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.state IN ('ACTIVE', 'PROCESSING')
    AND h.claimable_at <= @now::timestamptz
    AND (h.presale_code_id = ANY(@presale_code_ids::uuid[])
        OR EXISTS (
            SELECT 1
            FROM hold_lines l
            WHERE l.tenant_id = h.tenant_id AND l.region = h.region AND l.hold_id = h.id
                AND (l.pool_id = ANY(@pool_ids::uuid[])
                    OR (l.property_id = ANY(@property_ids::uuid[]) AND l.night >= @first_night::date AND l.night <= @last_night::date))
            OFFSET 0))
ORDER BY h.claimable_at
LIMIT @max_holds;

-- name: HoldsDue :many
-- The oldest of all places: whoever sells much must not keep the holds of others from being swept.
SELECT h.tenant_id, h.region, h.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT due.tenant_id, due.region, due.id, due.claimable_at
    FROM holds due
    WHERE due.tenant_id = t.tenant_id AND due.region = t.region AND due.state IN ('ACTIVE', 'PROCESSING')
        AND due.claimable_at <= @now::timestamptz
    ORDER BY due.claimable_at
    LIMIT @max_holds) AS h
ORDER BY h.claimable_at
LIMIT @max_holds;

-- name: SellingPlaces :many
-- Where stock can live: each tenant with the regions of its properties and venues.
SELECT tenant_id, region FROM properties
UNION
SELECT tenant_id, region FROM venues
ORDER BY tenant_id, region;

-- name: HoldBuyers :many
SELECT id, buyer_kind, buyer_id
FROM holds
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]);

-- name: HoldChannel :one
SELECT channel_id
FROM holds
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: HoldVersions :many
-- What those ask again and again who wait for a change of a hold.
SELECT id, version, (state IN ('ACTIVE', 'PROCESSING') AND claimable_at <= clock_timestamp())::boolean AS due
FROM holds
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]);

-- name: HoldChangeInsert :exec
INSERT INTO hold_changes (tenant_id, region, hold_id, version, change, actor, changed_at)
VALUES (@tenant_id, @region, @hold_id, @version, @change, @actor, @changed_at);
