package inventory_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"regexp"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// wire stands between a client and the database, passes everything on and remembers the statements
// with their arguments: what the code really sends.
type wire struct {
	server string
	lock   sync.Mutex
	// last is the latest use of each statement, by the name in its first comment.
	last map[string]statement
}

// statement is one as it was sent.
type statement struct {
	sql     string
	values  [][]byte
	formats []int16
}

// newWire listens, and returns the address of the same database through it.
func newWire(t *testing.T, databaseURL string) (*wire, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	if mode := u.Query().Get("sslmode"); mode != "disable" {
		t.Skipf("the database is reached with sslmode=%q: statements that are encrypted cannot be read", mode)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{server: u.Host, last: map[string]statement{}}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { w.serve(t, client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		connections.Wait()
	})
	u.Host = listener.Addr().String()
	return w, u.String()
}

func (w *wire) serve(t *testing.T, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", w.server)
	if err != nil {
		t.Error(err)
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	if err := w.forward(client, server); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	_ = server.Close()
	back.Wait()
}

// forward passes the client's messages on. The first has no type byte.
func (w *wire) forward(client io.Reader, server io.Writer) error {
	prepared := map[string]string{}
	for header := 4; ; header = 5 {
		message := make([]byte, header)
		if _, err := io.ReadFull(client, message); err != nil {
			return err
		}
		message = append(message, make([]byte, binary.BigEndian.Uint32(message[header-4:])-4)...)
		if _, err := io.ReadFull(client, message[header:]); err != nil {
			return err
		}
		if header == 5 {
			if err := w.remember(message[0], message[header:], prepared); err != nil {
				return err
			}
		}
		if _, err := server.Write(message); err != nil {
			return err
		}
	}
}

var statementName = regexp.MustCompile(`^-- name: (\w+) `)

func (w *wire) remember(kind byte, body []byte, prepared map[string]string) error {
	switch kind {
	case 'P':
		var parse pgproto3.Parse
		if err := parse.Decode(body); err != nil {
			return err
		}
		prepared[parse.Name] = parse.Query
	case 'B':
		var bind pgproto3.Bind
		if err := bind.Decode(body); err != nil {
			return err
		}
		sql := prepared[bind.PreparedStatement]
		if name := statementName.FindStringSubmatch(sql); name != nil {
			s := statement{sql: sql, formats: append([]int16{}, bind.ParameterFormatCodes...)}
			for _, value := range bind.Parameters {
				if value != nil {
					value = append([]byte{}, value...)
				}
				s.values = append(s.values, value)
			}
			w.lock.Lock()
			w.last[name[1]] = s
			w.lock.Unlock()
		}
	}
	return nil
}

// forget begins to remember anew.
func (w *wire) forget() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.last = map[string]statement{}
}
