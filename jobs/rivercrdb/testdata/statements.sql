-- name: PGGetProductAndVersion :one
SELECT
    'CockroachDB (as -YB)'::text AS product,
    130000::int4 AS version_num,
    false AS yb_listen_notify_enabled;

-- name: ColumnExists :one
SELECT EXISTS (
    SELECT column_name
    FROM information_schema.columns 
    WHERE table_name = $1::text
        AND table_schema = CURRENT_SCHEMA
        AND column_name = $2::text
);

SELECT 1;

DROP INDEX CONCURRENTLY IF EXISTS "i";

-- name: IndexExists :one
SELECT EXISTS (
    SELECT 1
    FROM pg_catalog.pg_class
        JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pg_class.relnamespace
    WHERE pg_class.relname = $1::text
        AND pg_namespace.nspname = coalesce($2::text, current_schema())
        AND pg_class.relkind = 'i'
);

-- name: IndexReindexArtifacts :many
WITH index_artifacts AS (
    SELECT
        c.relname::text AS index_name,
        substring(c.relname FROM length($1::text) + 1) AS suffix
    FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = coalesce($2::text, current_schema())
        AND c.relkind = 'i'
        AND left(c.relname, length($1::text)) = $1::text
)
SELECT index_name
FROM index_artifacts
WHERE suffix ~ '^_cc(new|old)[0-9]*$'
ORDER BY index_name;

-- name: IndexesExist :many
WITH index_names AS (
    SELECT unnest($2::text[]) as index_name
)
SELECT index_names.index_name::text AS index_name,
       EXISTS (
         SELECT 1
         FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = coalesce($1::text, current_schema())
         AND c.relname = index_names.index_name
         AND c.relkind = 'i'
       ) AS exists
FROM index_names;

-- name: JobCancel :one
WITH locked_job AS (
    SELECT
        id, queue, state, finalized_at
    FROM river_job
    WHERE river_job.id = $1
    FOR UPDATE
),
notification AS (
    SELECT
        id,
        $2::boolean AS notify, $3::text AS schema_name, $4::text AS topic
    FROM
        locked_job
    WHERE
        state NOT IN ('cancelled', 'completed', 'discarded')
        AND finalized_at IS NULL
),
updated_job AS (
    UPDATE river_job
    SET
        -- If the job is actively running, we want to let its current client and
        -- producer handle the cancellation. Otherwise, immediately cancel it.
        state = CASE WHEN state = 'running' THEN state ELSE 'cancelled' END,
        finalized_at = CASE WHEN state = 'running' THEN finalized_at ELSE coalesce($5::timestamptz, now()) END,
        -- Mark the job as cancelled by query so that the rescuer knows not to
        -- rescue it, even if it gets stuck in the running state:
        metadata = jsonb_set(metadata, '{cancel_attempted_at}'::text[], $6::jsonb, true)
    FROM notification
    WHERE river_job.id = notification.id
    RETURNING river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states
)
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states FROM (
    SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
    FROM river_job
    WHERE id = $1::bigint
    FOR UPDATE
) AS fallback_job
WHERE fallback_job.id NOT IN (SELECT id FROM updated_job)
UNION
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM updated_job;

-- name: JobCountByAllStates :many
SELECT state, count(*)
FROM  river_job
GROUP BY state;

-- name: JobCountByQueueAndState :many
WITH all_queues AS (
    SELECT DISTINCT unnest($1::text[])::text AS queue
),

running_job_counts AS (
    SELECT
        queue,
        COUNT(*) AS count
    FROM river_job
    WHERE queue = ANY($1::text[])
        AND state = 'running'
    GROUP BY queue
),

available_job_counts AS (
    SELECT
        queue,
        COUNT(*) AS count
    FROM
      river_job
    WHERE queue = ANY($1::text[])
        AND state = 'available'
    GROUP BY queue
)

SELECT
    all_queues.queue,
    COALESCE(available_job_counts.count, 0) AS count_available,
    COALESCE(running_job_counts.count, 0) AS count_running
FROM
    all_queues
LEFT JOIN
    running_job_counts ON all_queues.queue = running_job_counts.queue
LEFT JOIN
    available_job_counts ON all_queues.queue = available_job_counts.queue
ORDER BY all_queues.queue ASC;

-- name: JobCountByState :one
SELECT count(*)
FROM river_job
WHERE state = $1;

-- name: JobDelete :one
WITH job_to_delete AS (
    SELECT id
    FROM river_job
    WHERE river_job.id = $1
    FOR UPDATE
),
deleted_job AS (
    DELETE
    FROM river_job
    WHERE river_job.id IN (SELECT id FROM job_to_delete)
        -- Do not touch running jobs:
        AND river_job.state != 'running'
    RETURNING river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states
)
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM river_job
WHERE id = $1::bigint
    AND id NOT IN (SELECT id FROM deleted_job)
UNION
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM deleted_job;

-- name: JobDeleteBefore :execresult
DELETE FROM river_job
WHERE id IN (
    SELECT id
    FROM river_job
    WHERE (
            (state = 'cancelled' AND $1 AND finalized_at < $2::timestamptz) OR
            (state = 'completed' AND $3 AND finalized_at < $4::timestamptz) OR
            (state = 'discarded' AND $5 AND finalized_at < $6::timestamptz)
        )
        AND (
            $7::text[] IS NULL
            OR NOT (queue = any($7))
        )
        AND (
            $8::text[] IS NULL
            OR queue = any($8)
        )
    ORDER BY id
    LIMIT $9::bigint
);

-- name: JobDeleteMany :many
WITH jobs_to_delete AS (
    SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
    FROM river_job
    WHERE kind = any($2) AND tags && $3
        AND state != 'running'
    ORDER BY id
    LIMIT $1::int
    FOR UPDATE
),
deleted_jobs AS (
    DELETE FROM river_job
    WHERE id IN (SELECT id FROM jobs_to_delete)
    RETURNING id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
)
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM river_job
WHERE id IN (SELECT id FROM deleted_jobs)
ORDER BY id;

-- name: JobGetAvailable :many
WITH locked_jobs AS (
    SELECT
        id
    FROM
        river_job
    WHERE
        state = 'available'
        AND queue = $4::text
        AND ($5::text[] IS NULL OR kind = ANY($5::text[]))
        AND scheduled_at <= coalesce($1::timestamptz, now())
    ORDER BY
        priority ASC,
        scheduled_at ASC,
        id ASC
    LIMIT $6::integer
    FOR UPDATE
)
UPDATE
    river_job
SET
    state = 'running',
    attempt = river_job.attempt + 1,
    attempted_at = coalesce($1::timestamptz, now()),
    attempted_by = array_append(
        CASE WHEN array_length(river_job.attempted_by, 1) >= $2::int
        THEN ARRAY[]::text[]
        ELSE river_job.attempted_by
        END,
        $3::text
    )
FROM
    locked_jobs
WHERE
    river_job.id = locked_jobs.id
RETURNING
    river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states;

-- name: JobGetByID :one
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM river_job
WHERE id = $1
LIMIT 1;

-- name: JobGetByIDMany :many
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM river_job
WHERE id = any($1::bigint[])
ORDER BY id;

-- name: JobGetByKindMany :many
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM river_job
WHERE kind = any($1::text[])
ORDER BY id;

-- name: JobGetCancelRequested :many
SELECT id
FROM river_job
WHERE id = any($1::bigint[])
    AND metadata ? 'cancel_attempted_at'
    AND state = 'running'
ORDER BY id;

-- name: JobGetStuck :many
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM river_job
WHERE state = 'running'
    AND id > $1::bigint
    AND attempted_at < $2::timestamptz
ORDER BY id
LIMIT $3;

-- name: JobInsertFastMany :many
WITH raw_job_data AS MATERIALIZED (
    SELECT
        unnest($1::bigint[]) AS id,
        unnest($2::text[])::jsonb AS args,
        unnest($3::timestamptz[]) AS created_at,
        unnest($4::text[]) AS kind,
        unnest($5::smallint[]) AS max_attempts,
        unnest($6::text[])::jsonb AS metadata,
        unnest($7::smallint[]) AS priority,
        unnest($8::text[]) AS queue,
        unnest($9::timestamptz[]) AS scheduled_at,
        unnest($10::text[]) AS state,
        unnest($11::text[]) AS tags,
        unnest($12::bytea[]) AS unique_key,
        unnest($13::integer[]) AS unique_states
)
INSERT INTO river_job(
    id,
    args,
    created_at,
    kind,
    max_attempts,
    metadata,
    priority,
    queue,
    scheduled_at,
    state,
    tags,
    unique_key,
    unique_states
) SELECT
    coalesce(nullif(id, 0), nextval('river_job_id_seq'::regclass)),
    args,
    coalesce(nullif(created_at, '0001-01-01 00:00:00 +0000'), now()) AS created_at,
    kind,
    max_attempts,
    coalesce(metadata, '{}'::jsonb) AS metadata,
    priority,
    queue,
    coalesce(nullif(scheduled_at, '0001-01-01 00:00:00 +0000'), now()) AS scheduled_at,
    state::river_job_state,
    string_to_array(tags, ',')::varchar(255)[],
    -- `nullif` is required for `lib/pq`, which doesn't do a good job of reading
    -- `nil` into `bytea`. We use `text` because otherwise `lib/pq` will encode
    -- to Postgres binary like `\xAAAA`.
    nullif(unique_key, '')::bytea,
    nullif(unique_states::integer, 0)::bit(8)
FROM raw_job_data
ON CONFLICT (unique_active) DO UPDATE SET kind = river_job.kind
RETURNING
    river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states,
    false AS unique_skipped_as_duplicate;

-- name: JobInsertFastMany :many
WITH raw_job_data AS MATERIALIZED (
    SELECT
        unnest($1::bigint[]) AS id,
        unnest($2::text[])::jsonb AS args,
        unnest($3::timestamptz[]) AS created_at,
        unnest($4::text[]) AS kind,
        unnest($5::smallint[]) AS max_attempts,
        unnest($6::text[])::jsonb AS metadata,
        unnest($7::smallint[]) AS priority,
        unnest($8::text[]) AS queue,
        unnest($9::timestamptz[]) AS scheduled_at,
        unnest($10::text[]) AS state,
        unnest($11::text[]) AS tags,
        unnest($12::bytea[]) AS unique_key,
        unnest($13::integer[]) AS unique_states
)
INSERT INTO river_job(
    id,
    args,
    created_at,
    kind,
    max_attempts,
    metadata,
    priority,
    queue,
    scheduled_at,
    state,
    tags,
    unique_key,
    unique_states
) SELECT
    coalesce(nullif(id, 0), nextval('river_job_id_seq'::regclass)),
    args,
    coalesce(nullif(created_at, '0001-01-01 00:00:00 +0000'), now()) AS created_at,
    kind,
    max_attempts,
    coalesce(metadata, '{}'::jsonb) AS metadata,
    priority,
    queue,
    coalesce(nullif(scheduled_at, '0001-01-01 00:00:00 +0000'), now()) AS scheduled_at,
    state::river_job_state,
    string_to_array(tags, ',')::varchar(255)[],
    -- `nullif` is required for `lib/pq`, which doesn't do a good job of reading
    -- `nil` into `bytea`. We use `text` because otherwise `lib/pq` will encode
    -- to Postgres binary like `\xAAAA`.
    nullif(unique_key, '')::bytea,
    nullif(unique_states::integer, 0)::bit(8)
FROM raw_job_data
RETURNING
    river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states,
    false AS unique_skipped_as_duplicate;

COPY "river_job" (args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key, unique_states) FROM STDIN;

-- name: JobInsertFull :one
INSERT INTO river_job(
    args,
    attempt,
    attempted_at,
    attempted_by,
    created_at,
    errors,
    finalized_at,
    kind,
    max_attempts,
    metadata,
    priority,
    queue,
    scheduled_at,
    state,
    tags,
    unique_key,
    unique_states
) VALUES (
    $1::jsonb,
    coalesce($2::smallint, 0),
    $3,
    $4,
    coalesce($5::timestamptz, now()),
    $6,
    $7,
    $8,
    $9::smallint,
    coalesce($10::jsonb, '{}'),
    $11,
    $12,
    coalesce($13::timestamptz, now()),
    $14::river_job_state,
    coalesce($15::varchar(255)[], '{}'),
    -- `nullif` is required for `lib/pq`, which doesn't do a good job of reading
    -- `nil` into `bytea`. We use `text` because otherwise `lib/pq` will encode
    -- to Postgres binary like `\xAAAA`.
    nullif($16::text, '')::bytea,
    nullif($17::integer, 0)::bit(8)
) RETURNING id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states;

-- name: JobInsertFullMany :many
WITH raw_job_data AS (
    SELECT
        unnest($1::text[])::jsonb AS args,
        unnest($2::smallint[]) AS attempt,
        unnest($3::timestamptz[]) AS attempted_at,
        unnest($4::timestamptz[]) AS created_at,
        unnest($5::timestamptz[]) AS finalized_at,
        unnest($6::text[]) AS kind,
        unnest($7::smallint[]) AS max_attempts,
        unnest($8::text[])::jsonb AS metadata,
        unnest($9::smallint[]) AS priority,
        unnest($10::text[]) AS queue,
        unnest($11::timestamptz[]) AS scheduled_at,
        unnest($12::text[]) AS state,
        unnest($13::text[]) AS tags,
        unnest($14::text[]) AS unique_key,
        unnest($15::integer[]) AS unique_states
)
INSERT INTO river_job(
    args,
    attempt,
    attempted_at,
    created_at,
    finalized_at,
    kind,
    max_attempts,
    metadata,
    priority,
    queue,
    scheduled_at,
    state,
    tags,
    unique_key,
    unique_states
)
SELECT
    args,
    coalesce(attempt, 0) AS attempt,
    coalesce(nullif(attempted_at, '0001-01-01 00:00:00 +0000'), now()) AS attempted_at,
    coalesce(nullif(created_at, '0001-01-01 00:00:00 +0000'), now()) AS created_at,
    nullif(finalized_at, '0001-01-01 00:00:00 +0000') AS finalized_at,
    kind,
    max_attempts,
    coalesce(metadata, '{}'::jsonb) AS metadata,
    priority,
    queue,
    coalesce(nullif(scheduled_at, '0001-01-01 00:00:00 +0000'), now()) AS scheduled_at,
    state::river_job_state,
    string_to_array(tags, ',')::varchar(255)[],
    -- `nullif` is required for `lib/pq`, which doesn't do a good job of reading
    -- `nil` into `bytea`. We use `text` because otherwise `lib/pq` will encode
    -- to Postgres binary like `\xAAAA`.
    nullif(unique_key, '')::bytea,
    nullif(unique_states::integer, 0)::bit(8)
FROM raw_job_data
RETURNING id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states;

-- name: JobKindList :many
SELECT DISTINCT ON (kind) kind
FROM river_job
WHERE ($1 = '' OR kind ILIKE '%' || $1 || '%')
    AND ($2 = '' OR kind > $2)
    AND ($3::text[] IS NULL OR kind != ALL($3))
ORDER BY kind ASC
LIMIT $4;

-- name: JobList :many
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM river_job
WHERE kind = any($2) AND tags && $3
ORDER BY id
LIMIT $1::int;

-- name: JobRescueMany :exec
UPDATE river_job
SET
    errors = array_append(errors, updated_job.error),
    finalized_at = updated_job.finalized_at,
    scheduled_at = updated_job.scheduled_at,
    metadata = river_job.metadata || jsonb_build_object(
        'river:rescue_count',
        coalesce(
            CASE
                WHEN jsonb_typeof(river_job.metadata -> 'river:rescue_count') = 'number'
                    THEN (river_job.metadata ->> 'river:rescue_count')::int
            END,
            0
        ) + 1
    ),
    state = updated_job.state
FROM (
    SELECT
        unnest($2::bigint[]) AS id,
        unnest($3::text[]) AS error,
        nullif(unnest($4::timestamptz[]), '0001-01-01 00:00:00 +0000') AS finalized_at,
        unnest($5::timestamptz[]) AS scheduled_at,
        unnest($6::text[])::river_job_state AS state
) AS updated_job
WHERE river_job.id = updated_job.id
    AND river_job.state = 'running'
    AND river_job.attempted_at < $1::timestamptz;

-- name: JobRetry :one
WITH job_to_update AS (
    SELECT id
    FROM river_job
    WHERE river_job.id = $1
    FOR UPDATE
),
updated_job AS (
    UPDATE river_job
    SET
        state = 'available',
        max_attempts = CASE WHEN attempt = max_attempts THEN max_attempts + 1 ELSE max_attempts END,
        finalized_at = NULL,
        -- A cancellation requested during an earlier attempt must not cancel
        -- the next one.
        metadata = metadata - 'cancel_attempted_at',
        scheduled_at = coalesce($2::timestamptz, now())
    FROM job_to_update
    WHERE river_job.id = job_to_update.id
        -- Do not touch running jobs:
        AND river_job.state != 'running'
        -- If the job is already available with a prior scheduled_at, leave it alone.
        AND NOT (
            river_job.state = 'available'
            AND river_job.scheduled_at < coalesce($2::timestamptz, now())
        )
    RETURNING river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states
)
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states FROM (
    SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
    FROM river_job
    WHERE id = $1::bigint
    FOR UPDATE
) AS fallback_job
WHERE fallback_job.id NOT IN (SELECT id FROM updated_job)
UNION
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM updated_job;

-- name: JobSchedule :many
WITH jobs_to_schedule AS (
    SELECT
        id,
        unique_key,
        unique_states,
        priority,
        scheduled_at
    FROM river_job
    WHERE
        state IN ('retryable', 'scheduled')
        AND priority >= 0
        AND queue IS NOT NULL
        AND scheduled_at <= coalesce($1::timestamptz, now())
    ORDER BY
        priority,
        scheduled_at,
        id
    LIMIT $2::bigint
    FOR UPDATE
),
jobs_with_rownum AS (
    SELECT
        id, unique_key, unique_states, priority, scheduled_at,
        CASE
            WHEN unique_key IS NOT NULL AND unique_states IS NOT NULL THEN
                ROW_NUMBER() OVER (
                    PARTITION BY unique_key
                    ORDER BY priority, scheduled_at, id
                )
            ELSE NULL
        END AS row_num
    FROM jobs_to_schedule
),
unique_conflicts AS (
    SELECT river_job.unique_key
    FROM river_job
    JOIN jobs_with_rownum
        ON river_job.unique_active = jobs_with_rownum.unique_key
        AND river_job.id != jobs_with_rownum.id
    WHERE
        river_job.unique_active IS NOT NULL
),
job_updates AS (
    SELECT
        job.id,
        job.unique_key,
        job.unique_states,
        CASE
            WHEN job.row_num IS NULL THEN 'available'::river_job_state
            WHEN uc.unique_key IS NOT NULL THEN 'discarded'::river_job_state
            WHEN job.row_num = 1 THEN 'available'::river_job_state
            ELSE 'discarded'::river_job_state
        END AS new_state,
        (job.row_num IS NOT NULL AND (uc.unique_key IS NOT NULL OR job.row_num > 1)) AS finalized_at_do_update,
        (job.row_num IS NOT NULL AND (uc.unique_key IS NOT NULL OR job.row_num > 1)) AS metadata_do_update
    FROM jobs_with_rownum job
    LEFT JOIN unique_conflicts uc ON job.unique_key = uc.unique_key
),
updated_jobs AS (
    UPDATE river_job
    SET
        state        = job_updates.new_state,
        finalized_at = CASE WHEN job_updates.finalized_at_do_update THEN coalesce($1::timestamptz, now())
                            ELSE river_job.finalized_at END,
        metadata     = CASE WHEN job_updates.metadata_do_update THEN river_job.metadata || '{"unique_key_conflict": "scheduler_discarded"}'::jsonb
                            ELSE river_job.metadata END
    FROM job_updates
    WHERE river_job.id = job_updates.id
    RETURNING
        river_job.id,
        job_updates.new_state = 'discarded'::river_job_state AS conflict_discarded
)
SELECT
    river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states,
    updated_jobs.conflict_discarded
FROM river_job
JOIN updated_jobs ON river_job.id = updated_jobs.id;

-- name: JobSetStateIfRunningMany :many
WITH job_input AS (
    SELECT
        unnest($1::bigint[])                     AS id,
        unnest($2::boolean[])      AS attempt_do_update,
        unnest($3::int[])                    AS attempt,
        unnest($4::boolean[])       AS errors_do_update,
        unnest($5::text[])                    AS errors,
        unnest($6::boolean[]) AS finalized_at_do_update,
        unnest($7::timestamptz[])       AS finalized_at,
        unnest($8::boolean[])      AS metadata_do_merge,
        unnest($9::text[])::jsonb   AS metadata_updates,
        unnest($10::boolean[]) AS scheduled_at_do_update,
        unnest($11::timestamptz[])       AS scheduled_at,
        -- To avoid requiring pgx users to register the OID of the river_job_state[]
        -- type, we cast the array to text[] and then to river_job_state.
        unnest($12::text[])::river_job_state AS state
),
updated AS (
    UPDATE river_job
    SET
        attempt = CASE
            WHEN river_job.state = 'running'
                 AND NOT (job_input.state IN ('available','retryable','scheduled') AND river_job.metadata ? 'cancel_attempted_at')
                 AND job_input.attempt_do_update
            THEN job_input.attempt
            ELSE river_job.attempt
        END,
        errors = CASE
            WHEN river_job.state = 'running'
                 AND job_input.errors_do_update
            THEN array_append(river_job.errors, job_input.errors)
            ELSE river_job.errors
        END,
        finalized_at = CASE
            WHEN river_job.state = 'running'
                 AND (job_input.state IN ('available','retryable','scheduled') AND river_job.metadata ? 'cancel_attempted_at')
            THEN coalesce($13::timestamptz, now())
            WHEN river_job.state = 'running'
                 AND job_input.finalized_at_do_update
            THEN job_input.finalized_at
            ELSE river_job.finalized_at
        END,
        metadata = CASE
            WHEN job_input.metadata_do_merge
            THEN river_job.metadata || job_input.metadata_updates
            ELSE river_job.metadata
        END,
        scheduled_at = CASE
            WHEN river_job.state = 'running'
                 AND NOT (job_input.state IN ('available','retryable','scheduled') AND river_job.metadata ? 'cancel_attempted_at')
                 AND job_input.scheduled_at_do_update
            THEN job_input.scheduled_at
            ELSE river_job.scheduled_at
        END,
        state = CASE
            WHEN river_job.state = 'running'
                 AND (job_input.state IN ('available','retryable','scheduled') AND river_job.metadata ? 'cancel_attempted_at')
            THEN 'cancelled'::river_job_state
            WHEN river_job.state = 'running'
            THEN job_input.state
            ELSE river_job.state
        END
    FROM job_input
    WHERE river_job.id = ANY($1::bigint[])
      AND river_job.id = job_input.id
      AND (river_job.state = 'running' OR job_input.metadata_do_merge)
    RETURNING river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states
)
SELECT river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states
FROM river_job
JOIN job_input ON river_job.id = job_input.id
WHERE river_job.id = ANY($1::bigint[]) AND NOT EXISTS (
    SELECT 1
    FROM updated
    WHERE updated.id = river_job.id
)
UNION ALL
SELECT id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states
FROM updated
ORDER BY id;

-- name: JobUpdate :one
WITH locked_job AS (
    SELECT id
    FROM river_job
    WHERE river_job.id = $3
    FOR UPDATE
)
UPDATE river_job
SET
    metadata = CASE WHEN $1::boolean THEN metadata || $2::jsonb ELSE metadata END
FROM
    locked_job
WHERE river_job.id = locked_job.id
RETURNING river_job.id, river_job.args, river_job.attempt, river_job.attempted_at, river_job.attempted_by, river_job.created_at, river_job.errors, river_job.finalized_at, river_job.kind, river_job.max_attempts, river_job.metadata, river_job.priority, river_job.queue, river_job.state, river_job.scheduled_at, river_job.tags, river_job.unique_key, river_job.unique_states;

-- name: JobUpdateFull :one
UPDATE river_job
SET
    attempt = CASE WHEN $1::boolean THEN $2 ELSE attempt END,
    attempted_at = CASE WHEN $3::boolean THEN $4 ELSE attempted_at END,
    attempted_by = CASE WHEN $5::boolean THEN $6 ELSE attempted_by END,
    errors = CASE WHEN $7::boolean THEN $8::text[] ELSE errors END,
    finalized_at = CASE WHEN $9::boolean THEN $10 ELSE finalized_at END,
    max_attempts = CASE WHEN $11::boolean THEN $12 ELSE max_attempts END,
    metadata = CASE WHEN $13::boolean THEN $14::jsonb ELSE metadata END,
    state = CASE WHEN $15::boolean THEN $16::river_job_state ELSE state END
WHERE id = $17
RETURNING id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states;

-- name: LeaderAttemptElect :one
INSERT INTO river_leader (
    leader_id,
    elected_at,
    expires_at
) VALUES (
    $1,
    coalesce($2::timestamptz, now()),
    -- @ttl is inserted as as seconds rather than a duration because `lib/pq` doesn't support the latter
    coalesce($2::timestamptz, now()) + ($3::float8 * interval '1 second')
)
ON CONFLICT (name)
    DO NOTHING
RETURNING elected_at, expires_at, leader_id, name;

-- name: LeaderAttemptReelect :one
UPDATE river_leader
SET expires_at = coalesce($1::timestamptz, now()) + ($2::float8 * interval '1 second')
WHERE
    elected_at = $3::timestamptz
    AND expires_at >= coalesce($1::timestamptz, now())
    AND leader_id = $4
RETURNING elected_at, expires_at, leader_id, name;

-- name: LeaderDeleteExpired :execrows
DELETE FROM river_leader
WHERE expires_at < coalesce($1::timestamptz, now());

-- name: LeaderGetElectedLeader :one
SELECT elected_at, expires_at, leader_id, name
FROM river_leader;

-- name: LeaderInsert :one
INSERT INTO river_leader(
    elected_at,
    expires_at,
    leader_id
) VALUES (
    coalesce($1::timestamptz, coalesce($2::timestamptz, now())),
    coalesce($3::timestamptz, coalesce($2::timestamptz, now()) + ($4::float8 * interval '1 second')),
    $5
) RETURNING elected_at, expires_at, leader_id, name;

-- name: LeaderResign :execrows
DELETE FROM river_leader
WHERE elected_at = $1::timestamptz
    AND leader_id = $2::text
    AND ($3::boolean IS NOT NULL OR $4::text IS NULL OR $5::text IS NULL);

-- name: RiverMigrationDeleteAssumingMainMany :many
DELETE FROM river_migration
WHERE version = any($1::bigint[])
RETURNING
    created_at,
    version;

-- name: RiverMigrationDeleteByLineAndVersionMany :many
DELETE FROM river_migration
WHERE line = $1
    AND version = any($2::bigint[])
RETURNING line, version, created_at;

-- name: RiverMigrationGetAllAssumingMain :many
SELECT
    created_at,
    version
FROM river_migration
ORDER BY version;

-- name: RiverMigrationGetByLine :many
SELECT line, version, created_at
FROM river_migration
WHERE line = $1
ORDER BY version;

-- name: RiverMigrationInsertMany :many
INSERT INTO river_migration (
    line,
    version
)
SELECT
    $1,
    unnest($2::bigint[])
RETURNING line, version, created_at;

-- name: RiverMigrationInsertManyAssumingMain :many
INSERT INTO river_migration (
    version
)
SELECT
    unnest($1::bigint[])
RETURNING
    created_at,
    version;

-- name: NotificationDeleteBefore :execrows
DELETE FROM river_notification
WHERE id IN (
    SELECT id
    FROM river_notification
    WHERE created_at < $1::timestamptz
    ORDER BY created_at, id
    LIMIT $2::bigint
);

SELECT 1;

SELECT 1;

-- name: QueueCreateOrSetUpdatedAt :one
INSERT INTO river_queue (
    created_at,
    metadata,
    name,
    paused_at,
    updated_at
) VALUES (
    coalesce($1::timestamptz, now()),
    coalesce($2::jsonb, '{}'::jsonb),
    $3::text,
    coalesce($4::timestamptz, NULL),
    coalesce($5::timestamptz, $1::timestamptz, now())
) ON CONFLICT (name) DO UPDATE
SET
    updated_at = EXCLUDED.updated_at
RETURNING name, created_at, metadata, paused_at, updated_at;

-- name: QueueDeleteExpired :many
DELETE FROM river_queue
WHERE name IN (
    SELECT name
    FROM river_queue
    WHERE river_queue.updated_at < $1
    ORDER BY name ASC
    LIMIT $2::bigint
)
RETURNING name, created_at, metadata, paused_at, updated_at;

-- name: QueueGet :one
SELECT name, created_at, metadata, paused_at, updated_at
FROM river_queue
WHERE name = $1::text;

-- name: QueueList :many
SELECT name, created_at, metadata, paused_at, updated_at
FROM river_queue
ORDER BY name ASC
LIMIT $1;

-- name: QueueNameList :many
SELECT name
FROM river_queue
WHERE name > $1::text
    AND ($2::text = '' OR name ILIKE '%' || $2::text || '%')
    AND ($3::text[] IS NULL OR name != ALL($3))
ORDER BY name
LIMIT $4::int;

-- name: QueuePause :execrows
UPDATE river_queue
SET
    paused_at = CASE WHEN paused_at IS NULL THEN coalesce($1::timestamptz, now()) ELSE paused_at END,
    updated_at = CASE WHEN paused_at IS NULL THEN coalesce($1::timestamptz, now()) ELSE updated_at END
WHERE CASE WHEN $2::text = '*' THEN true ELSE name = $2 END;

-- name: QueueResume :execrows
UPDATE river_queue
SET
    paused_at = NULL,
    updated_at = CASE WHEN paused_at IS NOT NULL THEN coalesce($1::timestamptz, now()) ELSE updated_at END
WHERE CASE WHEN $2::text = '*' THEN true ELSE name = $2 END;

-- name: QueueUpdate :one
UPDATE river_queue
SET
    metadata = CASE WHEN $1::boolean THEN $2::jsonb ELSE metadata END,
    updated_at = now()
WHERE name = $3
RETURNING name, created_at, metadata, paused_at, updated_at;

CREATE SCHEMA "s";

DROP SCHEMA "s" CASCADE;

-- name: SchemaGetExpired :many
SELECT schema_name::text
FROM information_schema.schemata
WHERE schema_name LIKE $1
    AND schema_name < $2
ORDER BY schema_name;

-- name: TableExists :one
SELECT CASE WHEN to_regclass($1) IS NULL THEN false
            ELSE true END;

TRUNCATE TABLE t;
