-- name: ProviderEventInsert :execrows
INSERT INTO provider_events (tenant_id, region, provider, event_id, type, account, attempt_id, amount_minor, currency, result, received_at)
VALUES (@tenant_id, @region, @provider, @event_id, @type, @account, @attempt_id, @amount_minor, @currency, @result, clock_timestamp())
ON CONFLICT (tenant_id, region, provider, event_id) DO NOTHING;

-- name: ProviderEventResultSet :execrows
UPDATE provider_events
SET result = @result
WHERE tenant_id = @tenant_id AND region = @region AND provider = @provider AND event_id = @event_id;

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
