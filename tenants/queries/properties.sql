-- name: PropertyInsert :one
INSERT INTO properties (tenant_id, id, region, name, time_zone, currency, country, city)
VALUES (@tenant_id::uuid, @id::uuid, @region, @name, @time_zone, @currency, @country, @city)
RETURNING tenant_id, id, region, name, time_zone, currency, country, city, created_at;

-- name: PropertyGetMany :many
SELECT tenant_id, id, region, name, time_zone, currency, country, city, created_at
FROM properties
WHERE tenant_id = @tenant_id::uuid AND id = ANY(@ids::uuid[]);

-- name: PropertyList :many
SELECT tenant_id, id, region, name, time_zone, currency, country, city, created_at
FROM properties
WHERE tenant_id = @tenant_id::uuid AND id > @after::uuid
    AND (NOT @limited::boolean OR id = ANY(@ids::uuid[]))
ORDER BY id
LIMIT @max_rows::bigint;
