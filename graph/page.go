package graph

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/holdfast/holdfast/graph/generated"
)

// A cursor is opaque to clients: the list's name and the sort key of an item, in base64.

var errCursor = errors.New("expected a cursor of this list, as pageInfo.endCursor gives it")

func encodeCursor(list string, key ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + " " + strings.Join(key, " ")))
}

// decodeCursor gives the sort key, which has so many parts.
func decodeCursor(list, cursor string, parts int) ([]string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, errCursor
	}
	fields := strings.Split(string(raw), " ")
	if len(fields) != 1+parts || fields[0] != list {
		return nil, errCursor
	}
	return fields[1:], nil
}

// decodeTextCursor gives the sort key of a list that is ordered by a text, which is stored quoted.
func decodeTextCursor(list, cursor string) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", errCursor
	}
	quoted, found := strings.CutPrefix(string(raw), list+" ")
	text, err := strconv.Unquote(quoted)
	if !found || err != nil {
		return "", errCursor
	}
	return text, nil
}

// readCursor reads the cursor of a list that is ordered by id: what it gives is the id's text, or
// nothing at the beginning of the list.
func readCursor(d *decoder, list string, after *string) string {
	if after == nil {
		return ""
	}
	key, err := decodeCursor(list, *after, 1)
	if err != nil {
		d.refuse("after", err)
		return ""
	}
	return key[0]
}

// connect makes the parts of a connection from a page of a list.
func connect[T, V, E any](items []T, more bool, cursor func(T) string, view func(T) V, edge func(cursor string, node V) E) ([]E, []V, generated.PageInfo) {
	edges, nodes := make([]E, len(items)), make([]V, len(items))
	info := generated.PageInfo{HasNextPage: more}
	for i, item := range items {
		at := cursor(item)
		nodes[i] = view(item)
		edges[i] = edge(at, nodes[i])
		info.EndCursor = &at
	}
	return edges, nodes, info
}

// each converts a list.
func each[T, V any](items []T, view func(T) V) []V {
	views := make([]V, len(items))
	for i, item := range items {
		views[i] = view(item)
	}
	return views
}
