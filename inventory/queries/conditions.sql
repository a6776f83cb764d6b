-- name: PolicyStepsOfScopes :many
-- The policies of scopes with their steps in order, and the scopes' tax rates. A scope with nothing
-- set has a row of nothing.
SELECT k.scope_id::uuid AS scope_id, t.basis_points AS tax_basis_points, p.name, p.check_in_minute, s.minutes_before, s.days_before, s.local_minute,
    s.fee_kind, s.fee_basis_points, s.fee_minor, s.fee_currency
FROM (SELECT unnest(@scope_ids::uuid[]) AS scope_id) AS k
LEFT JOIN tax_rates t ON t.tenant_id = @tenant_id AND t.scope_id = k.scope_id
LEFT JOIN cancellation_policies p ON p.tenant_id = @tenant_id AND p.scope_id = k.scope_id
LEFT JOIN cancellation_steps s ON s.tenant_id = @tenant_id AND s.scope_id = p.scope_id
ORDER BY k.scope_id, s.ordinal;

-- name: PolicySet :exec
INSERT INTO cancellation_policies (tenant_id, scope_id, name, check_in_minute, updated_at)
VALUES (@tenant_id, @scope_id, @name, @check_in_minute, clock_timestamp())
ON CONFLICT (tenant_id, scope_id) DO UPDATE
SET name = excluded.name, check_in_minute = excluded.check_in_minute, updated_at = excluded.updated_at;

-- name: PolicyRemove :exec
DELETE FROM cancellation_policies
WHERE tenant_id = @tenant_id AND scope_id = @scope_id;

-- name: PolicyStepsRemove :exec
DELETE FROM cancellation_steps
WHERE tenant_id = @tenant_id AND scope_id = @scope_id;

-- name: PolicyStepsInsert :exec
-- A time that is not set comes as -1.
INSERT INTO cancellation_steps (tenant_id, scope_id, ordinal, minutes_before, days_before, local_minute, fee_kind,
    fee_basis_points, fee_minor, fee_currency)
SELECT @tenant_id::uuid, @scope_id::uuid, s.ordinal, NULLIF(s.minutes_before, -1), NULLIF(s.days_before, -1),
    NULLIF(s.local_minute, -1), s.fee_kind, s.fee_basis_points, s.fee_minor, s.fee_currency
FROM (
    SELECT unnest(@ordinals::bigint[]) AS ordinal, unnest(@minutes_befores::bigint[]) AS minutes_before,
        unnest(@days_befores::bigint[]) AS days_before, unnest(@local_minutes::bigint[]) AS local_minute,
        unnest(@fee_kinds::text[]) AS fee_kind, unnest(@fee_basis_points::bigint[]) AS fee_basis_points,
        unnest(@fee_minors::bigint[]) AS fee_minor, unnest(@fee_currencies::text[]) AS fee_currency) AS s;

-- name: TaxRateSet :exec
INSERT INTO tax_rates (tenant_id, scope_id, basis_points, updated_at)
VALUES (@tenant_id, @scope_id, @basis_points, clock_timestamp())
ON CONFLICT (tenant_id, scope_id) DO UPDATE
SET basis_points = excluded.basis_points, updated_at = excluded.updated_at;

-- name: ShowStarts :many
-- When shows begin, and by which clock.
SELECT s.id, s.venue_id, s.state, s.starts_at, s.currency, v.time_zone
FROM shows s
JOIN venues v ON v.tenant_id = s.tenant_id AND v.id = s.venue_id
WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.id = ANY(@ids::uuid[]);

-- name: PropertyZones :many
SELECT id, time_zone
FROM properties
WHERE tenant_id = @tenant_id AND id = ANY(@ids::uuid[]);
