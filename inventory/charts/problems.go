package charts

import (
	"errors"
	"fmt"
	"strings"
)

// ErrPlanTooLarge says that a plan has more than MaxPlanBytes bytes; nothing of it was read.
var ErrPlanTooLarge = errors.New("seating plan is larger than 64 MiB")

// Problem is one thing that is wrong with a plan or a chart.
type Problem struct {
	// Line and Column count from 1, columns in characters. Both are 0 when the chart did not come from a file.
	Line, Column int
	// Path names the field, for instance zones[0].rows[3].seats[7].seat_guid; empty when the whole file is meant.
	Path string
	// Message says what was expected, and what is there.
	Message string
}

// String is the problem in one line, as a person wants to read it.
func (p Problem) String() string {
	var parts []string
	if p.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d, column %d", p.Line, p.Column))
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

// ProblemsError is everything that is wrong, in the order of the file, at most MaxProblems.
type ProblemsError struct {
	Problems []Problem
	// Truncated says that there are more problems than are listed.
	Truncated bool
}

// Error is one line per problem.
func (e *ProblemsError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, problem := range e.Problems {
		lines = append(lines, problem.String())
	}
	if e.Truncated {
		lines = append(lines, fmt.Sprintf("and more: only the first %d problems are listed", len(e.Problems)))
	}
	return strings.Join(lines, "\n")
}
