-- name: VenueInsert :one
INSERT INTO venues (tenant_id, id, region, name, time_zone, currency, country, city)
VALUES (@tenant_id::uuid, @id::uuid, @region, @name, @time_zone, @currency, @country, @city)
RETURNING tenant_id, id, region, name, time_zone, currency, country, city, created_at;

-- name: VenueGetMany :many
SELECT tenant_id, id, region, name, time_zone, currency, country, city, created_at
FROM venues
WHERE tenant_id = @tenant_id::uuid AND id = ANY(@ids::uuid[]);

-- name: VenueList :many
SELECT tenant_id, id, region, name, time_zone, currency, country, city, created_at
FROM venues
WHERE tenant_id = @tenant_id::uuid AND id > @after::uuid
    AND (NOT @limited::boolean OR id = ANY(@ids::uuid[]))
ORDER BY id
LIMIT @max_rows::bigint;
