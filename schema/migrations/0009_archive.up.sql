-- Completed shows leave the hot tables: their seats and counters move to tables of their own, which
-- nothing is claimed from, so that claims and their indexes stay as small as what is on sale.
-- completed_at is set when nothing can be claimed any more and the moving begins, archived_at when
-- it has ended.

ALTER TABLE IF EXISTS shows ADD COLUMN IF NOT EXISTS completed_at timestamptz;

ALTER TABLE IF EXISTS shows ADD COLUMN IF NOT EXISTS archived_at timestamptz;

CREATE INDEX IF NOT EXISTS shows_to_archive ON shows (tenant_id, region, starts_at, id)
    WHERE archived_at IS NULL;

CREATE TABLE IF NOT EXISTS past_show_seats (
    tenant_id        uuid        NOT NULL,
    region           text        NOT NULL,
    show_id          uuid        NOT NULL,
    seat_id          uuid        NOT NULL,
    price_level_id   uuid        NOT NULL,
    state            text        NOT NULL DEFAULT 'AVAILABLE',
    hold_id          uuid,
    claimable_at     timestamptz,
    block_channel_id uuid,
    CONSTRAINT past_show_seats_pkey PRIMARY KEY (tenant_id, region, show_id, seat_id),
    CONSTRAINT past_show_seats_state CHECK (state IN ('AVAILABLE', 'HELD', 'BOOKED')),
    CONSTRAINT past_show_seats_owner CHECK ((state = 'AVAILABLE') = (hold_id IS NULL)),
    CONSTRAINT past_show_seats_claimable CHECK ((state = 'HELD') = (claimable_at IS NOT NULL))
);

CREATE TABLE IF NOT EXISTS past_pool_counters (
    tenant_id  uuid   NOT NULL,
    region     text   NOT NULL,
    pool_id    uuid   NOT NULL,
    bucket     uuid   NOT NULL,
    shard      bigint NOT NULL,
    sell_limit bigint NOT NULL,
    held       bigint NOT NULL DEFAULT 0,
    booked     bigint NOT NULL DEFAULT 0,
    ceiling    bigint NOT NULL,
    CONSTRAINT past_pool_counters_pkey PRIMARY KEY (tenant_id, region, pool_id, bucket, shard),
    CONSTRAINT past_pool_counters_held CHECK (held >= 0),
    CONSTRAINT past_pool_counters_booked CHECK (booked >= 0),
    CONSTRAINT past_pool_counters_sell_limit CHECK (sell_limit >= 0),
    CONSTRAINT past_pool_counters_ceiling CHECK (held + booked <= ceiling)
);
