-- name: CalendarNightsOf :many
SELECT night, calendar, uid, opens
FROM trade_calendar_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND night >= @first_night::date
ORDER BY night, calendar, uid;

-- name: CalendarNightsInsert :execrows
INSERT INTO trade_calendar_nights (tenant_id, region, room_type_id, night, calendar, uid, opens)
SELECT @tenant_id::uuid, @region::text, @room_type_id::uuid, n.night, @calendar::text, n.uid, n.opens
FROM (SELECT unnest(@nights::date[]) AS night, unnest(@uids::text[]) AS uid, unnest(@opens::boolean[]) AS opens) AS n;

-- name: CalendarNightsRemove :execrows
DELETE FROM trade_calendar_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND calendar = @calendar AND (night, uid) IN (
    SELECT unnest(@nights::date[]), unnest(@uids::text[]));

-- name: CalendarNightsForget :execrows
-- Nights that are past: nobody can sell them any more, so they stay as they are.
DELETE FROM trade_calendar_nights
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND night < @first_night::date;
