package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/cockroachdb/cockroach-go/v2/testserver"
)

// cockroachRelease is the version that is downloaded: the oldest one that is
// supported in production. A fixed version needs no question to a release list,
// and is found in the cache without a network.
const cockroachRelease = "v25.4.0"

const (
	reachTimeout = 10 * time.Second
	// stallTimeout ends a download that has stopped growing.
	stallTimeout  = 45 * time.Second
	reportedBytes = 32 << 20
)

// downloadCockroach brings the executable of cockroachRelease into dir, through
// cockroach-go's testserver package, and returns its path. One that is already
// there is returned at once.
//
// The library's download cannot be cancelled. It is therefore started only after
// the server has answered, watched by the growth of its file, and left behind
// when ctx ends: the next download notices the partial file and starts again.
func downloadCockroach(ctx context.Context, dir string, say func(string, ...any)) (string, error) {
	name, err := testserver.GetDownloadFilename(cockroachRelease)
	if err != nil {
		return "", fmt.Errorf("naming the download: %w", err)
	}
	path := filepath.Join(dir, name)
	if isFinished(path) {
		return path, nil
	}
	if !hasCockroachRelease(runtime.GOOS, runtime.GOARCH) {
		return "", fmt.Errorf("there is no release for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	url, _, err := testserver.GetDownloadURL(cockroachRelease, false)
	if err != nil {
		return "", fmt.Errorf("finding the download: %w", err)
	}
	if err := checkReachable(ctx, url); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache for downloads: %w", err)
	}
	// The library lets a second process spin, and log, while a first one
	// downloads; here it waits for the lock instead.
	lock, err := waitForLock(ctx, filepath.Join(dir, "download.lock"), func() {
		say("Waiting for another process that is downloading CockroachDB.")
	})
	if err != nil {
		return "", fmt.Errorf("waiting for another download: %w", err)
	}
	defer lock.release()
	if isFinished(path) {
		return path, nil
	}

	say("Downloading CockroachDB %s to %s (about 150 MB; it has a licence of its own) ...", cockroachRelease, dir)
	done := make(chan error, 1)
	go func() {
		_, err := testserver.DownloadBinaryWithPlatform(&testserver.TestConfig{}, cockroachRelease, false, runtime.GOOS, runtime.GOARCH, dir)
		done <- err
	}()
	if err := watchDownload(ctx, path, done, say); err != nil {
		return "", err
	}
	say("Downloaded CockroachDB %s.", cockroachRelease)
	return path, nil
}

func hasCockroachRelease(goos, goarch string) bool {
	return (goos == "linux" || goos == "darwin") && (goarch == "amd64" || goarch == "arm64")
}

// isFinished tells a complete download: the library makes the file executable as
// its last step.
func isFinished(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o100 != 0
}

func checkReachable(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return fmt.Errorf("asking for the download: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the download server cannot be reached: %w", err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the download server answered %s", res.Status)
	}
	return nil
}

var errDownloadStalled = errors.New("the download has stalled")

func watchDownload(ctx context.Context, path string, done <-chan error, say func(string, ...any)) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var size, reported int64
	grown := time.Now()
	for {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("downloading: %w", err)
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("downloading: %w", ctx.Err())
		case <-tick.C:
			if info, err := os.Stat(path); err == nil && info.Size() > size {
				size, grown = info.Size(), time.Now()
			}
			if time.Since(grown) > stallTimeout {
				return errDownloadStalled
			}
			if size-reported >= reportedBytes {
				reported = size
				say("... %d MB unpacked", size>>20)
			}
		}
	}
}
