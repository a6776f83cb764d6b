-- name: RequestInsert :execrows
INSERT INTO requests (tenant_id, region, scope, key, fingerprint, result_id)
VALUES (@tenant_id, @region, @scope, @key, @fingerprint, @result_id)
ON CONFLICT (tenant_id, region, scope, key) DO NOTHING;

-- name: RequestGet :one
SELECT fingerprint, result_id
FROM requests
WHERE tenant_id = @tenant_id AND region = @region AND scope = @scope AND key = @key;
