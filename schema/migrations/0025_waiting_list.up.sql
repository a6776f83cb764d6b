-- Waiting lists: who waits for units of a show or a hotel that are sold out. Not the waiting rooms, in which
-- visitors wait for the sale itself.

-- The list of a show or of a property. Whoever joins locks it, so that places in line are given one by one.
-- looked_at is when somebody last asked whether those who wait can be served.
CREATE TABLE IF NOT EXISTS waiting_lists (
    tenant_id     uuid        NOT NULL,
    region        text        NOT NULL,
    scope_id      uuid        NOT NULL,
    scope_kind    text        NOT NULL,
    is_open       boolean     NOT NULL,
    offer_seconds bigint      NOT NULL,
    max_entries   bigint      NOT NULL,
    last_number   bigint      NOT NULL DEFAULT 0,
    looked_at     timestamptz NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT waiting_lists_pkey PRIMARY KEY (tenant_id, region, scope_id),
    CONSTRAINT waiting_lists_scope CHECK (scope_kind IN ('SHOW', 'PROPERTY')),
    CONSTRAINT waiting_lists_offer CHECK (offer_seconds BETWEEN 60 AND 172800),
    CONSTRAINT waiting_lists_entries CHECK (max_entries BETWEEN 1 AND 5000),
    CONSTRAINT waiting_lists_number CHECK (last_number >= 0)
) WITH (fillfactor = 50);

-- One buyer's wish, all or nothing. number is its place in line; lines is what a hold would ask for. hold_id
-- is the one hold that was ever placed for it.
CREATE TABLE IF NOT EXISTS waiting_entries (
    tenant_id   uuid        NOT NULL,
    region      text        NOT NULL,
    id          uuid        NOT NULL,
    scope_id    uuid        NOT NULL,
    number      bigint      NOT NULL,
    channel_id  uuid        NOT NULL,
    buyer_kind  text        NOT NULL,
    buyer_id    uuid        NOT NULL,
    lines       jsonb       NOT NULL,
    fingerprint bytea       NOT NULL,
    state       text        NOT NULL,
    joined_at   timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    offered_at  timestamptz,
    hold_id     uuid,
    ended_at    timestamptz,
    version     bigint      NOT NULL DEFAULT 1,
    CONSTRAINT waiting_entries_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT waiting_entries_list FOREIGN KEY (tenant_id, region, scope_id) REFERENCES waiting_lists (tenant_id, region, scope_id),
    CONSTRAINT waiting_entries_number UNIQUE (tenant_id, region, scope_id, number),
    CONSTRAINT waiting_entries_hold UNIQUE (tenant_id, region, hold_id),
    CONSTRAINT waiting_entries_buyer CHECK (buyer_kind IN ('GUEST', 'KEY')),
    CONSTRAINT waiting_entries_fingerprint CHECK (length(fingerprint) = 32),
    CONSTRAINT waiting_entries_state CHECK (state IN ('WAITING', 'OFFERED', 'SERVED', 'DECLINED', 'LAPSED', 'LEFT', 'EXPIRED')),
    CONSTRAINT waiting_entries_ended CHECK ((state IN ('WAITING', 'OFFERED')) = (ended_at IS NULL)),
    CONSTRAINT waiting_entries_offered CHECK ((state IN ('WAITING', 'LEFT', 'EXPIRED')) = (hold_id IS NULL) AND (hold_id IS NULL) = (offered_at IS NULL))
) WITH (fillfactor = 70);

-- Those who wait, the first in line first.
CREATE INDEX IF NOT EXISTS waiting_entries_in_line ON waiting_entries (tenant_id, region, scope_id, number)
    WHERE state = 'WAITING';

-- Whose time is over, and for whom something is held.
CREATE INDEX IF NOT EXISTS waiting_entries_due ON waiting_entries (tenant_id, region, expires_at)
    WHERE state = 'WAITING';

CREATE INDEX IF NOT EXISTS waiting_entries_held ON waiting_entries (tenant_id, region, offered_at)
    WHERE state = 'OFFERED';

-- A buyer waits for the same once.
CREATE UNIQUE INDEX IF NOT EXISTS waiting_entries_wish ON waiting_entries (tenant_id, region, buyer_id, fingerprint)
    WHERE state IN ('WAITING', 'OFFERED');

CREATE INDEX IF NOT EXISTS waiting_entries_by_buyer ON waiting_entries (tenant_id, region, buyer_id, joined_at, id);

-- What retention deletes.
CREATE INDEX IF NOT EXISTS waiting_entries_ended_at ON waiting_entries (tenant_id, region, ended_at)
    WHERE ended_at IS NOT NULL;
