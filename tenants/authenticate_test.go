package tenants_test

import (
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

// spoiled is a token with another secret: its last character is exchanged.
func spoiled(token string) string {
	last := "0"
	if strings.HasSuffix(token, last) {
		last = "1"
	}
	return token[:len(token)-1] + last
}

// unknown is a token of the same form for an id that does not exist.
func unknown(token string) string {
	body := token[strings.LastIndex(token, "_")+1:]
	return strings.TrimSuffix(token, body) + strings.Repeat("z", len(body))
}

func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	h, other := newHouse(t, service), newHouse(t, service)
	agency, err := service.CreateChannel(t.Context(), h.owner, "agency", tenants.NewChannel{Name: "Agency", Type: tenants.ChannelTypePartner})
	if err != nil {
		t.Fatal(err)
	}
	widget := h.key(t, tenants.KeyTypePublishable, h.shop.ID).Secret
	partner := h.key(t, tenants.KeyTypePartner, agency.ID).Secret
	revoked := h.key(t, tenants.KeyTypePartner, agency.ID)
	if _, err := service.RevokeKey(t.Context(), h.owner, tenants.TenantID{}, revoked.Key.ID); err != nil {
		t.Fatal(err)
	}
	expired := h.key(t, tenants.KeyTypePartner, agency.ID)
	age(t, "UPDATE api_keys SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1", expired.Key.ID.UUID)
	platform, err := tenants.BootstrapPlatformKey(t.Context(), dbtest.Open(t), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	session := h.session(t, widget)
	ended := h.session(t, widget)
	age(t, "UPDATE guest_sessions SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1", ended.ID.UUID)
	foreign := other.session(t, other.key(t, tenants.KeyTypePublishable, other.shop.ID).Secret).Token
	remembered := h.session(t, widget).Token
	authenticated(t, service, widget, remembered)

	const (
		keyForm     = `Authorization: expected "Bearer <key>" with a key of the form hfk_live_<64 characters> (or hfk_test_, hfp_live_, hfp_test_, hfo_live_), got `
		noKey       = "Authorization: no such key"
		sessionForm = "Holdfast-Session: expected a token of the form hfs_<region>_<64 characters>, as startGuestSession returns it"
		noSession   = "Holdfast-Session: no such session"
		forGuests   = "Holdfast-Session: only a publishable or partner key acts for a guest: present one of those, or leave this header out"
	)
	for name, c := range map[string]struct{ key, session, want string }{
		"nothing":                     {"", "", keyForm + "none"},
		"only a session":              {"", session.Token, keyForm + "none"},
		"not a key":                   {"secret", "", keyForm + "something else"},
		"only a prefix":               {"hfk_live_", "", keyForm + "something else"},
		"unknown prefix":              {"hfx_live_" + partner[len("hfk_live_"):], "", keyForm + "something else"},
		"unknown mode":                {"hfk_prod_" + partner[len("hfk_live_"):], "", keyForm + "something else"},
		"a test platform key":         {"hfo_test_" + platform[len("hfo_live_"):], "", keyForm + "something else"},
		"cut short":                   {partner[:len(partner)-1], "", keyForm + "something else"},
		"too long":                    {partner + "0", "", keyForm + "something else"},
		"very long":                   {partner + strings.Repeat("0", 100_000), "", keyForm + "something else"},
		"other letters":               {partner[:len(partner)-1] + "u", "", keyForm + "something else"},
		"upper case":                  {strings.ToUpper(partner), "", keyForm + "something else"},
		"trailing space":              {partner + " ", "", keyForm + "something else"},
		"bytes that are not text":     {"hfk_live_\xff\x00" + partner[len("hfk_live_")+2:], "", keyForm + "something else"},
		"a session as the key":        {session.Token, "", "Authorization: expected a key, got the token of a guest session, which belongs in the Holdfast-Session header"},
		"unknown id":                  {unknown(partner), "", noKey},
		"wrong secret":                {spoiled(partner), "", noKey},
		"right secret, other mode":    {"hfk_test_" + partner[len("hfk_live_"):], "", noKey},
		"right secret, other kind":    {"hfp_live_" + partner[len("hfk_live_"):], "", noKey},
		"wrong platform secret":       {spoiled(platform), "", noKey},
		"wrong secret of a revoked":   {spoiled(revoked.Secret), "", noKey},
		"wrong secret of an expired":  {spoiled(expired.Secret), "", noKey},
		"revoked":                     {revoked.Secret, "", "Authorization: the key was revoked"},
		"expired":                     {expired.Secret, "", "Authorization: the key has expired"},
		"a wrong key with a session":  {spoiled(widget), session.Token, noKey},
		"not a session":               {widget, "guest", sessionForm},
		"a key as the session":        {widget, partner, sessionForm},
		"session cut short":           {widget, session.Token[:20], sessionForm},
		"very long session":           {widget, session.Token + strings.Repeat("_", 100_000), sessionForm},
		"session without region":      {widget, strings.Replace(session.Token, "hfs_eu_", "hfs__", 1), sessionForm},
		"session of another region":   {widget, strings.Replace(session.Token, "hfs_eu_", "hfs_us_", 1), noSession},
		"unknown session":             {widget, unknown(session.Token), noSession},
		"wrong secret of a session":   {widget, spoiled(session.Token), noSession},
		"wrong secret of an ended":    {widget, spoiled(ended.Token), noSession},
		"session of another tenant":   {widget, foreign, noSession},
		"their session, their widget": {other.key(t, tenants.KeyTypePublishable, other.shop.ID).Secret, remembered, noSession},
		"session ended":               {widget, ended.Token, "Holdfast-Session: the session has expired: start another"},
		"session of another channel":  {partner, session.Token, "Holdfast-Session: the session belongs to another channel than the key of the Authorization header"},
		"remembered, other channel":   {partner, remembered, "Holdfast-Session: the session belongs to another channel than the key of the Authorization header"},
		"admin with a session":        {h.created.Secret, session.Token, forGuests},
		"platform with a session":     {platform, session.Token, forGuests},
		"admin with a wrong session":  {h.created.Secret, "guest", forGuests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				actor, err := service.Authenticate(t.Context(), c.key, c.session)
				expectFault(t, err, fault.KindUnauthenticated, c.want)
				if actor != (tenants.Actor{}) {
					t.Errorf("the refusal came with the actor %+v", actor)
				}
			}
		})
	}
}

// age moves a row's expiry into the past.
func age(t *testing.T, statement string, id any) {
	t.Helper()
	tag, err := dbtest.Open(t).Pool().Exec(t.Context(), statement, id)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%s: %v, %v", statement, tag, err)
	}
}

func TestParseBearer(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "", "  ": "", "Bearer hfk_live_x": "hfk_live_x", "bearer  hfk_live_x ": "hfk_live_x", "BEARER a b": "a b",
	} {
		if got, err := tenants.ParseBearer(header); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", header, got, err, want)
		}
	}
	for _, header := range []string{"hfk_live_x", "Basic aGFsbG8=", "Bearer"} {
		_, err := tenants.ParseBearer(header)
		expectFault(t, err, fault.KindUnauthenticated,
			`Authorization: expected "Bearer <key>" with a key of the form hfk_live_<64 characters> (or hfk_test_, hfp_live_, hfp_test_, hfo_live_), got another scheme`)
	}
}

func TestGuests(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	h := newHouse(t, service)
	for _, row := range []struct {
		keyType tenants.KeyType
		prefix  string
	}{{tenants.KeyTypePublishable, "hfp_live_"}, {tenants.KeyTypePartner, "hfk_live_"}} {
		keyType, prefix := row.keyType, row.prefix
		created := h.key(t, keyType, h.shop.ID)
		if !strings.HasPrefix(created.Secret, prefix) {
			t.Errorf("a %s key begins with %s", keyType, created.Secret[:9])
		}
		seller := authenticated(t, service, created.Secret, "")
		if keyType == tenants.KeyTypePublishable {
			_, err := service.StartGuestSession(t.Context(), seller, "us")
			expectFault(t, err, fault.KindInvalid, `region: expected a region in which the tenant sells, got "us"`)
		}
		if _, err := service.CreateVenue(t.Context(), h.owner, "us", tenants.NewVenue{Region: "us", Site: vienna()}); err != nil {
			t.Fatal(err)
		}
		before := databaseNow(t)
		session, err := service.StartGuestSession(t.Context(), seller, "us")
		if err != nil {
			t.Fatal(err)
		}
		if lifetime := session.ExpiresAt.Sub(before); lifetime < 24*time.Hour || lifetime > 24*time.Hour+patience {
			t.Errorf("the session lives %s", lifetime)
		}
		if session.ID.Region != "us" || !strings.HasPrefix(session.Token, "hfs_us_") {
			t.Errorf("the session is in %s", session.ID.Region)
		}
		guest := authenticated(t, service, created.Secret, session.Token)
		want := seller
		want.Session = session.ID
		if guest != want {
			t.Errorf("the guest acts as %+v, want %+v", guest, want)
		}
		// Twice: from the database, and remembered.
		if again := authenticated(t, service, created.Secret, session.Token); again != guest {
			t.Errorf("the second time the guest acts as %+v", again)
		}
		if buyer, ok := guest.Buyer(); !ok || buyer.Kind != tenants.BuyerKindGuest || buyer.ID != session.ID.UUID {
			t.Errorf("the buyer is %+v", buyer)
		}
		if home, err := service.StartGuestSession(t.Context(), seller, ""); err != nil || home.ID.Region != "eu" {
			t.Errorf("without a region: %v, %v", home.ID, err)
		}
		_, err = service.StartGuestSession(t.Context(), seller, "EU")
		expectFault(t, err, fault.KindInvalid, `region: a region is 2 to 8 lower-case letters, such as "eu"`)
	}
	withoutChannel := authenticated(t, service, h.key(t, tenants.KeyTypeAdmin, tenants.ChannelID{}).Secret, "")
	_, err := service.StartGuestSession(t.Context(), withoutChannel, "")
	expectFault(t, err, fault.KindDenied, "a guest session needs a key that sells through a channel")
}

func TestRevocation(t *testing.T) {
	t.Parallel()
	here := newService(t, tenants.Config{})
	h := newHouse(t, here)
	there := tenants.NewService(openAnother(t), everything{}, tenants.Config{KeyCacheAge: 200 * time.Millisecond})
	defer there.Close()
	created := h.key(t, tenants.KeyTypePartner, h.shop.ID)
	authenticated(t, here, created.Secret, "")
	authenticated(t, there, created.Secret, "")

	key, err := here.RevokeKey(t.Context(), h.owner, tenants.TenantID{}, created.Key.ID)
	if err != nil || key.RevokedAt == nil {
		t.Fatalf("%+v, %v", key, err)
	}
	_, err = here.Authenticate(t.Context(), created.Secret, "")
	expectFault(t, err, fault.KindUnauthenticated, "Authorization: the key was revoked")
	eventually(t, "the other process refuses the key", func() bool {
		_, err := there.Authenticate(t.Context(), created.Secret, "")
		return err != nil && err.Error() == "Authorization: the key was revoked"
	})
	again, err := here.RevokeKey(t.Context(), h.owner, tenants.TenantID{}, created.Key.ID)
	if err != nil || !again.RevokedAt.Equal(*key.RevokedAt) {
		t.Errorf("revoked again: %+v, %v", again, err)
	}
}

func TestSuspendedChannel(t *testing.T) {
	t.Parallel()
	here := newService(t, tenants.Config{})
	h := newHouse(t, here)
	there := tenants.NewService(openAnother(t), everything{}, tenants.Config{KeyCacheAge: 200 * time.Millisecond})
	defer there.Close()
	secret := h.key(t, tenants.KeyTypePartner, h.shop.ID).Secret
	for _, suspended := range []bool{true, true, false} {
		authenticated(t, there, secret, "")
		channel, err := here.SetChannelSuspended(t.Context(), h.owner, h.shop.ID, suspended)
		if err != nil || channel.Suspended != suspended {
			t.Fatalf("%+v, %v", channel, err)
		}
		if actor := authenticated(t, here, secret, ""); actor.ChannelSuspended != suspended {
			t.Errorf("here the channel is suspended: %v, want %v", actor.ChannelSuspended, suspended)
		}
		eventually(t, "the other process notices", func() bool {
			return authenticated(t, there, secret, "").ChannelSuspended == suspended
		})
	}
	if h.owner.ChannelSuspended {
		t.Error("the box office was suspended with the shop")
	}
}

// A key and a session end at their instant by the database's clock, also when they are remembered.
func TestExpiry(t *testing.T) {
	t.Parallel()
	service := tenants.NewService(dbtest.Open(t), everything{}, tenants.Config{SessionLifetime: time.Second, KeyCacheAge: 10 * time.Second})
	t.Cleanup(service.Close)
	h := newHouse(t, service)
	widget := h.key(t, tenants.KeyTypePublishable, h.shop.ID).Secret

	keyEnd := databaseNow(t).Add(3 * time.Second)
	created, err := service.CreateKey(t.Context(), h.owner, "short", tenants.NewKey{
		Type: tenants.KeyTypeAdmin, Mode: tenants.ModeLive, Name: "Short", ExpiresAt: keyEnd,
	})
	if err != nil {
		t.Fatal(err)
	}
	session := h.session(t, widget)
	// The key first: it ends first, and has to be seen good before.
	for _, c := range []struct {
		name, key, session string
		end                time.Time
		want               string
	}{
		{"key", created.Secret, "", keyEnd, "Authorization: the key has expired"},
		{"session", widget, session.Token, session.ExpiresAt, "Holdfast-Session: the session has expired: start another"},
	} {
		name, good := c.name, 0
		eventually(t, "the "+name+" expires", func() bool {
			asked := databaseNow(t)
			_, err := service.Authenticate(t.Context(), c.key, c.session)
			if err == nil {
				good++
				if asked.After(c.end.Add(100 * time.Millisecond)) {
					t.Fatalf("the %s was good %s after its end", name, asked.Sub(c.end))
				}
				return false
			}
			expectFault(t, err, fault.KindUnauthenticated, c.want)
			if databaseNow(t).Before(c.end) {
				t.Fatalf("the %s was refused before its end", name)
			}
			return true
		})
		if name == "key" && good == 0 {
			t.Errorf("the %s was never good", name)
		}
	}
}

func TestAKnownCredentialNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	widget := h.key(t, tenants.KeyTypePublishable, h.shop.ID).Secret
	session := h.session(t, widget).Token
	d := openAnother(t)
	service := tenants.NewService(d, everything{}, tenants.Config{KeyCacheAge: 10 * time.Second})
	guest := authenticated(t, service, widget, session)
	service.Close()
	d.Close()
	if again := authenticated(t, service, widget, session); again != guest {
		t.Errorf("remembered as %+v, want %+v", again, guest)
	}
	if _, err := service.Authenticate(t.Context(), spoiled(widget), session); err == nil {
		t.Error("a wrong secret was let in without a database")
	}
}

func TestOneKeyFromManyClients(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	secret := h.key(t, tenants.KeyTypePartner, h.shop.ID)
	service := newService(t, tenants.Config{KeyCacheAge: time.Nanosecond})
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 20 {
				actor, err := service.Authenticate(t.Context(), secret.Secret, "")
				if err != nil || actor.Key != secret.Key.ID {
					t.Errorf("%+v, %v", actor, err)
				}
			}
		})
	}
	wait.Wait()
}

func TestLastUseIsNotedOnceAnHour(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	created := h.key(t, tenants.KeyTypePartner, h.shop.ID)
	lastUsed := func() *time.Time {
		key, err := h.service.Key(t.Context(), h.owner, tenants.TenantID{}, created.Key.ID)
		if err != nil {
			t.Fatal(err)
		}
		return key.LastUsedAt
	}
	if at := lastUsed(); at != nil {
		t.Fatalf("used at %s before it was", at)
	}
	use := func() {
		service := newService(t, tenants.Config{})
		authenticated(t, service, created.Secret, "")
		service.Close()
	}
	use()
	first := lastUsed()
	if first == nil {
		t.Fatal("the use was not noted")
	}
	use()
	if again := lastUsed(); !again.Equal(*first) {
		t.Errorf("noted again after %s", again.Sub(*first))
	}
	for _, c := range []struct {
		later string
		noted bool
	}{{"50 minutes", false}, {"61 minutes", true}} {
		age(t, "UPDATE api_keys SET last_used_at = clock_timestamp() - interval '"+c.later+"' WHERE id = $1", created.Key.ID.UUID)
		before := lastUsed()
		use()
		if after := lastUsed(); after.After(*before) != c.noted {
			t.Errorf("%s later: noted is %t, want %t", c.later, !c.noted, c.noted)
		}
	}
}

// The row of a key may be locked, or its write may take long: whoever presents the key does not
// wait for it.
func TestNotingAUseIsInNobodysWay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newService(t, tenants.Config{}))
	created := h.key(t, tenants.KeyTypePartner, h.shop.ID)
	locked, err := dbtest.Open(t).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locked.Rollback(t.Context()) }()
	if _, err := locked.Exec(t.Context(), "SELECT id FROM api_keys WHERE id = $1 FOR UPDATE", created.Key.ID.UUID); err != nil {
		t.Fatal(err)
	}
	service := newService(t, tenants.Config{})
	authenticated(t, service, created.Secret, "")
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	service.Close()
	key, err := h.service.Key(t.Context(), h.owner, tenants.TenantID{}, created.Key.ID)
	if err != nil || key.LastUsedAt == nil {
		t.Errorf("after the lock was gone the use was not noted: %+v, %v", key, err)
	}
}

// No column of any table that a secret passes by has it, as text or as bytes.
func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	service := newService(t, tenants.Config{})
	h := newHouse(t, service)
	partner := h.key(t, tenants.KeyTypePartner, h.shop.ID).Secret
	session := h.session(t, partner).Token
	platform, err := tenants.BootstrapPlatformKey(t.Context(), dbtest.Open(t), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	admin := startAdmin(t, service, authenticated(t, service, platform, "")).Token
	stored := strings.Builder{}
	for _, table := range []string{"tenants", "channels", "api_keys", "guest_sessions", "requests", "admin_sessions"} {
		rows, err := dbtest.Open(t).Pool().Query(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		values, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		if err != nil || len(values) == 0 {
			t.Fatalf("%s: %d rows, %v", table, len(values), err)
		}
		for _, value := range values {
			for _, column := range value {
				if raw, ok := column.([]byte); ok {
					fmt.Fprintf(&stored, "%x %s\n", raw, raw)
				} else {
					fmt.Fprintf(&stored, "%v\n", column)
				}
			}
		}
	}
	alphabet := base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	for name, token := range map[string]string{"admin": h.created.Secret, "partner": partner, "session": session, "platform": platform, "admin session": admin} {
		body := token[strings.LastIndex(token, "_")+1:]
		raw, err := alphabet.DecodeString(body)
		if err != nil || len(raw) != 40 {
			t.Fatalf("the %s token has %d bytes, %v", name, len(raw), err)
		}
		// The first 26 characters are mostly the id, which is no secret.
		for _, secret := range []string{body[26:], hex.EncodeToString(raw[16:]), string(raw[16:])} {
			if strings.Contains(stored.String(), secret) {
				t.Errorf("the %s secret is stored", name)
			}
		}
	}
}

// BenchmarkAuthenticate is what a request of a known guest pays.
func BenchmarkAuthenticate(b *testing.B) {
	service := newService(b, tenants.Config{})
	h := newHouse(b, service)
	widget := h.key(b, tenants.KeyTypePublishable, h.shop.ID).Secret
	session := h.session(b, widget).Token
	b.ReportAllocs()
	for b.Loop() {
		if _, err := service.Authenticate(b.Context(), widget, session); err != nil {
			b.Fatal(err)
		}
	}
}
