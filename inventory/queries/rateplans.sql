-- name: RatePlanInsert :exec
INSERT INTO rate_plans (tenant_id, region, id, property_id, code, name, state, refundable, parent_id, derive_kind, derive_basis_points,
    derive_minor, created_at)
VALUES (@tenant_id, @region, @id, @property_id, @code, @name, 'ACTIVE', @refundable, @parent_id, @derive_kind, @derive_basis_points,
    @derive_minor, clock_timestamp());

-- name: RatePlanUpdate :execrows
UPDATE rate_plans
SET name = @name, state = @state, refundable = @refundable, parent_id = @parent_id, derive_kind = @derive_kind,
    derive_basis_points = @derive_basis_points, derive_minor = @derive_minor
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: RatePlanLock :one
SELECT id, property_id, derive_kind
FROM rate_plans
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: RatePlanChildren :one
-- A hotel has few plans: no index is kept for this.
SELECT count(*)::bigint AS children
FROM rate_plans
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND parent_id = @parent_id::uuid;

-- name: RatePlansCount :one
SELECT count(*)::bigint AS plans
FROM rate_plans
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id;

-- name: RatePlansByID :many
SELECT r.region, r.id, r.property_id, p.currency, r.code, r.name, r.state, r.refundable, r.parent_id, r.derive_kind, r.derive_basis_points,
    r.derive_minor, r.created_at, w.min_advance_days, w.max_advance_days, w.cutoff_minute
FROM rate_plans r
JOIN properties p ON p.tenant_id = r.tenant_id AND p.id = r.property_id
LEFT JOIN booking_windows w ON w.tenant_id = r.tenant_id AND w.region = r.region AND w.property_id = r.property_id AND w.rate_plan_id = r.id
WHERE r.tenant_id = @tenant_id AND r.region = ANY(@regions::text[]) AND r.id = ANY(@ids::uuid[]);

-- name: RatePlansOfProperties :many
SELECT r.region, r.id, r.property_id, p.currency, r.code, r.name, r.state, r.refundable, r.parent_id, r.derive_kind, r.derive_basis_points,
    r.derive_minor, r.created_at, w.min_advance_days, w.max_advance_days, w.cutoff_minute
FROM rate_plans r
JOIN properties p ON p.tenant_id = r.tenant_id AND p.id = r.property_id
LEFT JOIN booking_windows w ON w.tenant_id = r.tenant_id AND w.region = r.region AND w.property_id = r.property_id AND w.rate_plan_id = r.id
WHERE r.tenant_id = @tenant_id AND r.region = ANY(@regions::text[]) AND r.property_id = ANY(@property_ids::uuid[])
ORDER BY r.property_id, r.code;

-- name: RatePlanNightsLock :many
SELECT night, amount_minor, stop_sell, closed_to_arrival, closed_to_departure, min_stay_arrival, max_stay_arrival,
    min_stay_through, max_stay_through
FROM rate_plan_nights
WHERE tenant_id = @tenant_id AND region = @region AND rate_plan_id = @rate_plan_id AND room_type_id = @room_type_id
    AND night = ANY(@nights::date[])
ORDER BY night
FOR UPDATE;

-- name: RatePlanNightsOf :many
SELECT night, amount_minor, stop_sell, closed_to_arrival, closed_to_departure, min_stay_arrival, max_stay_arrival,
    min_stay_through, max_stay_through
FROM rate_plan_nights
WHERE tenant_id = @tenant_id AND region = @region AND rate_plan_id = @rate_plan_id AND room_type_id = @room_type_id
    AND night >= @first_night::date AND night <= @last_night::date
ORDER BY night;

-- name: RatePlanNightsSet :execrows
-- A price of -1 and a length of 0 are none.
INSERT INTO rate_plan_nights (tenant_id, region, rate_plan_id, room_type_id, night, amount_minor, stop_sell, closed_to_arrival,
    closed_to_departure, min_stay_arrival, max_stay_arrival, min_stay_through, max_stay_through)
SELECT @tenant_id::uuid, @region::text, @rate_plan_id::uuid, @room_type_id::uuid, n.night, NULLIF(n.amount_minor, -1), n.stop_sell,
    n.closed_to_arrival, n.closed_to_departure, NULLIF(n.min_stay_arrival, 0), NULLIF(n.max_stay_arrival, 0),
    NULLIF(n.min_stay_through, 0), NULLIF(n.max_stay_through, 0)
FROM (
    SELECT unnest(@nights::date[]) AS night, unnest(@amounts::bigint[]) AS amount_minor, unnest(@stop_sells::boolean[]) AS stop_sell,
        unnest(@closed_to_arrivals::boolean[]) AS closed_to_arrival, unnest(@closed_to_departures::boolean[]) AS closed_to_departure,
        unnest(@min_stay_arrivals::bigint[]) AS min_stay_arrival, unnest(@max_stay_arrivals::bigint[]) AS max_stay_arrival,
        unnest(@min_stay_throughs::bigint[]) AS min_stay_through, unnest(@max_stay_throughs::bigint[]) AS max_stay_through) AS n
ON CONFLICT (tenant_id, region, rate_plan_id, room_type_id, night) DO UPDATE
SET amount_minor = excluded.amount_minor, stop_sell = excluded.stop_sell, closed_to_arrival = excluded.closed_to_arrival,
    closed_to_departure = excluded.closed_to_departure, min_stay_arrival = excluded.min_stay_arrival,
    max_stay_arrival = excluded.max_stay_arrival, min_stay_through = excluded.min_stay_through, max_stay_through = excluded.max_stay_through;

-- name: BookingWindowGet :one
SELECT min_advance_days, max_advance_days, cutoff_minute
FROM booking_windows
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND rate_plan_id = @rate_plan_id;

-- name: BookingWindowSet :exec
INSERT INTO booking_windows (tenant_id, region, property_id, rate_plan_id, min_advance_days, max_advance_days, cutoff_minute, updated_at)
VALUES (@tenant_id, @region, @property_id, @rate_plan_id, @min_advance_days, @max_advance_days, @cutoff_minute, clock_timestamp())
ON CONFLICT (tenant_id, region, property_id, rate_plan_id) DO UPDATE
SET min_advance_days = excluded.min_advance_days, max_advance_days = excluded.max_advance_days, cutoff_minute = excluded.cutoff_minute,
    updated_at = excluded.updated_at;

-- name: ChannelRatePlansList :many
SELECT region, rate_plan_id
FROM channel_rate_plans
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND channel_id = @channel_id
ORDER BY region, rate_plan_id;

-- name: ChannelRatePlansDelete :execrows
DELETE FROM channel_rate_plans
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND channel_id = @channel_id;

-- name: ChannelRatePlansInsert :execrows
INSERT INTO channel_rate_plans (tenant_id, region, channel_id, rate_plan_id)
SELECT @tenant_id::uuid, p.region, @channel_id::uuid, p.rate_plan_id
FROM (SELECT unnest(@regions::text[]) AS region, unnest(@rate_plan_ids::uuid[]) AS rate_plan_id) AS p;

-- name: PropertyRegions :many
SELECT DISTINCT region
FROM properties
WHERE tenant_id = @tenant_id
ORDER BY region;

-- name: RatePlansRefundable :many
SELECT region, id, refundable
FROM rate_plans
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND id = ANY(@ids::uuid[]);
