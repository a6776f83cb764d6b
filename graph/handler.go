package graph

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ratelimit"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// The headers of the API besides those of HTTP itself.
const (
	headerSession   = "Holdfast-Session"
	headerTenant    = "Holdfast-Tenant"
	headerRequestID = "X-Request-Id"
)

// Handler is the endpoint: it tells who calls, within which limits, and lets the operation run.
type Handler struct {
	config Config
	faults *presenter
	gate   *gate
	lanes  *lanes
	server *handler.Server
}

// NewHandler makes the GraphQL endpoint, to be mounted at one path. It accepts POST with a JSON body
// and, for queries, GET; every request presents a key, or the token of an identity provider, in the
// Authorization header. With a key it may present a guest session in the Holdfast-Session header; with
// a token it may name the tenant in the Holdfast-Tenant header. Without a good key or token the answer
// is 401 with a GraphQL error. It waits for nothing when it is no longer used.
func NewHandler(config Config) (*Handler, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	if config.Authorizer == nil {
		policy, err := policies.New()
		if err != nil {
			return nil, fmt.Errorf("load the policy: %w", err)
		}
		config.Authorizer = policy
	}
	measured, err := newMetrics(config.Metrics)
	if err != nil {
		return nil, err
	}
	answers, err := newAnswerCache(answerBounds{maxAge: config.MaxAnswerAge, maxBytes: config.MaxAnswerBytes}, measured)
	if err != nil {
		return nil, err
	}
	callers, err := newGate(config.RateLimits, config.Metrics)
	if err != nil {
		return nil, err
	}
	running, err := newLanes(config.Lanes, config.Metrics)
	if err != nil {
		return nil, err
	}
	halls, err := newHallCache(config.Inventory, config.MaxCachedSeats)
	if err != nil {
		return nil, err
	}
	parsed, err := newQueryCache[*ast.QueryDocument](config.MaxPersistedQueries)
	if err != nil {
		return nil, err
	}
	persisted, err := newQueryCache[string](config.MaxPersistedQueries)
	if err != nil {
		return nil, err
	}
	resolver := &Resolver{
		tenants: config.Tenants, inventory: config.Inventory, bookings: config.Bookings, advisor: config.Advisor, events: config.Events,
		admission: config.Admission, trade: config.Trade, waitlists: config.WaitingLists, authorizer: config.Authorizer, halls: halls, metrics: measured,
	}
	schema := generated.NewExecutableSchema(generated.Config{Resolvers: resolver})
	faults := &presenter{logger: config.Logger}

	server := handler.New(schema)
	a := &Handler{config: config, faults: faults, gate: callers, lanes: running, server: server}
	if err := config.Metrics.Register(config.Streams); err != nil {
		return nil, fmt.Errorf("register the metrics of subscriptions: %w", err)
	}
	server.AddTransport(&transport{
		config: config, resolver: resolver, metrics: measured, answers: answers, faults: faults, streams: config.Streams, api: a,
		lanes: running,
	})
	server.SetQueryCache(parsed)
	server.SetParserTokenLimit(config.MaxTokens)
	server.SetDisableSuggestion(!config.Introspection)
	server.SetErrorPresenter(faults.present)
	server.SetRecoverFunc(faults.recover)
	server.Use(extension.AutomaticPersistedQuery{Cache: persisted})
	if config.Introspection {
		server.Use(extension.Introspection{})
	}
	server.Use(&limits{maxDepth: config.MaxDepth, maxCost: config.MaxCost, introspection: config.Introspection})
	server.AroundRootFields(freshLoaders(resolver, config, answers))
	server.AroundOperations(measured.countRefusals)
	server.AroundResponses(freshEvents(resolver, config))
	return a, nil
}

// freshLoaders gives each mutation of an operation loaders of its own: what an earlier one read may
// have been changed by it. Only an operation that does nothing but browse may be answered with stale
// reads: what answers a mutation shows what it has done, and a buyer's hold what it holds.
func freshLoaders(resolver *Resolver, config Config, answers *answerCache) graphql.RootFieldMiddleware {
	return func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
		operation := graphql.GetOperationContext(ctx).Operation
		if !onlyBrowses(operation) {
			ctx = db.Fresh(ctx)
		}
		if operation.Operation == ast.Mutation {
			actor := actorOf(ctx)
			ctx = withLoaders(ctx, newLoaders(resolver, actor, config.BatchWait))
			defer answers.changed(actor.Tenant)
		}
		return next(ctx)
	}
}

// onlyBrowses is whether every root field is one whose answer may be a few seconds old. Fields within
// fragments are not looked for.
func onlyBrowses(operation *ast.OperationDefinition) bool {
	if operation.Operation != ast.Query {
		return false
	}
	for _, selection := range operation.SelectionSet {
		field, ok := selection.(*ast.Field)
		if !ok {
			return false
		}
		switch field.Name {
		case "shows", "show", "hotels", "hotel", "searchStays", "audit", "auditEntries", "seatHistory", "poolHistory", "nightHistory", "__typename":
		default:
			return false
		}
	}
	return true
}

// ServeHTTP tells who calls before anything of the request is read.
func (a *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := withRequestID(r.Context(), requestIDOf(r))
	if !isStream(r) {
		limited, cancel := context.WithTimeout(ctx, a.config.MaxDuration)
		defer cancel()
		ctx = limited
	}
	header := w.Header()
	header.Set(headerRequestID, requestIDFrom(ctx))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", contentType(r))
	defer func() {
		if caught := recover(); caught != nil {
			answer(w, http.StatusInternalServerError, a.faults.present(ctx, a.faults.recover(ctx, caught)))
		}
	}()
	if !a.allowOrigin(w, r) {
		answer(w, http.StatusForbidden, failure(codeForbidden, "Origin: pages of this origin may not call this API"))
		return
	}
	switch r.Method {
	case http.MethodOptions:
		a.preflight(w)
		return
	case http.MethodGet, http.MethodPost:
	default:
		header.Set("Allow", allowedMethods)
		answer(w, http.StatusMethodNotAllowed, failure(codeBadInput, "expected a POST with a JSON body, or a GET of a query"))
		return
	}
	if isSocket(r) {
		// Who it is comes with its first message.
		a.server.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	actor, ok := a.identify(ctx, w, r)
	if !ok {
		return
	}
	a.server.ServeHTTP(w, r.WithContext(withActor(ctx, actor)))
}

// identify says who makes a request, within the limits; who may not make it is answered.
func (a *Handler) identify(ctx context.Context, w http.ResponseWriter, r *http.Request) (tenants.Actor, bool) {
	site := a.siteOf(r)
	if v := a.gate.beforeKnown(site); v.refused != nil {
		v.tell(w)
		answer(w, http.StatusTooManyRequests, v.refused)
		return tenants.Actor{}, false
	}
	actor, err := a.authenticate(ctx, r)
	if err != nil {
		if fault.KindOf(err) == fault.KindUnauthenticated {
			a.gate.unknown(site).tell(w)
		}
		answer(w, statusOf(err), a.faults.present(ctx, err))
		return tenants.Actor{}, false
	}
	v := a.gate.admit(site, actor)
	v.tell(w)
	if v.refused != nil {
		answer(w, http.StatusTooManyRequests, v.refused)
		return tenants.Actor{}, false
	}
	return actor, true
}

// siteOf names the address that a request comes from, by which callers are told apart.
func (a *Handler) siteOf(r *http.Request) string { return ratelimit.Site(a.config.Addresses.Of(r)) }

func (a *Handler) authenticate(ctx context.Context, r *http.Request) (tenants.Actor, error) {
	if err := onlyOne(r, "Authorization", headerSession, headerTenant); err != nil {
		return tenants.Actor{}, err
	}
	actor, err := a.actorFor(ctx, credentialsOf(r))
	actor.Origin = tenants.Origin{Address: a.addressOf(r), RequestID: requestIDFrom(ctx)}
	return actor, err
}

func credentialsOf(r *http.Request) credentials {
	return credentials{
		bearer: r.Header.Get("Authorization"), session: r.Header.Get(headerSession), tenant: r.Header.Get(headerTenant), origin: r.Header.Get("Origin"),
	}
}

// addressOf is the address that a request came from, for the log. A header in which proxies pass on
// another one is believed from proxies that are trusted only: anybody can send it.
func (a *Handler) addressOf(r *http.Request) string {
	if address := a.config.Addresses.Of(r); address.IsValid() {
		return address.String()
	}
	return ""
}

// onlyOne refuses headers that must not come twice: which of two would count?
func onlyOne(r *http.Request, names ...string) error {
	for _, name := range names {
		if n := len(r.Header.Values(name)); n > 1 {
			return fault.Unauthenticated("%s: expected one header, got %d", name, n)
		}
	}
	return nil
}

func statusOf(err error) int {
	switch fault.KindOf(err) {
	case fault.KindUnauthenticated:
		return http.StatusUnauthorized
	case fault.KindUnavailable:
		return http.StatusServiceUnavailable
	case fault.KindInternal, fault.KindInvalid, fault.KindDenied, fault.KindNotFound, fault.KindConflict, fault.KindExhausted:
	}
	return http.StatusInternalServerError
}

const allowedMethods = "GET, POST, OPTIONS"

// allowOrigin tells browsers whose pages may read the answer. A request without an Origin header
// comes from no page.
func (a *Handler) allowOrigin(w http.ResponseWriter, r *http.Request) bool {
	header := w.Header()
	if len(a.config.AllowedOrigins) == 0 {
		header.Set("Access-Control-Allow-Origin", "*")
	} else {
		header.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" {
			return true
		}
		if !slices.Contains(a.config.AllowedOrigins, origin) {
			return false
		}
		header.Set("Access-Control-Allow-Origin", origin)
	}
	header.Set("Access-Control-Expose-Headers", "Etag, "+headerRequestID+", RateLimit, RateLimit-Policy, Retry-After")
	return true
}

// preflight answers a browser that asks before it lets a page call.
func (a *Handler) preflight(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", allowedMethods)
	header.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, If-None-Match, "+headerSession+", "+headerTenant+", "+headerRequestID)
	header.Set("Access-Control-Max-Age", "86400")
	header.Del("Content-Type")
	w.WriteHeader(http.StatusNoContent)
}

// requestIDKey is where a request's context carries its id.
type requestIDKey struct{}

func withRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

func requestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// requestIDOf is the caller's own id of the request when it is fit for a log, else a fresh one.
func requestIDOf(r *http.Request) string {
	id := r.Header.Get(headerRequestID)
	const maxLength = 64
	odd := func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("-_.", c))
	}
	if id == "" || len(id) > maxLength || strings.ContainsFunc(id, odd) {
		return rand.Text()
	}
	return id
}

// recover keeps a panic out of the answer and in the log.
func (p *presenter) recover(ctx context.Context, caught any) error {
	p.logger.LogAttrs(ctx, slog.LevelError, "a request panicked",
		slog.String("request_id", requestIDFrom(ctx)), slog.Any("panic", caught), slog.String("stack", string(debug.Stack())))
	return errPanicked
}

// failure is an error that is no service's.
func failure(code, message string) *gqlerror.Error {
	return &gqlerror.Error{Message: message, Extensions: map[string]any{"code": code}}
}
