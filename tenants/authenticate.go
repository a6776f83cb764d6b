package tenants

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// What is answered to a credential that names nobody. A wrong secret and an unknown id answer
// alike; that a credential was revoked or expired is told only to who presents all of it.
const (
	keyForms         = "a key of the form hfk_live_<64 characters> (or hfk_test_, hfp_live_, hfp_test_, hfo_live_)"
	keyExpected      = `Authorization: expected "Bearer <key>" with ` + keyForms
	keyUnknown       = "Authorization: no such key"
	keyRevoked       = "Authorization: the key was revoked"
	keyExpired       = "Authorization: the key has expired"
	keyElsewhere     = "Origin: pages of this origin may not present this key: add it to the key's allowedOrigins"
	keyIsSession     = "Authorization: expected a key, got the token of a guest session, which belongs in the Holdfast-Session header"
	sessionExpected  = "Holdfast-Session: expected a token of the form hfs_<region>_<64 characters>, as startGuestSession returns it"
	sessionUnknown   = "Holdfast-Session: no such session"
	sessionExpired   = "Holdfast-Session: the session has expired: start another"
	sessionElsewhere = "Holdfast-Session: the session belongs to another channel than the key of the Authorization header"
	sessionNotForKey = "Holdfast-Session: only a publishable or partner key acts for a guest: present one of those, or leave this header out"
)

// knownKey is what a good key means; the actor has no session yet.
type knownKey struct {
	actor Actor
	// origins are the pages that may present the key; none means any.
	origins []string
}

// knownSession is what a good session token means, together with a key of its tenant.
type knownSession struct {
	id      SessionID
	tenant  TenantID
	channel ChannelID
}

// ParseBearer is the credential in the value of an Authorization header. An empty value gives an
// empty credential, which Authenticate refuses with a message of its own.
func ParseBearer(header string) (string, error) {
	header = strings.TrimSpace(header)
	if header == "" {
		return "", nil
	}
	scheme, credential, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", fault.Unauthenticated("%s, got another scheme", keyExpected)
	}
	return strings.TrimSpace(credential), nil
}

// CheckKeyForm says what is wrong with the form of a key that was given without a header, on a
// command line; whether there is such a key only Authenticate knows.
func CheckKeyForm(key string) error {
	if key == "" {
		return fault.Unauthenticated("expected %s, got none", keyForms)
	}
	if _, ok := parseKeyToken(key); !ok {
		return fault.Unauthenticated("expected %s, got something else", keyForms)
	}
	return nil
}

// Authenticate tells who presents a key (the text after "Bearer " of the Authorization header)
// and, unless it is empty, the token of a guest session (the Holdfast-Session header). Expiry is
// judged by the database's clock. The fault is KindUnauthenticated and says which header is wrong
// and what was expected, or KindUnavailable when the database does not answer.
//
// A suspended channel authenticates all the same: see Actor.ChannelSuspended.
func (s *Service) Authenticate(ctx context.Context, bearer, sessionToken string) (Actor, error) {
	return s.AuthenticateAll(ctx, Credentials{Bearer: bearer, Session: sessionToken})
}

// Credentials are what a request presents.
type Credentials struct {
	// Bearer is a key, or a token of an identity provider.
	Bearer string
	// Session is the token of a guest session, or a partner's reference to a customer of its own;
	// empty for none.
	Session string
	// Tenant is the id of the tenant in which a token's subject acts; it may be left out by members of
	// one tenant.
	Tenant string
	// Origin is the web page that asks, as browsers say it; empty for a program.
	Origin string
}

// AuthenticateAll is Authenticate for all that a request may present.
func (s *Service) AuthenticateAll(ctx context.Context, c Credentials) (Actor, error) {
	actor, err := s.authenticateBearer(ctx, c)
	if err != nil || c.Session == "" {
		return actor, err
	}
	sessionToken := c.Session
	switch actor.KeyType {
	case KeyTypePartner, KeyTypePublishable:
	case KeyTypeAdmin, KeyTypePlatform, KeyTypeMember:
		return Actor{}, fault.Unauthenticated(sessionNotForKey)
	}
	session, err := s.authenticateSession(ctx, actor.Tenant, sessionToken)
	if err != nil {
		return Actor{}, err
	}
	if session.channel != actor.Channel {
		return Actor{}, fault.Unauthenticated(sessionElsewhere)
	}
	actor.Session = session.id
	return actor, nil
}

func (s *Service) authenticateBearer(ctx context.Context, c Credentials) (Actor, error) {
	if looksLikeToken(c.Bearer) {
		return s.authenticateToken(ctx, c.Bearer, c.Tenant)
	}
	if c.Tenant != "" {
		return Actor{}, fault.Unauthenticated(tenantNotForKey)
	}
	known, err := s.authenticateKey(ctx, c.Bearer)
	if err != nil {
		return Actor{}, err
	}
	if len(known.origins) > 0 && c.Origin != "" && !slices.Contains(known.origins, c.Origin) {
		return Actor{}, fault.Unauthenticated(keyElsewhere)
	}
	return known.actor, nil
}

func (s *Service) authenticateKey(ctx context.Context, bearer string) (knownKey, error) {
	if bearer == "" {
		return knownKey{}, fault.Unauthenticated("%s, got none", keyExpected)
	}
	id, ok := parseKeyToken(bearer)
	if !ok {
		if strings.HasPrefix(bearer, sessionTokenPrefix+"_") {
			return knownKey{}, fault.Unauthenticated(keyIsSession)
		}
		return knownKey{}, fault.Unauthenticated("%s, got something else", keyExpected)
	}
	hash := hashToken(bearer)
	if known, ok := s.keys.get(hash); ok {
		return known, nil
	}
	return shared(ctx, s, "key/"+string(hash[:]), func(ctx context.Context) (knownKey, error) {
		return s.findKey(ctx, id, hash)
	})
}

// findKey asks the database, and remembers a good answer.
func (s *Service) findKey(ctx context.Context, id KeyID, hash tokenHash) (knownKey, error) {
	row, err := s.read().KeyFind(ctx, id.UUID)
	if db.IsNoRows(err) {
		return knownKey{}, fault.Unauthenticated(keyUnknown)
	}
	if err != nil {
		return knownKey{}, failed("look for a key", err)
	}
	switch {
	case subtle.ConstantTimeCompare(row.SecretHash, hash[:]) != 1:
		return knownKey{}, fault.Unauthenticated(keyUnknown)
	case row.RevokedAt != nil:
		return knownKey{}, fault.Unauthenticated(keyRevoked)
	case row.ExpiresAt != nil && !row.AskedAt.Before(*row.ExpiresAt):
		return knownKey{}, fault.Unauthenticated(keyExpired)
	}
	age := s.config.KeyCacheAge
	if row.ExpiresAt != nil {
		age = min(age, row.ExpiresAt.Sub(row.AskedAt))
	}
	known := knownKey{origins: row.AllowedOrigins, actor: Actor{
		Tenant: TenantID{UUID: uuidOrZero(row.TenantID)}, Key: id, KeyType: KeyType(row.Kind), Mode: Mode(row.Mode),
		Channel: ChannelID{UUID: uuidOrZero(row.ChannelID)}, ChannelSuspended: row.ChannelSuspended,
	}}
	s.keys.put(hash, known, age)
	if row.LastUsedAt == nil || row.AskedAt.Sub(*row.LastUsedAt) >= usedInterval {
		s.noteUse(ctx, id)
	}
	return known, nil
}

func (s *Service) authenticateSession(ctx context.Context, tenant TenantID, token string) (knownSession, error) {
	if strings.HasPrefix(token, referencePrefix) {
		return s.authenticateCustomer(ctx, tenant, token)
	}
	id, ok := parseSessionToken(token)
	if !ok {
		return knownSession{}, fault.Unauthenticated(sessionExpected)
	}
	hash := hashToken(token)
	if known, ok := s.sessions.get(hash); ok {
		if known.tenant != tenant {
			return knownSession{}, fault.Unauthenticated(sessionUnknown)
		}
		return known, nil
	}
	return shared(ctx, s, "session/"+tenant.UUID.String()+"/"+string(hash[:]), func(ctx context.Context) (knownSession, error) {
		return s.findSession(ctx, tenant, id, hash)
	})
}

func (s *Service) findSession(ctx context.Context, tenant TenantID, id SessionID, hash tokenHash) (knownSession, error) {
	row, err := s.read().SessionFind(ctx, dbsqlc.SessionFindParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return knownSession{}, fault.Unauthenticated(sessionUnknown)
	}
	if err != nil {
		return knownSession{}, failed("look for a session", err)
	}
	switch {
	case subtle.ConstantTimeCompare(row.SecretHash, hash[:]) != 1:
		return knownSession{}, fault.Unauthenticated(sessionUnknown)
	case !row.AskedAt.Before(row.ExpiresAt):
		return knownSession{}, fault.Unauthenticated(sessionExpired)
	}
	known := knownSession{id: id, tenant: tenant, channel: ChannelID{UUID: row.ChannelID}}
	s.sessions.put(hash, known, min(s.config.SessionCacheAge, row.ExpiresAt.Sub(row.AskedAt)))
	return known, nil
}

// shared lets requests that present the same credential at the same moment wait for one read of
// it. The read goes on when the request that began it is given up, because others may wait.
func shared[T any](ctx context.Context, s *Service, name string, find func(ctx context.Context) (T, error)) (T, error) {
	results := s.lookups.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		return find(ctx)
	})
	var zero T
	select {
	case result := <-results:
		found, ok := result.Val.(T)
		if result.Err == nil && !ok {
			return zero, fmt.Errorf("a shared read returned %T", result.Val)
		}
		return found, result.Err
	case <-ctx.Done():
		return zero, db.Classify(ctx.Err())
	}
}

// noteUse writes last_used_at beside the request, and not at all when enough writes are under way:
// the next look-up will try again.
func (s *Service) noteUse(ctx context.Context, id KeyID) {
	select {
	case s.usedWriters <- struct{}{}:
	default:
		return
	}
	s.background.Go(func() {
		defer func() { <-s.usedWriters }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usedWriteTimeout)
		defer cancel()
		_, err := db.InTx(ctx, s.db, "tenants.NoteKeyUse", func(ctx context.Context, tx pgx.Tx) (int64, error) {
			return dbsqlc.New(tx).KeyUpdateLastUsed(ctx, dbsqlc.KeyUpdateLastUsedParams{ID: id.UUID, IntervalSeconds: usedInterval.Seconds()})
		})
		if err != nil {
			s.config.Logger.WarnContext(ctx, "noting the use of a key failed", "key", id.String(), "error", err)
		}
	})
}
