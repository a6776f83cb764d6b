package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"riverqueue.com/riverui"

	"github.com/holdfast/holdfast/internal/db"
)

// Inspector is River's web interface: queues and jobs, to be looked at, paused, cancelled and tried
// again. It lets everybody in; whoever mounts it decides who may.
//
// River's interface sends what River's client does, through our driver, and a few statements of its
// own. Of those CockroachDB refuses one, EXPLAIN (FORMAT JSON), which estimates how many jobs there
// are beyond ten thousand in a state: the interface then says "at least". Before 22.1 it cannot sort
// as River asks for lists of jobs (NULLS LAST), and there is a page that says so instead.
type Inspector struct {
	pages http.Handler
}

// NewInspector serves below prefix, such as "/admin/river".
func NewInspector(ctx context.Context, d *db.DB, prefix string, logger *slog.Logger) (*Inspector, error) {
	if err := sortsNulls(ctx, d); err != nil {
		var refused *pgconn.PgError
		if !errors.As(err, &refused) {
			return nil, db.Classify(fmt.Errorf("ask the database how it sorts: %w", err))
		}
		return &Inspector{pages: cannotInspect(d.Version())}, nil
	}
	riverDriver, err := driver(ctx, d)
	if err != nil {
		return nil, err
	}
	return inspectorOver(riverDriver, prefix, logger)
}

// sortsNulls is an error if the server does not know where to put a NULL.
func sortsNulls(ctx context.Context, d *db.DB) error {
	rows, err := d.Pool().Query(ctx, "SELECT tenant_id FROM api_keys WHERE tenant_id IS NULL ORDER BY tenant_id ASC NULLS LAST LIMIT 0")
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

func inspectorOver(riverDriver riverdriver.Driver[pgx.Tx], prefix string, logger *slog.Logger) (*Inspector, error) {
	client, err := river.NewClient(riverDriver, &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("open River for looking at jobs: %w", err)
	}
	// It is not started: that would count all jobs every few seconds, whether somebody looks or not.
	// Then it counts when it is asked, to ten thousand for each state.
	ui, err := riverui.NewHandler(&riverui.HandlerOpts{
		Endpoints: riverui.NewEndpoints(client, nil), Logger: slog.New(quiet{logger.Handler()}), Prefix: prefix,
	})
	if err != nil {
		return nil, fmt.Errorf("set up River's web interface: %w", err)
	}
	return &Inspector{pages: ui}, nil
}

// ServeHTTP serves the pages and what they ask for.
func (i *Inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) { i.pages.ServeHTTP(w, r) }

// cannotInspect says why there is nothing to see.
func cannotInspect(version string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "River's web interface cannot list jobs on "+version+": the server does not know ORDER BY … NULLS LAST, which CockroachDB has since 22.1.\n"+
			"The jobs run all the same. The queries of deploy/runbooks/stuck-queue.md show them.", http.StatusNotImplemented)
	})
}
