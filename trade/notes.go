package trade

import (
	"fmt"
	"strings"
)

// noteType is a value of OpenTravel's list EWT, of types of errors and warnings.
type noteType int

// The types that answers use.
const (
	typeNoImplementation noteType = 2
	typeBusinessRule     noteType = 3
	typeAuthorization    noteType = 6
	typeProtocol         noteType = 7
	typeRequired         noteType = 10
	typeAdvisory         noteType = 11
	typeProcessing       noteType = 12
)

// noteCode is a value of OpenTravel's list ERR, of codes of errors.
type noteCode int

// The codes that answers use.
const (
	codeInvalidDate     noteCode = 15
	codeInvalidCurrency noteCode = 61
	codeUnavailable     noteCode = 187
	codeInvalidRate     noteCode = 249
	codeInvalidValue    noteCode = 320
	codeMissing         noteCode = 321
	codeInvalidHotel    noteCode = 392
	codeInvalidRoom     noteCode = 402
	codeInvalidRange    noteCode = 404
	codeSystemError     noteCode = 448
	codeUnableToProcess noteCode = 450
	codeInvalidRequest  noteCode = 459
	codeAuthorization   noteCode = 497
)

// note is an error or a warning of an answer.
type note struct {
	kind noteType
	code noteCode
	// at is the path of the element that it is about.
	at   string
	text string
}

// notes are those of one message.
type notes struct {
	errors   []note
	warnings []note
	// lost is how many warnings are more than an answer tells.
	lost int
}

func (n *notes) fail(kind noteType, code noteCode, at, format string, args ...any) {
	if len(n.errors) < maxErrors {
		n.errors = append(n.errors, note{kind, code, at, fmt.Sprintf(format, args...)})
	}
}

func (n *notes) warn(at, format string, args ...any) {
	added := note{typeAdvisory, 0, at, fmt.Sprintf(format, args...)}
	if len(n.warnings) >= maxWarnings {
		n.lost++
		return
	}
	n.warnings = append(n.warnings, added)
}

// told are the warnings, with one for those that were too many.
func (n *notes) told() []note {
	if n.lost == 0 {
		return n.warnings
	}
	return append(n.warnings[:len(n.warnings):len(n.warnings)], note{typeAdvisory, 0, "", fmt.Sprintf("%d more warnings are left out", n.lost)})
}

// full is whether further errors would not be told.
func (n *notes) full() bool { return len(n.errors) >= maxErrors }

// quoted is what an answer repeats of a message.
func quoted(text string) string {
	clean := strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '·'
		}
		return c
	}, text)
	if runes := []rune(clean); len(runes) > maxQuoted {
		clean = string(runes[:maxQuoted]) + "…"
	}
	return "\"" + clean + "\""
}
