-- name: SeatsLock :many
SELECT seat_id, price_level_id, state, hold_id, claimable_at, block_channel_id
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
UPDATE show_seats
SET state = 'HELD', hold_id = @hold_id::uuid, claimable_at = @claimable_at::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND state = 'AVAILABLE';

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
SELECT seat_id, price_level_id, state, (state = 'HELD' AND claimable_at <= sqlc.arg(as_of)::timestamptz)::boolean AS due, block_channel_id
FROM show_seats
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id
ORDER BY seat_id;
