package scalar

import (
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/holdfast/holdfast/internal/fault"
)

// MarshalInt writes a GraphQL Int.
func MarshalInt(n int64) graphql.Marshaler { return MarshalInt64(n) }

// UnmarshalInt reads a GraphQL Int, which has 32 bits.
func UnmarshalInt(v any) (int64, error) {
	n, ok := whole(v)
	if !ok || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fault.Invalid("", "expected a whole number between %d and %d, got %.40v", math.MinInt32, math.MaxInt32, v)
	}
	return n, nil
}

// MarshalInt64 writes an Int64 as a JSON number.
func MarshalInt64(n int64) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = w.Write(strconv.AppendInt(nil, n, 10))
	})
}

// UnmarshalInt64 reads a whole number of up to 64 bits. Text and fractions are refused.
func UnmarshalInt64(v any) (int64, error) {
	n, ok := whole(v)
	if !ok {
		return 0, fault.Invalid("", "expected a whole number between %d and %d, got %.40v", math.MinInt64, math.MaxInt64, v)
	}
	return n, nil
}

// whole accepts what gqlgen hands over: json.Number from variables, int64 from the query's text.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return n, err == nil
	}
	return 0, false
}
