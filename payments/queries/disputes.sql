-- name: DisputeInsert :exec
INSERT INTO disputes (tenant_id, region, id, attempt_id, provider, provider_dispute, amount_minor, currency, state, opened_at, closed_at)
VALUES (@tenant_id, @region, @id, @attempt_id, @provider, @provider_dispute, @amount_minor, @currency, @state, @opened_at, @closed_at);

-- name: DisputeLock :one
SELECT id, attempt_id, provider_dispute, amount_minor, currency, state, opened_at, closed_at, version
FROM disputes
WHERE tenant_id = @tenant_id AND region = @region AND provider = @provider AND provider_dispute = @provider_dispute
FOR UPDATE;

-- name: DisputeClose :execrows
UPDATE disputes
SET state = @to_state, amount_minor = @amount_minor, closed_at = @closed_at::timestamptz, version = version + 1
WHERE tenant_id = @tenant_id AND region = @region AND id = @id AND state = 'OPENED';

-- name: DisputesOfAttempts :many
SELECT id, attempt_id, provider_dispute, amount_minor, currency, state, opened_at, closed_at, version
FROM disputes
WHERE tenant_id = @tenant_id AND region = ANY(@regions::text[]) AND attempt_id = ANY(@attempt_ids::uuid[])
ORDER BY opened_at, id;
