package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxNote bounds what is read of a claimed file.
const maxNote = 1024

// Claim is a file that one process at a time has for itself, with a note in it
// for those who come later. It ends with Release, or with the process.
type Claim struct{ lock fileLock }

// ClaimedError says that another process has the file.
type ClaimedError struct {
	// Path is the file.
	Path string
	// Note is what its holder left in it; empty when it has not written yet.
	Note string
}

func (e *ClaimedError) Error() string { return e.Path + " is held by another process" }

// TakeClaim takes the file at path, which it makes if needed, without waiting.
// The error is a *ClaimedError while another process has it. The caller owns the
// Claim and must release it.
func TakeClaim(path string) (*Claim, error) {
	lock, held, err := tryLock(path)
	if err != nil {
		return nil, err
	}
	if held {
		return nil, &ClaimedError{Path: path, Note: readNote(path)}
	}
	c := &Claim{lock: lock}
	// The note of an earlier holder is no longer true.
	if err := lock.file.Truncate(0); err != nil {
		c.Release()
		return nil, fmt.Errorf("emptying a lock file: %w", err)
	}
	return c, nil
}

// readNote is as much of a note as can be read: a claim is refused without it,
// too.
func readNote(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	note, _ := io.ReadAll(io.LimitReader(f, maxNote))
	return strings.TrimSpace(string(note))
}

// Note leaves one line in the file for those who find it taken.
func (c *Claim) Note(line string) error {
	if _, err := c.lock.file.WriteAt([]byte(line+"\n"), 0); err != nil {
		return fmt.Errorf("writing a lock file: %w", err)
	}
	return nil
}

// Release lets another process take the file at once. A claim is no child's: a
// process that is just being started has inherited the file until it becomes the
// program it shall run, and must not hold it for that moment.
func (c *Claim) Release() {
	// Closing releases as well, once such children are through.
	_ = unlockFile(c.lock.file)
	c.lock.release()
}

// HasData tells whether an engine has ever been started on a data directory.
func HasData(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening the data directory: %w", err)
	}
	return true, nil
}
