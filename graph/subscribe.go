package graph

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/tenants"
)

// Limits of subscribers, whichever way they come.
const (
	// writeLimit is how long one message may take to be read; the connection is cut then. One who has
	// taken slowWrite is told so and closed.
	writeLimit = 10 * time.Second
	slowWrite  = 5 * time.Second
	// pingInterval keeps a connection that has nothing to say open, and finds clients that have gone.
	pingInterval = 20 * time.Second
)

const (
	codeSlowConsumer = "SLOW_CONSUMER"
	slowConsumer     = "messages were not read within 5 seconds: subscribe again from the last version"
	onlyStreams      = "a subscription is asked for with Accept: text/event-stream, or over a WebSocket"
)

// The ends of subscriptions, for metrics.
const (
	endClient   = "client"
	endFinished = "finished"
	endFailed   = "failed"
	endSlow     = "slow"
	endStopping = "stopping"
)

// credentials are what a client identifies itself with.
type credentials struct{ bearer, session, tenant, origin string }

func (a *Handler) actorFor(ctx context.Context, c credentials) (tenants.Actor, error) {
	credential, err := tenants.ParseBearer(c.bearer)
	if err != nil {
		return tenants.Actor{}, err
	}
	return a.config.Tenants.AuthenticateAll(ctx, tenants.Credentials{
		Bearer: credential, Session: strings.TrimSpace(c.session), Tenant: strings.TrimSpace(c.tenant), Origin: c.origin,
	})
}

// isStream is whether a request opens a stream, whose time is not that of one operation.
func isStream(r *http.Request) bool {
	return isSocket(r) || strings.Contains(r.Header.Get("Accept"), mediaEvents)
}

// isSocket is whether a request wants to be a WebSocket. Any other upgrade that is offered, such as to
// HTTP/2 by clients of ordinary requests, is none that the server has to take.
func isSocket(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	for _, offered := range r.Header.Values("Upgrade") {
		for protocol := range strings.SplitSeq(offered, ",") {
			if strings.EqualFold(strings.TrimSpace(protocol), "websocket") {
				return true
			}
		}
	}
	return false
}

// subscriber is where the messages of one subscription go.
type subscriber interface {
	// next sends an answer; false ends the subscription.
	next(response *graphql.Response) bool
}

// subscribe runs a subscription until it or its client ends. The errors are those that it could not
// begin with, or ended with; nil is a good end.
func (t *transport) subscribe(ctx context.Context, executor graphql.GraphExecutor, params *graphql.RawParams, actor tenants.Actor, who credentials, site string, to subscriber) gqlerror.List {
	leave, err := t.streams.subscribe(t.bounds(), actor.Key, site)
	if err != nil {
		return gqlerror.List{t.faults.present(ctx, err)}
	}
	defer leave()
	s := &subscription{actor: actor, authenticate: func(ctx context.Context) (tenants.Actor, error) { return t.api.actorFor(ctx, who) }}
	ctx, cancel := context.WithCancel(withSubscription(withLoaders(withActor(ctx, actor), newLoaders(t.resolver, actor, t.config.BatchWait)), s))
	defer cancel()
	operation, errs := executor.CreateOperationContext(ctx, params)
	if errs != nil {
		for _, err := range errs {
			if err.Extensions["code"] == nil && err.Err == nil {
				err.Extensions = map[string]any{"code": codeBadInput}
			}
		}
		return executor.DispatchError(graphql.WithOperationContext(ctx, operation), errs).Errors
	}
	if operation.Operation.Operation != ast.Subscription {
		return gqlerror.List{failure(codeBadInput, "a stream carries subscriptions only; send queries and mutations as a POST")}
	}
	fields := graphql.CollectFields(operation, operation.Operation.SelectionSet, []string{"Subscription"})
	if len(fields) != 1 || strings.HasPrefix(fields[0].Name, "__") {
		return gqlerror.List{failure(codeBadInput, "expected exactly one field of Subscription, for each subscription")}
	}
	handle, ctx := executor.DispatchOperation(ctx, operation)
	for {
		response := handle(ctx)
		switch {
		case response == nil && s.failure() != nil:
			return gqlerror.List{t.faults.present(ctx, s.failure())}
		case response == nil:
			return nil
		case response.Data == nil && len(response.Errors) > 0:
			return response.Errors
		case !to.next(response):
			return nil
		}
	}
}

func (t *transport) bounds() streamBounds {
	return streamBounds{all: t.config.MaxSubscribers, key: t.config.MaxSubscriptionsPerKey, address: t.config.MaxSubscribersPerAddress}
}

// freshEvents gives each message of a subscription loaders of its own: what the one before read may
// have changed.
func freshEvents(resolver *Resolver, config Config) graphql.ResponseMiddleware {
	return func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		// An operation that does not parse has an answer, too.
		if operation := graphql.GetOperationContext(ctx).Operation; operation != nil && operation.Operation == ast.Subscription {
			ctx = withLoaders(ctx, newLoaders(resolver, actorOf(ctx), config.BatchWait))
		}
		return next(ctx)
	}
}

// endOf names why a subscription ended.
func (t *transport) endOf(ctx context.Context, errs gqlerror.List) string {
	switch {
	case errors.Is(context.Cause(ctx), errStopping):
		return endStopping
	case errors.Is(context.Cause(ctx), errSlow):
		return endSlow
	case len(errs) > 0:
		return endFailed
	case ctx.Err() != nil:
		return endClient
	}
	return endFinished
}

// errSlow is why a subscriber is closed who does not read.
var errSlow = errors.New(slowConsumer)
