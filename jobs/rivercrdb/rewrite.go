package rivercrdb

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ErrStatementChanged says that a statement of River is not the one that this package knows how to
// edit: riverpgxv5 is of another version than the one the package was written for.
var ErrStatementChanged = errors.New("rivercrdb: a statement of River has changed")

// dialect is what decides between two forms of one statement.
type dialect struct {
	// skipLocked is whether the server takes FOR UPDATE SKIP LOCKED (CockroachDB since 22.2).
	skipLocked bool
	// plainInsert is whether no job of the insert at hand is unique.
	plainInsert bool
}

// edit replaces a text that must stand exactly once in a statement. In both texts {schema} is the
// schema's quoted name and a dot, or nothing.
type edit struct {
	old, new string
	why      string
}

// allColumns is how riverpgxv5 spells a row of river_job.
const allColumns = "id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, " +
	"metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states"

// editedStatements are the names that editsOf has edits for on at least one server. New refuses to
// go on when River does not send one of them.
func editedStatements() []string {
	return []string{
		"JobCancel", "JobDelete", "JobDeleteMany", "JobGetAvailable", "JobInsertFastMany",
		"JobInsertFullMany", "JobRescueMany", "JobSchedule", "JobSetStateIfRunningMany",
		"JobUpdateFull", "LeaderAttemptElect", "LeaderAttemptReelect", "LeaderInsert",
		"LeaderResign", "PGGetProductAndVersion",
	}
}

// editsOf are the edits of the statement with this name, none for most.
func editsOf(name string, d dialect) []edit {
	switch name {
	case "JobCancel":
		return []edit{{
			old: `        CASE WHEN $2::boolean THEN pg_notify(
            concat(coalesce($3::text, current_schema()), '.', $4::text),
            json_build_object('action', 'cancel', 'job_id', id, 'queue', queue)::text
        ) END
`,
			new: `        $2::boolean AS notify, $3::text AS schema_name, $4::text AS topic
`,
			why: "there is no pg_notify, not even on a branch that is never taken; the parameters keep their types",
		}}

	case "JobDelete":
		return []edit{{
			old: `    USING job_to_delete
    WHERE river_job.id = job_to_delete.id
`,
			new: `    WHERE river_job.id IN (SELECT id FROM job_to_delete)
`,
			why: "DELETE … USING came with 23.1",
		}}

	case "JobDeleteMany":
		return lockEdits(d)

	case "JobGetAvailable":
		return append(lockEdits(d),
			edit{
				old: "    SELECT\n        " + allColumns + "\n    FROM\n",
				new: "    SELECT\n        id\n    FROM\n",
				why: "the fetching index alone then answers the locking query, without a look at every row",
			},
			edit{
				old: `        -- +2 instead of +1 because Postgres array indexing starts at 1, not 0.
        THEN river_job.attempted_by[array_length(river_job.attempted_by, 1) + 2 - $2:]
`,
				new: `        THEN ARRAY[]::text[]
`,
				why: "there are no array slices; a full list starts again instead of losing its oldest entry",
			},
		)

	case "JobInsertFastMany":
		return append(append([]edit{
			{
				old: "WITH raw_job_data AS (",
				new: "WITH raw_job_data AS MATERIALIZED (",
				why: "inlined, a single row with a NULL key makes the optimizer of 21.1 panic",
			},
			jsonArrayEdit("$2", "args"),
			jsonArrayEdit("$6", "metadata"),
		}, conflictEdit(d)), duplicateEdits(d)...)

	case "JobInsertFullMany":
		return []edit{jsonArrayEdit("$1", "args"), jsonArrayEdit("$8", "metadata")}

	case "JobRescueMany":
		return []edit{{
			old: "unnest($3::jsonb[]) AS error",
			new: "unnest($3::text[]) AS error",
			why: "the errors column is text[]",
		}}

	case "JobSchedule":
		return []edit{
			{
				old: "ON river_job.unique_key = jobs_with_rownum.unique_key",
				new: "ON river_job.unique_active = jobs_with_rownum.unique_key",
				why: "the join finds its rows in the unique index",
			},
			{
				old: `        river_job.unique_key IS NOT NULL
        AND river_job.unique_states IS NOT NULL
        AND {schema}river_job_state_in_bitmask(river_job.unique_states, river_job.state)
`,
				new: `        river_job.unique_active IS NOT NULL
`,
				why: "the generated column says the same as the function, which does not exist here",
			},
		}

	case "JobSetStateIfRunningMany":
		return []edit{
			{
				old: "unnest($5::jsonb[])                   AS errors",
				new: "unnest($5::text[])                    AS errors",
				why: "the errors column is text[]",
			},
			{
				old: "unnest($9::jsonb[])         AS metadata_updates",
				new: "unnest($9::text[])::jsonb   AS metadata_updates",
				why: "no arrays of jsonb, not even as a parameter",
			},
			{
				old: `    WHERE river_job.id = job_input.id
`,
				new: `    WHERE river_job.id = ANY($1::bigint[])
      AND river_job.id = job_input.id
`,
				why: "the planner cannot know how few rows unnest gives, and would scan the table",
			},
			{
				old: `WHERE NOT EXISTS (
`,
				new: `WHERE river_job.id = ANY($1::bigint[]) AND NOT EXISTS (
`,
				why: "the same for the rows that were not running",
			},
		}

	case "JobUpdateFull":
		return []edit{{
			old: "$8::jsonb[]",
			new: "$8::text[]",
			why: "the errors column is text[]",
		}}

	case "LeaderAttemptElect":
		return []edit{intervalEdit("$3")}
	case "LeaderAttemptReelect":
		return []edit{intervalEdit("$2")}
	case "LeaderInsert":
		return []edit{intervalEdit("$4")}

	case "LeaderResign":
		return []edit{{
			old: `WITH currently_held_leaders AS (
    SELECT elected_at, expires_at, leader_id, name
    FROM {schema}river_leader
    WHERE
        elected_at = $1::timestamptz
        AND leader_id = $2::text
    FOR UPDATE
),
notified_resignations AS (
    SELECT CASE WHEN $3::boolean THEN pg_notify(
        concat(coalesce($4::text, current_schema()), '.', $5::text),
        json_build_object('leader_id', leader_id, 'action', 'resigned')::text
    ) END
    FROM currently_held_leaders
)
DELETE FROM {schema}river_leader USING notified_resignations
`,
			new: `DELETE FROM {schema}river_leader
WHERE elected_at = $1::timestamptz
    AND leader_id = $2::text
    AND ($3::boolean IS NOT NULL OR $4::text IS NULL OR $5::text IS NULL)
`,
			why: "there is no pg_notify; the last line is always true and gives the unused parameters their types",
		}}

	case "PGGetProductAndVersion":
		return []edit{{
			old: `    version()::text AS product,
    current_setting('server_version_num')::int AS version_num,
    coalesce(current_setting('yb_enable_listen_notify', true), 'off')::boolean AS yb_listen_notify_enabled
`,
			new: `    'CockroachDB (as -YB)'::text AS product,
    130000::int4 AS version_num,
    false AS yb_listen_notify_enabled
`,
			why: "River then polls and tells duplicates by a nonce in the metadata, as it does for YugabyteDB: there is no xmax",
		}}
	}
	return nil
}

// lockEdits leaves SKIP LOCKED out where the server would refuse it.
func lockEdits(d dialect) []edit {
	if d.skipLocked {
		return nil
	}
	return []edit{{
		old: "    FOR UPDATE\n    SKIP LOCKED\n",
		new: "    FOR UPDATE\n",
		why: "SKIP LOCKED came with 22.2",
	}}
}

// conflictEdit is the arbiter of a unique insert. An insert without unique jobs gets none, which
// spares it the look into the unique index.
func conflictEdit(d dialect) edit {
	const (
		arbiter = `ON CONFLICT (unique_key)
    WHERE unique_key IS NOT NULL
        AND unique_states IS NOT NULL
        AND {schema}river_job_state_in_bitmask(unique_states, state)
    -- Something needs to be updated for a row to be returned on a conflict.
    -- Keep the existing kind, which may differ under ` + "`ExcludeKind`" + `.
    DO UPDATE SET kind = river_job.kind
`
		why = "a partial unique index as arbiter makes every insert scan the table, and a function cannot stand in it"
	)
	if d.plainInsert {
		return edit{old: arbiter, new: "", why: why}
	}
	return edit{old: arbiter, new: "ON CONFLICT (unique_active) DO UPDATE SET kind = river_job.kind\n", why: why}
}

// duplicateEdits say of a plain insert that none of its rows was there before, which River, told that
// there is xmax, would ask it.
func duplicateEdits(d dialect) []edit {
	if !d.plainInsert {
		return nil
	}
	return []edit{{
		old: "(xmax != 0) AS unique_skipped_as_duplicate",
		new: "false AS unique_skipped_as_duplicate",
		why: "there is no xmax, and without an arbiter there are no duplicates",
	}}
}

func jsonArrayEdit(parameter, column string) edit {
	return edit{
		old: "unnest(" + parameter + "::jsonb[]) AS " + column,
		new: "unnest(" + parameter + "::text[])::jsonb AS " + column,
		why: "no arrays of jsonb, not even as a parameter",
	}
}

func intervalEdit(parameter string) edit {
	return edit{
		old: "make_interval(secs => " + parameter + ")",
		new: "(" + parameter + "::float8 * interval '1 second')",
		why: "there is no make_interval and there are no named arguments",
	}
}

// rewrite is the statement as CockroachDB takes it. A statement without a name, or without edits,
// is returned as it is.
func rewrite(sql string, d dialect) (string, error) {
	name := statementName(sql)
	edits := editsOf(name, d)
	if len(edits) == 0 {
		return sql, nil
	}
	schema := schemaOf(sql)
	for _, e := range edits {
		old := strings.ReplaceAll(e.old, "{schema}", schema)
		if n := strings.Count(sql, old); n != 1 {
			return "", fmt.Errorf("%w: %s has the text to replace %d times instead of once (%s): %q",
				ErrStatementChanged, name, n, e.why, old)
		}
		sql = strings.Replace(sql, old, strings.ReplaceAll(e.new, "{schema}", schema), 1)
	}
	return sql, nil
}

// rewriter remembers what rewrite has made of a statement: the few texts that are edited differ
// only by the schema's name, and the edits cost tens of microseconds.
type rewriter struct {
	skipLocked bool
	done       sync.Map // of rewritten to string
}

type rewritten struct {
	sql         string
	plainInsert bool
}

func (r *rewriter) rewrite(sql string, plainInsert bool) (string, error) {
	key := rewritten{sql: sql, plainInsert: plainInsert}
	if done, ok := r.done.Load(key); ok {
		return done.(string), nil //nolint:forcetypeassert // stored below
	}
	result, err := rewrite(sql, dialect{skipLocked: r.skipLocked, plainInsert: plainInsert})
	if err == nil && hasFixedText(statementName(sql)) {
		r.done.Store(key, result)
	}
	return result, err
}

// hasFixedText is whether an edited statement's text depends on the schema alone. JobDeleteMany
// holds the caller's conditions; the others without edits are as fast to look at as to look up.
func hasFixedText(name string) bool {
	return name != "JobDeleteMany" && slices.Contains(editedStatements(), name)
}

// statementName is what sqlc wrote into the first line, "-- name: JobCancel :one".
func statementName(sql string) string {
	rest, ok := strings.CutPrefix(sql, "-- name: ")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	return name
}

// schemaOf is the schema's name that River put before its tables, quoted and with the dot, or "".
// A pattern has to find it, because River puts it in before the statement comes here.
func schemaOf(sql string) string {
	if m := qualifiedTable.FindStringSubmatch(sql); m != nil {
		return m[1]
	}
	return ""
}

var qualifiedTable = regexp.MustCompile(`(?:FROM|INTO|UPDATE)\s+((?:"\w+"\.)?)river_(?:job|leader|queue)\b`)
