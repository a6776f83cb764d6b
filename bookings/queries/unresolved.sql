-- name: UnresolvedPage :many
-- Everything about money that is open longer than it should be, or that only a person can decide.
SELECT u.reason, u.since, u.item, u.hold_id, u.attempt_id, u.refund_id, u.amount_minor, u.currency, u.provider, u.account, u.detail, u.checks
FROM (
    SELECT 'PAYMENT_OPEN' AS reason, a.created_at AS since, a.id::text AS item, a.hold_id, a.id AS attempt_id, NULL::uuid AS refund_id,
        a.amount_minor, a.currency, a.provider, a.account, a.state AS detail, a.checks
    FROM payment_attempts a
    JOIN holds h ON h.tenant_id = a.tenant_id AND h.region = a.region AND h.id = a.hold_id
    WHERE a.tenant_id = @tenant_id AND a.region = @region AND a.settled_at IS NULL
        AND (h.state <> 'PROCESSING' OR h.deadline <= @now::timestamptz)
    UNION ALL
    SELECT 'REFUND_OPEN' AS reason, r.requested_at AS since, r.id::text AS item, a.hold_id, a.id AS attempt_id, r.id AS refund_id,
        r.amount_minor, r.currency, a.provider, a.account, r.state AS detail, r.checks
    FROM refunds r
    JOIN payment_attempts a ON a.tenant_id = r.tenant_id AND a.region = r.region AND a.id = r.attempt_id
    WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.state IN ('REQUESTED', 'SUBMITTED')
        AND (r.requested_at <= @refunds_before::timestamptz OR a.disposition = 'ORPHANED')
    UNION ALL
    SELECT 'REFUND_FAILED' AS reason, f.settled_at AS since, f.id::text AS item, a.hold_id, a.id AS attempt_id, f.id AS refund_id,
        f.amount_minor, f.currency, a.provider, a.account, f.failure_code AS detail, f.checks
    FROM refunds f
    JOIN payment_attempts a ON a.tenant_id = f.tenant_id AND a.region = f.region AND a.id = f.attempt_id
    LEFT JOIN payment_reviews v ON v.tenant_id = f.tenant_id AND v.region = f.region AND v.subject_kind = 'REFUND' AND v.subject_id = f.id::text
    WHERE f.tenant_id = @tenant_id AND f.region = @region AND f.exhausted_at IS NOT NULL AND v.subject_id IS NULL
    UNION ALL
    SELECT 'EVENT_' || e.result AS reason, e.received_at AS since, e.provider || ' ' || e.event_id AS item,
        COALESCE(a.hold_id, '00000000-0000-0000-0000-000000000000'::uuid) AS hold_id, COALESCE(a.id, '00000000-0000-0000-0000-000000000000'::uuid) AS attempt_id,
        NULL::uuid AS refund_id, e.amount_minor, e.currency, e.provider, e.account, e.type AS detail, 0::bigint AS checks
    FROM provider_events e
    LEFT JOIN payment_attempts a ON a.tenant_id = e.tenant_id AND a.region = e.region AND a.id = e.attempt_id
    WHERE e.tenant_id = @tenant_id AND e.region = @region AND e.result IN ('UNMATCHED', 'MISMATCH') AND e.reviewed_at IS NULL
        AND e.retry_at IS NULL
    UNION ALL
    SELECT 'CHARGE_' || d.reason AS reason, d.found_at AS since, d.id::text AS item,
        COALESCE(a.hold_id, '00000000-0000-0000-0000-000000000000'::uuid) AS hold_id, COALESCE(d.attempt_id, '00000000-0000-0000-0000-000000000000'::uuid) AS attempt_id, NULL::uuid AS refund_id,
        d.provider_minor AS amount_minor, d.currency, d.provider, d.account, d.charge_id AS detail, 0::bigint AS checks
    FROM payment_differences d
    LEFT JOIN payment_attempts a ON a.tenant_id = d.tenant_id AND a.region = d.region AND a.id = d.attempt_id
    LEFT JOIN payment_reviews v ON v.tenant_id = d.tenant_id AND v.region = d.region AND v.subject_kind = 'DIFFERENCE' AND v.subject_id = d.id::text
    WHERE d.tenant_id = @tenant_id AND d.region = @region AND v.subject_id IS NULL) AS u
WHERE u.since > @after::timestamptz OR (u.since = @after::timestamptz AND u.item > @after_item::text)
ORDER BY u.since, u.item
LIMIT @max_rows;

-- name: ReviewableCount :one
-- Whether there is such an item in the review queue, decided or not.
SELECT
    (SELECT count(*) FROM refunds r
        WHERE @subject_kind::text = 'REFUND' AND r.tenant_id = @tenant_id AND r.region = @region AND r.state = 'FAILED' AND r.id::text = @subject_id::text)
    + (SELECT count(*) FROM payment_differences d
        WHERE @subject_kind::text = 'DIFFERENCE' AND d.tenant_id = @tenant_id AND d.region = @region AND d.id::text = @subject_id::text) AS items;

-- name: ReviewInsert :execrows
INSERT INTO payment_reviews (tenant_id, region, subject_kind, subject_id, resolved_by, note, resolved_at)
VALUES (@tenant_id, @region, @subject_kind, @subject_id, @resolved_by, @note, @resolved_at)
ON CONFLICT (tenant_id, region, subject_kind, subject_id) DO NOTHING;

-- name: ReviewGet :one
SELECT subject_kind, subject_id, resolved_by, note, resolved_at
FROM payment_reviews
WHERE tenant_id = @tenant_id AND region = @region AND subject_kind = @subject_kind AND subject_id = @subject_id;

-- name: ReviewsOfHold :many
-- What people decided about refunds of attempts.
SELECT subject_kind, subject_id, resolved_by, note, resolved_at
FROM payment_reviews
WHERE tenant_id = @tenant_id AND region = @region AND subject_kind = ANY(@subject_kinds::text[]) AND subject_id = ANY(@subject_ids::text[]);

-- name: EventsOfAttempts :many
SELECT provider, event_id, type, attempt_id, amount_minor, currency, result, received_at, reviewed_at, reviewed_by, review_note
FROM provider_events
WHERE tenant_id = @tenant_id AND region = @region AND attempt_id = ANY(@attempt_ids::uuid[])
ORDER BY received_at, event_id
LIMIT @max_rows;

-- name: OutboxOfEntity :many
SELECT entity_id, version, type, occurred_at
FROM outbox_events
WHERE tenant_id = @tenant_id AND region = @region AND entity_id = @entity_id
ORDER BY version, type
LIMIT @max_rows;
