-- name: SearchProperties :many
-- The hotels that a search is about, whether a channel sells them, and whether it sells the standard rate.
SELECT p.id, p.region, p.name, p.time_zone, p.currency, d.latitude_e6, d.longitude_e6, d.stars, d.amenities,
    w.min_advance_days, w.max_advance_days, w.cutoff_minute, COALESCE(s.standard_rate, true)::boolean AS standard_sold,
    (COALESCE(s.every_property, true) OR EXISTS (
        SELECT 1
        FROM channel_offers o
        WHERE o.tenant_id = p.tenant_id AND o.channel_id = @channel_id::uuid AND o.kind = 'PROPERTY' AND o.scope_id = p.id))::boolean AS sold
FROM properties p
LEFT JOIN property_places d ON d.tenant_id = p.tenant_id AND d.property_id = p.id
LEFT JOIN booking_windows w ON w.tenant_id = p.tenant_id AND w.region = p.region AND w.property_id = p.id
    AND w.rate_plan_id = '00000000-0000-0000-0000-000000000000'::uuid
LEFT JOIN channel_sales s ON s.tenant_id = p.tenant_id AND s.channel_id = @channel_id::uuid
WHERE p.tenant_id = @tenant_id
    AND (NOT @by_city::boolean OR (p.country = @country::text AND lower(p.city) = lower(@city::text)))
    AND (NOT @by_id::boolean OR p.id = ANY(@ids::uuid[]))
    AND (NOT @by_box::boolean OR (d.latitude_e6 BETWEEN @south_e6::bigint AND @north_e6::bigint AND d.longitude_e6 BETWEEN @west_e6::bigint AND @east_e6::bigint))
ORDER BY p.id
LIMIT @max_rows::bigint;

-- name: SearchRatePlans :many
-- The rate plans of hotels that are sold at all, and whether a channel sells them.
SELECT r.id, r.region, r.property_id, r.name, r.refundable, r.parent_id, r.derive_kind, r.derive_basis_points, r.derive_minor,
    w.min_advance_days, w.max_advance_days, w.cutoff_minute,
    (COALESCE(s.every_rate_plan, true) OR EXISTS (
        SELECT 1
        FROM channel_rate_plans o
        WHERE o.tenant_id = r.tenant_id AND o.region = r.region AND o.channel_id = @channel_id::uuid AND o.rate_plan_id = r.id))::boolean AS sold
FROM rate_plans r
LEFT JOIN booking_windows w ON w.tenant_id = r.tenant_id AND w.region = r.region AND w.property_id = r.property_id AND w.rate_plan_id = r.id
LEFT JOIN channel_sales s ON s.tenant_id = r.tenant_id AND s.channel_id = @channel_id::uuid
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.property_id = ANY(@property_ids::uuid[]) AND r.state = 'ACTIVE'
ORDER BY r.property_id, r.id;

-- name: SearchPlanNights :many
-- What rate plans say of nights, for pairs of a plan and a room type.
SELECT n.rate_plan_id, n.room_type_id, n.night, n.amount_minor, COALESCE(n.stop_sell, false)::boolean AS stop_sell,
    COALESCE(n.closed_to_arrival, false)::boolean AS closed_to_arrival, COALESCE(n.closed_to_departure, false)::boolean AS closed_to_departure,
    n.min_stay_arrival, n.max_stay_arrival, n.min_stay_through, n.max_stay_through
FROM (SELECT unnest(@plan_ids::uuid[]) AS plan_id, unnest(@room_type_ids::uuid[]) AS room_type_id) AS x
JOIN rate_plan_nights n ON n.tenant_id = @tenant_id AND n.region = @region AND n.rate_plan_id = x.plan_id AND n.room_type_id = x.room_type_id
    AND n.night >= @first_night::date AND n.night <= @last_night::date;

-- name: SearchRoomTypes :many
-- The room types of hotels in one region, by name.
SELECT t.id, t.property_id, t.name, t.max_guests
FROM room_types t
WHERE t.tenant_id = @tenant_id AND t.region = @region AND t.property_id = ANY(@property_ids::uuid[])
ORDER BY t.property_id, t.name;
