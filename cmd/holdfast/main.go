// Command holdfast is the whole product in one binary: the development server, the API server, the
// workers, migrations, imports, the demo, the audit, the chaos run and the benchmarks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // time zones must not depend on what the machine has installed

	"github.com/alecthomas/kong"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/fault"
)

// cli is the command line. Environment variables stand beside the flags they set.
type cli struct {
	DatabaseURL string `name:"database-url" env:"HOLDFAST_DATABASE_URL" help:"A postgres:// URL of CockroachDB or PostgreSQL. serve, work and regions need it. Without it dev and migrate find or start an engine in --data-dir, audit, import, key and reconcile use the one whose data is there, and demo, bench and chaos start one that is thrown away."`
	DataDir     string `name:"data-dir" env:"HOLDFAST_DATA_DIR" default:".holdfast" help:"Where the engine that Holdfast starts keeps its data, and dev its keys; not used with serve, work, regions, demo, bench and chaos."`
	LogLevel    string `name:"log-level" env:"HOLDFAST_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"The least severe log entry to write: debug, info, warn or error."`

	Dev       devCommand       `cmd:"" help:"Start everything for development: engine, sample data, API with explorer, workers, sandbox payment provider."`
	Serve     serveCommand     `cmd:"" help:"Serve the API."`
	Work      workCommand      `cmd:"" help:"Run the background workers."`
	Migrate   migrateCommand   `cmd:"" help:"Bring the database schema up to date, or up or down to a version."`
	Regions   regionsCommand   `cmd:"" help:"Place the rows of each region on a multi-region CockroachDB."`
	Key       keyCommand       `cmd:"" help:"Make API keys."`
	Import    importCommand    `cmd:"" help:"Import seating plans, hotel nights and booking histories."`
	Audit     auditCommand     `cmd:"" help:"Check the invariants of stock and money in the live database."`
	Reconcile reconcileCommand `cmd:"" help:"Compare payments with what their providers say, and repair what can be decided."`
	Demo      demoCommand      `cmd:"" help:"Play the scenarios on a throw-away database and show what happened."`
	Bench     benchCommand     `cmd:"" help:"Measure holds per second, latency and memory."`
	Oversell  oversellCommand  `cmd:"" help:"Tell from past bookings what advice on overbooking is worth."`
	Chaos     chaosCommand     `cmd:"" help:"Sell while servers and workers are killed and the payment provider fails, on a throw-away database, and check that nothing went astray."`
	Version   versionCommand   `cmd:"" help:"Print the version."`

	// tuneSales changes the saga of serve and work. Failure tests kill the process there; no flag or
	// variable reaches it.
	tuneSales func(*bookings.Config)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run is main without the exit: 0 is success, 1 a failure, 2 a command line that cannot be used.
func run(ctx context.Context, args []string) int { return (&cli{}).run(ctx, args) }

func (c *cli) run(ctx context.Context, args []string) int {
	parser, err := kong.New(c, kong.Name("holdfast"), kong.UsageOnError(), kong.Vars(limitDefaults()), kong.Vars{"benchScenarios": strings.Join(benchScenarioNames(), ", ")},
		kong.Description("Hotel and ticket inventory that never sells a unit twice."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		return 2
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		return 2
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(c); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", explain(err))
		return 1
	}
	return 0
}

// explain is an error for a person at a terminal. The driver tells each way in which it tried to
// connect, with and without TLS, which are often the same words.
func explain(err error) string {
	text := strings.Join(slices.Compact(strings.Split(err.Error(), "\n")), "\n")
	if fault.KindOf(err) == fault.KindUnavailable {
		return text + " (is the database running?)"
	}
	return text
}

func (c *cli) logger() *slog.Logger {
	var level slog.Level
	// The flag's enum allows only levels that parse.
	_ = level.UnmarshalText([]byte(c.LogLevel))
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

type versionCommand struct{}

// Run prints the module version and the commit that the binary was built from.
func (versionCommand) Run() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this binary carries no build information")
	}
	revision := ""
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = " " + setting.Value
		}
	}
	fmt.Printf("holdfast %s%s %s\n", info.Main.Version, revision, info.GoVersion)
	return nil
}
