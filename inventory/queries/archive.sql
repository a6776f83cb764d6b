-- name: ShowsToArchive :many
-- Shows whose sale and start are over since completed_before, of every place, the oldest first: so
-- that one whose moving was interrupted is among the first to be taken up again.
SELECT s.tenant_id, s.region, s.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT due.tenant_id, due.region, due.id, due.starts_at
    FROM shows due
    WHERE due.tenant_id = t.tenant_id AND due.region = t.region AND due.archived_at IS NULL
        AND due.starts_at <= @completed_before::timestamptz
        AND (due.sale_closes_at IS NULL OR due.sale_closes_at <= @completed_before::timestamptz)
    ORDER BY due.starts_at, due.id
    LIMIT @max_shows) AS s
ORDER BY s.starts_at, s.id
LIMIT @max_shows;

-- name: ShowStageLock :one
SELECT starts_at, sale_closes_at, completed_at, archived_at
FROM shows
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: ShowComplete :execrows
UPDATE shows
SET completed_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND completed_at IS NULL AND archived_at IS NULL;

-- name: ShowArchive :execrows
UPDATE shows
SET archived_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND completed_at IS NOT NULL AND archived_at IS NULL;

-- name: ShowUnitsHeld :one
-- Whether a live hold has units of the show.
SELECT (EXISTS (
        SELECT 1
        FROM show_seats s
        WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id AND s.state = 'HELD')
    OR EXISTS (
        SELECT 1
        FROM pools p
        JOIN pool_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.id
        WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.show_id = @show_id AND c.held > 0))::boolean AS held;

-- name: PoolsToMove :many
-- The pools of a show that still have counters among those that are sold from.
SELECT p.id
FROM pools p
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.show_id = @show_id
    AND EXISTS (SELECT 1 FROM pool_counters c WHERE c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.id)
ORDER BY p.id;

-- name: SeatsToMove :many
-- The next range of a show's seats, locked against a cancellation at the same moment. It begins where
-- the last one ended, and not among the remains of what was moved.
SELECT seat_id
FROM show_seats
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id >= @first_seat::uuid
ORDER BY seat_id
LIMIT @max_rows
FOR UPDATE;

-- name: PastSeatsInsert :execrows
INSERT INTO past_show_seats (tenant_id, region, show_id, seat_id, price_level_id, state, hold_id, claimable_at, block_channel_id, version, block_id)
SELECT s.tenant_id, s.region, s.show_id, s.seat_id, s.price_level_id, s.state, s.hold_id, s.claimable_at, s.block_channel_id,
    s.version, s.block_id
FROM show_seats s
WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id
    AND s.seat_id >= @first_seat::uuid AND s.seat_id <= @last_seat::uuid;

-- name: SeatsRemove :execrows
DELETE FROM show_seats
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id
    AND seat_id >= @first_seat::uuid AND seat_id <= @last_seat::uuid;

-- name: PastSeatsFree :execrows
UPDATE past_show_seats
SET state = 'AVAILABLE', hold_id = NULL, claimable_at = NULL, version = GREATEST(version + 1, EXTRACT(EPOCH FROM transaction_timestamp())::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = @from_state::text AND hold_id = ANY(@hold_ids::uuid[]);

-- name: PoolCountersToMove :many
SELECT bucket, shard
FROM pool_counters
WHERE tenant_id = @tenant_id AND region = @region AND pool_id = @pool_id
ORDER BY bucket, shard
LIMIT @max_rows
FOR UPDATE;

-- name: PastPoolCountersInsert :execrows
INSERT INTO past_pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, held, booked, ceiling)
SELECT c.tenant_id, c.region, c.pool_id, c.bucket, c.shard, c.sell_limit, c.held, c.booked, c.ceiling
FROM pool_counters c
WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.pool_id = @pool_id
    AND (c.bucket < @last_bucket::uuid OR (c.bucket = @last_bucket::uuid AND c.shard <= @last_shard::bigint));

-- name: PoolCountersRemove :execrows
DELETE FROM pool_counters
WHERE tenant_id = @tenant_id AND region = @region AND pool_id = @pool_id
    AND (bucket < @last_bucket::uuid OR (bucket = @last_bucket::uuid AND shard <= @last_shard::bigint));

-- name: PastPoolCounterMove :execrows
UPDATE past_pool_counters
SET held = held + sqlc.arg(held_delta)::bigint, booked = booked + sqlc.arg(booked_delta)::bigint,
    ceiling = GREATEST(sell_limit, held + sqlc.arg(held_delta)::bigint + booked + sqlc.arg(booked_delta)::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND pool_id = @pool_id AND bucket = @bucket AND shard = @shard;

-- name: ShowStageOfPool :one
SELECT s.completed_at, s.archived_at
FROM pools p
JOIN shows s ON s.tenant_id = p.tenant_id AND s.region = p.region AND s.id = p.show_id
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.id = @id;
