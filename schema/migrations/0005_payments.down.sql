DROP TABLE IF EXISTS provider_events;
DROP TABLE IF EXISTS refunds;
DROP TABLE IF EXISTS payment_attempts;
