package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// figures are the metrics of claims as "name labels value", histograms with their count and sum.
func figures(t *testing.T, c *combiner) []string {
	t.Helper()
	registry := prometheus.NewRegistry()
	for _, collector := range (&Service{claims: c}).Metrics() {
		registry.MustRegister(collector)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "holdfast_")
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			switch {
			case m.GetHistogram() != nil:
				all = append(all, fmt.Sprintf("%s %d %g", name, m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()))
			case m.GetGauge() != nil:
				all = append(all, fmt.Sprintf("%s %g", name, m.GetGauge().GetValue()))
			default:
				all = append(all, fmt.Sprintf("%s %g", name, m.GetCounter().GetValue()))
			}
		}
	}
	return all
}

func TestClaimsAreMeasured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, g := newGate(3, 10)
		show := uuid.New()
		var group sync.WaitGroup
		ask := func(ctx context.Context, i int) {
			group.Go(func() { _, _ = c.place(ctx, wishOf(show, fmt.Sprint(i))) })
			synctest.Wait()
		}
		// One is decided at once, three wait, of whom one goes away, and a fifth is told that it is busy.
		gone, leave := context.WithCancelCause(t.Context())
		ask(t.Context(), 0)
		ask(t.Context(), 1)
		ask(gone, 2)
		ask(t.Context(), 3)
		ask(t.Context(), 4)
		if got := figures(t, c); !slices.Contains(got, "claims_waiting 3") || !slices.Contains(got, "claims_busy_total queue 1") {
			t.Errorf("got %v", got)
		}
		leave(errors.New("gone"))
		<-time.After(4 * time.Second)
		for range 2 {
			g.opened <- nil
		}
		group.Wait()
		got := figures(t, c)
		want := []string{"claim_batch_size 2 3", "claim_wait_seconds 3 8", "claims_busy_total queue 1", "claims_waiting 0"}
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}
