-- name: HotelCodeSet :execrows
INSERT INTO trade_hotels (tenant_id, property_id, code, standard_rate, updated_at)
VALUES (@tenant_id, @property_id, @code, @standard_rate, clock_timestamp())
ON CONFLICT (tenant_id, property_id) DO UPDATE
SET code = excluded.code, standard_rate = excluded.standard_rate, updated_at = clock_timestamp();

-- name: HotelByCode :one
SELECT h.property_id, h.code, h.standard_rate, p.region, p.currency, p.time_zone
FROM trade_hotels h
JOIN properties p ON p.tenant_id = h.tenant_id AND p.id = h.property_id
WHERE h.tenant_id = @tenant_id AND h.code = @code;

-- name: HotelCodeOf :one
SELECT p.id AS property_id, COALESCE(h.code, '')::text AS code, COALESCE(h.standard_rate, '')::text AS standard_rate, p.region, p.currency, p.time_zone
FROM properties p
LEFT JOIN trade_hotels h ON h.tenant_id = p.tenant_id AND h.property_id = p.id
WHERE p.tenant_id = @tenant_id AND p.id = @property_id;

-- name: HotelCodeLock :one
-- The hotel itself is locked: two who set its codes at once wait for each other, whether it has codes yet or not.
SELECT region
FROM properties
WHERE tenant_id = @tenant_id AND id = @property_id
FOR UPDATE;

-- name: RoomCodesOf :many
SELECT r.id AS room_type_id, r.name, r.max_guests, COALESCE(c.code, '')::text AS code
FROM room_types r
LEFT JOIN trade_room_types c ON c.tenant_id = r.tenant_id AND c.region = r.region AND c.room_type_id = r.id
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.property_id = @property_id
ORDER BY r.id;

-- name: RoomCodesRemove :execrows
DELETE FROM trade_room_types
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id;

-- name: RoomCodesInsert :execrows
INSERT INTO trade_room_types (tenant_id, region, room_type_id, property_id, code)
SELECT @tenant_id::uuid, @region::text, c.room_type_id, @property_id::uuid, c.code
FROM (SELECT unnest(@room_type_ids::uuid[]) AS room_type_id, unnest(@codes::text[]) AS code) AS c;

-- name: RatePlanCodesOf :many
SELECT id, code
FROM rate_plans
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id
ORDER BY id;

-- name: RoomTypeHotel :one
SELECT r.property_id, r.name, p.currency, p.time_zone
FROM room_types r
JOIN properties p ON p.tenant_id = r.tenant_id AND p.id = r.property_id
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.id = @id;
