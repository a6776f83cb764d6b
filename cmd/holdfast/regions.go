package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/schema"
	"github.com/holdfast/holdfast/schema/regions"
)

type regionsCommand struct {
	Plan  regionsPlanCommand  `cmd:"" help:"Print the statements that apply would run, in order, each with its reason."`
	Apply regionsApplyCommand `cmd:"" help:"Run them step by step. Run again after an interruption, a change of the mapping or a migration."`
}

// regionFlags are the mapping that a CockroachDB database is brought to.
type regionFlags struct {
	Map     string `required:"" env:"HOLDFAST_REGION_MAP" placeholder:"CODE=REGION,…" help:"The cluster region of each region code, such as eu=europe-west1,us=us-east1."`
	Primary string `required:"" env:"HOLDFAST_REGION_PRIMARY" placeholder:"CODE" help:"The code whose cluster region keeps what belongs to no region."`
	Survive string `env:"HOLDFAST_REGION_SURVIVE" default:"zone" enum:"zone,region" help:"What the database goes on working through: the loss of a zone, or of a region, which needs three and makes each write wait for the nearest other one."`
}

func (f regionFlags) mapping() (regions.Mapping, error) {
	return regions.ParseMapping(f.Map, f.Primary, regions.Survival(f.Survive))
}

type regionsPlanCommand struct {
	regionFlags
	Offline     bool   `help:"Plan for a freshly migrated, empty database, without connecting."`
	CockroachDB string `name:"cockroachdb" default:"v25.4" help:"The version of CockroachDB that --offline plans for."`
}

// Run prints a script; it changes nothing.
func (c *regionsPlanCommand) Run(ctx context.Context, root *cli) error {
	desired, err := c.mapping()
	if err != nil {
		return err
	}
	if c.Offline {
		return c.offline(os.Stdout, desired)
	}
	return root.withRegions(ctx, func(server *regions.Server) error {
		present, err := server.Catalog(ctx, desired)
		if err != nil {
			return err
		}
		return printPlan(os.Stdout, desired, present)
	})
}

func (c *regionsPlanCommand) offline(out io.Writer, desired regions.Mapping) error {
	version, err := regions.ParseVersion(c.CockroachDB)
	if err != nil {
		return fmt.Errorf("--cockroachdb: %w", err)
	}
	present, err := regions.EmptyCatalog(desired, databaseName, version)
	if err != nil {
		return err
	}
	return printPlan(out, desired, present)
}

func printPlan(out io.Writer, desired regions.Mapping, present regions.Catalog) error {
	steps, err := regions.Plan(desired, present)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, regions.Script(steps, regions.Remarks(desired, present))); err != nil {
		return fmt.Errorf("print the plan: %w", err)
	}
	return nil
}

type regionsApplyCommand struct {
	regionFlags
}

// errRegionsInterrupted is what an operator needs to know after Ctrl-C.
var errRegionsInterrupted = errors.New("interrupted; CockroachDB may still complete the statement that was running, and the same command continues from there")

// Run prints each step before it begins and how long it took.
func (c *regionsApplyCommand) Run(ctx context.Context, root *cli) error {
	desired, err := c.mapping()
	if err != nil {
		return err
	}
	return root.withRegions(ctx, func(server *regions.Server) error {
		steps := 0
		err := regions.Apply(ctx, server, desired, func(p regions.Progress) {
			steps = p.Total
			if p.Done {
				fmt.Printf("        done in %s\n", p.Took.Round(10*time.Millisecond))
				return
			}
			fmt.Printf("[%d/%d] -- %s\n        %s;\n", p.Number, p.Total, p.Step.Why, p.Step.Statement)
		})
		switch {
		case err != nil && ctx.Err() != nil:
			return errRegionsInterrupted
		case err != nil:
			return err
		case steps == 0:
			fmt.Println("Nothing to do: the database is as the mapping wants it.")
		default:
			fmt.Printf("Applied %d steps; the catalog agrees with the mapping.\n", steps)
		}
		return nil
	})
}

// withRegions opens the configured database, which must be a CockroachDB with the schema of this
// binary.
func (c *cli) withRegions(ctx context.Context, act func(server *regions.Server) error) (err error) {
	if c.DatabaseURL == "" {
		return errors.New("HOLDFAST_DATABASE_URL is not set: regions belong to a CockroachDB cluster that you run; `holdfast regions plan --offline` needs none")
	}
	d, err := db.Open(ctx, db.Config{URL: c.DatabaseURL, MaxConnections: 1})
	if err != nil {
		return err
	}
	defer d.Close()
	server, err := regions.NewServer(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	if err := schema.RequireVersion(ctx, d); err != nil {
		return err
	}
	return act(server)
}
