package trade

import (
	"context"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Service is what callers do with messages, calendars and files. Its methods authorise, validate and open the
// transaction.
type Service struct {
	db         *db.DB
	authorizer inventory.Authorizer
	inventory  *inventory.Service
}

// NewService needs a migrated database.
func NewService(d *db.DB, authorizer inventory.Authorizer, stock *inventory.Service) *Service {
	return &Service{db: d, authorizer: authorizer, inventory: stock}
}

func (s *Service) authorizeAt(ctx context.Context, actor tenants.Actor, action tenants.Action, property tenants.PropertyID) error {
	return inventory.AuthorizeAt(ctx, s.db, s.authorizer, actor, action, "property", property.Region, property.UUID)
}
