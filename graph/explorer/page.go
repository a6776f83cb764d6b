package explorer

import (
	"bytes"
	"crypto/rand"
	_ "embed" // page.html
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

//go:embed page.html
var pageSource string

// settings is what assets/explorer.js reads from the page.
type settings struct {
	Endpoint       string            `json:"endpoint"`
	Title          string            `json:"title"`
	DefaultQuery   string            `json:"defaultQuery"`
	DefaultHeaders map[string]string `json:"defaultHeaders"`
	StyleNonce     string            `json:"styleNonce"`
}

// pageAssets holds the relative addresses that page.html refers to.
type pageAssets struct {
	Icon          string
	Licences      string
	GraphiQLStyle string
	Style         string
	React         string
	ReactDOM      string
	GraphiQL      string
	Script        string
}

// page is page.html with everything but the nonce, which differs per response.
type page struct {
	template *template.Template
	title    string
	assets   pageAssets
	settings settings
}

func newPage(cfg Config, assets pageAssets) (*page, error) {
	parsed, err := template.New("page.html").Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("parse page.html: %w", err)
	}
	p := &page{
		template: parsed,
		title:    cfg.Title,
		assets:   assets,
		settings: settings{
			Endpoint:       cfg.Endpoint,
			Title:          cfg.Title,
			DefaultQuery:   cfg.DefaultQuery,
			DefaultHeaders: map[string]string{},
		},
	}
	maps.Copy(p.settings.DefaultHeaders, cfg.DefaultHeaders)
	return p, nil
}

// render fills page.html. html/template writes the settings as JSON in which
// <, > and & are escaped, so that no value can end the script element.
func (p *page) render(styleNonce string) ([]byte, error) {
	values := p.settings
	values.StyleNonce = styleNonce
	var out bytes.Buffer
	err := p.template.Execute(&out, map[string]any{
		"Title":    p.title,
		"Assets":   p.assets,
		"Settings": values,
	})
	if err != nil {
		return nil, fmt.Errorf("render page.html: %w", err)
	}
	return out.Bytes(), nil
}

func (p *page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	styleNonce := rand.Text()
	body, err := p.render(styleNonce)
	if err != nil {
		http.Error(w, "the explorer's page cannot be rendered", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Content-Security-Policy", contentSecurityPolicy(styleNonce))
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	// The page may carry a credential among its default headers.
	header.Set("Cache-Control", "no-store")
	// A write fails when the visitor has gone; there is nobody left to tell.
	_, _ = w.Write(body)
}

// contentSecurityPolicy lets the page load from and call its own host only.
// Fonts, and the marks under mistakes in the editor, are data inside GraphiQL's
// style sheet, hence "data:" for these two. The nonce admits the style element
// that keeps the page behind an open dialog from scrolling.
func contentSecurityPolicy(styleNonce string) string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self' 'nonce-" + styleNonce + "'",
		"font-src data:",
		"img-src 'self' data:",
		"connect-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")
}
