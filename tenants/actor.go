package tenants

import "github.com/google/uuid"

// KeyType says what a key is for, which is also the role of whoever presents it.
type KeyType string

// The types of key.
const (
	// KeyTypePlatform operates the installation: it creates tenants. It belongs to no tenant.
	KeyTypePlatform KeyType = "PLATFORM"
	// KeyTypeAdmin sets up and runs one tenant.
	KeyTypeAdmin KeyType = "ADMIN"
	// KeyTypePartner sells through one channel, server to server.
	KeyTypePartner KeyType = "PARTNER"
	// KeyTypePublishable is shown to browsers: it reads public data and sells to guests who hold a
	// session of their own.
	KeyTypePublishable KeyType = "PUBLISHABLE"
	// KeyTypeMember is no key: a person who signed in with an identity provider. What they may do
	// is in Actor.Grants.
	KeyTypeMember KeyType = "MEMBER"
)

// Mode keeps trial sales apart from real ones.
type Mode string

// The modes of a key.
const (
	ModeLive Mode = "LIVE"
	ModeTest Mode = "TEST"
)

// Actor is who a request acts as: scope = tenant + key + channel + guest session. Every service
// method takes one, and every query carries its tenant.
type Actor struct {
	Tenant TenantID
	// Key is the credential that acts. What a member does is done and recorded under the member's
	// own UUID.
	Key     KeyID
	KeyType KeyType
	Mode    Mode
	// Member is who signed in, and Grants what they may do and where; both are zero for a key.
	Member MemberID
	Grants *Grants
	// Channel is the one that the key sells through; admin keys and members sell through a box
	// office of their tenant, or through none.
	Channel ChannelID
	// ChannelSuspended says that nothing may be sold through Channel at present. It may be some
	// seconds old, see Config.KeyCacheAge.
	ChannelSuspended bool
	// Session is the guest's, when the request presented one.
	Session SessionID
	// Origin is from where the request came, for the log of changes; no decision depends on it.
	Origin Origin
}

// IsStaff reports whether one of the seller's own people acts, with an admin key or signed in, and not for
// a guest whose session the request presents.
func (a Actor) IsStaff() bool {
	return (a.KeyType == KeyTypeAdmin || a.KeyType == KeyTypeMember) && a.Session.IsZero()
}

// Origin is from where a request came. A command that is run on the server itself has none.
type Origin struct {
	// Address is the peer's network address, without its port.
	Address string
	// RequestID is what the request is called in logs.
	RequestID string
}

// BuyerKind tells a guest's session from a seller's own key.
type BuyerKind string

// The kinds of buyer.
const (
	// BuyerKindGuest is a person with a guest session; the limits per buyer apply.
	BuyerKindGuest BuyerKind = "GUEST"
	// BuyerKindKey is a partner or box office that buys for its own customers.
	BuyerKindKey BuyerKind = "KEY"
)

// Buyer owns holds and bookings. Knowing a hold's id is never enough to see or change it.
type Buyer struct {
	Kind BuyerKind
	ID   uuid.UUID
}

// Buyer is the guest when there is a session, else the secret key itself. A publishable key alone
// owns nothing: anybody can read it from a page.
func (a Actor) Buyer() (Buyer, bool) {
	switch {
	case !a.Session.IsZero():
		return Buyer{Kind: BuyerKindGuest, ID: a.Session.UUID}, true
	case a.KeyType == KeyTypePartner || a.KeyType == KeyTypeAdmin || a.KeyType == KeyTypeMember:
		return Buyer{Kind: BuyerKindKey, ID: a.Key.UUID}, true
	}
	return Buyer{}, false
}

// Owns reports whether this actor is the buyer.
func (a Actor) Owns(b Buyer) bool {
	mine, ok := a.Buyer()
	return ok && mine == b
}
