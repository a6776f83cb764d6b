package main

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/schema"
)

func TestManyMakeTheSameDatabase(t *testing.T) {
	t.Parallel()
	server, name := dbtest.URL(t), "holdfast_race_"+randomName()
	t.Cleanup(func() {
		if err := dropDatabase(t.Context(), server, name); err != nil {
			t.Error(err)
		}
	})
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			_, err := createDatabase(t.Context(), server, name)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMigrateToNothingAsksBack(t *testing.T) {
	t.Parallel()
	root := &cli{DatabaseURL: dbtest.Create(t), LogLevel: "warn"}
	ctx := t.Context()
	if err := (&migrateCommand{To: migrateUp}).Run(ctx, root); err != nil {
		t.Fatal(err)
	}
	s, err := openStore(ctx, root.DatabaseURL, "", nil, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close(ctx) })
	wantError(t, (&migrateCommand{To: "0"}).Run(ctx, root), "would drop", "tables", "--yes", "nothing was changed")
	if err := schema.RequireVersion(ctx, s.db); err != nil {
		t.Errorf("after the question: %v", err)
	}
	wantError(t, (&migrateCommand{To: "4"}).Run(ctx, root), "would drop what the migrations 5 to", "--yes", "nothing was changed")
	if err := schema.RequireVersion(ctx, s.db); err != nil {
		t.Errorf("after the other question: %v", err)
	}
	latest, err := schema.Latest()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []migrateCommand{{To: strconv.Itoa(latest)}, {To: strconv.Itoa(latest - 1), Yes: true}, {To: strconv.Itoa(latest)}} {
		if err := step.Run(ctx, root); err != nil {
			t.Errorf("migrate %s: %v", step.To, err)
		}
	}
	if err := (&migrateCommand{To: "0", Yes: true}).Run(ctx, root); err != nil {
		t.Fatal(err)
	}
	wantError(t, schema.RequireVersion(ctx, s.db), "migrate up")
}

func TestAuditSaysHowMuchItLookedAt(t *testing.T) {
	t.Parallel()
	report := bookings.AuditReport{
		OK:      true,
		Checks:  []bookings.AuditCheck{{Name: "no seat with two owners", OK: true}},
		Counted: bookings.AuditCounts{Tenants: 1, Holds: 12, Bookings: 7},
	}
	var printed strings.Builder
	printAudit(&printed, report)
	if want := "no seat with two owners  ok\n\nLooked at 1 tenant, 12 holds, 7 bookings and 0 payments: every check is ok.\n"; printed.String() != want {
		t.Errorf("the audit prints %q, want %q", printed.String(), want)
	}
	report.OK, report.Checks[0] = false, bookings.AuditCheck{Name: "no seat with two owners", Violations: 1, Examples: []string{"a seat"}}
	printed.Reset()
	printAudit(&printed, report)
	for _, words := range []string{"1 violation\n", "a seat", "1 check found violations."} {
		if !strings.Contains(printed.String(), words) {
			t.Errorf("the audit does not print %q:\n%s", words, printed.String())
		}
	}
}

// TestAuditCountsWhatIsThere counts one tenant among others.
func TestAuditCountsWhatIsThere(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	owner := newOwner(t, a)
	report, err := a.bookings.Audit(t.Context(), &owner.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	if want := (bookings.AuditCounts{Tenants: 1}); report.Counted != want {
		t.Errorf("a new tenant is counted as %+v", report.Counted)
	}
}

func TestAKeyIsJudgedBeforeTheDatabaseIsAsked(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"": "got none", "hfk_live_abc": "got something else"} {
		err := keyFlag{Key: key}.Validate()
		wantError(t, err, "--key", "HOLDFAST_KEY", "hfo_live_", want)
		if strings.Contains(err.Error(), "Bearer") {
			t.Errorf("a flag is told of a header: %v", err)
		}
	}
	if code := run(t.Context(), []string{"import", "nights", "absent.csv", "--room-type", "room_eu_x", "--key="}); code != 2 {
		t.Errorf("without a key the exit is %d", code)
	}
}
