package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast/holdfast/waitlist"
)

// WaitingLists is what serves those who wait.
type WaitingLists interface {
	ServeDue(ctx context.Context, limit int) (offered int, err error)
}

var _ WaitingLists = (*waitlist.Service)(nil)

// ServeWaitingListsArgs offers what is free to those who wait for it.
type ServeWaitingListsArgs struct{}

// Kind names the job in River's table.
func (ServeWaitingListsArgs) Kind() string { return "serve_waiting_lists" }

// waitingListsWorker serves waiting lists. An offer is a hold like any other, so nothing waits for its end.
type waitingListsWorker struct {
	river.WorkerDefaults[ServeWaitingListsArgs]
	lists WaitingLists
}

// Work looks at a bounded number of lists; what is left is the next run's.
func (w *waitingListsWorker) Work(ctx context.Context, _ *river.Job[ServeWaitingListsArgs]) error {
	_, err := w.lists.ServeDue(ctx, listsLimit)
	return err
}
