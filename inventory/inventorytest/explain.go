package inventorytest

import (
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
)

// Explain says in one line what a service answered: "held", the lines of a refusal such as
// "HELD_BY_OTHER seat 56, SOLD_OUT 6 Nov left 0" (each with the number of its wish before it when
// there are others than the first), or a fault's kind, field and message.
func (x *Tenant) Explain(err error) string {
	if err == nil {
		return "held"
	}
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return fmt.Sprintf("%s: %s", fault.KindOf(err), err)
	}
	if len(refusal.Lines) == 0 {
		return string(refusal.Code)
	}
	several := false
	for _, line := range refusal.Lines {
		several = several || line.Line > 0
	}
	parts := make([]string, len(refusal.Lines))
	for i, line := range refusal.Lines {
		if several {
			parts[i] = fmt.Sprintf("%d: ", line.Line)
		}
		parts[i] += x.explainLine(line)
	}
	return strings.Join(parts, ", ")
}

func (x *Tenant) explainLine(line inventory.RefusedLine) string {
	text := string(line.Code)
	if line.Seat != nil {
		text += " seat " + x.nameOf(line.Seat.UUID)
	}
	if line.Pool != nil {
		text += " " + x.nameOf(line.Pool.UUID)
	}
	if line.Night != nil {
		text += " " + DayName(*line.Night)
	}
	if line.Available != nil {
		text += fmt.Sprintf(" left %d", *line.Available)
	}
	if line.Limit != nil {
		text += fmt.Sprintf(" limit %d", *line.Limit)
	}
	if line.HeldByYou != nil {
		text += " yours"
	}
	return text
}

func (x *Tenant) nameOf(id uuid.UUID) string {
	if name, ok := x.names[id]; ok {
		return name
	}
	return "?"
}

// DayName is how Explain writes a date: "6 Nov".
func DayName(date civil.Date) string {
	return fmt.Sprintf("%d %s", date.Day, date.Month.String()[:3])
}
