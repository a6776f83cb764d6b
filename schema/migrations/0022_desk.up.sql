-- The front desk: physical rooms, which of them a guest sleeps in, when they cannot be slept in, who has
-- come, and what guests who did not come are charged.

CREATE TABLE IF NOT EXISTS physical_rooms (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    id           uuid        NOT NULL,
    property_id  uuid        NOT NULL,
    room_type_id uuid        NOT NULL,
    number       text        NOT NULL,
    floor        text        NOT NULL,
    notes        text        NOT NULL,
    state        text        NOT NULL DEFAULT 'IN_USE',
    version      bigint      NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL,
    CONSTRAINT physical_rooms_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT physical_rooms_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT physical_rooms_type FOREIGN KEY (tenant_id, region, room_type_id) REFERENCES room_types (tenant_id, region, id),
    CONSTRAINT physical_rooms_number_unique UNIQUE (tenant_id, region, property_id, number),
    CONSTRAINT physical_rooms_number_length CHECK (length(number) BETWEEN 1 AND 20),
    CONSTRAINT physical_rooms_floor_length CHECK (length(floor) <= 20),
    CONSTRAINT physical_rooms_notes_length CHECK (length(notes) <= 500),
    CONSTRAINT physical_rooms_state CHECK (state IN ('IN_USE', 'RETIRED'))
);

CREATE INDEX IF NOT EXISTS physical_rooms_by_type ON physical_rooms (tenant_id, region, room_type_id, number);

-- A period in which a room cannot be slept in, both nights included. Its nights are rows of room_nights;
-- one that was ended before it began has none.
CREATE TABLE IF NOT EXISTS out_of_order_periods (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    id           uuid        NOT NULL,
    room_id      uuid        NOT NULL,
    room_type_id uuid        NOT NULL,
    first_night  date        NOT NULL,
    last_night   date        NOT NULL,
    reason       text        NOT NULL,
    state        text        NOT NULL DEFAULT 'OPEN',
    version      bigint      NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    CONSTRAINT out_of_order_periods_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT out_of_order_periods_room FOREIGN KEY (tenant_id, region, room_id) REFERENCES physical_rooms (tenant_id, region, id),
    CONSTRAINT out_of_order_periods_nights CHECK (first_night <= last_night),
    CONSTRAINT out_of_order_periods_reason_length CHECK (length(reason) BETWEEN 1 AND 200),
    CONSTRAINT out_of_order_periods_state CHECK (state IN ('OPEN', 'ENDED')),
    CONSTRAINT out_of_order_periods_ended CHECK ((state = 'ENDED') = (ended_at IS NOT NULL))
);

CREATE INDEX IF NOT EXISTS out_of_order_periods_by_room ON out_of_order_periods (tenant_id, region, room_id, first_night, id);

-- What a room is taken for on a night: a guest, or a period out of order. One row a room and night, so that
-- the database decides who gets it. A guest's row names the line of the booking, and which of its rooms,
-- from 0.
CREATE TABLE IF NOT EXISTS room_nights (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    room_id      uuid   NOT NULL,
    night        date   NOT NULL,
    room_type_id uuid   NOT NULL,
    period_id    uuid,
    booking_id   uuid,
    ordinal      bigint,
    slot         bigint,
    CONSTRAINT room_nights_pkey PRIMARY KEY (tenant_id, region, room_id, night),
    CONSTRAINT room_nights_guest_once UNIQUE (tenant_id, region, booking_id, ordinal, slot),
    CONSTRAINT room_nights_room FOREIGN KEY (tenant_id, region, room_id) REFERENCES physical_rooms (tenant_id, region, id),
    CONSTRAINT room_nights_period FOREIGN KEY (tenant_id, region, period_id) REFERENCES out_of_order_periods (tenant_id, region, id),
    CONSTRAINT room_nights_line FOREIGN KEY (tenant_id, region, booking_id, ordinal) REFERENCES booking_lines (tenant_id, region, booking_id, ordinal),
    CONSTRAINT room_nights_use CHECK ((period_id IS NULL) = (booking_id IS NOT NULL)),
    CONSTRAINT room_nights_guest CHECK ((booking_id IS NULL) = (ordinal IS NULL) AND (booking_id IS NULL) = (slot IS NULL)),
    CONSTRAINT room_nights_slot CHECK (slot >= 0)
);

CREATE INDEX IF NOT EXISTS room_nights_out_of_order ON room_nights (tenant_id, region, room_type_id, night)
    WHERE period_id IS NOT NULL;

-- The guests of a room of a stay who have come, and perhaps gone. Without a row they are expected.
CREATE TABLE IF NOT EXISTS checked_in_rooms (
    tenant_id      uuid        NOT NULL,
    region         text        NOT NULL,
    booking_id     uuid        NOT NULL,
    item           bigint      NOT NULL,
    slot           bigint      NOT NULL,
    state          text        NOT NULL,
    checked_in_at  timestamptz NOT NULL,
    checked_out_at timestamptz,
    CONSTRAINT checked_in_rooms_pkey PRIMARY KEY (tenant_id, region, booking_id, item, slot),
    CONSTRAINT checked_in_rooms_booking FOREIGN KEY (tenant_id, region, booking_id) REFERENCES bookings (tenant_id, region, id),
    CONSTRAINT checked_in_rooms_slot CHECK (slot >= 0),
    CONSTRAINT checked_in_rooms_state CHECK (state IN ('CHECKED_IN', 'CHECKED_OUT')),
    CONSTRAINT checked_in_rooms_out CHECK ((state = 'CHECKED_OUT') = (checked_out_at IS NOT NULL))
);

-- The end of no-shows: the nights that were past keep their fee and give the rest back (refund_minor, of
-- which credited_minor was given back before); those that were left are a cancellation.
CREATE TABLE IF NOT EXISTS no_show_releases (
    tenant_id       uuid        NOT NULL,
    region          text        NOT NULL,
    id              uuid        NOT NULL,
    booking_id      uuid        NOT NULL,
    booking_version bigint      NOT NULL,
    cancellation_id uuid,
    currency        text        NOT NULL,
    fee_minor       bigint      NOT NULL,
    refund_minor    bigint      NOT NULL,
    credited_minor  bigint      NOT NULL,
    waived_minor    bigint      NOT NULL,
    reason          text        NOT NULL,
    released_at     timestamptz NOT NULL,
    CONSTRAINT no_show_releases_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT no_show_releases_booking FOREIGN KEY (tenant_id, region, booking_id) REFERENCES bookings (tenant_id, region, id),
    CONSTRAINT no_show_releases_amounts CHECK (fee_minor >= 0 AND refund_minor >= 0 AND credited_minor >= 0 AND waived_minor >= 0),
    CONSTRAINT no_show_releases_waiver CHECK (waived_minor = 0 OR length(reason) > 0),
    CONSTRAINT no_show_releases_reason_length CHECK (length(reason) <= 200)
);

-- The past lines of a release, each settled once.
CREATE TABLE IF NOT EXISTS no_show_lines (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    booking_id   uuid   NOT NULL,
    ordinal      bigint NOT NULL,
    release_id   uuid   NOT NULL,
    amount_minor bigint NOT NULL,
    fee_minor    bigint NOT NULL,
    CONSTRAINT no_show_lines_pkey PRIMARY KEY (tenant_id, region, booking_id, ordinal),
    CONSTRAINT no_show_lines_release FOREIGN KEY (tenant_id, region, release_id) REFERENCES no_show_releases (tenant_id, region, id),
    CONSTRAINT no_show_lines_line FOREIGN KEY (tenant_id, region, booking_id, ordinal) REFERENCES booking_lines (tenant_id, region, booking_id, ordinal),
    CONSTRAINT no_show_lines_fee CHECK (fee_minor BETWEEN 0 AND amount_minor)
);

-- out_of_order is what cannot be sold, whatever the cause: out_of_order_set, which admins set, and one for
-- each room that has a period on the night (out_of_order_rooms), together at most the rooms there are.
-- Where nobody has written the night since, out_of_order_set is null, and out_of_order is what was set.
ALTER TABLE IF EXISTS night_plans ADD COLUMN IF NOT EXISTS out_of_order_set bigint;
ALTER TABLE IF EXISTS night_plans ADD COLUMN IF NOT EXISTS out_of_order_rooms bigint NOT NULL DEFAULT 0;
ALTER TABLE IF EXISTS night_plans DROP CONSTRAINT IF EXISTS night_plans_out_of_order_parts;
ALTER TABLE IF EXISTS night_plans ADD CONSTRAINT night_plans_out_of_order_parts
    CHECK (out_of_order_rooms >= 0 AND ((out_of_order_set IS NULL AND out_of_order_rooms = 0)
        OR (out_of_order_set IS NOT NULL AND out_of_order_set >= 0 AND out_of_order = LEAST(physical, out_of_order_set + out_of_order_rooms))));
