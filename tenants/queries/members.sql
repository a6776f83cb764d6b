-- name: MemberVersionBump :one
-- Locks the tenant's row: changes to its members and their roles are made one after the other.
INSERT INTO member_versions (tenant_id, version)
VALUES (@tenant_id::uuid, 1)
ON CONFLICT (tenant_id) DO UPDATE
SET version = member_versions.version + 1
RETURNING version;

-- name: MemberInsert :one
INSERT INTO members (tenant_id, id, issuer, subject, email, state, channel_id)
VALUES (@tenant_id::uuid, @id::uuid, @issuer, sqlc.narg('subject')::text, @email, 'INVITED', sqlc.narg('channel_id')::uuid)
RETURNING tenant_id, id, issuer, subject, email, state, channel_id, created_at, first_seen_at, removed_at;

-- name: MemberGet :one
SELECT tenant_id, id, issuer, subject, email, state, channel_id, created_at, first_seen_at, removed_at
FROM members
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid;

-- name: MemberList :many
SELECT tenant_id, id, issuer, subject, email, state, channel_id, created_at, first_seen_at, removed_at
FROM members
WHERE tenant_id = @tenant_id::uuid AND id > @after::uuid
ORDER BY id
LIMIT @max_rows::bigint;

-- name: MemberCount :one
SELECT count(*)::bigint AS members
FROM members
WHERE tenant_id = @tenant_id::uuid AND state <> 'REMOVED';

-- name: MembersAmong :many
-- Those of some UUIDs that are members', the removed ones too.
SELECT id
FROM members
WHERE tenant_id = @tenant_id::uuid AND id = ANY(@ids::uuid[]);

-- name: MembersFind :many
-- A token names no tenant: this is the one query that finds out where its subject is a member.
SELECT m.tenant_id, m.id, m.state, m.channel_id, COALESCE(c.suspended, false) AS channel_suspended, COALESCE(v.version, 0)::bigint AS version
FROM members AS m
LEFT JOIN channels AS c ON c.tenant_id = m.tenant_id AND c.id = m.channel_id
LEFT JOIN member_versions AS v ON v.tenant_id = m.tenant_id
WHERE m.issuer = @issuer AND m.subject = @subject::text AND m.state <> 'REMOVED'
ORDER BY m.tenant_id
LIMIT 101;

-- name: MembersInvited :many
-- The same for who was invited by e-mail and has not signed in yet.
SELECT m.tenant_id, m.id
FROM members AS m
WHERE m.issuer = @issuer AND m.email = @email AND m.subject IS NULL AND m.state = 'INVITED'
ORDER BY m.tenant_id
LIMIT 101;

-- name: MemberActivate :execrows
-- The first sign-in.
UPDATE members
SET state = 'ACTIVE', subject = @subject::text, first_seen_at = clock_timestamp()
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid AND state = 'INVITED' AND (subject IS NULL OR subject = @subject::text);

-- name: MemberRemove :one
UPDATE members
SET state = 'REMOVED', removed_at = clock_timestamp()
WHERE tenant_id = @tenant_id::uuid AND id = @id::uuid AND state <> 'REMOVED'
RETURNING tenant_id, id, issuer, subject, email, state, channel_id, created_at, first_seen_at, removed_at;

-- name: OwnersBeside :one
-- Owners who have signed in, besides one member: somebody must be left to let others in.
SELECT count(*)::bigint AS owners
FROM member_bindings AS b
JOIN members AS m ON m.tenant_id = b.tenant_id AND m.id = b.member_id
WHERE b.tenant_id = @tenant_id::uuid AND b.role = 'TENANT_OWNER' AND m.state = 'ACTIVE' AND b.member_id <> @member_id::uuid;

-- name: BindingInsert :one
INSERT INTO member_bindings (tenant_id, member_id, id, role, scope_kind, scope_region, scope_id, venue_id, refund_limit_minor, refund_currency, created_by)
VALUES (@tenant_id::uuid, @member_id::uuid, @id::uuid, @role, @scope_kind, @scope_region, @scope_id::uuid, sqlc.narg('venue_id')::uuid,
    sqlc.narg('refund_limit_minor')::bigint, sqlc.narg('refund_currency')::text, @created_by::uuid)
RETURNING tenant_id, member_id, id, role, scope_kind, scope_region, scope_id, venue_id, refund_limit_minor, refund_currency, created_at, created_by;

-- name: BindingsOf :many
SELECT tenant_id, member_id, id, role, scope_kind, scope_region, scope_id, venue_id, refund_limit_minor, refund_currency, created_at, created_by
FROM member_bindings
WHERE tenant_id = @tenant_id::uuid AND member_id = ANY(@member_ids::uuid[])
ORDER BY member_id, created_at, id;

-- name: BindingDelete :one
DELETE FROM member_bindings
WHERE tenant_id = @tenant_id::uuid AND member_id = @member_id::uuid AND id = @id::uuid
RETURNING tenant_id, member_id, id, role, scope_kind, scope_region, scope_id, venue_id, refund_limit_minor, refund_currency, created_at, created_by;

-- name: BindingsDelete :execrows
DELETE FROM member_bindings
WHERE tenant_id = @tenant_id::uuid AND member_id = @member_id::uuid;

-- name: ScopeOfShow :one
-- The venue of a show to which somebody is bound.
SELECT venue_id
FROM shows
WHERE tenant_id = @tenant_id::uuid AND region = @region AND id = @id::uuid;
