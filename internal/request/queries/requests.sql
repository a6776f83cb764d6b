-- name: RequestInsert :execrows
INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id)
VALUES (@tenant_id, @region, @scope, @key, @fingerprint, @result_id)
ON CONFLICT (tenant_id, region, scope, key) DO NOTHING;

-- name: RequestGet :one
SELECT fingerprint, result_id
FROM requests
WHERE tenant_id = @tenant_id AND region = @region AND scope = @scope AND key = @key;

-- name: RequestsDelete :execrows
-- Keys that are old enough to be forgotten; requests_by_age finds them.
DELETE FROM requests
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND (scope, key) IN (
    SELECT r.scope, r.key
    FROM requests AS r
    WHERE r.tenant_id = @tenant_id::uuid AND r.region = @region::text AND r.created_at < @created_before::timestamptz
    ORDER BY r.created_at
    LIMIT @max_rows);
