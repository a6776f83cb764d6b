-- name: GrantsLock :many
SELECT id, show_id, session_id, expires_at, holds, used
FROM admission_grants
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@ids::uuid[])
ORDER BY id
FOR UPDATE;

-- name: GrantsUse :execrows
-- Each grant was locked and judged before; the named CHECK stands behind it.
UPDATE admission_grants
SET used = used + w.holds
FROM (SELECT unnest(@ids::uuid[]) AS id, unnest(@holds::bigint[]) AS holds) AS w
WHERE admission_grants.tenant_id = @tenant_id AND admission_grants.region = @region AND admission_grants.id = w.id;

-- name: GrantUsesInsert :execrows
INSERT INTO admission_uses (tenant_id, region, grant_id, ordinal, hold_id)
SELECT @tenant_id::uuid, @region::text, u.grant_id, u.ordinal, u.hold_id
FROM (
    SELECT unnest(@grant_ids::uuid[]) AS grant_id, unnest(@ordinals::bigint[]) AS ordinal, unnest(@hold_ids::uuid[]) AS hold_id) AS u;

-- name: GrantByTicket :one
SELECT id, show_id, session_id, issued_at, expires_at, holds, used
FROM admission_grants
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND ticket = @ticket;

-- name: GrantLive :many
-- A session has one live grant of a show at a time.
SELECT id, show_id, session_id, issued_at, expires_at, holds, used
FROM admission_grants
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id AND session_id = @session_id
    AND expires_at > @now::timestamptz AND used < holds
ORDER BY expires_at DESC
LIMIT 1;

-- name: GrantInsert :execrows
INSERT INTO admission_grants (tenant_id, region, id, show_id, ticket, session_id, issued_at, expires_at, holds)
VALUES (@tenant_id, @region, @id, @show_id, @ticket, @session_id, @issued_at, @expires_at, @holds)
ON CONFLICT (tenant_id, region, show_id, ticket) DO NOTHING;

-- name: ShowAdmissionSet :execrows
UPDATE shows
SET admission_from = sqlc.narg(admission_from), admission_until = sqlc.narg(admission_until)
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;
