package tenants

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// A seller who knows its customers needs no guest sessions: it signs a reference to one, and whoever
// presents it with a key of the same channel is that customer, today and next year. A reference is
//
//	hfc.<id of the secret>.<claims>.<signature>
//
// with the claims as JSON in base64url, {"sub": "customer 17", "iat": 1900000000, "exp": 1900000600},
// and the HMAC-SHA256, in base64url, of all that stands before the last dot. It is good for at most
// MaxReferenceLifetime, which bounds for how long one that was overheard is of use.

// MaxReferenceLifetime is how long after it was signed a reference may be good.
const MaxReferenceLifetime = time.Hour

const (
	referencePrefix    = "hfc."
	maxReferenceLength = 2048
	// referenceSkew is how far ahead a seller's clock may be.
	referenceSkew = 30 * time.Second
	// maxCustomerSecrets is how many of one channel may sign at a time: two while one replaces the
	// other, and some for programs apart.
	maxCustomerSecrets  = 5
	customerSecretBytes = 32
)

const (
	referenceForm    = `Holdfast-Session: expected a reference of the form hfc.<secret id>.<claims>.<signature>, with the claims {"sub": …, "iat": …, "exp": …} in base64url`
	referenceUnknown = "Holdfast-Session: the reference is not signed with a secret of this key's channel"
	referenceExpired = "Holdfast-Session: the reference has expired: sign another"
	referenceTimes   = "Holdfast-Session: expected a reference that was signed in the past (iat) and ends (exp) at most an hour after that"
)

// CustomerSecret is a secret that signs references, without its text.
type CustomerSecret struct {
	ID        CustomerSecretID
	Channel   ChannelID
	CreatedAt time.Time
	EndedAt   *time.Time
}

// CustomerSecretCreated is a secret with its text, which is told only in the answer to the call that
// made it: it is empty when the call is repeated.
type CustomerSecretCreated struct {
	CustomerSecret
	Secret string
}

// CreateCustomerSecret makes a secret that signs references to customers of a channel. A partner's
// is of its own channel. Two may sign at a time, so that one can replace the other.
func (s *Service) CreateCustomerSecret(ctx context.Context, actor Actor, requestKey string, channel ChannelID) (CustomerSecretCreated, error) {
	if err := s.authorizer.Authorize(actor, ActionCustomerSecret, actor.Tenant); err != nil {
		return CustomerSecretCreated{}, err
	}
	if err := ownChannel(actor, channel); err != nil {
		return CustomerSecretCreated{}, err
	}
	command, err := newCommand("createCustomerSecret", actor, requestKey, channel.String())
	if err != nil {
		return CustomerSecretCreated{}, err
	}
	raw := make([]byte, customerSecretBytes)
	_, _ = rand.Read(raw) // documented never to fail
	id, secret := ids.NewGlobal[CustomerSecretKind](), base64.RawURLEncoding.EncodeToString(raw)
	return db.Replayable(ctx, s.db, "tenants.CreateCustomerSecret", func(ctx context.Context, tx pgx.Tx) (CustomerSecretCreated, error) {
		return createCustomerSecretTx(ctx, tx, command, actor.Tenant, channel, id, secret)
	})
}

// ownChannel keeps a partner to the channel that it sells through.
func ownChannel(actor Actor, channel ChannelID) error {
	if actor.KeyType == KeyTypePartner && channel != actor.Channel {
		return fault.NotFound("channel")
	}
	return nil
}

func createCustomerSecretTx(ctx context.Context, tx pgx.Tx, command command, tenantID TenantID, channel ChannelID, id CustomerSecretID, secret string) (CustomerSecretCreated, error) {
	queries := dbsqlc.New(tx)
	tenant, err := tenantTx(ctx, queries, tenantID)
	if err != nil {
		return CustomerSecretCreated{}, err
	}
	earlier, replayed, err := command.claimTx(ctx, tx, tenantID.UUID, tenant.HomeRegion, id.UUID)
	if err != nil {
		return CustomerSecretCreated{}, err
	}
	if replayed {
		row, err := queries.CustomerSecretGet(ctx, dbsqlc.CustomerSecretGetParams{TenantID: tenantID.UUID, ID: earlier})
		if err != nil {
			return CustomerSecretCreated{}, fmt.Errorf("read a customer secret made before: %w", err)
		}
		created := CustomerSecretCreated{CustomerSecret: customerSecretOf(row)}
		if row.Secret == secret {
			// It is this very call whose commit was not answered.
			created.Secret = secret
		}
		return created, nil
	}
	if _, err := channelTx(ctx, queries, tenantID, channel); err != nil {
		return CustomerSecretCreated{}, err
	}
	present, err := queries.CustomerSecretsOfChannel(ctx, dbsqlc.CustomerSecretsOfChannelParams{TenantID: tenantID.UUID, ChannelID: channel.UUID})
	if err != nil {
		return CustomerSecretCreated{}, fmt.Errorf("count the customer secrets of a channel: %w", err)
	}
	if len(present) >= maxCustomerSecrets {
		return CustomerSecretCreated{}, fault.Conflict("the channel has %d customer secrets: end one first", maxCustomerSecrets)
	}
	row, err := queries.CustomerSecretInsert(ctx, dbsqlc.CustomerSecretInsertParams{TenantID: tenantID.UUID, ID: id.UUID, ChannelID: channel.UUID, Secret: secret})
	if err != nil {
		return CustomerSecretCreated{}, fmt.Errorf("insert a customer secret: %w", err)
	}
	made := customerSecretOf(row)
	return CustomerSecretCreated{CustomerSecret: made, Secret: secret}, AuditAsTx(ctx, tx, tenantID, command.author, Change{
		Action: ActionCustomerSecret, Resource: made.ID, After: made,
	})
}

// EndCustomerSecret makes all references that a secret signed worthless; saying it twice changes
// nothing. What customers hold and have bought stays theirs. Other processes notice after at most
// Config.KeyCacheAge.
func (s *Service) EndCustomerSecret(ctx context.Context, actor Actor, id CustomerSecretID) (CustomerSecret, error) {
	if err := s.authorizer.Authorize(actor, ActionCustomerSecret, actor.Tenant); err != nil {
		return CustomerSecret{}, err
	}
	ended, err := db.Replayable(ctx, s.db, "tenants.EndCustomerSecret", func(ctx context.Context, tx pgx.Tx) (CustomerSecret, error) {
		before, err := dbsqlc.New(tx).CustomerSecretFind(ctx, dbsqlc.CustomerSecretFindParams{TenantID: actor.Tenant.UUID, ID: id.UUID})
		if err != nil && !db.IsNoRows(err) {
			return CustomerSecret{}, fmt.Errorf("read the customer secret %s: %w", id, err)
		}
		row, err := dbsqlc.New(tx).CustomerSecretEnd(ctx, dbsqlc.CustomerSecretEndParams{
			TenantID: actor.Tenant.UUID, ID: id.UUID, OneChannel: actor.KeyType == KeyTypePartner, ChannelID: actor.Channel.UUID,
		})
		if db.IsNoRows(err) {
			return CustomerSecret{}, fault.NotFound("customer secret")
		}
		if err != nil {
			return CustomerSecret{}, fmt.Errorf("end the customer secret %s: %w", id, err)
		}
		over := customerSecretOf(row)
		was := over
		was.EndedAt = before.EndedAt
		return over, AuditTx(ctx, tx, actor, Change{Action: ActionCustomerSecret, Resource: id, Before: was, After: over})
	})
	s.customers.dropWhere(func(known knownSecret) bool { return known.id == id })
	return ended, err
}

// CustomerSecrets lists the secrets that sign for a channel, the oldest first.
func (s *Service) CustomerSecrets(ctx context.Context, actor Actor, channel ChannelID) ([]CustomerSecret, error) {
	if err := s.authorizer.Authorize(actor, ActionCustomerSecret, actor.Tenant); err != nil {
		return nil, err
	}
	if err := ownChannel(actor, channel); err != nil {
		return nil, err
	}
	if _, err := channelTx(ctx, s.read(), actor.Tenant, channel); err != nil {
		return nil, db.Classify(err)
	}
	rows, err := s.read().CustomerSecretsOfChannel(ctx, dbsqlc.CustomerSecretsOfChannelParams{TenantID: actor.Tenant.UUID, ChannelID: channel.UUID})
	if err != nil {
		return nil, failed("list customer secrets", err)
	}
	secrets := make([]CustomerSecret, len(rows))
	for i, row := range rows {
		secrets[i] = customerSecretOf(row)
	}
	return secrets, nil
}

func customerSecretOf(row dbsqlc.CustomerSecret) CustomerSecret {
	return CustomerSecret{ID: CustomerSecretID{UUID: row.ID}, Channel: ChannelID{UUID: row.ChannelID}, CreatedAt: row.CreatedAt, EndedAt: row.EndedAt}
}

// knownSecret is what was read of a secret, with how far the database's clock is ahead of this
// process's.
type knownSecret struct {
	id      CustomerSecretID
	channel ChannelID
	secret  string
	region  ids.Region
	ahead   time.Duration
}

// authenticateCustomer is the customer whom a reference is about, as an owner of holds and bookings.
func (s *Service) authenticateCustomer(ctx context.Context, tenant TenantID, reference string) (knownSession, error) {
	if len(reference) > maxReferenceLength {
		return knownSession{}, fault.Unauthenticated(referenceForm)
	}
	parts := strings.Split(reference, ".")
	if len(parts) != 4 {
		return knownSession{}, fault.Unauthenticated(referenceForm)
	}
	id, err := ids.ParseGlobal[CustomerSecretKind](parts[1])
	signature, signatureErr := base64.RawURLEncoding.DecodeString(parts[3])
	if err != nil || signatureErr != nil {
		return knownSession{}, fault.Unauthenticated(referenceForm)
	}
	known, err := s.customerSecret(ctx, tenant, id)
	if err != nil {
		return knownSession{}, err
	}
	mac := hmac.New(sha256.New, []byte(known.secret))
	mac.Write([]byte(reference[:strings.LastIndexByte(reference, '.')]))
	if !hmac.Equal(mac.Sum(nil), signature) {
		return knownSession{}, fault.Unauthenticated(referenceUnknown)
	}
	subject, err := judgeReference(parts[2], time.Now().Add(known.ahead))
	if err != nil {
		return knownSession{}, err
	}
	owner := uuid.NewSHA1(known.channel.UUID, []byte("customer/"+subject))
	return knownSession{id: SessionID{Region: known.region, UUID: owner}, tenant: tenant, channel: known.channel}, nil
}

// judgeReference reads claims whose signature is good.
func judgeReference(encoded string, now time.Time) (subject string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", fault.Unauthenticated(referenceForm)
	}
	var claims struct {
		Subject string `json:"sub"`
		Issued  int64  `json:"iat"`
		Expires int64  `json:"exp"`
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		return "", fault.Unauthenticated(referenceForm)
	}
	if n := utf8.RuneCountInString(claims.Subject); n < 1 || n > maxSubjectLength {
		return "", fault.Unauthenticated(referenceForm)
	}
	switch {
	// A difference of what anybody may have written could overflow.
	case claims.Issued <= 0, claims.Issued > now.Add(referenceSkew).Unix(), claims.Expires <= claims.Issued,
		claims.Expires > claims.Issued+int64(MaxReferenceLifetime.Seconds()):
		return "", fault.Unauthenticated(referenceTimes)
	case now.Unix() >= claims.Expires:
		return "", fault.Unauthenticated(referenceExpired)
	}
	return claims.Subject, nil
}

// customerSecret reads a secret that signs, and remembers it for Config.KeyCacheAge.
func (s *Service) customerSecret(ctx context.Context, tenant TenantID, id CustomerSecretID) (knownSecret, error) {
	hash := hashToken("customer/" + tenant.UUID.String() + "/" + id.UUID.String())
	if known, ok := s.customers.get(hash); ok {
		return known, nil
	}
	return shared(ctx, s, "customer/"+string(hash[:]), func(ctx context.Context) (knownSecret, error) {
		row, err := s.read().CustomerSecretFind(ctx, dbsqlc.CustomerSecretFindParams{TenantID: tenant.UUID, ID: id.UUID})
		if db.IsNoRows(err) || err == nil && row.EndedAt != nil {
			return knownSecret{}, fault.Unauthenticated(referenceUnknown)
		}
		if err != nil {
			return knownSecret{}, failed("look for a customer secret", err)
		}
		known := knownSecret{
			id: id, channel: ChannelID{UUID: row.ChannelID}, secret: row.Secret, region: ids.Region(row.HomeRegion), ahead: time.Until(row.AskedAt),
		}
		s.customers.put(hash, known, s.config.KeyCacheAge)
		return known, nil
	})
}
