package request_test

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func newIdentity() request.Identity {
	return request.Identity{Tenant: uuid.New(), Region: "eu", Scope: "placeHold/GUEST/1", Key: "key-1"}
}

// outcome is what Claim says of an earlier request.
type outcome struct {
	earlier  uuid.UUID
	replayed bool
}

func claim(t *testing.T, identity request.Identity, content string, result uuid.UUID) (outcome, error) {
	t.Helper()
	fingerprint, err := request.Fingerprint(struct{ Content string }{content})
	if err != nil {
		t.Fatal(err)
	}
	return db.InTx(t.Context(), dbtest.Open(t), "test.claim", func(ctx context.Context, tx pgx.Tx) (outcome, error) {
		earlier, replayed, err := request.Claim(ctx, tx, identity, fingerprint, result)
		return outcome{earlier, replayed}, err
	})
}

func TestClaimAnswersARepeatedRequest(t *testing.T) {
	t.Parallel()
	identity, first := newIdentity(), uuid.New()
	if got, err := claim(t, identity, "seat 7", first); err != nil || got.replayed {
		t.Fatalf("first claim: %v, %v", got, err)
	}
	for range 3 {
		got, err := claim(t, identity, "seat 7", uuid.New())
		if err != nil || !got.replayed || got.earlier != first {
			t.Errorf("repeated claim: %v, %v; want a replay of %v", got, err, first)
		}
	}
	if _, err := claim(t, identity, "seat 8", uuid.New()); !errors.Is(err, request.ErrKeyReused) {
		t.Errorf("other content: %v, want ErrKeyReused", err)
	}
}

func TestClaimKeepsOwnersApart(t *testing.T) {
	t.Parallel()
	identity := newIdentity()
	if _, err := claim(t, identity, "seat 7", uuid.New()); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*request.Identity){
		"tenant": func(i *request.Identity) { i.Tenant = uuid.New() },
		"region": func(i *request.Identity) { i.Region = "us" },
		"scope":  func(i *request.Identity) { i.Scope = "placeHold/GUEST/2" },
		"key":    func(i *request.Identity) { i.Key = "Key-1" },
	} {
		other := identity
		edit(&other)
		if got, err := claim(t, other, "seat 9", uuid.New()); err != nil || got.replayed {
			t.Errorf("other %s: %v, %v; want a claim of its own", name, got, err)
		}
	}
}

func TestRefusalLeavesTheKeyFree(t *testing.T) {
	t.Parallel()
	identity, refused := newIdentity(), errors.New("sold out")
	_, err := db.InTx(t.Context(), dbtest.Open(t), "test.refuse", func(ctx context.Context, tx pgx.Tx) (outcome, error) {
		if _, _, err := request.Claim(ctx, tx, identity, []byte("1"), uuid.New()); err != nil {
			return outcome{}, err
		}
		return outcome{}, refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if got, err := claim(t, identity, "seat 8", uuid.New()); err != nil || got.replayed {
		t.Errorf("claim after a refusal: %v, %v; want a new one", got, err)
	}
}

func TestClaimsAtOnceHaveOneWinner(t *testing.T) {
	t.Parallel()
	const clients = 8
	identity := newIdentity()
	results := make([]uuid.UUID, clients)
	var winners sync.Map
	var work sync.WaitGroup
	for i := range clients {
		work.Go(func() {
			mine := uuid.New()
			got, err := claim(t, identity, "seat 7", mine)
			if err != nil {
				t.Errorf("claim: %v", err)
				return
			}
			results[i] = got.earlier
			if !got.replayed {
				results[i] = mine
				winners.Store(mine, true)
			}
		})
	}
	work.Wait()
	count := 0
	winners.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d winners, want 1", count)
	}
	for _, result := range results {
		if result != results[0] {
			t.Errorf("results %v, want the same for all", results)
			break
		}
	}
}

func TestValidateKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "0b9c…", strings.Repeat("é", request.MaxKeyLength)} {
		if err := request.ValidateKey(key); err != nil {
			t.Errorf("ValidateKey(%q): %v", key, err)
		}
	}
	for _, key := range []string{"", strings.Repeat("a", request.MaxKeyLength+1), "a\x00b", "\xff"} {
		if err := request.ValidateKey(key); fault.KindOf(err) != fault.KindInvalid || !strings.HasPrefix(err.Error(), "requestKey: ") {
			t.Errorf("ValidateKey(%q): %v, want an invalid requestKey", key, err)
		}
	}
	// The longest key that is let in fits the table, whose CHECK counts characters, too.
	identity := newIdentity()
	identity.Key = strings.Repeat("é", request.MaxKeyLength)
	if _, err := claim(t, identity, "seat 7", uuid.New()); err != nil {
		t.Errorf("the longest key: %v", err)
	}
}

func TestFingerprintTellsContentsApart(t *testing.T) {
	t.Parallel()
	type content struct{ A, B string }
	fingerprint := func(c any) string {
		t.Helper()
		sum, err := request.Fingerprint(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(sum)
	}
	if fingerprint(content{"a", "bc"}) == fingerprint(content{"ab", "c"}) {
		t.Error("two contents have one fingerprint")
	}
	// Stored fingerprints outlive releases: this is the SHA-256 of {"A":"a","B":"b"}.
	if got, want := hex.EncodeToString([]byte(fingerprint(content{"a", "b"}))), "0e42150ec2912409bf2666114fe0fb45110c7829e9ee7befbba74a745ae4f8a2"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	if _, err := request.Fingerprint(func() {}); err == nil {
		t.Error("a function has a fingerprint")
	}
}
