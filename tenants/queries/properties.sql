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

-- name: PlaceSet :exec
INSERT INTO property_places (tenant_id, property_id, latitude_e6, longitude_e6, stars, amenities, updated_at)
VALUES (@tenant_id::uuid, @property_id::uuid, sqlc.narg(latitude_e6)::bigint, sqlc.narg(longitude_e6)::bigint, sqlc.narg(stars)::bigint, @amenities::text[], clock_timestamp())
ON CONFLICT (tenant_id, property_id) DO UPDATE
SET latitude_e6 = excluded.latitude_e6, longitude_e6 = excluded.longitude_e6, stars = excluded.stars, amenities = excluded.amenities,
    updated_at = excluded.updated_at;

-- name: PlaceGetMany :many
SELECT property_id, latitude_e6, longitude_e6, stars, amenities
FROM property_places
WHERE tenant_id = @tenant_id::uuid AND property_id = ANY(@ids::uuid[]);
