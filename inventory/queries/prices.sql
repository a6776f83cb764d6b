-- name: PricingOfRooms :many
-- What the prices of room types are made of besides their nights, in one statement: what guests cost, the
-- bands of children, differences, charges, and how it is rounded. Each kind of row has its own numbers.
SELECT p.what::text AS what, p.owner_id, p.rate_plan_id, p.ordinal, p.name, p.kind, p.high, p.basis_points, p.amount_minor, p.extra_minor, p.included
FROM (
    SELECT 'GUESTS' AS what, g.room_type_id AS owner_id, g.rate_plan_id, g.base_occupancy AS ordinal, '' AS name, '' AS kind,
        0::bigint AS high, 0::bigint AS basis_points, g.extra_adult_minor AS amount_minor, g.single_reduction_minor AS extra_minor, FALSE AS included
    FROM guest_prices g
    WHERE g.tenant_id = @tenant_id AND g.region = @region AND g.room_type_id = ANY(@room_type_ids::uuid[])
    UNION ALL
    SELECT 'AGE', a.room_type_id, a.rate_plan_id, a.from_age, '', '', a.to_age, 0::bigint, a.amount_minor, 0::bigint, FALSE
    FROM guest_price_ages a
    WHERE a.tenant_id = @tenant_id AND a.region = @region AND a.room_type_id = ANY(@room_type_ids::uuid[])
    UNION ALL
    SELECT 'ADJUSTMENT', d.property_id, d.rate_plan_id, d.threshold, '', d.kind, 0::bigint, d.basis_points, d.amount_minor, 0::bigint, FALSE
    FROM rate_adjustments d
    WHERE d.tenant_id = @tenant_id AND d.region = @region AND d.property_id = ANY(@property_ids::uuid[])
    UNION ALL
    SELECT 'CHARGE', c.property_id, '00000000-0000-0000-0000-000000000000'::uuid, c.ordinal, c.name, c.kind, c.exempt_below, c.basis_points, c.amount_minor, 0::bigint, c.included
    FROM stay_charges c
    WHERE c.tenant_id = @tenant_id AND c.region = @region AND c.property_id = ANY(@property_ids::uuid[])
    UNION ALL
    SELECT 'TAX', t.scope_id, '00000000-0000-0000-0000-000000000000'::uuid, 0::bigint, '', '', 0::bigint, t.basis_points, 0::bigint, 0::bigint, TRUE
    FROM tax_rates t
    WHERE t.tenant_id = @tenant_id AND t.scope_id = ANY(@property_ids::uuid[])
    UNION ALL
    SELECT 'ROUNDING', r.tenant_id, '00000000-0000-0000-0000-000000000000'::uuid, 0::bigint, r.level, r.mode, 0::bigint, 0::bigint, 0::bigint, 0::bigint, FALSE
    FROM rounding_rules r
    WHERE r.tenant_id = @tenant_id) AS p
ORDER BY p.what, p.owner_id, p.rate_plan_id, p.kind, p.ordinal;

-- name: RoomTypeForPrices :one
SELECT r.property_id, r.max_guests, p.currency
FROM room_types r
JOIN properties p ON p.tenant_id = r.tenant_id AND p.id = r.property_id
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.id = @id;

-- name: PropertyOfRatePlan :one
SELECT property_id
FROM rate_plans
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: GuestPricesSet :exec
INSERT INTO guest_prices (tenant_id, region, room_type_id, rate_plan_id, base_occupancy, extra_adult_minor, single_reduction_minor, updated_at)
VALUES (@tenant_id, @region, @room_type_id, @rate_plan_id, @base_occupancy, @extra_adult_minor, @single_reduction_minor, clock_timestamp())
ON CONFLICT (tenant_id, region, room_type_id, rate_plan_id) DO UPDATE
SET base_occupancy = excluded.base_occupancy, extra_adult_minor = excluded.extra_adult_minor,
    single_reduction_minor = excluded.single_reduction_minor, updated_at = excluded.updated_at;

-- name: GuestPriceAgesDelete :exec
DELETE FROM guest_price_ages
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND rate_plan_id = @rate_plan_id;

-- name: GuestPriceAgesInsert :execrows
INSERT INTO guest_price_ages (tenant_id, region, room_type_id, rate_plan_id, from_age, to_age, amount_minor)
SELECT @tenant_id::uuid, @region::text, @room_type_id::uuid, @rate_plan_id::uuid, a.from_age, a.to_age, a.amount_minor
FROM (
    SELECT unnest(@from_ages::bigint[]) AS from_age, unnest(@to_ages::bigint[]) AS to_age, unnest(@amounts::bigint[]) AS amount_minor) AS a;

-- name: PropertyLock :one
-- Makes two who write lists of a property's prices wait for each other.
SELECT id, currency
FROM properties
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: RateAdjustmentsDelete :exec
DELETE FROM rate_adjustments
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND rate_plan_id = @rate_plan_id;

-- name: RateAdjustmentsInsert :execrows
INSERT INTO rate_adjustments (tenant_id, region, property_id, rate_plan_id, kind, threshold, basis_points, amount_minor)
SELECT @tenant_id::uuid, @region::text, @property_id::uuid, @rate_plan_id::uuid, a.kind, a.threshold, a.basis_points, a.amount_minor
FROM (
    SELECT unnest(@kinds::text[]) AS kind, unnest(@thresholds::bigint[]) AS threshold,
        unnest(@basis_points::bigint[]) AS basis_points, unnest(@amounts::bigint[]) AS amount_minor) AS a;

-- name: StayChargesDelete :exec
DELETE FROM stay_charges
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id;

-- name: StayChargesInsert :execrows
INSERT INTO stay_charges (tenant_id, region, property_id, ordinal, name, kind, included, basis_points, amount_minor, exempt_below)
SELECT @tenant_id::uuid, @region::text, @property_id::uuid, c.ordinal, c.name, c.kind, c.included, c.basis_points, c.amount_minor, c.exempt_below
FROM (
    SELECT unnest(@ordinals::bigint[]) AS ordinal, unnest(@names::text[]) AS name, unnest(@kinds::text[]) AS kind,
        unnest(@included::boolean[]) AS included, unnest(@basis_points::bigint[]) AS basis_points,
        unnest(@amounts::bigint[]) AS amount_minor, unnest(@exempt_belows::bigint[]) AS exempt_below) AS c;

-- name: RoundingRuleSet :exec
INSERT INTO rounding_rules (tenant_id, level, mode, updated_at)
VALUES (@tenant_id, @level, @mode, clock_timestamp())
ON CONFLICT (tenant_id) DO UPDATE
SET level = excluded.level, mode = excluded.mode, updated_at = excluded.updated_at;

-- name: StayPricesInsert :execrows
INSERT INTO stay_prices (tenant_id, region, hold_id, item, room_minor, added_minor, tax_minor, total_minor, tax_basis_points, detail)
SELECT @tenant_id::uuid, @region::text, p.hold_id, p.item, p.room_minor, p.added_minor, p.tax_minor, p.total_minor, p.tax_basis_points, p.detail::jsonb
FROM (
    SELECT unnest(@hold_ids::uuid[]) AS hold_id, unnest(@items::bigint[]) AS item, unnest(@room_minors::bigint[]) AS room_minor,
        unnest(@added_minors::bigint[]) AS added_minor, unnest(@tax_minors::bigint[]) AS tax_minor,
        unnest(@total_minors::bigint[]) AS total_minor, unnest(@tax_basis_points::bigint[]) AS tax_basis_points,
        unnest(@details::text[]) AS detail) AS p;

-- name: StayPricesOfHolds :many
SELECT hold_id, item, detail
FROM stay_prices
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = ANY(@hold_ids::uuid[])
ORDER BY hold_id, item;

-- name: StayPriceRemove :execrows
-- A stay that was changed is priced by its lines alone.
DELETE FROM stay_prices
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = @hold_id AND item = @item;
