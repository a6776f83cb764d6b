-- name: SeatsLock :many
SELECT seat_id, price_level_id, state, hold_id, claimable_at, block_id
FROM show_seats
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
ORDER BY seat_id
FOR UPDATE;

-- name: SeatsDueHolds :many
SELECT DISTINCT hold_id::uuid AS hold_id
FROM show_seats
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = 'HELD' AND claimable_at <= @now::timestamptz;

-- A write of a seat raises its version: by one, or to the time in seconds, so that what was written lately
-- is found without reading the rest.

-- name: SeatsHold :execrows
-- Seats of one show for one hold or several; each row was locked before.
UPDATE show_seats
SET state = 'HELD', hold_id = w.hold_id, claimable_at = @claimable_at::timestamptz, version = GREATEST(show_seats.version + 1, EXTRACT(EPOCH FROM transaction_timestamp())::bigint)
FROM (SELECT unnest(@seat_ids::uuid[]) AS seat_id, unnest(@hold_ids::uuid[]) AS hold_id) AS w
WHERE show_seats.tenant_id = @tenant_id AND show_seats.region = @region AND show_seats.show_id = @show_id
    AND show_seats.seat_id = w.seat_id AND show_seats.state = 'AVAILABLE';

-- name: SeatsReschedule :execrows
UPDATE show_seats
SET claimable_at = @claimable_at::timestamptz, version = GREATEST(version + 1, EXTRACT(EPOCH FROM transaction_timestamp())::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = 'HELD' AND hold_id = @hold_id::uuid;

-- name: SeatsBook :execrows
UPDATE show_seats
SET state = 'BOOKED', claimable_at = NULL, version = GREATEST(version + 1, EXTRACT(EPOCH FROM transaction_timestamp())::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = 'HELD' AND hold_id = @hold_id::uuid;

-- name: SeatsFree :execrows
UPDATE show_seats
SET state = 'AVAILABLE', hold_id = NULL, claimable_at = NULL, version = GREATEST(version + 1, EXTRACT(EPOCH FROM transaction_timestamp())::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = @from_state::text AND hold_id = ANY(@hold_ids::uuid[]);

-- name: SeatsInsert :execrows
INSERT INTO show_seats (tenant_id, region, show_id, seat_id, price_level_id)
SELECT @tenant_id::uuid, @region::text, @show_id::uuid, s.seat_id, s.price_level_id
FROM (SELECT unnest(@seat_ids::uuid[]) AS seat_id, unnest(@price_level_ids::uuid[]) AS price_level_id) AS s;

-- name: SeatStatuses :many
-- The seats of a completed show stand in the past table, while they are being moved in both.
SELECT u.seat_id, u.price_level_id, u.state, u.claimable_at, u.block_id, u.version
FROM (
    SELECT s.seat_id, s.price_level_id, s.state, s.claimable_at, s.block_id, s.version
    FROM show_seats s
    WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id
    UNION ALL
    SELECT p.seat_id, p.price_level_id, p.state, p.claimable_at, p.block_id, p.version
    FROM past_show_seats p
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.show_id = @show_id) AS u
ORDER BY u.seat_id;

-- name: SeatVersions :one
-- The version of a show's map without the map: of all its seats, wherever they stand, and of its blocks.
SELECT count(*) AS seats, (COALESCE(sum(u.version), 0) + (
    SELECT COALESCE(sum(k.version), 0) FROM seat_blocks k
    WHERE k.tenant_id = @tenant_id AND k.region = @region AND k.show_id = @show_id))::bigint AS sum
FROM (
    SELECT s.version
    FROM show_seats s
    WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id
    UNION ALL
    SELECT p.version
    FROM past_show_seats p
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.show_id = @show_id) AS u;

-- name: SeatsWrittenSince :many
-- The seats of a show on sale that were written at an instant in seconds or later, and perhaps others.
SELECT s.seat_id, s.price_level_id, s.state, s.claimable_at, s.block_id, s.version
FROM show_seats s
WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id AND s.version >= @since::bigint
ORDER BY s.seat_id;
