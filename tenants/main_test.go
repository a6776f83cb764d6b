package tenants_test

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/tenants"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is how long a test waits for a condition before it gives up.
const patience = 20 * time.Second

// everything is an Authorizer that knows tenants and no roles. The policy has tests of its own,
// with this package's Service, in package policies.
type everything struct{}

func (everything) Authorize(actor tenants.Actor, _ tenants.Action, tenant tenants.TenantID) error {
	if actor.KeyType != tenants.KeyTypePlatform && tenant != actor.Tenant {
		return fault.NotFound("tenant")
	}
	return nil
}

// nothing refuses everything.
type nothing struct{ err error }

func (n nothing) Authorize(tenants.Actor, tenants.Action, tenants.TenantID) error { return n.err }

func newService(t testing.TB, config tenants.Config) *tenants.Service {
	t.Helper()
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	service := tenants.NewService(dbtest.Open(t), everything{}, config)
	t.Cleanup(service.Close)
	return service
}

// operator is a fresh platform key's actor.
func operator(t testing.TB, service *tenants.Service) tenants.Actor {
	t.Helper()
	secret, err := tenants.BootstrapPlatformKey(t.Context(), dbtest.Open(t), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return authenticated(t, service, secret, "")
}

func authenticated(t testing.TB, service *tenants.Service, key, session string) tenants.Actor {
	t.Helper()
	actor, err := service.Authenticate(t.Context(), key, session)
	if err != nil {
		t.Fatalf("authenticate: %v", err)
	}
	return actor
}

// uniqueSlug keeps parallel tests apart.
func uniqueSlug() string { return "s-" + strings.ToLower(rand.Text()[:20]) }

// house is a tenant with its owner and one key of each kind that sells.
type house struct {
	service *tenants.Service
	created tenants.TenantCreated
	owner   tenants.Actor
	shop    tenants.Channel
}

func newHouse(t testing.TB, service *tenants.Service) house {
	t.Helper()
	created, err := service.CreateTenant(t.Context(), operator(t, service), "tenant", tenants.NewTenant{
		Name: "Grand Theatre", Slug: uniqueSlug(), HomeRegion: "eu",
	})
	if err != nil {
		t.Fatal(err)
	}
	h := house{service: service, created: created, owner: authenticated(t, service, created.Secret, "")}
	h.shop, err = service.CreateChannel(t.Context(), h.owner, "shop", tenants.NewChannel{Name: "Shop", Type: tenants.ChannelTypeOwnSite})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h house) key(t testing.TB, keyType tenants.KeyType, channel tenants.ChannelID) tenants.KeyCreated {
	t.Helper()
	created, err := h.service.CreateKey(t.Context(), h.owner, rand.Text(), tenants.NewKey{
		Type: keyType, Mode: tenants.ModeLive, Name: "A key", Channel: channel,
	})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func (h house) session(t testing.TB, key string) tenants.GuestSession {
	t.Helper()
	session, err := h.service.StartGuestSession(t.Context(), authenticated(t, h.service, key, ""), "")
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func vienna() tenants.Site {
	return tenants.Site{Name: "Hotel Astoria", TimeZone: "Europe/Vienna", Currency: money.Currency("EUR"), Country: "AT", City: "Vienna"}
}

// expectFault compares kind, field and the whole message.
func expectFault(t *testing.T, err error, kind fault.Kind, message string) {
	t.Helper()
	var got *fault.Error
	if !errors.As(err, &got) {
		t.Fatalf("got the error %v, want the fault %q", err, message)
	}
	if got.Kind != kind || err.Error() != message {
		t.Fatalf("got %v: %s\nwant %v: %s", got.Kind, err, kind, message)
	}
}

// eventually waits for a condition that another goroutine or the clock brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func databaseNow(t *testing.T) time.Time {
	t.Helper()
	var now time.Time
	if err := dbtest.Open(t).Pool().QueryRow(t.Context(), "SELECT clock_timestamp()::timestamptz").Scan(&now); err != nil {
		t.Fatal(err)
	}
	return now
}

// openAnother is a second process's view: connections and caches of its own.
func openAnother(t testing.TB) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// Every method that acts for somebody asks the authorizer before it does anything: here there is
// not even a database.
func TestNothingHappensWithoutPermission(t *testing.T) {
	t.Parallel()
	refusal := fault.Denied("not today")
	service := tenants.NewService(nil, nothing{refusal}, tenants.Config{})
	value := reflect.ValueOf(service)
	asked := 0
	for i := range value.NumMethod() {
		method := value.Type().Method(i)
		signature := value.Method(i).Type()
		if signature.NumIn() < 2 || signature.In(1) != reflect.TypeFor[tenants.Actor]() {
			continue
		}
		asked++
		arguments := []reflect.Value{reflect.ValueOf(t.Context())}
		for p := 1; p < signature.NumIn(); p++ {
			arguments = append(arguments, reflect.New(signature.In(p)).Elem())
		}
		if method.Name == "Tenant" {
			arguments[2].Set(reflect.ValueOf(tenants.TenantID{UUID: [16]byte{1}}))
		}
		results := value.Method(i).Call(arguments)
		err, _ := results[len(results)-1].Interface().(error)
		if !errors.Is(err, refusal) {
			t.Errorf("%s: got %v, want the authorizer's refusal", method.Name, err)
		}
	}
	if asked < 20 {
		t.Errorf("only %d methods were asked", asked)
	}
}
