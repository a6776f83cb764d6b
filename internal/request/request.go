// Package request owns idempotency: a mutating command carries a key chosen by its client, and
// inserts a row for it in the transaction of its effect. The same key with the same content is
// answered with the stored result; with other content it is refused. Rows are kept for at least
// MinRetention.
//
// A refusal leaves no row, because its transaction rolls back: the client may try again with the
// same key.
package request

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request/internal/dbsqlc"
)

// MaxKeyLength is the longest request key, in characters.
const MaxKeyLength = 255

// MinRetention is the least time for which a key answers again; clients rely on it. Whoever deletes
// keys must keep it.
const MinRetention = 24 * time.Hour

// ErrKeyReused says that a request key came again with other content.
var ErrKeyReused = errors.New("this request key was used before with other content")

// Identity says whose request it is. Scope names the operation and the owner, such as
// "placeHold/GUEST/<uuid>", so that two buyers may choose the same key.
type Identity struct {
	Tenant uuid.UUID
	Region ids.Region
	Scope  string
	Key    string
}

// ValidateKey checks a key's form.
func ValidateKey(key string) error {
	if n := utf8.RuneCountInString(key); n < 1 || n > MaxKeyLength || !utf8.ValidString(key) || bytes.ContainsRune([]byte(key), 0) {
		return fault.Invalid("requestKey", "expected 1 to %d characters", MaxKeyLength)
	}
	return nil
}

// Fingerprint is the SHA-256 of a command's canonical content. content must be a struct of plain
// values: its JSON has one form.
func Fingerprint(content any) ([]byte, error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("fingerprint a request: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return sum[:], nil
}

// NewClaim is one of several requests whose keys are taken at once.
type NewClaim struct {
	Scope       string
	Key         string
	Fingerprint []byte
	ResultID    uuid.UUID
}

// ClaimAll takes the keys of several requests, which must differ, and says which of them were free.
// Like Claim it must be the first statement of its transaction that locks anything.
func ClaimAll(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, claims []NewClaim) ([]bool, error) {
	params := dbsqlc.RequestsInsertParams{TenantID: tenant, Region: string(region)}
	// In the order of the key, so that two transactions with some keys in common never wait in a circle.
	order := make([]int, len(claims))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(claims[a].Scope, claims[b].Scope), cmp.Compare(claims[a].Key, claims[b].Key))
	})
	at := make(map[uuid.UUID]int, len(claims))
	for _, i := range order {
		at[claims[i].ResultID] = i
		params.Scopes = append(params.Scopes, claims[i].Scope)
		params.Keys = append(params.Keys, claims[i].Key)
		params.Fingerprints = append(params.Fingerprints, claims[i].Fingerprint)
		params.ResultIds = append(params.ResultIds, claims[i].ResultID)
	}
	inserted, err := dbsqlc.New(tx).RequestsInsert(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("claim request keys: %w", err)
	}
	fresh := make([]bool, len(claims))
	for _, result := range inserted {
		fresh[at[result]] = true
	}
	return fresh, nil
}

// Forget gives back keys that ClaimAll took in the same transaction, for requests that were refused.
func Forget(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, claims []NewClaim) error {
	if len(claims) == 0 {
		return nil
	}
	params := make([]dbsqlc.RequestDeleteParams, len(claims))
	for i, claim := range claims {
		params[i] = dbsqlc.RequestDeleteParams{TenantID: tenant, Region: string(region), Scope: claim.Scope, Key: claim.Key, ResultID: claim.ResultID}
	}
	var failed error
	deleting := dbsqlc.New(tx).RequestDelete(ctx, params)
	deleting.Exec(func(_ int, err error) { failed = errors.Join(failed, err) })
	if failed != nil {
		return fmt.Errorf("give back request keys: %w", failed)
	}
	return nil
}

// Claim takes the key for resultID, or tells which result it already led to. It must be the first
// statement of its transaction that locks anything.
func Claim(ctx context.Context, tx pgx.Tx, identity Identity, fingerprint []byte, resultID uuid.UUID) (earlier uuid.UUID, replayed bool, err error) {
	queries := dbsqlc.New(tx)
	inserted, err := queries.RequestInsert(ctx, dbsqlc.RequestInsertParams{
		TenantID: identity.Tenant, Region: string(identity.Region), Scope: identity.Scope, Key: identity.Key,
		Fingerprint: fingerprint, ResultID: resultID,
	})
	if err != nil {
		return uuid.Nil, false, fmt.Errorf("claim a request key: %w", err)
	}
	if inserted == 1 {
		return uuid.Nil, false, nil
	}
	row, err := queries.RequestGet(ctx, dbsqlc.RequestGetParams{
		TenantID: identity.Tenant, Region: string(identity.Region), Scope: identity.Scope, Key: identity.Key,
	})
	if err != nil {
		return uuid.Nil, false, fmt.Errorf("read an earlier request: %w", err)
	}
	if !bytes.Equal(row.Fingerprint, fingerprint) {
		return uuid.Nil, false, ErrKeyReused
	}
	return row.ResultID, true, nil
}

// DeleteTx forgets at most limit of the keys of one place that were claimed before an instant. A
// request that comes again afterwards is a new one.
func DeleteTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, region ids.Region, before time.Time, limit int32) (int64, error) {
	n, err := dbsqlc.New(tx).RequestsDelete(ctx, dbsqlc.RequestsDeleteParams{
		TenantID: tenant, Region: string(region), CreatedBefore: before, MaxRows: limit,
	})
	if err != nil {
		return 0, fmt.Errorf("delete old request keys: %w", err)
	}
	return n, nil
}
