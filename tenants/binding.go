package tenants

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// Binding is one role of one member, in the whole tenant or at one place.
type Binding struct {
	ID    BindingID
	Role  Role
	Scope Scope
	// RefundLimit is the most that support gives back on one booking; nil means nothing.
	RefundLimit *money.Amount
	CreatedAt   time.Time
	// CreatedBy is the key or member who bound it.
	CreatedBy uuid.UUID
}

// Scope is what a role is bound to. Region and ID are zero for the whole tenant.
type Scope struct {
	Kind   ScopeKind
	Region ids.Region
	ID     uuid.UUID
	// Venue is that of a show; whoever binds leaves it out.
	Venue uuid.UUID
}

// NewBinding is what BindRole is told.
type NewBinding struct {
	Member MemberID
	Role   Role
	Scope  Scope
	// RefundLimit is for support only: without one support only reads.
	RefundLimit *money.Amount
}

// BindRole gives a member a role somewhere, and answers with the member. Other processes know it
// within a few seconds, see Config.KeyCacheAge.
func (s *Service) BindRole(ctx context.Context, actor Actor, requestKey string, input NewBinding) (Member, error) {
	if err := s.authorizer.Authorize(actor, ActionMemberManage, actor.Tenant); err != nil {
		return Member{}, err
	}
	if err := input.check(); err != nil {
		return Member{}, err
	}
	command, err := newCommand("bindRole", actor, requestKey, input)
	if err != nil {
		return Member{}, err
	}
	id := ids.NewGlobal[BindingKind]()
	member, err := db.Replayable(ctx, s.db, "tenants.BindRole", func(ctx context.Context, tx pgx.Tx) (Member, error) {
		return bindTx(ctx, tx, command, actor, id, input)
	})
	s.forgetMember(input.Member)
	return member, err
}

func (n NewBinding) check() error {
	roles := MemberRoles()
	i := slices.IndexFunc(roles, func(r MemberRole) bool { return r.Role == n.Role })
	if i < 0 {
		names := make([]Role, len(roles))
		for i, role := range roles {
			names[i] = role.Role
		}
		return fault.Invalid("role", "expected one of %q, got %.50q", names, n.Role)
	}
	if !slices.Contains(roles[i].Scopes, n.Scope.Kind) {
		field := map[ScopeKind]string{ScopeKindProperty: "property", ScopeKindVenue: "venue", ScopeKindShow: "show"}[n.Scope.Kind]
		if field == "" {
			field = "role"
		}
		return fault.Invalid(field, "%s is bound to one of %q, got %.20q", n.Role, roles[i].Scopes, n.Scope.Kind)
	}
	if n.RefundLimit == nil {
		return nil
	}
	if n.Role != RoleSupport {
		return fault.Invalid("refundLimit", "only %s has one, got %s", RoleSupport, n.Role)
	}
	if _, err := money.ParseCurrency(string(n.RefundLimit.Currency)); err != nil {
		return fault.Invalid("refundLimit.currency", "%s", err)
	}
	if n.RefundLimit.Minor < 1 || n.RefundLimit.Minor > maxRefundLimit {
		return fault.Invalid("refundLimit.amountMinor", "expected 1 to %d, got %d", int64(maxRefundLimit), n.RefundLimit.Minor)
	}
	return nil
}

func bindTx(ctx context.Context, tx pgx.Tx, command command, actor Actor, id BindingID, input NewBinding) (Member, error) {
	queries := dbsqlc.New(tx)
	replayed, _, err := claimMemberTx(ctx, tx, command, actor.Tenant, id.UUID)
	if err != nil {
		return Member{}, err
	}
	member, err := memberTx(ctx, queries, actor.Tenant, input.Member)
	if err != nil || replayed {
		return member, err
	}
	switch {
	case member.State == MemberStateRemoved:
		return Member{}, fault.NotFound("member")
	case len(member.Bindings) >= maxBindings:
		return Member{}, fault.Conflict("the member has %d roles, and may have no more", maxBindings)
	}
	venue, err := scopeTx(ctx, queries, actor.Tenant, input.Scope)
	if err != nil {
		return Member{}, err
	}
	params := dbsqlc.BindingInsertParams{
		TenantID: actor.Tenant.UUID, MemberID: member.ID.UUID, ID: id.UUID, Role: string(input.Role), ScopeKind: string(input.Scope.Kind),
		ScopeRegion: string(input.Scope.Region), ScopeID: input.Scope.ID, VenueID: venue, CreatedBy: actor.Key.UUID,
	}
	if input.RefundLimit != nil {
		currency := string(input.RefundLimit.Currency)
		params.RefundLimitMinor, params.RefundCurrency = &input.RefundLimit.Minor, &currency
	}
	row, err := queries.BindingInsert(ctx, params)
	if db.ViolatedConstraint(err) == "member_bindings_once" {
		return Member{}, fault.Conflict("the member has this role there already: unbind it first to change it")
	}
	if err != nil {
		return Member{}, fmt.Errorf("bind the member %s: %w", member.ID, err)
	}
	before := loggedMember(member)
	member.Bindings = append(member.Bindings, bindingOf(row))
	return member, AuditTx(ctx, tx, actor, Change{Action: ActionMemberManage, Resource: member.ID, Before: before, After: loggedMember(member)})
}

// scopeTx says that what a role is to be bound to is the tenant's, and at which venue a show is.
func scopeTx(ctx context.Context, queries *dbsqlc.Queries, tenant TenantID, scope Scope) (venue *uuid.UUID, err error) {
	switch scope.Kind {
	case ScopeKindTenant:
	case ScopeKindProperty:
		rows, err := queries.PropertyGetMany(ctx, dbsqlc.PropertyGetManyParams{TenantID: tenant.UUID, Ids: []uuid.UUID{scope.ID}})
		if err != nil {
			return nil, fmt.Errorf("read a property: %w", err)
		}
		if len(rows) == 0 || rows[0].Region != string(scope.Region) {
			return nil, fault.NotFound("property")
		}
	case ScopeKindVenue:
		rows, err := queries.VenueGetMany(ctx, dbsqlc.VenueGetManyParams{TenantID: tenant.UUID, Ids: []uuid.UUID{scope.ID}})
		if err != nil {
			return nil, fmt.Errorf("read a venue: %w", err)
		}
		if len(rows) == 0 || rows[0].Region != string(scope.Region) {
			return nil, fault.NotFound("venue")
		}
	case ScopeKindShow:
		id, err := queries.ScopeOfShow(ctx, dbsqlc.ScopeOfShowParams{TenantID: tenant.UUID, Region: string(scope.Region), ID: scope.ID})
		if db.IsNoRows(err) {
			return nil, fault.NotFound("show")
		}
		if err != nil {
			return nil, fmt.Errorf("read a show: %w", err)
		}
		return &id, nil
	}
	return nil, nil //nolint:nilnil // only a show has a venue
}

// UnbindRole takes a role away from a member, and answers with the member. A tenant's last owner who
// has signed in stays one.
func (s *Service) UnbindRole(ctx context.Context, actor Actor, requestKey string, member MemberID, binding BindingID) (Member, error) {
	if err := s.authorizer.Authorize(actor, ActionMemberManage, actor.Tenant); err != nil {
		return Member{}, err
	}
	command, err := newCommand("unbindRole", actor, requestKey, [2]string{member.String(), binding.String()})
	if err != nil {
		return Member{}, err
	}
	changed, err := db.Replayable(ctx, s.db, "tenants.UnbindRole", func(ctx context.Context, tx pgx.Tx) (Member, error) {
		return unbindTx(ctx, tx, command, actor.Tenant, member, binding)
	})
	s.forgetMember(member)
	return changed, err
}

func unbindTx(ctx context.Context, tx pgx.Tx, command command, tenant TenantID, id MemberID, binding BindingID) (Member, error) {
	queries := dbsqlc.New(tx)
	replayed, _, err := claimMemberTx(ctx, tx, command, tenant, binding.UUID)
	if err != nil {
		return Member{}, err
	}
	member, err := memberTx(ctx, queries, tenant, id)
	if err != nil || replayed {
		return member, err
	}
	i := slices.IndexFunc(member.Bindings, func(b Binding) bool { return b.ID == binding })
	if i < 0 {
		return Member{}, fault.NotFound("binding")
	}
	if err := keepAnOwnerTx(ctx, queries, member, "binding", member.Bindings[i].Role == RoleTenantOwner); err != nil {
		return Member{}, err
	}
	if _, err := queries.BindingDelete(ctx, dbsqlc.BindingDeleteParams{TenantID: tenant.UUID, MemberID: id.UUID, ID: binding.UUID}); err != nil {
		return Member{}, fmt.Errorf("unbind the member %s: %w", id, err)
	}
	before := loggedMember(member)
	member.Bindings = slices.Delete(member.Bindings, i, i+1)
	return member, AuditAsTx(ctx, tx, tenant, command.author, Change{Action: ActionMemberManage, Resource: id, Before: before, After: loggedMember(member)})
}

// bindingsOf are the roles of some members of a tenant.
func bindingsOf(ctx context.Context, queries *dbsqlc.Queries, tenant TenantID, members []uuid.UUID) (map[MemberID][]Binding, error) {
	rows, err := queries.BindingsOf(ctx, dbsqlc.BindingsOfParams{TenantID: tenant.UUID, MemberIds: members})
	if err != nil {
		return nil, fmt.Errorf("read the roles of members: %w", err)
	}
	found := make(map[MemberID][]Binding, len(members))
	for _, row := range rows {
		id := MemberID{UUID: row.MemberID}
		found[id] = append(found[id], bindingOf(row))
	}
	return found, nil
}

func bindingOf(row dbsqlc.MemberBinding) Binding {
	binding := Binding{
		ID: BindingID{UUID: row.ID}, Role: Role(row.Role), CreatedAt: row.CreatedAt, CreatedBy: row.CreatedBy,
		Scope: Scope{Kind: ScopeKind(row.ScopeKind), Region: ids.Region(row.ScopeRegion), ID: row.ScopeID, Venue: uuidOrZero(row.VenueID)},
	}
	if row.RefundLimitMinor != nil && row.RefundCurrency != nil {
		binding.RefundLimit = &money.Amount{Minor: *row.RefundLimitMinor, Currency: money.Currency(*row.RefundCurrency)}
	}
	return binding
}
