package embedded

import (
	"context"
	"fmt"
	"os"
	"time"
)

// fileLock is an exclusive lock on a file. It is released when every process
// that has inherited it has closed it or has ended, so no lock outlives a crash.
type fileLock struct{ file *os.File }

// tryLock takes the lock on path if nobody holds it; held tells that somebody
// does, and then the lock is not usable.
func tryLock(path string) (lock fileLock, held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fileLock{}, false, fmt.Errorf("opening a lock file: %w", err)
	}
	got, err := lockFile(f)
	if err != nil || !got {
		_ = f.Close()
		return fileLock{}, err == nil, err
	}
	return fileLock{file: f}, false, nil
}

// lockPatience bounds a wait for a lock. Its holder may be fetching an engine.
const lockPatience = defaultFetchTimeout + 2*time.Minute

// waitForLock takes the lock on path, however long its holder needs within
// lockPatience. It calls waiting once if the lock is not free at once.
func waitForLock(ctx context.Context, path string, waiting func()) (fileLock, error) {
	wait := newPatience(lockPatience)
	told := newPatience(500 * time.Millisecond)
	for {
		lock, held, err := tryLock(path)
		if err != nil {
			return fileLock{}, err
		}
		if !held {
			return lock, nil
		}
		if waiting != nil && !time.Now().Before(told.until) {
			waiting()
			waiting = nil
		}
		if !wait.again(ctx) {
			if err := ctx.Err(); err != nil {
				return fileLock{}, fmt.Errorf("waiting for %s: %w", path, err)
			}
			return fileLock{}, fmt.Errorf("%s is still held by another process after %v", path, lockPatience)
		}
	}
}

// release gives up this process's share of the lock. It closes the file instead
// of unlocking it: unlocking would also end the share of a child.
func (l fileLock) release() {
	if l.file != nil {
		_ = l.file.Close()
	}
}
