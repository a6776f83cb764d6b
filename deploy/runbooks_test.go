package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/jobs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// Whoever starts workers for some queues has to know them all.
func TestEveryQueueIsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, queue := range jobs.Queues() {
		if !strings.Contains(string(text), "\n| "+queue+" | ") {
			t.Errorf("README.md does not say what is in the queue %s", queue)
		}
	}
}

// block is one fenced block of a document.
type block struct {
	language, content string
}

var (
	fence      = regexp.MustCompile("(?ms)^ *```([a-z-]*)\n(.*?)^ *```$")
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	link       = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	invocation = regexp.MustCompile(`(?:^|/usr/local/bin/|exec )holdfast ([a-z][^#>$]*)|(?:holdfast:local|--rm operator) ([a-z][^#>$]*)`)
	alertLine  = regexp.MustCompile(`(?m)^\*\*Alerts:\*\* (.*)\.$`)
)

func blocksOf(content string) []block {
	var blocks []block
	for _, found := range fence.FindAllStringSubmatch(content, -1) {
		blocks = append(blocks, block{language: found[1], content: found[2]})
	}
	return blocks
}

func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("runbooks/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no runbooks (%v)", err)
	}
	all := map[string]string{}
	for _, path := range append(paths, "README.md") {
		all[path] = string(read(t, path))
	}
	return all
}

// checkDocuments holds commands, links and alerts that documents name against what there is.
func checkDocuments(t *testing.T, p program) {
	t.Helper()
	checked := 0
	for path, content := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(content, -1) {
			if !exists(filepath.Join(filepath.Dir(path), found[1])) {
				t.Errorf("%s: the link to %s leads nowhere", path, found[1])
			}
		}
		var lines []string
		for _, b := range blocksOf(content) {
			switch b.language {
			case "sh":
				lines = append(lines, strings.Split(b.content, "\n")...)
			case "sql", "sql-postgresql", "cockroachdb":
			default:
				t.Errorf("%s: a block of %q, which nothing checks", path, b.language)
			}
		}
		for _, span := range codeSpan.FindAllStringSubmatch(fence.ReplaceAllString(content, ""), -1) {
			lines = append(lines, span[1])
		}
		for _, line := range lines {
			for _, found := range invocation.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
				p.check(t, path, strings.Fields(found[1]+found[2]), nil)
				checked++
			}
			for _, variable := range regexp.MustCompile(`\bHOLDFAST_[A-Z_]*[A-Z]\b`).FindAllString(line, -1) {
				if !p.knows(variable) {
					t.Errorf("%s: no command of holdfast reads %s", path, variable)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d invocations of holdfast were found in the documents", checked)
	}
}

// TestRunbooksNameTheirAlerts keeps rules and runbooks in step, in both directions.
func TestRunbooksNameTheirAlerts(t *testing.T) {
	t.Parallel()
	runbooksOf := map[string]string{}
	for _, r := range readRules(t) {
		runbooksOf[r.Alert] = strings.TrimPrefix(r.Annotations["runbook"], "deploy/")
	}
	named := map[string][]string{}
	for path, content := range documents(t) {
		for _, found := range alertLine.FindAllStringSubmatch(content, -1) {
			named[path] = strings.Split(found[1], ", ")
		}
		for _, alert := range named[path] {
			if _, exists := runbooksOf[alert]; !exists {
				t.Errorf("%s: there is no alert %s", path, alert)
			}
		}
	}
	for alert, runbook := range runbooksOf {
		if runbook != "README.md" && !slices.Contains(named[runbook], alert) {
			t.Errorf("%s does not name its alert %s", runbook, alert)
		}
	}
}

// checkQueries runs each query of the documents on a database that the program has migrated. At three
// in the morning is no time to find out that a column was renamed.
func checkQueries(t *testing.T, p program) {
	t.Helper()
	url := dbtest.Create(t)
	for _, args := range [][]string{{"migrate", "up"}, {"audit"}} {
		cmd := exec.CommandContext(t.Context(), p.path, args...)
		cmd.Env = append(os.Environ(), "HOLDFAST_DATABASE_URL="+url)
		if message, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("holdfast %v: %v\n%s", args, err, message)
		}
	}
	database, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	run := 0
	for path, content := range documents(t) {
		for _, b := range blocksOf(content) {
			if b.language != "sql" && (b.language != "sql-postgresql" || database.Engine() != db.EnginePostgreSQL) {
				continue
			}
			run++
			query(t, database, path, b.content)
		}
	}
	if run < 5 {
		t.Errorf("only %d queries were found", run)
	}
}

// query runs one statement that must not change anything.
func query(t *testing.T, database *db.DB, where, statement string) {
	t.Helper()
	tx, err := database.Pool().BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	rows, err := tx.Query(t.Context(), strings.TrimSuffix(strings.TrimSpace(statement), ";"))
	if err != nil {
		t.Errorf("%s: %v\n%s", where, err, statement)
		return
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		t.Errorf("%s: %v\n%s", where, err, statement)
	}
}
