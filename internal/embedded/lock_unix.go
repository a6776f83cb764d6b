//go:build linux || darwin

package embedded

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// unlockFile gives the lock up for everybody who has inherited it.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// lockFile locks an open file for this open file description, without waiting.
// A child that inherits the description shares the lock.
func lockFile(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("locking %s: %w", f.Name(), err)
		}
	}
}
