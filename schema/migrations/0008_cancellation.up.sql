-- What a cancellation costs, what tax prices include, and what was kept and given back. Columns that
-- are added to a table carry no CHECK: not every engine takes one again when the file is run twice.

-- A tenant's default has the zero scope_id; a property, venue or show overrides it as a whole.
CREATE TABLE IF NOT EXISTS cancellation_policies (
    tenant_id       uuid        NOT NULL,
    scope_id        uuid        NOT NULL,
    name            text        NOT NULL,
    check_in_minute bigint      NOT NULL,
    updated_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT cancellation_policies_pkey PRIMARY KEY (tenant_id, scope_id),
    CONSTRAINT cancellation_policies_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT cancellation_policies_name_length CHECK (length(name) BETWEEN 1 AND 100),
    CONSTRAINT cancellation_policies_check_in CHECK (check_in_minute BETWEEN 0 AND 1439)
);

-- The steps in the order of time. The last one has no time of its own: it holds after all others.
CREATE TABLE IF NOT EXISTS cancellation_steps (
    tenant_id        uuid   NOT NULL,
    scope_id         uuid   NOT NULL,
    ordinal          bigint NOT NULL,
    minutes_before   bigint,
    days_before      bigint,
    local_minute     bigint,
    fee_kind         text   NOT NULL,
    fee_basis_points bigint NOT NULL,
    fee_minor        bigint NOT NULL,
    fee_currency     text   NOT NULL,
    CONSTRAINT cancellation_steps_pkey PRIMARY KEY (tenant_id, scope_id, ordinal),
    CONSTRAINT cancellation_steps_policy FOREIGN KEY (tenant_id, scope_id) REFERENCES cancellation_policies (tenant_id, scope_id),
    CONSTRAINT cancellation_steps_before CHECK (minutes_before IS NULL OR days_before IS NULL),
    CONSTRAINT cancellation_steps_minutes CHECK (minutes_before BETWEEN 0 AND 1051200),
    CONSTRAINT cancellation_steps_days CHECK (days_before BETWEEN 0 AND 730),
    CONSTRAINT cancellation_steps_local CHECK (local_minute IS NULL OR (days_before IS NOT NULL AND local_minute BETWEEN 0 AND 1439)),
    CONSTRAINT cancellation_steps_fee_kind CHECK (fee_kind IN ('PERCENT', 'PER_UNIT', 'PER_BOOKING')),
    CONSTRAINT cancellation_steps_fee_percent CHECK (fee_basis_points BETWEEN 0 AND 10000 AND (fee_kind = 'PERCENT' OR fee_basis_points = 0)),
    CONSTRAINT cancellation_steps_fee_amount CHECK (fee_minor BETWEEN 0 AND 1000000000000 AND (fee_kind <> 'PERCENT' OR fee_minor = 0))
);

-- The tax that the prices of a property or venue include, in hundredths of a percent.
CREATE TABLE IF NOT EXISTS tax_rates (
    tenant_id    uuid        NOT NULL,
    scope_id     uuid        NOT NULL,
    basis_points bigint      NOT NULL,
    updated_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tax_rates_pkey PRIMARY KEY (tenant_id, scope_id),
    CONSTRAINT tax_rates_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT tax_rates_basis_points CHECK (basis_points BETWEEN 0 AND 10000)
);

-- The timelines under which a booking was sold, with their instants. NULL: sold before there were any.
ALTER TABLE IF EXISTS bookings ADD COLUMN IF NOT EXISTS cancellation jsonb;

-- The tax within amount_minor, and its rate at the sale.
ALTER TABLE IF EXISTS booking_lines ADD COLUMN IF NOT EXISTS tax_basis_points bigint NOT NULL DEFAULT 0;
ALTER TABLE IF EXISTS booking_lines ADD COLUMN IF NOT EXISTS tax_minor bigint NOT NULL DEFAULT 0;

-- One cancellation of lines of a booking. credited_minor is what the lines were due and had been given
-- back before, outside a cancellation. These tables have no foreign key to the booking: what was
-- kept and given back stays when a booking is moved out of the way.
CREATE TABLE IF NOT EXISTS cancellations (
    tenant_id        uuid        NOT NULL,
    region           text        NOT NULL,
    id               uuid        NOT NULL,
    booking_id       uuid        NOT NULL,
    booking_version  bigint      NOT NULL,
    currency         text        NOT NULL,
    fee_minor        bigint      NOT NULL,
    refund_minor     bigint      NOT NULL,
    credited_minor   bigint      NOT NULL,
    waived_minor     bigint      NOT NULL,
    reason           text        NOT NULL,
    key_id           uuid        NOT NULL,
    session_id       uuid,
    cancelled_at     timestamptz NOT NULL,
    CONSTRAINT cancellations_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT cancellations_once UNIQUE (tenant_id, region, booking_id, booking_version),
    CONSTRAINT cancellations_fee CHECK (fee_minor >= 0),
    CONSTRAINT cancellations_refund CHECK (refund_minor >= 0),
    CONSTRAINT cancellations_credited CHECK (credited_minor >= 0),
    CONSTRAINT cancellations_waived CHECK (waived_minor >= 0 AND (waived_minor = 0 OR fee_minor = 0))
);

-- A line is cancelled once.
CREATE TABLE IF NOT EXISTS cancelled_lines (
    tenant_id       uuid   NOT NULL,
    region          text   NOT NULL,
    booking_id      uuid   NOT NULL,
    ordinal         bigint NOT NULL,
    cancellation_id uuid   NOT NULL,
    amount_minor    bigint NOT NULL,
    tax_minor       bigint NOT NULL,
    fee_minor       bigint NOT NULL,
    fee_tax_minor   bigint NOT NULL,
    CONSTRAINT cancelled_lines_pkey PRIMARY KEY (tenant_id, region, booking_id, ordinal),
    CONSTRAINT cancelled_lines_cancellation FOREIGN KEY (tenant_id, region, cancellation_id) REFERENCES cancellations (tenant_id, region, id),
    CONSTRAINT cancelled_lines_fee CHECK (fee_minor BETWEEN 0 AND amount_minor),
    CONSTRAINT cancelled_lines_tax CHECK (tax_minor BETWEEN 0 AND amount_minor),
    CONSTRAINT cancelled_lines_fee_tax CHECK (fee_tax_minor BETWEEN 0 AND fee_minor AND fee_tax_minor <= tax_minor)
);

-- Money given back outside a cancellation. The refund's action is "amount:" and the id.
CREATE TABLE IF NOT EXISTS booking_refunds (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    id           uuid        NOT NULL,
    booking_id   uuid        NOT NULL,
    attempt_id   uuid        NOT NULL,
    amount_minor bigint      NOT NULL,
    currency     text        NOT NULL,
    reason       text        NOT NULL,
    key_id       uuid        NOT NULL,
    decided_at   timestamptz NOT NULL,
    CONSTRAINT booking_refunds_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT booking_refunds_amount CHECK (amount_minor > 0)
);

CREATE INDEX IF NOT EXISTS booking_refunds_by_booking ON booking_refunds (tenant_id, region, booking_id);

-- Set while a refund has failed as often as it is tried, and nobody has tried it again: work for a person.
ALTER TABLE IF EXISTS refunds ADD COLUMN IF NOT EXISTS exhausted_at timestamptz;

CREATE INDEX IF NOT EXISTS refunds_exhausted ON refunds (tenant_id, region, exhausted_at, id)
    WHERE exhausted_at IS NOT NULL;
