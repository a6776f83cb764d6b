-- name: ChannelSalesGet :one
SELECT c.id, COALESCE(s.every_show, true) AS every_show, COALESCE(s.every_property, true) AS every_property,
    COALESCE(s.every_rate_plan, true) AS every_rate_plan, COALESCE(s.standard_rate, true) AS standard_rate,
    COALESCE(s.commission_basis_points, 0) AS commission_basis_points
FROM channels c
LEFT JOIN channel_sales s ON s.tenant_id = c.tenant_id AND s.channel_id = c.id
WHERE c.tenant_id = @tenant_id AND c.id = @id;

-- name: ChannelOffersList :many
SELECT kind, region, scope_id
FROM channel_offers
WHERE tenant_id = @tenant_id AND channel_id = @channel_id
ORDER BY kind, scope_id;

-- name: ChannelSalesSet :exec
INSERT INTO channel_sales (tenant_id, channel_id, every_show, every_property, every_rate_plan, standard_rate, commission_basis_points, updated_at)
VALUES (@tenant_id, @channel_id, @every_show, @every_property, @every_rate_plan, @standard_rate, @commission_basis_points, clock_timestamp())
ON CONFLICT (tenant_id, channel_id) DO UPDATE
SET every_show = excluded.every_show, every_property = excluded.every_property,
    every_rate_plan = excluded.every_rate_plan, standard_rate = excluded.standard_rate,
    commission_basis_points = excluded.commission_basis_points, updated_at = excluded.updated_at;

-- name: ChannelOffersDelete :execrows
DELETE FROM channel_offers
WHERE tenant_id = @tenant_id AND channel_id = @channel_id;

-- name: ChannelOffersInsert :execrows
INSERT INTO channel_offers (tenant_id, channel_id, kind, region, scope_id)
SELECT @tenant_id::uuid, @channel_id::uuid, o.kind, o.region, o.scope_id
FROM (SELECT unnest(@kinds::text[]) AS kind, unnest(@regions::text[]) AS region, unnest(@scope_ids::uuid[]) AS scope_id) AS o;

-- name: PropertiesExist :many
SELECT id, region
FROM properties
WHERE tenant_id = @tenant_id AND id = ANY(@ids::uuid[]);

-- name: ChannelNotSelling :many
-- Those of some shows and properties that the channel does not sell.
SELECT w.kind, w.scope_id
FROM (SELECT unnest(@kinds::text[]) AS kind, unnest(@scope_ids::uuid[]) AS scope_id) AS w
JOIN channel_sales s ON s.tenant_id = @tenant_id AND s.channel_id = @channel_id
WHERE NOT (CASE WHEN w.kind = 'SHOW' THEN s.every_show ELSE s.every_property END)
    AND NOT EXISTS (
        SELECT 1
        FROM channel_offers o
        WHERE o.tenant_id = @tenant_id AND o.channel_id = @channel_id AND o.kind = w.kind AND o.scope_id = w.scope_id);
