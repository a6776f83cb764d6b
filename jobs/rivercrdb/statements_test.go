package rivercrdb

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakeTx keeps what riverpgxv5 sends and answers with no rows.
type fakeTx struct {
	pgx.Tx // nil

	statements []string
	args       [][]any
}

func (f *fakeTx) keep(sql string, args []any) {
	f.statements = append(f.statements, strings.TrimSpace(sql))
	f.args = append(f.args, args)
}

func (f *fakeTx) Begin(context.Context) (pgx.Tx, error) { return f, nil }
func (f *fakeTx) Commit(context.Context) error          { return nil }
func (f *fakeTx) Rollback(context.Context) error        { return nil }
func (f *fakeTx) Conn() *pgx.Conn                       { return nil }

func (f *fakeTx) CopyFrom(_ context.Context, table pgx.Identifier, columns []string, _ pgx.CopyFromSource) (int64, error) {
	f.keep("COPY "+table.Sanitize()+" ("+strings.Join(columns, ", ")+") FROM STDIN", nil)
	return 0, nil
}

func (f *fakeTx) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	f.keep(sql, args)
	return pgconn.CommandTag{}, nil
}

func (f *fakeTx) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	f.keep(sql, args)
	return noRows{}, nil
}

func (f *fakeTx) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	f.keep(sql, args)
	if statementName(sql) == "PGGetProductAndVersion" {
		return capabilitiesRow{product: "CockroachDB (as -YB)"}
	}
	return errorRow{pgx.ErrNoRows}
}

type noRows struct{ pgx.Rows }

func (noRows) Close()     {}
func (noRows) Err() error { return nil }
func (noRows) Next() bool { return false }

// calls has one call, or more where the statement depends on the parameters, for every method of
// riverdriver.Executor.
func calls(e riverdriver.Executor, schema string) map[string]func(ctx context.Context) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	job := &riverdriver.JobInsertFastParams{EncodedArgs: []byte("{}"), Kind: "k", State: rivertype.JobStateAvailable}
	uniqueJob := *job
	uniqueJob.UniqueKey, uniqueJob.UniqueStates = []byte("key"), 0xff
	states := func(n int) *riverdriver.JobSetStateIfRunningManyParams {
		return &riverdriver.JobSetStateIfRunningManyParams{
			ID: make([]int64, n), Attempt: make([]*int, n), ErrData: make([][]byte, n), FinalizedAt: make([]*time.Time, n),
			MetadataDoMerge: make([]bool, n), MetadataUpdates: make([][]byte, n), ScheduledAt: make([]*time.Time, n),
			Schema: schema, State: make([]rivertype.JobState, n),
		}
	}
	list := riverdriver.JobListParams{
		Max: 1, OrderByClause: "id", Schema: schema, NamedArgs: map[string]any{"kind": []string{"k"}, "tags": []string{"t"}},
		WhereClause: "kind = any(@kind) AND tags && @tags",
	}
	deleteMany := riverdriver.JobDeleteManyParams(list)
	return map[string]func(ctx context.Context){
		"Begin": func(ctx context.Context) { _, _ = e.Begin(ctx) },
		"ColumnExists": func(ctx context.Context) {
			_, _ = e.ColumnExists(ctx, &riverdriver.ColumnExistsParams{Column: "c", Schema: schema, Table: "t"})
		},
		"Exec": func(ctx context.Context) { _ = e.Exec(ctx, "SELECT 1") },
		"IndexDropIfExists": func(ctx context.Context) {
			_ = e.IndexDropIfExists(ctx, &riverdriver.IndexDropIfExistsParams{Index: "i", Schema: schema})
		},
		"IndexExists": func(ctx context.Context) {
			_, _ = e.IndexExists(ctx, &riverdriver.IndexExistsParams{Index: "i", Schema: schema})
		},
		"IndexReindex": func(ctx context.Context) {
			_ = e.IndexReindex(ctx, &riverdriver.IndexReindexParams{Index: "i", Schema: schema})
		},
		"IndexReindexArtifacts": func(ctx context.Context) {
			_, _ = e.IndexReindexArtifacts(ctx, &riverdriver.IndexReindexArtifactsParams{Index: "i", Schema: schema})
		},
		"IndexesExist": func(ctx context.Context) {
			_, _ = e.IndexesExist(ctx, &riverdriver.IndexesExistParams{IndexNames: []string{"i"}, Schema: schema})
		},
		"InitDriver": func(ctx context.Context) { _ = e.InitDriver(ctx) },
		"JobCancel": func(ctx context.Context) {
			_, _ = e.JobCancel(ctx, &riverdriver.JobCancelParams{CancelAttemptedAt: now, ControlTopic: "c", ID: 1, Schema: schema})
		},
		"JobCountByAllStates": func(ctx context.Context) {
			_, _ = e.JobCountByAllStates(ctx, &riverdriver.JobCountByAllStatesParams{Schema: schema})
		},
		"JobCountByQueueAndState": func(ctx context.Context) {
			_, _ = e.JobCountByQueueAndState(ctx, &riverdriver.JobCountByQueueAndStateParams{Schema: schema})
		},
		"JobCountByState": func(ctx context.Context) {
			_, _ = e.JobCountByState(ctx, &riverdriver.JobCountByStateParams{Schema: schema})
		},
		"JobDelete": func(ctx context.Context) {
			_, _ = e.JobDelete(ctx, &riverdriver.JobDeleteParams{ID: 1, Schema: schema})
		},
		"JobDeleteBefore": func(ctx context.Context) {
			_, _ = e.JobDeleteBefore(ctx, &riverdriver.JobDeleteBeforeParams{Max: 1, Schema: schema})
		},
		"JobDeleteMany": func(ctx context.Context) { _, _ = e.JobDeleteMany(ctx, &deleteMany) },
		"JobGetAvailable": func(ctx context.Context) {
			_, _ = e.JobGetAvailable(ctx, &riverdriver.JobGetAvailableParams{ClientID: "c", MaxToLock: 1, Queue: "q", Schema: schema})
		},
		"JobGetByID": func(ctx context.Context) {
			_, _ = e.JobGetByID(ctx, &riverdriver.JobGetByIDParams{ID: 1, Schema: schema})
		},
		"JobGetByIDMany": func(ctx context.Context) {
			_, _ = e.JobGetByIDMany(ctx, &riverdriver.JobGetByIDManyParams{Schema: schema})
		},
		"JobGetByKindMany": func(ctx context.Context) {
			_, _ = e.JobGetByKindMany(ctx, &riverdriver.JobGetByKindManyParams{Schema: schema})
		},
		"JobGetCancelRequested": func(ctx context.Context) {
			_, _ = e.JobGetCancelRequested(ctx, &riverdriver.JobGetCancelRequestedParams{Schema: schema})
		},
		"JobGetStuck": func(ctx context.Context) {
			_, _ = e.JobGetStuck(ctx, &riverdriver.JobGetStuckParams{Max: 1, Schema: schema})
		},
		"JobInsertFastMany": func(ctx context.Context) {
			_, _ = e.JobInsertFastMany(ctx, &riverdriver.JobInsertFastManyParams{
				Jobs: []*riverdriver.JobInsertFastParams{job, &uniqueJob}, Schema: schema,
			})
			_, _ = e.JobInsertFastMany(ctx, &riverdriver.JobInsertFastManyParams{
				Jobs: []*riverdriver.JobInsertFastParams{job}, Schema: schema,
			})
		},
		"JobInsertFastManyNoReturning": func(ctx context.Context) {
			_, _ = e.JobInsertFastManyNoReturning(ctx, &riverdriver.JobInsertFastManyParams{
				Jobs: []*riverdriver.JobInsertFastParams{job}, Schema: schema,
			})
		},
		"JobInsertFull": func(ctx context.Context) {
			_, _ = e.JobInsertFull(ctx, &riverdriver.JobInsertFullParams{Kind: "k", Schema: schema})
		},
		"JobInsertFullMany": func(ctx context.Context) {
			_, _ = e.JobInsertFullMany(ctx, &riverdriver.JobInsertFullManyParams{Schema: schema})
		},
		"JobKindList": func(ctx context.Context) {
			_, _ = e.JobKindList(ctx, &riverdriver.JobKindListParams{Max: 1, Schema: schema})
		},
		"JobList": func(ctx context.Context) { _, _ = e.JobList(ctx, &list) },
		"JobRescueMany": func(ctx context.Context) {
			_, _ = e.JobRescueMany(ctx, &riverdriver.JobRescueManyParams{Schema: schema})
		},
		"JobRetry": func(ctx context.Context) { _, _ = e.JobRetry(ctx, &riverdriver.JobRetryParams{ID: 1, Schema: schema}) },
		"JobSchedule": func(ctx context.Context) {
			_, _ = e.JobSchedule(ctx, &riverdriver.JobScheduleParams{Max: 1, Schema: schema})
		},
		"JobSetStateIfRunningMany": func(ctx context.Context) { _, _ = e.JobSetStateIfRunningMany(ctx, states(1)) },
		"JobUpdate": func(ctx context.Context) {
			_, _ = e.JobUpdate(ctx, &riverdriver.JobUpdateParams{ID: 1, Schema: schema})
		},
		"JobUpdateFull": func(ctx context.Context) {
			_, _ = e.JobUpdateFull(ctx, &riverdriver.JobUpdateFullParams{ID: 1, Schema: schema})
		},
		"LeaderAttemptElect": func(ctx context.Context) {
			_, _ = e.LeaderAttemptElect(ctx, &riverdriver.LeaderElectParams{LeaderID: "l", Schema: schema})
		},
		"LeaderAttemptReelect": func(ctx context.Context) {
			_, _ = e.LeaderAttemptReelect(ctx, &riverdriver.LeaderReelectParams{LeaderID: "l", Schema: schema})
		},
		"LeaderDeleteExpired": func(ctx context.Context) {
			_, _ = e.LeaderDeleteExpired(ctx, &riverdriver.LeaderDeleteExpiredParams{Schema: schema})
		},
		"LeaderGetElectedLeader": func(ctx context.Context) {
			_, _ = e.LeaderGetElectedLeader(ctx, &riverdriver.LeaderGetElectedLeaderParams{Schema: schema})
		},
		"LeaderInsert": func(ctx context.Context) {
			_, _ = e.LeaderInsert(ctx, &riverdriver.LeaderInsertParams{LeaderID: "l", Schema: schema})
		},
		"LeaderResign": func(ctx context.Context) {
			_, _ = e.LeaderResign(ctx, &riverdriver.LeaderResignParams{LeaderID: "l", Schema: schema})
		},
		"MigrationDeleteAssumingMainMany": func(ctx context.Context) {
			_, _ = e.MigrationDeleteAssumingMainMany(ctx, &riverdriver.MigrationDeleteAssumingMainManyParams{Schema: schema})
		},
		"MigrationDeleteByLineAndVersionMany": func(ctx context.Context) {
			_, _ = e.MigrationDeleteByLineAndVersionMany(ctx, &riverdriver.MigrationDeleteByLineAndVersionManyParams{Schema: schema})
		},
		"MigrationGetAllAssumingMain": func(ctx context.Context) {
			_, _ = e.MigrationGetAllAssumingMain(ctx, &riverdriver.MigrationGetAllAssumingMainParams{Schema: schema})
		},
		"MigrationGetByLine": func(ctx context.Context) {
			_, _ = e.MigrationGetByLine(ctx, &riverdriver.MigrationGetByLineParams{Schema: schema})
		},
		"MigrationInsertMany": func(ctx context.Context) {
			_, _ = e.MigrationInsertMany(ctx, &riverdriver.MigrationInsertManyParams{Schema: schema})
		},
		"MigrationInsertManyAssumingMain": func(ctx context.Context) {
			_, _ = e.MigrationInsertManyAssumingMain(ctx, &riverdriver.MigrationInsertManyAssumingMainParams{Schema: schema})
		},
		"NotificationDeleteBefore": func(ctx context.Context) {
			_, _ = e.NotificationDeleteBefore(ctx, &riverdriver.NotificationDeleteBeforeParams{Max: 1, Schema: schema})
		},
		"NotifyMany": func(ctx context.Context) {
			_ = e.NotifyMany(ctx, &riverdriver.NotifyManyParams{Payload: []string{"p"}, Schema: schema, Topic: "t"})
		},
		"PGAdvisoryXactLock": func(ctx context.Context) { _, _ = e.PGAdvisoryXactLock(ctx, 1) },
		"Ping":               func(ctx context.Context) { _ = e.Ping(ctx) },
		"QueryRow":           func(ctx context.Context) { _ = e.QueryRow(ctx, "SELECT 1") },
		"QueueCreateOrSetUpdatedAt": func(ctx context.Context) {
			_, _ = e.QueueCreateOrSetUpdatedAt(ctx, &riverdriver.QueueCreateOrSetUpdatedAtParams{Name: "q", Schema: schema})
		},
		"QueueDeleteExpired": func(ctx context.Context) {
			_, _ = e.QueueDeleteExpired(ctx, &riverdriver.QueueDeleteExpiredParams{Max: 1, Schema: schema})
		},
		"QueueGet": func(ctx context.Context) {
			_, _ = e.QueueGet(ctx, &riverdriver.QueueGetParams{Name: "q", Schema: schema})
		},
		"QueueList": func(ctx context.Context) {
			_, _ = e.QueueList(ctx, &riverdriver.QueueListParams{Max: 1, Schema: schema})
		},
		"QueueNameList": func(ctx context.Context) {
			_, _ = e.QueueNameList(ctx, &riverdriver.QueueNameListParams{Max: 1, Schema: schema})
		},
		"QueuePause": func(ctx context.Context) {
			_ = e.QueuePause(ctx, &riverdriver.QueuePauseParams{Name: "q", Schema: schema})
		},
		"QueueResume": func(ctx context.Context) {
			_ = e.QueueResume(ctx, &riverdriver.QueueResumeParams{Name: "q", Schema: schema})
		},
		"QueueUpdate": func(ctx context.Context) {
			_, _ = e.QueueUpdate(ctx, &riverdriver.QueueUpdateParams{Name: "q", Schema: schema})
		},
		"SchemaCreate": func(ctx context.Context) { _ = e.SchemaCreate(ctx, &riverdriver.SchemaCreateParams{Schema: "s"}) },
		"SchemaDrop":   func(ctx context.Context) { _ = e.SchemaDrop(ctx, &riverdriver.SchemaDropParams{Schema: "s"}) },
		"SchemaGetExpired": func(ctx context.Context) {
			_, _ = e.SchemaGetExpired(ctx, &riverdriver.SchemaGetExpiredParams{Prefix: "p"})
		},
		"TableExists": func(ctx context.Context) {
			_, _ = e.TableExists(ctx, &riverdriver.TableExistsParams{Schema: schema, Table: "t"})
		},
		"TableTruncate": func(ctx context.Context) {
			_ = e.TableTruncate(ctx, &riverdriver.TableTruncateParams{Schema: schema, Table: []string{"t"}})
		},
	}
}

// sent is every statement that the driver sends, by the method that sends it, in order of method.
func sent(t *testing.T, skipLocked bool, schema string) []string {
	t.Helper()
	tx := &fakeTx{}
	byMethod := calls(driverOf(t, skipLocked).UnwrapExecutor(tx), schema)
	byMethod["InitDriver"](t.Context())
	tx.statements = nil
	methods := reflect.TypeFor[riverdriver.Executor]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		call, ok := byMethod[name]
		if !ok {
			t.Errorf("riverdriver.Executor has a method %s that this test does not call", name)
			continue
		}
		call(t.Context())
	}
	return append([]string{initStatement(t, skipLocked)}, tx.statements...)
}

// driverOf is a driver without a pool.
func driverOf(t *testing.T, skipLocked bool) *Driver {
	t.Helper()
	d, err := newDriver(t.Context(), nil, skipLocked)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// initStatement is what a new driver sends first, once.
func initStatement(t *testing.T, skipLocked bool) string {
	t.Helper()
	tx := &fakeTx{}
	if err := driverOf(t, skipLocked).UnwrapExecutor(tx).InitDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tx.statements[0]
}

type rule struct {
	name      string
	forbidden *regexp.Regexp
}

func floor() []rule {
	return []rule{
		{"arrays of jsonb", regexp.MustCompile(`(?i)jsonb?\s*\[`)},
		{"pg_notify, LISTEN, NOTIFY", regexp.MustCompile(`(?i)pg_notify|\b(UN)?LISTEN\b|\bNOTIFY\s+[^,\s]+\s*,`)},
		{"make_interval, named arguments", regexp.MustCompile(`(?i)make_interval|=>`)},
		{"advisory locks", regexp.MustCompile(`(?i)advisory`)},
		{"xmax", regexp.MustCompile(`(?i)\bxmax\b`)},
		{"array slices", regexp.MustCompile(`\[[^\]]*:[^\]]*\]`)},
		{"DELETE … USING", regexp.MustCompile(`(?is)\bDELETE\s+FROM\s+\S+\s+USING\b`)},
		{"REINDEX", regexp.MustCompile(`(?i)\bREINDEX\b`)},
		{"DO", regexp.MustCompile(`(?i)^\s*DO\b`)},
		{"functions that do not exist", regexp.MustCompile(`(?i)river_job_state_in_bitmask`)},
	}
}

var lineComment = regexp.MustCompile(`(?m)--.*$`)

func checkFloor(t *testing.T, statement string, skipLocked bool) {
	t.Helper()
	// A cast is not a slice.
	text := strings.ReplaceAll(lineComment.ReplaceAllString(statement, ""), "::", " ")
	for _, rule := range floor() {
		if rule.forbidden.MatchString(text) {
			t.Errorf("%s in\n%s", rule.name, statement)
		}
	}
	if !skipLocked && strings.Contains(text, "SKIP LOCKED") {
		t.Errorf("SKIP LOCKED in\n%s", statement)
	}
}

func TestEveryStatementStaysWithinTheFloor(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"", "River_eu"} {
		for _, skipLocked := range []bool{false, true} {
			for _, statement := range sent(t, skipLocked, schema) {
				checkFloor(t, statement, skipLocked)
			}
		}
		for _, statement := range statements(true, schema) {
			checkFloor(t, statement, false)
		}
	}
}

// The floor must see what it is there to see: River's own statements break all of its rules but
// the ones about statements that River sends nowhere.
func TestTheFloorRefusesRiversOwnStatements(t *testing.T) {
	t.Parallel()
	own := strings.Join(originals(t, "river"), "\n")
	for _, rule := range floor() {
		if rule.name == "DO" || rule.name == "xmax" {
			continue
		}
		if !rule.forbidden.MatchString(strings.ReplaceAll(own, "::", " ")) {
			t.Errorf("%s: not found in River's own statements", rule.name)
		}
	}
}

// originals are the statements as riverpgxv5 itself sends them.
func originals(t *testing.T, schema string) []string {
	t.Helper()
	tx := &fakeTx{}
	e := riverpgxv5.New(nil).UnwrapExecutor(tx)
	for _, call := range calls(e, schema) {
		call(t.Context())
	}
	if _, err := e.PGAdvisoryXactLock(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return tx.statements
}

// Changing the golden files is a change of what is sent to production: read the difference.
func TestGoldenStatements(t *testing.T) {
	t.Parallel()
	plain := sent(t, false, "")
	var skipping []string
	for _, statement := range sent(t, true, "") {
		if !slices.Contains(plain, statement) {
			skipping = append(skipping, statement)
		}
	}
	golden(t, "statements.sql", plain)
	golden(t, "statements_skip_locked.sql", skipping)
	golden(t, "schema_cockroachdb.sql", statements(true, "River_eu"))
	golden(t, "schema_postgres.sql", statements(false, ""))
}

func golden(t *testing.T, name string, statements []string) {
	t.Helper()
	got := strings.Join(statements, ";\n\n") + ";\n"
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) //nolint:gosec // a file of this package
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what is sent now; run go test -update and read the difference", path)
	}
}

// Each edit of each statement in turn meets a text that River has changed.
func TestAChangedStatementFailsLoudly(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"", "river"} {
		byName := make(map[string]string)
		for _, statement := range originals(t, schema) {
			byName[statementName(statement)] = statement + "\n"
		}
		for _, name := range editedStatements() {
			original, ok := byName[name]
			if !ok {
				t.Errorf("River does not send %s", name)
				continue
			}
			edits := editsOf(name, dialect{})
			if len(edits) == 0 {
				t.Errorf("%s has no edits", name)
			}
			for _, e := range edits {
				if e.why == "" {
					t.Errorf("%s: an edit does not say why", name)
				}
				old := strings.ReplaceAll(e.old, "{schema}", schemaOf(original))
				for what, changed := range map[string]string{
					"gone":  strings.Replace(original, old, "", 1),
					"twice": strings.Replace(original, old, old+old, 1),
				} {
					if _, err := rewrite(changed, dialect{}); !errors.Is(err, ErrStatementChanged) {
						t.Errorf("%s with %q %s: got error %v, want ErrStatementChanged", name, old, what, err)
					}
				}
			}
		}
	}
}

func TestCheckStatementsSeesEveryEditedStatement(t *testing.T) {
	t.Parallel()
	for _, skipLocked := range []bool{false, true} {
		if err := checkStatements(t.Context(), skipLocked); err != nil {
			t.Errorf("skipLocked %t: %v", skipLocked, err)
		}
	}
}

func TestStateChangesAreSplit(t *testing.T) {
	t.Parallel()
	const jobs = 2*maxStateChanges + 1
	tx := &fakeTx{}
	e := driverOf(t, false).UnwrapExecutor(tx)
	if _, err := e.JobSetStateIfRunningMany(t.Context(), &riverdriver.JobSetStateIfRunningManyParams{
		ID: make([]int64, jobs), Attempt: make([]*int, jobs), ErrData: make([][]byte, jobs),
		FinalizedAt: make([]*time.Time, jobs), MetadataDoMerge: make([]bool, jobs), MetadataUpdates: make([][]byte, jobs),
		ScheduledAt: make([]*time.Time, jobs), State: make([]rivertype.JobState, jobs),
	}); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, args := range tx.args {
		sizes = append(sizes, len(args[0].([]int64))) //nolint:forcetypeassert // the ids come first
	}
	if want := []int{maxStateChanges, maxStateChanges, 1}; !slices.Equal(sizes, want) {
		t.Errorf("got parts of %v jobs, want %v", sizes, want)
	}
}

// An insert without a unique job carries no nonce, and one with them does.
func TestOnlyUniqueInsertsCarryANonce(t *testing.T) {
	t.Parallel()
	tx := &fakeTx{}
	e := driverOf(t, false).UnwrapExecutor(tx)
	if err := e.InitDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range [][]byte{nil, []byte("key")} {
		tx.args = nil
		if _, err := e.JobInsertFastMany(t.Context(), &riverdriver.JobInsertFastManyParams{
			Jobs: []*riverdriver.JobInsertFastParams{{Kind: "k", State: rivertype.JobStateAvailable}, {Kind: "k", State: rivertype.JobStateAvailable, UniqueKey: key, UniqueStates: 0xff}},
		}); err != nil {
			t.Fatal(err)
		}
		metadata := tx.args[0][5].([][]byte) //nolint:forcetypeassert // the sixth parameter
		for _, m := range metadata {
			if _, nonce := riverdriver.UniqueInsertMetadataNonce(m); nonce != (key != nil) {
				t.Errorf("key %q: metadata %s", key, m)
			}
		}
	}
}

func TestOnlyFixedTextsAreRemembered(t *testing.T) {
	t.Parallel()
	d := driverOf(t, false)
	for _, call := range calls(d.UnwrapExecutor(&fakeTx{}), "river") {
		call(t.Context())
	}
	remembered := 0
	d.rewriter.done.Range(func(key, _ any) bool {
		remembered++
		sql := key.(rewritten).sql //nolint:forcetypeassert // the only type of key
		if strings.Contains(sql, "kind = any($2)") {
			t.Errorf("a statement with a caller's conditions is remembered:\n%s", sql)
		}
		return true
	})
	// JobInsertFastMany is there twice, JobDeleteMany not at all.
	if want := len(editedStatements()); remembered != want {
		t.Errorf("%d statements are remembered, want %d", remembered, want)
	}
}

func TestASecondStatementInALoneTransactionFails(t *testing.T) {
	t.Parallel()
	tx := &lazyTx{alone: "JobInsertFastMany"}
	if _, err := tx.Exec(t.Context(), "SELECT 1"); !errors.Is(err, ErrSecondStatement) {
		t.Errorf("got error %v, want ErrSecondStatement", err)
	}
	if _, err := tx.CopyFrom(t.Context(), nil, nil, nil); !errors.Is(err, ErrSecondStatement) {
		t.Errorf("CopyFrom: got error %v, want ErrSecondStatement", err)
	}
	if _, err := tx.Begin(t.Context()); !errors.Is(err, ErrSecondStatement) {
		t.Errorf("Begin: got error %v, want ErrSecondStatement", err)
	}
}

func TestTheDriverPolls(t *testing.T) {
	t.Parallel()
	d := driverOf(t, false)
	if d.SupportsListener() || d.SupportsListenNotify() {
		t.Error("the driver says that it can listen or notify")
	}
	if err := d.GetListener(nil).Connect(t.Context()); !errors.Is(err, riverdriver.ErrNotImplemented) {
		t.Errorf("connect a listener: got error %v, want ErrNotImplemented", err)
	}
}

func BenchmarkRewrite(b *testing.B) {
	tx := &fakeTx{}
	e := riverpgxv5.New(nil).UnwrapExecutor(tx)
	all := calls(e, "river")
	for _, name := range []string{"JobInsertFastMany", "JobSetStateIfRunningMany", "JobGetAvailable"} {
		tx.statements = nil
		all[name](b.Context())
		statement := tx.statements[len(tx.statements)-1] + "\n"
		b.Run(name, func(b *testing.B) {
			r := &rewriter{}
			for b.Loop() {
				if _, err := r.rewrite(statement, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
