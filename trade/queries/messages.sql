-- name: MessageInsert :exec
INSERT INTO trade_messages (tenant_id, region, id, property_id, kind, author, echo_token, time_stamp, nights, warnings, answer, created_at)
VALUES (@tenant_id, @region, @id, @property_id, @kind, @author, @echo_token, @time_stamp, @nights, @warnings, @answer, clock_timestamp());

-- name: MessageAnswer :one
SELECT answer
FROM trade_messages
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: MessagesPage :many
SELECT id, kind, author, echo_token, time_stamp, nights, warnings, created_at
FROM trade_messages
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id
    AND (created_at, id) < (@before_time::timestamptz, @before_id::uuid)
ORDER BY created_at DESC, id DESC
LIMIT @max_rows;

-- name: MessagesPast :many
SELECT id
FROM trade_messages
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND created_at < @created_before::timestamptz
ORDER BY created_at DESC, id DESC
LIMIT @max_rows;

-- name: MessagesRemove :execrows
DELETE FROM trade_messages
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]);
