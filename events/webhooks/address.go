package webhooks

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/holdfast/holdfast/internal/fault"
)

// errPrivate refuses a connection. It does not say which address the name led to: that would let a
// tenant map the network.
var errPrivate = errors.New("the address is not on the public internet")

// Check refuses a URL to which nothing would be sent. A name is not looked up: what it leads to is
// judged when a connection is made.
func (s *Sender) Check(text string) error {
	if len(text) == 0 || len(text) > maxURLLength {
		return fault.Invalid("url", "expected a URL of at most %d characters", maxURLLength)
	}
	u, err := url.Parse(text)
	if err != nil {
		// The parser's own words repeat the whole text.
		return fault.Invalid("url", "expected a URL such as \"https://example.com/webhooks\"")
	}
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !s.config.AllowHTTP):
		return fault.Invalid("url", "expected a URL that begins with https://, got the scheme %.20q", u.Scheme)
	case u.Hostname() == "":
		return fault.Invalid("url", "expected a URL with a host, such as \"https://example.com/webhooks\"")
	case u.User != nil:
		return fault.Invalid("url", "expected a URL without a user name and password: a signature proves who sends")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return fault.Invalid("url", "expected a URL without a fragment, which is never sent")
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil && !s.mayDial(address) {
		return fault.Invalid("url", "%s", errPrivate)
	}
	return nil
}

func (s *Sender) mayDial(address netip.Addr) bool {
	return s.config.AllowPrivate || public(address)
}

// control is asked before each connection, with the address that the name was resolved to: a name
// that leads elsewhere today than it did yesterday changes nothing.
func (s *Sender) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !s.mayDial(to.Addr()) {
		return errPrivate
	}
	return nil
}

// public tells the addresses of the internet from those of some network. Those that carry another
// address inside (NAT64, 6to4, Teredo) count as private: they may lead into this one.
func public(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	for _, block := range reserved() {
		if block.Contains(address) {
			return false
		}
	}
	return true
}

// reserved are the blocks of the registries of special addresses (RFC 6890 and its successors) that
// netip does not know as such.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"),   // between a provider and its customers
		netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays
		netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
		netip.MustParsePrefix("::/96"),           // IPv4 in its oldest form
		netip.MustParsePrefix("64:ff9b::/96"),    // NAT64
		netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64 of one's own
		netip.MustParsePrefix("100::/64"),        // discard
		netip.MustParsePrefix("2001::/23"),       // Teredo and other protocol assignments
		netip.MustParsePrefix("2001:db8::/32"),   // documentation
		netip.MustParsePrefix("2002::/16"),       // 6to4
		netip.MustParsePrefix("3fff::/20"),       // documentation
		netip.MustParsePrefix("5f00::/16"),       // segment routing
		netip.MustParsePrefix("fec0::/10"),       // site-local
	}
}
