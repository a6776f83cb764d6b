-- name: AdminSessionInsert :exec
-- Inserting again after an unknown outcome changes nothing. AdminSessionFind then gives the answer.
INSERT INTO admin_sessions (id, key_id, secret_hash, expires_at)
VALUES (@id::uuid, @key_id::uuid, @secret_hash, clock_timestamp() + interval '1 second' * @lifetime_seconds::float8)
ON CONFLICT (id) DO NOTHING;

-- name: AdminSessionFind :one
-- Only platform keys open sessions, so no tenant's key is ever found here.
SELECT s.key_id, s.secret_hash, s.expires_at, k.kind, k.mode, k.expires_at AS key_expires_at, k.revoked_at,
    clock_timestamp()::timestamptz AS asked_at
FROM admin_sessions AS s
JOIN api_keys AS k ON k.id = s.key_id
WHERE s.id = @id::uuid AND k.tenant_id IS NULL;

-- name: AdminSessionDelete :execrows
DELETE FROM admin_sessions
WHERE id = @id::uuid AND secret_hash = @secret_hash;

-- name: AdminSessionsDelete :execrows
DELETE FROM admin_sessions
WHERE id IN (
    SELECT s.id
    FROM admin_sessions AS s
    WHERE s.expires_at < @expired_before::timestamptz
    ORDER BY s.expires_at
    LIMIT @max_rows);
