package webhooks

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	strict, withHTTP := newSender(t, Config{}), newSender(t, lax())
	long := "https://example.com/" + strings.Repeat("a", maxURLLength-len("https://example.com/"))
	for _, good := range []string{
		"https://example.com", "https://example.com/hooks?a=b", "https://example.com:8443/", "HTTPS://EXAMPLE.COM/", "https://93.184.215.14/", "https://[2606:2800:21f::1]/", long,
	} {
		if err := strict.Check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"":                                   "at most 2000",
		long + "a":                           "at most 2000",
		"http://example.com/":                "begins with https://",
		"ftp://example.com/":                 "begins with https://",
		"file:///etc/passwd":                 "begins with https://",
		"example.com/hooks":                  "begins with https://",
		"javascript:alert(1)":                "begins with https://",
		"https://":                           "with a host",
		"https:///hooks":                     "with a host",
		"https://user:password@example.com/": "without a user name",
		"https://example.com/#part":          "without a fragment",
		"https://example.com/#":              "without a fragment",
		"https://exa mple.com/":              "a URL such as",
		"https://example.com/%zz":            "a URL such as",
		"https://example.com\n":              "a URL such as",
		"https://127.0.0.1/":                 "not on the public internet",
		"https://10.0.0.1:443/":              "not on the public internet",
		"https://169.254.169.254/latest":     "not on the public internet",
		"https://[::1]/":                     "not on the public internet",
		"https://[::ffff:127.0.0.1]/":        "not on the public internet",
		"https://[fe80::1%25eth0]/":          "not on the public internet",
	} {
		err := strict.Check(bad)
		var invalid *fault.Error
		if !errors.As(err, &invalid) || invalid.Kind != fault.KindInvalid || invalid.Field != "url" || !strings.Contains(invalid.Message, want) || len(invalid.Message) > 200 {
			t.Errorf("%.60q: %v, want a fault about url that says %q", bad, err, want)
		}
	}
	for _, good := range []string{"http://127.0.0.1:8080/hooks", "http://localhost/", "https://10.0.0.1/"} {
		if err := withHTTP.Check(good); err != nil {
			t.Errorf("%s where it is allowed: %v", good, err)
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"93.184.215.14", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "2606:2800:21f::1", "::ffff:1.1.1.1"} {
		if !public(netip.MustParseAddr(address)) {
			t.Errorf("%s is refused", address)
		}
	}
	for _, address := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1",
		"192.0.0.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "::127.0.0.1", "fc00::1", "fd12::1",
		"fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:0:1::1", "2001:db8::1",
	} {
		if public(netip.MustParseAddr(address)) {
			t.Errorf("%s is allowed", address)
		}
	}
}

// A name that leads to this machine is found out when the connection is made, not when the endpoint
// is.
func TestAPrivateAddressBehindANameIsRefused(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	u, err := url.Parse(serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	if err != nil {
		t.Fatal(err)
	}
	named := "http://localhost:" + u.Port() + "/"
	strict := newSender(t, Config{AllowHTTP: true})
	if err := strict.Check(named); err != nil {
		t.Fatalf("names are judged before they are looked up: %v", err)
	}
	answer := strict.Send(t.Context(), messageTo(named))
	expect(t, "the answer", answer.Error, errPrivate.Error())
	expect(t, "requests", reached.Load(), int64(0))
	if answer := newSender(t, lax()).Send(t.Context(), messageTo(named)); !answer.Delivered() {
		t.Errorf("where it is allowed: %+v", answer)
	}
}

// An endpoint that was registered under laxer settings is not called under stricter ones.
func TestSettingsCountWhenSending(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	address := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	for _, config := range []Config{{}, {AllowHTTP: true}, {AllowPrivate: true}} {
		if answer := newSender(t, config).Send(t.Context(), messageTo(address)); answer.Delivered() || answer.Status != 0 {
			t.Errorf("%+v: %+v", config, answer)
		}
	}
	expect(t, "requests", reached.Load(), int64(0))
}
