package graph_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// wire stands between a pool and its engine. It counts the statements that pass, as the engine
// itself sees them, and can be cut.
type wire struct {
	t          *testing.T
	statements atomic.Int64
	listener   net.Listener
	// network and address are the engine's.
	network, address string
	running          sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func newWire(t *testing.T) *wire {
	t.Helper()
	engine, err := url.Parse(dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, network: "tcp", address: engine.Host, conns: map[net.Conn]struct{}{}}
	if host := engine.Query().Get("host"); strings.HasPrefix(host, "/") {
		port := engine.Query().Get("port")
		if port == "" {
			port = "5432"
		}
		w.network, w.address = "unix", host+"/.s.PGSQL."+port
	}
	if w.listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.running.Go(func() {
		for {
			client, err := w.listener.Accept()
			if err != nil {
				return
			}
			w.running.Go(func() { w.carry(client) })
		}
	})
	t.Cleanup(w.cut)
	return w
}

// open gives a database that is reached through the wire.
func (w *wire) open() *db.DB {
	w.t.Helper()
	engine, err := url.Parse(dbtest.URL(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	query := engine.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	engine.Host, engine.RawQuery = w.listener.Addr().String(), query.Encode()
	d, err := db.Open(w.t.Context(), db.Config{URL: engine.String(), MaxConnections: 4})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(d.Close)
	return d
}

// cut is what a database that went down looks like from here.
func (w *wire) cut() {
	_ = w.listener.Close()
	w.mu.Lock()
	for conn := range w.conns {
		_ = conn.Close()
	}
	w.mu.Unlock()
	w.running.Wait()
}

// carry passes the bytes of one connection on, and looks at what the client sends.
func (w *wire) carry(client net.Conn) {
	w.mu.Lock()
	w.conns[client] = struct{}{}
	w.mu.Unlock()
	defer func() { _ = client.Close() }()
	dialer := net.Dialer{Timeout: 10 * time.Second}
	server, err := dialer.DialContext(w.t.Context(), w.network, w.address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	defer back.Wait()
	defer func() { _ = server.Close() }()
	// The first message has no type; all others are a type, a length that counts itself, and a body.
	head := make([]byte, 5)
	for first := true; ; first = false {
		part := head
		if first {
			part = head[1:]
		}
		if _, err := io.ReadFull(client, part); err != nil {
			return
		}
		length := int64(binary.BigEndian.Uint32(head[1:])) - 4
		if !first && (head[0] == 'E' || head[0] == 'Q') {
			w.statements.Add(1)
		}
		if _, err := server.Write(part); err != nil {
			return
		}
		if _, err := io.CopyN(server, client, length); err != nil && !errors.Is(err, io.EOF) {
			return
		}
	}
}
