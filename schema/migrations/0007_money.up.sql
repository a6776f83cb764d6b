-- The rest of the payment saga: reservations that are captured later, pages of the provider on which
-- buyers pay, disputes, and provider events that wait for their payment or for a person.

ALTER TABLE IF EXISTS sales_terms ADD COLUMN IF NOT EXISTS capture text CONSTRAINT sales_terms_capture CHECK (capture IN ('AUTOMATIC', 'MANUAL'));
ALTER TABLE IF EXISTS holds ADD COLUMN IF NOT EXISTS capture text NOT NULL DEFAULT 'AUTOMATIC'
    CONSTRAINT holds_capture CHECK (capture IN ('AUTOMATIC', 'MANUAL'));

ALTER TABLE IF EXISTS payment_attempts ADD COLUMN IF NOT EXISTS capture text NOT NULL DEFAULT 'AUTOMATIC'
    CONSTRAINT payment_attempts_capture CHECK (capture IN ('AUTOMATIC', 'MANUAL'));
-- Where the provider's page sends its buyer; empty for an attempt with a token.
ALTER TABLE IF EXISTS payment_attempts ADD COLUMN IF NOT EXISTS return_url text NOT NULL DEFAULT '';
-- Where the buyer has to go to pay or to confirm.
ALTER TABLE IF EXISTS payment_attempts ADD COLUMN IF NOT EXISTS redirect_url text NOT NULL DEFAULT '';
-- When the payment's window ends, as the provider was told; every repetition of a call carries it.
ALTER TABLE IF EXISTS payment_attempts ADD COLUMN IF NOT EXISTS pay_until timestamptz;
-- What is in open disputes, and what was taken back by lost ones.
ALTER TABLE IF EXISTS payment_attempts ADD COLUMN IF NOT EXISTS disputed_minor bigint NOT NULL DEFAULT 0
    CONSTRAINT payment_attempts_disputed CHECK (disputed_minor >= 0);
ALTER TABLE IF EXISTS payment_attempts ADD COLUMN IF NOT EXISTS lost_minor bigint NOT NULL DEFAULT 0
    CONSTRAINT payment_attempts_lost CHECK (lost_minor >= 0);

-- AUTHORIZED is an open state. Open is said as "not settled" from here on.
ALTER TABLE IF EXISTS payment_attempts DROP CONSTRAINT IF EXISTS payment_attempts_known_state;
ALTER TABLE IF EXISTS payment_attempts ADD CONSTRAINT payment_attempts_known_state
    CHECK (state IN ('CREATED', 'SUBMITTED', 'UNKNOWN', 'AUTHORIZED', 'SUCCEEDED', 'DECLINED'));
ALTER TABLE IF EXISTS payment_attempts DROP CONSTRAINT IF EXISTS payment_attempts_state;
CREATE UNIQUE INDEX IF NOT EXISTS payment_attempts_one_unsettled ON payment_attempts (tenant_id, region, hold_id)
    WHERE settled_at IS NULL;
CREATE INDEX IF NOT EXISTS payment_attempts_unsettled ON payment_attempts (tenant_id, region, next_check_at)
    WHERE settled_at IS NULL;
DROP INDEX IF EXISTS payment_attempts_one_open;
DROP INDEX IF EXISTS payment_attempts_open;
-- Finds the payment of a provider's message that names nothing but its own charge.
CREATE INDEX IF NOT EXISTS payment_attempts_by_charge ON payment_attempts (tenant_id, region, provider_charge);

-- A dispute moves money, not the seat: it changes no booking.
CREATE TABLE IF NOT EXISTS disputes (
    tenant_id        uuid        NOT NULL,
    region           text        NOT NULL,
    id               uuid        NOT NULL,
    attempt_id       uuid        NOT NULL,
    provider         text        NOT NULL,
    provider_dispute text        NOT NULL,
    amount_minor     bigint      NOT NULL,
    currency         text        NOT NULL,
    state            text        NOT NULL,
    opened_at        timestamptz NOT NULL,
    closed_at        timestamptz,
    version          bigint      NOT NULL DEFAULT 1,
    CONSTRAINT disputes_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT disputes_attempt FOREIGN KEY (tenant_id, region, attempt_id) REFERENCES payment_attempts (tenant_id, region, id),
    CONSTRAINT disputes_once UNIQUE (tenant_id, region, provider, provider_dispute),
    CONSTRAINT disputes_state CHECK (state IN ('OPENED', 'WON', 'LOST')),
    CONSTRAINT disputes_closed CHECK ((state = 'OPENED') = (closed_at IS NULL)),
    CONSTRAINT disputes_amount CHECK (amount_minor > 0)
);

CREATE INDEX IF NOT EXISTS disputes_by_attempt ON disputes (tenant_id, region, attempt_id);

-- All that is needed to apply an event later.
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS event_key text NOT NULL DEFAULT '';
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS charge_id text NOT NULL DEFAULT '';
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS refund_id text NOT NULL DEFAULT '';
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS dispute_id text NOT NULL DEFAULT '';
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS decline_code text NOT NULL DEFAULT '';
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS fingerprint text NOT NULL DEFAULT '';
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS tries bigint NOT NULL DEFAULT 0;
-- When an UNMATCHED event is tried again.
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS retry_at timestamptz;
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS reviewed_at timestamptz;
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS reviewed_by uuid;
ALTER TABLE IF EXISTS provider_events ADD COLUMN IF NOT EXISTS review_note text NOT NULL DEFAULT '';

CREATE INDEX IF NOT EXISTS provider_events_to_retry ON provider_events (tenant_id, region, retry_at)
    WHERE retry_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS provider_events_to_review ON provider_events (tenant_id, region, received_at, provider, event_id)
    WHERE reviewed_at IS NULL AND result IN ('MISMATCH', 'UNMATCHED');
