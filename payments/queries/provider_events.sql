-- name: ProviderEventInsert :execrows
INSERT INTO provider_events (tenant_id, region, provider, event_id, type, account, attempt_id, amount_minor, currency, result, received_at)
VALUES (@tenant_id, @region, @provider, @event_id, @type, @account, @attempt_id, @amount_minor, @currency, @result, clock_timestamp())
ON CONFLICT (tenant_id, region, provider, event_id) DO NOTHING;

-- name: ProviderEventResultSet :execrows
UPDATE provider_events
SET result = @result
WHERE tenant_id = @tenant_id AND region = @region AND provider = @provider AND event_id = @event_id;
