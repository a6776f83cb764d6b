package graph

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/vektah/gqlparser/v2/formatter"

	"github.com/holdfast/holdfast/tenants"
)

// answerKey names an answer: who may have it, in which form, and to what question. Nobody else is
// ever given it.
type answerKey struct {
	reader answerReader
	media  string
	// question is a hash of the operation, its variables and its name, however they were written.
	question [sha256.Size]byte
}

// answerReader is everything of a caller that an answer may depend on.
type answerReader struct {
	tenant    tenants.TenantID
	channel   tenants.ChannelID
	key       tenants.KeyID
	suspended bool
}

// readerOf tells whether a caller may be given kept answers: a page with a publishable key, and nobody
// in particular.
func readerOf(actor tenants.Actor) (answerReader, bool) {
	return answerReader{tenant: actor.Tenant, channel: actor.Channel, key: actor.Key, suspended: actor.ChannelSuspended},
		actor.KeyType == tenants.KeyTypePublishable && actor.Session.IsZero()
}

// aliasKey is a question as it was written in an address.
type aliasKey struct {
	reader answerReader
	media  string
	query  string
}

// answerCache keeps whole answers to public questions, encoded and compressed once. Readers who want
// the same at the same time wait for one execution. Its memory is bounded, and what was asked only once
// gets no room when there is little.
type answerCache struct {
	bounds  answerBounds
	metrics *metrics
	aliases *lru.Cache[aliasKey, answerKey]
	// changes are when something of a tenant was changed last through this process.
	changes *lru.Cache[tenants.TenantID, time.Time]

	mu      sync.Mutex
	kept    *simplelru.LRU[answerKey, *keptAnswer]
	flights map[answerKey]*answerFlight
	// once are questions that were asked and not kept.
	once  *simplelru.LRU[answerKey, struct{}]
	bytes int64
}

// answerBounds follow from the configuration.
type answerBounds struct {
	// maxAge is how old what an answer says may be when it is sent.
	maxAge   time.Duration
	maxBytes int64
}

// refreshAge is when an answer is executed anew while it is still sent.
func (b answerBounds) refreshAge() time.Duration { return b.maxAge * 3 / 10 }

// lastAge is when it is sent no more: before maxAge, because sending takes time, too.
func (b answerBounds) lastAge() time.Duration { return b.maxAge * 8 / 10 }

// mapAge is how old the seats may be that an answer is made of.
func (b answerBounds) mapAge() time.Duration { return b.maxAge / 5 }

const (
	// leastAge and leastShare bound how often a change lets an answer be executed again: not within
	// leastAge, and for not more than one part in leastShare of the time.
	leastAge   = 250 * time.Millisecond
	leastShare = 15

	maxAnswers       = 10_000
	maxAliases       = 10_000
	maxAliasBytes    = 2048
	maxTenantChanges = 10_000
	maxAskedOnce     = 10_000
	// largestShare is the part of the cache that one answer may take.
	largestShare = 8
	// answerOverhead is what an answer takes besides its text.
	answerOverhead = 1024
)

// keptAnswer is an answer with the question that makes it anew. A change of it is another one.
type keptAnswer struct {
	params graphql.RawParams
	// body is the text; zipped is the same compressed, or nil when that is no shorter.
	body, zipped []byte
	etag         string
	operation    string
	maps         bool
	onlyTimes    bool
	// began is when its execution began and oldest what it says: some of it may have been read before.
	began, oldest time.Time
	took          time.Duration
}

func (a *keptAnswer) size() int64 {
	return int64(len(a.body)+len(a.zipped)+len(a.params.Query)) + answerOverhead
}

// answerFlight is an execution that several wait for.
type answerFlight struct {
	began time.Time
	done  chan struct{}
	// shared is whether more than one wait.
	shared bool
	// answer is nil when the response is not to be kept.
	answer   *keptAnswer
	status   int
	name     string
	response *graphql.Response
}

func newAnswerCache(bounds answerBounds, measured *metrics) (*answerCache, error) {
	aliases, err := lru.New[aliasKey, answerKey](maxAliases)
	if err != nil {
		return nil, fmt.Errorf("make the cache of addresses: %w", err)
	}
	changes, err := lru.New[tenants.TenantID, time.Time](maxTenantChanges)
	if err != nil {
		return nil, fmt.Errorf("make the cache of changes: %w", err)
	}
	kept, err := simplelru.NewLRU[answerKey, *keptAnswer](maxAnswers, nil)
	if err != nil {
		return nil, fmt.Errorf("make the cache of answers: %w", err)
	}
	once, err := simplelru.NewLRU[answerKey, struct{}](maxAskedOnce, nil)
	if err != nil {
		return nil, fmt.Errorf("make the cache of questions: %w", err)
	}
	return &answerCache{
		bounds: bounds, metrics: measured, aliases: aliases, changes: changes, kept: kept, once: once, flights: map[answerKey]*answerFlight{},
	}, nil
}

// changed lets the answers about a tenant be made anew.
func (c *answerCache) changed(tenant tenants.TenantID) { c.changes.Add(tenant, time.Now()) }

// questionOf names what an operation asks: the same for texts that differ in white space and
// variables that differ in what is not used.
func questionOf(operation *graphql.OperationContext) ([sha256.Size]byte, error) {
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("")).FormatQueryDocument(operation.Doc)
	variables, err := json.Marshal(operation.Variables)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encode the variables of a question: %w", err)
	}
	hash := sha256.New()
	for _, part := range [][]byte{[]byte(text.String()), []byte(operation.Operation.Name), variables} {
		_, _ = fmt.Fprintf(hash, "%d:", len(part))
		_, _ = hash.Write(part)
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// executeAnswer executes a question with nobody's time limit but the server's.
type executeAnswer func(ctx context.Context, params graphql.RawParams) (int, string, *graphql.Response)

// peek is an answer that may be sent at once, with the question to be executed again if it is time to.
// Nil means that there is none.
func (c *answerCache) peek(ctx context.Context, key answerKey, execute executeAnswer) *keptAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.kept.Get(key)
	if !ok {
		return nil
	}
	now := time.Now()
	age := now.Sub(found.oldest)
	if age > c.bounds.lastAge() || c.isDropped(key, found, now) {
		return nil
	}
	if age > c.bounds.refreshAge() && c.flights[key] == nil {
		c.begin(ctx, key, found.params, publicAnswer{maps: found.maps, onlyTimes: found.onlyTimes}, execute)
	}
	return found
}

// isDropped is whether something has changed since what an answer says, and it may be executed again.
func (c *answerCache) isDropped(key answerKey, answer *keptAnswer, now time.Time) bool {
	changed, ok := c.changes.Get(key.reader.tenant)
	return ok && !changed.Before(answer.oldest) && now.Sub(answer.began) > max(leastAge, leastShare*answer.took)
}

// join waits for an execution of a question, or begins one.
func (c *answerCache) join(ctx context.Context, key answerKey, params graphql.RawParams, public publicAnswer, execute executeAnswer) (*answerFlight, bool) {
	c.mu.Lock()
	flight, joined := c.flights[key]
	if joined {
		flight.shared = true
	} else {
		flight = c.begin(ctx, key, params, public, execute)
	}
	c.mu.Unlock()
	select {
	case <-flight.done:
		return flight, joined
	case <-ctx.Done():
		return nil, joined
	}
}

// begin executes a question in a goroutine of its own, which goes on when the reader who came first has
// gone; the mutex is held.
func (c *answerCache) begin(ctx context.Context, key answerKey, params graphql.RawParams, public publicAnswer, execute executeAnswer) *answerFlight {
	flight := &answerFlight{began: time.Now(), done: make(chan struct{})}
	c.flights[key] = flight
	fill := &answerFill{oldest: flight.began, age: c.bounds.mapAge()}
	if changed, ok := c.changes.Get(key.reader.tenant); ok {
		// Seats from before the change would be dropped with the answer; but not each of many answers reads
		// them anew.
		fill.age = min(fill.age, max(leastAge, flight.began.Sub(changed)))
	}
	ctx = withFill(context.WithoutCancel(ctx), fill)
	// What is executed may write to its parameters.
	again := params
	go func() {
		flight.status, flight.name, flight.response = execute(ctx, params)
		if r := flight.response; r != nil && len(r.Errors) == 0 && r.Data != nil {
			flight.answer = newKeptAnswer(again, r, flight, fill, public)
		}
		c.mu.Lock()
		delete(c.flights, key)
		c.keep(key, flight)
		c.mu.Unlock()
		close(flight.done)
	}()
	return flight
}

// keep adds an answer, or replaces the one before; the mutex is held.
func (c *answerCache) keep(key answerKey, flight *answerFlight) {
	answer := flight.answer
	before, known := c.kept.Peek(key)
	if answer == nil || answer.size() > c.bounds.maxBytes/largestShare {
		return
	}
	if !known && !flight.shared && c.isFull() && !c.once.Contains(key) {
		c.once.Add(key, struct{}{})
		c.metrics.answers.WithLabelValues(answerNotKept).Inc()
		return
	}
	if known {
		c.bytes -= before.size()
	}
	for c.kept.Len() > 0 && (c.bytes+answer.size() > c.bounds.maxBytes || !known && c.kept.Len() >= maxAnswers) {
		oldest, dropped, _ := c.kept.RemoveOldest()
		if oldest != key {
			c.bytes -= dropped.size()
		}
		known = known && oldest != key
	}
	c.kept.Add(key, answer)
	c.bytes += answer.size()
	c.metrics.answerBytes.Set(float64(c.bytes))
	c.metrics.answersKept.Set(float64(c.kept.Len()))
}

// isFull is whether a question must have been asked twice to be kept.
func (c *answerCache) isFull() bool {
	return c.bytes > c.bounds.maxBytes/2 || c.kept.Len() > maxAnswers/2
}

// answerFill is what an execution notes for the answer that is made of it.
type answerFill struct {
	mu     sync.Mutex
	oldest time.Time
	age    time.Duration
}

type fillKey struct{}

func withFill(ctx context.Context, f *answerFill) context.Context {
	return context.WithValue(ctx, fillKey{}, f)
}

// fillOf is nil for what is not to be kept.
func fillOf(ctx context.Context) *answerFill {
	f, _ := ctx.Value(fillKey{}).(*answerFill)
	return f
}

// mapAge is how old the seats of an answer may be; an answer that is not kept shows the present.
func (f *answerFill) mapAge() time.Duration {
	if f == nil {
		return 0
	}
	return f.age
}

// noteMap notes how old the seats of a kept answer are, and whether it is one.
func (f *answerFill) noteMap(readAt time.Time) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if readAt.Before(f.oldest) {
		f.oldest = readAt
	}
	return true
}
