package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
)

// statementWire stands between a server process and its database and counts the statements that pass,
// each BEGIN and COMMIT too. It speaks PostgreSQL's protocol without encryption, as an engine on the
// same machine does.
type statementWire struct {
	listener    net.Listener
	target      string
	statements  atomic.Int64
	connections sync.WaitGroup
	url         string
}

// startStatementWire listens for connections to the database of a URL.
func startStatementWire(ctx context.Context, databaseURL string) (*statementWire, error) {
	u, err := url.Parse(databaseURL)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("statements are counted between a server and a database with a host in its URL")
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("count statements: %w", err)
	}
	w := &statementWire{listener: listener, target: net.JoinHostPort(u.Hostname(), port)}
	u.Host = listener.Addr().String()
	query := u.Query()
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	w.url = u.String()
	w.connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			w.connections.Go(func() { w.pass(ctx, client) })
		}
	})
	return w, nil
}

// close ends the wire when the server that used it has ended.
func (w *statementWire) close() {
	_ = w.listener.Close()
	w.connections.Wait()
}

func (w *statementWire) pass(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.target)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		// Either side may end the connection; the other is told by its end.
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	_ = w.forward(client, server)
	_ = server.Close()
	back.Wait()
}

// forward passes the client's messages on and counts those that execute something. The first message
// has no type.
func (w *statementWire) forward(client io.Reader, server io.Writer) error {
	for header := 4; ; header = 5 {
		message := make([]byte, header)
		if _, err := io.ReadFull(client, message); err != nil {
			return err
		}
		if header == 5 && (message[0] == 'Q' || message[0] == 'E') {
			w.statements.Add(1)
		}
		if _, err := server.Write(message); err != nil {
			return err
		}
		if _, err := io.CopyN(server, client, int64(binary.BigEndian.Uint32(message[header-4:]))-4); err != nil {
			return err
		}
	}
}
