package sandbox

import (
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// pathPages is where the pages of hosted checkout and of confirmations are.
const pathPages = "/pay/"

// What a buyer may press on a page.
const (
	pressPay     = "pay"
	pressDecline = "decline"
	pressLeave   = "leave"
)

// pageView is what a page shows.
type pageView struct {
	Amount, Description string
	// Open is false once there is nothing left to press.
	Open bool
	// Confirms is true where the instrument is known and only to be confirmed.
	Confirms bool
	Status   string
}

// The page needs no script, loads nothing, and tells nobody where the buyer came from.
var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sandbox payment</title>
<body style="font-family:sans-serif;max-width:24rem;margin:4rem auto">
<h1>Sandbox payment</h1>
<p>{{.Description}}</p><p><strong>{{.Amount}}</strong></p>
{{if .Open}}<form method="post">
{{if not .Confirms}}<p><label>Token <input name="method" value="tok_approve" maxlength="128"></label></p>{{end}}
<button name="press" value="pay">{{if .Confirms}}Confirm{{else}}Pay{{end}}</button>
<button name="press" value="decline">Decline</button>
<button name="press" value="leave">Leave</button>
</form>{{else}}<p>This payment is {{.Status}}. You can close this page.</p>{{end}}
</body></html>`))

func (s *Server) showPage(w http.ResponseWriter, r *http.Request) {
	c, ok := s.ledger.page(r.PathValue("page"))
	if !ok {
		http.Error(w, "There is no such payment.", http.StatusNotFound)
		return
	}
	s.writePage(w, r, c)
}

// submitPage is a press of a button. Pressing twice changes nothing.
func (s *Server) submitPage(w http.ResponseWriter, r *http.Request) {
	c, ok := s.ledger.page(r.PathValue("page"))
	if !ok {
		http.Error(w, "There is no such payment.", http.StatusNotFound)
		return
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	press, method := r.PostForm.Get("press"), r.PostForm.Get("method")
	again, err := s.ledger.press(c, press, method)
	if err != nil {
		http.Error(w, "The payment did not take this: "+err.Error(), http.StatusUnprocessableEntity)
		return
	}
	if target := s.ledger.returnURL(c); target != "" && !again {
		// Coming back is no proof of anything; what became of the charge is said by its webhook.
		http.Redirect(w, r, target, http.StatusSeeOther)
		return
	}
	s.writePage(w, r, c)
}

func (s *Server) writePage(w http.ResponseWriter, r *http.Request, c *charge) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	if err := pageTemplate.Execute(w, s.ledger.viewPage(c)); err != nil {
		s.config.Logger.DebugContext(r.Context(), "sandbox buyer left before the page was there", slog.Any("error", err))
	}
}

func (l *ledger) page(page string) (*charge, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.pages[page]
	return c, ok
}

func (l *ledger) viewPage(c *charge) pageView {
	l.mu.Lock()
	defer l.mu.Unlock()
	view := pageView{
		Amount: readableAmount(c.wire), Description: c.wire.Description, Confirms: c.act.confirm, Status: c.wire.Status,
		Open: c.pending() && !c.expired(l.config.Now()),
	}
	if c.pending() && !view.Open {
		view.Status = "expired"
	}
	return view
}

func readableAmount(c wireCharge) string {
	amount, err := readAmount(c.AmountMinor, c.Currency)
	if err != nil {
		return c.Currency
	}
	return amount.String()
}

// press does what a button says, while the charge waits for its buyer; again says that the page asks
// for a confirmation.
func (l *ledger) press(c *charge, press, method string) (again bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.config.Now().UTC()
	switch {
	case press != pressPay && press != pressDecline && press != pressLeave:
		return false, invalid("press", "expected %s, %s or %s", pressPay, pressDecline, pressLeave)
	case l.closed, !c.pending(), press == pressLeave, c.expired(now), !c.decideAt.IsZero():
		return false, nil
	case press == pressDecline:
		l.end(c, genericDecline)
		return false, nil
	case !c.act.confirm:
		act, seed, err := readOwnToken(c.wire.Account, method)
		if err != nil {
			return false, invalid("method", "%s", err.Error())
		}
		c.token, c.act, c.wire.Fingerprint = method, act, fingerprint(seed)
		if act.confirm {
			// The page asks once more, for the confirmation.
			l.record(c)
			return true, nil
		}
		if act.after > 0 {
			c.decideAt = now.Add(l.config.scaled(act.after))
			l.open-- // It is counted again where it is scheduled.
			l.schedule(c)
			l.record(c)
			return false, nil
		}
	}
	l.decide(c)
	return false, nil
}

// expired reports whether the page takes no money any more. What the provider has begun to decide
// goes on.
func (c *charge) expired(now time.Time) bool {
	return !c.hosted.ExpiresAt.IsZero() && !now.Before(c.hosted.ExpiresAt)
}

// returnURL is where the buyer goes on, with the charge's id, or empty.
func (l *ledger) returnURL(c *charge) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	target, err := url.Parse(c.hosted.ReturnURL)
	if err != nil || c.hosted.ReturnURL == "" {
		return ""
	}
	query := target.Query()
	query.Set("charge", c.wire.ID)
	target.RawQuery = query.Encode()
	return target.String()
}
