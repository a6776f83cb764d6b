-- name: RoomsInsert :execrows
INSERT INTO physical_rooms (tenant_id, region, id, property_id, room_type_id, number, floor, notes, created_at)
SELECT @tenant_id::uuid, @region::text, r.id, @property_id::uuid, r.room_type_id, r.number, r.floor, r.notes, clock_timestamp()
FROM (
    SELECT unnest(@ids::uuid[]) AS id, unnest(@room_type_ids::uuid[]) AS room_type_id, unnest(@numbers::text[]) AS number,
        unnest(@floors::text[]) AS floor, unnest(@notes::text[]) AS notes) AS r;

-- name: RoomsOfPropertyCount :one
SELECT count(*) AS rooms
FROM physical_rooms
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id;

-- name: RoomsTaken :many
-- Which of some numbers a property has already.
SELECT number
FROM physical_rooms
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND number = ANY(@numbers::text[])
ORDER BY number;

-- name: RoomsByID :many
SELECT region, id, property_id, room_type_id, number, floor, notes, state, version
FROM physical_rooms
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND id = ANY(@ids::uuid[]);

-- name: RoomLock :one
SELECT region, id, property_id, room_type_id, number, floor, notes, state, version
FROM physical_rooms
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: RoomsPage :many
SELECT region, id, property_id, room_type_id, number, floor, notes, state, version
FROM physical_rooms
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND number > @after_number
    AND (NOT @one_type::boolean OR room_type_id = @room_type_id::uuid)
ORDER BY number
LIMIT @max_rows;

-- name: RoomSet :execrows
UPDATE physical_rooms
SET room_type_id = @room_type_id, number = @number, floor = @floor, notes = @notes, state = @state, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND version = @version;

-- name: RoomUsesFrom :one
-- How many nights from a date on a room is taken for.
SELECT count(*) AS nights
FROM room_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_id = @room_id AND night >= @first_night::date;

-- name: PropertyToday :one
-- The clock and the zone by which a property knows what day it is.
SELECT clock_timestamp()::timestamptz AS now, time_zone
FROM properties
WHERE tenant_id = @tenant_id AND id = @id AND region = @region;

-- name: RoomsOutOfOrder :many
-- How many rooms of a type have a period on each of some nights.
SELECT night, count(*) AS rooms
FROM room_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND period_id IS NOT NULL
    AND night = ANY(@nights::date[])
GROUP BY night;

-- name: OutOfOrderInsert :exec
INSERT INTO out_of_order_periods (tenant_id, region, id, room_id, room_type_id, first_night, last_night, reason, created_at)
VALUES (@tenant_id, @region, @id, @room_id, @room_type_id, @first_night, @last_night, @reason, @created_at);

-- name: OutOfOrderGet :one
SELECT id, room_id, room_type_id, first_night, last_night, reason, state, version, created_at, ended_at
FROM out_of_order_periods
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: OutOfOrderSet :execrows
UPDATE out_of_order_periods
SET last_night = @last_night, state = @state, ended_at = @ended_at, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND version = @version;

-- name: OutOfOrderOfRoom :many
SELECT id, room_id, room_type_id, first_night, last_night, reason, state, version, created_at, ended_at
FROM out_of_order_periods
WHERE tenant_id = @tenant_id AND region = @region AND room_id = @room_id AND (first_night, id) > (@after_night::date, @after_id::uuid)
ORDER BY first_night, id
LIMIT @max_rows;

-- name: OutOfOrderNightsInsert :execrows
INSERT INTO room_nights (tenant_id, region, room_id, night, room_type_id, period_id)
SELECT @tenant_id::uuid, @region::text, @room_id::uuid, n.night, @room_type_id::uuid, @period_id::uuid
FROM (SELECT unnest(@nights::date[]) AS night) AS n;

-- name: OutOfOrderNightsDelete :execrows
DELETE FROM room_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_id = @room_id AND period_id = @period_id AND night >= @first_night::date;

-- name: OutOfOrderOverlaps :many
SELECT night
FROM room_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_id = @room_id AND night >= @first_night::date AND night <= @last_night::date
    AND period_id IS NOT NULL
ORDER BY night;

-- name: RoomTouch :execrows
UPDATE physical_rooms
SET version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND version = @version;

-- name: RoomsInUse :many
-- The rooms of some types that guests are put into.
SELECT region, id, property_id, room_type_id, number, floor, notes, state, version
FROM physical_rooms
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = ANY(@room_type_ids::uuid[]) AND state = 'IN_USE'
ORDER BY number;
