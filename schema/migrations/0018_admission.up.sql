-- Waiting rooms: who waits for a show, whom the room lets in, and the grants with which those may hold.
-- A visitor who joins and waits has no row anywhere; see package admission.

-- The keys that sign the tokens of visitors. Those of every process are the same, so they are here.
-- The newest whose time to sign has come signs; older ones are still accepted.
CREATE TABLE IF NOT EXISTS admission_keys (
    id         bigint      NOT NULL,
    secret     bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    signs_at   timestamptz NOT NULL,
    CONSTRAINT admission_keys_pkey PRIMARY KEY (id),
    CONSTRAINT admission_keys_id CHECK (id BETWEEN 1 AND 1000000000),
    CONSTRAINT admission_keys_secret CHECK (length(secret) = 32)
);

-- The room of a show, which may be opened again after it has closed. Orders, of visitors and of the watermark, are microseconds since opens_at;
-- credit is what has accrued for visitors not yet called, in sixty-millionths of a visitor.
CREATE TABLE IF NOT EXISTS waiting_rooms (
    tenant_id       uuid        NOT NULL,
    region          text        NOT NULL,
    show_id         uuid        NOT NULL,
    opening         bigint      NOT NULL DEFAULT 1,
    secret          bytea       NOT NULL,
    opens_at        timestamptz NOT NULL,
    closes_at       timestamptz NOT NULL,
    window_seconds  bigint      NOT NULL,
    rate_per_minute bigint      NOT NULL,
    grant_seconds   bigint      NOT NULL,
    holds_per_grant bigint      NOT NULL,
    verifier        text        NOT NULL DEFAULT '',
    paused          boolean     NOT NULL DEFAULT false,
    closed_at       timestamptz,
    watermark       bigint      NOT NULL DEFAULT -1,
    credit          bigint      NOT NULL DEFAULT 0,
    moved_at        timestamptz NOT NULL,
    version         bigint      NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT waiting_rooms_pkey PRIMARY KEY (tenant_id, region, show_id),
    CONSTRAINT waiting_rooms_show FOREIGN KEY (tenant_id, region, show_id) REFERENCES shows (tenant_id, region, id),
    CONSTRAINT waiting_rooms_secret CHECK (length(secret) = 32),
    CONSTRAINT waiting_rooms_open CHECK (opens_at < closes_at),
    CONSTRAINT waiting_rooms_window CHECK (window_seconds BETWEEN 0 AND 86400),
    CONSTRAINT waiting_rooms_rate CHECK (rate_per_minute BETWEEN 1 AND 1000000),
    CONSTRAINT waiting_rooms_grant CHECK (grant_seconds BETWEEN 10 AND 86400),
    CONSTRAINT waiting_rooms_holds CHECK (holds_per_grant BETWEEN 1 AND 20),
    CONSTRAINT waiting_rooms_verifier CHECK (length(verifier) <= 64),
    CONSTRAINT waiting_rooms_watermark CHECK (watermark >= -1),
    CONSTRAINT waiting_rooms_credit CHECK (credit >= 0)
) WITH (fillfactor = 50);

-- How many visitors joined, by where in the line they are: each process writes its own sums, so that
-- writing them twice changes nothing.
CREATE TABLE IF NOT EXISTS waiting_room_counts (
    tenant_id  uuid   NOT NULL,
    region     text   NOT NULL,
    show_id    uuid   NOT NULL,
    opening    bigint NOT NULL,
    bucket     bigint NOT NULL,
    counter_id uuid   NOT NULL,
    visitors   bigint NOT NULL,
    CONSTRAINT waiting_room_counts_pkey PRIMARY KEY (tenant_id, region, show_id, opening, bucket, counter_id),
    CONSTRAINT waiting_room_counts_bucket CHECK (bucket >= 0),
    CONSTRAINT waiting_room_counts_visitors CHECK (visitors >= 0)
);

-- Who was let in. A ticket is exchanged once, whoever presents it; a grant is good for so many holds
-- of its session, and none is given back.
CREATE TABLE IF NOT EXISTS admission_grants (
    tenant_id  uuid        NOT NULL,
    region     text        NOT NULL,
    id         uuid        NOT NULL,
    show_id    uuid        NOT NULL,
    ticket     uuid        NOT NULL,
    session_id uuid        NOT NULL,
    issued_at  timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    holds      bigint      NOT NULL,
    used       bigint      NOT NULL DEFAULT 0,
    CONSTRAINT admission_grants_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT admission_grants_ticket UNIQUE (tenant_id, region, show_id, ticket),
    CONSTRAINT admission_grants_lifetime CHECK (issued_at < expires_at),
    CONSTRAINT admission_grants_holds CHECK (holds BETWEEN 1 AND 20),
    CONSTRAINT admission_grants_used CHECK (used BETWEEN 0 AND holds)
);

CREATE INDEX IF NOT EXISTS admission_grants_by_session ON admission_grants (tenant_id, region, session_id, show_id);

-- Which hold took which use of a grant.
CREATE TABLE IF NOT EXISTS admission_uses (
    tenant_id uuid   NOT NULL,
    region    text   NOT NULL,
    grant_id  uuid   NOT NULL,
    ordinal   bigint NOT NULL,
    hold_id   uuid   NOT NULL,
    CONSTRAINT admission_uses_pkey PRIMARY KEY (tenant_id, region, grant_id, ordinal),
    CONSTRAINT admission_uses_hold UNIQUE (tenant_id, region, hold_id),
    CONSTRAINT admission_uses_grant FOREIGN KEY (tenant_id, region, grant_id) REFERENCES admission_grants (tenant_id, region, id),
    CONSTRAINT admission_uses_ordinal CHECK (ordinal BETWEEN 1 AND 20)
);

-- From when until when guests need a grant to hold, as the show's waiting room says. Claims read the
-- show anyway, and must not meet the row of the room, which changes every second.
ALTER TABLE IF EXISTS shows ADD COLUMN IF NOT EXISTS admission_from timestamptz;
ALTER TABLE IF EXISTS shows ADD COLUMN IF NOT EXISTS admission_until timestamptz;
