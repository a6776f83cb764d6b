package tenants

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// Acted tells members from keys among the UUIDs that rows keep of who did something: a member acts under
// the member's own (see Actor.Key).
type Acted map[uuid.UUID]bool

// WhoActed finds out which of some UUIDs are members of a tenant. Members are never deleted, so that this
// is known of old rows, too.
func WhoActed(ctx context.Context, q dbsqlc.DBTX, tenant TenantID, acted []uuid.UUID) (Acted, error) {
	wanted := slices.DeleteFunc(slices.Clone(acted), func(id uuid.UUID) bool { return id == uuid.Nil })
	if len(wanted) == 0 {
		return nil, nil //nolint:nilnil // nobody is a member of none
	}
	slices.SortFunc(wanted, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	members, err := dbsqlc.New(q).MembersAmong(ctx, dbsqlc.MembersAmongParams{TenantID: tenant.UUID, Ids: slices.Compact(wanted)})
	if err != nil {
		return nil, fmt.Errorf("look for members among who acted: %w", err)
	}
	known := make(Acted, len(members))
	for _, id := range members {
		known[id] = true
	}
	return known, nil
}

// Actor is the public id of who acted: the member's, or the key's. It is "" for the zero UUID, which is
// nobody.
func (a Acted) Actor(id uuid.UUID) string {
	switch {
	case id == uuid.Nil:
		return ""
	case a[id]:
		return MemberID{UUID: id}.String()
	}
	return KeyID{UUID: id}.String()
}

// Key is the key that acted, or zero when nobody or a member did.
func (a Acted) Key(id uuid.UUID) KeyID {
	if a[id] {
		return KeyID{}
	}
	return KeyID{UUID: id}
}
