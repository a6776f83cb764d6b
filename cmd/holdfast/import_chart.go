package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/tenants"
)

type importChartCommand struct {
	keyFlag
	File  string `arg:"" help:"A seating plan in the pretix format: JSON, also compressed by gzip."`
	Venue string `required:"" help:"The venue that the chart is for, by its public id."`
}

// Run reads the plan before it looks for a database: a malformed plan needs none.
func (c *importChartCommand) Run(ctx context.Context, root *cli) error {
	venue, err := ids.Parse[tenants.VenueKind](c.Venue)
	if err != nil {
		return fmt.Errorf("--venue: %w", err)
	}
	chart, digest, err := readChart(c.File)
	if err != nil {
		return err
	}
	return root.withApp(ctx, func(ctx context.Context, a *app) error {
		actor, err := c.actor(ctx, a)
		if err != nil {
			return err
		}
		id, err := a.importChart(ctx, actor, venue, chart, digest)
		if err != nil {
			return err
		}
		printChart(os.Stdout, id, venue, chart)
		return nil
	})
}

// readChart reads a seating plan. What is wrong with it is told problem by problem, each with its
// line and field.
func readChart(path string) (chart *charts.Chart, digest string, err error) {
	content, digest, err := readImport(path)
	if err != nil {
		return nil, "", err
	}
	chart, err = charts.ParsePretix(bytes.NewReader(content))
	var malformed *charts.ProblemsError
	switch {
	case errors.As(err, &malformed):
		text := "the seating plan has problems; nothing was stored"
		for _, problem := range malformed.Problems {
			text += "\n" + path + ": " + problem.String()
		}
		if malformed.Truncated {
			text += fmt.Sprintf("\nand more: only the first %d problems are listed", len(malformed.Problems))
		}
		return nil, "", errors.New(text)
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return chart, digest, nil
}

// importChart stores a chart. The same file, venue and key give the same chart again.
func (a *app) importChart(ctx context.Context, actor tenants.Actor, venue tenants.VenueID, chart *charts.Chart, digest string) (inventory.ChartID, error) {
	return a.inventory.ImportChart(ctx, actor, "import-chart/"+venue.String()+"/"+digest, venue, chart)
}

func printChart(out io.Writer, id inventory.ChartID, venue tenants.VenueID, chart *charts.Chart) {
	seats := map[string]int{}
	for place := range chart.Seats() {
		seats[place.Seat.Category]++
	}
	rows := 0
	for _, zone := range chart.Zones {
		rows += len(zone.Rows)
	}
	fmt.Fprintf(out, "%s\n%s: %d seats in %d rows and %d zones\n", id, chart.Name, chart.SeatCount(), rows, len(chart.Zones))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CATEGORY\tSEATS")
	for _, category := range chart.Categories {
		fmt.Fprintf(table, "%s\t%d\n", category.Name, seats[category.Name])
	}
	for _, pool := range chart.Pools() {
		fmt.Fprintf(table, "%s\tno seats: a pool\n", pool)
	}
	// The terminal may be gone; the chart is stored all the same.
	_ = table.Flush()
	fmt.Fprintf(out, "\nTo sell these seats, call createEvent with venue: %q, then createShow with that event,\nchart: %q and a price for every category.\n", venue, id)
}
