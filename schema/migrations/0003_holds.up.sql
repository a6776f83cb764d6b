-- Holds: durable leases of units for one buyer until a server deadline. The terms that decide how
-- a hold ends (late_payment, on_decline, the windows) are copied onto it when it is placed, so
-- that a change of terms never changes a lease already given.

CREATE TABLE IF NOT EXISTS holds (
    tenant_id          uuid        NOT NULL,
    region             text        NOT NULL,
    id                 uuid        NOT NULL,
    channel_id         uuid        NOT NULL,
    buyer_kind         text        NOT NULL,
    buyer_id           uuid        NOT NULL,
    state              text        NOT NULL,
    placed_at          timestamptz NOT NULL,
    deadline           timestamptz NOT NULL,
    lease_deadline     timestamptz NOT NULL,
    claimable_at       timestamptz NOT NULL,
    ended_at           timestamptz,
    extensions         bigint      NOT NULL DEFAULT 0,
    max_extensions     bigint      NOT NULL,
    hold_seconds       bigint      NOT NULL,
    max_hold_seconds   bigint      NOT NULL,
    processing_seconds bigint      NOT NULL,
    grace_seconds      bigint      NOT NULL,
    late_payment       text        NOT NULL,
    on_decline         text        NOT NULL,
    max_per_instrument bigint      NOT NULL,
    total_minor        bigint      NOT NULL,
    currency           text        NOT NULL,
    version            bigint      NOT NULL DEFAULT 1,
    CONSTRAINT holds_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT holds_buyer_kind CHECK (buyer_kind IN ('GUEST', 'KEY')),
    CONSTRAINT holds_state CHECK (state IN ('ACTIVE', 'PROCESSING', 'CONFIRMED', 'RELEASED', 'EXPIRED')),
    CONSTRAINT holds_ended CHECK ((state IN ('ACTIVE', 'PROCESSING')) = (ended_at IS NULL)),
    CONSTRAINT holds_late_payment CHECK (late_payment IN ('HONOUR', 'REFUND')),
    CONSTRAINT holds_on_decline CHECK (on_decline IN ('RELEASE', 'KEEP')),
    CONSTRAINT holds_extensions CHECK (extensions BETWEEN 0 AND max_extensions),
    CONSTRAINT holds_claimable CHECK (claimable_at >= deadline),
    CONSTRAINT holds_total CHECK (total_minor >= 0)
) WITH (fillfactor = 70);

-- What expiry sweeps, and what a claim that would be refused reaps.
CREATE INDEX IF NOT EXISTS holds_due ON holds (tenant_id, region, claimable_at)
    WHERE state IN ('ACTIVE', 'PROCESSING');

CREATE INDEX IF NOT EXISTS holds_by_buyer ON holds (tenant_id, region, buyer_id, placed_at);

-- One row for each unit row that the hold owns: a seat, a quantity of one counter of a pool, a
-- quantity of one night. item is the position in the buyer's request.
CREATE TABLE IF NOT EXISTS hold_lines (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    hold_id      uuid   NOT NULL,
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
    CONSTRAINT hold_lines_pkey PRIMARY KEY (tenant_id, region, hold_id, ordinal),
    CONSTRAINT hold_lines_hold FOREIGN KEY (tenant_id, region, hold_id) REFERENCES holds (tenant_id, region, id),
    CONSTRAINT hold_lines_kind CHECK (kind IN ('SEAT', 'POOL', 'NIGHT')),
    CONSTRAINT hold_lines_seat CHECK ((kind = 'SEAT') = (seat_id IS NOT NULL)),
    CONSTRAINT hold_lines_pool CHECK ((kind = 'POOL') = (pool_id IS NOT NULL) AND (kind = 'POOL') = (shard IS NOT NULL)),
    CONSTRAINT hold_lines_show CHECK ((kind IN ('SEAT', 'POOL')) = (show_id IS NOT NULL)),
    CONSTRAINT hold_lines_night CHECK ((kind = 'NIGHT') = (night IS NOT NULL) AND (kind = 'NIGHT') = (room_type_id IS NOT NULL)
        AND (kind = 'NIGHT') = (property_id IS NOT NULL)),
    CONSTRAINT hold_lines_quantity CHECK (quantity > 0 AND (kind <> 'SEAT' OR quantity = 1)),
    CONSTRAINT hold_lines_amount CHECK (amount_minor >= 0)
);

-- A client's request key and what it led to, inserted in the transaction of its effect.
CREATE TABLE IF NOT EXISTS requests (
    tenant_id   uuid        NOT NULL,
    region      text        NOT NULL,
    scope       text        NOT NULL,
    key         text        NOT NULL,
    fingerprint bytea       NOT NULL,
    result_id   uuid        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT requests_pkey PRIMARY KEY (tenant_id, region, scope, key),
    CONSTRAINT requests_key_length CHECK (length(key) BETWEEN 1 AND 255)
);
