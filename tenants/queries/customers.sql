-- name: CustomerSecretInsert :one
INSERT INTO customer_secrets (tenant_id, id, channel_id, secret)
VALUES (@tenant_id::uuid, @id::uuid, @channel_id::uuid, @secret)
RETURNING tenant_id, id, channel_id, secret, created_at, ended_at;

-- name: CustomerSecretGet :one
SELECT tenant_id, id, channel_id, secret, created_at, ended_at
FROM customer_secrets
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid;

-- name: CustomerSecretsOfChannel :many
SELECT tenant_id, id, channel_id, secret, created_at, ended_at
FROM customer_secrets
WHERE tenant_id = @tenant_id::uuid AND channel_id = @channel_id::uuid AND ended_at IS NULL
ORDER BY created_at, id
LIMIT 100;

-- name: CustomerSecretEnd :one
UPDATE customer_secrets
SET secret = '', ended_at = COALESCE(ended_at, clock_timestamp())
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid AND (NOT @one_channel::boolean OR channel_id = @channel_id::uuid)
RETURNING tenant_id, id, channel_id, secret, created_at, ended_at;

-- name: CustomerSecretFind :one
SELECT s.channel_id, s.secret, s.ended_at, t.home_region, clock_timestamp()::timestamptz AS asked_at
FROM customer_secrets AS s
JOIN tenants AS t ON t.id = s.tenant_id
WHERE s.tenant_id = @tenant_id::uuid AND s.id = @id::uuid;
