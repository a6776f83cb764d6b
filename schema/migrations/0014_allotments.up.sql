-- Allotments: a quantity of a pool, or of a room type's nights, that one channel sells from first. A
-- definite one has counters of its own: the bucket of its units is its id. (The zero bucket is what
-- every channel sells from.)

-- One allotment is of a pool or of a room type. weekdays has bit 1 for Sunday up to bit 64 for Saturday.
-- Release: release_at for all of it at once, or release_days before each night (or before the show's
-- date) at release_minute of the local day; none of them is never.
CREATE TABLE IF NOT EXISTS allotments (
    tenant_id      uuid        NOT NULL,
    region         text        NOT NULL,
    id             uuid        NOT NULL,
    channel_id     uuid        NOT NULL,
    name           text        NOT NULL,
    show_id        uuid,
    pool_id        uuid,
    property_id    uuid,
    room_type_id   uuid,
    first_night    date,
    last_night     date,
    weekdays       bigint      NOT NULL,
    sells_shared   boolean     NOT NULL,
    release_at     timestamptz,
    release_days   bigint,
    release_minute bigint,
    state          text        NOT NULL,
    version        bigint      NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    definite_at    timestamptz,
    ended_at       timestamptz,
    CONSTRAINT allotments_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT allotments_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT allotments_pool FOREIGN KEY (tenant_id, region, pool_id) REFERENCES pools (tenant_id, region, id),
    CONSTRAINT allotments_room_type FOREIGN KEY (tenant_id, region, room_type_id) REFERENCES room_types (tenant_id, region, id),
    CONSTRAINT allotments_name_length CHECK (length(name) BETWEEN 1 AND 200),
    CONSTRAINT allotments_of_one CHECK ((pool_id IS NULL) = (show_id IS NULL) AND (room_type_id IS NULL) = (property_id IS NULL)
        AND (pool_id IS NULL) <> (room_type_id IS NULL)),
    CONSTRAINT allotments_nights CHECK ((room_type_id IS NULL) = (first_night IS NULL) AND (room_type_id IS NULL) = (last_night IS NULL)
        AND (first_night IS NULL OR first_night <= last_night)),
    CONSTRAINT allotments_weekdays CHECK (weekdays BETWEEN 1 AND 127),
    CONSTRAINT allotments_release CHECK ((release_days IS NULL) = (release_minute IS NULL) AND (release_at IS NULL OR release_days IS NULL)),
    CONSTRAINT allotments_release_days CHECK (release_days BETWEEN 0 AND 730),
    CONSTRAINT allotments_release_minute CHECK (release_minute BETWEEN 0 AND 1439),
    CONSTRAINT allotments_state CHECK (state IN ('TENTATIVE', 'DEFINITE', 'RELEASED', 'CANCELLED')),
    CONSTRAINT allotments_ended CHECK ((state IN ('RELEASED', 'CANCELLED')) = (ended_at IS NOT NULL)),
    CONSTRAINT allotments_definite CHECK (state NOT IN ('DEFINITE', 'RELEASED') OR definite_at IS NOT NULL),
    CONSTRAINT allotments_version CHECK (version > 0)
);

CREATE INDEX IF NOT EXISTS allotments_by_property ON allotments (tenant_id, region, property_id, created_at, id);
CREATE INDEX IF NOT EXISTS allotments_by_show ON allotments (tenant_id, region, show_id, created_at, id);

-- What an allotment has of one night; of a pool, there is one part with the night 0001-01-01. unit_id is
-- the room type or the pool. Only an OPEN part is sold from and keeps its rest from others.
CREATE TABLE IF NOT EXISTS allotment_parts (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    allotment_id uuid   NOT NULL,
    night        date   NOT NULL,
    unit_id      uuid   NOT NULL,
    quantity     bigint NOT NULL,
    state        text   NOT NULL,
    release_at   timestamptz,
    CONSTRAINT allotment_parts_pkey PRIMARY KEY (tenant_id, region, allotment_id, night),
    CONSTRAINT allotment_parts_allotment FOREIGN KEY (tenant_id, region, allotment_id) REFERENCES allotments (tenant_id, region, id),
    CONSTRAINT allotment_parts_quantity CHECK (quantity BETWEEN 0 AND 10000000),
    CONSTRAINT allotment_parts_state CHECK (state IN ('TENTATIVE', 'OPEN', 'RELEASED', 'CANCELLED'))
);

-- What a claim of a night or pool asks.
CREATE INDEX IF NOT EXISTS allotment_parts_by_unit ON allotment_parts (tenant_id, region, unit_id, night);
-- What is due for release.
CREATE INDEX IF NOT EXISTS allotment_parts_due ON allotment_parts (tenant_id, region, release_at) WHERE state = 'OPEN';

-- What happened to an allotment, only added to. No key means that its time had come. units is by how many
-- units what the allotment keeps from others grew or shrank, over all nights.
CREATE TABLE IF NOT EXISTS allotment_changes (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    allotment_id uuid        NOT NULL,
    version      bigint      NOT NULL,
    action       text        NOT NULL,
    key_id       uuid,
    units        bigint      NOT NULL,
    occurred_at  timestamptz NOT NULL,
    CONSTRAINT allotment_changes_pkey PRIMARY KEY (tenant_id, region, allotment_id, version),
    CONSTRAINT allotment_changes_allotment FOREIGN KEY (tenant_id, region, allotment_id) REFERENCES allotments (tenant_id, region, id),
    CONSTRAINT allotment_changes_action CHECK (action IN ('CREATED', 'CHANGED', 'MADE_DEFINITE', 'RELEASED', 'CANCELLED'))
);

-- Whether any allotment was ever definite on a night or pool: claims of others need not look for any.
ALTER TABLE IF EXISTS night_plans ADD COLUMN IF NOT EXISTS has_allotment boolean NOT NULL DEFAULT false;
ALTER TABLE IF EXISTS pools ADD COLUMN IF NOT EXISTS has_allotment boolean NOT NULL DEFAULT false;
