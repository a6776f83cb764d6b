package tenants

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/ids"
)

// A token is the text that a caller presents: a prefix that tells what it is, then 64 characters
// for the row's UUID and 192 random bits. The row keeps the SHA-256 of the whole text. A slow hash
// would add nothing: the secret is random, not chosen by a person.
const (
	tokenSecretBytes = 24
	tokenBodyLength  = (16 + tokenSecretBytes) * 8 / 5

	sessionTokenPrefix = "hfs"
	adminTokenPrefix   = "hfa"
)

// tokenHash is what is stored of a token, and what caches know it by.
type tokenHash [sha256.Size]byte

// tokenEncoding is the alphabet of public ids, without the letters that are misread.
func tokenEncoding() *base32.Encoding {
	return base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
}

// newTokenBody is the part after the prefix; its secret is fresh.
func newTokenBody(id uuid.UUID) string {
	raw := make([]byte, 16+tokenSecretBytes)
	copy(raw, id[:])
	_, _ = rand.Read(raw[16:]) // documented never to fail
	return tokenEncoding().EncodeToString(raw)
}

// tokenBodyID is the row that a token's body names.
func tokenBodyID(body string) (uuid.UUID, bool) {
	if len(body) != tokenBodyLength {
		return uuid.Nil, false
	}
	raw, err := tokenEncoding().DecodeString(body)
	if err != nil {
		return uuid.Nil, false
	}
	return uuid.UUID(raw[:16]), true
}

func hashToken(token string) tokenHash { return sha256.Sum256([]byte(token)) }

// keyPrefix tells people, and scanners for leaked secrets, what a key is. Platform keys, tenants'
// secret keys and publishable ones have prefixes of their own.
func keyPrefix(keyType KeyType, mode Mode) string {
	family := "hfk"
	switch keyType {
	case KeyTypePlatform:
		family = "hfo"
	case KeyTypePublishable:
		family = "hfp"
	case KeyTypeAdmin, KeyTypePartner, KeyTypeMember:
	}
	return family + "_" + strings.ToLower(string(mode)) + "_"
}

// parseKeyToken is the id of the key that a well-formed token names.
func parseKeyToken(token string) (KeyID, bool) {
	if len(token) > maxTokenLength {
		return KeyID{}, false
	}
	family, rest, _ := strings.Cut(token, "_")
	mode, body, _ := strings.Cut(rest, "_")
	switch family + "_" + mode {
	case "hfk_live", "hfk_test", "hfp_live", "hfp_test", "hfo_live":
	default:
		return KeyID{}, false
	}
	id, ok := tokenBodyID(body)
	return KeyID{UUID: id}, ok
}

func newSessionToken(id SessionID) string {
	return sessionTokenPrefix + "_" + string(id.Region) + "_" + newTokenBody(id.UUID)
}

// parseSessionToken is the id of the session that a well-formed token names.
func parseSessionToken(token string) (SessionID, bool) {
	if len(token) > maxTokenLength {
		return SessionID{}, false
	}
	parts := strings.Split(token, "_")
	if len(parts) != 3 || parts[0] != sessionTokenPrefix {
		return SessionID{}, false
	}
	region, err := ids.ParseRegion(parts[1])
	if err != nil {
		return SessionID{}, false
	}
	id, ok := tokenBodyID(parts[2])
	return SessionID{Region: region, UUID: id}, ok
}
