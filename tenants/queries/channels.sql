-- name: ChannelInsert :one
INSERT INTO channels (tenant_id, id, name, kind)
VALUES (@tenant_id::uuid, @id::uuid, @name, @kind)
RETURNING tenant_id, id, name, kind, suspended, created_at;

-- name: ChannelGetMany :many
SELECT tenant_id, id, name, kind, suspended, created_at
FROM channels
WHERE tenant_id = @tenant_id::uuid AND id = ANY(@ids::uuid[]);

-- name: ChannelList :many
SELECT tenant_id, id, name, kind, suspended, created_at
FROM channels
WHERE tenant_id = @tenant_id::uuid AND id > @after::uuid
ORDER BY id
LIMIT @max_rows::bigint;

-- name: ChannelUpdateSuspended :one
UPDATE channels
SET suspended = @suspended
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid
RETURNING tenant_id, id, name, kind, suspended, created_at;
