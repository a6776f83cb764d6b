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

-- name: SeatsHold :execrows
-- Seats of one show for one hold or several; each row was locked before.
UPDATE show_seats
SET state = 'HELD', hold_id = w.hold_id, claimable_at = @claimable_at::timestamptz
FROM (SELECT unnest(@seat_ids::uuid[]) AS seat_id, unnest(@hold_ids::uuid[]) AS hold_id) AS w
WHERE show_seats.tenant_id = @tenant_id AND show_seats.region = @region AND show_seats.show_id = @show_id
    AND show_seats.seat_id = w.seat_id AND show_seats.state = 'AVAILABLE';

-- name: SeatsReschedule :execrows
UPDATE show_seats
SET claimable_at = @claimable_at::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = 'HELD' AND hold_id = @hold_id::uuid;

-- name: SeatsBook :execrows
UPDATE show_seats
SET state = 'BOOKED', claimable_at = NULL
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = 'HELD' AND hold_id = @hold_id::uuid;

-- name: SeatsFree :execrows
UPDATE show_seats
SET state = 'AVAILABLE', hold_id = NULL, claimable_at = NULL
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = @from_state::text AND hold_id = ANY(@hold_ids::uuid[]);

-- name: SeatsInsert :execrows
INSERT INTO show_seats (tenant_id, region, show_id, seat_id, price_level_id)
SELECT @tenant_id::uuid, @region::text, @show_id::uuid, s.seat_id, s.price_level_id
FROM (SELECT unnest(@seat_ids::uuid[]) AS seat_id, unnest(@price_level_ids::uuid[]) AS price_level_id) AS s;

-- name: SeatStatuses :many
-- The seats of a completed show stand in the past table, while they are being moved in both.
SELECT u.seat_id, u.price_level_id, u.state, (u.state = 'HELD' AND u.claimable_at <= sqlc.arg(as_of)::timestamptz)::boolean AS due, u.block_id
FROM (
    SELECT s.seat_id, s.price_level_id, s.state, s.claimable_at, s.block_id
    FROM show_seats s
    WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id
    UNION ALL
    SELECT p.seat_id, p.price_level_id, p.state, p.claimable_at, p.block_id
    FROM past_show_seats p
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.show_id = @show_id) AS u
ORDER BY u.seat_id;
