-- Sellable stock. Every key holds the tenant and the region. What claims update (show_seats and
-- the three counter tables) stands in narrow tables of its own, without secondary indexes. On
-- PostgreSQL their pages are half empty at first, so that an update stays in its page and writes no
-- index entry: an index entry would conflict with every serializable reader of the same index page.
-- CockroachDB ignores fillfactor.

CREATE TABLE IF NOT EXISTS seating_charts (
    tenant_id  uuid        NOT NULL,
    region     text        NOT NULL,
    id         uuid        NOT NULL,
    venue_id   uuid        NOT NULL,
    name       text        NOT NULL,
    geometry   jsonb       NOT NULL,
    seat_count bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT seating_charts_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT seating_charts_venue FOREIGN KEY (tenant_id, venue_id) REFERENCES venues (tenant_id, id),
    CONSTRAINT seating_charts_seats CHECK (seat_count >= 0)
);

CREATE INDEX IF NOT EXISTS seating_charts_by_venue ON seating_charts (tenant_id, region, venue_id);

CREATE TABLE IF NOT EXISTS events (
    tenant_id  uuid        NOT NULL,
    region     text        NOT NULL,
    id         uuid        NOT NULL,
    venue_id   uuid        NOT NULL,
    name       text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT events_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT events_venue FOREIGN KEY (tenant_id, venue_id) REFERENCES venues (tenant_id, id)
);

CREATE TABLE IF NOT EXISTS shows (
    tenant_id       uuid        NOT NULL,
    region          text        NOT NULL,
    id              uuid        NOT NULL,
    event_id        uuid        NOT NULL,
    venue_id        uuid        NOT NULL,
    chart_id        uuid,
    name            text        NOT NULL,
    state           text        NOT NULL,
    starts_at       timestamptz NOT NULL,
    sale_opens_at   timestamptz,
    sale_closes_at  timestamptz,
    currency        text        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT shows_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT shows_event FOREIGN KEY (tenant_id, region, event_id) REFERENCES events (tenant_id, region, id),
    CONSTRAINT shows_chart FOREIGN KEY (tenant_id, region, chart_id) REFERENCES seating_charts (tenant_id, region, id),
    CONSTRAINT shows_state CHECK (state IN ('DRAFT', 'ON_SALE', 'CLOSED')),
    CONSTRAINT shows_sale_window CHECK (sale_opens_at IS NULL OR sale_closes_at IS NULL OR sale_opens_at < sale_closes_at)
);

CREATE INDEX IF NOT EXISTS shows_by_start ON shows (tenant_id, region, starts_at, id);

CREATE TABLE IF NOT EXISTS price_levels (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    show_id      uuid   NOT NULL,
    id           uuid   NOT NULL,
    name         text   NOT NULL,
    amount_minor bigint NOT NULL,
    CONSTRAINT price_levels_pkey PRIMARY KEY (tenant_id, region, show_id, id),
    CONSTRAINT price_levels_show FOREIGN KEY (tenant_id, region, show_id) REFERENCES shows (tenant_id, region, id),
    CONSTRAINT price_levels_name_unique UNIQUE (tenant_id, region, show_id, name),
    CONSTRAINT price_levels_amount CHECK (amount_minor BETWEEN 0 AND 1000000000000)
);

-- hold_id is the owner: of a HELD seat the live hold, of a BOOKED one the confirmed hold.
-- claimable_at is the instant from which a HELD seat may be taken by others.
CREATE TABLE IF NOT EXISTS show_seats (
    tenant_id        uuid        NOT NULL,
    region           text        NOT NULL,
    show_id          uuid        NOT NULL,
    seat_id          uuid        NOT NULL,
    price_level_id   uuid        NOT NULL,
    state            text        NOT NULL DEFAULT 'AVAILABLE',
    hold_id          uuid,
    claimable_at     timestamptz,
    block_channel_id uuid,
    CONSTRAINT show_seats_pkey PRIMARY KEY (tenant_id, region, show_id, seat_id),
    CONSTRAINT show_seats_state CHECK (state IN ('AVAILABLE', 'HELD', 'BOOKED')),
    CONSTRAINT show_seats_owner CHECK ((state = 'AVAILABLE') = (hold_id IS NULL)),
    CONSTRAINT show_seats_claimable CHECK ((state = 'HELD') = (claimable_at IS NOT NULL))
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS pools (
    tenant_id      uuid        NOT NULL,
    region         text        NOT NULL,
    id             uuid        NOT NULL,
    show_id        uuid        NOT NULL,
    price_level_id uuid        NOT NULL,
    name           text        NOT NULL,
    capacity       bigint      NOT NULL,
    shards         bigint      NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pools_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT pools_show FOREIGN KEY (tenant_id, region, show_id) REFERENCES shows (tenant_id, region, id),
    CONSTRAINT pools_level FOREIGN KEY (tenant_id, region, show_id, price_level_id)
        REFERENCES price_levels (tenant_id, region, show_id, id),
    CONSTRAINT pools_name_unique UNIQUE (tenant_id, region, show_id, name),
    CONSTRAINT pools_capacity CHECK (capacity BETWEEN 0 AND 10000000),
    CONSTRAINT pools_shards CHECK (shards BETWEEN 1 AND 256)
);

-- bucket is the channel whose allotment this is, or the zero UUID for the shared stock.
CREATE TABLE IF NOT EXISTS pool_counters (
    tenant_id  uuid   NOT NULL,
    region     text   NOT NULL,
    pool_id    uuid   NOT NULL,
    bucket     uuid   NOT NULL,
    shard      bigint NOT NULL,
    sell_limit bigint NOT NULL,
    held       bigint NOT NULL DEFAULT 0,
    booked     bigint NOT NULL DEFAULT 0,
    ceiling    bigint NOT NULL,
    CONSTRAINT pool_counters_pkey PRIMARY KEY (tenant_id, region, pool_id, bucket, shard),
    CONSTRAINT pool_counters_held CHECK (held >= 0),
    CONSTRAINT pool_counters_booked CHECK (booked >= 0),
    CONSTRAINT pool_counters_sell_limit CHECK (sell_limit >= 0),
    CONSTRAINT pool_counters_ceiling CHECK (held + booked <= ceiling)
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS room_types (
    tenant_id   uuid        NOT NULL,
    region      text        NOT NULL,
    id          uuid        NOT NULL,
    property_id uuid        NOT NULL,
    name        text        NOT NULL,
    max_guests  bigint      NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT room_types_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT room_types_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT room_types_name_unique UNIQUE (tenant_id, region, property_id, name),
    CONSTRAINT room_types_guests CHECK (max_guests BETWEEN 1 AND 100)
);

-- What admins edit. Claims read it and never write it. A night without a row is not sellable.
CREATE TABLE IF NOT EXISTS night_plans (
    tenant_id            uuid    NOT NULL,
    region               text    NOT NULL,
    room_type_id         uuid    NOT NULL,
    night                date    NOT NULL,
    physical             bigint  NOT NULL,
    out_of_order         bigint  NOT NULL DEFAULT 0,
    oversell             bigint  NOT NULL DEFAULT 0,
    allotted             bigint  NOT NULL DEFAULT 0,
    stop_sell            boolean NOT NULL DEFAULT false,
    closed_to_arrival    boolean NOT NULL DEFAULT false,
    closed_to_departure  boolean NOT NULL DEFAULT false,
    min_stay_arrival     bigint,
    max_stay_arrival     bigint,
    min_stay_through     bigint,
    max_stay_through     bigint,
    CONSTRAINT night_plans_pkey PRIMARY KEY (tenant_id, region, room_type_id, night),
    CONSTRAINT night_plans_room_type FOREIGN KEY (tenant_id, region, room_type_id)
        REFERENCES room_types (tenant_id, region, id),
    CONSTRAINT night_plans_physical CHECK (physical BETWEEN 0 AND 100000),
    CONSTRAINT night_plans_out_of_order CHECK (out_of_order BETWEEN 0 AND physical),
    CONSTRAINT night_plans_oversell CHECK (oversell BETWEEN 0 AND 100000),
    CONSTRAINT night_plans_allotted CHECK (allotted >= 0),
    CONSTRAINT night_plans_stay_arrival CHECK (min_stay_arrival BETWEEN 1 AND 366 AND max_stay_arrival BETWEEN 1 AND 366),
    CONSTRAINT night_plans_stay_through CHECK (min_stay_through BETWEEN 1 AND 366 AND max_stay_through BETWEEN 1 AND 366),
    CONSTRAINT night_plans_stay_order CHECK (min_stay_arrival <= max_stay_arrival AND min_stay_through <= max_stay_through)
);

-- Prices stand apart from capacity: one changes without the other. The currency is the property's.
CREATE TABLE IF NOT EXISTS night_rates (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    room_type_id uuid   NOT NULL,
    night        date   NOT NULL,
    amount_minor bigint NOT NULL,
    CONSTRAINT night_rates_pkey PRIMARY KEY (tenant_id, region, room_type_id, night),
    CONSTRAINT night_rates_room_type FOREIGN KEY (tenant_id, region, room_type_id)
        REFERENCES room_types (tenant_id, region, id),
    CONSTRAINT night_rates_amount CHECK (amount_minor BETWEEN 0 AND 1000000000000)
);

CREATE TABLE IF NOT EXISTS night_counters (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    room_type_id uuid   NOT NULL,
    bucket       uuid   NOT NULL,
    night        date   NOT NULL,
    sell_limit   bigint NOT NULL,
    held         bigint NOT NULL DEFAULT 0,
    booked       bigint NOT NULL DEFAULT 0,
    ceiling      bigint NOT NULL,
    CONSTRAINT night_counters_pkey PRIMARY KEY (tenant_id, region, room_type_id, bucket, night),
    CONSTRAINT night_counters_held CHECK (held >= 0),
    CONSTRAINT night_counters_booked CHECK (booked >= 0),
    CONSTRAINT night_counters_sell_limit CHECK (sell_limit >= 0),
    CONSTRAINT night_counters_ceiling CHECK (held + booked <= ceiling)
) WITH (fillfactor = 50);

-- Rows exist only where a house limit is set.
CREATE TABLE IF NOT EXISTS house_counters (
    tenant_id   uuid   NOT NULL,
    region      text   NOT NULL,
    property_id uuid   NOT NULL,
    night       date   NOT NULL,
    sell_limit  bigint NOT NULL,
    held        bigint NOT NULL DEFAULT 0,
    booked      bigint NOT NULL DEFAULT 0,
    ceiling     bigint NOT NULL,
    CONSTRAINT house_counters_pkey PRIMARY KEY (tenant_id, region, property_id, night),
    CONSTRAINT house_counters_held CHECK (held >= 0),
    CONSTRAINT house_counters_booked CHECK (booked >= 0),
    CONSTRAINT house_counters_sell_limit CHECK (sell_limit >= 0),
    CONSTRAINT house_counters_ceiling CHECK (held + booked <= ceiling)
) WITH (fillfactor = 50);
