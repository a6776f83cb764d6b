package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// openBenchStore opens an empty, migrated database for the benchmark.
func openBenchStore(ctx context.Context, config benchConfig) (*store, func() error, error) {
	if !config.Durable || config.DatabaseURL != "" {
		return openThrowaway(ctx, config.DatabaseURL, "holdfast_bench", config.Progress)
	}
	// An engine with a data directory has the settings that `holdfast dev` has.
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the engine: %w", err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	s, err := openStore(ctx, "", dir, config.Progress, discard())
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	drop := func() error { return errors.Join(s.close(ctx), remove()) }
	if err := s.migrate(ctx, discard()); err != nil {
		return nil, nil, errors.Join(err, drop())
	}
	return s, drop, nil
}

// durability is what the report says of it.
func (c benchConfig) durability() string {
	switch {
	case c.DatabaseURL != "":
		return "server"
	case c.Durable:
		return "on"
	}
	return "off"
}

// benchMemory is the resident memory of the server process: when it was ready, at its peak and at
// the end of all cells. Zero where the system does not tell (it does on Linux).
type benchMemory struct {
	StartBytes int64 `json:"startBytes"`
	PeakBytes  int64 `json:"peakBytes"`
	EndBytes   int64 `json:"endBytes"`
}

// benchServer is `holdfast serve` in a process of its own, so that its memory is its alone.
type benchServer struct {
	url     string
	command *exec.Cmd
	cancel  context.CancelFunc
	// said is what the process wrote last.
	said *lastLines
}

// Limits of the server process.
const (
	serverStartTimeout = 30 * time.Second
	serverStopTimeout  = 30 * time.Second
	serverLinesKept    = 20
)

// servingLine is how `holdfast serve` logs where it serves, and `holdfast work` that it works.
var servingLine = regexp.MustCompile(`msg=(?:serving .*\burl=(\S+)|working )`)

// startBenchServer starts a server on a free port and waits until it serves. environment is beside
// the database's address.
func startBenchServer(ctx context.Context, serve []string, databaseURL string, environment ...string) (*benchServer, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	command := exec.CommandContext(running, serve[0], serve[1:]...) //nolint:gosec // it is this program
	command.Env = append(withoutOwnVariables(os.Environ()), "HOLDFAST_DATABASE_URL="+databaseURL, "HOLDFAST_LISTEN=127.0.0.1:0",
		// All its clients are at one address, and it is measured at what it can, not at what it lets them.
		"HOLDFAST_RATE_LIMITS=false")
	command.Env = append(command.Env, environment...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = serverStopTimeout
	stderr, err := command.StderrPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start a server process: %w", err)
	}
	if err := command.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start a server process: %w", err)
	}
	s := &benchServer{command: command, cancel: cancel, said: &lastLines{}}
	addresses := make(chan string, 1)
	go s.listen(stderr, addresses)
	timer := time.NewTimer(serverStartTimeout)
	defer timer.Stop()
	var ok bool
	select {
	case s.url, ok = <-addresses:
		if ok {
			return s, nil
		}
		err = errors.New("the server process ended before it served")
	case <-timer.C:
		err = fmt.Errorf("the server process did not serve within %s", serverStartTimeout)
	case <-ctx.Done():
		err = ctx.Err()
	}
	// What it said explains more than how it was stopped.
	_ = s.stop()
	return nil, fmt.Errorf("%w; it said: %s", err, s.said)
}

// listen reads what the process logs, tells where it serves, and closes addresses when the process
// has no more to say.
func (s *benchServer) listen(stderr io.Reader, addresses chan<- string) {
	defer close(addresses)
	found := false
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		s.said.add(lines.Text())
		if match := servingLine.FindStringSubmatch(lines.Text()); match != nil && !found {
			found = true
			addresses <- match[1]
		}
	}
	// A line that is too long for the scanner must not block the process that writes it.
	_, _ = io.Copy(io.Discard, stderr)
}

// stop lets the server finish what is under way and waits for its end. The error is a bad end.
func (s *benchServer) stop() error {
	s.cancel()
	err := s.command.Wait()
	if errors.Is(err, context.Canceled) {
		// It was told to end and did.
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop the server process: %w; it said: %s", err, s.said)
	}
	return nil
}

// serverMemory is the process's resident memory in bytes.
type serverMemory struct{ now, peak int64 }

// memory reads what Linux says of the process; elsewhere it is zero.
func (s *benchServer) memory() serverMemory {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(s.command.Process.Pid) + "/status")
	if err != nil {
		return serverMemory{}
	}
	var m serverMemory
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			m.now = kilobytes << 10
		case "VmHWM":
			m.peak = kilobytes << 10
		}
	}
	return m
}

// withoutOwnVariables leaves out the settings of the surrounding shell, so that a benchmark measures
// the same everywhere.
func withoutOwnVariables(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		if !strings.HasPrefix(variable, "HOLDFAST_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// lastLines keeps the last lines of a log. The zero value is ready.
type lastLines struct {
	lock  sync.Mutex
	lines []string
}

func (l *lastLines) add(line string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.lines = append(l.lines, line)
	if len(l.lines) > serverLinesKept {
		l.lines = l.lines[1:]
	}
}

func (l *lastLines) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return strings.Join(l.lines, "\n")
}
