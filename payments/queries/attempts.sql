-- name: AttemptInsert :exec
INSERT INTO payment_attempts (tenant_id, region, id, hold_id, provider, account, method_token, instrument_fingerprint,
    capture, return_url, pay_until, amount_minor, currency, state, created_at, next_check_at)
VALUES (@tenant_id, @region, @id, @hold_id, @provider, @account, @method_token, @instrument_fingerprint,
    @capture, @return_url, @pay_until, @amount_minor, @currency, 'CREATED', @created_at, @next_check_at);

-- name: AttemptGet :one
SELECT id, hold_id, provider, account, method_token, instrument_fingerprint, amount_minor, currency, state, disposition,
    decline_code, provider_charge, captured_minor, refunded_minor, checks, next_check_at, created_at, submitted_at,
    settled_at, version, capture, return_url, redirect_url, pay_until, disputed_minor, lost_minor
FROM payment_attempts
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: AttemptLock :one
SELECT id, hold_id, provider, account, method_token, instrument_fingerprint, amount_minor, currency, state, disposition,
    decline_code, provider_charge, captured_minor, refunded_minor, checks, next_check_at, created_at, submitted_at,
    settled_at, version, capture, return_url, redirect_url, pay_until, disputed_minor, lost_minor
FROM payment_attempts
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
FOR UPDATE;

-- name: AttemptsOfHold :many
SELECT id, hold_id, provider, account, method_token, instrument_fingerprint, amount_minor, currency, state, disposition,
    decline_code, provider_charge, captured_minor, refunded_minor, checks, next_check_at, created_at, submitted_at,
    settled_at, version, capture, return_url, redirect_url, pay_until, disputed_minor, lost_minor
FROM payment_attempts
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = @hold_id
ORDER BY created_at, id;

-- name: AttemptsOpenOfInstrument :one
-- Written as NOT IN so that no planner takes the index of open attempts for it: that index is a page
-- or two, which every payment writes, and a serializable reader of it conflicts with all of them.
SELECT count(*)
FROM payment_attempts
WHERE tenant_id = @tenant_id AND region = @region AND instrument_fingerprint = @instrument_fingerprint
    AND created_at > @since::timestamptz AND state NOT IN ('SUCCEEDED', 'DECLINED');

-- name: AttemptSubmit :execrows
UPDATE payment_attempts
SET state = 'SUBMITTED', submitted_at = @now::timestamptz, next_check_at = @next_check_at::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'CREATED';

-- name: AttemptCheckLater :execrows
UPDATE payment_attempts
SET state = @to_state, redirect_url = @redirect_url, next_check_at = @next_check_at::timestamptz, checks = checks + 1,
    version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = ANY(@from_states::text[]);

-- name: AttemptAuthorize :execrows
UPDATE payment_attempts
SET state = 'AUTHORIZED', provider_charge = @provider_charge, instrument_fingerprint = @instrument_fingerprint, redirect_url = '',
    next_check_at = @next_check_at::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state IN ('CREATED', 'SUBMITTED', 'UNKNOWN');

-- name: AttemptSucceed :execrows
-- A success overwrites a decline: whatever was said before, the money was taken.
UPDATE payment_attempts
SET state = 'SUCCEEDED', disposition = @disposition::text, provider_charge = @provider_charge, captured_minor = @captured_minor,
    instrument_fingerprint = @instrument_fingerprint, decline_code = '', redirect_url = '',
    settled_at = @now::timestamptz, next_check_at = NULL, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state <> 'SUCCEEDED';

-- name: AttemptDecline :execrows
UPDATE payment_attempts
SET state = 'DECLINED', decline_code = @decline_code, redirect_url = '', settled_at = @now::timestamptz, next_check_at = NULL,
    version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state IN ('CREATED', 'SUBMITTED', 'UNKNOWN', 'AUTHORIZED');

-- name: AttemptRefundedAdd :execrows
-- What a lost dispute has taken is not given back once more.
UPDATE payment_attempts
SET refunded_minor = refunded_minor + sqlc.arg(amount_minor)::bigint, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id
    AND (sqlc.arg(amount_minor)::bigint <= 0 OR refunded_minor + sqlc.arg(amount_minor)::bigint + lost_minor <= captured_minor);

-- name: AttemptDisputedAdd :execrows
UPDATE payment_attempts
SET disputed_minor = disputed_minor + sqlc.arg(disputed_minor)::bigint, lost_minor = lost_minor + sqlc.arg(lost_minor)::bigint, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: AttemptsByCharge :many
SELECT a.tenant_id, a.region, a.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT p.tenant_id, p.region, p.id
    FROM payment_attempts p
    WHERE p.tenant_id = t.tenant_id AND p.region = t.region AND p.provider_charge = @provider_charge
        AND p.provider = @provider AND p.account = @account
    LIMIT 2) AS a
LIMIT 2;

-- name: AttemptsDue :many
-- The oldest of all places: the open payments of one tenant must not keep those of others waiting.
SELECT a.tenant_id, a.region, a.id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT due.tenant_id, due.region, due.id, due.next_check_at
    FROM payment_attempts due
    WHERE due.tenant_id = t.tenant_id AND due.region = t.region AND due.settled_at IS NULL
        AND due.next_check_at <= @now::timestamptz AND due.provider = ANY(@providers::text[])
    ORDER BY due.next_check_at
    LIMIT @max_attempts) AS a
ORDER BY a.next_check_at
LIMIT @max_attempts;

-- name: AttemptsByID :many
SELECT id, hold_id, provider, account, method_token, instrument_fingerprint, amount_minor, currency, state, disposition,
    decline_code, provider_charge, captured_minor, refunded_minor, checks, next_check_at, created_at, submitted_at,
    settled_at, version, capture, return_url, redirect_url, pay_until, disputed_minor, lost_minor
FROM payment_attempts
WHERE tenant_id = @tenant_id AND region = @region AND id = ANY(@attempt_ids::uuid[]);

-- name: AttemptsRefunded :many
-- What was given back of the payments that bought bookings.
SELECT region, hold_id, refunded_minor, currency
FROM payment_attempts
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND hold_id = ANY(@hold_ids::uuid[]) AND disposition = 'APPLIED';
