package jobs

import (
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// periodicJobs look at state, not at ticks: an occurrence that is lost is made good by the next.
// Each is unique while it waits or runs, so that a slow run is not queued behind itself.
func periodicJobs(config Config) []*river.PeriodicJob {
	all := []*river.PeriodicJob{
		periodic("expire_holds", config.SweepInterval, ExpireArgs{}),
		periodic("release_allotments", config.SweepInterval, ReleaseAllotmentsArgs{}),
		periodic("reconcile_payments", config.ReconcileInterval, ReconcileArgs{}),
		periodic("compare_charges", config.CompareInterval, CompareChargesArgs{}),
		periodic("release_blocks", config.BlockInterval, ReleaseBlocksArgs{}),
		periodic("serve_waiting_lists", config.WaitingListInterval, ServeWaitingListsArgs{}),
		periodic("deliver_due", config.DeliverInterval, DeliverDueArgs{}),
		periodic("write_nights", config.NightsInterval, NightsArgs{}),
	}
	if config.ArchiveAfter > 0 {
		all = append(all, periodicIn(queueMaintenance, "archive_shows", config.ArchiveInterval, ArchiveArgs{}))
	}
	if config.AuditInterval > 0 {
		all = append(all, periodicIn(queueAudits, "audit", config.AuditInterval, AuditArgs{}))
	}
	if config.RetentionInterval > 0 {
		all = append(all, periodicIn(queueMaintenance, "retention", config.RetentionInterval, RetentionArgs{}))
	}
	return all
}

func periodic(id string, interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	return periodicIn(queueSweeps, id, interval, args)
}

func periodicIn(queue, id string, interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval), func() (river.JobArgs, *river.InsertOpts) {
		return args, &river.InsertOpts{
			Queue: queue, MaxAttempts: 1,
			UniqueOpts: river.UniqueOpts{ByState: unfinished()},
		}
	}, &river.PeriodicJobOpts{ID: id, RunOnStart: true})
}

func unfinished() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
	}
}
