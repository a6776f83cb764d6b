package main

import (
	"time"

	"github.com/holdfast/holdfast/jobs"
)

// workFlags say what background work a process does, if it does any. Whoever leads the workers
// starts the periodic jobs, so they should be the same in all of them.
type workFlags struct {
	ArchiveAfter time.Duration `env:"HOLDFAST_ARCHIVE_AFTER" default:"168h" help:"How long after its end the stock of a show leaves the tables that are sold from; 0 is never."`
}

func (f workFlags) config() jobs.Config {
	return jobs.Config{ArchiveAfter: f.ArchiveAfter}
}

// validate finds out before anything is opened.
func (f workFlags) validate() error { return f.config().Validate() }

// developmentWork is what `dev` does: everything, as a server of its own would.
func developmentWork() workFlags {
	return workFlags{ArchiveAfter: 7 * 24 * time.Hour}
}
