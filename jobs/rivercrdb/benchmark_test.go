package rivercrdb_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
)

// BenchmarkInsertMany inserts 1,000 jobs an iteration, in one statement.
func BenchmarkInsertMany(b *testing.B) {
	const jobs = 1000
	params := make([]river.InsertManyParams, jobs)
	for i := range params {
		params[i] = river.InsertManyParams{Args: taskArgs{Name: fmt.Sprint(i)}}
	}
	for _, s := range systems(b) {
		b.Run(s.name, func(b *testing.B) {
			bench := newBench(b, s)
			client := bench.inserter(b)
			for b.Loop() {
				if _, err := client.InsertMany(bench.ctx, params); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(jobs*b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// BenchmarkWork works 2,000 empty jobs an iteration with one client: the time from the first fetch
// to the last job's completion in the database.
func BenchmarkWork(b *testing.B) {
	const jobs = 2000
	for _, s := range systems(b) {
		b.Run(s.name, func(b *testing.B) {
			bench := newBench(b, s)
			params := make([]river.InsertManyParams, jobs)
			for i := range params {
				params[i] = river.InsertManyParams{Args: taskArgs{Name: fmt.Sprint(i)}}
			}
			var elapsed time.Duration
			for b.Loop() {
				if _, err := bench.inserter(b).InsertMany(bench.ctx, params); err != nil {
					b.Fatal(err)
				}
				var worked atomic.Int64
				done := make(chan struct{})
				begin := time.Now()
				client := bench.start(b, func(context.Context, *river.Job[taskArgs]) error {
					if worked.Add(1) == jobs {
						close(done)
					}
					return nil
				}, func(c *river.Config) {
					c.FetchCooldown = 10 * time.Millisecond
					c.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: 500}
				})
				awaitSignal(b, "the last job", done)
				// Stop returns when the completer has written what is done.
				stop(b, client)
				elapsed += time.Since(begin)
			}
			b.ReportMetric(float64(jobs*b.N)/elapsed.Seconds(), "jobs/s")
		})
	}
}
