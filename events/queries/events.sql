-- name: EventInsert :exec
INSERT INTO outbox_events (tenant_id, region, id, channel_id, entity_kind, entity_id, version, type, occurred_at, fan_out_due_at)
VALUES (@tenant_id::uuid, @region::text, @id::uuid, sqlc.narg('channel_id')::uuid, @entity_kind::text, @entity_id::uuid, @version::bigint, @type::text,
    @occurred_at::timestamptz, sqlc.narg('fan_out_due_at')::timestamptz);

-- name: EventLock :one
SELECT region, id, channel_id, entity_kind, entity_id, version, type, occurred_at, fan_out_due_at
FROM outbox_events
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id = @id::uuid
FOR UPDATE;

-- name: EventGetMany :many
SELECT region, id, channel_id, entity_kind, entity_id, version, type, occurred_at
FROM outbox_events
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id = ANY(@ids::uuid[]);

-- name: EventUpdateFannedOut :exec
UPDATE outbox_events
SET fan_out_due_at = NULL
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND id = @id::uuid;

-- name: EventsPage :many
SELECT region, id, channel_id, entity_kind, entity_id, version, type, occurred_at
FROM outbox_events
WHERE tenant_id = @tenant_id::uuid AND region = @region::text
    AND (occurred_at > @after::timestamptz OR (occurred_at = @after::timestamptz AND id > @after_id::uuid))
    AND occurred_at < @before::timestamptz
ORDER BY occurred_at, id
LIMIT @max_rows::bigint;

-- name: EventsOfChannelPage :many
SELECT region, id, channel_id, entity_kind, entity_id, version, type, occurred_at
FROM outbox_events
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND channel_id = @channel_id::uuid
    AND (occurred_at > @after::timestamptz OR (occurred_at = @after::timestamptz AND id > @after_id::uuid))
    AND occurred_at < @before::timestamptz
ORDER BY occurred_at, id
LIMIT @max_rows::bigint;

-- name: EventsToFanOut :many
SELECT e.tenant_id, e.region, e.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT w.tenant_id, w.region, w.id, w.fan_out_due_at
    FROM outbox_events w
    WHERE w.tenant_id = t.tenant_id AND w.region = t.region AND w.fan_out_due_at <= @now::timestamptz
    ORDER BY w.fan_out_due_at
    LIMIT @max_events::bigint) AS e
ORDER BY e.fan_out_due_at
LIMIT @max_events::bigint;

-- name: EventWaitingOldest :one
-- The events that nobody has fanned out yet: since when the oldest of them waits, or now.
SELECT COALESCE(min(e.occurred_at), @now::timestamptz)::timestamptz AS oldest
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT w.occurred_at
    FROM outbox_events w
    WHERE w.tenant_id = t.tenant_id AND w.region = t.region AND w.fan_out_due_at <= @now::timestamptz
    ORDER BY w.fan_out_due_at
    LIMIT 1) AS e;

-- name: ClockGet :one
SELECT clock_timestamp()::timestamptz AS asked_at;

-- name: TenantHome :one
SELECT home_region
FROM tenants
WHERE id = @tenant_id::uuid;

-- name: EventPlaces :many
-- The tenants and regions that events can occur in; tests of an endpoint occur in the home region.
SELECT tenant_id, region FROM properties
UNION
SELECT tenant_id, region FROM venues
UNION
SELECT id AS tenant_id, home_region AS region FROM tenants
ORDER BY tenant_id, region;
