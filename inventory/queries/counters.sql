-- name: PoolCounterHold :execrows
-- Claims name only the key in WHERE: CockroachDB then locks while it reads, and the named CHECK is
-- what says sold out. A release or confirm recomputes the ceiling after subtracting.
UPDATE pool_counters
SET held = held + sqlc.arg(quantity)::bigint
WHERE tenant_id = @tenant_id AND region = @region AND pool_id = @pool_id AND bucket = @bucket AND shard = @shard;

-- name: PoolCounterMove :execrows
UPDATE pool_counters
SET held = held + sqlc.arg(held_delta)::bigint, booked = booked + sqlc.arg(booked_delta)::bigint,
    ceiling = GREATEST(sell_limit, held + sqlc.arg(held_delta)::bigint + booked + sqlc.arg(booked_delta)::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND pool_id = @pool_id AND bucket = @bucket AND shard = @shard;

-- name: PoolCountersLock :many
SELECT pool_id, bucket, shard, sell_limit, held, booked, ceiling
FROM pool_counters
WHERE tenant_id = @tenant_id AND region = @region AND pool_id = ANY(@pool_ids::uuid[])
ORDER BY pool_id, bucket, shard
FOR UPDATE;

-- name: PoolCountersInsert :execrows
INSERT INTO pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, ceiling)
SELECT @tenant_id::uuid, @region::text, @pool_id::uuid, @bucket::uuid, c.shard, c.sell_limit, c.sell_limit
FROM (SELECT unnest(@shards::bigint[]) AS shard, unnest(@sell_limits::bigint[]) AS sell_limit) AS c;

-- name: PoolCountersRemoveEmpty :execrows
-- Counters that nothing was counted in, or nothing any more: a released hold's lines are never counted
-- again.
DELETE FROM pool_counters
WHERE tenant_id = @tenant_id AND region = @region AND pool_id = @pool_id AND bucket = @bucket AND shard >= @from_shard::bigint
    AND held = 0 AND booked = 0 AND sell_limit = 0;

-- name: NightCountersHold :batchmany
UPDATE night_counters
SET held = held + sqlc.arg(quantity)::bigint
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND bucket = @bucket
    AND night >= @first_night::date AND night <= @last_night::date
RETURNING night;

-- name: NightCountersMove :execrows
UPDATE night_counters
SET held = held + sqlc.arg(held_delta)::bigint, booked = booked + sqlc.arg(booked_delta)::bigint,
    ceiling = GREATEST(sell_limit, held + sqlc.arg(held_delta)::bigint + booked + sqlc.arg(booked_delta)::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND bucket = @bucket
    AND night >= @first_night::date AND night <= @last_night::date;

-- name: NightCountersLock :batchmany
SELECT room_type_id, bucket, night, sell_limit, held, booked, ceiling
FROM night_counters
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND bucket = @bucket
    AND night >= @first_night::date AND night <= @last_night::date
ORDER BY room_type_id, bucket, night
FOR UPDATE;

-- name: NightCountersSet :execrows
INSERT INTO night_counters (tenant_id, region, room_type_id, bucket, night, sell_limit, ceiling)
SELECT @tenant_id::uuid, @region::text, @room_type_id::uuid, @bucket::uuid, c.night, c.sell_limit, c.sell_limit
FROM (SELECT unnest(@nights::date[]) AS night, unnest(@sell_limits::bigint[]) AS sell_limit) AS c
ON CONFLICT (tenant_id, region, room_type_id, bucket, night) DO UPDATE
SET sell_limit = excluded.sell_limit,
    ceiling = GREATEST(excluded.sell_limit, night_counters.held + night_counters.booked);

-- name: HouseCountersHold :batchmany
UPDATE house_counters
SET held = held + sqlc.arg(quantity)::bigint
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id
    AND night >= @first_night::date AND night <= @last_night::date
RETURNING night;

-- name: HouseCountersMove :execrows
UPDATE house_counters
SET held = held + sqlc.arg(held_delta)::bigint, booked = booked + sqlc.arg(booked_delta)::bigint,
    ceiling = GREATEST(sell_limit, held + sqlc.arg(held_delta)::bigint + booked + sqlc.arg(booked_delta)::bigint)
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id
    AND night >= @first_night::date AND night <= @last_night::date;

-- name: HouseCountersLock :batchmany
SELECT property_id, night, sell_limit, held, booked, ceiling
FROM house_counters
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id
    AND night >= @first_night::date AND night <= @last_night::date
ORDER BY property_id, night
FOR UPDATE;

-- name: HouseCountersSet :execrows
-- A house limit that appears while rooms are sold starts from what they hold and have booked.
INSERT INTO house_counters (tenant_id, region, property_id, night, sell_limit, held, booked, ceiling)
SELECT @tenant_id::uuid, @region::text, @property_id::uuid, n.night, sqlc.arg(sell_limit)::bigint,
    COALESCE(sold.held, 0), COALESCE(sold.booked, 0),
    GREATEST(sqlc.arg(sell_limit)::bigint, COALESCE(sold.held, 0) + COALESCE(sold.booked, 0))
FROM unnest(@nights::date[]) AS n (night)
LEFT JOIN (
    SELECT c.night, sum(c.held)::bigint AS held, sum(c.booked)::bigint AS booked
    FROM night_counters c
    JOIN room_types r ON r.tenant_id = c.tenant_id AND r.region = c.region AND r.id = c.room_type_id
    WHERE c.tenant_id = @tenant_id AND c.region = @region AND r.property_id = @property_id
        AND c.night = ANY(@nights::date[])
    GROUP BY c.night) AS sold ON sold.night = n.night
ON CONFLICT (tenant_id, region, property_id, night) DO UPDATE
SET sell_limit = excluded.sell_limit,
    ceiling = GREATEST(excluded.sell_limit, house_counters.held + house_counters.booked);

-- name: HouseCountersRemove :execrows
DELETE FROM house_counters
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND night = ANY(@nights::date[]);
