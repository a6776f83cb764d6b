-- What a stay costs besides the amount of its nights: guests, length and weekday, taxes and fees,
-- promotions; and the price that each stay was held at. A zero rate_plan_id stands for the standard rate.

CREATE TABLE IF NOT EXISTS guest_prices (
    tenant_id              uuid        NOT NULL,
    region                 text        NOT NULL,
    room_type_id           uuid        NOT NULL,
    rate_plan_id           uuid        NOT NULL,
    base_occupancy         bigint      NOT NULL,
    extra_adult_minor      bigint      NOT NULL,
    single_reduction_minor bigint      NOT NULL,
    updated_at             timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT guest_prices_pkey PRIMARY KEY (tenant_id, region, room_type_id, rate_plan_id),
    CONSTRAINT guest_prices_room_type FOREIGN KEY (tenant_id, region, room_type_id) REFERENCES room_types (tenant_id, region, id),
    CONSTRAINT guest_prices_base CHECK (base_occupancy BETWEEN 1 AND 50),
    CONSTRAINT guest_prices_extra_adult CHECK (extra_adult_minor BETWEEN 0 AND 1000000000000),
    CONSTRAINT guest_prices_single CHECK (single_reduction_minor BETWEEN 0 AND 1000000000000)
);

-- What a child of an age costs a night. The bands of a room type begin at 0 and leave no gap; whoever is
-- older than the last of them counts as an adult.
CREATE TABLE IF NOT EXISTS guest_price_ages (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    room_type_id uuid   NOT NULL,
    rate_plan_id uuid   NOT NULL,
    from_age     bigint NOT NULL,
    to_age       bigint NOT NULL,
    amount_minor bigint NOT NULL,
    CONSTRAINT guest_price_ages_pkey PRIMARY KEY (tenant_id, region, room_type_id, rate_plan_id, from_age),
    CONSTRAINT guest_price_ages_prices FOREIGN KEY (tenant_id, region, room_type_id, rate_plan_id)
        REFERENCES guest_prices (tenant_id, region, room_type_id, rate_plan_id),
    CONSTRAINT guest_price_ages_range CHECK (0 <= from_age AND from_age <= to_age AND to_age <= 17),
    CONSTRAINT guest_price_ages_amount CHECK (amount_minor BETWEEN 0 AND 1000000000000)
);

-- How the price of a night differs by the length of the stay (threshold: from so many nights) or by the
-- weekday on which the night begins (threshold: 1 is Monday, 7 is Sunday). One of the two values is 0.
CREATE TABLE IF NOT EXISTS rate_adjustments (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    property_id  uuid   NOT NULL,
    rate_plan_id uuid   NOT NULL,
    kind         text   NOT NULL,
    threshold    bigint NOT NULL,
    basis_points bigint NOT NULL,
    amount_minor bigint NOT NULL,
    CONSTRAINT rate_adjustments_pkey PRIMARY KEY (tenant_id, region, property_id, rate_plan_id, kind, threshold),
    CONSTRAINT rate_adjustments_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT rate_adjustments_kind CHECK (kind IN ('LENGTH', 'WEEKDAY')),
    CONSTRAINT rate_adjustments_threshold CHECK (threshold BETWEEN 1 AND 366 AND (kind = 'LENGTH' OR threshold <= 7)),
    CONSTRAINT rate_adjustments_percent CHECK (basis_points BETWEEN -10000 AND 10000),
    CONSTRAINT rate_adjustments_amount CHECK (amount_minor BETWEEN -1000000000000 AND 1000000000000),
    CONSTRAINT rate_adjustments_one CHECK (basis_points = 0 OR amount_minor = 0)
);

-- Taxes and fees of a hotel's stays. The percentage that prices include is the hotel's tax rate and stands
-- in tax_rates; its row here gives it a name.
CREATE TABLE IF NOT EXISTS stay_charges (
    tenant_id    uuid    NOT NULL,
    region       text    NOT NULL,
    property_id  uuid    NOT NULL,
    ordinal      bigint  NOT NULL,
    name         text    NOT NULL,
    kind         text    NOT NULL,
    included     boolean NOT NULL,
    basis_points bigint  NOT NULL,
    amount_minor bigint  NOT NULL,
    exempt_below bigint  NOT NULL,
    CONSTRAINT stay_charges_pkey PRIMARY KEY (tenant_id, region, property_id, ordinal),
    CONSTRAINT stay_charges_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT stay_charges_name_length CHECK (length(name) BETWEEN 1 AND 100),
    CONSTRAINT stay_charges_kind CHECK (kind IN ('PERCENT', 'ROOM_NIGHT', 'PERSON_NIGHT', 'PERSON_STAY', 'ROOM_STAY', 'STAY')),
    CONSTRAINT stay_charges_percent CHECK (basis_points BETWEEN 0 AND 10000 AND (kind = 'PERCENT' OR basis_points = 0)),
    CONSTRAINT stay_charges_amount CHECK (amount_minor BETWEEN 0 AND 1000000000000 AND (kind <> 'PERCENT' OR amount_minor = 0)),
    CONSTRAINT stay_charges_exempt CHECK (exempt_below BETWEEN 0 AND 18 AND (kind IN ('PERSON_NIGHT', 'PERSON_STAY') OR exempt_below = 0))
);

-- How a tenant's percentages of stays become whole units of money.
CREATE TABLE IF NOT EXISTS rounding_rules (
    tenant_id  uuid        NOT NULL,
    level      text        NOT NULL,
    mode       text        NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT rounding_rules_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT rounding_rules_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT rounding_rules_level CHECK (level IN ('NIGHT', 'STAY')),
    CONSTRAINT rounding_rules_mode CHECK (mode IN ('HALF_UP', 'HALF_EVEN'))
);

-- A promotion without a code applies by itself. Where its uses are counted, the counter is a row of
-- presale_counters with the promotion's id: a use is taken and given back as those of presale codes are.
CREATE TABLE IF NOT EXISTS promotions (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    id           uuid        NOT NULL,
    property_id  uuid        NOT NULL,
    name         text        NOT NULL,
    code         text,
    state        text        NOT NULL,
    basis_points bigint      NOT NULL,
    amount_minor bigint      NOT NULL,
    book_from    timestamptz,
    book_until   timestamptz,
    stay_from    date,
    stay_to      date,
    min_nights   bigint      NOT NULL,
    counted      boolean     NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT promotions_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT promotions_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT promotions_code_unique UNIQUE (tenant_id, region, property_id, code),
    CONSTRAINT promotions_name_length CHECK (length(name) BETWEEN 1 AND 100),
    CONSTRAINT promotions_code_length CHECK (length(code) BETWEEN 4 AND 64),
    CONSTRAINT promotions_state CHECK (state IN ('ACTIVE', 'CLOSED')),
    CONSTRAINT promotions_percent CHECK (basis_points BETWEEN 0 AND 10000),
    CONSTRAINT promotions_amount CHECK (amount_minor BETWEEN 0 AND 1000000000000),
    CONSTRAINT promotions_one CHECK ((basis_points = 0) <> (amount_minor = 0)),
    CONSTRAINT promotions_booking_window CHECK (book_from IS NULL OR book_until IS NULL OR book_from < book_until),
    CONSTRAINT promotions_stay_window CHECK (stay_from IS NULL OR stay_to IS NULL OR stay_from <= stay_to),
    CONSTRAINT promotions_min_nights CHECK (min_nights BETWEEN 1 AND 366)
);

-- The room types and rate plans that a promotion is for; of a kind that has no row it is for all.
CREATE TABLE IF NOT EXISTS promotion_scopes (
    tenant_id    uuid NOT NULL,
    region       text NOT NULL,
    promotion_id uuid NOT NULL,
    kind         text NOT NULL,
    scope_id     uuid NOT NULL,
    CONSTRAINT promotion_scopes_pkey PRIMARY KEY (tenant_id, region, promotion_id, kind, scope_id),
    CONSTRAINT promotion_scopes_promotion FOREIGN KEY (tenant_id, region, promotion_id) REFERENCES promotions (tenant_id, region, id),
    CONSTRAINT promotion_scopes_kind CHECK (kind IN ('ROOM_TYPE', 'RATE_PLAN'))
);

-- The promotion of which the hold has taken a use; NULL where none is counted.
ALTER TABLE IF EXISTS holds ADD COLUMN IF NOT EXISTS promotion_id uuid;

-- What a stay of a hold costs and why, fixed when it was held; the booking keeps it.
CREATE TABLE IF NOT EXISTS stay_prices (
    tenant_id        uuid   NOT NULL,
    region           text   NOT NULL,
    hold_id          uuid   NOT NULL,
    item             bigint NOT NULL,
    room_minor       bigint NOT NULL,
    added_minor      bigint NOT NULL,
    tax_minor        bigint NOT NULL,
    total_minor      bigint NOT NULL,
    tax_basis_points bigint NOT NULL,
    detail           jsonb  NOT NULL,
    CONSTRAINT stay_prices_pkey PRIMARY KEY (tenant_id, region, hold_id, item),
    CONSTRAINT stay_prices_hold FOREIGN KEY (tenant_id, region, hold_id) REFERENCES holds (tenant_id, region, id),
    CONSTRAINT stay_prices_room CHECK (room_minor >= 0),
    CONSTRAINT stay_prices_added CHECK (added_minor >= 0),
    CONSTRAINT stay_prices_tax CHECK (tax_minor BETWEEN 0 AND room_minor),
    CONSTRAINT stay_prices_sum CHECK (total_minor = room_minor + added_minor)
);
