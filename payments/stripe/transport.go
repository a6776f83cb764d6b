package stripe

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// maxAnswerBytes bounds the answer to one call; a page of 100 objects takes about half of it.
	maxAnswerBytes = 2 << 20
	// maxConnections bounds the calls under way; further ones wait within their timeout.
	maxConnections = 512
)

// errTooLong says that an answer was not read to its end.
var errTooLong = errors.New("the answer is longer than is read")

// newHTTPClient makes a client out of the configured one, which it does not change.
func newHTTPClient(configured *http.Client) *http.Client {
	var client http.Client
	if configured != nil {
		client = *configured
	}
	base := client.Transport
	switch {
	case base == nil && configured != nil:
		base = http.DefaultTransport
	case base == nil:
		base = &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 64, MaxConnsPerHost: maxConnections, IdleConnTimeout: 30 * time.Second,
		}
	}
	client.Transport = transport{base: base}
	// A redirect is not an answer, and would carry the key to somebody else.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// transport bounds what is read, and keeps back what stripe-go tells of this machine.
type transport struct{ base http.RoundTripper }

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	// It carries the output of uname, and with it the host's name.
	request.Header.Del("X-Stripe-Client-User-Agent")
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{body: response.Body, left: maxAnswerBytes}
	return response, nil
}

// boundedBody fails where io.LimitReader would pretend that the answer ends.
type boundedBody struct {
	body io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }
