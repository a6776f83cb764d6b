-- Into and out of which block a seat went, and by which change of blocks; rows are only added. Without
-- from_block it was in none that stood, without to_block it is for everybody since. change_id is the
-- change of to_block, or else of from_block. A block that is released as a whole adds no row: whoever was
-- in it then left it. There is no foreign key: a change writes thousands of rows at once, and the seats of
-- a show that is over go to another table.
CREATE TABLE IF NOT EXISTS seat_block_moves (
    tenant_id  uuid        NOT NULL,
    region     text        NOT NULL,
    show_id    uuid        NOT NULL,
    seat_id    uuid        NOT NULL,
    change_id  uuid        NOT NULL,
    from_block uuid,
    to_block   uuid,
    moved_at   timestamptz NOT NULL,
    CONSTRAINT seat_block_moves_pkey PRIMARY KEY (tenant_id, region, show_id, seat_id, change_id),
    CONSTRAINT seat_block_moves_ends CHECK (from_block IS NOT NULL OR to_block IS NOT NULL),
    CONSTRAINT seat_block_moves_moves CHECK (from_block <> to_block)
);

-- Reason and note that a block had when seats joined it, or was given; null of other changes, and of those
-- before this was kept.
ALTER TABLE IF EXISTS seat_block_changes ADD COLUMN IF NOT EXISTS block_reason text;

ALTER TABLE IF EXISTS seat_block_changes ADD COLUMN IF NOT EXISTS block_note text;

-- Seats that are in a block by now are in it since it was made, as far as is known. Where seats joined it
-- later, too, nobody knows by which change each did: then change_id is the block's own id.
INSERT INTO seat_block_moves (tenant_id, region, show_id, seat_id, change_id, to_block, moved_at)
SELECT s.tenant_id, s.region, s.show_id, s.seat_id, COALESCE(c.id, b.id), b.id, b.created_at
FROM (
    SELECT hot.tenant_id, hot.region, hot.show_id, hot.seat_id, hot.block_id FROM show_seats hot WHERE hot.block_id IS NOT NULL
    UNION ALL
    SELECT past.tenant_id, past.region, past.show_id, past.seat_id, past.block_id FROM past_show_seats past WHERE past.block_id IS NOT NULL) AS s
JOIN seat_blocks b ON b.tenant_id = s.tenant_id AND b.region = s.region AND b.id = s.block_id
LEFT JOIN seat_block_changes c ON c.tenant_id = b.tenant_id AND c.region = b.region AND c.block_id = b.id AND c.kind = 'CREATED'
    AND NOT EXISTS (
        SELECT 1
        FROM seat_block_changes later
        WHERE later.tenant_id = b.tenant_id AND later.region = b.region AND later.block_id = b.id AND later.kind IN ('ASSIGNED', 'MOVED_IN'))
WHERE NOT EXISTS (
    SELECT 1
    FROM seat_block_moves known
    WHERE known.tenant_id = s.tenant_id AND known.region = s.region AND known.show_id = s.show_id AND known.seat_id = s.seat_id)
ON CONFLICT (tenant_id, region, show_id, seat_id, change_id) DO NOTHING;

-- By how many units what a definite allotment sets aside of one night, or of a pool, grew or shrank, and
-- by which version of the allotment; rows are only added. The night of a pool is 0001-01-01. by_time is a
-- release whose time had come, at that time, whoever carried it out and when.
CREATE TABLE IF NOT EXISTS allotment_moves (
    tenant_id    uuid        NOT NULL,
    region       text        NOT NULL,
    unit_id      uuid        NOT NULL,
    night        date        NOT NULL,
    allotment_id uuid        NOT NULL,
    version      bigint      NOT NULL,
    units        bigint      NOT NULL,
    by_time      boolean     NOT NULL,
    moved_at     timestamptz NOT NULL,
    CONSTRAINT allotment_moves_pkey PRIMARY KEY (tenant_id, region, unit_id, night, allotment_id, version),
    CONSTRAINT allotment_moves_units CHECK (units <> 0),
    CONSTRAINT allotment_moves_by_time CHECK (NOT by_time OR units < 0)
);

-- What is set aside by now was set aside when the allotment became definite, as far as is known.
INSERT INTO allotment_moves (tenant_id, region, unit_id, night, allotment_id, version, units, by_time, moved_at)
SELECT p.tenant_id, p.region, p.unit_id, p.night, p.allotment_id, COALESCE(c.version, 1), p.quantity, false, COALESCE(a.definite_at, a.created_at)
FROM allotment_parts p
JOIN allotments a ON a.tenant_id = p.tenant_id AND a.region = p.region AND a.id = p.allotment_id
LEFT JOIN allotment_changes c ON c.tenant_id = a.tenant_id AND c.region = a.region AND c.allotment_id = a.id AND c.action = 'MADE_DEFINITE'
WHERE p.state = 'OPEN' AND p.quantity > 0 AND NOT EXISTS (
    SELECT 1
    FROM allotment_moves known
    WHERE known.tenant_id = p.tenant_id AND known.region = p.region AND known.unit_id = p.unit_id AND known.night = p.night
        AND known.allotment_id = p.allotment_id)
ON CONFLICT (tenant_id, region, unit_id, night, allotment_id, version) DO NOTHING;
