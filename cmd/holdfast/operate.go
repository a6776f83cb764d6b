package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/schema"
	"github.com/holdfast/holdfast/tenants"
)

type migrateCommand struct {
	To string `arg:"" optional:"" default:"up" help:"\"up\" for the latest version, or a version number; 0 empties the database."`
}

// Run migrates the configured database, or that of --data-dir.
func (c *migrateCommand) Run(ctx context.Context, root *cli) (err error) {
	logger := root.logger()
	s, err := openStore(ctx, root.DatabaseURL, root.DataDir, os.Stderr, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if c.To == "up" {
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
	version, err := strconv.Atoi(c.To)
	if err != nil || version < 0 {
		return fmt.Errorf("migrate: expected \"up\" or a version number, got %q", c.To)
	}
	if err := schema.MigrateTo(ctx, s.db, logger, version); err != nil {
		return err
	}
	fmt.Printf("The schema is version %d on %s.\n", version, s.db.Version())
	return jobs.Migrate(ctx, s.db)
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
		return nil
	})
}

type auditCommand struct {
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
			printAudit(report)
		}
		if !report.OK {
			return errAudit
		}
		return nil
	})
}

func printAudit(report bookings.AuditReport) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, check := range report.Checks {
		verdict := "ok"
		if !check.OK {
			verdict = fmt.Sprintf("%d violations", check.Violations)
		}
		fmt.Fprintf(table, "%s\t%s\n", check.Name, verdict)
		for _, example := range check.Examples {
			fmt.Fprintf(table, "  %s\t\n", example)
		}
	}
	// The terminal may be gone; the exit status says the same.
	_ = table.Flush()
}
