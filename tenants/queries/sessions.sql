-- name: SessionInsert :exec
-- Inserting again after an unknown outcome changes nothing. SessionFind then gives the answer.
INSERT INTO guest_sessions (tenant_id, region, id, channel_id, secret_hash, expires_at)
VALUES (@tenant_id::uuid, @region, @id::uuid, @channel_id::uuid, @secret_hash,
    clock_timestamp() + interval '1 second' * @lifetime_seconds::float8)
ON CONFLICT (tenant_id, region, id) DO NOTHING;

-- name: SessionFind :one
SELECT channel_id, secret_hash, expires_at, clock_timestamp()::timestamptz AS asked_at
FROM guest_sessions
WHERE tenant_id = @tenant_id::uuid AND region = @region AND id = @id::uuid;

-- name: RegionFind :one
-- Whether the tenant sells in a region: its home, or where it has a hotel or a venue.
SELECT (EXISTS (SELECT 1 FROM tenants t WHERE t.id = @tenant_id AND t.home_region = @region::text)
    OR EXISTS (SELECT 1 FROM properties p WHERE p.tenant_id = @tenant_id AND p.region = @region::text)
    OR EXISTS (SELECT 1 FROM venues v WHERE v.tenant_id = @tenant_id AND v.region = @region::text))::boolean AS sells;
