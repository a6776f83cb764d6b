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

-- name: AdmissionUsesDelete :execrows
-- Which holds took the uses of the grants that AdmissionGrantsDelete deletes next.
DELETE FROM admission_uses
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND grant_id IN (
    SELECT g.id
    FROM admission_grants AS g
    WHERE g.tenant_id = @tenant_id::uuid AND g.region = @region::text AND g.expires_at < @expired_before::timestamptz
    ORDER BY g.expires_at, g.id
    LIMIT @max_rows);

-- name: AdmissionGrantsDelete :execrows
DELETE FROM admission_grants
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id IN (
    SELECT g.id
    FROM admission_grants AS g
    WHERE g.tenant_id = @tenant_id::uuid AND g.region = @region::text AND g.expires_at < @expired_before::timestamptz
    ORDER BY g.expires_at, g.id
    LIMIT @max_rows);

-- name: WaitingRoomCountsDelete :execrows
-- How many joined a room that has closed, or at an earlier opening of it.
DELETE FROM waiting_room_counts
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND (show_id, opening, bucket, counter_id) IN (
    SELECT c.show_id, c.opening, c.bucket, c.counter_id
    FROM waiting_rooms AS r
    JOIN waiting_room_counts AS c ON c.tenant_id = r.tenant_id AND c.region = r.region AND c.show_id = r.show_id
    WHERE r.tenant_id = @tenant_id::uuid AND r.region = @region::text
        AND (c.opening < r.opening OR COALESCE(r.closed_at, r.closes_at) < @closed_before::timestamptz)
    ORDER BY c.show_id, c.opening, c.bucket, c.counter_id
    LIMIT @max_rows);
