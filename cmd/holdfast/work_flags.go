package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/schema/regions"
)

// workFlags say what background work a process does, if it does any. Whoever leads the workers
// starts the periodic jobs, so the intervals should be the same in all of them.
type workFlags struct {
	Queues             []string      `env:"HOLDFAST_QUEUES" placeholder:"QUEUE,…" help:"The queues to work, some of payments, sweeps, events, deliveries, audits and maintenance; all by default. Each queue needs a process that works it."`
	PaymentWorkers     int           `env:"HOLDFAST_PAYMENT_WORKERS" default:"16" help:"How many jobs of the queue payments run at once in this process."`
	SweepWorkers       int           `env:"HOLDFAST_SWEEP_WORKERS" default:"5" help:"The same of the queue sweeps."`
	EventWorkers       int           `env:"HOLDFAST_EVENT_WORKERS" default:"8" help:"The same of the queue events."`
	DeliveryWorkers    int           `env:"HOLDFAST_DELIVERY_WORKERS" default:"32" help:"The same of the queue deliveries."`
	ArchiveAfter       time.Duration `env:"HOLDFAST_ARCHIVE_AFTER" default:"168h" help:"How long after its end the stock of a show leaves the tables that are sold from; 0 is never."`
	AuditInterval      time.Duration `env:"HOLDFAST_AUDIT_INTERVAL" default:"15m" help:"How often the invariants are checked; 0 is never."`
	RetentionInterval  time.Duration `env:"HOLDFAST_RETENTION_INTERVAL" default:"1h" help:"How often old rows are deleted; 0 is never."`
	KeepRequests       time.Duration `env:"HOLDFAST_KEEP_REQUESTS" default:"72h" help:"For how long a request key answers again; at least 24h."`
	KeepSessions       time.Duration `env:"HOLDFAST_KEEP_SESSIONS" default:"24h" help:"For how long an expired session of a guest is kept."`
	KeepProviderEvents time.Duration `env:"HOLDFAST_KEEP_PROVIDER_EVENTS" default:"2160h" help:"For how long a payment provider's event that was dealt with is kept; at least 168h."`
	KeepEvents         time.Duration `env:"HOLDFAST_KEEP_EVENTS" default:"720h" help:"For how long events can be read and replayed; at least 96h."`
}

func (f workFlags) config() jobs.Config {
	return jobs.Config{
		Queues: f.Queues, PaymentWorkers: f.PaymentWorkers, SweepWorkers: f.SweepWorkers, EventWorkers: f.EventWorkers, DeliveryWorkers: f.DeliveryWorkers,
		ArchiveAfter: f.ArchiveAfter, AuditInterval: f.AuditInterval, RetentionInterval: f.RetentionInterval,
		Retention: bookings.Retention{
			Requests: f.KeepRequests, Sessions: f.KeepSessions, ProviderEvents: f.KeepProviderEvents, Events: f.KeepEvents,
		},
	}
}

// validate finds out before anything is opened.
func (f workFlags) validate() error { return f.config().Validate() }

// developmentWork is what `dev` does: everything, as often as a server of its own would.
func developmentWork() workFlags {
	return workFlags{ArchiveAfter: 7 * 24 * time.Hour, AuditInterval: 15 * time.Minute, RetentionInterval: time.Hour}
}

// regionMapFlag is where the cluster keeps the rows of each region code, as `regions apply` was told.
type regionMapFlag struct {
	RegionMap string `env:"HOLDFAST_REGION_MAP" placeholder:"CODE=REGION,…" help:"The mapping that regions apply was given. Tenants, hotels and venues can then be in these regions only."`
}

// regions are the codes that tenants may use; none are all.
func (f regionMapFlag) regions() ([]ids.Region, error) {
	if f.RegionMap == "" {
		return nil, nil
	}
	homes, err := regions.ParseHomes(f.RegionMap)
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_REGION_MAP: %w", err)
	}
	return slices.Sorted(maps.Keys(homes)), nil
}
