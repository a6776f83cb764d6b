-- name: EntryInsert :exec
INSERT INTO waiting_entries (tenant_id, region, id, scope_id, number, channel_id, buyer_kind, buyer_id, lines, fingerprint, state, joined_at, expires_at)
VALUES (@tenant_id, @region, @id, @scope_id, @number, @channel_id, @buyer_kind, @buyer_id, @lines, @fingerprint, 'WAITING', @joined_at, @expires_at);

-- name: EntryOfWish :many
-- The buyer's live entry for the same, if any.
SELECT id
FROM waiting_entries
WHERE tenant_id = @tenant_id AND region = @region AND buyer_id = @buyer_id AND fingerprint = @fingerprint AND state IN ('WAITING', 'OFFERED');

-- name: EntriesLive :one
-- How many of a list, and of a buyer in all lists, are not over.
SELECT (SELECT count(*) FROM waiting_entries l
        WHERE l.tenant_id = @tenant_id AND l.region = @region AND l.scope_id = @scope_id AND l.state IN ('WAITING', 'OFFERED')) AS of_list,
    (SELECT count(*) FROM waiting_entries b
        WHERE b.tenant_id = @tenant_id AND b.region = @region AND b.buyer_id = @buyer_id AND b.state IN ('WAITING', 'OFFERED')) AS of_buyer;

-- name: EntryGet :one
-- With what became of its hold, and how many wait before it.
SELECT e.id, e.scope_id, l.scope_kind, l.is_open, l.looked_at, e.number, e.channel_id, e.buyer_kind, e.buyer_id, e.lines, e.state, e.joined_at, e.expires_at, e.offered_at,
    e.hold_id, e.ended_at, e.version, h.state AS hold_state, h.claimable_at AS hold_claimable_at, h.ended_at AS hold_ended_at,
    clock_timestamp()::timestamptz AS now,
    (SELECT count(*) FROM waiting_entries o
        WHERE o.tenant_id = e.tenant_id AND o.region = e.region AND o.scope_id = e.scope_id AND o.state = 'WAITING'
            AND e.state = 'WAITING' AND o.number < e.number AND o.expires_at > clock_timestamp()) AS ahead
FROM waiting_entries e
JOIN waiting_lists l ON l.tenant_id = e.tenant_id AND l.region = e.region AND l.scope_id = e.scope_id
LEFT JOIN holds h ON h.tenant_id = e.tenant_id AND h.region = e.region AND h.id = e.hold_id
WHERE e.tenant_id = @tenant_id AND e.region = @region AND e.id = @id;

-- name: EntriesOfBuyerPage :many
SELECT e.id, e.scope_id, l.scope_kind, l.is_open, l.looked_at, e.number, e.channel_id, e.buyer_kind, e.buyer_id, e.lines, e.state, e.joined_at, e.expires_at, e.offered_at,
    e.hold_id, e.ended_at, e.version, h.state AS hold_state, h.claimable_at AS hold_claimable_at, h.ended_at AS hold_ended_at,
    clock_timestamp()::timestamptz AS now,
    (SELECT count(*) FROM waiting_entries o
        WHERE o.tenant_id = e.tenant_id AND o.region = e.region AND o.scope_id = e.scope_id AND o.state = 'WAITING'
            AND e.state = 'WAITING' AND o.number < e.number AND o.expires_at > clock_timestamp()) AS ahead
FROM waiting_entries e
JOIN waiting_lists l ON l.tenant_id = e.tenant_id AND l.region = e.region AND l.scope_id = e.scope_id
LEFT JOIN holds h ON h.tenant_id = e.tenant_id AND h.region = e.region AND h.id = e.hold_id
WHERE e.tenant_id = @tenant_id AND e.region = @region AND e.buyer_id = @buyer_id AND e.buyer_kind = @buyer_kind
    AND (e.joined_at, e.id) < (@before::timestamptz, @before_id::uuid)
ORDER BY e.joined_at DESC, e.id DESC
LIMIT @max_rows;

-- name: EntriesOfListPage :many
SELECT e.id, e.scope_id, l.scope_kind, l.is_open, l.looked_at, e.number, e.channel_id, e.buyer_kind, e.buyer_id, e.lines, e.state, e.joined_at, e.expires_at, e.offered_at,
    e.hold_id, e.ended_at, e.version, h.state AS hold_state, h.claimable_at AS hold_claimable_at, h.ended_at AS hold_ended_at,
    clock_timestamp()::timestamptz AS now,
    (SELECT count(*) FROM waiting_entries o
        WHERE o.tenant_id = e.tenant_id AND o.region = e.region AND o.scope_id = e.scope_id AND o.state = 'WAITING'
            AND e.state = 'WAITING' AND o.number < e.number AND o.expires_at > clock_timestamp()) AS ahead
FROM waiting_entries e
JOIN waiting_lists l ON l.tenant_id = e.tenant_id AND l.region = e.region AND l.scope_id = e.scope_id
LEFT JOIN holds h ON h.tenant_id = e.tenant_id AND h.region = e.region AND h.id = e.hold_id
WHERE e.tenant_id = @tenant_id AND e.region = @region AND e.scope_id = @scope_id AND e.number > @after_number
ORDER BY e.number
LIMIT @max_rows;

-- name: EntriesInLine :many
-- Those who wait, the first in line first, after a place in it.
SELECT id, number, channel_id, buyer_kind, buyer_id, lines
FROM waiting_entries
WHERE tenant_id = @tenant_id AND region = @region AND scope_id = @scope_id AND state = 'WAITING' AND number > @after_number
    AND expires_at > clock_timestamp()
ORDER BY number
LIMIT @max_rows;

-- name: EntryOffer :many
-- Nobody is offered twice, and nobody who has left.
UPDATE waiting_entries
SET state = 'OFFERED', hold_id = @hold_id, offered_at = @now::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'WAITING' AND expires_at > @now::timestamptz
RETURNING version;

-- name: EntryLeave :execrows
UPDATE waiting_entries
SET state = 'LEFT', ended_at = @now::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'WAITING';

-- name: EntriesEnded :many
-- Entries whose hold has ended, and entries that have waited until there is nothing to wait for: of each
-- place at most so many.
SELECT d.tenant_id, d.region, d.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    (SELECT w.tenant_id, w.region, w.id
        FROM waiting_entries w
        WHERE w.tenant_id = t.tenant_id AND w.region = t.region AND w.state = 'WAITING' AND w.expires_at <= @now::timestamptz
        ORDER BY w.expires_at
        LIMIT @max_entries)
    UNION ALL
    (SELECT o.tenant_id, o.region, o.id
        FROM waiting_entries o
        JOIN holds h ON h.tenant_id = o.tenant_id AND h.region = o.region AND h.id = o.hold_id
        WHERE o.tenant_id = t.tenant_id AND o.region = t.region AND o.state = 'OFFERED' AND h.state IN ('CONFIRMED', 'RELEASED', 'EXPIRED')
        ORDER BY o.offered_at
        LIMIT @max_entries)) AS d
LIMIT @max_entries;

-- name: EntriesExpire :execrows
UPDATE waiting_entries
SET state = 'EXPIRED', ended_at = expires_at, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[]) AND state = 'WAITING' AND expires_at <= @now::timestamptz;

-- name: EntriesSettle :execrows
-- What became of the hold is what became of the entry.
UPDATE waiting_entries
SET state = CASE h.state WHEN 'CONFIRMED' THEN 'SERVED' WHEN 'RELEASED' THEN 'DECLINED' ELSE 'LAPSED' END,
    ended_at = h.ended_at, version = waiting_entries.version + 1
FROM holds h
WHERE waiting_entries.tenant_id = @tenant_id AND waiting_entries.region = @region AND waiting_entries.id = ANY(@ids::uuid[])
    AND waiting_entries.state = 'OFFERED'
    AND h.tenant_id = waiting_entries.tenant_id AND h.region = waiting_entries.region AND h.id = waiting_entries.hold_id
    AND h.state IN ('CONFIRMED', 'RELEASED', 'EXPIRED');

-- name: EntriesDelete :execrows
DELETE FROM waiting_entries
WHERE waiting_entries.tenant_id = @tenant_id AND waiting_entries.region = @region AND waiting_entries.id IN (
    SELECT e.id
    FROM waiting_entries e
    WHERE e.tenant_id = @tenant_id AND e.region = @region AND e.ended_at < @before::timestamptz
    ORDER BY e.ended_at
    LIMIT @max_rows);
