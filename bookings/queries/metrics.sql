-- name: OpenAttemptAges :many
-- How old the open attempts of every place are; counted are the first so many of each place.
SELECT x.state, x.age, count(*) AS attempts, min(x.created_at)::timestamptz AS oldest
FROM (
    SELECT a.state, a.age, a.created_at
    FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
    CROSS JOIN LATERAL (
        SELECT o.state, o.created_at, (CASE
            WHEN o.created_at > sqlc.arg(minute_ago)::timestamptz THEN '1m'
            WHEN o.created_at > sqlc.arg(quarter_ago)::timestamptz THEN '15m'
            WHEN o.created_at > sqlc.arg(hour_ago)::timestamptz THEN '1h'
            WHEN o.created_at > sqlc.arg(day_ago)::timestamptz THEN '1d'
            ELSE 'older' END)::text AS age
        FROM payment_attempts o
        WHERE o.tenant_id = t.tenant_id AND o.region = t.region AND o.settled_at IS NULL
        ORDER BY o.next_check_at
        LIMIT @max_rows) AS a) AS x
GROUP BY x.state, x.age;

-- name: OpenRefundAges :many
SELECT x.state, count(*) AS refunds, min(x.requested_at)::timestamptz AS oldest
FROM (
SELECT r.state, r.requested_at
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT o.state, o.requested_at
    FROM refunds o
    WHERE o.tenant_id = t.tenant_id AND o.region = t.region AND o.state IN ('REQUESTED', 'SUBMITTED')
    ORDER BY o.next_check_at
    LIMIT @max_rows) AS r) AS x
GROUP BY x.state;

-- name: RepairsSince :many
SELECT p.kind, count(*) AS repairs
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT o.kind
    FROM payment_repairs o
    WHERE o.tenant_id = t.tenant_id AND o.region = t.region AND o.repaired_at >= @since::timestamptz
    ORDER BY o.repaired_at
    LIMIT @max_rows) AS p
GROUP BY p.kind;

-- name: ReviewWaiting :many
-- What waits for a person: events, refunds that failed for good, differences.
SELECT w.kind, count(*) AS items
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT e.result AS kind
    FROM provider_events e
    WHERE e.tenant_id = t.tenant_id AND e.region = t.region AND e.result IN ('UNMATCHED', 'MISMATCH') AND e.reviewed_at IS NULL
        AND e.retry_at IS NULL
    UNION ALL
    SELECT 'REFUND_FAILED' AS kind
    FROM refunds f
    LEFT JOIN payment_reviews v ON v.tenant_id = f.tenant_id AND v.region = f.region AND v.subject_kind = 'REFUND' AND v.subject_id = f.id::text
    WHERE f.tenant_id = t.tenant_id AND f.region = t.region AND f.exhausted_at IS NOT NULL AND v.subject_id IS NULL
    UNION ALL
    SELECT 'DIFFERENCE' AS kind
    FROM payment_differences d
    LEFT JOIN payment_reviews v ON v.tenant_id = d.tenant_id AND v.region = d.region AND v.subject_kind = 'DIFFERENCE' AND v.subject_id = d.id::text
    WHERE d.tenant_id = t.tenant_id AND d.region = t.region AND v.subject_id IS NULL
    LIMIT @max_rows) AS w
GROUP BY w.kind;
