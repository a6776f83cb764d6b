package tenants

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
)

// command is a call that creates something and may come twice.
type command struct {
	scope       string
	requestKey  string
	fingerprint []byte
	// author is who asks, for the log of changes.
	author Author
}

// newCommand binds a request key to the operation and the key that uses it, so that two callers
// may choose the same one. content is the call's input after its validation.
func newCommand(operation string, actor Actor, requestKey string, content any) (command, error) {
	if err := request.ValidateKey(requestKey); err != nil {
		return command{}, err
	}
	fingerprint, err := request.Fingerprint(content)
	if err != nil {
		return command{}, err
	}
	return command{
		scope:       operation + "/KEY/" + actor.Key.UUID.String(),
		requestKey:  requestKey,
		fingerprint: fingerprint,
		author:      actor.Author(),
	}, nil
}

// claimTx takes the request key for result, or says which entity it led to before. Keys of a
// tenant's commands are kept in the tenant's home region.
func (c command) claimTx(ctx context.Context, tx pgx.Tx, tenant uuid.UUID, home ids.Region, result uuid.UUID) (earlier uuid.UUID, replayed bool, err error) {
	return request.Claim(ctx, tx, request.Identity{Tenant: tenant, Region: home, Scope: c.scope, Key: c.requestKey}, c.fingerprint, result)
}
