package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

type reconcileCommand struct {
	providerFlags
	Since    string `required:"" placeholder:"WHEN" help:"From when on: a time such as 2026-11-30T00:00:00Z, or how long ago, such as 24h or 7d."`
	Until    string `placeholder:"WHEN" help:"Until when, in the same forms; by default until now."`
	Tenant   string `help:"Look at one tenant, by its public id."`
	Provider string `help:"Look at one payment provider, such as sandbox or stripe; with --csv, whose charges they are."`
	Account  string `help:"The account of the charges in --csv, where the file does not say it."`
	CSV      string `name:"csv" placeholder:"FILE" help:"Compare the charges of this file in place of the provider's own list: Stripe's export of payments, or the columns of the sandbox; - reads standard input."`
	DryRun   bool   `help:"Change nothing, and say what would be done."`
	JSON     bool   `name:"json" help:"Print one JSON object."`
}

// errReconcile makes the command fail when something is left for a person; the report has said what.
var errReconcile = errors.New("something is left for a person")

// reconcileOutput is what the command prints.
type reconcileOutput struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	bookings.RangeReport
	// BadRows are rows of the file that could not be read, with line and column.
	BadRows []string `json:"badRows"`
	// MoreBadRows is how many further ones there are.
	MoreBadRows int  `json:"moreBadRows"`
	OK          bool `json:"ok"`
}

// Run reconciles what was begun in a time, and fails when something is left for a person.
func (c *reconcileCommand) Run(ctx context.Context, root *cli) error {
	gateways, err := c.gateways()
	if err != nil {
		return err
	}
	return root.withProviders(ctx, gateways, func(ctx context.Context, a *app) error {
		output, err := c.reconcile(ctx, a, os.Stdin, os.Stderr)
		if err != nil {
			return err
		}
		if c.JSON {
			if err := json.NewEncoder(os.Stdout).Encode(output); err != nil {
				return fmt.Errorf("print the report: %w", err)
			}
		} else {
			printReconcile(os.Stdout, output)
		}
		if !output.OK {
			return errReconcile
		}
		return nil
	})
}

func (c *reconcileCommand) reconcile(ctx context.Context, a *app, stdin io.Reader, progress io.Writer) (reconcileOutput, error) {
	var output reconcileOutput
	input, err := c.input(time.Now())
	if err != nil {
		return output, err
	}
	bad := problems{file: c.CSV}
	if c.CSV != "" {
		account, err := c.account(ctx, a, input.Tenant)
		if err != nil {
			return output, err
		}
		source, err := c.open(stdin)
		if err != nil {
			return output, err
		}
		defer source.Close()
		rows, err := readCharges(bufio.NewReaderSize(source, 64<<10), account, &bad)
		if err != nil {
			return output, err
		}
		input.Charges = rows
	}
	input.Progress = func(r bookings.RangeReport) {
		fmt.Fprintf(progress, "… %s, %s and %s so far, %s\n", count(r.Attempts, "open payment"), count(r.Refunds, "open refund"), count(r.Charges, "charge"), count(r.Disputed, "difference"))
	}
	report, err := a.bookings.ReconcileRange(ctx, input)
	if err != nil {
		return output, err
	}
	output = reconcileOutput{Since: input.Since, Until: input.Until, RangeReport: report, BadRows: bad.lines, MoreBadRows: bad.more}
	if output.BadRows == nil {
		output.BadRows = []string{}
	}
	output.OK = report.Disputed == 0 && report.Unreachable == 0 && len(report.NotAsked) == 0 && len(bad.lines) == 0
	return output, nil
}

// input reads the flags.
func (c *reconcileCommand) input(now time.Time) (bookings.Range, error) {
	input := bookings.Range{Provider: c.Provider, DryRun: c.DryRun, Until: now}
	var err error
	if input.Since, err = instantOf(c.Since, now); err != nil {
		return input, fmt.Errorf("--since: %w", err)
	}
	if c.Until != "" {
		if input.Until, err = instantOf(c.Until, now); err != nil {
			return input, fmt.Errorf("--until: %w", err)
		}
	}
	if !input.Since.Before(input.Until) {
		return input, fmt.Errorf("--until: expected a time after --since, %s", input.Since.Format(time.RFC3339))
	}
	if c.Tenant != "" {
		if input.Tenant, err = ids.ParseGlobal[tenants.TenantKind](c.Tenant); err != nil {
			return input, fmt.Errorf("--tenant: %w", err)
		}
	}
	if c.CSV != "" && c.Provider == "" {
		return input, errors.New("--provider: say whose charges the file has, such as stripe")
	}
	if c.CSV == "" && c.Account != "" {
		return input, errors.New("--account: it is about the charges of a file; say which with --csv")
	}
	return input, nil
}

// maxDaysAgo bounds what is asked for in days: a hundred years.
const maxDaysAgo = 36_500

// instantOf reads a time, or how long before now it is. A day is 24 hours.
func instantOf(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		if n, err := strconv.ParseUint(days, 10, 32); err == nil && n <= maxDaysAgo {
			return now.Add(-time.Duration(n) * 24 * time.Hour), nil //nolint:gosec // it is bounded above
		}
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("expected a time such as 2026-11-30T00:00:00Z or a duration such as 24h or 7d, got %.40q", text)
	}
	return now.Add(-ago), nil
}

// account is what the rows of a file are about that name none: the flag, or the tenant's own.
func (c *reconcileCommand) account(ctx context.Context, a *app, tenant tenants.TenantID) (string, error) {
	if c.Account != "" || tenant.IsZero() {
		return c.Account, nil
	}
	account, err := a.bookings.PaymentAccount(ctx, tenant, c.Provider)
	if err != nil {
		return "", fmt.Errorf("--tenant: %w", err)
	}
	return account, nil
}

func (c *reconcileCommand) open(stdin io.Reader) (io.ReadCloser, error) {
	if c.CSV == "-" {
		return io.NopCloser(stdin), nil
	}
	file, err := os.Open(c.CSV)
	if err != nil {
		return nil, fmt.Errorf("--csv: %w", err)
	}
	return file, nil
}

func printReconcile(out io.Writer, o reconcileOutput) {
	fmt.Fprintf(out, "From %s until %s: %s, %s and %s.\n", o.Since.UTC().Format(time.RFC3339), o.Until.UTC().Format(time.RFC3339),
		count(o.Attempts, "open payment"), count(o.Refunds, "open refund"), count(o.Charges, "charge"))
	fmt.Fprintf(out, "Asked: %s.\n\n", cmp.Or(strings.Join(o.Asked, ", "), "nobody, the file speaks for its provider"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	heading := "repaired"
	if o.DryRun {
		heading = "would be repaired"
	}
	fmt.Fprintf(table, "%s\t\t\n", heading)
	for _, kind := range bookings.RepairKinds() {
		fmt.Fprintf(table, "  %s\t%d\t%s\n", kind, o.Repaired[kind], kind.Meaning())
	}
	fmt.Fprintf(table, "still open\t%d\tthe provider has not decided; asked again by itself\n", o.Waiting)
	fmt.Fprintf(table, "no answer\t%d\tthe provider could not be asked\n", o.Unreachable)
	// The terminal may be gone; the exit status says the same.
	_ = table.Flush()
	for _, p := range o.NotAsked {
		fmt.Fprintf(out, "not asked: %s of %q, %d of them open: it is not configured here, see the variables in `holdfast reconcile --help`\n", count(p.Payments, "payment"), p.Provider, p.Open)
	}
	for _, d := range o.Differences {
		fmt.Fprintln(out, differenceLine(d))
	}
	if hidden := o.Disputed - int64(len(o.Differences)); hidden > 0 {
		fmt.Fprintf(out, "and %s more\n", count(hidden, "difference"))
	}
	for _, row := range o.BadRows {
		fmt.Fprintln(out, row)
	}
	if o.MoreBadRows > 0 {
		fmt.Fprintf(out, "and %s more\n", count(int64(o.MoreBadRows), "bad row"))
	}
	if o.OK {
		fmt.Fprintln(out, "\nNothing is left for a person.")
		return
	}
	fmt.Fprintf(out, "\nLeft for a person: %s, %s, %s not asked.\n", count(o.Disputed, "difference"), count(int64(len(o.BadRows)+o.MoreBadRows), "bad row"), count(int64(len(o.NotAsked)), "provider"))
}

func differenceLine(d bookings.ReportDifference) string {
	line := string(d.Reason)
	if d.Line > 0 {
		line += fmt.Sprintf(" (line %d)", d.Line)
	}
	for _, part := range []struct{ name, value string }{
		{"tenant", d.Tenant},
		{"payment", d.Attempt},
		{"booking", d.Booking},
		{"charge", d.Charge},
		{"account", d.Account},
		{"provider says", d.Theirs},
		{"we say", d.Ours},
	} {
		if part.value != "" {
			line += ", " + part.name + " " + part.value
		}
	}
	return line
}
