package graph

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/tenants"
)

// The outcomes of a question that may be answered from the cache.
const (
	answerHit     = "hit"
	answerMiss    = "miss"
	answerShared  = "shared"
	answerNotKept = "not_kept"
)

// servePublic answers a GET whose answer may be kept, and reports whether it was one. Errors are never
// kept; they go to all who waited for the same execution.
func (t *transport) servePublic(w http.ResponseWriter, r *http.Request, actor tenants.Actor, executor graphql.GraphExecutor) bool {
	reader, ok := readerOf(actor)
	if !ok {
		return false
	}
	start := time.Now()
	alias := aliasKey{reader: reader, media: contentType(r), query: r.URL.RawQuery}
	execute := func(ctx context.Context, params graphql.RawParams) (status int, name string, response *graphql.Response) {
		ctx, cancel := context.WithTimeout(ctx, t.config.MaxDuration)
		defer cancel()
		defer func() {
			// It runs in no request's goroutine, where a panic would end the process.
			if caught := recover(); caught != nil {
				err := t.faults.present(ctx, t.faults.recover(ctx, caught))
				status, name, response = http.StatusInternalServerError, operationNone, &graphql.Response{Errors: gqlerror.List{err}}
			}
		}()
		// A kept answer has an age of its own; what it is made of has none besides.
		ctx = withLoaders(db.Fresh(ctx), newLoaders(t.resolver, actor, t.config.BatchWait))
		return t.run(ctx, executor, &params, http.MethodGet)
	}
	if key, known := t.answers.aliases.Get(alias); known {
		if answer := t.answers.peek(r.Context(), key, execute); answer != nil {
			t.metrics.answers.WithLabelValues(answerHit).Inc()
			t.send(w, r, answer, start)
			return true
		}
	}
	params, refused := t.readGet(w, r)
	if refused != nil {
		return false
	}
	question := *params
	operation, errs := executor.CreateOperationContext(r.Context(), params)
	if errs != nil {
		return false
	}
	public, ok := publicOf(operation)
	if !ok {
		return false
	}
	asked, err := questionOf(operation)
	if err != nil {
		return false
	}
	// A persisted query is asked again by its text, in case its hash is forgotten.
	question.Query, question.Extensions = params.Query, nil
	key := answerKey{reader: reader, media: alias.media, question: asked}
	if answer := t.answers.peek(r.Context(), key, execute); answer != nil {
		t.metrics.answers.WithLabelValues(answerHit).Inc()
		t.remember(alias, key)
		t.send(w, r, answer, start)
		return true
	}
	flight, joined := t.answers.join(r.Context(), key, question, public, execute)
	outcome := answerMiss
	if joined {
		outcome = answerShared
	}
	t.metrics.answers.WithLabelValues(outcome).Inc()
	switch {
	case flight == nil:
		answer(w, http.StatusServiceUnavailable, failure(codeUnavailable, givenUp))
	case flight.answer != nil:
		t.remember(alias, key)
		t.send(w, r, flight.answer, start)
	case flight.response == nil:
		answer(w, http.StatusServiceUnavailable, failure(codeUnavailable, givenUp))
	default:
		t.metrics.observe(flight.name, outcomeOf(flight.response), time.Since(start))
		write(w, flight.status, flight.response)
	}
	return true
}

const givenUp = "the request was given up before it was answered"

func (t *transport) remember(alias aliasKey, key answerKey) {
	if len(alias.query) <= maxAliasBytes {
		t.answers.aliases.Add(alias, key)
	}
}

// vary is what a kept answer depends on, for caches on the way.
const vary = "Accept, Accept-Encoding, Authorization, " + headerSession

// send sends a kept answer, or that the client has it already.
func (t *transport) send(w http.ResponseWriter, r *http.Request, answer *keptAnswer, start time.Time) {
	now := time.Now()
	age := now.Sub(answer.oldest)
	if answer.maps {
		t.metrics.mapServed(age)
	}
	t.metrics.observe(answer.operation, outcomeOK, now.Sub(start))
	header := w.Header()
	left := max(0, t.answers.bounds.maxAge-age)
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(left/time.Second)))
	header.Set("Etag", answer.etag)
	header.Add("Vary", vary)
	if matches(r.Header.Values("If-None-Match"), answer.etag) {
		header.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := answer.body
	if answer.zipped != nil && acceptsGzip(r.Header) {
		body = answer.zipped
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	// A write fails when the client has gone; there is nobody left to tell.
	_, _ = w.Write(body)
}

// newKeptAnswer encodes and compresses an answer once for all who will get it.
func newKeptAnswer(params graphql.RawParams, response *graphql.Response, flight *answerFlight, fill *answerFill, public publicAnswer) *keptAnswer {
	body := encode(response)
	fill.mu.Lock()
	oldest := fill.oldest
	fill.mu.Unlock()
	return &keptAnswer{
		params: params, body: body, zipped: zip(body), etag: etagOf(body, public.onlyTimes), operation: flight.name, maps: public.maps,
		onlyTimes: public.onlyTimes, began: flight.began, oldest: oldest, took: time.Since(flight.began),
	}
}

// asOfTime is a time as the API writes it.
var asOfTime = regexp.MustCompile(`"asOf":"[^"\\]*"`)

// etagOf is the same for two answers that say the same of different times: an answer whose state still
// is true does not have to be sent again. Text cannot look like such a field, because quotes in text are
// escaped. It is a weak one, since the bytes may differ.
func etagOf(body []byte, onlyTimes bool) string {
	if onlyTimes {
		body = asOfTime.ReplaceAll(body, nil)
	}
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// leastZipped is the shortest answer that is worth compressing.
const leastZipped = 512

func zip(body []byte) []byte {
	if len(body) < leastZipped {
		return nil
	}
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	if _, err := writer.Write(body); err != nil {
		return nil
	}
	if err := writer.Close(); err != nil || zipped.Len() >= len(body) {
		return nil
	}
	return zipped.Bytes()
}

// matches is the weak comparison of If-None-Match.
func matches(headers []string, etag string) bool {
	for _, header := range headers {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(etag, "W/") {
				return true
			}
		}
	}
	return false
}

func acceptsGzip(header http.Header) bool {
	for _, value := range header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(value, ",") {
			name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
			if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
				continue
			}
			quality, found := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			parsed, err := strconv.ParseFloat(quality, 64)
			return !found || err == nil && parsed > 0
		}
	}
	return false
}
