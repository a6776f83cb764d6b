package tenants

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// GuestSession is one buyer's, at one channel of one tenant. It owns what the buyer holds and buys.
type GuestSession struct {
	ID SessionID
	// Token is presented in the Holdfast-Session header, together with a key of the same channel.
	// It is told only here.
	Token string
	// ExpiresAt is fixed when the session starts; using it does not prolong it.
	ExpiresAt time.Time
}

// StartGuestSession starts a session at the channel of the actor's key. region is where the guest
// buys; zero means the tenant's home region. It takes no request key: an answer that was lost
// leaves a session behind that nobody can use.
func (s *Service) StartGuestSession(ctx context.Context, actor Actor, region ids.Region) (GuestSession, error) {
	if err := s.authorizer.Authorize(actor, ActionSessionStart, actor.Tenant); err != nil {
		return GuestSession{}, err
	}
	if actor.Channel.IsZero() {
		return GuestSession{}, fault.Denied("a guest session needs a key that sells through a channel")
	}
	if region == "" {
		row, err := s.read().TenantGet(ctx, actor.Tenant.UUID)
		if db.IsNoRows(err) {
			return GuestSession{}, fault.NotFound("tenant")
		}
		if err != nil {
			return GuestSession{}, failed("read the home region of a tenant", err)
		}
		region = ids.Region(row.HomeRegion)
	}
	if err := s.region("region", region); err != nil {
		return GuestSession{}, err
	}
	sells, err := s.read().RegionFind(ctx, dbsqlc.RegionFindParams{TenantID: actor.Tenant.UUID, Region: string(region)})
	if err != nil {
		return GuestSession{}, failed("find a region of a tenant", err)
	}
	if !sells {
		return GuestSession{}, fault.Invalid("region", "expected a region in which the tenant sells, got %q", region)
	}
	id := ids.New[SessionKind](region)
	token := newSessionToken(id)
	return db.Replayable(ctx, s.db, "tenants.StartGuestSession", func(ctx context.Context, tx pgx.Tx) (GuestSession, error) {
		return startSessionTx(ctx, tx, actor, id, token, s.config.SessionLifetime)
	})
}

func startSessionTx(ctx context.Context, tx pgx.Tx, actor Actor, id SessionID, token string, lifetime time.Duration) (GuestSession, error) {
	queries := dbsqlc.New(tx)
	hash := hashToken(token)
	err := queries.SessionInsert(ctx, dbsqlc.SessionInsertParams{
		TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID, ChannelID: actor.Channel.UUID,
		SecretHash: hash[:], LifetimeSeconds: lifetime.Seconds(),
	})
	if err != nil {
		return GuestSession{}, fmt.Errorf("insert the session %s: %w", id, err)
	}
	row, err := queries.SessionFind(ctx, dbsqlc.SessionFindParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if err != nil {
		return GuestSession{}, fmt.Errorf("read the session %s: %w", id, err)
	}
	return GuestSession{ID: id, Token: token, ExpiresAt: row.ExpiresAt}, nil
}
