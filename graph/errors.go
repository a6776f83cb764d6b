package graph

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
)

// The codes of errors, in extensions.code.
const (
	// codeBadInput: the request is malformed; extensions.field is the path of the part, where it is
	// about one.
	codeBadInput        = "BAD_INPUT"
	codeUnauthenticated = "UNAUTHENTICATED"
	codeForbidden       = "FORBIDDEN"
	codeNotFound        = "NOT_FOUND"
	// codeConflict: the present state of the thing does not allow the change.
	codeConflict    = "CONFLICT"
	codeRateLimited = "RATE_LIMITED"
	// codeUnavailable: the same request may succeed after extensions.retryAfterMs.
	codeUnavailable = "UNAVAILABLE"
	// codeInternal: a defect; extensions.errorId finds it in the log.
	codeInternal = "INTERNAL"
	// codePersistedQueryNotFound is the protocol of automatic persisted queries, not a fault.
	codePersistedQueryNotFound = "PERSISTED_QUERY_NOT_FOUND"
)

// retryAfterMs is what a caller is told to wait when something is down.
const retryAfterMs = 1000

// errPanicked stands for a panic, which is in the log.
var errPanicked = errors.New("a request panicked")

// presenter makes errors fit to be shown. It is the only place that maps faults to the API.
type presenter struct{ logger *slog.Logger }

// present keeps what the caller may know: the fault's message and field. All else goes to the log.
func (p *presenter) present(ctx context.Context, err error) *gqlerror.Error {
	shown := &gqlerror.Error{Extensions: map[string]any{}}
	var wrapped *gqlerror.Error
	if errors.As(err, &wrapped) {
		shown.Path, shown.Locations = wrapped.Path, wrapped.Locations
	}
	// What cannot be decoded is reported at the path of the argument: answers name the field of the
	// operation, and the argument apart.
	argument := splitArgument(ctx, shown)

	var known *fault.Error
	var refusal *inventory.Refusal
	switch {
	case errors.Is(err, request.ErrKeyReused):
		return conflict(shown, "requestKey: "+request.ErrKeyReused.Error(), "input.requestKey")
	case errors.As(err, &refusal):
		return conflict(shown, refusal.Message, "")
	case errors.As(err, &known):
		if known.Kind == fault.KindInternal {
			return p.internal(ctx, shown, err)
		}
		p.fault(ctx, shown, known)
	case wrapped != nil && wrapped.Err == nil && wrapped.Extensions["code"] != nil:
		protocol(shown, wrapped)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		shown.Message = "the request was given up before it was answered"
		shown.Extensions["code"] = codeUnavailable
		shown.Extensions["retryAfterMs"] = retryAfterMs
	default:
		return p.internal(ctx, shown, err)
	}
	if argument != "" && shown.Extensions["code"] == codeBadInput {
		field, _ := shown.Extensions["field"].(string)
		shown.Extensions["field"] = strings.TrimSuffix(argument+"."+field, ".")
		if field == "" {
			shown.Message = argument + ": " + shown.Message
		}
	}
	return shown
}

// fault is the mapping of kinds to codes.
func (p *presenter) fault(ctx context.Context, shown *gqlerror.Error, known *fault.Error) {
	shown.Message = known.Error()
	switch known.Kind {
	case fault.KindInvalid:
		shown.Extensions["code"] = codeBadInput
		if known.Field != "" {
			shown.Extensions["field"] = known.Field
		}
	case fault.KindUnauthenticated:
		shown.Extensions["code"] = codeUnauthenticated
	case fault.KindDenied:
		shown.Extensions["code"] = codeForbidden
	case fault.KindNotFound:
		shown.Extensions["code"] = codeNotFound
	case fault.KindConflict:
		shown.Extensions["code"] = codeConflict
	case fault.KindExhausted:
		shown.Extensions["code"] = codeRateLimited
	case fault.KindUnavailable:
		shown.Extensions["code"] = codeUnavailable
		shown.Extensions["retryAfterMs"] = retryAfterMs
		attributes := []slog.Attr{slog.String("request_id", requestIDFrom(ctx)), slog.String("message", known.Message)}
		if cause := errors.Unwrap(known); cause != nil {
			attributes = append(attributes, slog.Any("error", cause))
		}
		p.logger.LogAttrs(ctx, slog.LevelWarn, "a request met something that is down", attributes...)
	case fault.KindInternal:
	}
}

// internal hides an error behind an id that finds it in the log.
func (p *presenter) internal(ctx context.Context, shown *gqlerror.Error, err error) *gqlerror.Error {
	id := rand.Text()[:16]
	p.logger.LogAttrs(ctx, slog.LevelError, "a request met a defect",
		slog.String("request_id", requestIDFrom(ctx)), slog.String("error_id", id), slog.String("path", shown.Path.String()), slog.Any("error", err))
	shown.Message = "something is wrong on our side; tell us the error id"
	shown.Extensions["code"] = codeInternal
	shown.Extensions["errorId"] = id
	return shown
}

func conflict(shown *gqlerror.Error, message, field string) *gqlerror.Error {
	shown.Message = message
	shown.Extensions["code"] = codeConflict
	if field != "" {
		shown.Extensions["field"] = field
	}
	return shown
}

// protocol passes on what is wrong with the operation itself: it does not parse, does not fit the
// schema, or its variables do not.
func protocol(shown, wrapped *gqlerror.Error) {
	shown.Message = wrapped.Message
	switch code := wrapped.Extensions["code"]; code {
	case errcode.ParseFailed, errcode.ValidationFailed:
		shown.Extensions["code"] = codeBadInput
	default:
		for key, value := range wrapped.Extensions {
			shown.Extensions[key] = value
		}
	}
	// The path of a variable is not one of the answer.
	if len(shown.Path) > 1 && shown.Path[0] == ast.PathName("variable") {
		field := shown.Path[1:].String()
		shown.Path = nil
		shown.Extensions["field"] = field
		shown.Message = field + ": " + shown.Message
	}
}

// splitArgument cuts the path of an argument off the path of its field.
func splitArgument(ctx context.Context, shown *gqlerror.Error) string {
	field := graphql.GetFieldContext(ctx)
	if field == nil {
		return ""
	}
	path := field.Path()
	if len(shown.Path) <= len(path) {
		return ""
	}
	for i := range path {
		if shown.Path[i] != path[i] {
			return ""
		}
	}
	argument := shown.Path[len(path):].String()
	shown.Path = path
	return argument
}
