package main

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/holdfast/holdfast/internal/dbtest"
)

// Every third COMMIT of the server has no answer, a wrong one, or never arrives, while buyers buy.
// Each of their requests has its effect once.
func TestAmbiguousCommitsUnderLoad(t *testing.T) {
	t.Parallel()
	target := dbtest.Create(t)
	s := newFaultSite(t, target, 8)
	proxy := dbtest.NewProxy(t, target)
	spoiled := s.open(proxy.URL())
	s.front.leadTo(t, serveHere(t, spoiled).url)
	buyers := s.newBuyers(16)
	s.work(s.app)
	before := proxy.Commits()
	proxy.SpoilCommits(someFaults(10_000)...)
	s.shop(buyers, func(context.Context) error { return nil })
	t.Logf("%d commits", proxy.Commits()-before)
	s.settle()
	s.audit()
}

// someFaults is a random list in which every third commit is spoiled; 0 is none.
func someFaults(n int) []dbtest.CommitFault {
	kinds := []dbtest.CommitFault{dbtest.CommitAnswerLost, dbtest.CommitNeverSent, dbtest.CommitAnswerUnknown, dbtest.CommitConflict}
	faults := make([]dbtest.CommitFault, n)
	for i := range faults {
		if rand.IntN(3) == 0 {
			faults[i] = kinds[rand.IntN(len(kinds))]
		}
	}
	return faults
}
