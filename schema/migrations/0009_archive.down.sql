-- What was sold in past shows goes back first. The tables are made again when a run before this one
-- was killed after it had dropped them.

CREATE TABLE IF NOT EXISTS past_show_seats (
    tenant_id        uuid        NOT NULL,
    region           text        NOT NULL,
    show_id          uuid        NOT NULL,
    seat_id          uuid        NOT NULL,
    price_level_id   uuid        NOT NULL,
    state            text        NOT NULL,
    hold_id          uuid,
    claimable_at     timestamptz,
    block_channel_id uuid,
    CONSTRAINT past_show_seats_pkey PRIMARY KEY (tenant_id, region, show_id, seat_id)
);

CREATE TABLE IF NOT EXISTS past_pool_counters (
    tenant_id  uuid   NOT NULL,
    region     text   NOT NULL,
    pool_id    uuid   NOT NULL,
    bucket     uuid   NOT NULL,
    shard      bigint NOT NULL,
    sell_limit bigint NOT NULL,
    held       bigint NOT NULL,
    booked     bigint NOT NULL,
    ceiling    bigint NOT NULL,
    CONSTRAINT past_pool_counters_pkey PRIMARY KEY (tenant_id, region, pool_id, bucket, shard)
);

INSERT INTO show_seats (tenant_id, region, show_id, seat_id, price_level_id, state, hold_id, claimable_at, block_channel_id)
SELECT tenant_id, region, show_id, seat_id, price_level_id, state, hold_id, claimable_at, block_channel_id
FROM past_show_seats
ON CONFLICT (tenant_id, region, show_id, seat_id) DO NOTHING;

INSERT INTO pool_counters (tenant_id, region, pool_id, bucket, shard, sell_limit, held, booked, ceiling)
SELECT tenant_id, region, pool_id, bucket, shard, sell_limit, held, booked, ceiling
FROM past_pool_counters
ON CONFLICT (tenant_id, region, pool_id, bucket, shard) DO NOTHING;

DROP TABLE IF EXISTS past_pool_counters;

DROP TABLE IF EXISTS past_show_seats;

DROP INDEX IF EXISTS shows_to_archive;

ALTER TABLE IF EXISTS shows DROP COLUMN IF EXISTS archived_at;

ALTER TABLE IF EXISTS shows DROP COLUMN IF EXISTS completed_at;
