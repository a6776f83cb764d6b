package ratelimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"strings"
)

// Addresses finds out from where a request comes. Without proxies it is who connects; the zero value
// is that.
type Addresses struct {
	proxies []netip.Prefix
	header  string
}

// maxProxies bounds the list of trusted networks.
const maxProxies = 100

// NewAddresses believes one header of requests that come from these networks, such as "10.0.0.0/8" or
// "192.0.2.1". What anybody else says in it counts for nothing, nor does any other header.
func NewAddresses(proxies []string, header string) (Addresses, error) {
	if (len(proxies) == 0) != (header == "") {
		return Addresses{}, errors.New("expected the networks of proxies together with the header that they set, or neither")
	}
	if len(proxies) > maxProxies {
		return Addresses{}, fmt.Errorf("expected at most %d networks, got %d", maxProxies, len(proxies))
	}
	a := Addresses{header: textproto.CanonicalMIMEHeaderKey(header)}
	for _, text := range proxies {
		prefix, err := parseNetwork(strings.TrimSpace(text))
		if err != nil {
			return Addresses{}, err
		}
		a.proxies = append(a.proxies, prefix)
	}
	if strings.ContainsAny(header, " \t\r\n:,") {
		return Addresses{}, fmt.Errorf("expected the name of a header such as X-Forwarded-For, got %q", header)
	}
	return a, nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked(), nil
	}
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap().WithZone("")
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	return netip.Prefix{}, fmt.Errorf("expected a network such as 10.0.0.0/8 or an address, got %q", text)
}

// Of is the address that a request comes from. When trusted proxies have added to the header one
// after another, it is the last address in it that is not a proxy's: what stands before that may be
// the caller's invention. The zero address is one that cannot be told.
func (a Addresses) Of(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address := peer.Addr().Unmap().WithZone("")
	if a.header == "" || !a.trusted(address) {
		return address
	}
	said := strings.Split(strings.Join(r.Header[a.header], ","), ",")
	for i := len(said) - 1; i >= 0; i-- {
		next, ok := parseHop(strings.TrimSpace(said[i]))
		if !ok {
			break
		}
		if address = next; !a.trusted(address) {
			break
		}
	}
	return address
}

// parseHop reads an address with or without a port.
func parseHop(text string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return address.Unmap().WithZone(""), true
	}
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}

func (a Addresses) trusted(address netip.Addr) bool {
	for _, prefix := range a.proxies {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Site is the name under which an address is limited: itself, or of IPv6 the /64, in which anybody
// has as many addresses as they like.
func Site(address netip.Addr) string {
	const ofOneSubscriber = 64
	if address.Is6() {
		if prefix, err := address.Prefix(ofOneSubscriber); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}
