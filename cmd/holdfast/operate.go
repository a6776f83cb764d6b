package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/schema"
	"github.com/holdfast/holdfast/tenants"
)

// migrateUp is the latest version, whatever its number.
const migrateUp = "up"

type migrateCommand struct {
	To  string `arg:"" optional:"" default:"up" help:"\"up\", the default, for the latest version, or a version number. A lower one than the database has drops what the later ones added, and needs --yes; 0 drops everything but the job queue."`
	Yes bool   `help:"Do drop what the later versions added, without asking back."`
}

// Run migrates the configured database, or that of --data-dir.
func (c *migrateCommand) Run(ctx context.Context, root *cli) (err error) {
	version := 0
	if c.To != migrateUp {
		if version, err = strconv.Atoi(c.To); err != nil || version < 0 {
			return fmt.Errorf("migrate: expected \"up\" or a version number, got %q", c.To)
		}
		if root.DatabaseURL == "" {
			if err := requireData(root.DataDir); err != nil {
				return err
			}
		}
	}
	logger := root.logger()
	s, err := openStore(ctx, root.DatabaseURL, root.DataDir, os.Stderr, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if c.To == migrateUp {
		if err := s.migrate(ctx, logger); err != nil {
			return err
		}
		latest, err := schema.Latest()
		if err != nil {
			return err
		}
		fmt.Printf("The schema is version %d on %s.\n", latest, s.db.Version())
		return nil
	}
	if !c.Yes {
		if err := s.refuseToDrop(ctx, version); err != nil {
			return err
		}
	}
	if err := schema.MigrateTo(ctx, s.db, logger, version); err != nil {
		return err
	}
	fmt.Printf("The schema is version %d on %s.\n", version, s.db.Version())
	if version == 0 {
		return nil
	}
	return jobs.Migrate(ctx, s.db)
}

// refuseToDrop is an error that says what a database loses on its way down to a version; nil when it
// loses nothing.
func (s *store) refuseToDrop(ctx context.Context, version int) error {
	current, err := schema.Version(ctx, s.db)
	if err != nil || version >= current {
		return err
	}
	if version > 0 {
		names, err := schema.Names(version+1, current)
		if err != nil {
			return err
		}
		return fmt.Errorf("migrate %d would drop what the migrations %d to %d added (%s), with everything in it; nothing was changed: say --yes to do it",
			version, version+1, current, strings.Join(names, ", "))
	}
	var tables int64
	var name string
	const ours = `SELECT current_database(), count(*) FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'river%' AND table_name NOT LIKE 'schema%'`
	if err := s.db.Pool().QueryRow(ctx, ours).Scan(&name, &tables); err != nil {
		return db.Classify(fmt.Errorf("count the tables: %w", err))
	}
	return fmt.Errorf("migrate 0 would drop %s of the database %q on %s, with everything in them; nothing was changed: say --yes to do it", count(tables, "table"), name, s.db.Version())
}

type keyCommand struct {
	Create keyCreateCommand `cmd:"" help:"Make a platform key, which creates tenants and their keys through the API."`
}

type keyCreateCommand struct {
	Name string `default:"platform" help:"What the key is called in lists."`
}

// Run prints the key once; it is stored only as its hash.
func (c *keyCreateCommand) Run(ctx context.Context, root *cli) error {
	return root.withApp(ctx, func(ctx context.Context, a *app) error {
		secret, err := tenants.BootstrapPlatformKey(ctx, a.store.db, c.Name)
		if err != nil {
			return err
		}
		fmt.Println(secret)
		fmt.Fprintln(os.Stderr, "This is the only time the key is shown: keep it now.")
		return nil
	})
}

type auditCommand struct {
	stalenessFlag
	Tenant string `help:"Audit one tenant, by its public id."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// errAudit makes the command fail when an invariant is broken; the report has said which.
var errAudit = errors.New("the audit found violations")

// Run checks the live database and fails on any violation.
func (c *auditCommand) Run(ctx context.Context, root *cli) error {
	return root.withApp(ctx, func(ctx context.Context, a *app) error {
		var tenant *tenants.TenantID
		if c.Tenant != "" {
			id, err := ids.ParseGlobal[tenants.TenantKind](c.Tenant)
			if err != nil {
				return fmt.Errorf("--tenant: %w", err)
			}
			tenant = &id
		}
		report, err := a.bookings.Audit(ctx, tenant)
		if err != nil {
			return err
		}
		if c.JSON {
			if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
				return fmt.Errorf("print the report: %w", err)
			}
		} else {
			printAudit(os.Stdout, report)
		}
		if !report.OK {
			return errAudit
		}
		return nil
	}, c.allowStale)
}

func printAudit(out io.Writer, report bookings.AuditReport) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	failed := int64(0)
	for _, check := range report.Checks {
		fmt.Fprintf(table, "%s\t%s\n", check.Name, auditVerdict(check))
		for _, example := range check.Examples {
			fmt.Fprintf(table, "  %s\t\n", example)
		}
		if !check.OK {
			failed++
		}
	}
	// The terminal may be gone; the exit status says the same.
	_ = table.Flush()
	verdict := "every check is ok"
	if failed > 0 {
		verdict = count(failed, "check") + " found violations"
	}
	counted := report.Counted
	fmt.Fprintf(out, "\nLooked at %s, %s, %s and %s: %s.\n", count(counted.Tenants, "tenant"), count(counted.Holds, "hold"),
		count(counted.Bookings, "booking"), count(counted.Payments, "payment"), verdict)
}

// auditVerdict is a check's result in a table.
func auditVerdict(check bookings.AuditCheck) string {
	if check.OK {
		return "ok"
	}
	return count(check.Violations, "violation")
}

// count is a number of things whose plural ends in s.
func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
