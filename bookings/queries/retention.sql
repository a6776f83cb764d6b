-- name: RetentionPlaces :many
-- Where rows can be that are kept for a time only: each tenant's home, and where it has a hotel or a
-- venue.
SELECT id AS tenant_id, home_region AS region FROM tenants
UNION
SELECT tenant_id, region FROM properties
UNION
SELECT tenant_id, region FROM venues
ORDER BY tenant_id, region;

-- name: SessionsDelete :execrows
-- Sessions that expired, but for those of a guest who still holds something.
DELETE FROM guest_sessions
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id IN (
    SELECT g.id
    FROM guest_sessions AS g
    WHERE g.tenant_id = @tenant_id::uuid AND g.region = @region::text AND g.expires_at < @expired_before::timestamptz
        AND NOT EXISTS (
            SELECT 1
            FROM holds AS h
            WHERE h.tenant_id = @tenant_id::uuid AND h.region = @region::text AND h.buyer_id = g.id AND h.buyer_kind = 'GUEST'
                AND h.state IN ('ACTIVE', 'PROCESSING'))
    ORDER BY g.expires_at
    LIMIT @max_rows);
