-- name: VenueForSetup :one
SELECT id, region, currency, time_zone
FROM venues
WHERE tenant_id = @tenant_id AND id = @id;

-- name: PropertyForSetup :one
SELECT id, region, currency, time_zone
FROM properties
WHERE tenant_id = @tenant_id AND id = @id;

-- name: ChartInsert :exec
INSERT INTO seating_charts (tenant_id, region, id, venue_id, name, geometry, seat_count)
VALUES (@tenant_id, @region, @id, @venue_id, @name, @geometry, @seat_count);

-- name: ChartGet :one
SELECT id, venue_id, name, geometry, seat_count, created_at
FROM seating_charts
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: ChartsOfVenue :many
SELECT id, venue_id, name, seat_count, created_at
FROM seating_charts
WHERE tenant_id = @tenant_id AND region = @region AND venue_id = @venue_id
ORDER BY created_at, id
LIMIT 1000;

-- name: EventInsert :exec
INSERT INTO events (tenant_id, region, id, venue_id, name)
VALUES (@tenant_id, @region, @id, @venue_id, @name);

-- name: EventsByID :many
SELECT region, id, venue_id, name, created_at
FROM events
WHERE tenant_id = @tenant_id AND id = ANY(@ids::uuid[]) AND region = ANY(@regions::text[]);

-- name: ShowInsert :exec
INSERT INTO shows (tenant_id, region, id, event_id, venue_id, chart_id, name, state, starts_at, sale_opens_at, sale_closes_at, currency)
VALUES (@tenant_id, @region, @id, @event_id, @venue_id, @chart_id, @name, @state, @starts_at, @sale_opens_at, @sale_closes_at, @currency);

-- name: ShowStateSet :execrows
UPDATE shows
SET state = @state
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: ShowsByID :many
SELECT region, id, event_id, venue_id, chart_id, name, state, starts_at, sale_opens_at, sale_closes_at, currency
FROM shows
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND id = ANY(@ids::uuid[]);

-- name: ShowsPage :many
-- Shows of one region by start; include_drafts is for admins, limited for who may see some only.
SELECT region, id, event_id, venue_id, chart_id, name, state, starts_at, sale_opens_at, sale_closes_at, currency
FROM shows
WHERE tenant_id = @tenant_id AND region = @region
    AND (starts_at > @after_starts_at::timestamptz OR (starts_at = @after_starts_at::timestamptz AND id > @after_id::uuid))
    AND (@include_drafts::boolean OR state <> 'DRAFT')
    AND (NOT @one_venue::boolean OR venue_id = @venue_id::uuid)
    AND (NOT @limited::boolean OR venue_id = ANY(@venue_ids::uuid[]) OR id = ANY(@show_ids::uuid[]))
ORDER BY starts_at, id
LIMIT @max_rows;

-- name: PriceLevelsInsert :execrows
INSERT INTO price_levels (tenant_id, region, show_id, id, name, amount_minor)
SELECT @tenant_id::uuid, @region::text, @show_id::uuid, l.id, l.name, l.amount_minor
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@names::text[]) AS name, unnest(@amounts::bigint[]) AS amount_minor) AS l;

-- name: PriceLevelSet :execrows
UPDATE price_levels
SET amount_minor = @amount_minor
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND id = @id;

-- name: PoolInsert :exec
INSERT INTO pools (tenant_id, region, id, show_id, price_level_id, name, capacity, shards)
VALUES (@tenant_id, @region, @id, @show_id, @price_level_id, @name, @capacity, @shards);

-- name: PoolGet :one
SELECT id, show_id, price_level_id, name, capacity, shards
FROM pools
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: PoolCapacitySet :execrows
UPDATE pools
SET capacity = @capacity
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: PoolShardsSet :execrows
UPDATE pools
SET shards = @shards
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: PoolCounterLimitSet :execrows
UPDATE pool_counters
SET sell_limit = @sell_limit, ceiling = GREATEST(sqlc.arg(sell_limit)::bigint, held + booked)
WHERE tenant_id = @tenant_id AND region = @region AND pool_id = @pool_id AND bucket = @bucket AND shard = @shard;

-- name: PoolsOfShows :many
-- taken is of what everybody may sell. A pool's counters stand in one table or, after the show, in the other; while they are moved, in both.
SELECT u.region, u.id, u.show_id, u.price_level_id, u.name, u.capacity, u.has_allotment,
    COALESCE(sum(CASE WHEN u.bucket = '00000000-0000-0000-0000-000000000000'::uuid THEN u.taken ELSE 0 END), 0)::bigint AS taken
FROM (
    SELECT p.region, p.id, p.show_id, p.price_level_id, p.name, p.capacity, p.has_allotment, c.bucket, c.held + c.booked AS taken
    FROM pools p
    LEFT JOIN pool_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.id
    WHERE p.tenant_id = @tenant_id AND p.region = ANY(@regions::text[]) AND p.show_id = ANY(@show_ids::uuid[])
    UNION ALL
    SELECT p.region, p.id, p.show_id, p.price_level_id, p.name, p.capacity, p.has_allotment, c.bucket, c.held + c.booked AS taken
    FROM pools p
    JOIN past_pool_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.pool_id = p.id
    WHERE p.tenant_id = @tenant_id AND p.region = ANY(@regions::text[]) AND p.show_id = ANY(@show_ids::uuid[])) AS u
GROUP BY u.region, u.id, u.show_id, u.price_level_id, u.name, u.capacity, u.has_allotment
ORDER BY u.show_id, u.name;

-- name: LevelsOfShows :many
SELECT region, show_id, id, name, amount_minor
FROM price_levels
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND show_id = ANY(@show_ids::uuid[])
ORDER BY show_id, amount_minor DESC, name;

-- name: DueUnits :many
-- What holds whose time is over still occupy: it is free for everybody, so readers count it as such.
-- OFFSET 0 keeps the planner from reading the lines of all holds.
SELECT l.kind, l.pool_id, l.room_type_id, l.property_id, l.night, l.bucket, sum(l.quantity)::bigint AS quantity
FROM holds h
CROSS JOIN LATERAL (
    SELECT own.kind, own.pool_id, own.room_type_id, own.property_id, own.night, own.bucket, own.quantity
    FROM hold_lines own
    WHERE own.tenant_id = h.tenant_id AND own.region = h.region AND own.hold_id = h.id AND own.kind <> 'SEAT'
    OFFSET 0) AS l
WHERE h.tenant_id = @tenant_id AND h.region = @region AND h.state IN ('ACTIVE', 'PROCESSING') AND h.claimable_at <= sqlc.arg(as_of)::timestamptz
GROUP BY l.kind, l.pool_id, l.room_type_id, l.property_id, l.night, l.bucket;

-- name: RoomTypeInsert :exec
INSERT INTO room_types (tenant_id, region, id, property_id, name, max_guests)
VALUES (@tenant_id, @region, @id, @property_id, @name, @max_guests);

-- name: RoomTypesByID :many
SELECT region, id, property_id, name, max_guests
FROM room_types
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND id = ANY(@ids::uuid[]);

-- name: RoomTypesOfProperties :many
SELECT region, id, property_id, name, max_guests
FROM room_types
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND property_id = ANY(@property_ids::uuid[])
ORDER BY property_id, name;

-- name: CalendarNights :many
SELECT p.room_type_id, p.night, p.stop_sell, p.closed_to_arrival, p.closed_to_departure, p.min_stay_arrival,
    p.max_stay_arrival, p.min_stay_through, p.max_stay_through, p.physical, p.out_of_order, p.oversell, p.has_allotment, r.amount_minor,
    c.sell_limit, c.held, c.booked, c.ceiling
FROM night_plans p
JOIN night_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.room_type_id = p.room_type_id
    AND c.bucket = '00000000-0000-0000-0000-000000000000'::uuid AND c.night = p.night
LEFT JOIN night_rates r ON r.tenant_id = p.tenant_id AND r.region = p.region AND r.room_type_id = p.room_type_id AND r.night = p.night
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.room_type_id = ANY(@room_type_ids::uuid[])
    AND p.night >= @first_night::date AND p.night <= @last_night::date
ORDER BY p.night, p.room_type_id;

-- name: CalendarHouses :many
SELECT property_id, night, held, booked, ceiling
FROM house_counters
WHERE tenant_id = @tenant_id AND region = @region AND property_id = ANY(@property_ids::uuid[])
    AND night >= @first_night::date AND night <= @last_night::date
ORDER BY night, property_id;

-- name: Locate :many
-- Where in the tenant things are that somebody names: at a property, at a venue, or at a show. Only for
-- members whose roles are bound to places.
SELECT l.id, l.property_id, l.venue_id, l.show_id
FROM (
    SELECT p.id, p.id AS property_id, '00000000-0000-0000-0000-000000000000'::uuid AS venue_id, '00000000-0000-0000-0000-000000000000'::uuid AS show_id
    FROM properties p
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT r.id, r.property_id, '00000000-0000-0000-0000-000000000000'::uuid AS venue_id, '00000000-0000-0000-0000-000000000000'::uuid AS show_id
    FROM room_types r
    WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT t.id, t.property_id, '00000000-0000-0000-0000-000000000000'::uuid AS venue_id, '00000000-0000-0000-0000-000000000000'::uuid AS show_id
    FROM rate_plans t
    WHERE t.tenant_id = @tenant_id AND t.region = @region AND t.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT v.id, '00000000-0000-0000-0000-000000000000'::uuid AS property_id, v.id AS venue_id, '00000000-0000-0000-0000-000000000000'::uuid AS show_id
    FROM venues v
    WHERE v.tenant_id = @tenant_id AND v.region = @region AND v.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT e.id, '00000000-0000-0000-0000-000000000000'::uuid AS property_id, e.venue_id, '00000000-0000-0000-0000-000000000000'::uuid AS show_id
    FROM events e
    WHERE e.tenant_id = @tenant_id AND e.region = @region AND e.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT c.id, '00000000-0000-0000-0000-000000000000'::uuid AS property_id, c.venue_id, '00000000-0000-0000-0000-000000000000'::uuid AS show_id
    FROM seating_charts c
    WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT s.id, '00000000-0000-0000-0000-000000000000'::uuid AS property_id, s.venue_id, s.id AS show_id
    FROM shows s
    WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT p.id, '00000000-0000-0000-0000-000000000000'::uuid AS property_id, s.venue_id, p.show_id
    FROM pools p
    JOIN shows s ON s.tenant_id = p.tenant_id AND s.region = p.region AND s.id = p.show_id
    WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT c.id, '00000000-0000-0000-0000-000000000000'::uuid AS property_id, s.venue_id, c.show_id
    FROM presale_codes c
    JOIN shows s ON s.tenant_id = c.tenant_id AND s.region = c.region AND s.id = c.show_id
    WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT k.id, '00000000-0000-0000-0000-000000000000'::uuid AS property_id, s.venue_id, k.show_id
    FROM seat_blocks k
    JOIN shows s ON s.tenant_id = k.tenant_id AND s.region = k.region AND s.id = k.show_id
    WHERE k.tenant_id = @tenant_id AND k.region = @region AND k.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT a.id, COALESCE(a.property_id, '00000000-0000-0000-0000-000000000000'::uuid) AS property_id, COALESCE(s.venue_id, '00000000-0000-0000-0000-000000000000'::uuid) AS venue_id, COALESCE(a.show_id, '00000000-0000-0000-0000-000000000000'::uuid) AS show_id
    FROM allotments a
    LEFT JOIN shows s ON s.tenant_id = a.tenant_id AND s.region = a.region AND s.id = a.show_id
    WHERE a.tenant_id = @tenant_id AND a.region = @region AND a.id = ANY(@ids::uuid[])
    UNION ALL
    SELECT n.id, n.property_id, '00000000-0000-0000-0000-000000000000'::uuid AS venue_id, '00000000-0000-0000-0000-000000000000'::uuid AS show_id
    FROM night_edits n
    WHERE n.tenant_id = @tenant_id AND n.region = @region AND n.id = ANY(@ids::uuid[])) AS l;
