-- Seats that are set aside: for one channel, or as house seats that no channel sells. A seat's row says
-- which block it is in; whether the block still stands, and until when, is said here, so that a block
-- of any size is released with one row.
CREATE TABLE IF NOT EXISTS seat_blocks (
    tenant_id   uuid        NOT NULL,
    region      text        NOT NULL,
    id          uuid        NOT NULL,
    show_id     uuid        NOT NULL,
    channel_id  uuid,
    reason      text        NOT NULL,
    note        text        NOT NULL,
    state       text        NOT NULL DEFAULT 'ACTIVE',
    release_at  timestamptz,
    released_at timestamptz,
    released_by text,
    cleared_at  timestamptz,
    version     bigint      NOT NULL DEFAULT 1,
    created_at  timestamptz NOT NULL,
    CONSTRAINT seat_blocks_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT seat_blocks_show FOREIGN KEY (tenant_id, region, show_id) REFERENCES shows (tenant_id, region, id),
    CONSTRAINT seat_blocks_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT seat_blocks_state CHECK (state IN ('ACTIVE', 'RELEASED')),
    CONSTRAINT seat_blocks_released CHECK ((state = 'RELEASED') = (released_at IS NOT NULL)),
    CONSTRAINT seat_blocks_released_by CHECK ((released_by IS NOT NULL) = (released_at IS NOT NULL) AND released_by IN ('MOMENT', 'COMMAND')),
    CONSTRAINT seat_blocks_cleared CHECK (cleared_at IS NULL OR state = 'RELEASED'),
    CONSTRAINT seat_blocks_house CHECK (channel_id IS NOT NULL OR length(reason) > 0),
    CONSTRAINT seat_blocks_reason_length CHECK (length(reason) <= 500),
    CONSTRAINT seat_blocks_note_length CHECK (length(note) <= 1000)
);

CREATE INDEX IF NOT EXISTS seat_blocks_by_show ON seat_blocks (tenant_id, region, show_id, created_at, id);

CREATE INDEX IF NOT EXISTS seat_blocks_due ON seat_blocks (tenant_id, region, release_at)
    WHERE state = 'ACTIVE' AND release_at IS NOT NULL;

-- Released blocks to which seats may still point.
CREATE INDEX IF NOT EXISTS seat_blocks_uncleared ON seat_blocks (tenant_id, region, released_at)
    WHERE state = 'RELEASED' AND cleared_at IS NULL;

-- What was done with a block, and by whose key; rows are only added. A seat that was held across a block
-- names the hold. Without a key, its moment had come. There is no foreign key: the claim that keeps an
-- override has locked seats, and must not wait for the block's row.
CREATE TABLE IF NOT EXISTS seat_block_changes (
    tenant_id  uuid        NOT NULL,
    region     text        NOT NULL,
    id         uuid        NOT NULL,
    block_id   uuid        NOT NULL,
    kind       text        NOT NULL,
    seats      bigint      NOT NULL,
    other_id   uuid,
    hold_id    uuid,
    key_id     uuid,
    session_id uuid,
    note       text        NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT seat_block_changes_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT seat_block_changes_kind CHECK (kind IN ('CREATED', 'ASSIGNED', 'MOVED_IN', 'MOVED_OUT', 'SEATS_RELEASED', 'CHANGED', 'RELEASED', 'OVERRIDDEN')),
    CONSTRAINT seat_block_changes_seats CHECK (seats >= 0),
    CONSTRAINT seat_block_changes_hold CHECK ((kind = 'OVERRIDDEN') = (hold_id IS NOT NULL))
);

CREATE INDEX IF NOT EXISTS seat_block_changes_by_block ON seat_block_changes (tenant_id, region, block_id, changed_at, id);

-- The block that a seat is in. block_channel_id is the block's channel, or the zero UUID of house seats,
-- which is no channel's.
ALTER TABLE IF EXISTS show_seats ADD COLUMN IF NOT EXISTS block_id uuid;

ALTER TABLE IF EXISTS past_show_seats ADD COLUMN IF NOT EXISTS block_id uuid;

-- What a channel may sell, and what it earns. A channel without a row sells everything for nothing.
CREATE TABLE IF NOT EXISTS channel_sales (
    tenant_id               uuid        NOT NULL,
    channel_id              uuid        NOT NULL,
    every_show              boolean     NOT NULL DEFAULT true,
    every_property          boolean     NOT NULL DEFAULT true,
    commission_basis_points bigint      NOT NULL DEFAULT 0,
    updated_at              timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT channel_sales_pkey PRIMARY KEY (tenant_id, channel_id),
    CONSTRAINT channel_sales_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT channel_sales_commission CHECK (commission_basis_points BETWEEN 0 AND 10000)
);

-- The shows and properties of channels that do not sell every one.
CREATE TABLE IF NOT EXISTS channel_offers (
    tenant_id  uuid NOT NULL,
    channel_id uuid NOT NULL,
    kind       text NOT NULL,
    region     text NOT NULL,
    scope_id   uuid NOT NULL,
    CONSTRAINT channel_offers_pkey PRIMARY KEY (tenant_id, channel_id, kind, scope_id),
    CONSTRAINT channel_offers_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT channel_offers_kind CHECK (kind IN ('SHOW', 'PROPERTY'))
);

-- The channel's commission at the sale, in hundredths of a percent of the total.
ALTER TABLE IF EXISTS bookings ADD COLUMN IF NOT EXISTS commission_basis_points bigint NOT NULL DEFAULT 0;
