-- name: RequestInsert :execrows
INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id)
VALUES (@tenant_id, @region, @scope, @key, @fingerprint, @result_id)
ON CONFLICT (tenant_id, region, scope, key) DO NOTHING;

-- name: RequestsInsert :many
-- The keys of several requests at once; result_id says which of them were free.
INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id)
SELECT @tenant_id::uuid, @region::text, r.scope, r.key, r.fingerprint, r.result_id
FROM (
    SELECT unnest(@scopes::text[]) AS scope, unnest(@keys::text[]) AS key, unnest(@fingerprints::bytea[]) AS fingerprint,
        unnest(@result_ids::uuid[]) AS result_id) AS r
ON CONFLICT (tenant_id, region, scope, key) DO NOTHING
RETURNING result_id;

-- name: RequestDelete :batchexec
DELETE FROM requests
WHERE tenant_id = @tenant_id AND region = @region AND scope = @scope AND key = @key AND result_id = @result_id;

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
