package explorer

import (
	"fmt"
	"net/http"
	"strings"
)

// Handler serves the explorer: the page at "/" and its assets below "/assets/".
// The page refers to its assets by relative addresses, so it can be mounted
// anywhere, provided that its address ends with a slash:
//
//	mux.Handle("/explorer/", http.StripPrefix("/explorer", explorer.Handler(cfg)))
//
// Unknown paths answer 404, methods other than GET and HEAD answer 405. Handler
// reads cfg once; call Validate first to learn whether the page can work.
func Handler(cfg Config) http.Handler {
	s, err := newSite(cfg.withDefaults())
	if err != nil {
		// Everything that newSite reads was compiled in, and a test loads it all.
		panic(fmt.Sprintf("explorer: embedded files are incomplete: %v", err))
	}
	return s
}

// site is the page and its assets, by the path below the page.
type site struct {
	page   *page
	assets map[string]*asset
}

func newSite(cfg Config) (*site, error) {
	s := &site{assets: map[string]*asset{}}
	var addresses pageAssets
	for _, entry := range []struct {
		file    string
		address *string
	}{
		{"assets/icon.svg", &addresses.Icon},
		{"assets/explorer.css", &addresses.Style},
		{"assets/explorer.js", &addresses.Script},
		{"thirdparty/LICENSES.txt", &addresses.Licences},
		{"thirdparty/graphiql.min.css", &addresses.GraphiQLStyle},
		{"thirdparty/graphiql.min.js", &addresses.GraphiQL},
		{"thirdparty/react.production.min.js", &addresses.React},
		{"thirdparty/react-dom.production.min.js", &addresses.ReactDOM},
	} {
		a, err := loadAsset(entry.file)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", entry.file, err)
		}
		*entry.address = a.path()
		s.assets[a.path()] = a
	}
	page, err := newPage(cfg, addresses)
	if err != nil {
		return nil, err
	}
	s.page = page
	return s, nil
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")

	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		s.page.ServeHTTP(w, r)
		return
	}
	a, ok := s.assets[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	a.ServeHTTP(w, r)
}
