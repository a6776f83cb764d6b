-- Capacity as data: oversell in percent, edits of many nights as jobs, what became of each unit, and
-- the log of what admins change.

-- Where it is set, oversell is this share of the rooms that can be sold, rounded down, and follows
-- them. The guard multiplies where it could divide: the engines disagree about whole quotients.
ALTER TABLE IF EXISTS night_plans ADD COLUMN IF NOT EXISTS oversell_percent bigint;
ALTER TABLE IF EXISTS night_plans DROP CONSTRAINT IF EXISTS night_plans_oversell_percent;
ALTER TABLE IF EXISTS night_plans ADD CONSTRAINT night_plans_oversell_percent CHECK (oversell_percent BETWEEN 0 AND 100);
ALTER TABLE IF EXISTS night_plans DROP CONSTRAINT IF EXISTS night_plans_oversell_share;
ALTER TABLE IF EXISTS night_plans ADD CONSTRAINT night_plans_oversell_share
    CHECK (oversell_percent IS NULL OR (oversell * 100 <= (physical - out_of_order) * oversell_percent
        AND (oversell + 1) * 100 > (physical - out_of_order) * oversell_percent));

-- An edit of nights that is too large for one transaction. Its chunks are written one by one, each in
-- a transaction of its own; the row is the truth, and jobs only drive it. author is who asked for it,
-- for the log of changes.
CREATE TABLE IF NOT EXISTS night_edits (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    id           uuid        NOT NULL,
    property_id  uuid        NOT NULL,
    room_type_id uuid,
    first_night  date        NOT NULL,
    last_night   date        NOT NULL,
    weekdays     bigint      NOT NULL,
    change       jsonb       NOT NULL,
    author       jsonb       NOT NULL,
    state        text        NOT NULL,
    nights       bigint      NOT NULL,
    created_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    CONSTRAINT night_edits_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT night_edits_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT night_edits_range CHECK (first_night <= last_night),
    CONSTRAINT night_edits_weekdays CHECK (weekdays BETWEEN 1 AND 127),
    CONSTRAINT night_edits_state CHECK (state IN ('RUNNING', 'DONE', 'CANCELLED')),
    CONSTRAINT night_edits_ended CHECK ((state = 'RUNNING') = (ended_at IS NULL)),
    CONSTRAINT night_edits_nights CHECK (nights > 0)
);

CREATE INDEX IF NOT EXISTS night_edits_running ON night_edits (tenant_id, region, created_at, id)
    WHERE state = 'RUNNING';

CREATE INDEX IF NOT EXISTS night_edits_by_property ON night_edits (tenant_id, region, property_id, created_at, id);

-- A chunk without a room type sets the house limit. fault is why a chunk could not be written.
CREATE TABLE IF NOT EXISTS night_edit_chunks (
    tenant_id    uuid   NOT NULL,
    region       text   NOT NULL,
    edit_id      uuid   NOT NULL,
    ordinal      bigint NOT NULL,
    room_type_id uuid,
    first_night  date   NOT NULL,
    last_night   date   NOT NULL,
    nights       bigint NOT NULL,
    state        text   NOT NULL,
    oversold     bigint NOT NULL DEFAULT 0,
    fault        text   NOT NULL DEFAULT '',
    ended_at     timestamptz,
    CONSTRAINT night_edit_chunks_pkey PRIMARY KEY (tenant_id, region, edit_id, ordinal),
    CONSTRAINT night_edit_chunks_edit FOREIGN KEY (tenant_id, region, edit_id) REFERENCES night_edits (tenant_id, region, id),
    CONSTRAINT night_edit_chunks_state CHECK (state IN ('WAITING', 'WRITTEN', 'FAILED')),
    CONSTRAINT night_edit_chunks_ended CHECK ((state = 'WAITING') = (ended_at IS NULL)),
    CONSTRAINT night_edit_chunks_fault CHECK ((state = 'FAILED') = (fault <> '')),
    CONSTRAINT night_edit_chunks_counts CHECK (nights > 0 AND oversold >= 0)
);

-- Who extended or released a hold. How else a hold came and went, its own row and its booking say.
CREATE TABLE IF NOT EXISTS hold_changes (
    tenant_id  uuid        NOT NULL,
    region     text        NOT NULL,
    hold_id    uuid        NOT NULL,
    version    bigint      NOT NULL,
    change     text        NOT NULL,
    actor      text        NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT hold_changes_pkey PRIMARY KEY (tenant_id, region, hold_id, version),
    CONSTRAINT hold_changes_hold FOREIGN KEY (tenant_id, region, hold_id) REFERENCES holds (tenant_id, region, id),
    CONSTRAINT hold_changes_change CHECK (change IN ('EXTENDED', 'RELEASED'))
);

-- The lines of one unit, for its history and for reports. No claim reads them: each line is in one of
-- the three.
CREATE INDEX IF NOT EXISTS hold_lines_by_seat ON hold_lines (tenant_id, region, show_id, seat_id)
    WHERE seat_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS hold_lines_by_pool ON hold_lines (tenant_id, region, pool_id)
    WHERE pool_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS hold_lines_by_night ON hold_lines (tenant_id, region, room_type_id, night)
    WHERE night IS NOT NULL;

-- What admins change, written in the transaction of the change and never altered. actor and resource
-- are public ids; a change of what belongs to no region is kept in its tenant's home region, and one
-- of what belongs to no tenant, which has the zero id, in the region of nobody.
CREATE TABLE IF NOT EXISTS audit_entries (
    tenant_id  uuid        NOT NULL,
    region     text        NOT NULL,
    id         uuid        NOT NULL,
    changed_at timestamptz NOT NULL,
    actor      text        NOT NULL,
    session    text        NOT NULL,
    address    text        NOT NULL,
    request_id text        NOT NULL,
    action     text        NOT NULL,
    resource   text        NOT NULL,
    reason     text        NOT NULL,
    before     jsonb,
    after      jsonb,
    CONSTRAINT audit_entries_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT audit_entries_actor_length CHECK (length(actor) BETWEEN 1 AND 100),
    CONSTRAINT audit_entries_action_length CHECK (length(action) BETWEEN 1 AND 100),
    CONSTRAINT audit_entries_resource_length CHECK (length(resource) BETWEEN 1 AND 200)
);

CREATE INDEX IF NOT EXISTS audit_entries_by_time ON audit_entries (tenant_id, region, changed_at, id);
CREATE INDEX IF NOT EXISTS audit_entries_by_resource ON audit_entries (tenant_id, region, resource, changed_at, id);
CREATE INDEX IF NOT EXISTS audit_entries_by_actor ON audit_entries (tenant_id, region, actor, changed_at, id);
