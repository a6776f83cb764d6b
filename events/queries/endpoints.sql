-- name: EndpointInsert :one
INSERT INTO webhook_endpoints (tenant_id, id, channel_id, url, description, event_types, secret, state, created_at)
VALUES (@tenant_id::uuid, @id::uuid, sqlc.narg('channel_id')::uuid, @url::text, @description::text, @event_types::text[], @secret::text, 'ENABLED', @created_at::timestamptz)
RETURNING tenant_id, id, channel_id, url, description, event_types, secret, previous_secret, previous_secret_until, state, disabled_reason, disabled_at, version, created_at, deleted_at;

-- name: EndpointGetMany :many
-- Deleted ones too: they own deliveries.
SELECT tenant_id, id, channel_id, url, description, event_types, secret, previous_secret, previous_secret_until, state, disabled_reason, disabled_at, version, created_at, deleted_at
FROM webhook_endpoints
WHERE tenant_id = @tenant_id::uuid AND id = ANY(@ids::uuid[]);

-- name: EndpointLock :one
SELECT tenant_id, id, channel_id, url, description, event_types, secret, previous_secret, previous_secret_until, state, disabled_reason, disabled_at, version, created_at, deleted_at
FROM webhook_endpoints
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid
FOR UPDATE;

-- name: EndpointUpdate :one
UPDATE webhook_endpoints
SET url = @url::text, description = @description::text, event_types = @event_types::text[], secret = @secret::text,
    previous_secret = @previous_secret::text, previous_secret_until = sqlc.narg('previous_secret_until')::timestamptz,
    state = @state::text, disabled_reason = sqlc.narg('disabled_reason')::text, disabled_at = sqlc.narg('disabled_at')::timestamptz,
    deleted_at = sqlc.narg('deleted_at')::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid
RETURNING tenant_id, id, channel_id, url, description, event_types, secret, previous_secret, previous_secret_until, state, disabled_reason, disabled_at, version, created_at, deleted_at;

-- name: EndpointUpdateGone :execrows
-- Only if it is still the address that answered.
UPDATE webhook_endpoints
SET state = 'DISABLED', disabled_reason = 'GONE', disabled_at = @now::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid AND state = 'ENABLED' AND url = @url::text;

-- name: EndpointList :many
SELECT tenant_id, id, channel_id, url, description, event_types, secret, previous_secret, previous_secret_until, state, disabled_reason, disabled_at, version, created_at, deleted_at
FROM webhook_endpoints
WHERE tenant_id = @tenant_id::uuid AND id > @after::uuid AND deleted_at IS NULL
    AND (NOT @one_channel::boolean OR channel_id = @channel_id::uuid)
ORDER BY id
LIMIT @max_rows::bigint;

-- name: EndpointCount :one
SELECT count(*)
FROM webhook_endpoints
WHERE tenant_id = @tenant_id::uuid AND channel_id IS NOT DISTINCT FROM sqlc.narg('channel_id')::uuid AND deleted_at IS NULL;

-- name: EndpointsEnabled :many
-- Those that hear of a channel's events: its own, and those of all channels.
SELECT id, channel_id, event_types, created_at
FROM webhook_endpoints
WHERE tenant_id = @tenant_id::uuid AND state = 'ENABLED' AND (channel_id IS NULL OR channel_id = sqlc.narg('channel_id')::uuid)
ORDER BY id;
