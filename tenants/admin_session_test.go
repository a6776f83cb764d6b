package tenants_test

import (
	"testing"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

// platformKey is a platform key of the test's own, with its actor.
func platformKey(t *testing.T, service *tenants.Service) tenants.Actor {
	t.Helper()
	secret, err := tenants.BootstrapPlatformKey(t.Context(), dbtest.Open(t), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return authenticated(t, service, secret, "")
}

func startAdmin(t *testing.T, service *tenants.Service, actor tenants.Actor) tenants.AdminSession {
	t.Helper()
	session, err := service.StartAdminSession(t.Context(), actor)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// An admin session stands for its key at each moment, in every process.
func TestAnAdminSessionIsWorthItsKey(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, service *tenants.Service, actor tenants.Actor, session tenants.AdminSession){
		"the key is revoked": func(t *testing.T, service *tenants.Service, actor tenants.Actor, _ tenants.AdminSession) {
			t.Helper()
			if _, err := service.RevokeKey(t.Context(), actor, tenants.TenantID{}, actor.Key); err != nil {
				t.Fatal(err)
			}
		},
		"the key expires": func(t *testing.T, _ *tenants.Service, actor tenants.Actor, _ tenants.AdminSession) {
			t.Helper()
			age(t, "UPDATE api_keys SET expires_at = clock_timestamp() WHERE id = $1", actor.Key.UUID)
		},
		"the session expires": func(t *testing.T, _ *tenants.Service, actor tenants.Actor, _ tenants.AdminSession) {
			t.Helper()
			age(t, "UPDATE admin_sessions SET expires_at = clock_timestamp() WHERE key_id = $1", actor.Key.UUID)
		},
		"the person signs out": func(t *testing.T, service *tenants.Service, _ tenants.Actor, session tenants.AdminSession) {
			t.Helper()
			for range 2 {
				if err := service.EndAdminSession(t.Context(), session.Token); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, other := newService(t, tenants.Config{}), newService(t, tenants.Config{})
			actor := platformKey(t, service)
			session := startAdmin(t, service, actor)
			found, err := other.AuthenticateAdmin(t.Context(), session.Token)
			if err != nil || found.Key != actor.Key || found.KeyType != tenants.KeyTypePlatform || !found.Tenant.IsZero() {
				t.Fatalf("another process finds %+v, %v", found, err)
			}
			end(t, service, actor, session)
			if found, err := other.AuthenticateAdmin(t.Context(), session.Token); fault.KindOf(err) != fault.KindUnauthenticated {
				t.Errorf("afterwards it still finds %+v, %v", found, err)
			}
		})
	}
}

func TestOnlyPlatformKeysOpenAdminSessions(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	h := newHouse(t, service)
	partner := authenticated(t, service, h.key(t, tenants.KeyTypePartner, h.shop.ID).Secret, "")
	for name, actor := range map[string]tenants.Actor{"admin": h.owner, "partner": partner, "nobody": {}} {
		if session, err := service.StartAdminSession(t.Context(), actor); err == nil {
			t.Errorf("%s: %+v", name, session)
		}
	}
	session := startAdmin(t, service, platformKey(t, service))
	for _, token := range []string{"", "hfa_", "hfa_short", spoiled(session.Token), h.created.Secret, session.Token + "0"} {
		if actor, err := service.AuthenticateAdmin(t.Context(), token); fault.KindOf(err) != fault.KindUnauthenticated {
			t.Errorf("the token %q is %+v, %v", token, actor, err)
		}
		if err := service.EndAdminSession(t.Context(), token); err != nil {
			t.Errorf("ending %q: %v", token, err)
		}
	}
	if _, err := service.AuthenticateAdmin(t.Context(), session.Token); err != nil {
		t.Errorf("a token like it ended the session: %v", err)
	}
}
