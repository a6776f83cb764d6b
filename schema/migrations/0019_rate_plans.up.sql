-- Rate plans: what a room is sold as, besides the standard rate of night_rates. Columns that are added to
-- a table carry no CHECK but those that are dropped first: not every engine takes one again when the file
-- is run twice.

-- A plan without derive_kind has the prices of its own nights. With one its price is that of its parent, or
-- of the standard rate where it has none, changed by a share in hundredths of a percent or by an amount in
-- minor units of the property's currency. A parent has prices of its own.
CREATE TABLE IF NOT EXISTS rate_plans (
    tenant_id           uuid        NOT NULL,
    region              text        NOT NULL,
    id                  uuid        NOT NULL,
    property_id         uuid        NOT NULL,
    code                text        NOT NULL,
    name                text        NOT NULL,
    state               text        NOT NULL DEFAULT 'ACTIVE',
    refundable          boolean     NOT NULL DEFAULT true,
    parent_id           uuid,
    derive_kind         text,
    derive_basis_points bigint      NOT NULL DEFAULT 0,
    derive_minor        bigint      NOT NULL DEFAULT 0,
    created_at          timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT rate_plans_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT rate_plans_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT rate_plans_parent FOREIGN KEY (tenant_id, region, parent_id) REFERENCES rate_plans (tenant_id, region, id),
    CONSTRAINT rate_plans_code_unique UNIQUE (tenant_id, region, property_id, code),
    CONSTRAINT rate_plans_code_length CHECK (length(code) BETWEEN 1 AND 32),
    CONSTRAINT rate_plans_name_length CHECK (length(name) BETWEEN 1 AND 200),
    CONSTRAINT rate_plans_state CHECK (state IN ('ACTIVE', 'CLOSED')),
    CONSTRAINT rate_plans_derive_kind CHECK (derive_kind IN ('PERCENT', 'AMOUNT')),
    CONSTRAINT rate_plans_derived CHECK (parent_id IS NULL OR derive_kind IS NOT NULL),
    CONSTRAINT rate_plans_not_itself CHECK (parent_id IS NULL OR parent_id <> id),
    CONSTRAINT rate_plans_basis_points CHECK (derive_basis_points BETWEEN -10000 AND 100000
        AND (derive_basis_points = 0 OR (derive_kind IS NOT NULL AND derive_kind = 'PERCENT'))),
    CONSTRAINT rate_plans_minor CHECK (derive_minor BETWEEN -1000000000000 AND 1000000000000
        AND (derive_minor = 0 OR (derive_kind IS NOT NULL AND derive_kind = 'AMOUNT')))
);

-- What a plan says of a night of a room type, besides what the room type says of it: both speak. NULL, and
-- a night without a row, say nothing.
CREATE TABLE IF NOT EXISTS rate_plan_nights (
    tenant_id           uuid   NOT NULL,
    region              text   NOT NULL,
    rate_plan_id        uuid   NOT NULL,
    room_type_id        uuid   NOT NULL,
    night               date   NOT NULL,
    amount_minor        bigint,
    stop_sell           boolean,
    closed_to_arrival   boolean,
    closed_to_departure boolean,
    min_stay_arrival    bigint,
    max_stay_arrival    bigint,
    min_stay_through    bigint,
    max_stay_through    bigint,
    CONSTRAINT rate_plan_nights_pkey PRIMARY KEY (tenant_id, region, rate_plan_id, room_type_id, night),
    CONSTRAINT rate_plan_nights_plan FOREIGN KEY (tenant_id, region, rate_plan_id) REFERENCES rate_plans (tenant_id, region, id),
    CONSTRAINT rate_plan_nights_room_type FOREIGN KEY (tenant_id, region, room_type_id) REFERENCES room_types (tenant_id, region, id),
    CONSTRAINT rate_plan_nights_amount CHECK (amount_minor BETWEEN 0 AND 1000000000000),
    CONSTRAINT rate_plan_nights_stay_arrival CHECK (min_stay_arrival BETWEEN 1 AND 366 AND max_stay_arrival BETWEEN 1 AND 366),
    CONSTRAINT rate_plan_nights_stay_through CHECK (min_stay_through BETWEEN 1 AND 366 AND max_stay_through BETWEEN 1 AND 366),
    CONSTRAINT rate_plan_nights_stay_order CHECK (min_stay_arrival <= max_stay_arrival AND min_stay_through <= max_stay_through)
);

-- When a stay may be booked, counted in days of the property's zone before the check-in date, both edges
-- included. On the last of these days it may be booked until the end of cutoff_minute; NULL is all day. The
-- zero rate_plan_id is the property's own window, which speaks for every plan and the standard rate.
CREATE TABLE IF NOT EXISTS booking_windows (
    tenant_id        uuid        NOT NULL,
    region           text        NOT NULL,
    property_id      uuid        NOT NULL,
    rate_plan_id     uuid        NOT NULL,
    min_advance_days bigint      NOT NULL DEFAULT 0,
    max_advance_days bigint,
    cutoff_minute    bigint,
    updated_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT booking_windows_pkey PRIMARY KEY (tenant_id, region, property_id, rate_plan_id),
    CONSTRAINT booking_windows_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT booking_windows_min CHECK (min_advance_days BETWEEN 0 AND 730),
    CONSTRAINT booking_windows_max CHECK (max_advance_days BETWEEN 0 AND 730),
    CONSTRAINT booking_windows_order CHECK (min_advance_days <= max_advance_days),
    CONSTRAINT booking_windows_cutoff CHECK (cutoff_minute BETWEEN 0 AND 1439)
);

-- The plans of channels that do not sell every one.
CREATE TABLE IF NOT EXISTS channel_rate_plans (
    tenant_id    uuid NOT NULL,
    region       text NOT NULL,
    channel_id   uuid NOT NULL,
    rate_plan_id uuid NOT NULL,
    CONSTRAINT channel_rate_plans_pkey PRIMARY KEY (tenant_id, region, channel_id, rate_plan_id),
    CONSTRAINT channel_rate_plans_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT channel_rate_plans_plan FOREIGN KEY (tenant_id, region, rate_plan_id) REFERENCES rate_plans (tenant_id, region, id)
);

ALTER TABLE IF EXISTS channel_sales ADD COLUMN IF NOT EXISTS every_rate_plan boolean NOT NULL DEFAULT true;
ALTER TABLE IF EXISTS channel_sales ADD COLUMN IF NOT EXISTS standard_rate boolean NOT NULL DEFAULT true;

-- As what the nights were sold; NULL is the standard rate.
ALTER TABLE IF EXISTS hold_lines ADD COLUMN IF NOT EXISTS rate_plan_id uuid;
ALTER TABLE IF EXISTS booking_lines ADD COLUMN IF NOT EXISTS rate_plan_id uuid;

-- Staff held it against the restrictions, which therefore do not speak again when it is extended or paid.
ALTER TABLE IF EXISTS holds ADD COLUMN IF NOT EXISTS overrides_restrictions boolean NOT NULL DEFAULT false;

-- The plan whose nights the edit sets; NULL sets those of room types.
ALTER TABLE IF EXISTS night_edits ADD COLUMN IF NOT EXISTS rate_plan_id uuid;
