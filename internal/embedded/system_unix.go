//go:build linux || darwin

package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// supported is the error of starting engines on this operating system.
func supported() error { return nil }

// account is a user that a server runs as when this process is root.
type account struct {
	name     string
	uid, gid uint32
	home     string
}

func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// give makes the account the owner of a file.
func (a *account) give(path string) error {
	if a == nil {
		return nil
	}
	if err := os.Chown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("giving %s to user %s: %w", path, a.name, err)
	}
	return nil
}

// serverAccount is who runs PostgreSQL, which refuses to run as root, when this
// process is root: the owner of the cluster if there is one, else the user
// postgres, else nobody.
func serverAccount(clusterDir string) (*account, error) {
	if uid, gid, ok := ownerOf(clusterDir); ok && uid != 0 {
		a := &account{name: strconv.FormatUint(uint64(uid), 10), uid: uid, gid: gid, home: "/"}
		if u, err := user.LookupId(a.name); err == nil {
			a.name = u.Username
		}
		return a, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := parseID(u.Uid)
		gid, errGID := parseID(u.Gid)
		if err := errors.Join(errUID, errGID); err != nil || uid == 0 {
			continue
		}
		return &account{name: name, uid: uid, gid: gid, home: "/"}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and this machine has neither a user postgres nor a user nobody")
}

// parseID reads a user or group id; some systems write nobody's as -2.
func parseID(text string) (uint32, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the id %q: %w", text, err)
	}
	return uint32(n), nil
}

func ownerOf(path string) (uid, gid uint32, ok bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return st.Uid, st.Gid, true
}

// isMine tells whether the user of this process owns path.
func isMine(path string) bool {
	uid, _, ok := ownerOf(path)
	return ok && int64(uid) == int64(os.Geteuid())
}

// killGroup kills a process group that a child leads.
func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// signalProcess sends a signal to a process that another one started; it is not
// an error that the process is gone.
func signalProcess(pid int, sig syscall.Signal) error {
	err := syscall.Kill(pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
