-- name: KeyInsert :one
INSERT INTO api_keys (id, tenant_id, channel_id, kind, mode, name, secret_hash, expires_at, allowed_origins, replaces_id)
VALUES (@id::uuid, sqlc.narg('tenant_id')::uuid, sqlc.narg('channel_id')::uuid, @kind, @mode, @name,
    @secret_hash, sqlc.narg('expires_at')::timestamptz, sqlc.narg('allowed_origins')::text[], sqlc.narg('replaces_id')::uuid)
RETURNING id, tenant_id, channel_id, kind, mode, name, secret_hash, created_at, expires_at, revoked_at, last_used_at, allowed_origins, replaces_id;

-- name: KeyGet :one
-- Platform keys belong to no tenant: a NULL stands where others have theirs.
SELECT id, tenant_id, channel_id, kind, mode, name, secret_hash, created_at, expires_at, revoked_at, last_used_at, allowed_origins, replaces_id
FROM api_keys
WHERE id = @id::uuid AND tenant_id IS NOT DISTINCT FROM sqlc.narg('tenant_id')::uuid;

-- name: KeyList :many
SELECT id, tenant_id, channel_id, kind, mode, name, secret_hash, created_at, expires_at, revoked_at, last_used_at, allowed_origins, replaces_id
FROM api_keys
WHERE tenant_id = @tenant_id::uuid AND id > @after::uuid
ORDER BY id
LIMIT @max_rows::bigint;

-- name: KeyListPlatform :many
SELECT id, tenant_id, channel_id, kind, mode, name, secret_hash, created_at, expires_at, revoked_at, last_used_at, allowed_origins, replaces_id
FROM api_keys
WHERE tenant_id IS NULL AND id > @after::uuid
ORDER BY id
LIMIT @max_rows::bigint;

-- name: KeyUpdateRevoked :one
-- The first revocation's instant stays, however often it is repeated.
UPDATE api_keys
SET revoked_at = COALESCE(revoked_at, clock_timestamp())
WHERE id = @id::uuid AND tenant_id IS NOT DISTINCT FROM sqlc.narg('tenant_id')::uuid
RETURNING id, tenant_id, channel_id, kind, mode, name, secret_hash, created_at, expires_at, revoked_at, last_used_at, allowed_origins, replaces_id;

-- name: KeyUpdateExpires :one
-- The earlier of two ends stays.
UPDATE api_keys
SET expires_at = LEAST(COALESCE(expires_at, @expires_at::timestamptz), @expires_at::timestamptz)
WHERE id = @id::uuid AND tenant_id IS NOT DISTINCT FROM sqlc.narg('tenant_id')::uuid
RETURNING id, tenant_id, channel_id, kind, mode, name, secret_hash, created_at, expires_at, revoked_at, last_used_at, allowed_origins, replaces_id;

-- name: KeyFind :one
-- A bearer names no tenant: this is the one query that finds out whose key it is.
SELECT k.tenant_id, k.channel_id, k.kind, k.mode, k.secret_hash, k.expires_at, k.revoked_at, k.last_used_at, k.allowed_origins,
    COALESCE(c.suspended, false) AS channel_suspended, clock_timestamp()::timestamptz AS asked_at
FROM api_keys AS k
LEFT JOIN channels AS c ON c.tenant_id = k.tenant_id AND c.id = k.channel_id
WHERE k.id = @id::uuid;

-- name: KeyUpdateLastUsed :execrows
UPDATE api_keys
SET last_used_at = clock_timestamp()
WHERE id = @id::uuid
  AND (last_used_at IS NULL OR last_used_at < clock_timestamp() - interval '1 second' * @interval_seconds::float8);

-- name: ClockGet :one
SELECT clock_timestamp()::timestamptz AS asked_at;
