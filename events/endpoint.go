package events

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/events/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// EndpointKind is an address that is told of events.
type EndpointKind struct{}

// Prefix of an endpoint's public id.
func (EndpointKind) Prefix() string { return "endpoint" }

// EndpointID names an endpoint; the endpoints of a tenant are told of its events in all regions.
type EndpointID = ids.GlobalID[EndpointKind]

// EndpointState says whether an endpoint is told of anything.
type EndpointState string

// The states of an endpoint.
const (
	EndpointStateEnabled EndpointState = "ENABLED"
	// EndpointStateDisabled endpoints are told of nothing; a replay makes it good once they are enabled.
	EndpointStateDisabled EndpointState = "DISABLED"
)

// DisabledReason says why an endpoint is disabled.
type DisabledReason string

// The reasons.
const (
	DisabledReasonRequested DisabledReason = "REQUESTED"
	// DisabledReasonGone: the receiver answered 410 Gone.
	DisabledReasonGone DisabledReason = "GONE"
)

// Endpoint is an address that is told of events, without its secrets.
type Endpoint struct {
	ID     EndpointID
	Tenant tenants.TenantID
	// Channel is the one whose sales it is told of; zero for those of all channels.
	Channel     tenants.ChannelID
	URL         string
	Description string
	// Types are those that it is told of, in the order of the table; none means all.
	Types []Type
	State EndpointState
	// Reason and DisabledAt are set while it is disabled.
	Reason     DisabledReason
	DisabledAt *time.Time
	// RotatedUntil is until when two secrets sign; nil when one does.
	RotatedUntil *time.Time
	// Version grows by one with each change and each test.
	Version   int64
	CreatedAt time.Time
}

// takes says whether an endpoint is told of an event. Only the one that is tested is told of a test,
// and nobody of what was before its time.
func (e Endpoint) takes(event Event) bool {
	switch {
	case event.Type == TypeEndpointPing:
		return event.Entity == e.ID.UUID
	case !e.Channel.IsZero() && e.Channel != event.Channel:
		return false
	}
	return len(e.Types) == 0 || slices.Contains(e.Types, event.Type)
}

// NewEndpoint is what CreateEndpoint is told.
type NewEndpoint struct {
	URL string
	// Description is for people, up to 200 characters.
	Description string
	// Types are those that it is told of; none means all.
	Types []Type
	// Channel bounds it to the sales of one channel. A partner's is its own, named or not.
	Channel tenants.ChannelID
}

// EndpointSecret is an endpoint with the secret that a call made, which is told only in the answer to
// that call: it is empty when the call is repeated.
type EndpointSecret struct {
	Endpoint Endpoint
	Secret   string
}

// CreateEndpoint registers an address. It is told of what happens from now on.
func (s *Service) CreateEndpoint(ctx context.Context, actor tenants.Actor, requestKey string, input NewEndpoint) (EndpointSecret, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEndpointManage, actor.Tenant); err != nil {
		return EndpointSecret{}, err
	}
	input, err := s.checkEndpoint(actor, input)
	if err != nil {
		return EndpointSecret{}, err
	}
	home, err := s.home(ctx, actor.Tenant)
	if err != nil {
		return EndpointSecret{}, err
	}
	command, err := newCommand("createWebhookEndpoint", actor, home, requestKey, input)
	if err != nil {
		return EndpointSecret{}, err
	}
	id, secret := ids.NewGlobal[EndpointKind](), newSecret()
	return db.Replayable(ctx, s.db, "events.CreateEndpoint", func(ctx context.Context, tx pgx.Tx) (EndpointSecret, error) {
		return createEndpointTx(ctx, tx, command, actor, id, secret, input)
	})
}

func (s *Service) checkEndpoint(actor tenants.Actor, input NewEndpoint) (NewEndpoint, error) {
	channel, err := reach(actor)
	if err != nil {
		return NewEndpoint{}, err
	}
	if channel != nil {
		if !input.Channel.IsZero() && input.Channel != *channel {
			return NewEndpoint{}, fault.NotFound("channel")
		}
		input.Channel = *channel
	}
	if err := s.sender.Check(input.URL); err != nil {
		return NewEndpoint{}, err
	}
	if err := checkDescription(input.Description); err != nil {
		return NewEndpoint{}, err
	}
	input.Types, err = checkTypes(input.Types)
	return input, err
}

func createEndpointTx(ctx context.Context, tx pgx.Tx, command command, actor tenants.Actor, id EndpointID, secret string, input NewEndpoint) (EndpointSecret, error) {
	queries, tenant := dbsqlc.New(tx), actor.Tenant
	earlier, replayed, err := command.claimTx(ctx, tx, id.UUID)
	if err != nil {
		return EndpointSecret{}, err
	}
	if replayed {
		return secretOf(ctx, queries, tenant, EndpointID{UUID: earlier}, secret)
	}
	n, err := queries.EndpointCount(ctx, dbsqlc.EndpointCountParams{TenantID: tenant.UUID, ChannelID: orNull(input.Channel)})
	if err != nil {
		return EndpointSecret{}, fmt.Errorf("count the endpoints: %w", err)
	}
	if n >= maxEndpoints {
		return EndpointSecret{}, fault.Conflict("there are %d webhook endpoints, as many as one channel may have: delete one first", n)
	}
	now, err := clock(ctx, queries)
	if err != nil {
		return EndpointSecret{}, err
	}
	row, err := queries.EndpointInsert(ctx, dbsqlc.EndpointInsertParams{
		TenantID: tenant.UUID, ID: id.UUID, ChannelID: orNull(input.Channel), Url: input.URL, Description: input.Description,
		EventTypes: typeTexts(input.Types), Secret: secret, CreatedAt: now,
	})
	if db.ViolatedConstraint(err) == "webhook_endpoints_channel" {
		return EndpointSecret{}, fault.NotFound("channel")
	}
	if err != nil {
		return EndpointSecret{}, fmt.Errorf("insert the endpoint %s: %w", id, err)
	}
	made := EndpointSecret{Endpoint: endpointOf(row, now), Secret: secret}
	return made, auditTx(ctx, tx, actor, nil, made.Endpoint)
}

// secretOf is the answer to a repeated call. When the row keeps the very secret that this call made,
// it is this call whose commit was not answered, and the secret is told.
func secretOf(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, id EndpointID, secret string) (EndpointSecret, error) {
	row, now, err := endpointRow(ctx, queries, tenant, id)
	if err != nil {
		return EndpointSecret{}, err
	}
	made := EndpointSecret{Endpoint: endpointOf(row, now)}
	if row.Secret == secret {
		made.Secret = secret
	}
	return made, nil
}

// endpointRow reads an endpoint that is not deleted, and the clock.
func endpointRow(ctx context.Context, queries *dbsqlc.Queries, tenant tenants.TenantID, id EndpointID) (dbsqlc.WebhookEndpoint, time.Time, error) {
	rows, err := queries.EndpointGetMany(ctx, dbsqlc.EndpointGetManyParams{TenantID: tenant.UUID, Ids: []uuid.UUID{id.UUID}})
	if err != nil {
		return dbsqlc.WebhookEndpoint{}, time.Time{}, fmt.Errorf("read the endpoint %s: %w", id, err)
	}
	if len(rows) == 0 || rows[0].DeletedAt != nil {
		return dbsqlc.WebhookEndpoint{}, time.Time{}, fault.NotFound("webhook endpoint")
	}
	now, err := clock(ctx, queries)
	return rows[0], now, err
}

// Endpoint is one endpoint that the actor manages: a partner those of its channel, an admin all.
func (s *Service) Endpoint(ctx context.Context, actor tenants.Actor, id EndpointID) (Endpoint, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEndpointRead, actor.Tenant); err != nil {
		return Endpoint{}, err
	}
	return s.endpoint(ctx, actor, id)
}

// endpoint is Endpoint for callers that have authorised.
func (s *Service) endpoint(ctx context.Context, actor tenants.Actor, id EndpointID) (Endpoint, error) {
	row, now, err := endpointRow(ctx, dbsqlc.New(s.db.Pool()), actor.Tenant, id)
	if err != nil {
		return Endpoint{}, db.Classify(err)
	}
	return mine(actor, endpointOf(row, now))
}

// mine hides an endpoint that is not the actor's to manage.
func mine(actor tenants.Actor, endpoint Endpoint) (Endpoint, error) {
	channel, err := reach(actor)
	if err != nil {
		return Endpoint{}, err
	}
	if channel != nil && *channel != endpoint.Channel {
		return Endpoint{}, fault.NotFound("webhook endpoint")
	}
	return endpoint, nil
}

// Endpoints lists those that the actor manages by id, at most limit after the given one, and says
// whether more follow.
func (s *Service) Endpoints(ctx context.Context, actor tenants.Actor, after EndpointID, limit int) ([]Endpoint, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionEndpointRead, actor.Tenant); err != nil {
		return nil, false, err
	}
	if err := checkPage(limit); err != nil {
		return nil, false, err
	}
	channel, err := reach(actor)
	if err != nil {
		return nil, false, err
	}
	params := dbsqlc.EndpointListParams{TenantID: actor.Tenant.UUID, After: after.UUID, MaxRows: int64(limit) + 1}
	if channel != nil {
		params.OneChannel, params.ChannelID = true, channel.UUID
	}
	queries := dbsqlc.New(s.db.Pool())
	rows, err := queries.EndpointList(ctx, params)
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list the endpoints: %w", err))
	}
	now, err := clock(ctx, queries)
	if err != nil {
		return nil, false, db.Classify(err)
	}
	more := len(rows) > limit
	rows = rows[:min(limit, len(rows))]
	found := make([]Endpoint, len(rows))
	for i, row := range rows {
		found[i] = endpointOf(row, now)
	}
	return found, more, nil
}

// newSecret is a key for HMAC-SHA256 in the form of Standard Webhooks.
func newSecret() string {
	const secretBytes = 32
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // documented never to fail
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

func checkDescription(text string) error {
	if utf8.RuneCountInString(text) > maxDescriptionLength || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return fault.Invalid("description", "expected one line of at most %d characters, without control characters", maxDescriptionLength)
	}
	return nil
}

// checkTypes puts types into the order of the table, each once.
func checkTypes(types []Type) ([]Type, error) {
	for i, t := range types {
		if _, known := meaningOf(t); !known || t == TypeEndpointPing {
			return nil, fault.Invalid(fmt.Sprintf("types[%d]", i), "expected a type of event other than %s, got %.40q", TypeEndpointPing, t)
		}
	}
	var ordered []Type
	for _, meaning := range Meanings() {
		if slices.Contains(types, meaning.Type) {
			ordered = append(ordered, meaning.Type)
		}
	}
	return ordered, nil
}

// typeTexts is how types are stored: an empty list, never NULL.
func typeTexts(types []Type) []string {
	texts := make([]string, len(types))
	for i, t := range types {
		texts[i] = string(t)
	}
	return texts
}

func typesOf(texts []string) []Type {
	types := make([]Type, len(texts))
	for i, text := range texts {
		types[i] = Type(text)
	}
	return types
}

func endpointOf(row dbsqlc.WebhookEndpoint, now time.Time) Endpoint {
	e := Endpoint{
		ID: EndpointID{UUID: row.ID}, Tenant: tenants.TenantID{UUID: row.TenantID}, Channel: channelOf(row.ChannelID), URL: row.Url,
		Description: row.Description, Types: typesOf(row.EventTypes), State: EndpointState(row.State), DisabledAt: row.DisabledAt,
		Version: row.Version, CreatedAt: row.CreatedAt,
	}
	if row.DisabledReason != nil {
		e.Reason = DisabledReason(*row.DisabledReason)
	}
	if row.PreviousSecretUntil != nil && row.PreviousSecretUntil.After(now) {
		e.RotatedUntil = row.PreviousSecretUntil
	}
	return e
}
