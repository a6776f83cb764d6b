package inventory

import (
	"context"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Authorizer decides what an actor may do; package policies implements it.
type Authorizer interface {
	Authorize(actor tenants.Actor, action tenants.Action, tenant tenants.TenantID) error
}

// Service is what callers do with stock. Its methods authorise, validate and open the
// transaction; the functions ending in Tx join one.
type Service struct {
	db         *db.DB
	authorizer Authorizer
	claims     *combiner
	announcer  Announcer
	halls      *halls
	choices    *choiceMaps
	spread     *spread
	boards     *boards
	holds      *holdWatches
}

// Option changes a Service that is being made.
type Option func(*Service)

// Announcing has others told of what becomes of allotments. Default: nobody is.
func Announcing(to Announcer) Option { return func(s *Service) { s.announcer = to } }

// NewService needs a migrated database.
func NewService(d *db.DB, authorizer Authorizer, options ...Option) *Service {
	s := &Service{
		db: d, authorizer: authorizer, claims: newCombiner(longestQueue, maxBatch), announcer: nobody{},
		halls: newHalls(d), choices: newChoiceMaps(d), spread: newSpread(),
	}
	s.claims.decide = s.decide
	s.boards = newBoards(maxBoardSeats, s.readBoard)
	s.holds = newHoldWatches(s.readHoldVersions)
	for _, option := range options {
		option(s)
	}
	return s
}

// Hold reads a hold for its buyer, for the partner whose channel sold it, or for the tenant's
// admin. For everybody else it does not exist.
func (s *Service) Hold(ctx context.Context, actor tenants.Actor, id HoldID) (Hold, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionHoldRead, actor.Tenant)); err != nil {
		return Hold{}, err
	}
	hold, err := GetHold(ctx, s.db.Pool(), actor.Tenant, id)
	if err != nil {
		return Hold{}, db.Classify(err)
	}
	if seen, err := MaySeeHold(ctx, s.db.Pool(), s.authorizer, actor, hold); err != nil || !seen {
		return Hold{}, orNotFound(db.Classify(err), "hold")
	}
	now, err := Now(ctx, s.db.Pool())
	if err != nil {
		return Hold{}, db.Classify(err)
	}
	hold.State = hold.StateAt(now)
	return hold, nil
}

// MaySeeHold reports whether an actor may read a hold: as MaySee says, and of members those who may
// read everybody's where all its units are.
func MaySeeHold(ctx context.Context, q dbsqlc.DBTX, authorizer Authorizer, actor tenants.Actor, hold Hold) (bool, error) {
	if actor.KeyType != tenants.KeyTypeMember || actor.Owns(hold.Buyer) {
		return MaySee(actor, hold.Buyer, hold.Channel), nil
	}
	return WithinReach(ctx, q, actor.Tenant, authorizer.Authorize(actor, policies.ActionHoldReadAny, actor.Tenant), hold.ID.Region, hold.Lines)
}

// MaySee reports whether an actor may read what a buyer owns: the buyer, the tenant's admin, and
// the partner whose channel sold it. Members see what is not their own by their roles.
func MaySee(actor tenants.Actor, buyer tenants.Buyer, channel tenants.ChannelID) bool {
	switch {
	case actor.Owns(buyer):
		return true
	case !actor.Session.IsZero():
		return false
	case actor.KeyType == tenants.KeyTypeAdmin:
		return true
	case actor.KeyType == tenants.KeyTypePartner:
		return actor.Channel == channel
	}
	return false
}

// mayChange reports whether an actor may extend, release or pay a hold: the buyer, or the partner
// whose channel placed it.
func mayChange(actor tenants.Actor, hold Hold) bool {
	return actor.Owns(hold.Buyer) ||
		actor.Session.IsZero() && actor.KeyType == tenants.KeyTypePartner && actor.Channel == hold.Channel
}
