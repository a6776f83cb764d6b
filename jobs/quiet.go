package jobs

import (
	"context"
	"log/slog"
)

// quiet passes only warnings and errors on: River tells every few seconds how many empty sweeps
// it ran, which hides what a person should read.
type quiet struct{ slog.Handler }

// Enabled refuses everything below a warning.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// WithAttrs keeps the filter.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup keeps the filter.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
