package tenants

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// Key is what is known of an API key: everything but its secret.
type Key struct {
	ID KeyID
	// Tenant is zero for a platform key.
	Tenant TenantID
	// Channel is the one that the key sells through, or zero.
	Channel ChannelID
	Type    KeyType
	Mode    Mode
	Name    string
	// AllowedOrigins are the pages that may present a publishable key; none means any.
	AllowedOrigins []string
	// Replaces is the key whose successor this one is, or zero.
	Replaces KeyID

	CreatedAt time.Time
	// ExpiresAt is nil for a key that is good until it is revoked.
	ExpiresAt *time.Time
	// RevokedAt is nil for a key that was not revoked.
	RevokedAt *time.Time
	// LastUsedAt is about an hour exact, and nil for a key that was never used.
	LastUsedAt *time.Time
}

// NewKey is what CreateKey is told.
type NewKey struct {
	// Tenant may be left zero by the tenant's own keys. A platform operator names it.
	Tenant TenantID
	Type   KeyType
	Mode   Mode
	// Name tells people where the key is used, 1 to 100 characters.
	Name string
	// Channel is what the key sells through. Partner and publishable keys need one; an admin key
	// may have a box office.
	Channel ChannelID
	// ExpiresAt is in the future by the database's clock; zero for a key without an end.
	ExpiresAt time.Time
	// AllowedOrigins are for publishable keys: the origins of the pages that may present it, up to 20,
	// such as "https://tickets.example.com"; none means any. What is no page has no origin, and is
	// not refused: this protects a key from other pages, not from programs.
	AllowedOrigins []string
}

// KeyCreated is a key with its secret, which is told only in the answer to the call that created
// it: Secret is empty when the call is repeated.
type KeyCreated struct {
	Key    Key
	Secret string
}

// CreateKey issues a key. A key of mode TEST issues only keys of mode TEST.
func (s *Service) CreateKey(ctx context.Context, actor Actor, requestKey string, input NewKey) (KeyCreated, error) {
	if input.Tenant.IsZero() {
		input.Tenant = actor.Tenant
	}
	if err := s.authorizer.Authorize(actor, ActionKeyCreate, input.Tenant); err != nil {
		return KeyCreated{}, err
	}
	input, err := checkKey(input)
	if err != nil {
		return KeyCreated{}, err
	}
	if actor.Mode == ModeTest && input.Mode != ModeTest {
		return KeyCreated{}, fault.Denied("a test key can only create test keys")
	}
	command, err := newCommand("createKey", actor, requestKey, input)
	if err != nil {
		return KeyCreated{}, err
	}
	issue := issueKey(ids.NewGlobal[KeyKind](), input.Type, input.Mode)
	return db.Replayable(ctx, s.db, "tenants.CreateKey", func(ctx context.Context, tx pgx.Tx) (KeyCreated, error) {
		return createKeyTx(ctx, tx, command, actor, issue, input)
	})
}

func checkKey(input NewKey) (NewKey, error) {
	if input.Tenant.IsZero() {
		return NewKey{}, fault.Invalid("tenant", "expected the tenant that the key is for")
	}
	switch input.Type {
	case KeyTypeAdmin:
	case KeyTypePartner, KeyTypePublishable:
		if input.Channel.IsZero() {
			return NewKey{}, fault.Invalid("channel", "expected the channel that the %s key sells through", input.Type)
		}
	case KeyTypePlatform, KeyTypeMember:
		fallthrough
	default:
		return NewKey{}, fault.Invalid("kind", "expected %s, %s or %s, got %.20q", KeyTypeAdmin, KeyTypePartner, KeyTypePublishable, input.Type)
	}
	if input.Mode != ModeLive && input.Mode != ModeTest {
		return NewKey{}, fault.Invalid("mode", "expected %s or %s, got %.20q", ModeLive, ModeTest, input.Mode)
	}
	var err error
	if input.Name, err = text("name", input.Name, maxKeyNameLength); err != nil {
		return NewKey{}, err
	}
	if err := checkOrigins(input.Type, input.AllowedOrigins); err != nil {
		return NewKey{}, err
	}
	if !input.ExpiresAt.IsZero() {
		if year := input.ExpiresAt.UTC().Year(); year < 1 || year > 9999 {
			return NewKey{}, fault.Invalid("expiresAt", "expected a year up to 9999")
		}
		// The database keeps microseconds; a repeated call must have the same content.
		input.ExpiresAt = input.ExpiresAt.UTC().Truncate(time.Microsecond)
	}
	return input, nil
}

func createKeyTx(ctx context.Context, tx pgx.Tx, command command, actor Actor, issue issuedKey, input NewKey) (KeyCreated, error) {
	queries := dbsqlc.New(tx)
	tenant, err := tenantTx(ctx, queries, input.Tenant)
	if err != nil {
		return KeyCreated{}, err
	}
	earlier, replayed, err := command.claimTx(ctx, tx, input.Tenant.UUID, tenant.HomeRegion, issue.id.UUID)
	if err != nil {
		return KeyCreated{}, err
	}
	if replayed {
		return keyCreatedTx(ctx, queries, input.Tenant, earlier, issue)
	}
	if !input.Channel.IsZero() {
		channel, err := channelTx(ctx, queries, input.Tenant, input.Channel)
		if err != nil {
			return KeyCreated{}, err
		}
		if input.Type == KeyTypeAdmin && channel.Type != ChannelTypeBoxOffice {
			return KeyCreated{}, fault.Invalid("channel", "an admin key sells through a box office or through no channel, got one of kind %s", channel.Type)
		}
	}
	if err := checkExpiryTx(ctx, queries, input.ExpiresAt); err != nil {
		return KeyCreated{}, err
	}
	key, err := insertKeyTx(ctx, queries, input.Tenant, issue, input, KeyID{})
	if err != nil {
		return KeyCreated{}, err
	}
	return KeyCreated{Key: key, Secret: issue.token}, AuditAsTx(ctx, tx, input.Tenant, actor.Author(), Change{
		Action: ActionKeyCreate, Resource: key.ID, After: key,
	})
}

func checkExpiryTx(ctx context.Context, queries *dbsqlc.Queries, expiresAt time.Time) error {
	if expiresAt.IsZero() {
		return nil
	}
	now, err := queries.ClockGet(ctx)
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	if !expiresAt.After(now) {
		return fault.Invalid("expiresAt", "expected an instant in the future, got %s", expiresAt.Format(time.RFC3339))
	}
	if expiresAt.Sub(now) > maxKeyLifetime {
		return fault.Invalid("expiresAt", "expected at most ten years from now, got %s", expiresAt.Format(time.RFC3339))
	}
	return nil
}

// issuedKey is a key that is about to be stored, with the token that nobody can read afterwards.
type issuedKey struct {
	id      KeyID
	keyType KeyType
	mode    Mode
	token   string
}

func issueKey(id KeyID, keyType KeyType, mode Mode) issuedKey {
	return issuedKey{id: id, keyType: keyType, mode: mode, token: keyPrefix(keyType, mode) + newTokenBody(id.UUID)}
}

func insertKeyTx(ctx context.Context, queries *dbsqlc.Queries, tenant TenantID, issue issuedKey, input NewKey, replaces KeyID) (Key, error) {
	hash := hashToken(issue.token)
	params := dbsqlc.KeyInsertParams{
		ID: issue.id.UUID, TenantID: uuidOrNull(tenant.UUID), ChannelID: uuidOrNull(input.Channel.UUID),
		Kind: string(issue.keyType), Mode: string(issue.mode), Name: input.Name, SecretHash: hash[:],
		AllowedOrigins: input.AllowedOrigins, ReplacesID: uuidOrNull(replaces.UUID),
	}
	if !input.ExpiresAt.IsZero() {
		params.ExpiresAt = &input.ExpiresAt
	}
	row, err := queries.KeyInsert(ctx, params)
	if err != nil {
		return Key{}, fmt.Errorf("insert the key %s: %w", issue.id, err)
	}
	return keyOf(row), nil
}

// keyCreatedTx is the answer to a repeated call. When the row keeps the hash of the very token
// that this call made, it is this call whose commit was not answered, and the token is told.
func keyCreatedTx(ctx context.Context, queries *dbsqlc.Queries, tenant TenantID, id uuid.UUID, issue issuedKey) (KeyCreated, error) {
	row, err := queries.KeyGet(ctx, dbsqlc.KeyGetParams{ID: id, TenantID: uuidOrNull(tenant.UUID)})
	if err != nil {
		return KeyCreated{}, fmt.Errorf("read a key created before: %w", err)
	}
	created := KeyCreated{Key: keyOf(row)}
	if hash := hashToken(issue.token); issue.token != "" && bytes.Equal(row.SecretHash, hash[:]) {
		created.Secret = issue.token
	}
	return created, nil
}

// RevokeKey ends a key for good; saying it twice changes nothing. tenant may be zero for the
// actor's own; for a platform operator that means a platform key. Other processes notice after at
// most Config.KeyCacheAge.
func (s *Service) RevokeKey(ctx context.Context, actor Actor, tenant TenantID, id KeyID) (Key, error) {
	if tenant.IsZero() {
		tenant = actor.Tenant
	}
	if err := s.authorizer.Authorize(actor, ActionKeyRevoke, tenant); err != nil {
		return Key{}, err
	}
	key, err := db.Replayable(ctx, s.db, "tenants.RevokeKey", func(ctx context.Context, tx pgx.Tx) (Key, error) {
		before, err := dbsqlc.New(tx).KeyGet(ctx, dbsqlc.KeyGetParams{ID: id.UUID, TenantID: uuidOrNull(tenant.UUID)})
		if db.IsNoRows(err) {
			return Key{}, fault.NotFound("key")
		}
		if err != nil {
			return Key{}, fmt.Errorf("read the key %s: %w", id, err)
		}
		row, err := dbsqlc.New(tx).KeyUpdateRevoked(ctx, dbsqlc.KeyUpdateRevokedParams{ID: id.UUID, TenantID: uuidOrNull(tenant.UUID)})
		if err != nil {
			return Key{}, fmt.Errorf("revoke the key %s: %w", id, err)
		}
		return keyOf(row), AuditAsTx(ctx, tx, tenant, actor.Author(), Change{
			Action: ActionKeyRevoke, Resource: id, Before: keyOf(before), After: keyOf(row),
		})
	})
	if err != nil {
		return Key{}, err
	}
	s.keys.dropWhere(func(known knownKey) bool { return known.actor.Key == id })
	return key, nil
}

// Key is one key of a tenant; tenant is as for RevokeKey.
func (s *Service) Key(ctx context.Context, actor Actor, tenant TenantID, id KeyID) (Key, error) {
	if tenant.IsZero() {
		tenant = actor.Tenant
	}
	if err := s.authorizer.Authorize(actor, ActionKeyRead, tenant); err != nil {
		return Key{}, err
	}
	row, err := s.read().KeyGet(ctx, dbsqlc.KeyGetParams{ID: id.UUID, TenantID: uuidOrNull(tenant.UUID)})
	if db.IsNoRows(err) {
		return Key{}, fault.NotFound("key")
	}
	if err != nil {
		return Key{}, failed("read a key", err)
	}
	return keyOf(row), nil
}

// Keys lists the keys of a tenant, revoked ones too; tenant is as for RevokeKey.
func (s *Service) Keys(ctx context.Context, actor Actor, tenant TenantID, after KeyID, limit int) (Page[Key], error) {
	if tenant.IsZero() {
		tenant = actor.Tenant
	}
	if err := s.authorizer.Authorize(actor, ActionKeyRead, tenant); err != nil {
		return Page[Key]{}, err
	}
	if err := checkPage(limit); err != nil {
		return Page[Key]{}, err
	}
	var rows []dbsqlc.ApiKey
	var err error
	if tenant.IsZero() {
		rows, err = s.read().KeyListPlatform(ctx, dbsqlc.KeyListPlatformParams{After: after.UUID, MaxRows: int64(limit) + 1})
	} else {
		rows, err = s.read().KeyList(ctx, dbsqlc.KeyListParams{TenantID: tenant.UUID, After: after.UUID, MaxRows: int64(limit) + 1})
	}
	if err != nil {
		return Page[Key]{}, failed("list keys", err)
	}
	return pageOf(rows, limit, keyOf), nil
}

func keyOf(row dbsqlc.ApiKey) Key {
	return Key{
		ID: KeyID{UUID: row.ID}, Tenant: TenantID{UUID: uuidOrZero(row.TenantID)}, Channel: ChannelID{UUID: uuidOrZero(row.ChannelID)},
		Type: KeyType(row.Kind), Mode: Mode(row.Mode), Name: row.Name,
		CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, RevokedAt: row.RevokedAt, LastUsedAt: row.LastUsedAt,
		AllowedOrigins: row.AllowedOrigins, Replaces: KeyID{UUID: uuidOrZero(row.ReplacesID)},
	}
}

// uuidOrNull is how "none" is stored.
func uuidOrNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func uuidOrZero(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}
