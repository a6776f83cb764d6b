-- name: BlocksForClaim :many
-- What a claim must know of the blocks that its seats are in: read, never written.
SELECT id, channel_id, state, release_at
FROM seat_blocks
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]);

-- name: BlocksOfShowInForce :many
SELECT id, channel_id
FROM seat_blocks
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND state = 'ACTIVE'
    AND (release_at IS NULL OR release_at > sqlc.arg(as_of)::timestamptz);

-- name: BlocksForMap :many
-- Every block of a show in the order in which they were made, the released ones too: seats may still
-- point to them.
SELECT id, channel_id, state, release_at, version
FROM seat_blocks
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id
ORDER BY created_at, id;

-- name: BlocksCount :one
SELECT COALESCE(sum(CASE WHEN state = 'ACTIVE' THEN 1 ELSE 0 END), 0)::bigint AS standing, count(*) AS made
FROM seat_blocks
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id;

-- name: ShowForBlock :one
-- The show's row is locked, so that the changes of one show's blocks follow one another.
SELECT id, venue_id, chart_id, completed_at
FROM shows
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: ShowChart :one
SELECT venue_id, chart_id
FROM shows
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: ChannelForBlock :one
SELECT id
FROM channels
WHERE tenant_id = @tenant_id AND id = @id;

-- name: BlockInsert :exec
INSERT INTO seat_blocks (tenant_id, region, id, show_id, channel_id, reason, note, release_at, created_at)
VALUES (@tenant_id, @region, @id, @show_id, @channel_id, @reason, @note, @release_at, @created_at);

-- name: BlocksLock :many
SELECT id, show_id, channel_id, reason, note, state, release_at, released_at, released_by, version, created_at
FROM seat_blocks
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[])
ORDER BY id
FOR UPDATE;

-- name: BlockSet :execrows
UPDATE seat_blocks
SET reason = @reason, note = @note, release_at = @release_at, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'ACTIVE';

-- name: BlockTouch :execrows
UPDATE seat_blocks
SET version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]) AND state = 'ACTIVE';

-- name: BlockRelease :execrows
UPDATE seat_blocks
SET state = 'RELEASED', released_at = @released_at, released_by = @released_by, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'ACTIVE';

-- name: BlockClear :execrows
UPDATE seat_blocks
SET cleared_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'RELEASED' AND cleared_at IS NULL;

-- name: BlocksByID :many
SELECT id, show_id, channel_id, reason, note, state, release_at, released_at, released_by, version, created_at
FROM seat_blocks
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]);

-- name: BlocksPage :many
SELECT id, show_id, channel_id, reason, note, state, release_at, released_at, released_by, version, created_at
FROM seat_blocks
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id
    AND (created_at > @after_created_at::timestamptz OR (created_at = @after_created_at::timestamptz AND id > @after_id::uuid))
    AND (NOT @one_channel::boolean OR channel_id = @channel_id::uuid)
ORDER BY created_at, id
LIMIT @max_rows;

-- name: BlockCounts :many
-- The seats of blocks of one show by what may be done with them. Those of a show that is over stand in
-- the past table.
SELECT u.block_id::uuid AS block_id,
    sum(CASE WHEN u.state = 'AVAILABLE' OR (u.state = 'HELD' AND u.claimable_at <= sqlc.arg(as_of)::timestamptz) THEN 1 ELSE 0 END)::bigint AS free,
    sum(CASE WHEN u.state = 'HELD' AND u.claimable_at > sqlc.arg(as_of)::timestamptz THEN 1 ELSE 0 END)::bigint AS held,
    sum(CASE WHEN u.state = 'BOOKED' THEN 1 ELSE 0 END)::bigint AS sold
FROM (
    SELECT s.block_id, s.state, s.claimable_at
    FROM show_seats s
    WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id AND s.block_id = ANY(@block_ids::uuid[])
    UNION ALL
    SELECT p.block_id, p.state, p.claimable_at
    FROM past_show_seats p
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.show_id = @show_id AND p.block_id = ANY(@block_ids::uuid[])) AS u
GROUP BY u.block_id;

-- name: BlockSeatsPage :many
SELECT u.seat_id, u.price_level_id, u.state, (u.state = 'HELD' AND u.claimable_at <= sqlc.arg(as_of)::timestamptz)::boolean AS due
FROM (
    SELECT s.seat_id, s.price_level_id, s.state, s.claimable_at
    FROM show_seats s
    WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id AND s.block_id = @block_id::uuid AND s.seat_id > @after_id::uuid
    UNION ALL
    SELECT p.seat_id, p.price_level_id, p.state, p.claimable_at
    FROM past_show_seats p
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.show_id = @show_id AND p.block_id = @block_id::uuid AND p.seat_id > @after_id::uuid) AS u
ORDER BY u.seat_id
LIMIT @max_rows;

-- name: SeatsTaken :many
-- Those of some seats that somebody has.
SELECT seat_id, state
FROM show_seats
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND (state = 'BOOKED' OR (state = 'HELD' AND claimable_at > sqlc.arg(as_of)::timestamptz))
ORDER BY seat_id;

-- name: SeatsBlock :execrows
-- Locked seats join a block, or leave theirs. Who holds or has bought them keeps them.
UPDATE show_seats
SET block_id = sqlc.narg(block_id)::uuid, block_channel_id = sqlc.narg(block_channel_id)::uuid, version = GREATEST(version + 1, EXTRACT(EPOCH FROM transaction_timestamp())::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[]);

-- name: SeatsToUnblock :many
SELECT seat_id
FROM show_seats
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND block_id = @block_id::uuid
ORDER BY seat_id
LIMIT @max_rows;

-- name: SeatsUnblock :execrows
-- Seats of a released block forget it, unless they have joined another meanwhile.
UPDATE show_seats
SET block_id = NULL, block_channel_id = NULL, version = GREATEST(version + 1, EXTRACT(EPOCH FROM transaction_timestamp())::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND seat_id = ANY(@seat_ids::uuid[])
    AND block_id = @block_id::uuid;

-- name: BlocksDue :many
-- Blocks whose moment has come, of every place, the longest overdue first.
SELECT b.tenant_id, b.region, b.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT due.tenant_id, due.region, due.id, due.release_at
    FROM seat_blocks due
    WHERE due.tenant_id = t.tenant_id AND due.region = t.region AND due.state = 'ACTIVE' AND due.release_at IS NOT NULL
        AND due.release_at <= @now::timestamptz
    ORDER BY due.release_at
    LIMIT @max_blocks) AS b
ORDER BY b.release_at
LIMIT @max_blocks;

-- name: BlocksUncleared :many
SELECT b.tenant_id, b.region, b.id, b.show_id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT old.tenant_id, old.region, old.id, old.show_id, old.released_at
    FROM seat_blocks old
    WHERE old.tenant_id = t.tenant_id AND old.region = t.region AND old.state = 'RELEASED' AND old.cleared_at IS NULL
    ORDER BY old.released_at
    LIMIT @max_blocks) AS b
ORDER BY b.released_at
LIMIT @max_blocks;

-- name: BlockChangesInsert :execrows
INSERT INTO seat_block_changes (tenant_id, region, id, block_id, kind, seats, other_id, hold_id, key_id, session_id, note, changed_at, block_reason, block_note)
SELECT @tenant_id::uuid, @region::text, c.id, c.block_id, c.kind, c.seats,
    NULLIF(c.other_id, '00000000-0000-0000-0000-000000000000'::uuid), NULLIF(c.hold_id, '00000000-0000-0000-0000-000000000000'::uuid),
    NULLIF(c.key_id, '00000000-0000-0000-0000-000000000000'::uuid), NULLIF(c.session_id, '00000000-0000-0000-0000-000000000000'::uuid),
    c.note, @changed_at::timestamptz, CASE WHEN c.kind IN ('CREATED', 'ASSIGNED', 'MOVED_IN', 'CHANGED') THEN c.block_reason END,
    CASE WHEN c.kind IN ('CREATED', 'ASSIGNED', 'MOVED_IN', 'CHANGED') THEN c.block_note END
FROM (
    SELECT unnest(@ids::uuid[]) AS id, unnest(@block_ids::uuid[]) AS block_id, unnest(@kinds::text[]) AS kind, unnest(@seats::bigint[]) AS seats,
        unnest(@other_ids::uuid[]) AS other_id, unnest(@hold_ids::uuid[]) AS hold_id, unnest(@key_ids::uuid[]) AS key_id,
        unnest(@session_ids::uuid[]) AS session_id, unnest(@notes::text[]) AS note,
        unnest(@block_reasons::text[]) AS block_reason, unnest(@block_notes::text[]) AS block_note) AS c;

-- name: SeatMovesInsert :execrows
-- Where seats came from by one change. from_blocks has the zero UUID for a seat that was in no block.
INSERT INTO seat_block_moves (tenant_id, region, show_id, seat_id, change_id, from_block, to_block, moved_at)
SELECT @tenant_id::uuid, @region::text, @show_id::uuid, m.seat_id, @change_id::uuid,
    NULLIF(m.from_block, '00000000-0000-0000-0000-000000000000'::uuid), sqlc.narg(to_block)::uuid, @moved_at::timestamptz
FROM (SELECT unnest(@seat_ids::uuid[]) AS seat_id, unnest(@from_blocks::uuid[]) AS from_block) AS m;

-- name: BlockChangesPage :many
SELECT id, kind, seats, other_id, hold_id, key_id, session_id, note, changed_at
FROM seat_block_changes
WHERE tenant_id = @tenant_id AND region = @region AND block_id = @block_id
    AND (changed_at > @after_changed_at::timestamptz OR (changed_at = @after_changed_at::timestamptz AND id > @after_id::uuid))
ORDER BY changed_at, id
LIMIT @max_rows;
