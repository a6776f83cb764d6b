package schema

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast/holdfast/internal/db"
)

// MigrateAs is MigrateTo by the driver and the lock of a chosen engine.
func MigrateAs(ctx context.Context, d *db.DB, logger *slog.Logger, version int, engine db.Engine, lockDeadline time.Duration) error {
	return run(ctx, d, logger, version, settings{engine: engine, lockDeadline: lockDeadline})
}

// SessionName is by what a living migrator is known.
const SessionName = sessionName
