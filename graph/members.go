package graph

import (
	"context"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

const listMembers = "members"

// Members is the resolver for the members field.
func (r *queryResolver) Members(ctx context.Context, first int64, after *string) (*generated.MemberConnection, error) {
	var d decoder
	var from tenants.MemberID
	if cursor := readCursor(&d, listMembers, after); cursor != "" {
		from = readGlobalID[tenants.MemberKind](&d, "after", cursor)
	}
	if d.err != nil {
		return nil, d.err
	}
	page, err := r.tenants.Members(ctx, actorOf(ctx), from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.MemberConnection
	c.Edges, c.Nodes, c.PageInfo = connect(page.Items, page.More,
		func(m tenants.Member) string { return encodeCursor(listMembers, m.ID.String()) }, memberView,
		func(cursor string, node generated.Member) generated.MemberEdge {
			return generated.MemberEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

func (r *queryResolver) member(ctx context.Context, text string) (*generated.Member, error) {
	var d decoder
	id := readGlobalID[tenants.MemberKind](&d, "id", text)
	if d.err != nil {
		return nil, d.err
	}
	member, err := r.tenants.Member(ctx, actorOf(ctx), id)
	return one(member, err, memberView)
}

// InviteMember is the resolver for the inviteMember field.
func (r *mutationResolver) InviteMember(ctx context.Context, input generated.InviteMemberInput) (*generated.Member, error) {
	var d decoder
	invited := tenants.NewMember{
		Issuer: textOf(input.Issuer), Subject: textOf(input.Subject), Email: input.Email,
		Channel: readOptionalGlobalID[tenants.ChannelKind](&d, "input.channel", input.Channel),
	}
	if input.Subject != nil && *input.Subject == "" {
		d.err = fault.Invalid("input.subject", "expected 1 to 255 characters, or null")
	}
	if d.err != nil {
		return nil, d.err
	}
	member, err := r.tenants.InviteMember(ctx, actorOf(ctx), input.RequestKey, invited)
	return one(member, inInput(err), memberView)
}

// BindRole is the resolver for the bindRole field.
func (r *mutationResolver) BindRole(ctx context.Context, input generated.BindRoleInput) (*generated.Member, error) {
	var d decoder
	binding := tenants.NewBinding{
		Member: readGlobalID[tenants.MemberKind](&d, "input.member", input.Member),
		Role:   tenants.Role(input.Role), Scope: readBinding(&d, input),
	}
	if input.RefundLimit != nil {
		limit := readMoney(&d, "input.refundLimit", *input.RefundLimit)
		binding.RefundLimit = &limit
	}
	if d.err != nil {
		return nil, d.err
	}
	member, err := r.tenants.BindRole(ctx, actorOf(ctx), input.RequestKey, binding)
	return one(member, inInput(err), memberView)
}

// readBinding reads what a role is bound to: one of property, venue and show, or the whole tenant.
func readBinding(d *decoder, input generated.BindRoleInput) tenants.Scope {
	scope := tenants.Scope{Kind: tenants.ScopeKindTenant}
	named := 0
	if input.Property != nil {
		id := readID[tenants.PropertyKind](d, "input.property", *input.Property)
		scope = tenants.Scope{Kind: tenants.ScopeKindProperty, Region: id.Region, ID: id.UUID}
		named++
	}
	if input.Venue != nil {
		id := readID[tenants.VenueKind](d, "input.venue", *input.Venue)
		scope = tenants.Scope{Kind: tenants.ScopeKindVenue, Region: id.Region, ID: id.UUID}
		named++
	}
	if input.Show != nil {
		id := readID[inventory.ShowKind](d, "input.show", *input.Show)
		scope = tenants.Scope{Kind: tenants.ScopeKindShow, Region: id.Region, ID: id.UUID}
		named++
	}
	if named > 1 && d.err == nil {
		d.err = fault.Invalid("input", "expected at most one of property, venue and show, got %d of them", named)
	}
	return scope
}

// UnbindRole is the resolver for the unbindRole field.
func (r *mutationResolver) UnbindRole(ctx context.Context, input generated.UnbindRoleInput) (*generated.Member, error) {
	var d decoder
	member := readGlobalID[tenants.MemberKind](&d, "input.member", input.Member)
	binding := readGlobalID[tenants.BindingKind](&d, "input.binding", input.Binding)
	if d.err != nil {
		return nil, d.err
	}
	changed, err := r.tenants.UnbindRole(ctx, actorOf(ctx), input.RequestKey, member, binding)
	return one(changed, inInput(err), memberView)
}

// RemoveMember is the resolver for the removeMember field.
func (r *mutationResolver) RemoveMember(ctx context.Context, input generated.RemoveMemberInput) (*generated.Member, error) {
	var d decoder
	id := readGlobalID[tenants.MemberKind](&d, "input.member", input.Member)
	if d.err != nil {
		return nil, d.err
	}
	member, err := r.tenants.RemoveMember(ctx, actorOf(ctx), input.RequestKey, id)
	return one(member, inInput(err), memberView)
}

func memberView(m tenants.Member) generated.Member {
	return generated.Member{
		ID: m.ID.String(), Issuer: m.Issuer, Subject: orNull(m.Subject), Email: m.Email, State: generated.MemberState(m.State),
		ChannelID: idOrNull(m.Channel), Roles: each(m.Bindings, bindingView), CreatedAt: m.CreatedAt, FirstSeenAt: m.FirstSeenAt, RemovedAt: m.RemovedAt,
	}
}

func bindingView(b tenants.Binding) generated.RoleBinding {
	view := generated.RoleBinding{ID: b.ID.String(), Role: generated.MemberRole(b.Role), CreatedAt: b.CreatedAt}
	switch b.Scope.Kind {
	case tenants.ScopeKindTenant:
	case tenants.ScopeKindProperty:
		view.PropertyID = idOrNull(ids.ID[tenants.PropertyKind]{Region: b.Scope.Region, UUID: b.Scope.ID})
	case tenants.ScopeKindVenue:
		view.VenueID = idOrNull(ids.ID[tenants.VenueKind]{Region: b.Scope.Region, UUID: b.Scope.ID})
	case tenants.ScopeKindShow:
		view.ShowID = idOrNull(ids.ID[inventory.ShowKind]{Region: b.Scope.Region, UUID: b.Scope.ID})
	}
	if b.RefundLimit != nil {
		limit := moneyView(*b.RefundLimit)
		view.RefundLimit = &limit
	}
	return view
}
