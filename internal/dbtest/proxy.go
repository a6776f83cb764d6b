package dbtest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// CommitFault is what a Proxy does to one COMMIT.
type CommitFault int

// The faults of a COMMIT. On CockroachDB the RELEASE of the transaction's savepoint is the COMMIT.
const (
	// CommitAnswerLost lets the server commit and cuts the connection before its answer.
	CommitAnswerLost CommitFault = iota + 1
	// CommitNeverSent cuts the connection instead of passing COMMIT on.
	CommitNeverSent
	// CommitAnswerUnknown lets the server commit and answers 40003: completion unknown.
	CommitAnswerUnknown
	// CommitConflict rolls back and answers 40001: serialization failure.
	CommitConflict
)

// Proxy stands between a client and the engine and spoils what a test tells it to. The client must
// not use TLS.
type Proxy struct {
	listener net.Listener
	backend  string
	url      string

	mu      sync.Mutex
	faults  []CommitFault
	commits int
	stopped bool
	open    map[net.Conn]struct{}
	pumps   sync.WaitGroup
}

// NewProxy listens until the test ends, in front of the server of a database URL.
func NewProxy(t testing.TB, databaseURL string) *Proxy {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal("the database URL cannot be parsed")
	}
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p := &Proxy{listener: listener, backend: u.Host, open: map[net.Conn]struct{}{}}
	u.Host = listener.Addr().String()
	p.url = u.String()
	p.pumps.Go(p.serve)
	t.Cleanup(func() {
		p.Stop()
		p.pumps.Wait()
	})
	return p
}

// URL is the database's, by way of the proxy.
func (p *Proxy) URL() string { return p.url }

// SpoilCommits applies one fault to each of the next commits, in the order given.
func (p *Proxy) SpoilCommits(faults ...CommitFault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, faults...)
}

// Commits counts the commits that clients have sent.
func (p *Proxy) Commits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commits
}

// Cut ends every connection; new ones are welcome.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close()
	}
}

// Stop ends every connection and refuses new ones, as a server that is gone does.
func (p *Proxy) Stop() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.Cut()
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.pumps.Go(func() { p.handle(client) })
	}
}

func (p *Proxy) handle(client net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", p.backend)
	if err != nil {
		_ = client.Close()
		return
	}
	defer p.forget(client, server)
	if !p.track(client, server) {
		return
	}
	s := &proxySession{proxy: p, client: client, server: server}
	var fromServer sync.WaitGroup
	fromServer.Go(s.pumpAnswers)
	s.pumpRequests()
	fromServer.Wait()
}

// track is false for a connection that came in while the proxy was being stopped.
func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		p.open[conn] = struct{}{}
	}
	return !p.stopped
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.open, conn)
		_ = conn.Close()
	}
}

// nextFault counts a commit and is what to do to it, 0 for nothing.
func (p *Proxy) nextFault() CommitFault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits++
	if len(p.faults) == 0 {
		return 0
	}
	fault := p.faults[0]
	p.faults = p.faults[1:]
	return fault
}

// proxySession is one client's connection.
type proxySession struct {
	proxy  *Proxy
	client net.Conn
	server net.Conn

	mu sync.Mutex
	// spoiling is the fault of the COMMIT whose answer is awaited.
	spoiling CommitFault
}

func (s *proxySession) close() {
	_ = s.client.Close()
	_ = s.server.Close()
}

func (s *proxySession) spoil(fault CommitFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoiling = fault
}

func (s *proxySession) spoiled() CommitFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spoiling
}

// pumpRequests passes messages of the client on and looks for COMMIT.
func (s *proxySession) pumpRequests() {
	defer s.close()
	// The first message has a length but no type.
	if err := passUntyped(s.server, s.client); err != nil {
		return
	}
	for {
		kind, body, err := readMessage(s.client)
		if err != nil {
			return
		}
		if rollback, isCommit := commitOf(kind, body); isCommit {
			fault := s.proxy.nextFault()
			switch fault {
			case CommitNeverSent:
				return
			case CommitConflict:
				body = append([]byte(rollback), 0)
			case CommitAnswerLost, CommitAnswerUnknown:
			}
			s.spoil(fault)
		}
		if err := writeMessage(s.server, kind, body); err != nil {
			return
		}
	}
}

// pumpAnswers passes messages of the server on, and replaces the answer to a spoiled COMMIT.
func (s *proxySession) pumpAnswers() {
	defer s.close()
	for {
		kind, body, err := readMessage(s.server)
		if err != nil {
			return
		}
		fault := s.spoiled()
		if fault == 0 {
			if err := writeMessage(s.client, kind, body); err != nil {
				return
			}
			continue
		}
		const readyForQuery = 'Z'
		if kind != readyForQuery {
			continue
		}
		if fault == CommitAnswerLost {
			return
		}
		s.spoil(0)
		if _, err := s.client.Write(spoiledAnswer(fault, body[0])); err != nil {
			return
		}
	}
}

func spoiledAnswer(fault CommitFault, txStatus byte) []byte {
	code := "40003"
	if fault == CommitConflict {
		code = "40001"
	}
	response := pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code, Message: "spoiled by a test"}
	answer, err := response.Encode(nil)
	if err != nil {
		return nil
	}
	answer, err = (&pgproto3.ReadyForQuery{TxStatus: txStatus}).Encode(answer)
	if err != nil {
		return nil
	}
	return answer
}

// commitOf tells whether a message commits, and which statement would roll back instead.
func commitOf(kind byte, body []byte) (rollback string, ok bool) {
	const query = 'Q'
	if kind != query {
		return "", false
	}
	switch strings.ToUpper(strings.TrimRight(string(body), "\x00; ")) {
	case "COMMIT":
		return "ROLLBACK", true
	case "RELEASE SAVEPOINT COCKROACH_RESTART":
		return "ROLLBACK TO SAVEPOINT cockroach_restart", true
	}
	return "", false
}

// maxProxyMessage is the longest message that a Proxy passes on, in bytes.
const maxProxyMessage = 64 << 20

func readMessage(from io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length < 4 || length > maxProxyMessage {
		return 0, nil, errors.New("a message of impossible length")
	}
	body = make([]byte, length-4)
	_, err = io.ReadFull(from, body)
	return head[0], body, err
}

func writeMessage(to io.Writer, kind byte, body []byte) error {
	message := make([]byte, 5, 5+len(body))
	message[0] = kind
	binary.BigEndian.PutUint32(message[1:], uint32(len(body)+4)) //nolint:gosec // readMessage bounds it
	_, err := to.Write(append(message, body...))
	return err
}

func passUntyped(to io.Writer, from io.Reader) error {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 4 || length > maxProxyMessage {
		return errors.New("a message of impossible length")
	}
	if _, err := to.Write(head[:]); err != nil {
		return err
	}
	_, err := io.CopyN(to, from, int64(length-4))
	return err
}
