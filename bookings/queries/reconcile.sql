-- name: OpenAttemptsPage :many
-- Attempts whose outcome is open, due or not, in the order of their ids.
SELECT id
FROM payment_attempts
WHERE tenant_id = @tenant_id AND region = @region AND settled_at IS NULL AND provider = ANY(@providers::text[])
    AND created_at >= @since::timestamptz AND created_at < @until::timestamptz AND id > @after_id::uuid
ORDER BY id
LIMIT @max_rows;

-- name: PaymentsNotAsked :many
-- Payments of a time whose provider this process cannot ask, open or not, by provider.
SELECT provider, count(*) AS payments, sum(CASE WHEN settled_at IS NULL THEN 1 ELSE 0 END)::bigint AS open
FROM payment_attempts
WHERE tenant_id = @tenant_id AND region = @region AND NOT provider = ANY(@providers::text[])
    AND created_at >= @since::timestamptz AND created_at < @until::timestamptz
GROUP BY provider
ORDER BY provider;

-- name: OpenRefundsPage :many
SELECT r.id
FROM refunds r
JOIN payment_attempts a ON a.tenant_id = r.tenant_id AND a.region = r.region AND a.id = r.attempt_id
WHERE r.tenant_id = @tenant_id AND r.region = @region AND r.state IN ('REQUESTED', 'SUBMITTED') AND a.provider = ANY(@providers::text[])
    AND r.requested_at >= @since::timestamptz AND r.requested_at < @until::timestamptz AND r.id > @after_id::uuid
ORDER BY r.id
LIMIT @max_rows;

-- name: PaidUnconfirmed :many
-- Money that our own rows say was taken, and for which there is neither a booking nor a refund.
SELECT a.id, a.captured_minor, a.currency
FROM payment_attempts a
LEFT JOIN bookings b ON b.tenant_id = a.tenant_id AND b.region = a.region AND b.hold_id = a.hold_id
WHERE a.tenant_id = @tenant_id AND a.region = @region AND a.state = 'SUCCEEDED'
    AND a.created_at >= @since::timestamptz AND a.created_at < @until::timestamptz
    AND ((a.disposition = 'APPLIED' AND b.id IS NULL) OR (a.disposition = 'ORPHANED' AND a.refunded_minor <> a.captured_minor))
ORDER BY a.id
LIMIT @max_rows;

-- name: ConfirmedUnpaid :many
-- A booking with a price that no payment bought.
SELECT b.id, b.total_minor, b.currency
FROM bookings b
LEFT JOIN payment_attempts a ON a.tenant_id = b.tenant_id AND a.region = b.region AND a.hold_id = b.hold_id AND a.disposition = 'APPLIED'
WHERE b.tenant_id = @tenant_id AND b.region = @region AND b.booked_at >= @since::timestamptz AND b.booked_at < @until::timestamptz
    AND b.total_minor > 0 AND (a.id IS NULL OR a.captured_minor <> b.total_minor)
ORDER BY b.id
LIMIT @max_rows;

-- name: AccountsDue :many
-- Accounts whose own list of charges is to be compared.
SELECT t.id AS tenant_id, t.home_region AS region, t.payment_provider AS provider, t.payment_account AS account,
    l.listed_since, l.list_after, l.pass_began
FROM tenants t
LEFT JOIN payment_listings l ON l.tenant_id = t.id AND l.region = t.home_region AND l.provider = t.payment_provider AND l.account = t.payment_account
WHERE t.payment_provider = ANY(@providers::text[]) AND (l.due_at IS NULL OR l.due_at <= @now::timestamptz)
ORDER BY l.due_at NULLS FIRST, t.id
LIMIT @max_rows;

-- name: Accounts :many
-- Who is paid through which account.
SELECT id AS tenant_id, home_region AS region, payment_provider AS provider, payment_account AS account
FROM tenants
WHERE (@every_tenant::boolean OR id = @tenant_id::uuid) AND id > @after_id::uuid
ORDER BY id
LIMIT @max_rows;

-- name: AccountOwner :one
SELECT id AS tenant_id, home_region AS region
FROM tenants
WHERE payment_provider = @provider AND payment_account = @account
ORDER BY id
LIMIT 1;

-- name: ListingSet :exec
INSERT INTO payment_listings (tenant_id, region, provider, account, listed_since, list_after, pass_began, due_at)
VALUES (@tenant_id, @region, @provider, @account, @listed_since, @list_after, @pass_began, @due_at)
ON CONFLICT (tenant_id, region, provider, account) DO UPDATE
SET listed_since = excluded.listed_since, list_after = excluded.list_after, pass_began = excluded.pass_began, due_at = excluded.due_at;

-- name: DifferenceInsert :execrows
INSERT INTO payment_differences (tenant_id, region, id, provider, account, charge_id, reason, attempt_id, provider_minor, our_minor, currency, found_at)
VALUES (@tenant_id, @region, @id, @provider, @account, @charge_id, @reason, @attempt_id, @provider_minor, @our_minor, @currency, clock_timestamp())
ON CONFLICT (tenant_id, region, provider, account, charge_id, reason) DO NOTHING;

-- name: DifferencesDecided :one
-- How many people have decided about this very difference.
SELECT count(*) AS decided
FROM payment_differences d
JOIN payment_reviews v ON v.tenant_id = d.tenant_id AND v.region = d.region AND v.subject_kind = 'DIFFERENCE' AND v.subject_id = d.id::text
WHERE d.tenant_id = @tenant_id AND d.region = @region AND d.provider = @provider AND d.account = @account
    AND d.charge_id = @charge_id AND d.reason = @reason;
