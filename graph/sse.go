package graph

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/tenants"
)

// mediaEvents is the media type of Server-Sent Events.
const mediaEvents = "text/event-stream"

// eventStream is one subscription over Server-Sent Events, in the distinct connections mode of the
// GraphQL over SSE protocol: an event next for each answer, and an event complete at the end.
type eventStream struct {
	response http.ResponseWriter
	control  *http.ResponseController
	cancel   context.CancelCauseFunc

	mu    sync.Mutex
	begun bool
}

// serveEvents answers a request for a stream.
func (t *transport) serveEvents(w http.ResponseWriter, r *http.Request, actor tenants.Actor, who credentials, executor graphql.GraphExecutor) {
	read := t.readPost
	if r.Method == http.MethodGet {
		read = t.readGet
	}
	params, refused := read(w, r)
	if refused != nil {
		t.answerJSON(w, refused.status, gqlerror.List{refused.err})
		return
	}
	leave, err := t.streams.enter(t.bounds(), t.api.siteOf(r))
	if err != nil {
		t.answerJSON(w, http.StatusServiceUnavailable, gqlerror.List{t.faults.present(r.Context(), err)})
		return
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stream := &eventStream{response: w, control: http.NewResponseController(w), cancel: cancel}
	// The request has been read; the stream may last.
	_ = stream.control.SetReadDeadline(time.Time{})
	ended := make(chan struct{})
	var minding sync.WaitGroup
	minding.Go(func() { t.mind(stream, ended) })
	errs := t.subscribe(ctx, executor, params, actor, who, t.api.siteOf(r), stream)
	close(ended)
	minding.Wait()
	t.metrics.subscriptions.WithLabelValues(t.endOf(ctx, errs)).Inc()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopping):
		errs = gqlerror.List{t.faults.present(r.Context(), errStopping)}
	case errors.Is(cause, errSlow):
		errs = gqlerror.List{failure(codeSlowConsumer, slowConsumer)}
	}
	if !stream.begun && len(errs) > 0 {
		// Nothing was sent yet, so the error can be an ordinary answer.
		t.answerJSON(w, http.StatusOK, errs)
		return
	}
	if len(errs) > 0 {
		stream.event("next", encode(&graphql.Response{Errors: errs}))
	}
	stream.event("complete", nil)
}

func (t *transport) answerJSON(w http.ResponseWriter, status int, errs gqlerror.List) {
	w.Header().Set("Content-Type", mediaJSON+"; charset=utf-8")
	write(w, status, &graphql.Response{Errors: errs})
}

// mind keeps a stream alive and ends it when the server stops.
func (t *transport) mind(stream *eventStream, ended <-chan struct{}) {
	ping := time.NewTicker(pingInterval)
	defer ping.Stop()
	for {
		select {
		case <-ping.C:
			stream.comment()
		case <-t.streams.stopping:
			stream.cancel(errStopping)
			return
		case <-ended:
			return
		}
	}
}

func (s *eventStream) next(response *graphql.Response) bool {
	return s.event("next", encode(response))
}

func (s *eventStream) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.write([]byte(":\n\n"))
	}
}

// event writes one event; what is JSON has no line breaks of its own.
func (s *eventStream) event(name string, data []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		header := s.response.Header()
		header.Set("Content-Type", mediaEvents)
		header.Set("Cache-Control", "no-store")
		header.Set("X-Accel-Buffering", "no")
		s.response.WriteHeader(http.StatusOK)
	}
	message := make([]byte, 0, len(name)+len(data)+len("event: \ndata: \n\n"))
	message = append(append(append(message, "event: "...), name...), "\ndata: "...)
	message = append(append(message, data...), "\n\n"...)
	return s.write(message)
}

// write gives a client its time to read; the mutex is held.
func (s *eventStream) write(message []byte) bool {
	began := time.Now()
	if err := s.control.SetWriteDeadline(began.Add(writeLimit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.cancel(err)
		return false
	}
	_, err := s.response.Write(message)
	if err == nil {
		err = s.control.Flush()
	}
	switch {
	case err != nil:
		s.cancel(err)
	case time.Since(began) > slowWrite:
		s.cancel(errSlow)
	default:
		return true
	}
	return false
}
