package admission

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast/holdfast/inventory"
)

type metrics struct {
	joins, admissions, refreshes *prometheus.CounterVec
	polls                        prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		joins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_waiting_room_joins_total", Help: "Requests to join a waiting room, by outcome: ok, or the refusal's code.",
		}, []string{"outcome"}),
		admissions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_waiting_room_admissions_total", Help: "Tickets presented for admission, by outcome: ok, or the refusal's code. The rate of ok is how many come in.",
		}, []string{"outcome"}),
		refreshes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_waiting_room_refreshes_total", Help: "Reads of a waiting room from the database, by outcome. About one a second for each room that is asked for.",
		}, []string{"outcome"}),
		polls: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_waiting_room_polls_total", Help: "Reads of a waiting room's public document that this process answered.",
		}),
	}
	for _, collector := range []prometheus.Collector{m.joins, m.admissions, m.refreshes, m.polls} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of waiting rooms: %w", err)
		}
	}
	return m, nil
}

func outcomeOf(err error) string {
	var refusal *inventory.Refusal
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &refusal):
		return strings.ToLower(string(refusal.Code))
	}
	return "failed"
}

// joinRefused and admitted count an answer and pass it on.
func (m *metrics) joinRefused(err error) error {
	m.joins.WithLabelValues(outcomeOf(err)).Inc()
	return err
}

func (m *metrics) admitted(err error) error {
	m.admissions.WithLabelValues(outcomeOf(err)).Inc()
	return err
}

func (m *metrics) refreshed(err error) { m.refreshes.WithLabelValues(outcomeOf(err)).Inc() }
