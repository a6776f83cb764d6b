package rivercrdb

import (
	"context"
	_ "embed" // for schema.sql
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schemaSQL string

// Schema is the DDL of River's tables: statements that end in a semicolon and a line break, good
// for PostgreSQL as they stand, with the two markers that the head of the text explains.
func Schema() string { return schemaSQL }

// maxMigrateTries is how often one statement of Migrate is tried when it collides with another
// process that migrates at the same time.
const maxMigrateTries = 5

// Migrate makes River's tables, on CockroachDB or PostgreSQL. It may run again at any time, be
// killed half-way, and run in two processes at once: every statement is for something that may be
// there already, and CockroachDB commits each by itself. It never changes or drops a table.
//
// A Config.Schema is created when it is not there.
func Migrate(ctx context.Context, pool *pgxpool.Pool, config Config) error {
	if err := config.Validate(); err != nil {
		return err
	}
	var version string
	if err := pool.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		return fmt.Errorf("rivercrdb: ask the server for its version: %w", err)
	}
	var typeExists bool
	if err := pool.QueryRow(ctx, `
SELECT EXISTS (
    SELECT 1
    FROM pg_catalog.pg_type
    JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pg_type.typnamespace
    WHERE pg_type.typname = 'river_job_state'
        AND pg_namespace.nspname = coalesce(nullif($1::text, ''), current_schema())
)`, config.Schema).Scan(&typeExists); err != nil {
		return fmt.Errorf("rivercrdb: look for the type river_job_state: %w", err)
	}
	for _, statement := range statements(strings.Contains(version, "CockroachDB"), config.Schema) {
		if typeExists && strings.HasPrefix(statement, "CREATE TYPE") {
			continue
		}
		if err := applyStatement(ctx, pool, statement); err != nil {
			return fmt.Errorf("rivercrdb: migrate: %w", err)
		}
	}
	return nil
}

// applyStatement runs one statement, again when another process was faster.
func applyStatement(ctx context.Context, pool *pgxpool.Pool, statement string) error {
	const (
		duplicateObject      = "42710"
		duplicateSchema      = "42P06"
		duplicateTable       = "42P07"
		serializationFailure = "40001"
		uniqueViolation      = "23505" // in PostgreSQL's catalog
	)
	head, _, _ := strings.Cut(statement, "\n")
	for try := 1; ; try++ {
		_, err := pool.Exec(ctx, statement)
		if err == nil {
			return nil
		}
		var serverErr *pgconn.PgError
		if !errors.As(err, &serverErr) {
			return fmt.Errorf("%s: %w", head, err)
		}
		if serverErr.Code == duplicateObject {
			return nil
		}
		raced := []string{duplicateSchema, duplicateTable, serializationFailure, uniqueViolation}
		if !slices.Contains(raced, serverErr.Code) || try == maxMigrateTries {
			return fmt.Errorf("%s: %w", head, err)
		}
	}
}

// statements are those of schema.sql for one engine and schema, without comments before them.
func statements(cockroachDB bool, schema string) []string {
	text := schemaSQL
	sequenceOption := ""
	if cockroachDB {
		sequenceOption = "VIRTUAL"
	}
	prefix := schemaPrefix(schema)
	text = strings.NewReplacer(
		" /* cockroachdb: VIRTUAL */", strings.TrimRight(" "+sequenceOption, " "),
		"/* schema */", prefix,
		"'river_job_id_seq'", "'"+prefix+"river_job_id_seq'",
	).Replace(text)

	var result []string
	if schema != "" {
		result = append(result, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize())
	}
	var statement []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "--") || strings.TrimSpace(line) == "" {
			continue
		}
		body, last := strings.CutSuffix(line, ";\n")
		statement = append(statement, body)
		if last {
			result = append(result, strings.Join(statement, ""))
			statement = nil
		}
	}
	return result
}

// schemaPrefix is the schema's name, quoted, and a dot; or nothing.
func schemaPrefix(schema string) string {
	if schema == "" {
		return ""
	}
	return pgx.Identifier{schema}.Sanitize() + "."
}
