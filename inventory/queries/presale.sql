-- name: PresaleCodesForClaim :many
SELECT id, show_id, code, opens_at, closes_at
FROM presale_codes
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND code = ANY(@codes::text[]);

-- name: PresaleCodeOfHold :one
SELECT id, show_id, opens_at, closes_at
FROM presale_codes
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: PresaleCounterHold :execrows
UPDATE presale_counters
SET held = held + sqlc.arg(uses)::bigint
WHERE tenant_id = @tenant_id AND region = @region AND code_id = @code_id;

-- name: PresaleCounterMove :execrows
UPDATE presale_counters
SET held = held + sqlc.arg(held_delta)::bigint, booked = booked + sqlc.arg(booked_delta)::bigint,
    ceiling = GREATEST(sell_limit, held + sqlc.arg(held_delta)::bigint + booked + sqlc.arg(booked_delta)::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND code_id = @code_id;

-- name: PresaleCountersLock :many
SELECT code_id, ceiling, held, booked
FROM presale_counters
WHERE tenant_id = @tenant_id AND region = @region AND code_id = ANY(@code_ids::uuid[])
ORDER BY code_id
FOR UPDATE;

-- name: PresaleCodesInsert :execrows
INSERT INTO presale_codes (tenant_id, region, id, show_id, code, opens_at, closes_at)
SELECT @tenant_id::uuid, @region::text, c.id, @show_id::uuid, c.code, sqlc.narg(opens_at)::timestamptz, sqlc.narg(closes_at)::timestamptz
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@codes::text[]) AS code) AS c;

-- name: PresaleCountersInsert :execrows
INSERT INTO presale_counters (tenant_id, region, code_id, sell_limit, ceiling)
SELECT @tenant_id::uuid, @region::text, c.id, @uses::bigint, @uses::bigint
FROM (SELECT unnest(@ids::uuid[]) AS id) AS c;

-- name: PresaleCodeLock :one
SELECT id, show_id, code, opens_at, closes_at
FROM presale_codes
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: PresaleCodeSet :execrows
UPDATE presale_codes
SET opens_at = sqlc.narg(opens_at)::timestamptz, closes_at = sqlc.narg(closes_at)::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: PresaleCounterLimitSet :execrows
UPDATE presale_counters
SET sell_limit = @uses::bigint, ceiling = GREATEST(sqlc.arg(uses)::bigint, held + booked)
WHERE tenant_id = @tenant_id AND region = @region AND code_id = @code_id;

-- name: PresaleCodesByCode :many
SELECT c.id, c.show_id, c.code, c.opens_at, c.closes_at, n.sell_limit, n.held, n.booked
FROM presale_codes c
JOIN presale_counters n ON n.tenant_id = c.tenant_id AND n.region = c.region AND n.code_id = c.id
WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.show_id = @show_id AND c.code = ANY(@codes::text[])
ORDER BY c.code;

-- name: PresaleCodesPage :many
SELECT c.id, c.show_id, c.code, c.opens_at, c.closes_at, n.sell_limit, n.held, n.booked
FROM presale_codes c
JOIN presale_counters n ON n.tenant_id = c.tenant_id AND n.region = c.region AND n.code_id = c.id
WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.show_id = @show_id AND c.code > @after_code
ORDER BY c.code
LIMIT @max_rows;

-- name: UnitsOfGuests :many
-- What guests already have of shows: in live holds, and in sales whose lines still stand. OFFSET 0
-- keeps the planner from reading all lines of a show instead of the guests' own.
SELECT h.buyer_id, l.show_id::uuid AS show_id, sum(l.quantity)::bigint AS units
FROM holds h
CROSS JOIN LATERAL (
    SELECT own.show_id, own.ordinal, own.quantity
    FROM hold_lines own
    WHERE own.tenant_id = h.tenant_id AND own.region = h.region AND own.hold_id = h.id
    OFFSET 0) AS l
WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.buyer_id = ANY(@buyer_ids::uuid[]) AND h.buyer_kind = 'GUEST'
    AND l.show_id = ANY(@show_ids::uuid[])
    AND (h.state = 'CONFIRMED' OR h.state IN ('ACTIVE', 'PROCESSING') AND h.claimable_at > @now::timestamptz)
    AND NOT EXISTS (
        SELECT 1
        FROM bookings b
        JOIN booking_lines s ON s.tenant_id = b.tenant_id AND s.region = b.region AND s.booking_id = b.id
        WHERE b.tenant_id = h.tenant_id AND b.region = h.region AND b.hold_id = h.id AND s.ordinal = l.ordinal AND s.state = 'CANCELLED')
GROUP BY h.buyer_id, l.show_id;
