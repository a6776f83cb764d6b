-- name: ProviderEventInsert :execrows
INSERT INTO provider_events (tenant_id, region, provider, event_id, type, account, attempt_id, amount_minor, currency, result, received_at,
    event_key, charge_id, refund_id, dispute_id, decline_code, fingerprint)
VALUES (@tenant_id, @region, @provider, @event_id, @type, @account, @attempt_id, @amount_minor, @currency, @result, clock_timestamp(),
    @event_key, @charge_id, @refund_id, @dispute_id, @decline_code, @fingerprint)
ON CONFLICT (tenant_id, region, provider, event_id) DO NOTHING;

-- name: ProviderEventResultSet :execrows
UPDATE provider_events
SET result = @result, tries = tries + 1, retry_at = @retry_at
WHERE tenant_id = @tenant_id AND region = @region AND provider = @provider AND event_id = @event_id;

-- name: ProviderEventLock :one
SELECT tenant_id, region, provider, event_id, type, account, attempt_id, amount_minor, currency, result, received_at, event_key, charge_id,
    refund_id, dispute_id, decline_code, fingerprint, tries, reviewed_at, reviewed_by, review_note
FROM provider_events
WHERE tenant_id = @tenant_id AND region = @region AND provider = @provider AND event_id = @event_id
FOR UPDATE;

-- name: ProviderEventsToRetry :many
SELECT e.tenant_id, e.region, e.provider, e.event_id
FROM (SELECT unnest(@tenant_ids::uuid[]) AS tenant_id, unnest(@regions::text[]) AS region) AS t
CROSS JOIN LATERAL (
    SELECT due.tenant_id, due.region, due.provider, due.event_id, due.retry_at
    FROM provider_events due
    WHERE due.tenant_id = t.tenant_id AND due.region = t.region AND due.retry_at <= @now::timestamptz
    ORDER BY due.retry_at
    LIMIT @max_events) AS e
LIMIT @max_events;

-- name: ProviderEventsToReview :many
-- Oldest first. What is still tried again by itself is not yet a person's work.
SELECT tenant_id, region, provider, event_id, type, account, attempt_id, amount_minor, currency, result, received_at, event_key, charge_id,
    refund_id, dispute_id, decline_code, fingerprint, tries, reviewed_at, reviewed_by, review_note
FROM provider_events
WHERE tenant_id = @tenant_id AND region = @region AND reviewed_at IS NULL AND result IN ('MISMATCH', 'UNMATCHED') AND retry_at IS NULL
    AND (received_at > @after::timestamptz OR (received_at = @after::timestamptz
        AND (provider > @after_provider::text OR (provider = @after_provider::text AND event_id > @after_event::text))))
ORDER BY received_at, provider, event_id
LIMIT @max_events;

-- name: ProviderEventReview :execrows
UPDATE provider_events
SET reviewed_at = @now::timestamptz, reviewed_by = @reviewed_by::uuid, review_note = @review_note, retry_at = NULL
WHERE tenant_id = @tenant_id AND region = @region AND provider = @provider AND event_id = @event_id
    AND reviewed_at IS NULL AND result IN ('MISMATCH', 'UNMATCHED');

-- name: ProviderEventsDelete :execrows
-- Events that were dealt with long ago; provider_events_by_age has only those. What a person still
-- has to look at stays.
DELETE FROM provider_events
WHERE tenant_id = @tenant_id::uuid AND region = @region::text AND (provider, event_id) IN (
    SELECT e.provider, e.event_id
    FROM provider_events AS e
    WHERE e.tenant_id = @tenant_id::uuid AND e.region = @region::text AND e.received_at < @received_before::timestamptz
        AND e.result IN ('APPLIED', 'ALREADY_KNOWN', 'IGNORED')
    ORDER BY e.received_at
    LIMIT @max_rows);
