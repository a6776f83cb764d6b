//go:build linux || darwin

package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// playCockroach is as much of CockroachDB as a start needs: the two commands, the
// files that say where it listens, and the answer to one query. It shows how the
// engine is run and stopped; it cannot show that CockroachDB takes the flags.
func playCockroach(args []string) int {
	if slices.Equal(args, []string{"version"}) {
		fmt.Println("Build Tag:        v21.1.21\nBuild Time:       2022/09/12 14:26:49")
		return 0
	}
	flags := map[string]string{}
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		flags[name] = value
	}
	if _, broken := flags["--vmodule"]; broken {
		fmt.Fprintln(os.Stderr, "ERROR: cannot start: the store is from the future")
		return 1
	}
	err := serveCockroach(flags, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ERROR:", err)
		return 1
	}
	return 0
}

func serveCockroach(flags map[string]string, args []string) error {
	store := strings.TrimPrefix(flags["--store"], "path=")
	l, err := net.Listen("tcp4", flags["--listen-addr"]) //nolint:noctx // this process is the server; it ends by a signal
	if err != nil {
		return err
	}
	err = errors.Join(
		os.MkdirAll(store, 0o700),
		os.WriteFile(filepath.Join(store, "args"), []byte(strings.Join(args, "\n")), 0o600),
		os.WriteFile(flags["--pid-file"], fmt.Appendln(nil, os.Getpid()), 0o600),
		os.WriteFile(flags["--listening-url-file"], fmt.Appendf(nil, "postgresql://root@%s/defaultdb?sslmode=disable\n", l.Addr()), 0o600),
	)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerCockroach(conn)
		}
	}()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	return os.WriteFile(filepath.Join(store, "drained"), nil, 0o600)
}

func answerCockroach(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.BackendKeyData{SecretKey: []byte{0, 0, 0, 0}})
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if b.Flush() != nil {
			return
		}
		msg, err := b.Receive()
		if err != nil {
			return
		}
		q, ok := msg.(*pgproto3.Query)
		if !ok {
			return
		}
		if strings.HasPrefix(q.String, "SELECT version()") {
			b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("version"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
			b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("CockroachDB CCL v21.1.21 (x86_64-unknown-linux-gnu, built 2022/09/12 14:26:49, go1.15.14)")}})
		}
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("OK")})
	}
}

// cockroachMachine has the played CockroachDB as COCKROACH_BINARY.
func cockroachMachine(t *testing.T) machine {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "cockroach")
	text := fmt.Sprintf("#!/bin/sh\n%s=cockroach exec '%s' \"$@\"\n", roleVariable, self)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	m := thisMachine()
	m.getenv = func(name string) string {
		if name == CockroachBinaryVariable {
			return script
		}
		return os.Getenv(name)
	}
	return m
}

func TestCockroachPersistent(t *testing.T) {
	t.Parallel()
	m := cockroachMachine(t)
	dir := filepath.Join(t.TempDir(), "data")
	cfg := Config{DataDir: dir, CockroachFlags: []string{"--cache=1GiB"}}
	first, err := start(t.Context(), m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if first.Kind() != KindCockroachDB || first.Version() != "21.1.21" {
		t.Errorf("got %s %s", first.Kind(), first.Version())
	}
	second, err := start(t.Context(), m, Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !second.Attached() || second.URL() != first.URL() {
		t.Error("the second start has not attached to the first")
	}
	mustClose(t, second)
	if !answers(t, first) {
		t.Fatal("the second has stopped the engine of the first")
	}
	mustClose(t, first)
	store := filepath.Join(dir, "cockroach", "store")
	if _, err := os.Stat(filepath.Join(store, "drained")); err != nil {
		t.Errorf("the server was not asked to end: %v", err)
	}
	args, err := os.ReadFile(filepath.Join(store, "args"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"start-single-node", "--insecure", "--listen-addr=127.0.0.1:", "--http-addr=127.0.0.1:0", "--cache=1GiB"} {
		if !strings.Contains(string(args), want) {
			t.Errorf("started without %s:\n%s", want, args)
		}
	}

	again, err := start(t.Context(), m, Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if again.URL() != first.URL() {
		t.Errorf("the port has changed: %s, then %s", first.URL(), again.URL())
	}
	mustClose(t, again)
}

func TestCockroachThrowaway(t *testing.T) {
	t.Parallel()
	e, err := start(t.Context(), cockroachMachine(t), Config{})
	if err != nil {
		t.Fatal(err)
	}
	dir := e.removeDir
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the throw-away directory is still there: %v", err)
	}
	if answers(t, e) {
		t.Error("the server still answers")
	}
}

func TestCockroachThatDoesNotStart(t *testing.T) {
	t.Parallel()
	_, err := start(t.Context(), cockroachMachine(t), Config{CockroachFlags: []string{"--vmodule=store=1"}})
	if err == nil || !strings.Contains(err.Error(), "the store is from the future") || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v, want the end of the log", err)
	}
}
