package graph_test

import (
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// randomID is an id of the same kind and region as another, of nothing.
func randomID(like string) string {
	body := tenants.TenantID{UUID: uuid.New()}.String()
	return like[:strings.LastIndex(like, "_")+1] + body[strings.LastIndex(body, "_")+1:]
}

// otherKind is a well-formed id of another kind.
func otherKind(like string) string {
	prefix := ids.PrefixOf(like)
	return prefix + "x" + strings.TrimPrefix(like, prefix)
}
