package main

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Where the admin pages are, and what a browser keeps for them.
const (
	adminPath      = "/admin/"
	adminSignIn    = "/admin/signin"
	adminNext      = "next"
	adminCookie    = "holdfast_admin"
	maxAdminBytes  = 64 << 10
	maxAdminNext   = 2000
	adminPolicy    = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	adminAppPolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"
)

var (
	//go:embed admin.html
	adminHTML string
	//go:embed admin.css
	adminCSS string
)

// adminPages lets operators see how the installation works. Who they are is asked in one place, and
// what they may do with each request: another way to sign in only has to start the same sessions.
type adminPages struct {
	tenants  *tenants.Service
	policy   *policies.Enforcer
	logger   *slog.Logger
	page     *template.Template
	failures *signInFailures
}

// adminPages are served below /admin/.
func (a *app) adminPages(ctx context.Context) (http.Handler, error) {
	page, err := template.New("admin").Parse(adminHTML)
	if err != nil {
		return nil, fmt.Errorf("read the admin page: %w", err)
	}
	inspector, err := jobs.NewInspector(ctx, a.store.db, adminPath+"river", a.logger)
	if err != nil {
		return nil, err
	}
	p := &adminPages{tenants: a.tenants, policy: a.policy, logger: a.logger, page: page, failures: newSignInFailures(time.Now)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+adminSignIn, func(w http.ResponseWriter, r *http.Request) {
		p.show(w, http.StatusOK, adminView{Title: "Sign in", Next: adminPage(r.URL.Query().Get(adminNext))})
	})
	mux.HandleFunc("POST "+adminSignIn, p.signIn)
	mux.HandleFunc("POST /admin/signout", p.signOut)
	mux.HandleFunc("GET /admin/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(adminCSS))
	})
	mux.Handle("GET /admin/{$}", p.require(policies.ActionJobInspect, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.show(w, http.StatusOK, adminView{Title: "Operations", SignedIn: true})
	})))
	mux.Handle("/admin/river/", p.require(policies.ActionJobInspect, loosen(inspector)))
	return guard(mux), nil
}

// guard is what holds for every admin page: nobody's script may send or show it, and no data are kept.
func guard(pages http.Handler) http.Handler {
	sameSite := http.NewCrossOriginProtection().Handler(pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", adminPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxAdminBytes)
		sameSite.ServeHTTP(w, r)
	})
}

// loosen lets an application in the browser run its own scripts.
func loosen(app http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", adminAppPolicy)
		app.ServeHTTP(w, r)
	})
}

// require serves who has signed in and may do this at this moment. Whoever looks at a page is sent to
// sign in, whatever asks for data is told so.
func (p *adminPages) require(action policies.Action, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := p.mayDo(r, action)
		switch kind := fault.KindOf(err); {
		case err == nil:
			next.ServeHTTP(w, r)
		case kind == fault.KindUnauthenticated && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/admin/river/api/"):
			http.Redirect(w, r, signInFor(r.URL), http.StatusSeeOther)
		case kind == fault.KindUnavailable:
			answer(w, http.StatusServiceUnavailable, kind.String(), "the database does not answer")
		case statusOf(kind) < http.StatusInternalServerError:
			answer(w, statusOf(kind), kind.String(), err.Error())
		default:
			p.logger.ErrorContext(r.Context(), "an admin page failed", "error", err)
			answer(w, statusOf(kind), kind.String(), "the log says why")
		}
	})
}

// signInFor is the sign-in that leads to a page.
func signInFor(page *url.URL) string {
	next := adminPage(page.RequestURI())
	if next == adminPath {
		return adminSignIn
	}
	return adminSignIn + "?" + url.Values{adminNext: {next}}.Encode()
}

// adminPage is the page that somebody asked to be sent to, if it is one of these, or the first of them:
// a link must not send whoever signs in to another site, nor to another part of this one.
func adminPage(asked string) string {
	page, err := url.Parse(asked)
	if err != nil || len(asked) > maxAdminNext || page.Scheme != "" || page.Host != "" || page.User != nil || page.Opaque != "" {
		return adminPath
	}
	if !strings.HasPrefix(path.Clean(page.Path), adminPath) || path.Clean(page.Path) == adminSignIn || strings.Contains(page.Path, `\`) {
		return adminPath
	}
	target := url.URL{Path: page.Path, RawPath: page.RawPath, RawQuery: page.RawQuery}
	if strings.HasPrefix(target.Path, adminPath) {
		return target.String()
	}
	return adminPath
}

func (p *adminPages) mayDo(r *http.Request, action policies.Action) error {
	token := ""
	if cookie, err := r.Cookie(adminCookie); err == nil {
		token = cookie.Value
	}
	actor, err := p.tenants.AuthenticateAdmin(r.Context(), token)
	if err != nil {
		return err
	}
	return p.policy.Authorize(actor, action, tenants.TenantID{})
}

// signIn takes a platform key and starts a session in its place.
func (p *adminPages) signIn(w http.ResponseWriter, r *http.Request) {
	ctx, from, next := r.Context(), remoteHost(r), adminPage(r.PostFormValue(adminNext))
	if wait := p.failures.begin(from); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait.Seconds())+1))
		p.show(w, http.StatusTooManyRequests, adminView{Title: "Sign in", Next: next, Problem: "Too many keys were refused. Wait a minute."})
		return
	}
	session, actor, err := p.start(ctx, strings.TrimSpace(r.PostFormValue("key")))
	if kind := fault.KindOf(err); err == nil || kind != fault.KindUnauthenticated && kind != fault.KindDenied {
		p.failures.forgive(from)
	}
	if err == nil {
		p.logger.InfoContext(ctx, "an operator signed in", "key", actor.Key.String(), "from", from)
		http.SetCookie(w, adminSession(r, session.Token, time.Until(session.ExpiresAt)))
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	switch kind := fault.KindOf(err); kind {
	case fault.KindUnauthenticated, fault.KindDenied:
		p.logger.WarnContext(ctx, "a sign-in was refused", "from", from, "kind", kind.String())
		p.show(w, statusOf(kind), adminView{Title: "Sign in", Next: next, Problem: "This key does not open the admin pages: a platform key does."})
	case fault.KindUnavailable:
		p.show(w, http.StatusServiceUnavailable, adminView{Title: "Sign in", Next: next, Problem: "The database does not answer. Try again."})
	case fault.KindInvalid, fault.KindNotFound, fault.KindConflict, fault.KindExhausted, fault.KindInternal:
		fallthrough
	default:
		p.logger.ErrorContext(ctx, "a sign-in failed", "error", err)
		p.show(w, http.StatusInternalServerError, adminView{Title: "Sign in", Next: next, Problem: "It failed. The log says why."})
	}
}

func (p *adminPages) start(ctx context.Context, key string) (tenants.AdminSession, tenants.Actor, error) {
	actor, err := p.tenants.Authenticate(ctx, key, "")
	if err != nil {
		return tenants.AdminSession{}, tenants.Actor{}, err
	}
	session, err := p.tenants.StartAdminSession(ctx, actor)
	return session, actor, err
}

// signOut ends the session on the server, whatever the browser keeps.
func (p *adminPages) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(adminCookie); err == nil {
		if err := p.tenants.EndAdminSession(r.Context(), cookie.Value); err != nil {
			p.logger.WarnContext(r.Context(), "a session could not be ended", "error", err)
			p.show(w, http.StatusServiceUnavailable, adminView{Title: "Operations", SignedIn: true, Problem: "The session could not be ended. Try again."})
			return
		}
	}
	http.SetCookie(w, adminSession(r, "", -1))
	http.Redirect(w, r, adminSignIn, http.StatusSeeOther)
}

// adminSession is the cookie of a session. Only a connection that nobody can listen to gets it: an
// encrypted one, or one within the machine.
func adminSession(r *http.Request, token string, lifetime time.Duration) *http.Cookie {
	cookie := &http.Cookie{
		Name: adminCookie, Value: token, Path: adminPath, MaxAge: int(lifetime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: !loopback(r.Host),
	}
	if lifetime <= 0 {
		cookie.MaxAge = -1
	}
	return cookie
}

// loopback reports whether an address that a browser used names its own machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// adminView is what the admin page shows.
type adminView struct {
	Title, Problem string
	// Next is the page that the sign-in leads to.
	Next     string
	SignedIn bool
}

func (p *adminPages) show(w http.ResponseWriter, status int, view adminView) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	// The browser may be gone.
	_ = p.page.Execute(w, view)
}
