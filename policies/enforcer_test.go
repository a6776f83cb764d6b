package policies

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

//nolint:gochecknoglobals // flags of a test binary are read from its package
var update = flag.Bool("update", false, "write testdata/roles.golden.md from the policy")

func newEnforcer(t testing.TB) *Enforcer {
	t.Helper()
	enforcer, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return enforcer
}

func TestRolesGolden(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "roles.golden.md")
	got := table(newEnforcer(t))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the policy no longer is what %s says; run `go test ./policies -update` and review the difference\n%s", path, got)
	}
}

// table is the whole policy as a product person reads it.
func table(e *Enforcer) string {
	var b strings.Builder
	b.WriteString("# Who may do what\n\n" +
		"Made from the policy by `go test ./policies -update`. A guest has what the row says in addition to\n" +
		"the key that the session came with. Operators act in every tenant, all others in their own. What a\n" +
		"member may do, they may do only where the role is bound.\n\n" +
		"| role of a member | may be bound to |\n|---|---|\n")
	for _, role := range tenants.MemberRoles() {
		scopes := make([]string, len(role.Scopes))
		for i, scope := range role.Scopes {
			scopes[i] = map[tenants.ScopeKind]string{
				tenants.ScopeKindTenant: "the whole tenant", tenants.ScopeKindProperty: "a property", tenants.ScopeKindVenue: "a venue", tenants.ScopeKindShow: "a show",
			}[scope]
			if role.Role == tenants.RoleChainManager && scope == tenants.ScopeKindTenant {
				scopes[i] = "all hotels of the tenant"
			}
		}
		fmt.Fprintf(&b, "| %s | %s |\n", ofMember(role.Role), strings.Join(scopes, ", "))
	}
	b.WriteString("\n| action | what it allows |")
	for _, role := range Roles() {
		fmt.Fprintf(&b, " %s |", role)
	}
	b.WriteString("\n|---|---|" + strings.Repeat(":-:|", len(Roles())) + "\n")
	for _, meaning := range Meanings() {
		fmt.Fprintf(&b, "| `%s` | %s |", meaning.Action, meaning.Text)
		for _, role := range Roles() {
			mark := ""
			if e.allowed[role][meaning.Action] {
				mark = "yes"
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestEveryActionHasAMeaningAndSomebodyWhoMay(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "actions.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		declared += len(general.Specs)
	}
	if declared != len(Meanings()) {
		t.Errorf("%d actions are declared and %d have a meaning", declared, len(Meanings()))
	}
	e := newEnforcer(t)
	seen := map[Action]bool{}
	for _, meaning := range Meanings() {
		if seen[meaning.Action] {
			t.Errorf("%s stands twice", meaning.Action)
		}
		seen[meaning.Action] = true
		possible := false
		for _, role := range Roles() {
			possible = possible || e.allowed[role][meaning.Action]
		}
		if !possible {
			t.Errorf("nobody may do %s", meaning.Action)
		}
	}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	e := newEnforcer(t)
	own, foreign := ids.NewGlobal[tenants.TenantKind](), ids.NewGlobal[tenants.TenantKind]()
	session := ids.New[tenants.SessionKind]("eu")
	operator := tenants.Actor{KeyType: tenants.KeyTypePlatform}
	owner := tenants.Actor{Tenant: own, KeyType: tenants.KeyTypeAdmin}
	partner := tenants.Actor{Tenant: own, KeyType: tenants.KeyTypePartner}
	widget := tenants.Actor{Tenant: own, KeyType: tenants.KeyTypePublishable}
	guest := tenants.Actor{Tenant: own, KeyType: tenants.KeyTypePublishable, Session: session}
	partnerGuest := tenants.Actor{Tenant: own, KeyType: tenants.KeyTypePartner, Session: session}
	installation := tenants.TenantID{}

	for _, c := range []struct {
		name   string
		actor  tenants.Actor
		action Action
		tenant tenants.TenantID
		want   string
		kind   fault.Kind
	}{
		{name: "operator creates a tenant", actor: operator, action: ActionTenantCreate, tenant: installation},
		{name: "operator lists tenants", actor: operator, action: ActionTenantRead, tenant: installation},
		{name: "operator issues a key for a tenant", actor: operator, action: ActionKeyCreate, tenant: own},
		{
			name: "operator sells nothing", actor: operator, action: ActionHoldPlace, tenant: own,
			want: "a platform key may not do hold.place", kind: fault.KindDenied,
		},
		{
			name: "operator sets up no stock", actor: operator, action: ActionPropertyCreate, tenant: own,
			want: "a platform key may not do property.create", kind: fault.KindDenied,
		},
		{name: "owner sets up its tenant", actor: owner, action: ActionPropertyCreate, tenant: own},
		{name: "owner sells", actor: owner, action: ActionHoldPlace, tenant: own},
		{
			name: "owner creates no tenant", actor: owner, action: ActionTenantCreate, tenant: installation,
			want: "an admin key may not do tenant.create", kind: fault.KindDenied,
		},
		{
			name: "owner does not list tenants", actor: owner, action: ActionTenantRead, tenant: installation,
			want: "an admin key may not do tenant.read", kind: fault.KindDenied,
		},
		{
			name: "owner in no tenant", actor: owner, action: ActionPropertyCreate, tenant: installation,
			want: "an admin key may not do property.create", kind: fault.KindDenied,
		},
		{
			name: "owner elsewhere", actor: owner, action: ActionPropertyRead, tenant: foreign,
			want: "no such tenant", kind: fault.KindNotFound,
		},
		{
			name: "owner elsewhere, what it may not anyway", actor: owner, action: ActionTenantCreate, tenant: foreign,
			want: "no such tenant", kind: fault.KindNotFound,
		},
		{name: "partner sells", actor: partner, action: ActionHoldPlace, tenant: own},
		{
			name: "partner sets up nothing", actor: partner, action: ActionNightsSet, tenant: own,
			want: "a partner key may not do nights.set", kind: fault.KindDenied,
		},
		{name: "widget shows", actor: widget, action: ActionShowRead, tenant: own},
		{name: "widget starts sessions", actor: widget, action: ActionSessionStart, tenant: own},
		{
			name: "widget owns nothing", actor: widget, action: ActionHoldPlace, tenant: own,
			want: "a publishable key may do hold.place only for a guest: present the guest's session in the Holdfast-Session header", kind: fault.KindDenied,
		},
		{
			name: "widget issues no key", actor: widget, action: ActionKeyCreate, tenant: own,
			want: "a publishable key may not do key.create", kind: fault.KindDenied,
		},
		{name: "guest buys", actor: guest, action: ActionHoldPlace, tenant: own},
		{name: "guest browses", actor: guest, action: ActionShowRead, tenant: own},
		{
			name: "guest is not staff", actor: guest, action: ActionBookingNoShow, tenant: own,
			want: "a publishable key may not do booking.noshow", kind: fault.KindDenied,
		},
		{
			name: "guest elsewhere", actor: guest, action: ActionHoldPlace, tenant: foreign,
			want: "no such tenant", kind: fault.KindNotFound,
		},
		{name: "partner's guest buys", actor: partnerGuest, action: ActionBookingCheckout, tenant: own},
		{
			name: "nobody", actor: tenants.Actor{}, action: ActionShowRead, tenant: own,
			want: "Authorization: expected a key", kind: fault.KindUnauthenticated,
		},
		{
			name: "nobody in no tenant", actor: tenants.Actor{}, action: ActionTenantCreate, tenant: installation,
			want: "Authorization: expected a key", kind: fault.KindUnauthenticated,
		},
		{
			name: "an action that does not exist", actor: owner, action: "show.burn", tenant: own,
			want: "an admin key may not do show.burn", kind: fault.KindDenied,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := e.Authorize(c.actor, c.action, c.tenant)
			if c.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if err == nil || err.Error() != c.want || fault.KindOf(err) != c.kind {
				t.Fatalf("got %v (%v), want %s (%v)", err, fault.KindOf(err), c.want, c.kind)
			}
		})
	}
}

func TestAPolicyThatNamesWhatDoesNotExistIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"p, tenant-owner, show, burn", "the action show.burn, which does not exist"},
		{"p, janitor, show, read", "the role janitor, which does not exist"},
		{"p, tenant-owner, show", "of the policy"},
	} {
		if _, err := newCasbin(policyText + c.line + "\n"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
	}
}
