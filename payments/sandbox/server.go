package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of the HTTP server. The answer may take as long as Config.HangLimit.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = time.Minute
	maxHeaderBytes    = 16 << 10
	maxBodyBytes      = 64 << 10
)

// Server is the provider. Make it with NewServer, then Start or Serve it once.
type Server struct {
	config   Config
	ledger   *ledger
	webhooks *webhooks
	http     *http.Server
	// closing ends the calls that wait or hang.
	closing   chan struct{}
	closeOnce sync.Once
	closeErr  error
	served    sync.WaitGroup

	mu  sync.Mutex
	url string
	// silent holds the connections on which nothing has come yet.
	silent map[net.Conn]struct{}
}

// NewServer makes a provider that does not listen yet. Decisions that the journal left open go on.
// Close it also if it was never started.
func NewServer(config Config) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	s := &Server{config: config, webhooks: newWebhooks(config), closing: make(chan struct{}), silent: map[net.Conn]struct{}{}}
	var err error
	if s.ledger, err = newLedger(config, s.URL, s.webhooks.announce); err == nil && config.JournalPath != "" {
		err = s.ledger.openJournal(config.JournalPath)
	}
	if err != nil {
		s.webhooks.close()
		return nil, err
	}
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         s.trackSilence,
		ErrorLog:          slog.NewLogLogger(config.Logger.Handler(), slog.LevelWarn),
	}
	return s, nil
}

// Start listens on an address such as "127.0.0.1:0" and serves in the background until Close. ctx
// bounds only the listening.
func (s *Server) Start(ctx context.Context, address string) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for the sandbox provider: %w", err)
	}
	s.setURL(listener.Addr())
	s.served.Go(func() {
		if err := s.Serve(listener); err != nil {
			s.config.Logger.ErrorContext(ctx, "sandbox provider stopped", slog.Any("error", err))
		}
	})
	return nil
}

// Serve answers calls on a listener, which it closes, until Close; then it returns nil.
func (s *Server) Serve(listener net.Listener) error {
	s.setURL(listener.Addr())
	err := s.http.Serve(limitConnections(listener, s.config.MaxConnections, s.closing))
	// The listener sees the closing first, when every connection is taken.
	if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve the sandbox provider: %w", err)
	}
	return nil
}

// URL is where clients find the server, such as "http://127.0.0.1:49152"; empty before it listens.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

func (s *Server) setURL(address net.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		s.url = "http://" + address.String()
		return
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	s.url = "http://" + net.JoinHostPort(host, port)
}

// GatewayConfig is what an adapter needs to speak to this server. The server must listen.
func (s *Server) GatewayConfig() GatewayConfig {
	return GatewayConfig{
		BaseURL:        s.URL(),
		SecretKey:      s.config.SecretKey,
		WebhookSecrets: append([]string(nil), s.config.WebhookSecrets...),
	}
}

// SetWebhookURL changes where webhooks go, also those that wait for another try. Empty means that
// events from now on are told to nobody.
func (s *Server) SetWebhookURL(target string) error {
	if target != "" {
		if err := validateURL("WebhookURL", target); err != nil {
			return err
		}
	}
	s.webhooks.setURL(target)
	return nil
}

// Close stops the server: calls that wait or hang are broken off, others get until ctx is done to
// end, undecided charges stay undecided, queued webhooks are lost. It is safe to call twice.
func (s *Server) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.closeSilent()
		err := s.http.Shutdown(ctx)
		if err != nil {
			err = errors.Join(fmt.Errorf("close the sandbox provider: %w", err), s.http.Close())
		}
		s.served.Wait()
		// The ledger first, because it announces what it decides.
		err = errors.Join(err, s.ledger.close())
		s.webhooks.close()
		s.closeErr = err
	})
	return s.closeErr
}

// trackSilence knows the connections that clients opened in advance. http.Server.Shutdown waits
// five seconds for each of them.
func (s *Server) trackSilence(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.silent, conn)
	if state != http.StateNew {
		return
	}
	select {
	case <-s.closing:
		conn.Close()
	default:
		s.silent[conn] = struct{}{}
	}
}

func (s *Server) closeSilent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.silent {
		conn.Close()
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/charges", s.createCharge)
	mux.HandleFunc("GET /v1/charges", s.findCharges)
	mux.HandleFunc("GET /v1/charges/{id}", s.readCharge)
	mux.HandleFunc("POST /v1/captures", s.capture)
	mux.HandleFunc("POST /v1/cancellations", s.cancel)
	mux.HandleFunc("GET /v1/fingerprints", s.readFingerprint)
	mux.HandleFunc("POST /v1/disputes", s.dispute)
	mux.HandleFunc("POST /v1/refunds", s.createRefund)
	mux.HandleFunc("GET /v1/refunds", s.findRefund)
	mux.HandleFunc("GET "+pathPages+"{page}", s.showPage)
	mux.HandleFunc("POST "+pathPages+"{page}", s.submitPage)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, &apiError{http.StatusNotFound, codeNoRoute, "", "there is no such address in this API"})
	})
	return s.guard(mux)
}

// guard lets authorised requests through, with their bodies read.
func (s *Server) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + s.config.SecretKey))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The deadline is not http.Server's ReadTimeout, because that goes on while the request is
		// answered and would end calls that take longer.
		controller := http.NewResponseController(w)
		if err := controller.SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
			panic(http.ErrAbortHandler)
		}
		// Sums of equal length compare in constant time, whatever was sent.
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if strings.HasPrefix(r.URL.Path, pathPages) {
			// A buyer's browser has no key; the page's address is the secret.
			got = want
		}
		if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			s.refuse(w, r, &apiError{http.StatusUnauthorized, codeUnauthorized, "Authorization", "expected: Bearer, and the provider's secret key"})
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
		if err != nil {
			s.refuse(w, r, unreadable(err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err := controller.SetReadDeadline(time.Time{}); err != nil {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

func unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &apiError{http.StatusRequestEntityTooLarge, codeTooLarge, "", fmt.Sprintf("expected a body of at most %d bytes", maxBodyBytes)}
	}
	return &apiError{http.StatusBadRequest, codeInvalid, "", "the body could not be read to its end"}
}

// limitConnections lets at most limit connections be open; further ones wait in the system's
// backlog until one closes, or closing ends the waiting.
func limitConnections(listener net.Listener, limit int, closing <-chan struct{}) net.Listener {
	return &limitedListener{Listener: listener, slots: make(chan struct{}, limit), closing: closing}
}

type limitedListener struct {
	net.Listener
	slots   chan struct{}
	closing <-chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closing:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}
