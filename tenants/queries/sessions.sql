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
