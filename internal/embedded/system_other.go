//go:build !linux && !darwin

package embedded

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

var errUnsupported = fmt.Errorf("Holdfast starts no database engine on %s: set %s to the URL of a running PostgreSQL or CockroachDB",
	runtime.GOOS, DefaultURLSource)

// supported is the error of starting engines on this operating system.
func supported() error { return errUnsupported }

// account is a user that a server runs as; there is none on this system.
type account struct {
	name string
	home string
}

func (a *account) give(string) error { return nil }

func serverAccount(string) (*account, error) { return nil, errUnsupported }

func isMine(string) bool { return false }

func attributes(*account, syscall.Signal) *syscall.SysProcAttr { return nil }

func killGroup(int) error { return errors.ErrUnsupported }

func signalProcess(int, syscall.Signal) error { return errors.ErrUnsupported }

func lockFile(*os.File) (bool, error) { return false, errUnsupported }

func unlockFile(*os.File) error { return errUnsupported }
