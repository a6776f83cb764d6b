package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/tenants"
)

// adminSite is a server's admin pages, with keys of every sort.
type adminSite struct {
	app                      *app
	url                      string
	platform, admin, partner string
	operator                 tenants.Actor
}

func newAdminSite(t *testing.T) adminSite {
	t.Helper()
	ctx := t.Context()
	s, err := openStore(ctx, dbtest.Create(t), "", nil, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close(ctx) })
	if err := s.migrate(ctx, discard()); err != nil {
		t.Fatal(err)
	}
	a, err := newApp(ctx, s, nil, discard(), appSettings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	site := adminSite{app: a}
	if site.platform, err = tenants.BootstrapPlatformKey(ctx, s.db, "admin"); err != nil {
		t.Fatal(err)
	}
	if site.operator, err = a.tenants.Authenticate(ctx, site.platform, ""); err != nil {
		t.Fatal(err)
	}
	created, err := a.tenants.CreateTenant(ctx, site.operator, "tenant", tenants.NewTenant{Name: "Astoria", Slug: newSlug(), HomeRegion: "eu"})
	if err != nil {
		t.Fatal(err)
	}
	owner := actorOf(created.AdminKey)
	channel, err := a.tenants.CreateChannel(ctx, owner, "channel", tenants.NewChannel{Name: "Partner", Type: tenants.ChannelTypePartner})
	if err != nil {
		t.Fatal(err)
	}
	partner, err := a.tenants.CreateKey(ctx, owner, "key", tenants.NewKey{Type: tenants.KeyTypePartner, Mode: tenants.ModeLive, Name: "Partner", Channel: channel.ID})
	if err != nil {
		t.Fatal(err)
	}
	site.admin, site.partner = created.Secret, partner.Secret
	pages, err := a.adminPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := a.handler(httpOptions{admin: pages})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	site.url = web.URL
	return site
}

// browser keeps cookies and does not follow redirects.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// visit asks for a page, or posts a form, and is what came back with its body read.
func (s adminSite) visit(t *testing.T, b *http.Client, method, path string, form url.Values, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func (s adminSite) signIn(t *testing.T, b *http.Client, key string) (*http.Response, string) {
	t.Helper()
	return s.visit(t, b, http.MethodPost, "/admin/signin", url.Values{"key": {key}})
}

func TestAPlatformKeySeesTheJobs(t *testing.T) {
	t.Parallel()
	site, b := newAdminSite(t), browser(t)
	response, _ := site.signIn(t, b, " "+site.platform+"\n")
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/admin/" {
		t.Fatalf("the sign-in is answered with %d to %q", response.StatusCode, response.Header.Get("Location"))
	}
	cookies := response.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/admin/" ||
		cookies[0].Secure || cookies[0].MaxAge < 60 || cookies[0].MaxAge > 3600 || strings.Contains(site.platform, cookies[0].Value) {
		t.Errorf("the cookie is %+v", cookies)
	}
	for path, words := range map[string]string{
		"/admin/":                    "Sign out",
		"/admin/river/":              "<title>River</title>",
		"/admin/river/jobs":          "<title>River</title>",
		"/admin/river/api/queues":    `"data":[`,
		"/admin/river/api/states":    `"available":{`,
		"/admin/style.css":           "font-family",
		"/admin/river/robots.txt":    "User-Agent",
		"/admin/river/api/jobs":      `"data":[`,
		"/admin/river/api/features":  "{",
		"/admin/signin":              "Platform key",
		"/admin/river/api/queues/no": "",
	} {
		response, body := site.visit(t, b, http.MethodGet, path, nil)
		want := http.StatusOK
		if words == "" {
			want = http.StatusNotFound
		}
		if response.StatusCode != want || !strings.Contains(body, words) {
			t.Errorf("%s: %d %.200s", path, response.StatusCode, body)
		}
		if !strings.Contains(response.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s: the headers are %v", path, response.Header)
		}
	}
	if response, _ := site.visit(t, b, http.MethodGet, "/admin/river/api/queues", nil); response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the jobs may be kept: %v", response.Header)
	}
	if response, body := site.visit(t, b, http.MethodPost, "/admin/signout", url.Values{}); response.StatusCode != http.StatusSeeOther {
		t.Errorf("signing out is answered with %d %s", response.StatusCode, body)
	}
	// Also a browser that kept the cookie is out.
	stale := browser(t)
	if response, _ := site.visit(t, stale, http.MethodGet, "/admin/river/api/queues", nil, "Cookie", adminCookie+"="+cookies[0].Value); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("after signing out the jobs are answered with %d", response.StatusCode)
	}
}

func TestWithoutASessionThereIsOnlyTheSignIn(t *testing.T) {
	t.Parallel()
	site := newAdminSite(t)
	for path, signIn := range map[string]string{
		"/admin/": "/admin/signin", "/admin/river/": "/admin/signin?next=%2Fadmin%2Friver%2F",
		"/admin/river/jobs/1?state=available": "/admin/signin?next=%2Fadmin%2Friver%2Fjobs%2F1%3Fstate%3Davailable",
	} {
		for _, cookie := range []string{"", adminCookie + "=hfa_nonsense", adminCookie + "=" + site.platform} {
			response, _ := site.visit(t, browser(t), http.MethodGet, path, nil, "Cookie", cookie)
			if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != signIn {
				t.Errorf("%s with %q: %d to %q", path, cookie, response.StatusCode, response.Header.Get("Location"))
			}
		}
	}
	for method, path := range map[string]string{
		http.MethodGet: "/admin/river/api/queues", http.MethodPost: "/admin/river/api/jobs/cancel", http.MethodPut: "/admin/river/api/queues/payments/pause",
	} {
		// A key is no session: it must not work as the API's header either.
		response, body := site.visit(t, browser(t), method, path, nil, "Authorization", "Bearer "+site.platform)
		if response.StatusCode != http.StatusUnauthorized || strings.Contains(body, "data") {
			t.Errorf("%s %s: %d %s", method, path, response.StatusCode, body)
		}
	}
	// Where the pages are not switched on there are none.
	recorder := httptest.NewRecorder()
	site.app.probes().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/admin/signin", nil))
	if recorder.Code != http.StatusNotFound {
		t.Errorf("switched off, the sign-in is answered with %d", recorder.Code)
	}
}

func TestSignInLeadsToThePageAskedFor(t *testing.T) {
	t.Parallel()
	site := newAdminSite(t)
	for asked, want := range map[string]string{
		"/admin/river/":                       "/admin/river/",
		"/admin/river/jobs?state=available&a": "/admin/river/jobs?state=available&a",
		"":                                    "/admin/",
		"/admin/signin":                       "/admin/",
		"/graphql":                            "/admin/",
		"/admin/../graphql":                   "/admin/",
		"/admin/%2e%2e/graphql":               "/admin/",
		"//evil.example/admin/":               "/admin/",
		"///evil.example/admin/":              "/admin/",
		"https://evil.example/admin/river/":   "/admin/",
		"https:/admin/river/":                 "/admin/",
		"javascript:alert(1)":                 "/admin/",
		`/\evil.example/admin/`:               "/admin/",
		`/admin/\evil.example`:                "/admin/",
		"/x/..//evil.example/../admin/river":  "/admin/",
		"/admin/river/\r\nSet-Cookie: a=b":    "/admin/",
		"/admin/" + strings.Repeat("a", 2000): "/admin/",
	} {
		b := browser(t)
		_, page := site.visit(t, b, http.MethodGet, "/admin/signin?"+url.Values{"next": {asked}}.Encode(), nil)
		if !strings.Contains(page, `name="next" type="hidden" value="`+html.EscapeString(want)+`"`) {
			t.Errorf("%q: the page has no way to %q: %s", asked, want, page)
		}
		response, _ := site.visit(t, b, http.MethodPost, "/admin/signin", url.Values{"key": {site.platform}, "next": {asked}})
		if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != want {
			t.Errorf("%q leads to %d %q, want %q", asked, response.StatusCode, response.Header.Get("Location"), want)
		}
	}
}

func TestOtherKeysAreRefused(t *testing.T) {
	t.Parallel()
	site := newAdminSite(t)
	for name, c := range map[string]struct {
		key  string
		want int
	}{
		"none":           {"", http.StatusUnauthorized},
		"nonsense":       {"hfo_live_nonsense", http.StatusUnauthorized},
		"another secret": {site.platform[:len(site.platform)-4] + "0000", http.StatusUnauthorized},
		"a tenant's":     {site.admin, http.StatusForbidden},
		"a partner's":    {site.partner, http.StatusForbidden},
	} {
		b := browser(t)
		response, body := site.signIn(t, b, c.key)
		if response.StatusCode != c.want || len(response.Cookies()) != 0 || !strings.Contains(body, "a platform key does") {
			t.Errorf("%s: %d, cookies %v: %s", name, response.StatusCode, response.Cookies(), body)
		}
		if c.key != "" && strings.Contains(body, c.key) {
			t.Errorf("%s: the page repeats the key", name)
		}
		if response, _ := site.visit(t, b, http.MethodGet, "/admin/", nil); response.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: the pages are answered with %d", name, response.StatusCode)
		}
	}
}

// A session is worth its key at each moment.
func TestARevokedKeyIsOut(t *testing.T) {
	t.Parallel()
	site, b := newAdminSite(t), browser(t)
	site.signIn(t, b, site.platform)
	if response, _ := site.visit(t, b, http.MethodGet, "/admin/river/api/queues", nil); response.StatusCode != http.StatusOK {
		t.Fatalf("before: %d", response.StatusCode)
	}
	if _, err := site.app.tenants.RevokeKey(t.Context(), site.operator, tenants.TenantID{}, site.operator.Key); err != nil {
		t.Fatal(err)
	}
	if response, _ := site.visit(t, b, http.MethodGet, "/admin/river/api/queues", nil); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API is answered with %d", response.StatusCode)
	}
	if response, _ := site.visit(t, b, http.MethodGet, "/admin/river/", nil); response.Header.Get("Location") != "/admin/signin?next=%2Fadmin%2Friver%2F" {
		t.Errorf("the page is answered with %d", response.StatusCode)
	}
	if response, _ := site.signIn(t, b, site.platform); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("signing in again is answered with %d", response.StatusCode)
	}
}

// Another site's page cannot sign anybody in or out, nor touch a job, even with the cookie.
func TestOtherSitesCannotAct(t *testing.T) {
	t.Parallel()
	site, b := newAdminSite(t), browser(t)
	site.signIn(t, b, site.platform)
	for path, form := range map[string]url.Values{
		"/admin/signin": {"key": {site.platform}}, "/admin/signout": {}, "/admin/river/api/jobs/cancel": {},
	} {
		for _, header := range [][]string{{"Origin", "https://elsewhere.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Origin", "null"}} {
			if response, body := site.visit(t, b, http.MethodPost, path, form, header...); response.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %v: %d %s", path, header, response.StatusCode, body)
			}
		}
	}
	if response, _ := site.visit(t, b, http.MethodGet, "/admin/", nil); response.StatusCode != http.StatusOK {
		t.Errorf("the session did not survive: %d", response.StatusCode)
	}
	if response, _ := site.visit(t, b, http.MethodPost, "/admin/signout", url.Values{}, "Origin", site.url); response.StatusCode != http.StatusSeeOther {
		t.Errorf("the own site cannot sign out: %d", response.StatusCode)
	}
}

func TestTooManyRefusedKeys(t *testing.T) {
	t.Parallel()
	site, b := newAdminSite(t), browser(t)
	for range maxFailures {
		if response, _ := site.signIn(t, b, "hfo_live_guess"); response.StatusCode != http.StatusUnauthorized {
			t.Fatalf("a guess is answered with %d", response.StatusCode)
		}
	}
	response, body := site.signIn(t, b, site.platform)
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" || !strings.Contains(body, "Too many") {
		t.Errorf("after %d guesses: %d %s", maxFailures, response.StatusCode, body)
	}
}

// A crowd of guesses at one moment gets no more of them looked at than one after the other.
func TestGuessesAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	site := newAdminSite(t)
	var looked atomic.Int64
	var guesses sync.WaitGroup
	for range 4 * maxFailures {
		guesses.Go(func() {
			if response, _ := site.signIn(t, browser(t), "hfo_live_guess"); response.StatusCode == http.StatusUnauthorized {
				looked.Add(1)
			}
		})
	}
	guesses.Wait()
	if looked := looked.Load(); looked != maxFailures {
		t.Errorf("%d guesses were looked at, want %d", looked, maxFailures)
	}
}

func TestRefusedSignInsAreCountedByAddressAndMinute(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	f := newSignInFailures(func() time.Time { return now })
	for range maxFailures {
		if wait := f.begin("a"); wait != 0 {
			t.Fatalf("too early: %s", wait)
		}
	}
	for range 3 * maxFailures {
		if wait := f.begin("c"); wait != 0 {
			t.Fatalf("tries that were not refused count: %s", wait)
		}
		f.forgive("c")
	}
	now = now.Add(20 * time.Second)
	if a, b := f.begin("a"), f.begin("b"); a != 40*time.Second || b != 0 {
		t.Errorf("a waits %s, b %s; want 40s and 0", a, b)
	}
	now = now.Add(40 * time.Second)
	if a := f.begin("a"); a != 0 {
		t.Errorf("a minute later a waits %s", a)
	}
	for n := range 3 * maxFailureFrom {
		f.begin(fmt.Sprint("address ", n))
	}
	if len(f.counts) > maxFailureFrom+1 {
		t.Errorf("%d addresses are remembered", len(f.counts))
	}
	if f.begin("one more") == 0 {
		t.Error("addresses that do not fit are not counted together")
	}
}

func TestRemoteHosts(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7:1234": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "nonsense": "",
	} {
		if got := remoteHost(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%s is counted as %q, want %q", address, got, want)
		}
	}
	for host, want := range map[string]bool{
		"127.0.0.1:8080": true, "localhost": true, "[::1]:80": true, "[::1]": true, "holdfast.example": false, "localhost.example:80": false, "10.0.0.1": false,
	} {
		if loopback(host) != want {
			t.Errorf("%s is a loopback address: %t", host, !want)
		}
		cookie := adminSession(&http.Request{Host: host}, "token", time.Hour)
		if cookie.Secure == want {
			t.Errorf("%s: the cookie is %+v", host, cookie)
		}
	}
}
