package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
)

// unsure are the faults after which nobody can know whether the commit took place.
func unsure() map[string]dbtest.CommitFault {
	return map[string]dbtest.CommitFault{
		"answer lost":  dbtest.CommitAnswerLost,
		"answer 40003": dbtest.CommitAnswerUnknown,
	}
}

func TestInTxSaysWhenTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	for name, spoil := range unsure() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, proxy := behindProxy(t)
			c := newCounter(t)
			proxy.SpoilCommits(spoil)
			held, err := db.InTx(t.Context(), d, "test.unsure", c.add)
			if !errors.Is(err, db.ErrOutcomeUnknown) || held != 0 {
				t.Errorf("result %d, error %v; want ErrOutcomeUnknown and no result", held, err)
			}
			if n := proxy.Commits(); n != 1 {
				t.Errorf("%d commits were sent, want 1: InTx must not run again by itself", n)
			}
			// The fault came after the server had committed.
			c.want(t, 1)
		})
	}
}

// place is a command as all commands are: claim the request key, act, give the result's id.
func place(c counter) func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
	// Chosen once for all runs.
	id := uuid.New()
	return func(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
		earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: c.tenant, Region: "eu", Scope: "place/GUEST/" + c.tenant.String(), Key: "key-1",
		}, []byte("fingerprint"), id)
		if err != nil || replayed {
			return earlier, err
		}
		_, err = c.add(ctx, tx)
		return id, err
	}
}

func TestReplayableHasItsEffectExactlyOnce(t *testing.T) {
	t.Parallel()
	cases := map[string][]dbtest.CommitFault{
		"answer lost":                         {dbtest.CommitAnswerLost},
		"answer 40003":                        {dbtest.CommitAnswerUnknown},
		"lost twice":                          {dbtest.CommitAnswerLost, dbtest.CommitAnswerLost},
		"never sent":                          {dbtest.CommitNeverSent},
		"conflict, then lost, then conflict":  {dbtest.CommitConflict, dbtest.CommitAnswerLost, dbtest.CommitConflict},
		"never sent, then lost, then unknown": {dbtest.CommitNeverSent, dbtest.CommitAnswerLost, dbtest.CommitAnswerUnknown},
	}
	for name, faults := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, proxy := behindProxy(t)
			c := newCounter(t)
			proxy.SpoilCommits(faults...)
			first, err := db.Replayable(t.Context(), d, "test.place", place(c))
			if err != nil {
				t.Fatalf("Replayable: %v", err)
			}
			c.want(t, 1)
			again, err := db.Replayable(t.Context(), d, "test.place", place(c))
			if err != nil || again != first {
				t.Errorf("the client's retry got %v, %v; want the first result %v", again, err, first)
			}
			c.want(t, 1)
		})
	}
}

func TestReplayableGivesUpAsUnavailable(t *testing.T) {
	t.Parallel()
	d, proxy := behindProxy(t)
	c := newCounter(t)
	for range 10 {
		proxy.SpoilCommits(dbtest.CommitAnswerLost)
	}
	_, err := db.Replayable(t.Context(), d, "test.place", place(c))
	if fault.KindOf(err) != fault.KindUnavailable || !errors.Is(err, db.ErrOutcomeUnknown) {
		t.Errorf("error %v (%v), want unavailable because of ErrOutcomeUnknown", err, fault.KindOf(err))
	}
	if n := proxy.Commits(); n < 2 || n > 9 {
		t.Errorf("%d commits were sent, want a few", n)
	}
	c.want(t, 1)
}

func TestInTxRunsAgainWhenTheConnectionIsLostBeforeCommit(t *testing.T) {
	t.Parallel()
	t.Run("at the commit, before it is sent", func(t *testing.T) {
		t.Parallel()
		d, proxy := behindProxy(t)
		c := newCounter(t)
		proxy.SpoilCommits(dbtest.CommitNeverSent)
		// A connection that breaks while COMMIT is on its way cannot be told from one that breaks
		// after it: only Replayable may run again.
		_, err := db.InTx(t.Context(), d, "test.cutAtCommit", c.add)
		if !errors.Is(err, db.ErrOutcomeUnknown) {
			t.Errorf("error %v, want ErrOutcomeUnknown", err)
		}
		c.want(t, 0)
	})
	t.Run("in the middle", func(t *testing.T) {
		t.Parallel()
		d, proxy := behindProxy(t)
		c := newCounter(t)
		runs := 0
		held, err := db.InTx(t.Context(), d, "test.cutInTheMiddle", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			runs++
			if _, err := c.read(ctx, tx); err != nil {
				return 0, err
			}
			if runs < 3 {
				proxy.Cut()
			}
			return c.add(ctx, tx)
		})
		if err != nil || held != 1 || runs != 3 {
			t.Errorf("result %d after %d runs, error %v; want 1 after 3", held, runs, err)
		}
		c.want(t, 1)
	})
}

func TestDatabaseGone(t *testing.T) {
	t.Parallel()
	d, proxy := behindProxy(t)
	c := newCounter(t)
	proxy.Stop()
	calls := map[string]func() error{
		"InTx":       func() error { _, err := db.InTx(t.Context(), d, "test.gone", c.add); return err },
		"Replayable": func() error { _, err := db.Replayable(t.Context(), d, "test.gone", place(c)); return err },
		"InSnapshot": func() error { _, err := db.InSnapshot(t.Context(), d, c.add); return err },
		"Ping":       func() error { return d.Ping(t.Context()) },
		"Pool":       func() error { _, err := c.read(t.Context(), d.Pool()); return db.Classify(err) },
	}
	for name, call := range calls {
		err := call()
		if fault.KindOf(err) != fault.KindUnavailable {
			t.Errorf("%s: %v (%v), want unavailable", name, err, fault.KindOf(err))
			continue
		}
		if text := err.Error(); text != "the database is not available at this moment; try again" {
			t.Errorf("%s: the caller reads %q", name, text)
		}
		if errors.Is(err, db.ErrOutcomeUnknown) {
			t.Errorf("%s: nothing was sent, so nothing is unknown", name)
		}
	}
	c.want(t, 0)
}

func TestTransactionsAreMeasuredByNameAndOutcome(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	proxy := dbtest.NewProxy(t, dbtest.URL(t))
	d := open(t, db.Config{URL: proxy.URL(), MaxConnections: 4, Metrics: registry})
	c := newCounter(t)

	if _, err := db.InTx(t.Context(), d, "test.ok", c.add); err != nil {
		t.Fatal(err)
	}
	proxy.SpoilCommits(dbtest.CommitConflict)
	if _, err := db.InTx(t.Context(), d, "test.restarted", c.add); err != nil {
		t.Fatal(err)
	}
	_, _ = db.InTx(t.Context(), d, "test.refused", void(func(context.Context, pgx.Tx) error { return errors.New("sold out") }))
	proxy.SpoilCommits(dbtest.CommitAnswerLost)
	_, _ = db.InTx(t.Context(), d, "test.unknown", c.add)
	runs := 0
	_, _ = db.InTx(t.Context(), db.WithLimits(d, 2, patience), "test.contention", overtake(d, c, &runs))
	proxy.Stop()
	_, _ = db.InTx(t.Context(), d, "test.unavailable", c.add)

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := make([]string, 0, 2)
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			histogram := metric.GetHistogram()
			sum := ""
			if strings.HasSuffix(family.GetName(), "attempts") {
				sum = fmt.Sprintf(" sum %v", histogram.GetSampleSum())
			}
			got[fmt.Sprintf("%s %v count %d%s", family.GetName(), labels, histogram.GetSampleCount(), sum)] = true
		}
	}
	for _, want := range []string{
		"holdfast_transaction_seconds [ok test.ok] count 1",
		"holdfast_transaction_seconds [ok test.restarted] count 1",
		"holdfast_transaction_seconds [refused test.refused] count 1",
		"holdfast_transaction_seconds [unknown test.unknown] count 1",
		"holdfast_transaction_seconds [contention test.contention] count 1",
		"holdfast_transaction_seconds [unavailable test.unavailable] count 1",
		"holdfast_transaction_attempts [test.ok] count 1 sum 1",
		"holdfast_transaction_attempts [test.restarted] count 1 sum 2",
		"holdfast_transaction_attempts [test.unavailable] count 1 sum 0",
	} {
		if !got[want] {
			t.Errorf("no metric %q in %v", want, got)
		}
	}
}
