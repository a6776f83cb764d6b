package tenants

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// credentialCache remembers what good credentials mean, by the hash of their token. Only what was
// found good is ever put in: made-up tokens cannot fill it.
type credentialCache[T any] struct {
	entries *lru.Cache[tokenHash, remembered[T]]
}

type remembered[T any] struct {
	value T
	until time.Time
}

func newCredentialCache[T any](size int) *credentialCache[T] {
	// The only error is a size below 1, which Config.Validate refuses.
	entries, err := lru.New[tokenHash, remembered[T]](max(size, 1))
	if err != nil {
		panic(err)
	}
	return &credentialCache[T]{entries: entries}
}

func (c *credentialCache[T]) get(hash tokenHash) (T, bool) {
	entry, ok := c.entries.Get(hash)
	if !ok || !time.Now().Before(entry.until) {
		var zero T
		return zero, false
	}
	return entry.value, true
}

func (c *credentialCache[T]) put(hash tokenHash, value T, age time.Duration) {
	c.entries.Add(hash, remembered[T]{value: value, until: time.Now().Add(age)})
}

// dropWhere forgets some credentials. It looks at all of them, so it is for rare changes.
func (c *credentialCache[T]) dropWhere(matches func(T) bool) {
	for _, hash := range c.entries.Keys() {
		if entry, ok := c.entries.Peek(hash); ok && matches(entry.value) {
			c.entries.Remove(hash)
		}
	}
}
