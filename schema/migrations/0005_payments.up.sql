-- Money. The attempt is stored before the provider is called, with its fixed amount and currency;
-- its id is the provider's idempotency key. No card data, only tokens and fingerprints.

CREATE TABLE IF NOT EXISTS payment_attempts (
    tenant_id              uuid        NOT NULL,
    region                 text        NOT NULL,
    id                     uuid        NOT NULL,
    hold_id                uuid        NOT NULL,
    provider               text        NOT NULL,
    account                text        NOT NULL,
    method_token           text        NOT NULL,
    instrument_fingerprint text        NOT NULL DEFAULT '',
    amount_minor           bigint      NOT NULL,
    currency               text        NOT NULL,
    state                  text        NOT NULL,
    disposition            text,
    decline_code           text        NOT NULL DEFAULT '',
    provider_charge        text        NOT NULL DEFAULT '',
    captured_minor         bigint      NOT NULL DEFAULT 0,
    refunded_minor         bigint      NOT NULL DEFAULT 0,
    checks                 bigint      NOT NULL DEFAULT 0,
    next_check_at          timestamptz,
    created_at             timestamptz NOT NULL,
    submitted_at           timestamptz,
    settled_at             timestamptz,
    version                bigint      NOT NULL DEFAULT 1,
    CONSTRAINT payment_attempts_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT payment_attempts_hold FOREIGN KEY (tenant_id, region, hold_id) REFERENCES holds (tenant_id, region, id),
    CONSTRAINT payment_attempts_state CHECK (state IN ('CREATED', 'SUBMITTED', 'UNKNOWN', 'SUCCEEDED', 'DECLINED')),
    CONSTRAINT payment_attempts_disposition CHECK (disposition IN ('APPLIED', 'ORPHANED')),
    CONSTRAINT payment_attempts_success CHECK ((state = 'SUCCEEDED') = (disposition IS NOT NULL)),
    CONSTRAINT payment_attempts_settled CHECK ((state IN ('SUCCEEDED', 'DECLINED')) = (settled_at IS NOT NULL)),
    CONSTRAINT payment_attempts_amount CHECK (amount_minor > 0),
    CONSTRAINT payment_attempts_captured CHECK (captured_minor = 0 OR state = 'SUCCEEDED'),
    CONSTRAINT payment_attempts_refunds CHECK (refunded_minor BETWEEN 0 AND captured_minor)
);

-- A hold has at most one attempt whose outcome is open, and at most one that paid for its booking.
CREATE UNIQUE INDEX IF NOT EXISTS payment_attempts_one_open ON payment_attempts (tenant_id, region, hold_id)
    WHERE state IN ('CREATED', 'SUBMITTED', 'UNKNOWN');
CREATE UNIQUE INDEX IF NOT EXISTS payment_attempts_one_applied ON payment_attempts (tenant_id, region, hold_id)
    WHERE disposition = 'APPLIED';
CREATE INDEX IF NOT EXISTS payment_attempts_by_hold ON payment_attempts (tenant_id, region, hold_id, created_at);
CREATE INDEX IF NOT EXISTS payment_attempts_open ON payment_attempts (tenant_id, region, next_check_at)
    WHERE state IN ('CREATED', 'SUBMITTED', 'UNKNOWN');
CREATE INDEX IF NOT EXISTS payment_attempts_by_instrument ON payment_attempts (tenant_id, region, instrument_fingerprint, created_at);

-- action names why this refund exists, such as "orphan" or "cancel:<request>": the same action
-- never pays twice, and two equal refunds of one payment are two actions.
CREATE TABLE IF NOT EXISTS refunds (
    tenant_id       uuid        NOT NULL,
    region          text        NOT NULL,
    id              uuid        NOT NULL,
    attempt_id      uuid        NOT NULL,
    action          text        NOT NULL,
    reason          text        NOT NULL,
    amount_minor    bigint      NOT NULL,
    currency        text        NOT NULL,
    state           text        NOT NULL,
    provider_refund text        NOT NULL DEFAULT '',
    failure_code    text        NOT NULL DEFAULT '',
    checks          bigint      NOT NULL DEFAULT 0,
    next_check_at   timestamptz,
    requested_at    timestamptz NOT NULL,
    settled_at      timestamptz,
    version         bigint      NOT NULL DEFAULT 1,
    CONSTRAINT refunds_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT refunds_attempt FOREIGN KEY (tenant_id, region, attempt_id) REFERENCES payment_attempts (tenant_id, region, id),
    CONSTRAINT refunds_action_unique UNIQUE (tenant_id, region, attempt_id, action),
    CONSTRAINT refunds_state CHECK (state IN ('REQUESTED', 'SUBMITTED', 'SUCCEEDED', 'FAILED')),
    CONSTRAINT refunds_settled CHECK ((state IN ('SUCCEEDED', 'FAILED')) = (settled_at IS NOT NULL)),
    CONSTRAINT refunds_amount CHECK (amount_minor > 0)
);

CREATE INDEX IF NOT EXISTS refunds_open ON refunds (tenant_id, region, next_check_at)
    WHERE state IN ('REQUESTED', 'SUBMITTED');

-- Every event a provider sent, once. One whose attempt is not known is kept and matched later.
CREATE TABLE IF NOT EXISTS provider_events (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    provider     text        NOT NULL,
    event_id     text        NOT NULL,
    type         text        NOT NULL,
    account      text        NOT NULL,
    attempt_id   uuid        NOT NULL,
    amount_minor bigint      NOT NULL,
    currency     text        NOT NULL,
    result       text        NOT NULL,
    received_at  timestamptz NOT NULL,
    CONSTRAINT provider_events_pkey PRIMARY KEY (tenant_id, region, provider, event_id),
    CONSTRAINT provider_events_result CHECK (result IN ('APPLIED', 'ALREADY_KNOWN', 'UNMATCHED', 'MISMATCH', 'IGNORED'))
);

CREATE INDEX IF NOT EXISTS provider_events_by_attempt ON provider_events (tenant_id, region, attempt_id);
