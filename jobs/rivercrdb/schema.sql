-- The tables that River v0.51.2 needs, in words that CockroachDB 21.1 and PostgreSQL 15 both take.
--
-- Every statement may be run again. CREATE TYPE has no IF NOT EXISTS on PostgreSQL: Migrate looks
-- for the type first. Two markers stand for what differs: "/* schema */" becomes the schema's
-- quoted name and a dot, and "/* cockroachdb: VIRTUAL */" becomes VIRTUAL on CockroachDB.

CREATE TYPE /* schema */river_job_state AS ENUM (
    'available',
    'cancelled',
    'completed',
    'discarded',
    'pending',
    'retryable',
    'running',
    'scheduled'
);

-- River asks for nextval by this name. A virtual sequence answers it with unique_rowid(): no row
-- that every insert of the cluster would have to write.
CREATE SEQUENCE IF NOT EXISTS /* schema */river_job_id_seq /* cockroachdb: VIRTUAL */;

-- errors is text[] where River has an array of jsonb, which CockroachDB refuses as a column.
--
-- unique_active is the unique key while the job's state is one of those that the key covers, and
-- NULL otherwise. Its plain UNIQUE takes the place of River's partial unique index, for which
-- CockroachDB scans the table on every insert. Bit n of unique_states counts from the left.
CREATE TABLE IF NOT EXISTS /* schema */river_job (
    id bigint NOT NULL DEFAULT nextval('river_job_id_seq'),
    args jsonb NOT NULL DEFAULT '{}',
    attempt smallint NOT NULL DEFAULT 0,
    attempted_at timestamptz,
    attempted_by text[],
    created_at timestamptz NOT NULL DEFAULT now(),
    errors text[],
    finalized_at timestamptz,
    kind text NOT NULL,
    max_attempts smallint NOT NULL DEFAULT 25,
    metadata jsonb NOT NULL DEFAULT '{}',
    priority smallint NOT NULL DEFAULT 1,
    queue text NOT NULL DEFAULT 'default',
    state /* schema */river_job_state NOT NULL DEFAULT 'available',
    scheduled_at timestamptz NOT NULL DEFAULT now(),
    tags varchar(255)[] NOT NULL DEFAULT '{}',
    unique_key bytea,
    unique_states bit(8),
    unique_active bytea GENERATED ALWAYS AS (
        CASE WHEN unique_key IS NOT NULL AND unique_states IS NOT NULL AND
            CASE state
                WHEN 'available' THEN get_bit(unique_states, 7)
                WHEN 'cancelled' THEN get_bit(unique_states, 6)
                WHEN 'completed' THEN get_bit(unique_states, 5)
                WHEN 'discarded' THEN get_bit(unique_states, 4)
                WHEN 'pending' THEN get_bit(unique_states, 3)
                WHEN 'retryable' THEN get_bit(unique_states, 2)
                WHEN 'running' THEN get_bit(unique_states, 1)
                WHEN 'scheduled' THEN get_bit(unique_states, 0)
                ELSE 0
            END = 1
        THEN unique_key END
    ) STORED,
    CONSTRAINT river_job_pkey PRIMARY KEY (id),
    CONSTRAINT river_job_unique_active UNIQUE (unique_active),
    CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL AND state NOT IN ('cancelled', 'completed', 'discarded')) OR
        (finalized_at IS NOT NULL AND state IN ('cancelled', 'completed', 'discarded'))
    ),
    CONSTRAINT kind_length CHECK (char_length(kind) > 0 AND char_length(kind) < 128),
    CONSTRAINT max_attempts_is_positive CHECK (max_attempts > 0),
    CONSTRAINT priority_in_range CHECK (priority >= 1 AND priority <= 4),
    CONSTRAINT queue_length CHECK (char_length(queue) > 0 AND char_length(queue) < 128)
);

CREATE INDEX IF NOT EXISTS river_job_kind ON /* schema */river_job (kind);

CREATE INDEX IF NOT EXISTS river_job_state_and_finalized_at_index
    ON /* schema */river_job (state, finalized_at) WHERE finalized_at IS NOT NULL;

-- kind comes last so that a fetch of some kinds is answered by the index alone, too.
CREATE INDEX IF NOT EXISTS river_job_prioritized_fetching_index
    ON /* schema */river_job (state, queue, priority, scheduled_at, id, kind);

CREATE TABLE IF NOT EXISTS /* schema */river_leader (
    elected_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    leader_id text NOT NULL,
    name text NOT NULL DEFAULT 'default',
    CONSTRAINT river_leader_pkey PRIMARY KEY (name),
    CONSTRAINT name_length CHECK (name = 'default'),
    CONSTRAINT leader_id_length CHECK (char_length(leader_id) > 0 AND char_length(leader_id) < 128)
);

CREATE TABLE IF NOT EXISTS /* schema */river_queue (
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    metadata jsonb NOT NULL DEFAULT '{}',
    paused_at timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT river_queue_pkey PRIMARY KEY (name)
);
