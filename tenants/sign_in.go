package tenants

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// TokenVerifier tells who an identity provider's token is about. Package tenants/oidc has one.
type TokenVerifier interface {
	// Verify judges a token. It may ask the provider for its keys, and so is called with no
	// transaction open. The fault is KindUnauthenticated and says what is wrong, or
	// KindUnavailable when the provider does not answer.
	Verify(ctx context.Context, token string) (Identity, error)
	// Issuers are those whose tokens may be about a tenant's members.
	Issuers(tenant TenantID) []string
}

// Identity is who a good token is about.
type Identity struct {
	Issuer, Subject string
	// Email is empty unless the issuer says that it has verified it.
	Email string
	// Tenant is the only one for which the issuer is trusted; zero for all of the installation.
	Tenant TenantID
	// ExpiresAt is when the token ends.
	ExpiresAt time.Time
}

const (
	tokenElsewhere  = "Authorization: the token's subject is no member of the tenant that the Holdfast-Tenant header names"
	tokenNobody     = "Authorization: the token's subject is no member of any tenant: ask an owner for an invitation to this issuer and subject"
	tokenAmbiguous  = "Holdfast-Tenant: the token's subject is a member of several tenants: name one by its id"
	tokenNoIssuers  = "Authorization: expected a key; this installation takes no tokens of identity providers"
	tenantNotForKey = "Holdfast-Tenant: a key belongs to one tenant: leave this header out"
	tenantForm      = "Holdfast-Tenant: expected the id of a tenant, such as tenant_…"
)

// looksLikeToken tells an identity provider's token, which has three parts with dots between, from keys.
func looksLikeToken(bearer string) bool { return strings.Count(bearer, ".") == 2 }

// authenticateToken is the member of a tenant whom a token is about. Once it was found good it is not
// asked again for Config.KeyCacheAge; then the database says whether the roles have changed.
func (s *Service) authenticateToken(ctx context.Context, token, tenantHeader string) (Actor, error) {
	if s.config.Tokens == nil {
		return Actor{}, fault.Unauthenticated(tokenNoIssuers)
	}
	var named TenantID
	if tenantHeader != "" {
		id, err := ids.ParseGlobal[TenantKind](tenantHeader)
		if err != nil {
			return Actor{}, fault.Unauthenticated(tenantForm)
		}
		named = id
	}
	hash := hashToken(token + "\n" + named.UUID.String())
	if known, ok := s.keys.get(hash); ok {
		return known.actor, nil
	}
	known, err := shared(ctx, s, "token/"+string(hash[:]), func(ctx context.Context) (knownKey, error) {
		return s.findMember(ctx, token, named, hash)
	})
	return known.actor, err
}

func (s *Service) findMember(ctx context.Context, token string, named TenantID, hash tokenHash) (knownKey, error) {
	identity, err := s.config.Tokens.Verify(ctx, token)
	if err != nil {
		return knownKey{}, err
	}
	if !identity.Tenant.IsZero() {
		if !named.IsZero() && named != identity.Tenant {
			return knownKey{}, fault.Unauthenticated(tokenElsewhere)
		}
		named = identity.Tenant
	}
	row, err := s.memberOfToken(ctx, identity, named)
	if err != nil {
		return knownKey{}, err
	}
	if MemberState(row.State) == MemberStateInvited {
		if err := s.activate(ctx, TenantID{UUID: row.TenantID}, MemberID{UUID: row.ID}, identity.Subject); err != nil {
			return knownKey{}, err
		}
	}
	grants, err := s.grantsOf(ctx, TenantID{UUID: row.TenantID}, MemberID{UUID: row.ID}, row.Version)
	if err != nil {
		return knownKey{}, err
	}
	known := knownKey{actor: Actor{
		Tenant: TenantID{UUID: row.TenantID}, Key: KeyID{UUID: row.ID}, KeyType: KeyTypeMember, Mode: ModeLive,
		Member: MemberID{UUID: row.ID}, Grants: grants,
		Channel: ChannelID{UUID: uuidOrZero(row.ChannelID)}, ChannelSuspended: row.ChannelSuspended,
	}}
	if age := min(s.config.KeyCacheAge, time.Until(identity.ExpiresAt)); age > 0 {
		s.keys.put(hash, known, age)
	}
	return known, nil
}

// memberOfToken finds the member, in the tenant that is named or in the only one there is.
func (s *Service) memberOfToken(ctx context.Context, identity Identity, named TenantID) (dbsqlc.MembersFindRow, error) {
	rows, err := s.read().MembersFind(ctx, dbsqlc.MembersFindParams{Issuer: identity.Issuer, Subject: identity.Subject})
	if err != nil {
		return dbsqlc.MembersFindRow{}, failed("look for a member", err)
	}
	row, err := only(rows, func(r dbsqlc.MembersFindRow) uuid.UUID { return r.TenantID }, named)
	if fault.KindOf(err) != fault.KindNotFound || identity.Email == "" {
		return row, unknownMember(err, named)
	}
	invited, err := s.read().MembersInvited(ctx, dbsqlc.MembersInvitedParams{Issuer: identity.Issuer, Email: strings.ToLower(identity.Email)})
	if err != nil {
		return dbsqlc.MembersFindRow{}, failed("look for an invitation", err)
	}
	invitation, err := only(invited, func(r dbsqlc.MembersInvitedRow) uuid.UUID { return r.TenantID }, named)
	if err != nil {
		return dbsqlc.MembersFindRow{}, unknownMember(err, named)
	}
	if err := s.activate(ctx, TenantID{UUID: invitation.TenantID}, MemberID{UUID: invitation.ID}, identity.Subject); err != nil {
		return dbsqlc.MembersFindRow{}, err
	}
	rows, err = s.read().MembersFind(ctx, dbsqlc.MembersFindParams{Issuer: identity.Issuer, Subject: identity.Subject})
	if err != nil {
		return dbsqlc.MembersFindRow{}, failed("look for a member", err)
	}
	row, err = only(rows, func(r dbsqlc.MembersFindRow) uuid.UUID { return r.TenantID }, TenantID{UUID: invitation.TenantID})
	return row, unknownMember(err, named)
}

// only is the row of the named tenant, or of the only one that there is.
func only[R any](rows []R, tenantOf func(R) uuid.UUID, named TenantID) (R, error) {
	var none R
	if named.IsZero() {
		switch len(rows) {
		case 0:
			return none, fault.NotFound("member")
		case 1:
			return rows[0], nil
		}
		return none, fault.Unauthenticated(tokenAmbiguous)
	}
	for _, row := range rows {
		if tenantOf(row) == named.UUID {
			return row, nil
		}
	}
	return none, fault.NotFound("member")
}

// unknownMember says the same of a tenant where somebody else is a member and of one that does not
// exist.
func unknownMember(err error, named TenantID) error {
	switch {
	case fault.KindOf(err) != fault.KindNotFound:
		return err
	case named.IsZero():
		return fault.Unauthenticated(tokenNobody)
	}
	return fault.Unauthenticated(tokenElsewhere)
}

// activate notes the first sign-in. One that is noted already is left as it is.
func (s *Service) activate(ctx context.Context, tenant TenantID, id MemberID, subject string) error {
	_, err := db.Replayable(ctx, s.db, "tenants.ActivateMember", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		return dbsqlc.New(tx).MemberActivate(ctx, dbsqlc.MemberActivateParams{TenantID: tenant.UUID, ID: id.UUID, Subject: subject})
	})
	if db.ViolatedConstraint(err) == "members_subject_unique" {
		return fault.Unauthenticated("Authorization: the token's subject is another member of this tenant already")
	}
	return err
}

// knownGrants are a member's, as of a version of the tenant's members.
type knownGrants struct {
	version int64
	member  MemberID
	grants  *Grants
}

// grantsOf are what a member may do. They are read again when the version has grown.
func (s *Service) grantsOf(ctx context.Context, tenant TenantID, id MemberID, version int64) (*Grants, error) {
	hash := hashToken("grants/" + tenant.UUID.String() + "/" + id.UUID.String())
	if known, ok := s.grants.get(hash); ok && known.version == version {
		return known.grants, nil
	}
	bindings, err := bindingsOf(ctx, s.read(), tenant, []uuid.UUID{id.UUID})
	if err != nil {
		return nil, db.Classify(err)
	}
	known := knownGrants{version: version, member: id, grants: NewGrants(bindings[id])}
	// What was read may be newer than the version; then it is read once more than needed.
	s.grants.put(hash, known, s.config.SessionCacheAge)
	return known.grants, nil
}

// forgetMember makes this process look again at once.
func (s *Service) forgetMember(id MemberID) {
	s.keys.dropWhere(func(known knownKey) bool { return known.actor.Member == id })
}
