package webhooks

import (
	"errors"
	"time"
)

// Limits of what is sent and read.
const (
	// maxURLLength is in bytes; the schema has the same in characters.
	maxURLLength = 2000
	// maxAnswerBytes is what is read of an answer.
	maxAnswerBytes = 4 << 10
	// maxAnswerHeaderBytes bounds its header.
	maxAnswerHeaderBytes = 16 << 10
	// maxTimeout keeps a try shorter than the job that makes it.
	maxTimeout = 15 * time.Second
	// maxIdle bounds the connections that are kept, in all and to one receiver.
	maxIdle        = 256
	maxIdlePerHost = 2
	idleTimeout    = 30 * time.Second
)

// Config adjusts a Sender. The zero value is for production.
type Config struct {
	// AllowHTTP lets endpoints have http URLs, for development and tests. Default: https only.
	AllowHTTP bool
	// AllowPrivate lets endpoints be at addresses that are not on the public internet, such as
	// 127.0.0.1, for development and tests. Default: they are refused when the connection is made, after
	// the name was resolved.
	AllowPrivate bool
	// Timeout bounds one try, from looking up the name to the end of the answer. Default 10 seconds, at
	// most 15.
	Timeout time.Duration
	// UserAgent is how the sender names itself. Default "Holdfast-Webhooks/1".
	UserAgent string
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.UserAgent == "" {
		c.UserAgent = "Holdfast-Webhooks/1"
	}
	return c
}

// Validate names the setting that is out of bounds.
func (c Config) Validate() error {
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		return errors.New("webhooks: Timeout: expected at most 15 seconds")
	}
	return nil
}
