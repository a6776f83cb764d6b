DROP INDEX IF EXISTS provider_events_to_review;
DROP INDEX IF EXISTS provider_events_to_retry;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS review_note;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS reviewed_by;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS reviewed_at;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS retry_at;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS tries;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS fingerprint;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS decline_code;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS dispute_id;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS refund_id;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS charge_id;
ALTER TABLE IF EXISTS provider_events DROP COLUMN IF EXISTS event_key;

DROP TABLE IF EXISTS disputes;

-- What is reserved is asked about again.
UPDATE payment_attempts SET state = 'UNKNOWN' WHERE state = 'AUTHORIZED';
CREATE UNIQUE INDEX IF NOT EXISTS payment_attempts_one_open ON payment_attempts (tenant_id, region, hold_id)
    WHERE state IN ('CREATED', 'SUBMITTED', 'UNKNOWN');
CREATE INDEX IF NOT EXISTS payment_attempts_open ON payment_attempts (tenant_id, region, next_check_at)
    WHERE state IN ('CREATED', 'SUBMITTED', 'UNKNOWN');
DROP INDEX IF EXISTS payment_attempts_by_charge;
DROP INDEX IF EXISTS payment_attempts_unsettled;
DROP INDEX IF EXISTS payment_attempts_one_unsettled;
ALTER TABLE IF EXISTS payment_attempts DROP CONSTRAINT IF EXISTS payment_attempts_state;
ALTER TABLE IF EXISTS payment_attempts ADD CONSTRAINT payment_attempts_state
    CHECK (state IN ('CREATED', 'SUBMITTED', 'UNKNOWN', 'SUCCEEDED', 'DECLINED'));
ALTER TABLE IF EXISTS payment_attempts DROP CONSTRAINT IF EXISTS payment_attempts_known_state;
ALTER TABLE IF EXISTS payment_attempts DROP COLUMN IF EXISTS lost_minor;
ALTER TABLE IF EXISTS payment_attempts DROP COLUMN IF EXISTS disputed_minor;
ALTER TABLE IF EXISTS payment_attempts DROP COLUMN IF EXISTS pay_until;
ALTER TABLE IF EXISTS payment_attempts DROP COLUMN IF EXISTS redirect_url;
ALTER TABLE IF EXISTS payment_attempts DROP COLUMN IF EXISTS return_url;
ALTER TABLE IF EXISTS payment_attempts DROP COLUMN IF EXISTS capture;
ALTER TABLE IF EXISTS holds DROP COLUMN IF EXISTS capture;
ALTER TABLE IF EXISTS sales_terms DROP COLUMN IF EXISTS capture;
