package charts

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a chart and of the plans it is read from. They are far above any hall that exists, and low enough that a
// hostile file costs a bounded amount of memory.
const (
	// MaxPlanBytes is the largest plan file that is read: 64 MiB.
	MaxPlanBytes = 64 << 20
	// MaxSeats is the most seats that one chart may have. The largest stadium has about 132,000 places, sold as several charts.
	MaxSeats = 100_000
	// MaxZones is the most zones that one chart may have.
	MaxZones = 2_000
	// MaxRows is the most rows that one chart may have, over all zones.
	MaxRows = 50_000
	// MaxCategories is the most categories that one chart may have.
	MaxCategories = 200
	// MaxAreas is the most areas that one chart may have, over all zones.
	MaxAreas = 5_000
	// MaxPoints is the most polygon corners that one chart may have, over all areas.
	MaxPoints = 50_000
	// MaxTextLength is the longest name, number, ref or text, in characters.
	MaxTextLength = 200
	// MaxCoordinate is the largest distance from the origin, in plan units (pixels), in either direction.
	MaxCoordinate = 1_000_000
	// MaxProblems is how many problems of one plan are reported at once.
	MaxProblems = 20
)

const maxColorLength = 50

// checkText says what is wrong with a name, number or ref, or "" when nothing is.
func checkText(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "must not be empty"
	default:
		return checkOptionalText(text)
	}
}

// checkOptionalText is checkText for texts that may be empty.
func checkOptionalText(text string) string {
	if utf8.RuneCountInString(text) > MaxTextLength {
		return fmt.Sprintf("must not be longer than %d characters, has %d", MaxTextLength, utf8.RuneCountInString(text))
	}
	if strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
		return "must not contain control characters or invalid UTF-8"
	}
	return ""
}

// checkColor accepts every way in which CSS writes a colour, and nothing that could break out of an attribute.
func checkColor(color string) string {
	harmless := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("#(),.% -/", r)
	}
	for _, r := range color {
		if !harmless(r) {
			return fmt.Sprintf("must be a CSS colour such as #2196F3, is %q", shorten(color))
		}
	}
	if len(color) > maxColorLength {
		return fmt.Sprintf("must be a CSS colour such as #2196F3, is %q", shorten(color))
	}
	return ""
}

// checkCoordinate says what is wrong with a coordinate or an angle.
func checkCoordinate(value float64) string {
	if math.IsNaN(value) || math.Abs(value) > MaxCoordinate {
		return fmt.Sprintf("must lie between -%d and %d, is %g", MaxCoordinate, MaxCoordinate, value)
	}
	return ""
}

// checkExtent says what is wrong with a length of an area: editors let people draw empty ones.
func checkExtent(value float64) string {
	if !(value >= 0 && value <= MaxCoordinate) {
		return fmt.Sprintf("must lie between 0 and %d, is %g", MaxCoordinate, value)
	}
	return ""
}

// checkLength says what is wrong with a length that cannot be zero.
func checkLength(value float64) string {
	if !(value > 0 && value <= MaxCoordinate) {
		return fmt.Sprintf("must be above 0 and at most %d, is %g", MaxCoordinate, value)
	}
	return ""
}

// shorten keeps a message readable when the offending text is long.
func shorten(text string) string {
	const enough = 60
	runes := []rune(text)
	if len(runes) <= enough {
		return text
	}
	return string(runes[:enough]) + "…"
}
