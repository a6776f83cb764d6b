package jobs

import (
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// periodicJobs look at state, not at ticks: an occurrence that is lost is made good by the next.
// Each is unique while it waits or runs, so that a slow run is not queued behind itself.
func periodicJobs(config Config) []*river.PeriodicJob {
	return []*river.PeriodicJob{
		periodic("expire_holds", config.SweepInterval, ExpireArgs{}),
		periodic("reconcile_payments", config.ReconcileInterval, ReconcileArgs{}),
		periodic("compare_charges", config.CompareInterval, CompareChargesArgs{}),
	}
}

func periodic(id string, interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval), func() (river.JobArgs, *river.InsertOpts) {
		return args, &river.InsertOpts{
			Queue: queueSweeps, MaxAttempts: 1,
			UniqueOpts: river.UniqueOpts{ByState: unfinished()},
		}
	}, &river.PeriodicJobOpts{ID: id, RunOnStart: true})
}

func unfinished() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
	}
}
