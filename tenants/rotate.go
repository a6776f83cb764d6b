package tenants

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// MaxKeyOverlap is how long a key may work beside its successor.
const MaxKeyOverlap = 30 * 24 * time.Hour

// maxOrigins bounds the pages of one publishable key.
const maxOrigins = 20

// KeyRotation is what RotateKey is told.
type KeyRotation struct {
	// Tenant is as for NewKey.
	Tenant TenantID
	Key    KeyID
	// Overlap is how long the old key still works, up to MaxKeyOverlap; with none it ends at once.
	Overlap time.Duration
	// ExpiresAt is as for NewKey, of the new key.
	ExpiresAt time.Time
}

// RotateKey issues a key like another one, which ends after the overlap, or before if it was to. A key
// that has ended is not rotated: there is nothing to change over from.
func (s *Service) RotateKey(ctx context.Context, actor Actor, requestKey string, input KeyRotation) (KeyCreated, error) {
	if input.Tenant.IsZero() {
		input.Tenant = actor.Tenant
	}
	if err := s.authorizer.Authorize(actor, ActionKeyCreate, input.Tenant); err != nil {
		return KeyCreated{}, err
	}
	switch {
	case input.Tenant.IsZero():
		return KeyCreated{}, fault.Invalid("tenant", "expected the tenant that the key is for")
	case input.Overlap < 0 || input.Overlap > MaxKeyOverlap:
		return KeyCreated{}, fault.Invalid("overlapSeconds", "expected 0 to %d, got %d", int64(MaxKeyOverlap.Seconds()), int64(input.Overlap.Seconds()))
	}
	input.ExpiresAt = input.ExpiresAt.UTC().Truncate(time.Microsecond)
	command, err := newCommand("rotateKey", actor, requestKey, input)
	if err != nil {
		return KeyCreated{}, err
	}
	// The old key's type is known in the transaction only. What is drawn is drawn once: a transaction that
	// is run again after its commit was not answered finds the token that it has made.
	fresh := ids.NewGlobal[KeyKind]()
	body := newTokenBody(fresh.UUID)
	created, err := db.Replayable(ctx, s.db, "tenants.RotateKey", func(ctx context.Context, tx pgx.Tx) (KeyCreated, error) {
		return rotateTx(ctx, tx, command, fresh, body, input)
	})
	s.keys.dropWhere(func(known knownKey) bool { return known.actor.Key == input.Key })
	return created, err
}

func rotateTx(ctx context.Context, tx pgx.Tx, command command, fresh KeyID, body string, input KeyRotation) (KeyCreated, error) {
	queries := dbsqlc.New(tx)
	tenant, err := tenantTx(ctx, queries, input.Tenant)
	if err != nil {
		return KeyCreated{}, err
	}
	earlier, replayed, err := command.claimTx(ctx, tx, input.Tenant.UUID, tenant.HomeRegion, fresh.UUID)
	if err != nil {
		return KeyCreated{}, err
	}
	if replayed {
		return keyRotatedTx(ctx, queries, input.Tenant, earlier, body)
	}
	row, err := queries.KeyGet(ctx, dbsqlc.KeyGetParams{ID: input.Key.UUID, TenantID: uuidOrNull(input.Tenant.UUID)})
	if db.IsNoRows(err) {
		return KeyCreated{}, fault.NotFound("key")
	}
	if err != nil {
		return KeyCreated{}, fmt.Errorf("read the key %s: %w", input.Key, err)
	}
	now, err := queries.ClockGet(ctx)
	if err != nil {
		return KeyCreated{}, fmt.Errorf("read the database's clock: %w", err)
	}
	if row.RevokedAt != nil || row.ExpiresAt != nil && !now.Before(*row.ExpiresAt) {
		return KeyCreated{}, fault.Conflict("the key has ended: create another")
	}
	if err := checkExpiryTx(ctx, queries, input.ExpiresAt); err != nil {
		return KeyCreated{}, err
	}
	if _, err := queries.KeyUpdateExpires(ctx, dbsqlc.KeyUpdateExpiresParams{
		ID: input.Key.UUID, TenantID: uuidOrNull(input.Tenant.UUID), ExpiresAt: now.Add(input.Overlap),
	}); err != nil {
		return KeyCreated{}, fmt.Errorf("end the key %s: %w", input.Key, err)
	}
	old := keyOf(row)
	issue := issuedKey{id: fresh, keyType: old.Type, mode: old.Mode, token: keyPrefix(old.Type, old.Mode) + body}
	key, err := insertKeyTx(ctx, queries, input.Tenant, issue, NewKey{
		Name: old.Name, Channel: old.Channel, ExpiresAt: input.ExpiresAt, AllowedOrigins: old.AllowedOrigins,
	}, old.ID)
	if err != nil {
		return KeyCreated{}, err
	}
	return KeyCreated{Key: key, Secret: issue.token}, AuditAsTx(ctx, tx, input.Tenant, command.author, Change{
		Action: ActionKeyCreate, Resource: key.ID, Before: old, After: key,
	})
}

// keyRotatedTx is keyCreatedTx for a key whose type is that of another one.
func keyRotatedTx(ctx context.Context, queries *dbsqlc.Queries, tenant TenantID, id uuid.UUID, body string) (KeyCreated, error) {
	made, err := keyCreatedTx(ctx, queries, tenant, id, issuedKey{})
	if err != nil {
		return KeyCreated{}, err
	}
	return keyCreatedTx(ctx, queries, tenant, id, issuedKey{token: keyPrefix(made.Key.Type, made.Key.Mode) + body})
}

// checkOrigins accepts the pages that may present a key, as browsers name them.
func checkOrigins(keyType KeyType, origins []string) error {
	if len(origins) == 0 {
		return nil
	}
	if keyType != KeyTypePublishable {
		return fault.Invalid("allowedOrigins", "only a %s key has them: a page must never know one of kind %s", KeyTypePublishable, keyType)
	}
	if len(origins) > maxOrigins {
		return fault.Invalid("allowedOrigins", "expected at most %d, got %d", maxOrigins, len(origins))
	}
	for i, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || origin != u.Scheme+"://"+strings.ToLower(u.Host) || len(origin) > 300 {
			return fault.Invalid(fmt.Sprintf("allowedOrigins[%d]", i), "expected an origin such as \"https://tickets.example.com\", in small letters and with nothing after the host, got %.100q", origin)
		}
	}
	return nil
}
