-- name: ScopeExists :one
-- Whether a list could be of this: a show or a hotel of the tenant.
SELECT EXISTS (SELECT 1 FROM shows s WHERE s.tenant_id = @tenant_id AND s.region = @region AND s.id = @id)
    OR EXISTS (SELECT 1 FROM properties p WHERE p.tenant_id = @tenant_id AND p.id = @id AND p.region = @region::text);

-- name: ListGet :one
SELECT scope_kind, is_open, offer_seconds, max_entries
FROM waiting_lists
WHERE tenant_id = @tenant_id AND region = @region AND scope_id = @scope_id;

-- name: ListLock :one
SELECT scope_kind, is_open, offer_seconds, max_entries
FROM waiting_lists
WHERE tenant_id = @tenant_id AND region = @region AND scope_id = @scope_id
FOR UPDATE;

-- name: ListInsert :execrows
INSERT INTO waiting_lists (tenant_id, region, scope_id, scope_kind, is_open, offer_seconds, max_entries, looked_at)
VALUES (@tenant_id, @region, @scope_id, @scope_kind, false, @offer_seconds, @max_entries, '2000-01-01 00:00:00+00')
ON CONFLICT (tenant_id, region, scope_id) DO NOTHING;

-- name: ListSet :execrows
UPDATE waiting_lists
SET is_open = @is_open, offer_seconds = @offer_seconds, max_entries = @max_entries
WHERE tenant_id = @tenant_id AND region = @region AND scope_id = @scope_id;

-- name: ListNext :one
-- The next place in line. Those who join a list wait for each other here.
UPDATE waiting_lists
SET last_number = last_number + 1
WHERE tenant_id = @tenant_id AND region = @region AND scope_id = @scope_id
RETURNING is_open, max_entries, last_number;

-- name: ListLook :one
-- Whoever finds that nobody has looked for a while looks; of two at once, one.
UPDATE waiting_lists
SET looked_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND scope_id = @scope_id AND is_open AND looked_at <= @before::timestamptz
RETURNING offer_seconds;

-- name: ListsToLookAt :many
-- Open lists in which somebody waits, those at which nobody has looked the longest first.
SELECT l.tenant_id, l.region, l.scope_id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT w.tenant_id, w.region, w.scope_id, w.looked_at
    FROM waiting_lists w
    WHERE w.tenant_id = t.tenant_id AND w.region = t.region AND w.is_open AND w.looked_at <= @before::timestamptz
        AND EXISTS (
            SELECT 1
            FROM waiting_entries e
            WHERE e.tenant_id = w.tenant_id AND e.region = w.region AND e.scope_id = w.scope_id AND e.state = 'WAITING')
    ORDER BY w.looked_at
    LIMIT @max_lists) AS l
ORDER BY l.looked_at
LIMIT @max_lists;

-- name: ListPlaces :many
-- Where lists can be: each tenant with the regions of its hotels and venues.
SELECT tenant_id, region FROM properties
UNION
SELECT tenant_id, region FROM venues
ORDER BY tenant_id, region;

-- name: ListCounts :one
SELECT count(*) FILTER (WHERE state = 'WAITING' AND expires_at > clock_timestamp()) AS waiting,
    count(*) FILTER (WHERE state = 'OFFERED') AS offered
FROM waiting_entries
WHERE tenant_id = @tenant_id AND region = @region AND scope_id = @scope_id AND state IN ('WAITING', 'OFFERED');

-- name: ListOldest :many
-- The first in line, if any.
SELECT joined_at
FROM waiting_entries
WHERE tenant_id = @tenant_id AND region = @region AND scope_id = @scope_id AND state = 'WAITING' AND expires_at > clock_timestamp()
ORDER BY number
LIMIT 1;

-- name: WaitingTotals :one
-- For the metrics: how many wait in all, and since when the first of them.
SELECT count(*) AS waiting, COALESCE(min(e.joined_at), clock_timestamp())::timestamptz AS oldest, clock_timestamp()::timestamptz AS now
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
JOIN waiting_entries e ON e.tenant_id = t.tenant_id AND e.region = t.region
WHERE e.state = 'WAITING';

-- name: SessionEnds :many
-- When the session of a guest ends; a partner's own customer has none.
SELECT expires_at
FROM guest_sessions
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;
