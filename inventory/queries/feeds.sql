-- name: SharedNightsLock :many
-- What is taken of the stock that all channels share.
SELECT night, held, booked
FROM night_counters
WHERE tenant_id = @tenant_id AND region = @region AND room_type_id = @room_type_id AND bucket = '00000000-0000-0000-0000-000000000000'::uuid
    AND night = ANY(@nights::date[])
ORDER BY night
FOR UPDATE;

-- name: PlannedNights :many
-- Nights as they are planned, with their standard rate and what is taken of the stock that all channels share.
SELECT p.room_type_id, p.night, p.physical, p.out_of_order, p.oversell, p.oversell_percent, p.stop_sell, p.closed_to_arrival, p.closed_to_departure,
    p.min_stay_arrival, p.max_stay_arrival, p.min_stay_through, p.max_stay_through, r.amount_minor,
    COALESCE(c.sell_limit, 0)::bigint AS sell_limit, COALESCE(c.held + c.booked, 0)::bigint AS taken
FROM night_plans p
LEFT JOIN night_rates r ON r.tenant_id = p.tenant_id AND r.region = p.region AND r.room_type_id = p.room_type_id AND r.night = p.night
LEFT JOIN night_counters c ON c.tenant_id = p.tenant_id AND c.region = p.region AND c.room_type_id = p.room_type_id
    AND c.bucket = '00000000-0000-0000-0000-000000000000'::uuid AND c.night = p.night
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.room_type_id = ANY(@room_type_ids::uuid[])
    AND p.night >= @first_night::date AND p.night <= @last_night::date
ORDER BY p.room_type_id, p.night
LIMIT @max_rows;
