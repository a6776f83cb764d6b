-- name: OfferPoolsFree :many
-- What a claim could find of pools at most: what is free in any bucket, and what holds that are due still
-- have.
SELECT c.pool_id, sum(c.free)::bigint AS free
FROM (
    SELECT p.pool_id, GREATEST(p.sell_limit - p.held - p.booked, 0)::bigint AS free
    FROM pool_counters p
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.pool_id = ANY(@pool_ids::uuid[])
    UNION ALL
    SELECT l.pool_id, l.quantity AS free
    FROM holds h
    JOIN hold_lines l ON l.tenant_id = h.tenant_id AND l.region = h.region AND l.hold_id = h.id
    WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.state IN ('ACTIVE', 'PROCESSING')
        AND h.claimable_at <= clock_timestamp() AND l.pool_id = ANY(@pool_ids::uuid[])) AS c
GROUP BY c.pool_id;

-- name: OfferNightsFree :many
SELECT c.room_type_id, c.night, sum(c.free)::bigint AS free
FROM (
    SELECT n.room_type_id, n.night, GREATEST(n.sell_limit - n.held - n.booked, 0)::bigint AS free
    FROM night_counters n
    WHERE n.tenant_id = @tenant_id AND n.region = @region AND n.room_type_id = ANY(@room_type_ids::uuid[])
        AND n.night >= @first_night::date AND n.night <= @last_night::date
    UNION ALL
    SELECT l.room_type_id, l.night, l.quantity AS free
    FROM holds h
    JOIN hold_lines l ON l.tenant_id = h.tenant_id AND l.region = h.region AND l.hold_id = h.id
    WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.state IN ('ACTIVE', 'PROCESSING')
        AND h.claimable_at <= clock_timestamp() AND l.room_type_id = ANY(@room_type_ids::uuid[])
        AND l.night >= @first_night::date AND l.night <= @last_night::date) AS c
GROUP BY c.room_type_id, c.night
HAVING sum(c.free) > 0;

-- name: OfferSeatsFree :many
-- Seats of a show that are free or whose holds are due, by price level and by the channel of the block that
-- they are in, the zero UUID for none. Those of house blocks are left out.
SELECT s.price_level_id,
    COALESCE(CASE WHEN b.state = 'ACTIVE' AND (b.release_at IS NULL OR b.release_at > clock_timestamp()) THEN b.channel_id END,
        '00000000-0000-0000-0000-000000000000'::uuid)::uuid AS channel_id,
    count(*) AS free
FROM show_seats s
LEFT JOIN seat_blocks b ON b.tenant_id = s.tenant_id AND b.region = s.region AND b.id = s.block_id
WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.show_id = @show_id
    AND (s.state = 'AVAILABLE' OR (s.state = 'HELD' AND s.claimable_at <= clock_timestamp()))
    AND (b.id IS NULL OR b.channel_id IS NOT NULL OR b.state <> 'ACTIVE' OR b.release_at <= clock_timestamp())
GROUP BY 1, 2;

-- name: OfferChannels :many
-- Which of some channels may not sell at present.
SELECT id
FROM channels
WHERE tenant_id = @tenant_id AND id = ANY(@ids::uuid[]) AND suspended;
