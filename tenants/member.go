package tenants

import (
	"context"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// MemberState says where a member is between the invitation and the end.
type MemberState string

// The states of a member.
const (
	// MemberStateInvited may sign in and has not done so yet.
	MemberStateInvited MemberState = "INVITED"
	// MemberStateActive has signed in.
	MemberStateActive MemberState = "ACTIVE"
	// MemberStateRemoved is nobody any more; an invitation makes another member.
	MemberStateRemoved MemberState = "REMOVED"
)

// Member is a person who works for a tenant, and signs in with an identity provider.
type Member struct {
	ID     MemberID
	Tenant TenantID
	// Issuer and Subject are what the identity provider calls itself and the person. Subject is empty
	// until the first sign-in of who was invited by e-mail.
	Issuer  string
	Subject string
	// Email is for people; who was invited by it is found by it at the first sign-in.
	Email string
	State MemberState
	// Channel is the box office that the member sells through, or zero.
	Channel     ChannelID
	CreatedAt   time.Time
	FirstSeenAt *time.Time
	RemovedAt   *time.Time
	// Bindings are what the member is there for. None means: may sign in, and nothing else.
	Bindings []Binding
}

// NewMember is what InviteMember is told.
type NewMember struct {
	// Issuer is one of those that the installation is configured for; it may be left out where there
	// is one.
	Issuer string
	// Subject may be left out: then the first sign-in with the e-mail, which the issuer must say that
	// it has verified, makes the invitation its own.
	Subject string
	// Email is a plain address, such as "front-desk@example.com".
	Email string
	// Channel is a box office of the tenant, or zero for who sells nothing.
	Channel ChannelID
}

// InviteMember lets a person sign in. They may do nothing until a role is bound to them.
func (s *Service) InviteMember(ctx context.Context, actor Actor, requestKey string, input NewMember) (Member, error) {
	if err := s.authorizer.Authorize(actor, ActionMemberManage, actor.Tenant); err != nil {
		return Member{}, err
	}
	input, err := s.checkMember(actor.Tenant, input)
	if err != nil {
		return Member{}, err
	}
	command, err := newCommand("inviteMember", actor, requestKey, input)
	if err != nil {
		return Member{}, err
	}
	id := ids.NewGlobal[MemberKind]()
	return db.Replayable(ctx, s.db, "tenants.InviteMember", func(ctx context.Context, tx pgx.Tx) (Member, error) {
		return inviteTx(ctx, tx, command, actor.Tenant, id, input)
	})
}

func (s *Service) checkMember(tenant TenantID, input NewMember) (NewMember, error) {
	issuers := s.issuers(tenant)
	switch {
	case len(issuers) == 0:
		return input, fault.Conflict("no identity provider is configured for this tenant: nobody could sign in")
	case input.Issuer == "" && len(issuers) == 1:
		input.Issuer = issuers[0]
	case !slices.Contains(issuers, input.Issuer):
		return input, fault.Invalid("issuer", "expected one of %q, got %.100q", issuers, input.Issuer)
	}
	var err error
	if input.Subject != "" {
		if input.Subject, err = text("subject", input.Subject, maxSubjectLength); err != nil {
			return input, err
		}
	}
	input.Email = strings.ToLower(strings.TrimSpace(input.Email))
	address, err := mail.ParseAddress(input.Email)
	if err != nil || address.Address != input.Email || len(input.Email) < minEmailLength || len(input.Email) > maxEmailLength {
		return input, fault.Invalid("email", "expected a plain address of up to %d characters, such as \"front-desk@example.com\"", maxEmailLength)
	}
	return input, nil
}

// issuers are the identity providers whose tokens may be those of a tenant's members.
func (s *Service) issuers(tenant TenantID) []string {
	if s.config.Tokens == nil {
		return nil
	}
	return s.config.Tokens.Issuers(tenant)
}

func inviteTx(ctx context.Context, tx pgx.Tx, command command, tenantID TenantID, id MemberID, input NewMember) (Member, error) {
	queries := dbsqlc.New(tx)
	replayed, earlier, err := claimMemberTx(ctx, tx, command, tenantID, id.UUID)
	if err != nil {
		return Member{}, err
	}
	if replayed {
		return memberTx(ctx, queries, tenantID, MemberID{UUID: earlier})
	}
	count, err := queries.MemberCount(ctx, tenantID.UUID)
	if err != nil {
		return Member{}, fmt.Errorf("count members: %w", err)
	}
	if count >= maxMembers {
		return Member{}, fault.Conflict("the tenant has %d members, and no more may be invited", maxMembers)
	}
	if !input.Channel.IsZero() {
		channel, err := channelTx(ctx, queries, tenantID, input.Channel)
		if err != nil {
			return Member{}, err
		}
		if channel.Type != ChannelTypeBoxOffice {
			return Member{}, fault.Invalid("channel", "a member sells through a box office or through no channel, got one of kind %s", channel.Type)
		}
	}
	params := dbsqlc.MemberInsertParams{
		TenantID: tenantID.UUID, ID: id.UUID, Issuer: input.Issuer, Email: input.Email, ChannelID: uuidOrNull(input.Channel.UUID),
	}
	if input.Subject != "" {
		params.Subject = &input.Subject
	}
	row, err := queries.MemberInsert(ctx, params)
	switch constraint := db.ViolatedConstraint(err); {
	case constraint == "members_subject_unique":
		return Member{}, fault.Conflict("a member with the subject %q of this issuer was invited before", input.Subject)
	case constraint == "members_email_unique":
		return Member{}, fault.Conflict("a member with the e-mail %q of this issuer was invited before", input.Email)
	case err != nil:
		return Member{}, fmt.Errorf("insert the member %s: %w", id, err)
	}
	member := memberOf(row)
	return member, AuditAsTx(ctx, tx, tenantID, command.author, Change{Action: ActionMemberManage, Resource: id, After: loggedMember(member)})
}

// loggedMember is what the log of changes keeps of a member.
func loggedMember(m Member) any {
	type role struct {
		Role, ScopeKind, Scope string
		RefundLimit            *money.Amount
	}
	roles := make([]role, len(m.Bindings))
	for i, b := range m.Bindings {
		roles[i] = role{Role: string(b.Role), ScopeKind: string(b.Scope.Kind), Scope: b.Scope.ID.String(), RefundLimit: b.RefundLimit}
	}
	return struct {
		State, Issuer, Subject, Email string
		Channel                       string
		Roles                         []role
	}{string(m.State), m.Issuer, m.Subject, m.Email, m.Channel.String(), roles}
}

// claimMemberTx takes the request key of a change to a tenant's members, and the lock under which such
// changes are made one after the other.
func claimMemberTx(ctx context.Context, tx pgx.Tx, command command, tenantID TenantID, result uuid.UUID) (replayed bool, earlier uuid.UUID, err error) {
	queries := dbsqlc.New(tx)
	tenant, err := tenantTx(ctx, queries, tenantID)
	if err != nil {
		return false, uuid.Nil, err
	}
	earlier, replayed, err = command.claimTx(ctx, tx, tenantID.UUID, tenant.HomeRegion, result)
	if err != nil || replayed {
		return replayed, earlier, err
	}
	if _, err := queries.MemberVersionBump(ctx, tenantID.UUID); err != nil {
		return false, uuid.Nil, fmt.Errorf("lock the members of a tenant: %w", err)
	}
	return false, earlier, nil
}

// RemoveMember ends a member for good, with all roles. A tenant's last owner who has signed in stays.
func (s *Service) RemoveMember(ctx context.Context, actor Actor, requestKey string, id MemberID) (Member, error) {
	if err := s.authorizer.Authorize(actor, ActionMemberManage, actor.Tenant); err != nil {
		return Member{}, err
	}
	command, err := newCommand("removeMember", actor, requestKey, id.String())
	if err != nil {
		return Member{}, err
	}
	removed, err := db.Replayable(ctx, s.db, "tenants.RemoveMember", func(ctx context.Context, tx pgx.Tx) (Member, error) {
		return removeMemberTx(ctx, tx, command, actor.Tenant, id)
	})
	s.forgetMember(id)
	return removed, err
}

func removeMemberTx(ctx context.Context, tx pgx.Tx, command command, tenantID TenantID, id MemberID) (Member, error) {
	queries := dbsqlc.New(tx)
	replayed, _, err := claimMemberTx(ctx, tx, command, tenantID, id.UUID)
	if err != nil {
		return Member{}, err
	}
	member, err := memberTx(ctx, queries, tenantID, id)
	if err != nil || replayed {
		return member, err
	}
	if member.State == MemberStateRemoved {
		return Member{}, fault.NotFound("member")
	}
	owns := slices.ContainsFunc(member.Bindings, func(b Binding) bool { return b.Role == RoleTenantOwner })
	if err := keepAnOwnerTx(ctx, queries, member, "member", owns); err != nil {
		return Member{}, err
	}
	if _, err := queries.BindingsDelete(ctx, dbsqlc.BindingsDeleteParams{TenantID: tenantID.UUID, MemberID: id.UUID}); err != nil {
		return Member{}, fmt.Errorf("remove the roles of the member %s: %w", id, err)
	}
	row, err := queries.MemberRemove(ctx, dbsqlc.MemberRemoveParams{TenantID: tenantID.UUID, ID: id.UUID})
	if err != nil {
		return Member{}, fmt.Errorf("remove the member %s: %w", id, err)
	}
	removed := memberOf(row)
	return removed, AuditAsTx(ctx, tx, tenantID, command.author, Change{
		Action: ActionMemberManage, Resource: id, Before: loggedMember(member), After: loggedMember(removed),
	})
}

// keepAnOwnerTx refuses to take the last owner away. Who was invited and never came is no owner yet:
// they could not let anybody in.
func keepAnOwnerTx(ctx context.Context, queries *dbsqlc.Queries, member Member, field string, owns bool) error {
	if !owns || member.State != MemberStateActive {
		return nil
	}
	others, err := queries.OwnersBeside(ctx, dbsqlc.OwnersBesideParams{TenantID: member.Tenant.UUID, MemberID: member.ID.UUID})
	if err != nil {
		return fmt.Errorf("count the other owners of a tenant: %w", err)
	}
	if others == 0 {
		return fault.Invalid(field, "%s is the tenant's last owner who has signed in: make somebody else an owner first", member.ID)
	}
	return nil
}

// Member is one member of the actor's tenant, removed or not.
func (s *Service) Member(ctx context.Context, actor Actor, id MemberID) (Member, error) {
	if err := s.authorizer.Authorize(actor, ActionMemberRead, actor.Tenant); err != nil {
		return Member{}, err
	}
	member, err := memberTx(ctx, s.read(), actor.Tenant, id)
	return member, db.Classify(err)
}

// Members lists the members of the actor's tenant, removed ones too.
func (s *Service) Members(ctx context.Context, actor Actor, after MemberID, limit int) (Page[Member], error) {
	if err := s.authorizer.Authorize(actor, ActionMemberRead, actor.Tenant); err != nil {
		return Page[Member]{}, err
	}
	if err := checkPage(limit); err != nil {
		return Page[Member]{}, err
	}
	rows, err := s.read().MemberList(ctx, dbsqlc.MemberListParams{TenantID: actor.Tenant.UUID, After: after.UUID, MaxRows: int64(limit) + 1})
	if err != nil {
		return Page[Member]{}, failed("list members", err)
	}
	page := pageOf(rows, limit, memberOf)
	wanted := make([]uuid.UUID, len(page.Items))
	for i, member := range page.Items {
		wanted[i] = member.ID.UUID
	}
	bindings, err := bindingsOf(ctx, s.read(), actor.Tenant, wanted)
	if err != nil {
		return Page[Member]{}, db.Classify(err)
	}
	for i, member := range page.Items {
		page.Items[i].Bindings = bindings[member.ID]
	}
	return page, nil
}

// memberTx reads a member with its roles.
func memberTx(ctx context.Context, queries *dbsqlc.Queries, tenant TenantID, id MemberID) (Member, error) {
	row, err := queries.MemberGet(ctx, dbsqlc.MemberGetParams{TenantID: tenant.UUID, ID: id.UUID})
	if db.IsNoRows(err) {
		return Member{}, fault.NotFound("member")
	}
	if err != nil {
		return Member{}, fmt.Errorf("read the member %s: %w", id, err)
	}
	member := memberOf(row)
	bindings, err := bindingsOf(ctx, queries, tenant, []uuid.UUID{id.UUID})
	member.Bindings = bindings[id]
	return member, err
}

func memberOf(row dbsqlc.Member) Member {
	member := Member{
		ID: MemberID{UUID: row.ID}, Tenant: TenantID{UUID: row.TenantID}, Issuer: row.Issuer, Email: row.Email, State: MemberState(row.State),
		Channel: ChannelID{UUID: uuidOrZero(row.ChannelID)}, CreatedAt: row.CreatedAt, FirstSeenAt: row.FirstSeenAt, RemovedAt: row.RemovedAt,
	}
	if row.Subject != nil {
		member.Subject = *row.Subject
	}
	return member
}
