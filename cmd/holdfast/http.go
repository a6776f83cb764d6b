package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/holdfast/holdfast/graph"
	"github.com/holdfast/holdfast/graph/explorer"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ratelimit"
	"github.com/holdfast/holdfast/schema"
)

// Limits of the HTTP server.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	maxWebhookBytes   = 256 << 10
	readyTimeout      = 2 * time.Second
	drainTimeout      = 20 * time.Second
)

// httpOptions is what of the API a process shows.
type httpOptions struct {
	introspection bool
	// explorer is the explorer's configuration; nil leaves it out.
	explorer *explorer.Config
	// admin is the admin pages; nil leaves them out.
	admin http.Handler
	// rateLimits bound callers; nil is not at all. lanes bound what runs at once; zero is the defaults.
	rateLimits *graph.RateLimits
	// addresses tell where requests come from.
	addresses ratelimit.Addresses
	lanes     graph.Lanes
}

// handler is everything that the process serves.
func (a *app) handler(options httpOptions) (http.Handler, error) {
	streams := graph.NewStreams()
	config := graph.Config{
		Tenants: a.tenants, Inventory: a.inventory, Bookings: a.bookings, Advisor: a.advisor, Events: a.events, Admission: a.admission, Trade: a.trade, WaitingLists: a.waitlists, Authorizer: a.policy,
		Introspection: options.introspection, Logger: a.logger, Metrics: a.store.registry, Streams: streams,
		RateLimits: options.rateLimits, Addresses: options.addresses, Lanes: options.lanes,
	}
	api, err := graph.NewHandler(config)
	if err != nil {
		return nil, fmt.Errorf("set up the API: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/graphql", api)
	mux.Handle("GET /waiting-rooms/{address}", graph.NewWaitingRoomHandler(a.admission))
	mux.Handle("/reports/", api.Reports())
	mux.Handle("/trade/", api.Trade())
	if options.explorer != nil {
		mux.Handle("/explorer/", http.StripPrefix("/explorer", explorer.Handler(*options.explorer)))
		mux.Handle("GET /{$}", http.RedirectHandler("/explorer/", http.StatusSeeOther))
	}
	mux.HandleFunc("POST /webhooks/payments/{provider}", a.webhook)
	if options.admin != nil {
		mux.Handle("/admin/", options.admin)
	}
	a.addProbes(mux)
	return &served{ServeMux: mux, streams: streams}, nil
}

// served is a handler with subscriptions, which do not end by themselves.
type served struct {
	*http.ServeMux
	streams *graph.Streams
}

// probes is all that a process without an API serves.
func (a *app) probes() http.Handler {
	mux := http.NewServeMux()
	a.addProbes(mux)
	return mux
}

// addProbes serves what those ask who keep the process running.
func (a *app) addProbes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok", "the process is up") })
	mux.HandleFunc("GET /readyz", a.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.store.registry, promhttp.HandlerOpts{}))
}

// ready says whether requests can be served: the database answers and has the right schema.
func (a *app) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := schema.RequireServable(ctx, a.store.db); err != nil {
		message := "the database does not answer"
		if fault.KindOf(err) == fault.KindConflict {
			message = err.Error()
		}
		answer(w, http.StatusServiceUnavailable, "unavailable", message)
		return
	}
	answer(w, http.StatusOK, "ok", "the database answers and its schema fits")
}

// webhook takes one message of a payment provider. The status tells the provider whether to send
// it again.
func (a *app) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhookBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		answer(w, http.StatusRequestEntityTooLarge, "invalid", fmt.Sprintf("expected at most %d bytes", maxWebhookBytes))
		return
	case err != nil:
		answer(w, http.StatusBadRequest, "invalid", "the message did not arrive whole")
		return
	}
	err = a.bookings.HandleWebhook(r.Context(), r.PathValue("provider"), r.Header, body)
	if err == nil {
		answer(w, http.StatusOK, "ok", "recorded")
		return
	}
	kind := fault.KindOf(err)
	status := statusOf(kind)
	message := "the message could not be applied; send it again"
	if status < http.StatusInternalServerError {
		message = err.Error()
	}
	a.logger.WarnContext(r.Context(), "a webhook was refused", "provider", r.PathValue("provider"), "kind", kind.String(), "error", err)
	answer(w, status, kind.String(), message)
}

func statusOf(kind fault.Kind) int {
	switch kind {
	case fault.KindInvalid:
		return http.StatusBadRequest
	case fault.KindUnauthenticated:
		return http.StatusUnauthorized
	case fault.KindDenied:
		return http.StatusForbidden
	case fault.KindNotFound:
		return http.StatusNotFound
	case fault.KindConflict:
		return http.StatusConflict
	case fault.KindExhausted:
		return http.StatusTooManyRequests
	case fault.KindUnavailable:
		return http.StatusServiceUnavailable
	case fault.KindInternal:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

func answer(w http.ResponseWriter, status int, word, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// The caller may be gone; nothing depends on its reading this.
	_ = json.NewEncoder(w).Encode(map[string]string{"status": word, "message": message})
}

// server is a listening HTTP server.
type server struct {
	http     *http.Server
	url      string
	failures chan error
	// endStreams ends what would go on for ever.
	endStreams func(ctx context.Context)
}

// bind takes an address such as 127.0.0.1:8080; port 0 takes a free one. Connections wait until
// something serves.
func bind(ctx context.Context, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("--listen (or HOLDFAST_LISTEN): expected host:port such as 127.0.0.1:8080, got %q", address)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			// The rest of it says again that this is about listening, and where.
			err = op.Err
		}
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --listen or HOLDFAST_LISTEN", address, err)
	}
	return listener, nil
}

// urlOf is where a bound address is reached.
func urlOf(listener net.Listener) string { return "http://" + listener.Addr().String() }

// clientTimes are how long a client may take for the parts of a request: for its header, for all of it,
// to take the answer, and between two. Who sends a byte now and then keeps a connection no longer.
type clientTimes struct{ header, request, answer, idle time.Duration }

// serveOn starts to serve on a bound address, which the server owns from now on.
func serveOn(listener net.Listener, handler http.Handler) *server {
	return serveWithin(clientTimes{header: readHeaderTimeout, request: readTimeout, answer: writeTimeout, idle: idleTimeout}, listener, handler)
}

func serveWithin(times clientTimes, listener net.Listener, handler http.Handler) *server {
	s := &server{
		http: &http.Server{
			Handler: handler, ReadHeaderTimeout: times.header, ReadTimeout: times.request, WriteTimeout: times.answer,
			IdleTimeout: times.idle, MaxHeaderBytes: maxHeaderBytes,
		},
		url: urlOf(listener), failures: make(chan error, 1), endStreams: func(context.Context) {},
	}
	if handler, ok := handler.(*served); ok {
		s.endStreams = handler.streams.End
	}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failures <- fmt.Errorf("serve: %w", err)
		}
	}()
	return s
}

// close ends subscriptions and lets requests under way finish.
func (s *server) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	s.endStreams(ctx)
	return s.http.Shutdown(ctx)
}
