-- name: AllotmentInsert :exec
INSERT INTO allotments (tenant_id, region, id, channel_id, name, show_id, pool_id, property_id, room_type_id, first_night, last_night,
    weekdays, sells_shared, release_at, release_days, release_minute, state, created_at, definite_at)
VALUES (@tenant_id, @region, @id, @channel_id, @name, @show_id, @pool_id, @property_id, @room_type_id, @first_night, @last_night,
    @weekdays, @sells_shared, @release_at, @release_days, @release_minute, @state, @created_at, @definite_at);

-- name: AllotmentLock :one
SELECT id, channel_id, name, show_id, pool_id, property_id, room_type_id, first_night, last_night, weekdays, sells_shared,
    release_at, release_days, release_minute, state, version, created_at, definite_at, ended_at
FROM allotments
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: AllotmentsByID :many
SELECT id, channel_id, name, show_id, pool_id, property_id, room_type_id, first_night, last_night, weekdays, sells_shared,
    release_at, release_days, release_minute, state, version, created_at, definite_at, ended_at
FROM allotments
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]);

-- name: AllotmentsOfPropertyPage :many
SELECT id, channel_id, name, show_id, pool_id, property_id, room_type_id, first_night, last_night, weekdays, sells_shared,
    release_at, release_days, release_minute, state, version, created_at, definite_at, ended_at
FROM allotments
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id::uuid
    AND (NOT @one_channel::boolean OR channel_id = @channel_id::uuid)
    AND (created_at > @after_created_at::timestamptz OR (created_at = @after_created_at::timestamptz AND id > @after_id::uuid))
ORDER BY created_at, id
LIMIT @max_rows;

-- name: AllotmentsOfShowPage :many
SELECT id, channel_id, name, show_id, pool_id, property_id, room_type_id, first_night, last_night, weekdays, sells_shared,
    release_at, release_days, release_minute, state, version, created_at, definite_at, ended_at
FROM allotments
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id::uuid
    AND (NOT @one_channel::boolean OR channel_id = @channel_id::uuid)
    AND (created_at > @after_created_at::timestamptz OR (created_at = @after_created_at::timestamptz AND id > @after_id::uuid))
ORDER BY created_at, id
LIMIT @max_rows;

-- name: AllotmentSet :execrows
-- version is the one that was read.
UPDATE allotments
SET name = @name, sells_shared = @sells_shared, release_at = @release_at, release_days = @release_days,
    release_minute = @release_minute, state = @state, version = version + 1, definite_at = @definite_at, ended_at = @ended_at
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND version = @version;

-- name: AllotmentPartsSet :execrows
-- A part that is never released has the first of all days.
INSERT INTO allotment_parts (tenant_id, region, allotment_id, night, unit_id, quantity, state, release_at)
SELECT @tenant_id::uuid, @region::text, @allotment_id::uuid, p.night, @unit_id::uuid, p.quantity, p.state,
    NULLIF(p.release_at, '0001-01-01 00:00:00+00'::timestamptz)
FROM (
    SELECT unnest(@nights::date[]) AS night, unnest(@quantities::bigint[]) AS quantity, unnest(@states::text[]) AS state,
        unnest(@release_ats::timestamptz[]) AS release_at) AS p
ON CONFLICT (tenant_id, region, allotment_id, night) DO UPDATE
SET quantity = excluded.quantity, state = excluded.state, release_at = excluded.release_at;

-- name: AllotmentPartsOf :many
SELECT night, unit_id, quantity, state, release_at
FROM allotment_parts
WHERE tenant_id = @tenant_id AND region = @region AND allotment_id = @allotment_id
ORDER BY night;

-- name: AllotmentPartsForClaim :many
-- What is set aside of some pools and nights, in the order in which it was. Parts of pools have the night
-- 0001-01-01. It leaves the counters alone, so that no claim depends on a row that it does not write.
SELECT p.allotment_id, p.unit_id, p.night, p.quantity, p.state, p.release_at, a.channel_id, a.sells_shared, a.definite_at
FROM allotment_parts p
JOIN allotments a ON a.tenant_id = p.tenant_id AND a.region = p.region AND a.id = p.allotment_id
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.unit_id = ANY(@unit_ids::uuid[]) AND p.state <> 'TENTATIVE'
    AND (p.night = '0001-01-01'::date OR (p.night >= @first_night::date AND p.night <= @last_night::date))
ORDER BY a.definite_at, p.allotment_id, p.unit_id, p.night;

-- name: AllotmentPartsShown :many
-- The same with the counters. Those of a pool stand in one of two tables.
SELECT p.allotment_id, p.unit_id, p.night, p.quantity, p.state, p.release_at, a.channel_id, a.sells_shared, a.definite_at,
    COALESCE(n.sell_limit, c.sell_limit, past.sell_limit, 0)::bigint AS sell_limit,
    COALESCE(n.held, c.held, past.held, 0)::bigint AS held, COALESCE(n.booked, c.booked, past.booked, 0)::bigint AS booked
FROM allotment_parts p
JOIN allotments a ON a.tenant_id = p.tenant_id AND a.region = p.region AND a.id = p.allotment_id
LEFT JOIN night_counters n ON n.tenant_id = p.tenant_id AND n.region = p.region AND n.room_type_id = p.unit_id AND n.bucket = p.allotment_id AND n.night = p.night
LEFT JOIN pool_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.unit_id AND c.bucket = p.allotment_id AND c.shard = 0
LEFT JOIN past_pool_counters past ON past.tenant_id = p.tenant_id AND past.region = p.region AND past.pool_id = p.unit_id AND past.bucket = p.allotment_id AND past.shard = 0
WHERE p.tenant_id = @tenant_id AND p.region = ANY(@regions::text[]) AND p.unit_id = ANY(@unit_ids::uuid[]) AND p.state <> 'TENTATIVE'
    AND (p.night = '0001-01-01'::date OR (p.night >= @first_night::date AND p.night <= @last_night::date))
ORDER BY a.definite_at, p.allotment_id, p.unit_id, p.night;

-- name: AllotmentStock :many
-- What allotments have of each night, with what of it is sold.
SELECT p.allotment_id, p.unit_id, p.night, p.quantity, p.state, p.release_at,
    COALESCE(n.sell_limit, c.sell_limit, past.sell_limit, 0)::bigint AS sell_limit,
    COALESCE(n.held, c.held, past.held, 0)::bigint AS held, COALESCE(n.booked, c.booked, past.booked, 0)::bigint AS booked
FROM allotment_parts p
LEFT JOIN night_counters n ON n.tenant_id = p.tenant_id AND n.region = p.region AND n.room_type_id = p.unit_id AND n.bucket = p.allotment_id AND n.night = p.night
LEFT JOIN pool_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.unit_id AND c.bucket = p.allotment_id AND c.shard = 0
LEFT JOIN past_pool_counters past ON past.tenant_id = p.tenant_id AND past.region = p.region AND past.pool_id = p.unit_id AND past.bucket = p.allotment_id AND past.shard = 0
WHERE p.tenant_id = @tenant_id AND p.region = ANY(@regions::text[]) AND p.allotment_id = ANY(@allotment_ids::uuid[])
ORDER BY p.allotment_id, p.night;

-- name: AllotmentsDue :many
-- Allotments of which something is due for release, the longest overdue of all places first.
SELECT p.tenant_id, p.region, p.allotment_id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT due.tenant_id, due.region, due.allotment_id, min(due.release_at) AS release_at
    FROM allotment_parts due
    WHERE due.tenant_id = t.tenant_id AND due.region = t.region AND due.state = 'OPEN' AND due.release_at <= @now::timestamptz
    GROUP BY due.tenant_id, due.region, due.allotment_id
    ORDER BY min(due.release_at)
    LIMIT @max_allotments) AS p
ORDER BY p.release_at
LIMIT @max_allotments;

-- name: AllotmentChangeInsert :exec
INSERT INTO allotment_changes (tenant_id, region, allotment_id, version, action, key_id, units, occurred_at)
VALUES (@tenant_id, @region, @allotment_id, @version, @action, @key_id, @units, @occurred_at);

-- name: AllotmentMovesInsert :execrows
-- By how many units each night of an allotment grew or shrank with one version.
INSERT INTO allotment_moves (tenant_id, region, unit_id, night, allotment_id, version, units, by_time, moved_at)
SELECT @tenant_id::uuid, @region::text, @unit_id::uuid, m.night, @allotment_id::uuid, @version::bigint, m.units, m.by_time, m.moved_at
FROM (
    SELECT unnest(@nights::date[]) AS night, unnest(@units::bigint[]) AS units, unnest(@by_times::boolean[]) AS by_time,
        unnest(@moved_ats::timestamptz[]) AS moved_at) AS m;

-- name: AllotmentChangesOf :many
SELECT version, action, key_id, units, occurred_at
FROM allotment_changes
WHERE tenant_id = @tenant_id AND region = @region AND allotment_id = @allotment_id AND version < @before_version
ORDER BY version DESC
LIMIT @max_rows;

-- name: NightLimitsSet :execrows
-- The limits of several buckets; a bucket that is new to a night gets its counter.
INSERT INTO night_counters (tenant_id, region, room_type_id, bucket, night, sell_limit, ceiling)
SELECT @tenant_id::uuid, @region::text, @room_type_id::uuid, c.bucket, c.night, c.sell_limit, c.sell_limit
FROM (SELECT unnest(@buckets::uuid[]) AS bucket, unnest(@nights::date[]) AS night, unnest(@sell_limits::bigint[]) AS sell_limit) AS c
ON CONFLICT (tenant_id, region, room_type_id, bucket, night) DO UPDATE
SET sell_limit = excluded.sell_limit,
    ceiling = GREATEST(excluded.sell_limit, night_counters.held + night_counters.booked);

-- name: PoolLimitsSet :execrows
-- The limits of allotments, whose counters are not split.
INSERT INTO pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, ceiling)
SELECT @tenant_id::uuid, @region::text, @pool_id::uuid, c.bucket, 0, c.sell_limit, c.sell_limit
FROM (SELECT unnest(@buckets::uuid[]) AS bucket, unnest(@sell_limits::bigint[]) AS sell_limit) AS c
ON CONFLICT (tenant_id, region, pool_id, bucket, shard) DO UPDATE
SET sell_limit = excluded.sell_limit,
    ceiling = GREATEST(excluded.sell_limit, pool_counters.held + pool_counters.booked);

-- name: NightPlansAllot :execrows
UPDATE night_plans
SET allotted = n.allotted, has_allotment = true
FROM (SELECT unnest(@nights::date[]) AS night, unnest(@allotted::bigint[]) AS allotted) AS n
WHERE night_plans.tenant_id = @tenant_id AND night_plans.region = @region AND night_plans.room_type_id = @room_type_id
    AND night_plans.night = n.night;

-- name: PoolMarkAllotment :execrows
UPDATE pools
SET has_allotment = true
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND NOT has_allotment;

-- name: PoolForAllotment :one
SELECT p.show_id, p.capacity, s.starts_at, v.time_zone, (s.completed_at IS NOT NULL)::boolean AS completed
FROM pools p
JOIN shows s ON s.tenant_id = p.tenant_id AND s.region = p.region AND s.id = p.show_id
JOIN venues v ON v.tenant_id = s.tenant_id AND v.id = s.venue_id
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.id = @id;

-- name: ChannelExists :one
SELECT EXISTS (SELECT 1 FROM channels WHERE tenant_id = @tenant_id AND id = @id)::boolean AS found;
