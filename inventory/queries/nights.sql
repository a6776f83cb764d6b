-- name: NightPlansLock :many
SELECT night, physical, out_of_order, oversell, oversell_percent, allotted, stop_sell, closed_to_arrival, closed_to_departure,
    min_stay_arrival, max_stay_arrival, min_stay_through, max_stay_through, has_allotment
FROM night_plans
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND night = ANY(@nights::date[])
ORDER BY night
FOR UPDATE;

-- name: NightPlansSet :execrows
INSERT INTO night_plans (tenant_id, region, room_type_id, night, physical, out_of_order, oversell, oversell_percent, stop_sell,
    closed_to_arrival, closed_to_departure, min_stay_arrival, max_stay_arrival, min_stay_through, max_stay_through)
SELECT @tenant_id::uuid, @region::text, @room_type_id::uuid, n.night, n.physical, n.out_of_order, n.oversell, NULLIF(n.oversell_percent, -1), n.stop_sell,
    n.closed_to_arrival, n.closed_to_departure, NULLIF(n.min_stay_arrival, 0), NULLIF(n.max_stay_arrival, 0),
    NULLIF(n.min_stay_through, 0), NULLIF(n.max_stay_through, 0)
FROM (
    SELECT unnest(@nights::date[]) AS night, unnest(@physicals::bigint[]) AS physical,
        unnest(@out_of_orders::bigint[]) AS out_of_order, unnest(@oversells::bigint[]) AS oversell,
        unnest(@oversell_percents::bigint[]) AS oversell_percent,
        unnest(@stop_sells::boolean[]) AS stop_sell, unnest(@closed_to_arrivals::boolean[]) AS closed_to_arrival,
        unnest(@closed_to_departures::boolean[]) AS closed_to_departure,
        unnest(@min_stay_arrivals::bigint[]) AS min_stay_arrival, unnest(@max_stay_arrivals::bigint[]) AS max_stay_arrival,
        unnest(@min_stay_throughs::bigint[]) AS min_stay_through, unnest(@max_stay_throughs::bigint[]) AS max_stay_through) AS n
ON CONFLICT (tenant_id, region, room_type_id, night) DO UPDATE
SET physical = excluded.physical, out_of_order = excluded.out_of_order, oversell = excluded.oversell,
    oversell_percent = excluded.oversell_percent, stop_sell = excluded.stop_sell, closed_to_arrival = excluded.closed_to_arrival,
    closed_to_departure = excluded.closed_to_departure, min_stay_arrival = excluded.min_stay_arrival,
    max_stay_arrival = excluded.max_stay_arrival, min_stay_through = excluded.min_stay_through,
    max_stay_through = excluded.max_stay_through;

-- name: NightRatesSet :execrows
INSERT INTO night_rates (tenant_id, region, room_type_id, night, amount_minor)
SELECT @tenant_id::uuid, @region::text, @room_type_id::uuid, n.night, n.amount_minor
FROM (SELECT unnest(@nights::date[]) AS night, unnest(@amounts::bigint[]) AS amount_minor) AS n
ON CONFLICT (tenant_id, region, room_type_id, night) DO UPDATE
SET amount_minor = excluded.amount_minor;

-- name: NightRatesOf :many
SELECT night, amount_minor
FROM night_rates
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND night = ANY(@nights::date[])
ORDER BY night;

-- name: HouseLimitsOf :many
SELECT night, sell_limit
FROM house_counters
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND night = ANY(@nights::date[])
ORDER BY night;

-- name: NightPlansOf :many
SELECT night, physical, out_of_order, oversell, oversell_percent, allotted, stop_sell, closed_to_arrival, closed_to_departure,
    min_stay_arrival, max_stay_arrival, min_stay_through, max_stay_through, has_allotment
FROM night_plans
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id
    AND night >= @first_night::date AND night <= @last_night::date
ORDER BY night;

-- name: NightsOverLimit :many
-- Nights with more taken than there is to sell: of the room type as a whole, whatever is allotted to
-- whom, or of the stock that all channels share.
SELECT p.night, (p.physical - p.out_of_order + p.oversell)::bigint AS sell_limit, c.held, c.booked,
    GREATEST(c.held + c.booked - (p.physical - p.out_of_order + p.oversell), c.shared_taken - c.shared_limit)::bigint AS excess
FROM night_plans p
JOIN (
    SELECT n.night, sum(n.held)::bigint AS held, sum(n.booked)::bigint AS booked,
        sum(CASE WHEN n.bucket = '00000000-0000-0000-0000-000000000000'::uuid THEN n.held + n.booked ELSE 0 END)::bigint AS shared_taken,
        sum(CASE WHEN n.bucket = '00000000-0000-0000-0000-000000000000'::uuid THEN n.sell_limit ELSE 0 END)::bigint AS shared_limit
    FROM night_counters n
    WHERE n.tenant_id = @tenant_id AND n.region = @region AND n.room_type_id = @room_type_id
        AND n.night = ANY(@nights::date[])
    GROUP BY n.night) AS c ON c.night = p.night
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.room_type_id = @room_type_id AND p.night = ANY(@nights::date[])
    AND (c.held + c.booked > p.physical - p.out_of_order + p.oversell OR c.shared_taken > c.shared_limit)
ORDER BY p.night;

-- name: HousesOverLimit :many
SELECT night, sell_limit, held, booked, (held + booked - sell_limit)::bigint AS excess
FROM house_counters
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND night = ANY(@nights::date[])
    AND held + booked > sell_limit
ORDER BY night;

-- name: NightEditInsert :exec
INSERT INTO night_edits (tenant_id, region, id, property_id, room_type_id, first_night, last_night, weekdays, change, author, state, nights, rate_plan_id, created_at)
VALUES (@tenant_id, @region, @id, @property_id, @room_type_id, @first_night, @last_night, @weekdays, @change, @author, 'RUNNING', @nights,
    @rate_plan_id, clock_timestamp());

-- name: NightEditChunksInsert :execrows
INSERT INTO night_edit_chunks (tenant_id, region, edit_id, ordinal, room_type_id, first_night, last_night, nights, state)
SELECT @tenant_id::uuid, @region::text, @edit_id::uuid, c.ordinal, NULLIF(c.room_type_id, '00000000-0000-0000-0000-000000000000'::uuid),
    c.first_night, c.last_night, c.nights, 'WAITING'
FROM (
    SELECT unnest(@ordinals::bigint[]) AS ordinal, unnest(@room_type_ids::uuid[]) AS room_type_id, unnest(@first_nights::date[]) AS first_night,
        unnest(@last_nights::date[]) AS last_night, unnest(@nights::bigint[]) AS nights) AS c;

-- name: NightEditGet :one
SELECT e.id, e.property_id, e.room_type_id, e.rate_plan_id, e.first_night, e.last_night, e.weekdays, e.change, e.author, e.state, e.nights, e.created_at, e.ended_at,
    COALESCE(c.chunks, 0)::bigint AS chunks, COALESCE(c.waiting, 0)::bigint AS waiting, COALESCE(c.failed, 0)::bigint AS failed,
    COALESCE(c.written_nights, 0)::bigint AS written_nights, COALESCE(c.oversold, 0)::bigint AS oversold
FROM night_edits e
LEFT JOIN (
    SELECT k.edit_id, count(*) AS chunks, sum(CASE WHEN k.state = 'WAITING' THEN 1 ELSE 0 END) AS waiting,
        sum(CASE WHEN k.state = 'FAILED' THEN 1 ELSE 0 END) AS failed,
        sum(CASE WHEN k.state = 'WRITTEN' THEN k.nights ELSE 0 END) AS written_nights, sum(k.oversold) AS oversold
    FROM night_edit_chunks k
    WHERE k.tenant_id = @tenant_id AND k.region = @region AND k.edit_id = @id
    GROUP BY k.edit_id) AS c ON c.edit_id = e.id
WHERE e.tenant_id = @tenant_id AND e.region = @region AND e.id = @id;

-- name: NightEditLock :one
SELECT id, property_id, rate_plan_id, weekdays, change, author, state
FROM night_edits
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: NightEditEnd :execrows
UPDATE night_edits
SET state = @state, ended_at = clock_timestamp()
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'RUNNING';

-- name: NightEditsPage :many
SELECT id, created_at
FROM night_edits
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id
    AND (created_at, id) < (@before_time::timestamptz, @before_id::uuid)
ORDER BY created_at DESC, id DESC
LIMIT @max_rows;

-- name: NightEditsRunning :many
-- The oldest of all places: one tenant's long edits do not keep those of others waiting.
SELECT e.tenant_id, e.region, e.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT r.tenant_id, r.region, r.id, r.created_at
    FROM night_edits r
    WHERE r.tenant_id = t.tenant_id AND r.region = t.region AND r.state = 'RUNNING'
    ORDER BY r.created_at, r.id
    LIMIT @max_edits) AS e
ORDER BY e.created_at
LIMIT @max_edits;

-- name: NightEditChunkNext :one
SELECT ordinal, room_type_id, first_night, last_night, nights
FROM night_edit_chunks
WHERE tenant_id = @tenant_id AND region = @region AND edit_id = @edit_id AND state = 'WAITING'
ORDER BY ordinal
LIMIT 1;

-- name: NightEditChunkEnd :execrows
UPDATE night_edit_chunks
SET state = @state, oversold = @oversold, fault = @fault, ended_at = clock_timestamp()
WHERE tenant_id = @tenant_id AND region = @region AND edit_id = @edit_id AND ordinal = @ordinal AND state = 'WAITING';

-- name: NightEditChunksPage :many
SELECT ordinal, room_type_id, first_night, last_night, nights, state, oversold, fault, ended_at
FROM night_edit_chunks
WHERE tenant_id = @tenant_id AND region = @region AND edit_id = @edit_id AND ordinal > @after_ordinal
ORDER BY ordinal
LIMIT @max_rows;

-- name: OversoldNightsPage :many
-- What is over its limit in a range, by night, room types before the house.
SELECT u.night, u.room_type_id, u.sell_limit, u.held, u.booked, u.excess
FROM (
    SELECT p.night, p.room_type_id, (p.physical - p.out_of_order + p.oversell)::bigint AS sell_limit, c.held, c.booked,
        GREATEST(c.held + c.booked - (p.physical - p.out_of_order + p.oversell), c.shared_taken - c.shared_limit)::bigint AS excess
    FROM night_plans p
    JOIN (
        SELECT n.room_type_id, n.night, sum(n.held)::bigint AS held, sum(n.booked)::bigint AS booked,
            sum(CASE WHEN n.bucket = '00000000-0000-0000-0000-000000000000'::uuid THEN n.held + n.booked ELSE 0 END)::bigint AS shared_taken,
            sum(CASE WHEN n.bucket = '00000000-0000-0000-0000-000000000000'::uuid THEN n.sell_limit ELSE 0 END)::bigint AS shared_limit
        FROM night_counters n
        WHERE n.tenant_id = @tenant_id AND n.region = @region AND n.room_type_id = ANY(@room_type_ids::uuid[])
            AND n.night >= @first_night::date AND n.night <= @last_night::date
        GROUP BY n.room_type_id, n.night) AS c ON c.room_type_id = p.room_type_id AND c.night = p.night
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.room_type_id = ANY(@room_type_ids::uuid[])
        AND p.night >= @first_night::date AND p.night <= @last_night::date
    UNION ALL
    SELECT h.night, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid AS room_type_id, h.sell_limit, h.held, h.booked, (h.held + h.booked - h.sell_limit)::bigint AS excess
    FROM house_counters h
    WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.property_id = @property_id
        AND h.night >= @first_night::date AND h.night <= @last_night::date) AS u
WHERE u.excess > 0 AND (u.night > @after_night::date OR (u.night = @after_night::date AND u.room_type_id > @after_room::uuid))
ORDER BY u.night, u.room_type_id
LIMIT @max_rows;
