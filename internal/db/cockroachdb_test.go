package db

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast/holdfast/internal/fault"
)

// The tests of this file run the code of CockroachDB's transactions against a connection that
// answers from a script: they show what is made of each answer, not that a server gives it. The
// tests of package db_test run on CockroachDB when HOLDFAST_TEST_DATABASE_URL names one.

// script answers statements with errors, in turn, and records them.
type script struct {
	pgx.Tx

	beginErr error
	answers  map[string][]error
	sent     []string
}

func (s *script) Begin(ctx context.Context) (pgx.Tx, error) {
	return s.BeginTx(ctx, pgx.TxOptions{})
}

func (s *script) BeginTx(_ context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	statement := "BEGIN " + string(options.IsoLevel)
	if options.BeginQuery != "" {
		statement = options.BeginQuery
	}
	s.sent = append(s.sent, statement)
	return s, s.beginErr
}

// QueryRow answers every query with one timestamp.
func (s *script) QueryRow(_ context.Context, sql string, _ ...any) pgx.Row {
	s.sent = append(s.sent, sql)
	return row{"1700000000123456789.0000000002"}
}

type row struct{ text string }

func (r row) Scan(dest ...any) error {
	*dest[0].(*string) = r.text //nolint:forcetypeassert // the test's own query
	return nil
}

func (s *script) Exec(_ context.Context, sql string, _ ...any) (pgconn.CommandTag, error) {
	verb := strings.TrimSuffix(sql, " cockroach_restart")
	s.sent = append(s.sent, verb)
	answers := s.answers[verb]
	if len(answers) == 0 {
		return pgconn.CommandTag{}, nil
	}
	s.answers[verb] = answers[1:]
	return pgconn.CommandTag{}, answers[0]
}

func (s *script) Commit(context.Context) error {
	s.sent = append(s.sent, "COMMIT")
	// CockroachDB committed at the RELEASE, so that this error means nothing.
	return io.EOF
}

func (s *script) Rollback(context.Context) error {
	s.sent = append(s.sent, "ROLLBACK")
	return nil
}

func sqlState(code string) error {
	return &pgconn.PgError{Severity: "ERROR", Code: code, Message: "spoiled"}
}

const (
	savepoint = "SAVEPOINT"
	release   = "RELEASE SAVEPOINT"
	restart   = "ROLLBACK TO SAVEPOINT"
)

func TestOnceCockroachDB(t *testing.T) {
	t.Parallel()
	refused := errors.New("sold out")
	cases := map[string]struct {
		script *script
		fnErr  error
		// wantIs and wantNot are looked for in the error's chain; wantIs nil means success.
		wantIs, wantNot error
		wantRuns        int
		wantSent        []string
	}{
		"commits with RELEASE": {
			script: &script{}, wantRuns: 1,
			wantSent: []string{"BEGIN serializable", savepoint, "fn", release, "COMMIT"},
		},
		"a conflict at the RELEASE goes back to the savepoint": {
			script:   &script{answers: map[string][]error{release: {sqlState("40001"), sqlState("40001")}}},
			wantRuns: 3,
			wantSent: []string{"BEGIN serializable", savepoint, "fn", release, restart, "fn", release, restart, "fn", release, "COMMIT"},
		},
		"the function's error rolls back": {
			script: &script{}, fnErr: refused, wantIs: refused, wantRuns: 1,
			wantSent: []string{"BEGIN serializable", savepoint, "fn", "ROLLBACK"},
		},
		"a connection lost at the RELEASE is unknown": {
			script: &script{answers: map[string][]error{release: {io.ErrUnexpectedEOF}}},
			wantIs: ErrOutcomeUnknown, wantRuns: 1,
		},
		"40003 at the RELEASE is unknown": {
			script: &script{answers: map[string][]error{release: {sqlState("40003")}}},
			wantIs: ErrOutcomeUnknown, wantRuns: 1,
		},
		"a cancelled RELEASE is unknown, although the server answered": {
			script: &script{answers: map[string][]error{release: {sqlState("57014")}}},
			wantIs: ErrOutcomeUnknown, wantRuns: 1,
		},
		"40003 of a statement is unknown": {
			script: &script{}, fnErr: sqlState("40003"), wantIs: ErrOutcomeUnknown, wantRuns: 1,
		},
		"a refusal at the RELEASE is definite": {
			script: &script{answers: map[string][]error{release: {sqlState("23514")}}},
			wantIs: errAny, wantNot: ErrOutcomeUnknown, wantRuns: 1,
		},
		"a RELEASE in a broken transaction is definite": {
			script: &script{answers: map[string][]error{release: {sqlState("25P02")}}},
			wantIs: errAny, wantNot: ErrOutcomeUnknown, wantRuns: 1,
		},
		"nothing is unknown when there was no connection": {
			script: &script{beginErr: &pgconn.ConnectError{}},
			wantIs: errAny, wantNot: ErrOutcomeUnknown, wantRuns: 0,
		},
		"nothing is unknown when the savepoint failed": {
			script: &script{answers: map[string][]error{savepoint: {io.EOF}}},
			wantIs: io.EOF, wantNot: ErrOutcomeUnknown, wantRuns: 0,
		},
		"nothing is unknown when the connection breaks on the way back to the savepoint": {
			script: &script{answers: map[string][]error{release: {sqlState("40001")}, restart: {io.EOF}}},
			wantIs: io.EOF, wantNot: ErrOutcomeUnknown, wantRuns: 1,
		},
		"too many conflicts": {
			script: &script{}, fnErr: sqlState("40001"), wantIs: ErrContention, wantNot: ErrOutcomeUnknown, wantRuns: 4,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			got, err := onceCockroachDB(t.Context(), c.script, limits{attempts: 3}, func(context.Context, pgx.Tx) (string, error) {
				runs++
				c.script.sent = append(c.script.sent, "fn")
				return "result", c.fnErr
			})
			if runs != c.wantRuns {
				t.Errorf("%d runs, want %d", runs, c.wantRuns)
			}
			if c.wantIs == nil && (err != nil || got != "result") {
				t.Errorf("result %q, error %v; want success", got, err)
			}
			if c.wantIs != nil && (err == nil || got != "") {
				t.Errorf("result %q, error %v; want an error alone", got, err)
			}
			if c.wantIs != nil && !errors.Is(c.wantIs, errAny) && !errors.Is(err, c.wantIs) {
				t.Errorf("error %v, want %v in its chain", err, c.wantIs)
			}
			if c.wantNot != nil && errors.Is(err, c.wantNot) {
				t.Errorf("error %v, want no %v in its chain", err, c.wantNot)
			}
			if c.wantSent != nil && !reflect.DeepEqual(c.script.sent, c.wantSent) {
				t.Errorf("sent %q, want %q", c.script.sent, c.wantSent)
			}
		})
	}
}

var errAny = errors.New("any error")

// lateContext has a deadline that passes when the test says so.
type lateContext struct {
	context.Context //nolint:containedctx // it is a context

	passed bool
}

func (c *lateContext) Err() error {
	if c.passed {
		return context.DeadlineExceeded
	}
	return nil
}

func TestOnceCockroachDBOutOfTime(t *testing.T) {
	t.Parallel()
	late := &lateContext{Context: t.Context()}
	_, err := onceCockroachDB(late, &script{}, limits{attempts: 0}, func(context.Context, pgx.Tx) (int, error) {
		if late.passed {
			return 0, late.Err()
		}
		late.passed = true
		return 0, sqlState("40001")
	})
	if !errors.Is(err, ErrContention) {
		t.Errorf("error %v, want ErrContention", err)
	}
}

func TestAgain(t *testing.T) {
	t.Parallel()
	l := limits{attempts: 3, connections: 2}
	cases := map[string]struct {
		err      error
		wantRuns int
		wantIs   error
		wantKind fault.Kind
	}{
		"serialization failure":   {sqlState("40001"), 3, ErrContention, fault.KindUnavailable},
		"deadlock":                {sqlState("40P01"), 3, ErrContention, fault.KindUnavailable},
		"drained node":            {sqlState("57P01"), 2, errAny, fault.KindUnavailable},
		"connection exception":    {sqlState("08006"), 2, errAny, fault.KindUnavailable},
		"idle for too long":       {&pgconn.PgError{Severity: "FATAL", Code: "25P03"}, 2, errAny, fault.KindUnavailable},
		"wrong password":          {&pgconn.PgError{Severity: "FATAL", Code: "28P01"}, 2, errAny, fault.KindUnavailable},
		"no connection":           {&pgconn.ConnectError{}, 2, errAny, fault.KindUnavailable},
		"end of file":             {io.EOF, 2, io.EOF, fault.KindUnavailable},
		"closed connection":       {pgconn.ErrConnClosed, 2, pgconn.ErrConnClosed, fault.KindUnavailable},
		"unknown outcome":         {ErrOutcomeUnknown, 1, ErrOutcomeUnknown, fault.KindUnavailable},
		"contention":              {ErrContention, 1, ErrContention, fault.KindUnavailable},
		"cancelled by the server": {sqlState("57014"), 1, errAny, fault.KindUnavailable},
		"disk full":               {sqlState("53100"), 1, errAny, fault.KindUnavailable},
		"range without a leader":  {sqlState("58C00"), 1, errAny, fault.KindUnavailable},
		"lock timeout":            {sqlState("55P03"), 1, errAny, fault.KindUnavailable},
		"deadline":                {context.DeadlineExceeded, 1, context.DeadlineExceeded, fault.KindUnavailable},
		"unique violation":        {sqlState("23505"), 1, errAny, fault.KindInternal},
		"defect":                  {sqlState("42601"), 1, errAny, fault.KindInternal},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			_, err := again(t.Context(), l, func() (int, error) {
				runs++
				return 0, c.err
			})
			if runs != c.wantRuns {
				t.Errorf("%d runs, want %d", runs, c.wantRuns)
			}
			err = Classify(err)
			if !errors.Is(c.wantIs, errAny) && !errors.Is(err, c.wantIs) {
				t.Errorf("error %v, want %v in its chain", err, c.wantIs)
			}
			if got := fault.KindOf(err); got != c.wantKind {
				t.Errorf("kind %v, want %v", got, c.wantKind)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	cases := []struct {
		answer  string
		engine  Engine
		version string
	}{
		{"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc", EnginePostgreSQL, "PostgreSQL 15.18"},
		{"PostgreSQL 18beta1 on aarch64-apple-darwin", EnginePostgreSQL, "PostgreSQL 18"},
		{"CockroachDB CCL v21.1.7 (x86_64-unknown-linux-gnu, built 2021/08/09 17:55:28, go1.15.14)", EngineCockroachDB, "CockroachDB v21.1.7"},
		{"CockroachDB CCL v25.4.0-beta.1 (x86_64-pc-linux-gnu)", EngineCockroachDB, "CockroachDB v25.4.0-beta.1"},
		{"CockroachDB OSS v21.1.7 (x86_64-unknown-linux-gnu)", EngineCockroachDB, "CockroachDB v21.1.7"},
		{"PostgreSQL 14.9 on x86_64-pc-linux-gnu", "", ""},
		{"PostgreSQL 9.6.24 on x86_64-pc-linux-gnu", "", ""},
		{"8.0.36 MySQL Community Server", "", ""},
		{"", "", ""},
	}
	for _, c := range cases {
		engine, version, err := detect(c.answer)
		if engine != c.engine || version != c.version || (err == nil) != (c.engine != "") {
			t.Errorf("detect(%q) = %q, %q, %v; want %q, %q", c.answer, engine, version, err, c.engine, c.version)
		}
	}
}

const aFewSecondsAgo = "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, AS OF SYSTEM TIME '-2.5s'"

func TestSnapshotsOnCockroachDB(t *testing.T) {
	t.Parallel()
	const stale, asOf = 2500 * time.Millisecond, "SELECT cluster_logical_timestamp()::text AS as_of"
	cases := map[string]struct {
		staleness time.Duration
		answers   []error
		wantErr   bool
		wantSent  []string
	}{
		"the present":                          {0, nil, false, []string{"BEGIN serializable", "ROLLBACK"}},
		"stale":                                {stale, nil, false, []string{aFewSecondsAgo, asOf, "ROLLBACK"}},
		"a conflict runs again, as stale":      {stale, []error{sqlState("40001")}, false, []string{aFewSecondsAgo, asOf, "ROLLBACK", aFewSecondsAgo, asOf, "ROLLBACK"}},
		"a table that was not there yet":       {stale, []error{sqlState("42P01")}, false, []string{aFewSecondsAgo, asOf, "ROLLBACK", "BEGIN serializable", "ROLLBACK"}},
		"a column that was not there yet":      {stale, []error{sqlState("42703")}, false, []string{aFewSecondsAgo, asOf, "ROLLBACK", "BEGIN serializable", "ROLLBACK"}},
		"a database that was not there yet":    {stale, []error{sqlState("3D000")}, false, []string{aFewSecondsAgo, asOf, "ROLLBACK", "BEGIN serializable", "ROLLBACK"}},
		"a table that is not there at all":     {stale, []error{sqlState("42P01"), sqlState("42P01")}, true, []string{aFewSecondsAgo, asOf, "ROLLBACK", "BEGIN serializable", "ROLLBACK"}},
		"the present has nothing to fall back": {0, []error{sqlState("42P01")}, true, []string{"BEGIN serializable", "ROLLBACK"}},
		"another error is not the past's":      {stale, []error{sqlState("22P02")}, true, []string{aFewSecondsAgo, asOf, "ROLLBACK"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, runs := &script{}, 0
			_, err := snapshotWithFallback(t.Context(), s, EngineCockroachDB, limits{attempts: 3}, c.staleness, func(ctx context.Context, at Snapshot) (struct{}, error) {
				runs++
				if at.stale {
					got, err := at.AsOf(ctx)
					if want := time.Date(2023, 11, 14, 22, 13, 20, 123456000, time.UTC); err != nil || !got.Equal(want) {
						t.Errorf("as of %s, error %v; want %s", got, err, want)
					}
				}
				if runs <= len(c.answers) {
					return struct{}{}, c.answers[runs-1]
				}
				return struct{}{}, nil
			})
			if (err != nil) != c.wantErr {
				t.Errorf("error %v, want one: %t", err, c.wantErr)
			}
			if !reflect.DeepEqual(s.sent, c.wantSent) {
				t.Errorf("sent %q\nwant %q", s.sent, c.wantSent)
			}
		})
	}
}

func TestStaleness(t *testing.T) {
	t.Parallel()
	cockroach := &DB{engine: EngineCockroachDB, maxStaleness: 5 * time.Second}
	cases := map[string]struct {
		ctx     context.Context //nolint:containedctx // it is what is tested
		db      *DB
		options []ReadOption
		want    time.Duration
	}{
		"without a choice the present":      {t.Context(), cockroach, nil, 0},
		"as the query chooses":              {t.Context(), cockroach, []ReadOption{Stale(2 * time.Second)}, 2 * time.Second},
		"within the process's bound":        {t.Context(), cockroach, []ReadOption{Stale(time.Minute)}, 5 * time.Second},
		"never in the future":               {t.Context(), cockroach, []ReadOption{Stale(-time.Second)}, 0},
		"not where all must be fresh":       {Fresh(t.Context()), cockroach, []ReadOption{Stale(time.Second)}, 0},
		"not in a process that allows none": {t.Context(), &DB{engine: EngineCockroachDB}, []ReadOption{Stale(time.Second)}, 0},
		"not on PostgreSQL":                 {t.Context(), &DB{engine: EnginePostgreSQL, maxStaleness: time.Second}, []ReadOption{Stale(time.Second)}, 0},
	}
	for name, c := range cases {
		if got := c.db.staleness(c.ctx, c.options); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWallTime(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "now", ".5", "-"} {
		if got, err := wallTime(bad); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
}
