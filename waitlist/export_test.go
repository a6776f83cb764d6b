package waitlist

import (
	"context"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/tenants"
)

// ServeTenant is ServeDue for one tenant, so that tests on one database leave each other alone.
func (s *Service) ServeTenant(ctx context.Context, tenant tenants.TenantID) error {
	all, regions, err := s.places(ctx)
	if err != nil {
		return err
	}
	var tenantIDs []uuid.UUID
	var own []string
	for i, id := range all {
		if id == tenant.UUID {
			tenantIDs, own = append(tenantIDs, id), append(own, regions[i])
		}
	}
	_, err = s.serveAt(ctx, tenantIDs, own, 100)
	return err
}

// Get is an entry as its buyer sees it, whoever asks, and without anybody being served.
func (s *Service) Get(ctx context.Context, tenant tenants.TenantID, id EntryID) (Entry, error) {
	return s.get(ctx, tenant, id)
}
