-- name: ShowsForClaim :many
-- What a claim must know besides the units: read, never written. not_sold_by are those of the channels
-- that do not sell the show.
SELECT s.id, s.state, s.starts_at, s.sale_opens_at, s.sale_closes_at, s.currency, (s.completed_at IS NOT NULL)::boolean AS completed,
    s.admission_from, s.admission_until,
    ARRAY(
        SELECT c.channel_id
        FROM channel_sales c
        WHERE c.tenant_id = s.tenant_id AND c.channel_id = ANY(@channel_ids::uuid[]) AND NOT c.every_show
            AND NOT EXISTS (
                SELECT 1
                FROM channel_offers o
                WHERE o.tenant_id = s.tenant_id AND o.channel_id = c.channel_id AND o.kind = 'SHOW' AND o.scope_id = s.id))::uuid[] AS not_sold_by
FROM shows s
WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.id = ANY(@ids::uuid[]);

-- name: PriceLevelsOfShows :many
SELECT show_id, id, name, amount_minor
FROM price_levels
WHERE tenant_id = @tenant_id AND region = @region AND show_id = ANY(@show_ids::uuid[]);

-- name: PoolsForClaim :many
SELECT p.id, p.show_id, p.capacity, p.shards, p.has_allotment, l.amount_minor
FROM pools p
JOIN price_levels l ON l.tenant_id = p.tenant_id AND l.region = p.region AND l.show_id = p.show_id AND l.id = p.price_level_id
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.id = ANY(@ids::uuid[]);

-- name: RoomTypesForClaim :many
SELECT r.id, r.property_id, r.max_guests, p.currency, p.time_zone, w.min_advance_days, w.max_advance_days, w.cutoff_minute,
    ARRAY(
        SELECT c.channel_id
        FROM channel_sales c
        WHERE c.tenant_id = r.tenant_id AND c.channel_id = ANY(@channel_ids::uuid[]) AND NOT c.every_property
            AND NOT EXISTS (
                SELECT 1
                FROM channel_offers o
                WHERE o.tenant_id = r.tenant_id AND o.channel_id = c.channel_id AND o.kind = 'PROPERTY' AND o.scope_id = r.property_id))::uuid[] AS not_sold_by,
    ARRAY(
        SELECT c.channel_id
        FROM channel_sales c
        WHERE c.tenant_id = r.tenant_id AND c.channel_id = ANY(@channel_ids::uuid[]) AND NOT c.standard_rate)::uuid[] AS standard_not_sold_by
FROM room_types r
JOIN properties p ON p.tenant_id = r.tenant_id AND p.id = r.property_id
LEFT JOIN booking_windows w ON w.tenant_id = r.tenant_id AND w.region = r.region AND w.property_id = r.property_id
    AND w.rate_plan_id = '00000000-0000-0000-0000-000000000000'::uuid
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.id = ANY(@ids::uuid[]);

-- name: RatePlansForClaim :many
SELECT r.id, r.property_id, r.state, r.parent_id, r.derive_kind, r.derive_basis_points, r.derive_minor,
    w.min_advance_days, w.max_advance_days, w.cutoff_minute,
    ARRAY(
        SELECT c.channel_id
        FROM channel_sales c
        WHERE c.tenant_id = r.tenant_id AND c.channel_id = ANY(@channel_ids::uuid[]) AND NOT c.every_rate_plan
            AND NOT EXISTS (
                SELECT 1
                FROM channel_rate_plans o
                WHERE o.tenant_id = r.tenant_id AND o.region = r.region AND o.channel_id = c.channel_id AND o.rate_plan_id = r.id))::uuid[] AS not_sold_by
FROM rate_plans r
LEFT JOIN booking_windows w ON w.tenant_id = r.tenant_id AND w.region = r.region AND w.property_id = r.property_id AND w.rate_plan_id = r.id
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.id = ANY(@ids::uuid[]);

-- name: NightsForClaim :batchmany
-- The nights of a room type, those of a rate plan of it, and those of the plan's parent: the plan's own id
-- tells them apart, and is zero for the room type's.
SELECT '00000000-0000-0000-0000-000000000000'::uuid AS rate_plan_id, n.night, n.stop_sell, n.closed_to_arrival, n.closed_to_departure, n.min_stay_arrival, n.max_stay_arrival,
    n.min_stay_through, n.max_stay_through, n.physical, n.out_of_order, n.oversell, n.has_allotment, r.amount_minor
FROM night_plans n
LEFT JOIN night_rates r ON r.tenant_id = n.tenant_id AND r.region = n.region AND r.room_type_id = n.room_type_id AND r.night = n.night
WHERE n.tenant_id = @tenant_id AND n.region = @region AND n.room_type_id = @room_type_id
    AND n.night >= @check_in::date AND n.night <= @check_out::date
UNION ALL
SELECT s.rate_plan_id, s.night, COALESCE(s.stop_sell, false), COALESCE(s.closed_to_arrival, false), COALESCE(s.closed_to_departure, false),
    s.min_stay_arrival, s.max_stay_arrival, s.min_stay_through, s.max_stay_through, 0::bigint, 0::bigint, 0::bigint, false, s.amount_minor
FROM rate_plans r
JOIN rate_plan_nights s ON s.tenant_id = r.tenant_id AND s.region = r.region AND s.rate_plan_id = ANY(ARRAY[r.id, r.parent_id])
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.id = @rate_plan_id AND s.room_type_id = @room_type_id
    AND s.night >= @check_in::date AND s.night <= @check_out::date
ORDER BY rate_plan_id, night;

-- name: TermsOfScopes :many
SELECT scope_id, hold_seconds, max_extensions, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline,
    max_seats_per_hold, max_quantity_per_hold, max_nights_per_stay, max_active_holds_per_buyer,
    max_active_holds_per_instrument, max_units_per_buyer, admission_required, orphan_seats, capture
FROM sales_terms
WHERE tenant_id = @tenant_id AND scope_id = ANY(@scope_ids::uuid[]);

-- name: TermsSet :exec
INSERT INTO sales_terms (tenant_id, scope_id, hold_seconds, max_extensions, max_hold_seconds, processing_seconds, grace_seconds,
    late_payment, on_decline, max_seats_per_hold, max_quantity_per_hold, max_nights_per_stay, max_active_holds_per_buyer,
    max_active_holds_per_instrument, max_units_per_buyer, admission_required, orphan_seats, capture, updated_at)
VALUES (@tenant_id, @scope_id, @hold_seconds, @max_extensions, @max_hold_seconds, @processing_seconds, @grace_seconds,
    @late_payment, @on_decline, @max_seats_per_hold, @max_quantity_per_hold, @max_nights_per_stay, @max_active_holds_per_buyer,
    @max_active_holds_per_instrument, @max_units_per_buyer, @admission_required, @orphan_seats, @capture, clock_timestamp())
ON CONFLICT (tenant_id, scope_id) DO UPDATE
SET hold_seconds = excluded.hold_seconds, max_extensions = excluded.max_extensions,
    max_hold_seconds = excluded.max_hold_seconds, processing_seconds = excluded.processing_seconds,
    grace_seconds = excluded.grace_seconds, late_payment = excluded.late_payment, on_decline = excluded.on_decline,
    max_seats_per_hold = excluded.max_seats_per_hold, max_quantity_per_hold = excluded.max_quantity_per_hold,
    max_nights_per_stay = excluded.max_nights_per_stay, max_active_holds_per_buyer = excluded.max_active_holds_per_buyer,
    max_active_holds_per_instrument = excluded.max_active_holds_per_instrument,
    max_units_per_buyer = excluded.max_units_per_buyer,
    admission_required = excluded.admission_required, orphan_seats = excluded.orphan_seats,
    capture = excluded.capture, updated_at = excluded.updated_at;
