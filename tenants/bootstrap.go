package tenants

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// BootstrapPlatformKey makes a platform key and returns its text. It asks nobody for permission:
// it is for the command line of who has the database already, never for the API. Each call makes
// another key; Service.RevokeKey ends one.
func BootstrapPlatformKey(ctx context.Context, d *db.DB, name string) (secret string, err error) {
	if name, err = text("name", name, maxKeyNameLength); err != nil {
		return "", err
	}
	issue := issueKey(ids.NewGlobal[KeyKind](), KeyTypePlatform, ModeLive)
	return db.Replayable(ctx, d, "tenants.BootstrapPlatformKey", func(ctx context.Context, tx pgx.Tx) (string, error) {
		return bootstrapTx(ctx, tx, issue, name)
	})
}

func bootstrapTx(ctx context.Context, tx pgx.Tx, issue issuedKey, name string) (string, error) {
	queries := dbsqlc.New(tx)
	// There is no request key: a commit whose answer was lost is found by the key's own id.
	_, err := queries.KeyGet(ctx, dbsqlc.KeyGetParams{ID: issue.id.UUID})
	if err == nil {
		return issue.token, nil
	}
	if !db.IsNoRows(err) {
		return "", fmt.Errorf("look for the key %s: %w", issue.id, err)
	}
	if _, err := insertKeyTx(ctx, queries, TenantID{}, issue, NewKey{Name: name}, KeyID{}); err != nil {
		return "", err
	}
	return issue.token, nil
}
