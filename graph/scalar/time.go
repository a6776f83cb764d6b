package scalar

import (
	"strconv"
	"time"

	"cloud.google.com/go/civil"
	"github.com/99designs/gqlgen/graphql"

	"github.com/holdfast/holdfast/internal/fault"
)

// MarshalDateTime writes an instant in UTC, as RFC 3339 with as many digits as it has.
func MarshalDateTime(t time.Time) graphql.Marshaler {
	return graphql.MarshalString(t.UTC().Format(time.RFC3339Nano))
}

// UnmarshalDateTime reads an RFC 3339 instant.
func UnmarshalDateTime(v any) (time.Time, error) {
	text, ok := v.(string)
	if ok {
		if t, err := time.Parse(time.RFC3339, text); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fault.Invalid("", "expected an RFC 3339 time such as 2027-03-14T19:30:00Z, got %s", shown(v))
}

// MarshalDate writes a date as YYYY-MM-DD.
func MarshalDate(d civil.Date) graphql.Marshaler { return graphql.MarshalString(d.String()) }

// UnmarshalDate reads YYYY-MM-DD, and only dates that exist.
func UnmarshalDate(v any) (civil.Date, error) {
	text, ok := v.(string)
	if ok && len(text) == len("2027-03-14") {
		if d, err := civil.ParseDate(text); err == nil && d.IsValid() && d.Year >= 1 {
			return d, nil
		}
	}
	return civil.Date{}, fault.Invalid("", "expected a date such as 2027-03-14, got %s", shown(v))
}

// shown quotes what was sent, as far as it helps to find the mistake.
func shown(v any) string {
	text, ok := v.(string)
	if !ok {
		return "something else"
	}
	const enough = 40
	if len(text) > enough {
		text = text[:enough]
	}
	return strconv.Quote(text)
}
