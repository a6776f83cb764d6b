package scalar

import (
	"encoding/json"
	"io"

	"github.com/99designs/gqlgen/graphql"

	"github.com/holdfast/holdfast/internal/fault"
)

// MarshalJSON writes a JSON value as it is.
func MarshalJSON(value json.RawMessage) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		_, _ = w.Write(value)
	})
}

// UnmarshalJSON refuses: the API takes no JSON of free form.
func UnmarshalJSON(any) (json.RawMessage, error) {
	return nil, fault.Invalid("", "expected no value: this is only answered")
}
