package graph

import (
	"context"
	"time"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

const listAuditEntries = "auditEntries"

// AuditEntries is the resolver for the auditEntries field.
func (r *queryResolver) AuditEntries(ctx context.Context, region, resource, actor *string, since, until *time.Time, tenant *string, first int64, after *string) (*generated.AuditEntryConnection, error) {
	var d decoder
	whose := readOptionalGlobalID[tenants.TenantKind](&d, "tenant", tenant)
	filter := tenants.AuditFilter{
		Region: readOptionalRegion(&d, region), Resource: textOf(resource), Actor: textOf(actor), Since: since, Until: until,
	}
	at, id := readTimeCursor(&d, listAuditEntries, after)
	if d.err != nil {
		return nil, d.err
	}
	var err error
	if filter.Region, err = r.regionOfChanges(ctx, whose, filter); err != nil {
		return nil, err
	}
	var from *tenants.AuditCursor
	if after != nil {
		from = &tenants.AuditCursor{ChangedAt: at, ID: id}
	}
	found, more, err := r.tenants.AuditEntries(ctx, actorOf(ctx), whose, filter, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.AuditEntryConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, func(e tenants.AuditEntry) string {
		return encodeCursor(listAuditEntries, e.ChangedAt.Format(time.RFC3339Nano), e.ID.UUID.String())
	}, auditEntryView, func(cursor string, node generated.AuditEntry) generated.AuditEntryEdge {
		return generated.AuditEntryEdge{Cursor: cursor, Node: node}
	})
	return &c, nil
}

// regionOfChanges is where the wanted changes are kept, when the caller does not say.
func (r *queryResolver) regionOfChanges(ctx context.Context, whose tenants.TenantID, filter tenants.AuditFilter) (ids.Region, error) {
	if filter.Region != "" {
		return filter.Region, nil
	}
	if region := tenants.RegionOfResource(filter.Resource); region != "" {
		return region, nil
	}
	actor := actorOf(ctx)
	if whose.IsZero() {
		whose = actor.Tenant
	}
	if whose.IsZero() {
		return ids.RegionOfNobody, nil
	}
	tenant, err := r.tenants.Tenant(ctx, actor, whose)
	if fault.KindOf(err) == fault.KindDenied {
		// The question itself says that this caller may not ask it.
		return ids.RegionOfNobody, nil
	}
	return tenant.HomeRegion, err
}

func auditEntryView(e tenants.AuditEntry) generated.AuditEntry {
	return generated.AuditEntry{
		ID: e.ID.String(), ChangedAt: e.ChangedAt, Actor: e.Author.Actor, Session: orNull(e.Author.Session),
		Address: orNull(e.Author.Address), RequestID: orNull(e.Author.RequestID), Action: string(e.Action), Resource: e.Resource,
		Reason: orNull(e.Reason), Before: e.Before, After: e.After,
	}
}
