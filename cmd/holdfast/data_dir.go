package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/holdfast/holdfast/internal/embedded"
)

// engineFolder is where in the data directory an engine keeps its data.
const engineFolder = "engine"

// requireData is an error for a data directory that has no database yet: a command that reads one
// must not make an empty one and then say that nothing is wrong with it.
func requireData(dataDir string) error {
	has, err := embedded.HasData(filepath.Join(dataDir, engineFolder))
	if err != nil {
		return dataDirProblem(dataDir, err)
	}
	if !has {
		return fmt.Errorf("there is no database in %s: name one with --data-dir or HOLDFAST_DATABASE_URL", absolute(dataDir))
	}
	return nil
}

// dataDirProblem explains an error about a file in the data directory that belongs to another user.
func dataDirProblem(dataDir string, err error) error {
	var file *fs.PathError
	const separator = string(filepath.Separator)
	if !errors.As(err, &file) || !errors.Is(file, fs.ErrPermission) || !strings.HasPrefix(absolute(file.Path)+separator, absolute(dataDir)+separator) {
		return err
	}
	return fmt.Errorf("this user may not use the data directory %s: name another with --data-dir, or work as the user who made it (%w)", absolute(dataDir), err)
}

// absolute is a path for people, who may not know in which folder the command runs.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// devLock is held by the one `holdfast dev` that runs on a data directory; its content is the
// address at which that one serves.
const devLock = "dev.lock"

// claimDataDir takes the data directory for one `holdfast dev`: the sandbox's journal and the keys
// in it would suffer from two.
func claimDataDir(dataDir string) (*embedded.Claim, error) {
	claim, err := embedded.TakeClaim(filepath.Join(dataDir, devLock))
	var claimed *embedded.ClaimedError
	if errors.As(err, &claimed) {
		where := ""
		if claimed.Note != "" {
			where = " and serves " + claimed.Note
		}
		return nil, fmt.Errorf("another `holdfast dev` runs on the data directory %s%s: stop it, or choose another --data-dir and HOLDFAST_LISTEN", absolute(dataDir), where)
	}
	if err != nil {
		return nil, dataDirProblem(dataDir, err)
	}
	return claim, nil
}
