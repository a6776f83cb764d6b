-- What partners' systems call hotels, room types and the standard rate, the messages that they sent, and the
-- nights that imported calendars close; see package trade.

-- The hotel's code in messages, and the one of its standard rate: a rate plan's is its own.
CREATE TABLE IF NOT EXISTS trade_hotels (
    tenant_id     uuid        NOT NULL,
    property_id   uuid        NOT NULL,
    code          text        NOT NULL,
    standard_rate text        NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT trade_hotels_pkey PRIMARY KEY (tenant_id, property_id),
    CONSTRAINT trade_hotels_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT trade_hotels_code_unique UNIQUE (tenant_id, code),
    CONSTRAINT trade_hotels_code CHECK (length(code) BETWEEN 1 AND 64),
    CONSTRAINT trade_hotels_standard_rate CHECK (length(standard_rate) BETWEEN 1 AND 64)
);

CREATE TABLE IF NOT EXISTS trade_room_types (
    tenant_id    uuid NOT NULL,
    region       text NOT NULL,
    room_type_id uuid NOT NULL,
    property_id  uuid NOT NULL,
    code         text NOT NULL,
    CONSTRAINT trade_room_types_pkey PRIMARY KEY (tenant_id, region, room_type_id),
    CONSTRAINT trade_room_types_room_type FOREIGN KEY (tenant_id, region, room_type_id) REFERENCES room_types (tenant_id, region, id),
    CONSTRAINT trade_room_types_code_unique UNIQUE (tenant_id, region, property_id, code),
    CONSTRAINT trade_room_types_code CHECK (length(code) BETWEEN 1 AND 64)
);

-- Messages that were applied, with their answers, so that a repetition is answered the same.
CREATE TABLE IF NOT EXISTS trade_messages (
    tenant_id   uuid        NOT NULL,
    region      text        NOT NULL,
    id          uuid        NOT NULL,
    property_id uuid        NOT NULL,
    kind        text        NOT NULL,
    author      text        NOT NULL,
    echo_token  text        NOT NULL DEFAULT '',
    time_stamp  text        NOT NULL DEFAULT '',
    nights      bigint      NOT NULL,
    warnings    bigint      NOT NULL,
    answer      text        NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT trade_messages_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT trade_messages_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT trade_messages_kind CHECK (kind IN ('INVENTORY', 'RESTRICTIONS', 'RATES')),
    CONSTRAINT trade_messages_nights CHECK (nights >= 0),
    CONSTRAINT trade_messages_warnings CHECK (warnings >= 0)
);

CREATE INDEX IF NOT EXISTS trade_messages_newest ON trade_messages (tenant_id, region, property_id, created_at DESC, id DESC);

-- The nights that events of imported calendars close. opens: nobody else had closed the night, so that it opens when the last of
-- its events is gone.
CREATE TABLE IF NOT EXISTS trade_calendar_nights (
    tenant_id    uuid    NOT NULL,
    region       text    NOT NULL,
    room_type_id uuid    NOT NULL,
    night        date    NOT NULL,
    calendar     text    NOT NULL,
    uid          text    NOT NULL,
    opens        boolean NOT NULL,
    CONSTRAINT trade_calendar_nights_pkey PRIMARY KEY (tenant_id, region, room_type_id, night, calendar, uid),
    CONSTRAINT trade_calendar_nights_room_type FOREIGN KEY (tenant_id, region, room_type_id) REFERENCES room_types (tenant_id, region, id),
    CONSTRAINT trade_calendar_nights_calendar CHECK (length(calendar) BETWEEN 1 AND 64),
    CONSTRAINT trade_calendar_nights_uid CHECK (length(uid) BETWEEN 1 AND 255)
);
