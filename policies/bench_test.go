package policies

import (
	"testing"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// BenchmarkAuthorize is what a request pays for one decision.
func BenchmarkAuthorize(b *testing.B) {
	enforcer, err := New()
	if err != nil {
		b.Fatal(err)
	}
	tenant := ids.NewGlobal[tenants.TenantKind]()
	guest := tenants.Actor{
		Tenant: tenant, KeyType: tenants.KeyTypePublishable, Session: ids.New[tenants.SessionKind]("eu"),
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := enforcer.Authorize(guest, ActionHoldPlace, tenant); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCasbin is what it would pay if casbin were asked each time.
func BenchmarkCasbin(b *testing.B) {
	judge, err := newCasbin(policyText)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		allowed, err := judge.Enforce(string(RoleGuest), anyTenant, "hold", "place")
		if err != nil || !allowed {
			b.Fatal(allowed, err)
		}
	}
}
