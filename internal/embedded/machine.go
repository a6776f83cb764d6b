package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// machine is what the search for an engine asks of the computer it runs on.
// Tests give it other answers.
type machine struct {
	goos   string
	goarch string
	euid   int
	// stateRoot holds the clusters of root whose data directory cannot be reached
	// by the user that PostgreSQL runs as.
	stateRoot string
	// tempDir holds throw-away directories.
	tempDir string
	getenv  func(name string) string
	// lookPath finds an executable on PATH, or confirms one given by path.
	lookPath func(name string) (string, error)
	// glob lists the paths that match a pattern.
	glob func(pattern string) []string
	// resolve follows symbolic links.
	resolve func(path string) (string, error)
	// run executes a command to its end and returns what it printed.
	run func(ctx context.Context, cmd invocation) (string, error)
	// download brings a CockroachDB executable into dir and returns its path.
	download func(ctx context.Context, dir string, say func(string, ...any)) (string, error)
}

// invocation is a command that runs to its end.
type invocation struct {
	path string
	args []string
	// env replaces the environment; nil inherits it.
	env []string
	dir string
	// account runs the command as another user; nil is the user of this process.
	account *account
}

func thisMachine() machine {
	return machine{
		goos:      runtime.GOOS,
		goarch:    runtime.GOARCH,
		euid:      os.Geteuid(),
		stateRoot: "/var/lib/holdfast",
		tempDir:   os.TempDir(),
		getenv:    os.Getenv,
		lookPath:  exec.LookPath,
		glob: func(pattern string) []string {
			// The only error is a malformed pattern, and the patterns are constants.
			found, _ := filepath.Glob(pattern)
			return found
		},
		resolve:  filepath.EvalSymlinks,
		run:      runToEnd,
		download: downloadCockroach,
	}
}

const (
	outputMax      = 1 << 20
	killedPatience = 5 * time.Second
)

// runToEnd runs a command; an error carries the end of what it printed.
func runToEnd(ctx context.Context, in invocation) (string, error) {
	cmd := exec.CommandContext(ctx, in.path, in.args...)
	cmd.Env, cmd.Dir = in.env, in.dir
	cmd.SysProcAttr = attributes(in.account, 0)
	// A grandchild may keep the pipe open after the command was killed.
	cmd.WaitDelay = killedPatience
	out := &cappedBuffer{max: outputMax}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	text := out.String()
	if err == nil {
		return text, nil
	}
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	if tail := lastLines(text, 10); tail != "" {
		return text, fmt.Errorf("running %s: %w: %s", filepath.Base(in.path), err, tail)
	}
	return text, fmt.Errorf("running %s: %w", filepath.Base(in.path), err)
}

// cappedBuffer keeps the last max bytes that were written to it.
type cappedBuffer struct {
	buf bytes.Buffer
	max int
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	n, _ := b.buf.Write(p)
	if over := b.buf.Len() - b.max; over > 0 {
		b.buf.Next(over)
	}
	return n, nil
}

func (b *cappedBuffer) String() string { return b.buf.String() }

// lastLines returns the last n lines of text that are not blank, in order.
func lastLines(text string, n int) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	if len(kept) > n {
		kept = kept[len(kept)-n:]
	}
	return strings.Join(kept, "\n")
}
