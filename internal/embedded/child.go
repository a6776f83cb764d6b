package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// launch describes a server process.
type launch struct {
	path string
	args []string
	env  []string
	dir  string
	// account is nil for the user of this process.
	account *account
	logPath string
	// lock is handed to the server, which holds it as long as it lives.
	lock fileLock
	// orphanSignal is what the kernel sends to the server when this process ends
	// without having stopped it. Only Linux can do that.
	orphanSignal syscall.Signal
}

// child is a server process that this process started.
type child struct {
	pid     int
	process *os.Process
	logPath string
	// logStart is the size of the log before this start.
	logStart int64
	// done is closed after the process has ended; exit is set before.
	done chan struct{}
	exit error
}

// startChild starts the server in a process group of its own, so that a Ctrl-C
// in the terminal does not reach it before its clients have finished.
//
// On Linux the signal for orphans is bound to the thread that started the child,
// not to the process: a goroutine that is locked to its thread starts the child
// and stays with it until it has ended.
func startChild(ctx context.Context, l launch) (*child, error) {
	log, start, err := openLog(l.logPath)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()

	// The server outlives the context of its start.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), l.path, l.args...)
	cmd.Env, cmd.Dir = l.env, l.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{l.lock.file}
	cmd.SysProcAttr = attributes(l.account, l.orphanSignal)

	c := &child{logPath: l.logPath, logStart: start, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.pid, c.process = cmd.Process.Pid, cmd.Process
		started <- nil
		c.exit = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", l.path, err)
	}
	return c, nil
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stopStep is one attempt to end a server.
type stopStep struct {
	signal syscall.Signal
	// wait bounds the time that the attempt is given.
	wait time.Duration
}

// forcedWait is what a server is given to end after a signal that does not ask.
const forcedWait = 5 * time.Second

// stop sends each signal in turn until the process has ended, and kills its
// process group if none of them has helped. When ctx ends, the next step begins
// at once: a caller in a hurry must not leave the server behind.
func (c *child) stop(ctx context.Context, steps []stopStep) error {
	for i, step := range steps {
		if c.ended() {
			return nil
		}
		if err := c.process.Signal(step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("sending %v to process %d: %w", step.signal, c.pid, err)
		}
		timer := time.NewTimer(step.wait)
		var hurry <-chan struct{}
		if i == 0 {
			hurry = ctx.Done()
		}
		select {
		case <-c.done:
		case <-timer.C:
		case <-hurry:
		}
		timer.Stop()
	}
	if c.ended() {
		return nil
	}
	if err := killGroup(c.pid); err != nil {
		return fmt.Errorf("killing process group %d: %w", c.pid, err)
	}
	timer := time.NewTimer(forcedWait)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process %d does not end, even when killed", c.pid)
	}
}

const (
	logMax     = 8 << 20
	logTailMax = 4 << 10
	logLines   = 15
)

// openLog opens a server's log for appending; one that has grown too long is set
// aside first, over the one that was set aside before.
func openLog(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > logMax {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, fmt.Errorf("setting the old log aside: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("opening the log of the server: %w", err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		_ = f.Close()
		return nil, 0, fmt.Errorf("opening the log of the server: %w", err)
	}
	return f, size, nil
}

// logTail is the end of what the server has logged since this start.
func (c *child) logTail() string {
	f, err := os.Open(c.logPath)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	from := c.logStart
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-logTailMax)
	}
	tail, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, logTailMax), logTailMax))
	if err != nil {
		return ""
	}
	return lastLines(string(tail), logLines)
}

// awaitReady waits until the server answers at dbURL. The error of a server that
// ended, or did not answer in time, carries the end of its log.
func (c *child) awaitReady(ctx context.Context, dbURL string, timeout time.Duration) (serverInfo, error) {
	wait := newPatience(timeout)
	for {
		info, err := askServer(ctx, dbURL)
		if err == nil {
			return info, nil
		}
		var failure error
		switch {
		case c.ended():
			failure = fmt.Errorf("%w: %w", errServerEnded, exitReason(c.exit))
		case wait.unless(ctx, c.done):
			continue
		case ctx.Err() != nil:
			failure = ctx.Err()
		default:
			failure = fmt.Errorf("it does not answer after %v: %w", timeout, err)
		}
		failure = hideSecrets(failure, urlSecrets(dbURL)...)
		if tail := hideSecretsIn(c.logTail(), urlSecrets(dbURL)...); tail != "" {
			return serverInfo{}, fmt.Errorf("waiting for the server (log: %s): %w\n%s", c.logPath, failure, indent(tail))
		}
		return serverInfo{}, fmt.Errorf("waiting for the server (log: %s): %w", c.logPath, failure)
	}
}

var errServerEnded = errors.New("it ended by itself")

func exitReason(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// portTaken tells from its log that the server ended because another process
// listens on its port.
func (c *child) portTaken() bool {
	if !c.ended() {
		return false
	}
	tail := strings.ToLower(c.logTail())
	return strings.Contains(tail, "address already in use") || strings.Contains(tail, "address in use")
}

// serverEnv is the environment of a server: nothing that steers it (PGDATA,
// PGPORT, COCKROACH_URL) and none of the secrets of this process.
func serverEnv(home string, more ...string) []string {
	env := []string{"LC_ALL=C", "TZ=UTC", "HOME=" + home}
	for _, name := range []string{"PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return append(env, more...)
}

// absolute makes a path independent of the working directory.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the absolute path of %s: %w", path, err)
	}
	return abs, nil
}
