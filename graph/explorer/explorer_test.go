package explorer_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/graph/explorer"
)

var (
	addressPattern  = regexp.MustCompile(`<(?:script|link)[^>]*\s(?:src|href)="([^"]*)"`)
	settingsPattern = regexp.MustCompile(`(?s)<script id="settings" type="application/json">(.*?)</script>`)
	noncePattern    = regexp.MustCompile(`'nonce-([A-Za-z0-9]{16,})'`)
)

func TestPageLoadsOnlyItsOwnAssets(t *testing.T) {
	t.Parallel()
	handler := mounted(explorer.Config{})

	types := map[string]string{
		"icon.svg":                    "image/svg+xml",
		"LICENSES.txt":                "text/plain; charset=utf-8",
		"graphiql.min.css":            "text/css; charset=utf-8",
		"explorer.css":                "text/css; charset=utf-8",
		"react.production.min.js":     "text/javascript; charset=utf-8",
		"react-dom.production.min.js": "text/javascript; charset=utf-8",
		"graphiql.min.js":             "text/javascript; charset=utf-8",
		"explorer.js":                 "text/javascript; charset=utf-8",
	}
	for _, address := range assetAddresses(t, handler) {
		file, hash := splitHash(t, address)
		wantType, ok := types[file]
		if !ok {
			t.Errorf("page refers to %s, which is none of the known assets", address)
			continue
		}
		delete(types, file)

		response := get(t, handler, "/explorer/"+address)
		if response.Code != http.StatusOK {
			t.Errorf("%s: status %d, want 200", address, response.Code)
			continue
		}
		wantHeader(t, response, "Content-Type", wantType)
		wantHeader(t, response, "Cache-Control", "public, max-age=31536000, immutable")
		wantHeader(t, response, "X-Content-Type-Options", "nosniff")
		wantHeader(t, response, "Vary", "Accept-Encoding")
		wantHeader(t, response, "Content-Encoding", "")
		sum := sha256.Sum256(response.Body.Bytes())
		if got := hex.EncodeToString(sum[:]); !strings.HasPrefix(got, hash) {
			t.Errorf("%s: content has SHA-256 %s", address, got)
		}
	}
	for file := range types {
		t.Errorf("page does not refer to %s", file)
	}
}

func TestStyleSheetsLoadNothing(t *testing.T) {
	t.Parallel()
	handler := mounted(explorer.Config{})
	elsewhere := regexp.MustCompile(`@import|url\(\s*["']?([^d"'\s]|d[^a])`)
	for _, address := range assetAddresses(t, handler) {
		if !strings.HasSuffix(address, ".css") {
			continue
		}
		if found := elsewhere.Find(get(t, handler, "/explorer/"+address).Body.Bytes()); found != nil {
			t.Errorf("%s loads something that is not data of its own: %s", address, found)
		}
	}
}

func TestAssetsAreCompressedOnRequest(t *testing.T) {
	t.Parallel()
	handler := mounted(explorer.Config{})
	for _, address := range assetAddresses(t, handler) {
		plain := get(t, handler, "/explorer/"+address).Body.Bytes()
		compressed := get(t, handler, "/explorer/"+address, "Accept-Encoding", "br, gzip;q=0.8")
		wantHeader(t, compressed, "Content-Encoding", "gzip")
		reader, err := gzip.NewReader(compressed.Body)
		if err != nil {
			t.Fatalf("%s: open gzip: %v", address, err)
		}
		unpacked, err := io.ReadAll(reader)
		if err != nil {
			t.Fatalf("%s: read gzip: %v", address, err)
		}
		if !bytes.Equal(unpacked, plain) {
			t.Errorf("%s: compressed content differs from the plain content", address)
		}
	}
}

func TestAcceptEncoding(t *testing.T) {
	t.Parallel()
	handler := mounted(explorer.Config{})
	address := "/explorer/" + assetAddresses(t, handler)[0]
	for accept, want := range map[string]string{
		"":                  "",
		"identity":          "",
		"gzip":              "gzip",
		"GZIP":              "gzip",
		"deflate, gzip, br": "gzip",
		"gzip;q=0":          "",
		"gzip; q=0.000":     "",
		"gzip;q=nonsense":   "",
		"x-gzip2":           "",
	} {
		response := get(t, handler, address, "Accept-Encoding", accept)
		if got := response.Header().Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: Content-Encoding %q, want %q", accept, got, want)
		}
	}
}

func TestPageHeaders(t *testing.T) {
	t.Parallel()
	handler := mounted(explorer.Config{})
	response := get(t, handler, "/explorer/")
	if response.Code != http.StatusOK {
		t.Fatalf("status %d, want 200", response.Code)
	}
	wantHeader(t, response, "Content-Type", "text/html; charset=utf-8")
	wantHeader(t, response, "Cache-Control", "no-store")
	wantHeader(t, response, "X-Content-Type-Options", "nosniff")
	wantHeader(t, response, "Referrer-Policy", "no-referrer")

	policy := response.Header().Get("Content-Security-Policy")
	for _, directive := range []string{
		"default-src 'none'", "script-src 'self';", "connect-src 'self';", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	} {
		if !strings.Contains(policy, directive) {
			t.Errorf("Content-Security-Policy lacks %q: %s", directive, policy)
		}
	}
	for _, forbidden := range []string{"unsafe", "http", "*", "blob:"} {
		if strings.Contains(policy, forbidden) {
			t.Errorf("Content-Security-Policy contains %q: %s", forbidden, policy)
		}
	}
}

func TestStyleNonceIsInPageAndDiffersPerResponse(t *testing.T) {
	t.Parallel()
	handler := mounted(explorer.Config{})
	seen := map[string]bool{}
	for range 3 {
		response := get(t, handler, "/explorer/")
		match := noncePattern.FindStringSubmatch(response.Header().Get("Content-Security-Policy"))
		if match == nil {
			t.Fatalf("no nonce in %q", response.Header().Get("Content-Security-Policy"))
		}
		if got := pageSettings(t, response.Body.String()).StyleNonce; got != match[1] {
			t.Errorf("the page has nonce %q, its policy %q", got, match[1])
		}
		seen[match[1]] = true
	}
	if len(seen) != 3 {
		t.Errorf("3 responses shared nonces: %v", seen)
	}
}

func TestOtherPathsAndMethods(t *testing.T) {
	t.Parallel()
	handler := mounted(explorer.Config{})
	for _, path := range []string{
		"/explorer/assets/", "/explorer/assets/explorer.js", "/explorer/assets/explorer.0000000000000000.js",
		"/explorer/page.html", "/explorer/thirdparty/graphiql.min.js", "/explorer/graphql",
	} {
		if response := get(t, handler, path); response.Code != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want 404", path, response.Code)
		}
	}

	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/explorer/", nil))
	if recorder.Code != http.StatusMethodNotAllowed || recorder.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d with Allow %q, want 405 with GET, HEAD", recorder.Code, recorder.Header().Get("Allow"))
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	body := get(t, mounted(explorer.Config{}), "/explorer/").Body.String()
	got := pageSettings(t, body)
	if got.Endpoint != "/graphql" || got.Title != "Holdfast GraphQL explorer" || !strings.HasPrefix(got.DefaultQuery, "#") {
		t.Errorf("settings without configuration: %+v", got)
	}
	if got.DefaultHeaders == nil || len(got.DefaultHeaders) != 0 {
		t.Errorf("default headers %v, want an empty object", got.DefaultHeaders)
	}
}

func TestConfigReachesPageAsDataOnly(t *testing.T) {
	t.Parallel()
	const hostile = "</script><script>alert(1)</script><!-- <script> ]]> ' \" \\ & \u2028 \u2029 {{.}} ${x} `"
	cfg := explorer.Config{
		Endpoint:       "/" + hostile,
		Title:          hostile,
		DefaultQuery:   "query { a } # " + hostile,
		DefaultHeaders: map[string]string{"Authorization": "Bearer " + hostile, hostile: "x"},
	}
	body := get(t, mounted(cfg), "/explorer/").Body.String()

	if strings.Contains(body, "<script>") || strings.Contains(body, "<!-- ") {
		t.Errorf("configuration became markup:\n%s", body)
	}
	plain := get(t, mounted(explorer.Config{}), "/explorer/").Body.String()
	for _, mark := range []string{"<script", "</script", "<!", "<"} {
		if got, want := strings.Count(body, mark), strings.Count(plain, mark); got != want {
			t.Errorf("page contains %q %d times, and %d times without configuration", mark, got, want)
		}
	}
	got := pageSettings(t, body)
	if got.Endpoint != cfg.Endpoint || got.Title != cfg.Title || got.DefaultQuery != cfg.DefaultQuery {
		t.Errorf("settings changed on their way: %+v", got)
	}
	for name, value := range cfg.DefaultHeaders {
		if got.DefaultHeaders[name] != value {
			t.Errorf("header %q became %q", name, got.DefaultHeaders[name])
		}
	}
}

func TestHandlerKeepsItsOwnCopyOfHeaders(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"Authorization": "Bearer first"}
	handler := mounted(explorer.Config{DefaultHeaders: headers})
	headers["Authorization"] = "Bearer second"
	got := pageSettings(t, get(t, handler, "/explorer/").Body.String())
	if got.DefaultHeaders["Authorization"] != "Bearer first" {
		t.Errorf("header changed after Handler returned: %q", got.DefaultHeaders["Authorization"])
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	header := func(name, value string) explorer.Config {
		return explorer.Config{DefaultHeaders: map[string]string{name: value}}
	}
	for name, test := range map[string]struct {
		cfg  explorer.Config
		want string
	}{
		"zero value":             {explorer.Config{}, ""},
		"path":                   {explorer.Config{Endpoint: "/api/graphql"}, ""},
		"path with query":        {explorer.Config{Endpoint: "/graphql?tenant=x"}, ""},
		"relative path":          {explorer.Config{Endpoint: "graphql"}, "expected a path"},
		"other host":             {explorer.Config{Endpoint: "https://example.com/graphql"}, "expected a path"},
		"other host, no scheme":  {explorer.Config{Endpoint: "//example.com/graphql"}, "expected a path"},
		"not an address":         {explorer.Config{Endpoint: "/%zz"}, "parse"},
		"header":                 {header("Holdfast-Session", "abc"), ""},
		"header without name":    {header("", "abc"), "letters, digits and hyphens"},
		"header name with space": {header("Holdfast Session", "abc"), "letters, digits and hyphens"},
		"header with line break": {header("Authorization", "Bearer secret\r\nX: y"), "printable ASCII"},
		"header beyond ASCII":    {header("Authorization", "Bearer secr\u00e9t"), "printable ASCII"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.cfg.Validate()
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && err == nil:
				t.Error("accepted")
			case test.want != "" && !strings.Contains(err.Error(), test.want):
				t.Errorf("error %q does not say %q", err, test.want)
			case err != nil && strings.Contains(err.Error(), "secr"):
				t.Errorf("error repeats a header value: %q", err)
			}
		})
	}
}

func TestLicencesOfEmbeddedWork(t *testing.T) {
	t.Parallel()
	handler := mounted(explorer.Config{})
	for _, address := range assetAddresses(t, handler) {
		if !strings.HasSuffix(address, ".txt") {
			continue
		}
		text := get(t, handler, "/explorer/"+address).Body.String()
		for _, name := range []string{"graphiql", "react", "react-dom", "graphql", "codemirror", "@fontsource/roboto", "@fontsource/fira-code"} {
			if !strings.Contains(text, "\n"+name+"\n") {
				t.Errorf("no licence of %s", name)
			}
		}
		return
	}
	t.Error("page does not refer to the licences")
}

func mounted(cfg explorer.Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/explorer/", http.StripPrefix("/explorer", explorer.Handler(cfg)))
	return mux
}

// get makes a request with the given header names and values.
func get(t *testing.T, handler http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

// assetAddresses returns what the page's scripts and links refer to, and fails
// the test when any of it is not below the page.
func assetAddresses(t *testing.T, handler http.Handler) []string {
	t.Helper()
	var addresses []string
	for _, match := range addressPattern.FindAllStringSubmatch(get(t, handler, "/explorer/").Body.String(), -1) {
		if !strings.HasPrefix(match[1], "assets/") {
			t.Fatalf("page refers to %q, which is not one of its assets", match[1])
		}
		addresses = append(addresses, match[1])
	}
	if len(addresses) == 0 {
		t.Fatal("page refers to no assets")
	}
	return addresses
}

// splitHash takes assets/name.hash.ext apart into name.ext and hash.
func splitHash(t *testing.T, address string) (file, hash string) {
	t.Helper()
	match := regexp.MustCompile(`^assets/(.+)\.([0-9a-f]{16})\.([a-z]+)$`).FindStringSubmatch(address)
	if match == nil {
		t.Fatalf("%q carries no hash", address)
	}
	return match[1] + "." + match[3], match[2]
}

type settings struct {
	Endpoint       string
	Title          string
	DefaultQuery   string
	DefaultHeaders map[string]string
	StyleNonce     string
}

func pageSettings(t *testing.T, body string) settings {
	t.Helper()
	match := settingsPattern.FindStringSubmatch(body)
	if match == nil {
		t.Fatalf("page has no settings:\n%s", body)
	}
	var s settings
	if err := json.Unmarshal([]byte(match[1]), &s); err != nil {
		t.Fatalf("settings are not JSON: %v\n%s", err, match[1])
	}
	return s
}

func wantHeader(t *testing.T, response *httptest.ResponseRecorder, name, want string) {
	t.Helper()
	if got := response.Header().Get(name); got != want {
		t.Errorf("%s %q, want %q", name, got, want)
	}
}
