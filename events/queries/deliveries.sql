-- name: DeliveriesInsert :many
INSERT INTO webhook_deliveries (tenant_id, region, id, event_id, endpoint_id, state, created_at, opened_at, next_attempt_at)
SELECT @tenant_id::uuid, @region::text, n.id, @event_id::uuid, n.endpoint_id, 'PENDING', @now::timestamptz, @now::timestamptz, @now::timestamptz
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@endpoint_ids::uuid[]) AS endpoint_id) AS n
ON CONFLICT (tenant_id, region, event_id, endpoint_id) DO NOTHING
RETURNING endpoint_id;

-- name: DeliveriesReopen :execrows
-- A replay: what was delivered or has failed is due again, with all its tries before it.
INSERT INTO webhook_deliveries (tenant_id, region, id, event_id, endpoint_id, state, created_at, opened_at, next_attempt_at)
SELECT @tenant_id::uuid, @region::text, n.id, n.event_id, @endpoint_id::uuid, 'PENDING', @now::timestamptz, @now::timestamptz, @now::timestamptz
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@event_ids::uuid[]) AS event_id) AS n
ON CONFLICT (tenant_id, region, event_id, endpoint_id) DO UPDATE
SET state = 'PENDING', attempts = 0, opened_at = excluded.opened_at, next_attempt_at = excluded.next_attempt_at,
    last_attempt_at = NULL, last_status = NULL, last_error = '', settled_at = NULL;

-- name: DeliveryDueLock :one
SELECT id, event_id, attempts, opened_at
FROM webhook_deliveries
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND endpoint_id = @endpoint_id::uuid AND state = 'PENDING'
    AND next_attempt_at <= @now::timestamptz
ORDER BY next_attempt_at
LIMIT 1
FOR UPDATE;

-- name: DeliveryUpdateClaimed :exec
UPDATE webhook_deliveries
SET attempts = attempts + 1, last_attempt_at = @now::timestamptz, next_attempt_at = @due_again_at::timestamptz
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id = @id::uuid;

-- name: DeliveryUpdateRetry :execrows
UPDATE webhook_deliveries
SET next_attempt_at = @next_attempt_at::timestamptz, last_status = sqlc.narg('last_status')::bigint, last_error = @last_error::text
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id = @id::uuid AND state = 'PENDING' AND attempts = @attempts::bigint;

-- name: DeliveryUpdateSettled :execrows
UPDATE webhook_deliveries
SET state = @state::text, next_attempt_at = NULL, settled_at = @now::timestamptz, last_status = sqlc.narg('last_status')::bigint, last_error = @last_error::text
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id = @id::uuid AND state = 'PENDING' AND attempts = @attempts::bigint;

-- name: DeliveriesUpdateAbandoned :execrows
UPDATE webhook_deliveries
SET state = 'FAILED', next_attempt_at = NULL, settled_at = @now::timestamptz, last_error = @last_error::text
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id IN (
    SELECT d.id
    FROM webhook_deliveries d
    WHERE d.tenant_id = @tenant_id::uuid AND d.region = @region::text AND d.endpoint_id = @endpoint_id::uuid AND d.state = 'PENDING'
        AND d.next_attempt_at <= @now::timestamptz
    ORDER BY d.next_attempt_at
    LIMIT @max_rows::bigint);

-- name: DeliveryGet :one
SELECT d.region, d.id, d.endpoint_id, d.state, d.attempts, d.created_at, d.opened_at, d.next_attempt_at, d.last_attempt_at, d.last_status, d.last_error, d.settled_at,
    e.id AS event_id, e.channel_id, e.entity_kind, e.entity_id, e.version, e.type, e.occurred_at
FROM webhook_deliveries d
JOIN outbox_events e ON e.tenant_id = d.tenant_id AND e.region = d.region AND e.id = d.event_id
WHERE d.tenant_id = @tenant_id::uuid AND d.region = @region::text AND d.event_id = @event_id::uuid AND d.endpoint_id = @endpoint_id::uuid;

-- name: DeliveriesPage :many
SELECT d.region, d.id, d.endpoint_id, d.state, d.attempts, d.created_at, d.opened_at, d.next_attempt_at, d.last_attempt_at, d.last_status, d.last_error, d.settled_at,
    e.id AS event_id, e.channel_id, e.entity_kind, e.entity_id, e.version, e.type, e.occurred_at
FROM webhook_deliveries d
JOIN outbox_events e ON e.tenant_id = d.tenant_id AND e.region = d.region AND e.id = d.event_id
WHERE d.tenant_id = @tenant_id::uuid AND d.region = @region::text AND d.endpoint_id = @endpoint_id::uuid
    AND (d.created_at < @before::timestamptz OR (d.created_at = @before::timestamptz AND d.id < @before_id::uuid))
ORDER BY d.created_at DESC, d.id DESC
LIMIT @max_rows::bigint;

-- name: DeliveriesOfStatePage :many
SELECT d.region, d.id, d.endpoint_id, d.state, d.attempts, d.created_at, d.opened_at, d.next_attempt_at, d.last_attempt_at, d.last_status, d.last_error, d.settled_at,
    e.id AS event_id, e.channel_id, e.entity_kind, e.entity_id, e.version, e.type, e.occurred_at
FROM webhook_deliveries d
JOIN outbox_events e ON e.tenant_id = d.tenant_id AND e.region = d.region AND e.id = d.event_id
WHERE d.tenant_id = @tenant_id::uuid AND d.region = @region::text AND d.endpoint_id = @endpoint_id::uuid AND d.state = @state::text
    AND (d.created_at < @before::timestamptz OR (d.created_at = @before::timestamptz AND d.id < @before_id::uuid))
ORDER BY d.created_at DESC, d.id DESC
LIMIT @max_rows::bigint;

-- name: LanesDue :many
-- The endpoints that have something due in a region, with the oldest of it. An endpoint with many
-- counts as much as one with a single delivery. Deleted ones are looked at for a while: what was
-- under way when they went has to end.
SELECT p.tenant_id, t.region::text AS region, p.id AS endpoint_id, oldest.next_attempt_at
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
JOIN webhook_endpoints p ON p.tenant_id = t.tenant_id AND (p.deleted_at IS NULL OR p.deleted_at > @deleted_after::timestamptz)
CROSS JOIN LATERAL (
    SELECT d.next_attempt_at
    FROM webhook_deliveries d
    WHERE d.tenant_id = t.tenant_id AND d.region = t.region AND d.endpoint_id = p.id AND d.state = 'PENDING'
        AND d.next_attempt_at <= @now::timestamptz
    ORDER BY d.next_attempt_at
    LIMIT 1) AS oldest
ORDER BY oldest.next_attempt_at
LIMIT @max_lanes::bigint;

-- name: DeliveriesDelete :execrows
DELETE FROM webhook_deliveries
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id IN (
    SELECT d.id
    FROM webhook_deliveries d
    WHERE d.tenant_id = @tenant_id::uuid AND d.region = @region::text AND d.settled_at < @before::timestamptz
    ORDER BY d.settled_at
    LIMIT @max_rows::bigint);

-- name: EventsDelete :execrows
-- Events that happened long ago, were fanned out, and have no delivery any more; outbox_events_by_time
-- finds them.
DELETE FROM outbox_events
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id IN (
    SELECT e.id
    FROM outbox_events AS e
    WHERE e.tenant_id = @tenant_id::uuid AND e.region = @region::text AND e.occurred_at < @occurred_before::timestamptz
        AND e.fan_out_due_at IS NULL
        AND NOT EXISTS (
            SELECT 1
            FROM webhook_deliveries AS d
            WHERE d.tenant_id = @tenant_id::uuid AND d.region = @region::text AND d.event_id = e.id)
    ORDER BY e.occurred_at
    LIMIT @max_rows::bigint);
