package graph_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/tenants/oidc"
	"github.com/holdfast/holdfast/tenants/oidc/oidctest"
)

const audience = "holdfast-tests"

const memberFields = `id email state subject channelId roles { id role propertyId venueId showId refundLimit { amountMinor currency } }`

type boundRole struct {
	ID, Role                    string
	PropertyID, VenueID, ShowID *string
	RefundLimit                 *struct {
		AmountMinor int64
		Currency    string
	}
}

type memberReply struct {
	ID, Email, State   string
	Subject, ChannelID *string
	Roles              []boundRole
}

// invite makes a member, and gives the client of whoever has the token.
func (h *house) invite() (memberReply, client) {
	h.server.t.Helper()
	subject := uuid.NewString()
	var answer struct{ InviteMember memberReply }
	h.admin.get(`mutation($input: InviteMemberInput!) { inviteMember(input: $input) { `+memberFields+` } }`,
		vars{"input": vars{"requestKey": key(), "subject": subject, "email": subject + "@example.com", "channel": h.boxOffice}}, &answer)
	return answer.InviteMember, h.server.client(h.server.issuer.Token(subject, audience, nil))
}

func bindInput(member, role string, scope vars) vars {
	input := vars{"requestKey": key(), "member": member, "role": role}
	for name, value := range scope {
		input[name] = value
	}
	return vars{"input": input}
}

const (
	bindRole     = `mutation($input: BindRoleInput!) { bindRole(input: $input) { ` + memberFields + ` } }`
	unbindRole   = `mutation($input: UnbindRoleInput!) { unbindRole(input: $input) { ` + memberFields + ` } }`
	removeMember = `mutation($input: RemoveMemberInput!) { removeMember(input: $input) { ` + memberFields + ` } }`
)

func (h *house) bind(member, role string, scope vars) memberReply {
	h.server.t.Helper()
	var answer struct{ BindRole memberReply }
	h.admin.get(bindRole, bindInput(member, role, scope), &answer)
	return answer.BindRole
}

// staff is a member with one role.
func (h *house) staff(role string, scope vars) client {
	h.server.t.Helper()
	member, as := h.invite()
	h.bind(member.ID, role, scope)
	return as
}

const whoAmI = `{ viewer { tenantId memberId keyId keyType roles channelId } }`

func TestMembersSignIn(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	member, as := h.invite()
	if member.State != "INVITED" || len(member.Roles) != 0 || *member.ChannelID != h.boxOffice {
		t.Errorf("invited: %+v", member)
	}
	var viewer struct {
		Viewer struct {
			TenantID, MemberID, KeyID, ChannelID *string
			KeyType                              string
			Roles                                []string
		}
	}
	as.get(whoAmI, nil, &viewer)
	if v := viewer.Viewer; *v.TenantID != h.tenant || *v.MemberID != member.ID || v.KeyID != nil || v.KeyType != "MEMBER" || len(v.Roles) != 0 || *v.ChannelID != h.boxOffice {
		t.Errorf("signed in: %+v", v)
	}
	if e := as.refused(`{ hotels { nodes { id } } }`, nil); e.code() != "FORBIDDEN" {
		t.Errorf("without a role: %+v", e)
	}
	bound := h.bind(member.ID, "AUDITOR", nil)
	if bound.State != "ACTIVE" || len(bound.Roles) != 1 || bound.Roles[0].Role != "AUDITOR" {
		t.Errorf("bound: %+v", bound)
	}
	// This process knows it at once.
	var hotels struct{ Hotels struct{ Nodes []created } }
	as.get(`{ hotels { nodes { id } } }`, nil, &hotels)
	var answer struct{ UnbindRole memberReply }
	h.admin.get(unbindRole, vars{"input": vars{"requestKey": key(), "member": member.ID, "binding": bound.Roles[0].ID}}, &answer)
	if e := as.refused(`{ hotels { nodes { id } } }`, nil); e.code() != "FORBIDDEN" || len(answer.UnbindRole.Roles) != 0 {
		t.Errorf("unbound: %+v, %+v", e, answer)
	}
	// The header may name the tenant, and no other.
	inTenant := as
	inTenant.tenant = h.tenant
	inTenant.get(whoAmI, nil, &viewer)
	elsewhere, nowhere := as, as
	elsewhere.tenant, nowhere.tenant = other.tenant, randomID(other.tenant)
	theirs, nobodys := elsewhere.post(whoAmI, nil), nowhere.post(whoAmI, nil)
	if theirs.status != http.StatusUnauthorized || theirs.body != nobodys.body || !strings.Contains(theirs.body, "Holdfast-Tenant") {
		t.Errorf("another tenant: %s\nno tenant: %s", theirs.body, nobodys.body)
	}
	var removed struct{ RemoveMember memberReply }
	h.admin.get(removeMember, vars{"input": vars{"requestKey": key(), "member": member.ID}}, &removed)
	if r := as.post(whoAmI, nil); r.status != http.StatusUnauthorized || removed.RemoveMember.State != "REMOVED" {
		t.Errorf("removed: %d %s, %+v", r.status, r.body, removed)
	}
	var list struct{ Members struct{ Nodes []memberReply } }
	h.admin.get(`{ members(first: 10) { nodes { `+memberFields+` } } }`, nil, &list)
	if len(list.Members.Nodes) != 1 || list.Members.Nodes[0].ID != member.ID {
		t.Errorf("members: %+v", list)
	}
}

// Another process knows a change of roles within a few seconds.
func TestOtherProcessesLearnOfRoles(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	verifier, err := oidc.New(oidc.Config{Issuers: []oidc.Issuer{{URL: s.issuer.URL, Audience: audience}}})
	if err != nil {
		t.Fatal(err)
	}
	there := serverWith(t, dbtest.Open(t), tenants.Config{Tokens: verifier, KeyCacheAge: 100 * time.Millisecond}, nil)
	h := newHouse(t, s)
	member, as := h.invite()
	as.server = &there
	mayRead := func() bool {
		r := as.post(`{ hotels { nodes { id } } }`, nil)
		return len(r.Errors) == 0
	}
	if mayRead() {
		t.Fatal("without a role")
	}
	bound := h.bind(member.ID, "AUDITOR", nil)
	eventually(t, "the role is known", mayRead)
	var answer struct{ UnbindRole memberReply }
	h.admin.get(unbindRole, vars{"input": vars{"requestKey": key(), "member": member.ID, "binding": bound.Roles[0].ID}}, &answer)
	eventually(t, "the role is gone", func() bool { return !mayRead() })
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	between := time.NewTicker(20 * time.Millisecond)
	defer between.Stop()
	deadline := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-between.C:
		case <-deadline:
			t.Fatalf("not within half a minute: %s", what)
		}
	}
}

func TestInvitationsByEmail(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	email := uuid.NewString() + "@example.com"
	invite := func(h house) {
		var answer struct{ InviteMember memberReply }
		h.admin.get(`mutation($input: InviteMemberInput!) { inviteMember(input: $input) { `+memberFields+` } }`,
			vars{"input": vars{"requestKey": key(), "email": strings.ToUpper(email)}}, &answer)
		if answer.InviteMember.Email != email || answer.InviteMember.Subject != nil {
			t.Errorf("invited: %+v", answer)
		}
	}
	invite(h)
	subject := uuid.NewString()
	unverified := s.client(s.issuer.Token(subject, audience, oidctest.Claims{"email": email}))
	if r := unverified.post(whoAmI, nil); r.status != http.StatusUnauthorized || !strings.Contains(r.body, "no member of any tenant") {
		t.Errorf("an e-mail that nobody verified: %s", r.body)
	}
	verified := s.client(s.issuer.Token(subject, audience, oidctest.Claims{"email": email, "email_verified": true}))
	if r := verified.post(whoAmI, nil); !strings.Contains(r.body, h.tenant) {
		t.Errorf("the first sign-in: %s", r.body)
	}
	// From then on the subject counts, whatever the e-mail.
	if r := unverified.post(whoAmI, nil); !strings.Contains(r.body, h.tenant) {
		t.Errorf("the second sign-in: %s", r.body)
	}
	thief := s.client(s.issuer.Token(uuid.NewString(), audience, oidctest.Claims{"email": email, "email_verified": true}))
	if r := thief.post(whoAmI, nil); r.status != http.StatusUnauthorized {
		t.Errorf("another subject with the e-mail: %s", r.body)
	}
	// A member of several tenants names the one that they act in.
	invite(other)
	there := verified
	there.tenant = other.tenant
	if r := there.post(whoAmI, nil); !strings.Contains(r.body, other.tenant) {
		t.Errorf("the first sign-in elsewhere: %s", r.body)
	}
	again := s.client(s.issuer.Token(subject, audience, oidctest.Claims{"jti": "2"}))
	if r := again.post(whoAmI, nil); r.status != http.StatusUnauthorized || !strings.Contains(r.body, "Holdfast-Tenant: the token's subject is a member of several tenants") {
		t.Errorf("which tenant: %s", r.body)
	}
	again.tenant = h.tenant
	if r := again.post(whoAmI, nil); !strings.Contains(r.body, h.tenant) {
		t.Errorf("the tenant that is named: %s", r.body)
	}
}

func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	first, asFirst := h.invite()
	asFirst.post(whoAmI, nil)
	owner := h.bind(first.ID, "TENANT_OWNER", nil)
	// One who was invited and never came is nobody to leave the tenant to.
	second, asSecond := h.invite()
	h.bind(second.ID, "TENANT_OWNER", nil)
	unbind := vars{"input": vars{"requestKey": key(), "member": first.ID, "binding": owner.Roles[0].ID}}
	remove := vars{"input": vars{"requestKey": key(), "member": first.ID}}
	for query, c := range map[string]struct {
		variables vars
		field     string
	}{unbindRole: {unbind, "input.binding"}, removeMember: {remove, "input.member"}} {
		if e := asFirst.refused(query, c.variables); e.code() != "BAD_INPUT" || e.field() != c.field || !strings.Contains(e.Message, "the tenant's last owner") {
			t.Errorf("%s: %+v", query, e)
		}
	}
	asSecond.post(whoAmI, nil)
	var answer struct{ UnbindRole memberReply }
	asFirst.get(unbindRole, unbind, &answer)
	// The same request again is answered, though its sender may do it no more.
	h.admin.get(removeMember, remove, &struct{ RemoveMember memberReply }{})
	if e := asSecond.refused(removeMember, vars{"input": vars{"requestKey": key(), "member": second.ID}}); e.code() != "BAD_INPUT" {
		t.Errorf("the other owner: %+v", e)
	}
}

func TestBadBindings(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	member, _ := h.invite()
	for name, c := range map[string]struct {
		role                 string
		scope                vars
		code, field, message string
	}{
		"no such role":           {"JANITOR", nil, "BAD_INPUT", "input.role", "JANITOR"},
		"an owner of one hotel":  {"TENANT_OWNER", vars{"property": h.property}, "BAD_INPUT", "input.property", "TENANT_OWNER is bound to one of"},
		"a manager of no hotel":  {"PROPERTY_MANAGER", nil, "BAD_INPUT", "input.role", "PROPERTY_MANAGER is bound to one of"},
		"a hotel's box office":   {"VENUE_MANAGER", vars{"property": h.property}, "BAD_INPUT", "input.property", "VENUE_MANAGER is bound to one of"},
		"two places":             {"BOX_OFFICE", vars{"property": h.property, "venue": h.venue}, "BAD_INPUT", "input", "at most one of"},
		"a limit without refund": {"AUDITOR", vars{"refundLimit": vars{"amountMinor": 1, "currency": "EUR"}}, "BAD_INPUT", "input.refundLimit", "only SUPPORT has one"},
		"a limit of nothing":     {"SUPPORT", vars{"refundLimit": vars{"amountMinor": 0, "currency": "EUR"}}, "BAD_INPUT", "input.refundLimit.amountMinor", "expected 1 to"},
		"another's hotel":        {"PROPERTY_MANAGER", vars{"property": other.property}, "NOT_FOUND", "", "no such property"},
		"another's venue":        {"VENUE_MANAGER", vars{"venue": other.venue}, "NOT_FOUND", "", "no such venue"},
		"another's show":         {"VENUE_MANAGER", vars{"show": other.show}, "NOT_FOUND", "", "no such show"},
		"no member":              {"AUDITOR", vars{"member": randomID(member.ID)}, "NOT_FOUND", "", "no such member"},
	} {
		e := h.admin.refused(bindRole, bindInput(member.ID, c.role, c.scope))
		if e.code() != c.code || e.field() != c.field || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	h.bind(member.ID, "AUDITOR", nil)
	if e := h.admin.refused(bindRole, bindInput(member.ID, "AUDITOR", nil)); e.code() != "CONFLICT" {
		t.Errorf("twice: %+v", e)
	}
	invite := `mutation($input: InviteMemberInput!) { inviteMember(input: $input) { id } }`
	for field, input := range map[string]vars{
		"input.email":   {"email": "Front desk <desk@example.com>"},
		"input.issuer":  {"email": "desk@example.com", "issuer": "https://elsewhere.example.com"},
		"input.subject": {"email": "desk@example.com", "subject": ""},
		"input.channel": {"email": "desk@example.com", "channel": h.shop},
	} {
		input["requestKey"] = key()
		if e := h.admin.refused(invite, vars{"input": input}); e.code() != "BAD_INPUT" || e.field() != field {
			t.Errorf("%s: %+v", field, e)
		}
	}
	if e := h.partner.refused(invite, vars{"input": vars{"requestKey": key(), "email": "desk@example.com"}}); e.code() != "FORBIDDEN" {
		t.Errorf("a partner: %+v", e)
	}
}
