package tenants

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/ids"
)

// When a commit's answer is lost the same call runs again and finds its own request row. It is not
// a repetition by the client, who has seen no secret yet.
func TestALostCommitAnswerStillTellsTheSecret(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	actor := Actor{Key: ids.NewGlobal[KeyKind](), KeyType: KeyTypePlatform, Mode: ModeLive}

	input := NewTenant{Name: "Opera", Slug: "lost-" + uuid.NewString()[:8], HomeRegion: "eu", PaymentProvider: "sandbox"}
	create, err := newCommand("createTenant", actor, "k", input)
	if err != nil {
		t.Fatal(err)
	}
	id := ids.NewGlobal[TenantKind]()
	admin := issueKey(ids.NewGlobal[KeyKind](), KeyTypeAdmin, ModeLive)
	for range 2 {
		created, err := db.InTx(t.Context(), d, "test", func(ctx context.Context, tx pgx.Tx) (TenantCreated, error) {
			return createTenantTx(ctx, tx, create, actor, id, admin, input)
		})
		if err != nil || created.Secret != admin.token {
			t.Fatalf("%+v, %v", created, err)
		}
	}

	key := NewKey{Tenant: id, Type: KeyTypeAdmin, Mode: ModeLive, Name: "A key"}
	more, err := newCommand("createKey", actor, "k", key)
	if err != nil {
		t.Fatal(err)
	}
	second := issueKey(ids.NewGlobal[KeyKind](), KeyTypeAdmin, ModeLive)
	for range 2 {
		created, err := db.InTx(t.Context(), d, "test", func(ctx context.Context, tx pgx.Tx) (KeyCreated, error) {
			return createKeyTx(ctx, tx, more, actor, second, key)
		})
		if err != nil || created.Secret != second.token {
			t.Fatalf("%+v, %v", created, err)
		}
	}

	rotation := KeyRotation{Tenant: id, Key: second.id, Overlap: time.Hour}
	rotate, err := newCommand("rotateKey", actor, "k", rotation)
	if err != nil {
		t.Fatal(err)
	}
	fresh := ids.NewGlobal[KeyKind]()
	body := newTokenBody(fresh.UUID)
	for range 2 {
		created, err := db.InTx(t.Context(), d, "test", func(ctx context.Context, tx pgx.Tx) (KeyCreated, error) {
			return rotateTx(ctx, tx, rotate, fresh, body, rotation)
		})
		if err != nil || created.Key.ID != fresh || created.Secret != keyPrefix(KeyTypeAdmin, ModeLive)+body {
			t.Fatalf("%+v, %v", created, err)
		}
	}

	platform := issueKey(ids.NewGlobal[KeyKind](), KeyTypePlatform, ModeLive)
	for range 2 {
		secret, err := db.InTx(t.Context(), d, "test", func(ctx context.Context, tx pgx.Tx) (string, error) {
			return bootstrapTx(ctx, tx, platform, "Lost")
		})
		if err != nil || secret != platform.token {
			t.Fatal(secret, err)
		}
	}

	guest := ids.New[SessionKind]("eu")
	token := newSessionToken(guest)
	seller := Actor{Tenant: id, Channel: ids.NewGlobal[ChannelKind]()}
	var first GuestSession
	for range 2 {
		session, err := db.InTx(t.Context(), d, "test", func(ctx context.Context, tx pgx.Tx) (GuestSession, error) {
			return startSessionTx(ctx, tx, seller, guest, token, time.Hour)
		})
		if err != nil || session.Token != token || !first.ExpiresAt.IsZero() && !session.ExpiresAt.Equal(first.ExpiresAt) {
			t.Fatalf("%+v, %v", session, err)
		}
		first = session
	}
}

func TestCredentialCacheIsBoundedAndForgets(t *testing.T) {
	t.Parallel()
	cache := newCredentialCache[int](3)
	hash := func(n int) tokenHash { return hashToken(strings.Repeat("x", n)) }
	for n := range 10 {
		cache.put(hash(n), n, time.Hour)
	}
	if kept := cache.entries.Len(); kept != 3 {
		t.Errorf("%d entries are kept, want 3", kept)
	}
	if value, ok := cache.get(hash(9)); !ok || value != 9 {
		t.Errorf("the newest entry is %d, %v", value, ok)
	}
	cache.dropWhere(func(n int) bool { return n == 9 })
	if _, ok := cache.get(hash(9)); ok {
		t.Error("a dropped entry is still there")
	}
	if _, ok := cache.get(hash(8)); !ok {
		t.Error("another entry went with it")
	}
	cache.put(hash(7), 7, 0)
	if _, ok := cache.get(hash(7)); ok {
		t.Error("an entry outlived its age")
	}
}

// How the limits relate.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, holds := range map[string]bool{
		"a page can be loaded as a batch":           MaxPage <= MaxBatch,
		"key cache default within its limit":        defaultKeyCacheAge <= maxKeyCacheAge,
		"session cache default within its limit":    defaultSessionCacheAge <= maxSessionCacheAge,
		"session default within its limits":         minSessionLifetime <= defaultSessionLifetime && defaultSessionLifetime <= maxSessionLifetime,
		"a use is looked for more often than noted": maxKeyCacheAge < usedInterval,
		"tokens are shorter than their limit":       len("hfs_")+8+1+tokenBodyLength <= maxTokenLength && len("hfk_live_")+tokenBodyLength <= maxTokenLength,
	} {
		if !holds {
			t.Error(name)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
	for want, config := range map[string]Config{
		"the setting Regions: a region is 2 to 8 lower-case letters, such as \"eu\"": {Regions: []ids.Region{"eu", "E"}},
		"SessionLifetime: expected 1m0s to 720h0m0s":                                 {SessionLifetime: time.Second},
		"KeyCacheAge: expected at most 10s":                                          {KeyCacheAge: time.Minute},
		"SessionCacheAge: expected at most 1h0m0s":                                   {SessionCacheAge: -1},
		"KeyCacheSize: expected 1 to 10000000":                                       {KeyCacheSize: -1},
		"SessionCacheSize: expected 1 to 10000000":                                   {SessionCacheSize: 10_000_001},
	} {
		if err := config.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add(issueKey(ids.NewGlobal[KeyKind](), KeyTypePartner, ModeTest).token)
	f.Add(issueKey(ids.NewGlobal[KeyKind](), KeyTypePlatform, ModeLive).token)
	f.Add(newSessionToken(ids.New[SessionKind]("eu")))
	f.Add("hfk_live_")
	f.Add("hfs__")
	f.Fuzz(func(t *testing.T, token string) {
		_, isKey := parseKeyToken(token)
		session, isSession := parseSessionToken(token)
		if isKey && isSession {
			t.Error("one token is a key and a session")
		}
		if isSession && !strings.HasPrefix(token, "hfs_"+string(session.Region)+"_") {
			t.Errorf("read the region %q", session.Region)
		}
	})
}

func TestTokensNameTheirRow(t *testing.T) {
	t.Parallel()
	id := ids.NewGlobal[KeyKind]()
	for prefix, token := range map[string]string{
		"hfo_live_": issueKey(id, KeyTypePlatform, ModeLive).token,
		"hfk_live_": issueKey(id, KeyTypeAdmin, ModeLive).token,
		"hfk_test_": issueKey(id, KeyTypePartner, ModeTest).token,
		"hfp_test_": issueKey(id, KeyTypePublishable, ModeTest).token,
	} {
		parsed, ok := parseKeyToken(token)
		if !ok || parsed != id || !strings.HasPrefix(token, prefix) || len(token) != len(prefix)+64 {
			t.Errorf("%s: read %s, %v", prefix, parsed, ok)
		}
	}
	session := ids.New[SessionKind]("us")
	if parsed, ok := parseSessionToken(newSessionToken(session)); !ok || parsed != session {
		t.Errorf("read %s, %v", parsed, ok)
	}
}
