-- name: TenantInsert :one
INSERT INTO tenants (id, name, slug, home_region, payment_provider, payment_account)
VALUES (@id::uuid, @name, @slug, @home_region, @payment_provider, @payment_account)
RETURNING id, name, slug, home_region, payment_provider, payment_account, created_at;

-- name: TenantGet :one
SELECT id, name, slug, home_region, payment_provider, payment_account, created_at
FROM tenants
WHERE id = @id::uuid;

-- name: TenantList :many
SELECT id, name, slug, home_region, payment_provider, payment_account, created_at
FROM tenants
WHERE id > @after::uuid
ORDER BY id
LIMIT @max_rows::bigint;
