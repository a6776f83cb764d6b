package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.opentelemetry.io/otel"

	"github.com/holdfast/holdfast/tenants"
)

// The media types of answers.
const (
	mediaJSON    = "application/json"
	mediaGraphQL = "application/graphql-response+json"
)

// transport carries operations over HTTP: POST with a JSON body, and GET for queries. A page of
// another site can send neither with a caller's credentials, because those are in headers.
type transport struct {
	config   Config
	resolver *Resolver
	metrics  *metrics
	answers  *answerCache
	faults   *presenter
	streams  *Streams
	api      *Handler
	lanes    *lanes
}

// Supports is asked by gqlgen; the handler lets nothing else through.
func (t *transport) Supports(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodPost
}

// problem is why a request does not carry an operation.
type problem struct {
	status int
	err    *gqlerror.Error
}

func refuse(status int, field, format string, args ...any) *problem {
	err := failureOf(format, args...)
	if field != "" {
		err.Extensions["field"] = field
		err.Message = field + ": " + err.Message
	}
	return &problem{status: status, err: err}
}

// Do reads the operation, runs it and answers.
func (t *transport) Do(w http.ResponseWriter, r *http.Request, executor graphql.GraphExecutor) {
	switch {
	case isSocket(r):
		t.serveSocket(w, r, executor)
		return
	case isStream(r):
		t.serveEvents(w, r, actorOf(r.Context()), credentialsOf(r), executor)
		return
	}
	start := time.Now()
	read := t.readPost
	if r.Method == http.MethodGet {
		if t.servePublic(w, r, actorOf(r.Context()), executor) {
			return
		}
		read = t.readGet
	}
	params, refused := read(w, r)
	if refused != nil {
		t.metrics.observe(operationNone, codeBadInput, time.Since(start))
		answer(w, refused.status, refused.err)
		return
	}
	params.ReadTime = graphql.TraceTiming{Start: start, End: time.Now()}
	params.Headers = r.Header
	ctx := withLoaders(r.Context(), newLoaders(t.resolver, actorOf(r.Context()), t.config.BatchWait))
	status, name, response := t.run(ctx, executor, params, r.Method)
	if response == nil {
		status = http.StatusServiceUnavailable
		response = &graphql.Response{Errors: gqlerror.List{failure(codeUnavailable, givenUp)}}
	}
	t.metrics.observe(name, outcomeOf(response), time.Since(start))
	write(w, status, response)
}

// run lets gqlgen check and execute an operation; a nil response means that the time was up.
func (t *transport) run(ctx context.Context, executor graphql.GraphExecutor, params *graphql.RawParams, method string) (int, string, *graphql.Response) {
	operation, errs := executor.CreateOperationContext(ctx, params)
	if errs != nil {
		status := http.StatusBadRequest
		for _, err := range errs {
			switch {
			case err.Extensions["code"] == codePersistedQueryNotFound:
				// The protocol of persisted queries: the client sends the text next time.
				status = http.StatusOK
			case err.Extensions["code"] == nil && err.Err == nil:
				// gqlgen gives mistakes in the protocol of persisted queries no code.
				err.Extensions = map[string]any{"code": codeBadInput}
			}
		}
		return status, operationNone, executor.DispatchError(graphql.WithOperationContext(ctx, operation), errs)
	}
	if method == http.MethodGet && operation.Operation.Operation != ast.Query {
		refused := failure(codeBadInput, "a GET carries queries only; send this as a POST")
		return http.StatusMethodNotAllowed, operationNone, &graphql.Response{Errors: gqlerror.List{refused}}
	}
	if operation.Operation.Operation == ast.Subscription {
		refused := failure(codeBadInput, onlyStreams)
		return http.StatusNotAcceptable, operationNone, &graphql.Response{Errors: gqlerror.List{refused}}
	}
	name := operationName(operation.Operation)
	ctx, leave, refused := t.lanes.enter(ctx, operation.Operation)
	if refused != nil {
		return http.StatusServiceUnavailable, name, &graphql.Response{Errors: gqlerror.List{refused}}
	}
	defer leave()
	ctx, span := otel.Tracer("github.com/holdfast/holdfast/graph").Start(ctx, "graphql "+name)
	defer span.End()
	handle, ctx := executor.DispatchOperation(ctx, operation)
	return http.StatusOK, name, handle(ctx)
}

// readPost reads the JSON body, which must be one object.
func (t *transport) readPost(w http.ResponseWriter, r *http.Request) (*graphql.RawParams, *problem) {
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != mediaJSON && media != mediaGraphQL {
		return nil, refuse(http.StatusUnsupportedMediaType, "", "Content-Type: expected application/json")
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, refuse(http.StatusUnsupportedMediaType, "", "Content-Type: expected the charset utf-8")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, refuse(http.StatusUnsupportedMediaType, "", "Content-Encoding: expected none")
	}
	limit := t.config.MaxBodyBytes
	if actor := actorOf(r.Context()); actor.KeyType == tenants.KeyTypeAdmin || actor.KeyType == tenants.KeyTypeMember {
		limit = max(limit, t.config.MaxAdminBodyBytes)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, refuse(http.StatusRequestEntityTooLarge, "", "the body is larger than the %d bytes allowed", limit)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "", "the body ended before it was complete")
	}
	var request struct {
		Query         *string         `json:"query"`
		OperationName *string         `json:"operationName"`
		Variables     json.RawMessage `json:"variables"`
		Extensions    json.RawMessage `json:"extensions"`
	}
	if refused := decodeObject("", "the body", body, &request); refused != nil {
		return nil, refused
	}
	return t.params(deref(request.Query), deref(request.OperationName), request.Variables, request.Extensions)
}

// readGet reads a query from the address.
func (t *transport) readGet(_ http.ResponseWriter, r *http.Request) (*graphql.RawParams, *problem) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "", "the address is not well formed: expected percent-encoded values")
	}
	return t.params(values.Get("query"), values.Get("operationName"), []byte(values.Get("variables")), []byte(values.Get("extensions")))
}

func (t *transport) params(query, operation string, variables, extensions []byte) (*graphql.RawParams, *problem) {
	if len(query) > t.config.MaxQueryBytes {
		return nil, refuse(http.StatusBadRequest, "query", "expected at most %d bytes, got %d: send values as variables", t.config.MaxQueryBytes, len(query))
	}
	params := &graphql.RawParams{Query: query, OperationName: operation}
	if refused := decodeOptional("variables", variables, &params.Variables); refused != nil {
		return nil, refused
	}
	if refused := decodeOptional("extensions", extensions, &params.Extensions); refused != nil {
		return nil, refused
	}
	if strings.TrimSpace(query) == "" && params.Extensions["persistedQuery"] == nil {
		return nil, refuse(http.StatusBadRequest, "query", "expected the text of a GraphQL operation")
	}
	return params, nil
}

func decodeOptional(field string, text []byte, target *map[string]any) *problem {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	return decodeObject(field, "the value", text, target)
}

// decodeObject reads one JSON object and nothing after it. Numbers keep all their digits.
func decodeObject(field, what string, text []byte, target any) *problem {
	first := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case len(first) == 0:
		return refuse(http.StatusBadRequest, field, "expected a JSON object, got nothing")
	case first[0] != '{' && json.Valid(first):
		return refuse(http.StatusBadRequest, field, "expected a JSON object, got %s", kindOfJSON(first[0]))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(target)
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		return refuse(http.StatusBadRequest, strings.TrimPrefix(field+"."+mismatch.Field, "."), "expected %s, got %s", wantedJSON(mismatch), mismatch.Value)
	case errors.As(err, &syntax):
		return refuse(http.StatusBadRequest, field, "%s is not JSON: %s, at byte %d", what, syntax.Error(), syntax.Offset)
	case err != nil:
		return refuse(http.StatusBadRequest, field, "%s is not JSON: it ends too early", what)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, field, "expected one JSON object, got more after it")
	}
	return nil
}

// wantedJSON says in the words of JSON what a Go type wants.
func wantedJSON(mismatch *json.UnmarshalTypeError) string {
	if mismatch.Type.Kind().String() == "string" {
		return "text"
	}
	return "an object"
}

func kindOfJSON(first byte) string {
	switch first {
	case '[':
		return "an array; operations cannot be batched"
	case '"':
		return "text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// contentType is the media type that the client wants its answer in.
func contentType(r *http.Request) string {
	if strings.Contains(r.Header.Get("Accept"), mediaGraphQL) {
		return mediaGraphQL + "; charset=utf-8"
	}
	return mediaJSON + "; charset=utf-8"
}

// answer writes an error in the form of a GraphQL answer.
func answer(w http.ResponseWriter, status int, err *gqlerror.Error) {
	write(w, status, &graphql.Response{Errors: gqlerror.List{err}})
}

func write(w http.ResponseWriter, status int, response *graphql.Response) {
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="holdfast"`)
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", allowedMethods)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	body := encode(response)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A write fails when the client has gone; there is nobody left to tell.
	_, _ = w.Write(body)
}

// encode writes an answer. Its data are JSON already and may be large, so they are not encoded
// again; a request that was refused before it ran has none.
func encode(response *graphql.Response) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	body.WriteByte('{')
	if len(response.Errors) > 0 {
		body.WriteString(`"errors":`)
		if err := encoder.Encode(response.Errors); err != nil {
			// Errors are made of text and numbers, by this package.
			panic(fmt.Errorf("encode the errors of an answer: %w", err))
		}
		body.Truncate(body.Len() - len("\n"))
	}
	if response.Data != nil {
		if len(response.Errors) > 0 {
			body.WriteByte(',')
		}
		body.WriteString(`"data":`)
		body.Write(response.Data)
	}
	body.WriteByte('}')
	return body.Bytes()
}
