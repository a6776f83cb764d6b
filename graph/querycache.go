package graph

import (
	"context"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
)

// queryCache remembers operations by their text or hash, within bounds: so many, and none that is
// long. A long one carries its values in its text and will not come again.
type queryCache[T any] struct {
	entries *lru.Cache[string, T]
}

// maxCachedQueryBytes is the longest operation that is remembered.
const maxCachedQueryBytes = 16 << 10

func newQueryCache[T any](size int) (*queryCache[T], error) {
	entries, err := lru.New[string, T](size)
	if err != nil {
		return nil, fmt.Errorf("make a cache of operations: %w", err)
	}
	return &queryCache[T]{entries: entries}, nil
}

// Get finds an operation.
func (c *queryCache[T]) Get(_ context.Context, key string) (T, bool) { return c.entries.Get(key) }

// Add remembers an operation unless it is long: its key for the parsed ones, its value for the
// persisted ones.
func (c *queryCache[T]) Add(_ context.Context, key string, value T) {
	if text, ok := any(value).(string); ok && len(text) > maxCachedQueryBytes || len(key) > maxCachedQueryBytes {
		return
	}
	c.entries.Add(key, value)
}
