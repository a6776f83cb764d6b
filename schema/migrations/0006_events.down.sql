DROP TABLE IF EXISTS webhook_deliveries;
DROP TABLE IF EXISTS webhook_endpoints;
DROP INDEX IF EXISTS outbox_events_by_fan_out;
DROP INDEX IF EXISTS outbox_events_by_channel;
ALTER TABLE IF EXISTS outbox_events DROP COLUMN IF EXISTS fan_out_due_at;
ALTER TABLE IF EXISTS outbox_events DROP COLUMN IF EXISTS channel_id;
