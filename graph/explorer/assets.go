package explorer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// assetFolder is where assets live below the page.
const assetFolder = "assets/"

// hashDigits is the number of hexadecimal digits of an asset's SHA-256 that
// its served name carries: enough to tell versions of one file apart.
const hashDigits = 16

//go:embed assets thirdparty
var embedded embed.FS

// asset is one embedded file and the name it is served under. The name
// contains a hash of the content, so that a browser may keep the file for good.
type asset struct {
	name        string
	contentType string
	body        []byte
	compressed  func() ([]byte, error)
}

func loadAsset(file string) (*asset, error) {
	body, err := embedded.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read embedded file: %w", err)
	}
	contentType, err := contentTypeOf(file)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	extension := path.Ext(file)
	return &asset{
		name:        strings.TrimSuffix(path.Base(file), extension) + "." + hex.EncodeToString(sum[:])[:hashDigits] + extension,
		contentType: contentType,
		body:        body,
		// The largest file takes tens of milliseconds, which a server whose
		// explorer nobody opens need not spend.
		compressed: sync.OnceValues(func() ([]byte, error) { return gzipped(body) }),
	}, nil
}

// path is the asset's address relative to the page.
func (a *asset) path() string {
	return assetFolder + a.name
}

func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	body := a.body
	if acceptsGzip(r) {
		compressed, err := a.compressed()
		if err == nil {
			body = compressed
			header.Set("Content-Encoding", "gzip")
		}
	}
	header.Set("Vary", "Accept-Encoding")
	header.Set("Content-Type", a.contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	// A write fails when the visitor has gone; there is nobody left to tell.
	_, _ = w.Write(body)
}

// contentTypeOf does not ask package mime, whose answers depend on the tables
// of the machine it runs on.
func contentTypeOf(file string) (string, error) {
	switch extension := path.Ext(file); extension {
	case ".js":
		return "text/javascript; charset=utf-8", nil
	case ".css":
		return "text/css; charset=utf-8", nil
	case ".svg":
		return "image/svg+xml", nil
	case ".txt":
		return "text/plain; charset=utf-8", nil
	default:
		return "", fmt.Errorf("no content type known for files that end in %q", extension)
	}
}

func gzipped(body []byte) ([]byte, error) {
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("make gzip writer: %w", err)
	}
	if _, err := writer.Write(body); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("finish compression: %w", err)
	}
	return out.Bytes(), nil
}

// acceptsGzip reads Accept-Encoding as RFC 9110, section 12.5.3, defines it,
// save that "*" is taken for a no: those who send it are not browsers.
func acceptsGzip(r *http.Request) bool {
	for _, field := range r.Header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(field, ",") {
			coding, parameter, _ := strings.Cut(item, ";")
			if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				continue
			}
			weight, given := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q=")
			if !given {
				return true
			}
			quality, err := strconv.ParseFloat(weight, 64)
			return err == nil && quality > 0
		}
	}
	return false
}
