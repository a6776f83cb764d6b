-- The confirmed sale, and the events that tell others of it.

-- What the buyer said at checkout; the booking takes it over when the payment has succeeded.
CREATE TABLE IF NOT EXISTS checkouts (
    tenant_id         uuid NOT NULL,
    region            text NOT NULL,
    hold_id           uuid NOT NULL,
    contact_name      text NOT NULL,
    contact_email     text NOT NULL,
    partner_reference text NOT NULL,
    CONSTRAINT checkouts_pkey PRIMARY KEY (tenant_id, region, hold_id),
    CONSTRAINT checkouts_hold FOREIGN KEY (tenant_id, region, hold_id) REFERENCES holds (tenant_id, region, id)
);

CREATE TABLE IF NOT EXISTS bookings (
    tenant_id         uuid        NOT NULL,
    region            text        NOT NULL,
    id                uuid        NOT NULL,
    hold_id           uuid        NOT NULL,
    channel_id        uuid        NOT NULL,
    buyer_kind        text        NOT NULL,
    buyer_id          uuid        NOT NULL,
    reference         text        NOT NULL,
    partner_reference text        NOT NULL DEFAULT '',
    contact_name      text        NOT NULL DEFAULT '',
    contact_email     text        NOT NULL DEFAULT '',
    state             text        NOT NULL,
    total_minor       bigint      NOT NULL,
    currency          text        NOT NULL,
    version           bigint      NOT NULL DEFAULT 1,
    booked_at         timestamptz NOT NULL,
    CONSTRAINT bookings_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT bookings_hold_unique UNIQUE (tenant_id, region, hold_id),
    CONSTRAINT bookings_reference_unique UNIQUE (tenant_id, region, reference),
    CONSTRAINT bookings_hold FOREIGN KEY (tenant_id, region, hold_id) REFERENCES holds (tenant_id, region, id),
    CONSTRAINT bookings_state CHECK (state IN ('BOOKED', 'CANCELLED')),
    CONSTRAINT bookings_buyer_kind CHECK (buyer_kind IN ('GUEST', 'KEY')),
    CONSTRAINT bookings_total CHECK (total_minor >= 0)
);

CREATE INDEX IF NOT EXISTS bookings_by_buyer ON bookings (tenant_id, region, buyer_id, booked_at);
CREATE INDEX IF NOT EXISTS bookings_by_time ON bookings (tenant_id, region, booked_at, id);

CREATE TABLE IF NOT EXISTS booking_lines (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    booking_id   uuid   NOT NULL,
    ordinal      bigint NOT NULL,
    item         bigint NOT NULL,
    kind         text   NOT NULL,
    show_id      uuid,
    seat_id      uuid,
    pool_id      uuid,
    shard        bigint,
    property_id  uuid,
    room_type_id uuid,
    night        date,
    bucket       uuid   NOT NULL,
    quantity     bigint NOT NULL,
    amount_minor bigint NOT NULL,
    state        text   NOT NULL,
    CONSTRAINT booking_lines_pkey PRIMARY KEY (tenant_id, region, booking_id, ordinal),
    CONSTRAINT booking_lines_booking FOREIGN KEY (tenant_id, region, booking_id) REFERENCES bookings (tenant_id, region, id),
    CONSTRAINT booking_lines_kind CHECK (kind IN ('SEAT', 'POOL', 'NIGHT')),
    CONSTRAINT booking_lines_seat CHECK ((kind = 'SEAT') = (seat_id IS NOT NULL)),
    CONSTRAINT booking_lines_pool CHECK ((kind = 'POOL') = (pool_id IS NOT NULL) AND (kind = 'POOL') = (shard IS NOT NULL)),
    CONSTRAINT booking_lines_show CHECK ((kind IN ('SEAT', 'POOL')) = (show_id IS NOT NULL)),
    CONSTRAINT booking_lines_night CHECK ((kind = 'NIGHT') = (night IS NOT NULL) AND (kind = 'NIGHT') = (room_type_id IS NOT NULL)
        AND (kind = 'NIGHT') = (property_id IS NOT NULL)),
    CONSTRAINT booking_lines_quantity CHECK (quantity > 0 AND (kind <> 'SEAT' OR quantity = 1)),
    CONSTRAINT booking_lines_amount CHECK (amount_minor >= 0),
    CONSTRAINT booking_lines_state CHECK (state IN ('BOOKED', 'CANCELLED', 'NO_SHOW', 'WALKED'))
);

-- Each change of a hold, booking, payment or refund that others are told of, written in the
-- transaction of the change. version is the entity's, so that a receiver can order and deduplicate.
CREATE TABLE IF NOT EXISTS outbox_events (
    tenant_id   uuid        NOT NULL,
    region      text        NOT NULL,
    id          uuid        NOT NULL,
    entity_kind text        NOT NULL,
    entity_id   uuid        NOT NULL,
    version     bigint      NOT NULL,
    type        text        NOT NULL,
    occurred_at timestamptz NOT NULL,
    CONSTRAINT outbox_events_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT outbox_events_once UNIQUE (tenant_id, region, entity_id, version, type)
);

CREATE INDEX IF NOT EXISTS outbox_events_by_time ON outbox_events (tenant_id, region, occurred_at, id);
