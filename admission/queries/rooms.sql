-- name: RoomInsert :execrows
INSERT INTO waiting_rooms (tenant_id, region, show_id, secret, opens_at, closes_at, window_seconds, rate_per_minute, grant_seconds,
    holds_per_grant, verifier, moved_at)
VALUES (@tenant_id, @region, @show_id, @secret, @opens_at, @closes_at, @window_seconds, @rate_per_minute, @grant_seconds,
    @holds_per_grant, @verifier, clock_timestamp())
ON CONFLICT (tenant_id, region, show_id) DO NOTHING;

-- name: RoomReopen :execrows
-- A new opening: nobody waits, and what was signed for an earlier one is good no more.
UPDATE waiting_rooms
SET opening = opening + 1, secret = @secret, opens_at = @opens_at, closes_at = @closes_at, window_seconds = @window_seconds,
    rate_per_minute = @rate_per_minute, grant_seconds = @grant_seconds, holds_per_grant = @holds_per_grant, verifier = @verifier,
    paused = false, closed_at = NULL, watermark = -1, credit = 0, moved_at = clock_timestamp(), version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id;

-- name: RoomLock :one
SELECT opening, opens_at, closes_at, window_seconds, rate_per_minute, grant_seconds, holds_per_grant, verifier, paused, closed_at, watermark
FROM waiting_rooms
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id
FOR UPDATE;

-- name: RoomGet :one
SELECT opening, opens_at, closes_at, window_seconds, rate_per_minute, grant_seconds, holds_per_grant, verifier, paused, closed_at, watermark
FROM waiting_rooms
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id;

-- name: RoomSet :execrows
-- What a room's people change. Time that has passed is not made up for: a room that was paused goes on
-- from now.
UPDATE waiting_rooms
SET opens_at = @opens_at, closes_at = @closes_at, window_seconds = @window_seconds, rate_per_minute = @rate_per_minute,
    grant_seconds = @grant_seconds, holds_per_grant = @holds_per_grant, verifier = @verifier, paused = @paused,
    closed_at = sqlc.narg(closed_at), moved_at = clock_timestamp(), credit = 0, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id;

-- name: RoomWithCounts :many
-- A room and who waits in it, from a bucket on, in one statement: this is all that the crowd costs.
SELECT r.opening, r.opens_at, r.closes_at, r.window_seconds, r.rate_per_minute, r.grant_seconds, r.holds_per_grant, r.verifier, r.paused,
    r.closed_at, r.watermark, r.credit, r.moved_at, r.version, r.secret, clock_timestamp()::timestamptz AS now,
    COALESCE(c.bucket, -1)::bigint AS bucket, COALESCE(c.visitors, 0)::bigint AS visitors
FROM waiting_rooms r
LEFT JOIN (
    SELECT w.opening, w.bucket, sum(w.visitors)::bigint AS visitors
    FROM waiting_room_counts w
    WHERE w.tenant_id = @tenant_id AND w.region = @region AND w.show_id = @show_id AND w.opening = @opening AND w.bucket >= @from_bucket
    GROUP BY w.opening, w.bucket
    ORDER BY w.bucket
    LIMIT @max_buckets) AS c ON c.opening = r.opening
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.show_id = @show_id
ORDER BY c.bucket NULLS FIRST;

-- name: WatermarkMove :execrows
-- Whichever process is due moves the watermark; of two that read the same room, one.
UPDATE waiting_rooms
SET watermark = @watermark, credit = @credit, moved_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id
    AND version = @version AND moved_at = @seen_moved_at::timestamptz AND watermark <= @watermark;

-- name: CountsFlush :execrows
-- The sums of one process, which only grow: one that is written late, after a later one, changes nothing.
INSERT INTO waiting_room_counts (tenant_id, region, show_id, opening, bucket, counter_id, visitors)
SELECT @tenant_id::uuid, @region::text, @show_id::uuid, @opening::bigint, c.bucket, @counter_id::uuid, c.visitors
FROM (SELECT unnest(@buckets::bigint[]) AS bucket, unnest(@visitors::bigint[]) AS visitors) AS c
ON CONFLICT (tenant_id, region, show_id, opening, bucket, counter_id) DO UPDATE SET visitors = GREATEST(waiting_room_counts.visitors, excluded.visitors);
