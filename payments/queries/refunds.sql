-- name: RefundInsert :execrows
INSERT INTO refunds (tenant_id, region, id, attempt_id, action, reason, amount_minor, currency, state, requested_at, next_check_at)
VALUES (@tenant_id, @region, @id, @attempt_id, @action, @reason, @amount_minor, @currency, 'REQUESTED', @requested_at, @next_check_at)
ON CONFLICT (tenant_id, region, attempt_id, action) DO NOTHING;

-- name: RefundByAction :one
SELECT id, attempt_id, action, reason, amount_minor, currency, state, provider_refund, failure_code, checks, requested_at,
    settled_at, version, exhausted_at
FROM refunds
WHERE tenant_id = @tenant_id AND region = @region AND attempt_id = @attempt_id AND action = @action;

-- name: RefundLock :one
SELECT id, attempt_id, action, reason, amount_minor, currency, state, provider_refund, failure_code, checks, requested_at,
    settled_at, version, exhausted_at
FROM refunds
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: RefundGet :one
SELECT id, attempt_id, action, reason, amount_minor, currency, state, provider_refund, failure_code, checks, requested_at,
    settled_at, version, exhausted_at
FROM refunds
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: RefundsOfAttempts :many
SELECT id, attempt_id, action, reason, amount_minor, currency, state, provider_refund, failure_code, checks, requested_at,
    settled_at, version, exhausted_at
FROM refunds
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND attempt_id = ANY(@attempt_ids::uuid[])
ORDER BY requested_at, id;

-- name: RefundSubmit :execrows
UPDATE refunds
SET state = 'SUBMITTED', next_check_at = @next_check_at::timestamptz, checks = checks + 1, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state IN ('REQUESTED', 'SUBMITTED');

-- name: RefundPostpone :execrows
UPDATE refunds
SET next_check_at = @next_check_at::timestamptz, checks = checks + 1, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'REQUESTED';

-- name: RefundSettle :execrows
UPDATE refunds
SET state = @to_state, provider_refund = @provider_refund, failure_code = @failure_code, settled_at = @now::timestamptz,
    next_check_at = NULL, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state IN ('REQUESTED', 'SUBMITTED');

-- name: RefundsDue :many
-- The oldest of all places: the refunds of one tenant must not keep those of others waiting.
SELECT r.tenant_id, r.region, r.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT due.tenant_id, due.region, due.id, due.next_check_at
    FROM refunds due
    JOIN payment_attempts paid ON paid.tenant_id = due.tenant_id AND paid.region = due.region AND paid.id = due.attempt_id
    WHERE due.tenant_id = t.tenant_id AND due.region = t.region AND due.state IN ('REQUESTED', 'SUBMITTED')
        AND due.next_check_at <= @now::timestamptz AND paid.provider = ANY(@providers::text[])
    ORDER BY due.next_check_at
    LIMIT @max_refunds) AS r
ORDER BY r.next_check_at
LIMIT @max_refunds;

-- name: RefundExhaust :execrows
UPDATE refunds
SET exhausted_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'FAILED';

-- name: RefundResume :execrows
UPDATE refunds
SET exhausted_at = NULL
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'FAILED' AND exhausted_at IS NOT NULL;

-- name: RefundsExhausted :many
-- The longest waiting first.
SELECT r.id, r.attempt_id, r.action, r.reason, r.amount_minor, r.currency, r.state, r.provider_refund, r.failure_code, r.checks,
    r.requested_at, r.settled_at, r.version, r.exhausted_at, a.hold_id
FROM refunds r
JOIN payment_attempts a ON a.tenant_id = r.tenant_id AND a.region = r.region AND a.id = r.attempt_id
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.exhausted_at IS NOT NULL
    AND (r.exhausted_at > @after::timestamptz OR (r.exhausted_at = @after::timestamptz AND r.id > @after_id::uuid))
ORDER BY r.exhausted_at, r.id
LIMIT @max_rows;
