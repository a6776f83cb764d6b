package tenants

import (
	"context"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// What is answered to the token of an admin session that opens nothing. It never says more: only
// the pages themselves see it, and they ask to sign in again.
const adminSessionOver = "the admin session is over: sign in again"

// AdminSession lets a person into the admin pages in the place of the key that they presented once.
// It is worth what the key is worth at each moment, and ends with it.
type AdminSession struct {
	// Token is what the browser presents. It is told only here.
	Token string
	// ExpiresAt is fixed when the session starts; using it does not prolong it.
	ExpiresAt time.Time
}

// StartAdminSession starts a session of the actor's platform key. Keys of tenants are refused, as
// fault.KindDenied.
func (s *Service) StartAdminSession(ctx context.Context, actor Actor) (AdminSession, error) {
	if err := s.authorizer.Authorize(actor, ActionJobInspect, TenantID{}); err != nil {
		return AdminSession{}, err
	}
	if actor.KeyType != KeyTypePlatform {
		return AdminSession{}, fault.Denied("only a platform key opens the admin pages")
	}
	id := uuid.New()
	token := adminTokenPrefix + "_" + newTokenBody(id)
	return db.Replayable(ctx, s.db, "tenants.StartAdminSession", func(ctx context.Context, tx pgx.Tx) (AdminSession, error) {
		return startAdminSessionTx(ctx, tx, actor.Key, id, token)
	})
}

func startAdminSessionTx(ctx context.Context, tx pgx.Tx, key KeyID, id uuid.UUID, token string) (AdminSession, error) {
	queries := dbsqlc.New(tx)
	hash := hashToken(token)
	err := queries.AdminSessionInsert(ctx, dbsqlc.AdminSessionInsertParams{
		ID: id, KeyID: key.UUID, SecretHash: hash[:], LifetimeSeconds: adminSessionLifetime.Seconds(),
	})
	if err != nil {
		return AdminSession{}, fmt.Errorf("insert an admin session: %w", err)
	}
	row, err := queries.AdminSessionFind(ctx, id)
	if err != nil {
		return AdminSession{}, fmt.Errorf("read an admin session: %w", err)
	}
	return AdminSession{Token: token, ExpiresAt: row.ExpiresAt}, nil
}

// AuthenticateAdmin tells whose session a token is. It asks the database each time, so that a key
// that was revoked opens nothing any more. The fault is KindUnauthenticated for a token that opens
// nothing, or KindUnavailable when the database does not answer. What the actor may do is still to
// be asked.
func (s *Service) AuthenticateAdmin(ctx context.Context, token string) (Actor, error) {
	id, ok := parseAdminToken(token)
	if !ok {
		return Actor{}, fault.Unauthenticated(adminSessionOver)
	}
	row, err := s.read().AdminSessionFind(ctx, id)
	if db.IsNoRows(err) {
		return Actor{}, fault.Unauthenticated(adminSessionOver)
	}
	if err != nil {
		return Actor{}, failed("look for an admin session", err)
	}
	hash := hashToken(token)
	switch {
	case subtle.ConstantTimeCompare(row.SecretHash, hash[:]) != 1,
		!row.AskedAt.Before(row.ExpiresAt),
		row.RevokedAt != nil,
		row.KeyExpiresAt != nil && !row.AskedAt.Before(*row.KeyExpiresAt):
		return Actor{}, fault.Unauthenticated(adminSessionOver)
	}
	return Actor{Key: KeyID{UUID: row.KeyID}, KeyType: KeyType(row.Kind), Mode: Mode(row.Mode)}, nil
}

// EndAdminSession makes a token worthless; one that is already is no fault.
func (s *Service) EndAdminSession(ctx context.Context, token string) error {
	id, ok := parseAdminToken(token)
	if !ok {
		return nil
	}
	hash := hashToken(token)
	_, err := db.Replayable(ctx, s.db, "tenants.EndAdminSession", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		return dbsqlc.New(tx).AdminSessionDelete(ctx, dbsqlc.AdminSessionDeleteParams{ID: id, SecretHash: hash[:]})
	})
	if err != nil {
		return fmt.Errorf("end an admin session: %w", err)
	}
	return nil
}

// DeleteAdminSessionsTx deletes at most limit sessions that expired before an instant.
func DeleteAdminSessionsTx(ctx context.Context, tx pgx.Tx, before time.Time, limit int32) (int64, error) {
	n, err := dbsqlc.New(tx).AdminSessionsDelete(ctx, dbsqlc.AdminSessionsDeleteParams{ExpiredBefore: before, MaxRows: limit})
	if err != nil {
		return 0, fmt.Errorf("delete expired admin sessions: %w", err)
	}
	return n, nil
}

// parseAdminToken is the session that a well-formed token names.
func parseAdminToken(token string) (uuid.UUID, bool) {
	body, found := strings.CutPrefix(token, adminTokenPrefix+"_")
	if !found || len(token) > maxTokenLength {
		return uuid.Nil, false
	}
	return tokenBodyID(body)
}
