-- What was mended in payments, what a person has to decide, and how far each provider's own list of
-- charges has been compared with ours.

-- One row for each thing that was mended, written in the transaction that mended it: subject_id is
-- the refund, or else the attempt. No foreign keys: what was mended may be archived, and was mended
-- all the same.
CREATE TABLE IF NOT EXISTS payment_repairs (
    tenant_id   uuid        NOT NULL,
    region      text        NOT NULL,
    id          uuid        NOT NULL,
    kind        text        NOT NULL,
    subject_id  uuid        NOT NULL,
    attempt_id  uuid        NOT NULL,
    refund_id   uuid,
    hold_id     uuid        NOT NULL,
    repaired_by text        NOT NULL,
    repaired_at timestamptz NOT NULL,
    CONSTRAINT payment_repairs_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT payment_repairs_once UNIQUE (tenant_id, region, subject_id, kind),
    CONSTRAINT payment_repairs_kind CHECK (kind IN ('CONFIRMED', 'RELEASED', 'ORPHAN_REFUNDED', 'REFUND_COMPLETED', 'REFUND_RETRIED', 'EVENT_MATCHED')),
    CONSTRAINT payment_repairs_by CHECK (repaired_by IN ('JOB', 'RECONCILER', 'WEBHOOK', 'COMMAND')),
    CONSTRAINT payment_repairs_subject CHECK (subject_id = COALESCE(refund_id, attempt_id))
);

CREATE INDEX IF NOT EXISTS payment_repairs_by_time ON payment_repairs (tenant_id, region, repaired_at, id);
CREATE INDEX IF NOT EXISTS payment_repairs_by_hold ON payment_repairs (tenant_id, region, hold_id);

-- A charge of a provider that differs from what we know of it, and that no rule decides. A charge
-- without an attempt of ours is kept in its tenant's home region.
CREATE TABLE IF NOT EXISTS payment_differences (
    tenant_id      uuid        NOT NULL,
    region         text        NOT NULL,
    id             uuid        NOT NULL,
    provider       text        NOT NULL,
    account        text        NOT NULL,
    charge_id      text        NOT NULL,
    reason         text        NOT NULL,
    attempt_id     uuid,
    provider_minor bigint      NOT NULL,
    our_minor      bigint      NOT NULL,
    currency       text        NOT NULL,
    found_at       timestamptz NOT NULL,
    CONSTRAINT payment_differences_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT payment_differences_once UNIQUE (tenant_id, region, provider, account, charge_id, reason),
    CONSTRAINT payment_differences_reason CHECK (reason IN ('FOREIGN', 'ACCOUNT_DIFFERS', 'CURRENCY_DIFFERS', 'AMOUNT_DIFFERS',
        'SECOND_CHARGE', 'NOT_CAPTURED', 'REFUND_DIFFERS'))
);

CREATE INDEX IF NOT EXISTS payment_differences_by_time ON payment_differences (tenant_id, region, found_at, id);

-- What a person has decided about a refund that failed for good, or a difference. What is decided about
-- an event stands on the event.
CREATE TABLE IF NOT EXISTS payment_reviews (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    subject_kind text        NOT NULL,
    subject_id   text        NOT NULL,
    resolved_by  text        NOT NULL,
    note         text        NOT NULL,
    resolved_at  timestamptz NOT NULL,
    CONSTRAINT payment_reviews_pkey PRIMARY KEY (tenant_id, region, subject_kind, subject_id),
    CONSTRAINT payment_reviews_kind CHECK (subject_kind IN ('REFUND', 'DIFFERENCE')),
    CONSTRAINT payment_reviews_note CHECK (length(note) BETWEEN 1 AND 1000)
);

-- How far the list of one provider's account has been read: charges made since listed_since, after
-- the page that ends with list_after. A pass that is through is due again at due_at.
CREATE TABLE IF NOT EXISTS payment_listings (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    provider     text        NOT NULL,
    account      text        NOT NULL,
    listed_since timestamptz NOT NULL,
    list_after   text        NOT NULL,
    pass_began   timestamptz NOT NULL,
    due_at       timestamptz NOT NULL,
    CONSTRAINT payment_listings_pkey PRIMARY KEY (tenant_id, region, provider, account)
);

-- The review queue: few rows of a large table.
CREATE INDEX IF NOT EXISTS refunds_failed ON refunds (tenant_id, region, settled_at)
    WHERE state = 'FAILED';
