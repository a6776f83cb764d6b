package jobs

import (
	"log/slog"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
)

// InspectorOver is an Inspector with a driver of the test's choice.
func InspectorOver(d riverdriver.Driver[pgx.Tx], prefix string, logger *slog.Logger) (*Inspector, error) {
	return inspectorOver(d, prefix, logger)
}

// CannotInspect is the page of a server that lacks what River's interface needs.
func CannotInspect(version string) http.Handler { return cannotInspect(version) }
