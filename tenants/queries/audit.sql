-- name: AuditEntryInsert :exec
-- The log of changes is only ever added to. A change without a region is kept where its tenant is at
-- home.
INSERT INTO audit_entries (tenant_id, region, id, changed_at, actor, session, address, request_id, action, resource, reason, before, after)
SELECT @tenant_id::uuid,
    COALESCE(NULLIF(@region::text, ''), (SELECT t.home_region FROM tenants t WHERE t.id = @tenant_id::uuid), @nowhere::text),
    @id::uuid, clock_timestamp(), @actor::text, @session::text, @address::text, @request_id::text, @action::text, @resource::text,
    @reason::text, sqlc.narg(before)::jsonb, sqlc.narg(after)::jsonb;

-- name: AuditEntriesByTime :many
SELECT id, changed_at, actor, session, address, request_id, action, resource, reason, before, after
FROM audit_entries
WHERE tenant_id = @tenant_id AND region = @region AND changed_at >= @since::timestamptz
    AND (changed_at, id) < (@before_time::timestamptz, @before_id::uuid)
ORDER BY changed_at DESC, id DESC
LIMIT @max_rows;

-- name: AuditEntriesByResource :many
SELECT id, changed_at, actor, session, address, request_id, action, resource, reason, before, after
FROM audit_entries
WHERE tenant_id = @tenant_id AND region = @region AND resource = @resource AND changed_at >= @since::timestamptz
    AND (changed_at, id) < (@before_time::timestamptz, @before_id::uuid)
    AND (@actor::text = '' OR actor = @actor::text)
ORDER BY changed_at DESC, id DESC
LIMIT @max_rows;

-- name: AuditEntriesByActor :many
SELECT id, changed_at, actor, session, address, request_id, action, resource, reason, before, after
FROM audit_entries
WHERE tenant_id = @tenant_id AND region = @region AND actor = @actor AND changed_at >= @since::timestamptz
    AND (changed_at, id) < (@before_time::timestamptz, @before_id::uuid)
ORDER BY changed_at DESC, id DESC
LIMIT @max_rows;
