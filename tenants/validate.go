package tenants

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast/holdfast/internal/fault"
)

// text accepts what people write in one line, without the spaces around it. Lengths are counted in
// characters, as the schema does.
func text(field, value string, maxLength int) (string, error) {
	value = strings.TrimSpace(value)
	if n := utf8.RuneCountInString(value); n < 1 || n > maxLength {
		return "", fault.Invalid(field, "expected 1 to %d characters", maxLength)
	}
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return "", fault.Invalid(field, "expected one line of text without control characters")
	}
	return value, nil
}

// word accepts what stands in addresses and settings.
func word(field, value string) (string, error) {
	allowed := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' }
	if len(value) < minSlugLength || len(value) > maxSlugLength ||
		strings.ContainsFunc(value, func(r rune) bool { return !allowed(r) }) {
		return "", fault.Invalid(field, "expected %d to %d lower-case letters, digits or hyphens, such as \"grand-hotel\"", minSlugLength, maxSlugLength)
	}
	return value, nil
}
