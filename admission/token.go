package admission

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/ids"
)

// A token is text that a server signed: "hfw1_", then in base64 the key's number, what it is for, and
// the first 16 bytes of the HMAC-SHA256 of all that. Nothing in it is secret, and none of it can be
// changed or made without the key.
const (
	tokenPrefix = "hfw1_"
	macLength   = 16
)

// purpose keeps one sort of token from being taken for another.
type purpose byte

const (
	// purposeTicket is a visitor's place in the line.
	purposeTicket purpose = 1
	// purposeAddress is where the public document of a room is read. It is signed so that made-up
	// addresses are refused without a look into the database.
	purposeAddress purpose = 2
)

// place is a room's key.
type place struct {
	tenant uuid.UUID
	region ids.Region
	show   uuid.UUID
}

// ticket is what a visitor's token says.
type ticket struct {
	place place
	// opening is the room's: tickets of an earlier one are good no more.
	opening int64
	// id is exchanged once.
	id    uuid.UUID
	order int64
	// session is the one that joined, zero for a visitor without one; only that session may use it.
	session uuid.UUID
}

func (t ticket) encode() []byte {
	body := t.place.encode()
	body = binary.BigEndian.AppendUint64(body, uint64(t.opening)) //nolint:gosec // it is positive
	body = append(body, t.id[:]...)
	body = binary.BigEndian.AppendUint64(body, uint64(t.order)) //nolint:gosec // it is positive
	return append(body, t.session[:]...)
}

func decodeTicket(body []byte) (ticket, bool) {
	var t ticket
	p, rest, ok := decodePlace(body)
	if !ok || len(rest) != 8+16+8+16 {
		return t, false
	}
	t.place = p
	t.opening = int64(binary.BigEndian.Uint64(rest)) //nolint:gosec // as it was written
	copy(t.id[:], rest[8:24])
	t.order = int64(binary.BigEndian.Uint64(rest[24:])) //nolint:gosec // as it was written
	copy(t.session[:], rest[32:])
	return t, true
}

func (p place) encode() []byte {
	body := append([]byte{}, p.tenant[:]...)
	body = append(body, p.show[:]...)
	body = append(body, byte(len(p.region)))
	return append(body, p.region...)
}

func decodePlace(body []byte) (p place, rest []byte, ok bool) {
	if len(body) < 33 || len(body) < 33+int(body[32]) {
		return p, nil, false
	}
	copy(p.tenant[:], body)
	copy(p.show[:], body[16:])
	region, err := ids.ParseRegion(string(body[33 : 33+int(body[32])]))
	p.region = region
	return p, body[33+int(body[32]):], err == nil
}

// seal signs a body with a key.
func seal(key signingKey, use purpose, body []byte) string {
	text := binary.BigEndian.AppendUint32(nil, key.id)
	text = append(text, byte(use))
	text = append(text, body...)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(text, mac(key, text)...))
}

func mac(key signingKey, text []byte) []byte {
	h := hmac.New(sha256.New, key.secret)
	h.Write(text)
	return h.Sum(nil)[:macLength]
}

// keyNumber reads which key a token says it was signed with; nothing is proven by it.
func keyNumber(token string) (signed []byte, key uint32, ok bool) {
	text, found := strings.CutPrefix(token, tokenPrefix)
	if !found || len(token) > maxToken {
		return nil, 0, false
	}
	signed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(signed) < 4+1+macLength {
		return nil, 0, false
	}
	return signed, binary.BigEndian.Uint32(signed), true
}

// unseal is the body of a token that the key signed for this purpose.
func unseal(key signingKey, use purpose, signed []byte) ([]byte, bool) {
	text, sum := signed[:len(signed)-macLength], signed[len(signed)-macLength:]
	if !hmac.Equal(mac(key, text), sum) || purpose(text[4]) != use {
		return nil, false
	}
	return text[5:], true
}

// draw is what a visitor's secret and the room's own make for a use: the same each time, and nobody
// can foretell it.
func draw(secret []byte, use, visitor string) [sha256.Size]byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(use))
	h.Write([]byte{0})
	h.Write([]byte(visitor))
	return [sha256.Size]byte(h.Sum(nil))
}

// randomOrder is a visitor's order in the opening window.
func randomOrder(secret []byte, visitor string, window int64) int64 {
	drawn := draw(secret, "order", visitor)
	return int64(binary.BigEndian.Uint64(drawn[:]) % uint64(window)) //nolint:gosec // the window is positive
}

// ticketID names the ticket of a visitor at an order.
func ticketID(secret []byte, visitor string, order int64) uuid.UUID {
	drawn := draw(secret, "ticket", visitor+string(binary.BigEndian.AppendUint64([]byte{0}, uint64(order)))) //nolint:gosec // it is positive
	return uuid.UUID(drawn[:16])
}
