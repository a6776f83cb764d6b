package charts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// planReader walks a JSON document once, field by field, and knows at each moment which byte and which path it reads.
// Each read method consumes exactly one value, whatever is wrong with it, so that one mistake does not hide the next.
type planReader struct {
	data  []byte
	dec   *json.Decoder
	at    trail
	found []placedProblem
	// truncated says that a problem was found when the report was already full.
	truncated bool
}

type placedProblem struct {
	offset  int
	path    string
	message string
}

// newPlanReader reads everything and checks that it is one JSON value and nothing else.
func newPlanReader(r io.Reader) (*planReader, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxPlanBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the seating plan: %w", err)
	}
	if len(data) > MaxPlanBytes {
		return nil, ErrPlanTooLarge
	}
	// Windows programs like to write a byte order mark, which JSON does not allow.
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))

	reader := &planReader{data: data}
	if len(bytes.TrimSpace(data)) == 0 {
		reader.report(0, "the file is empty; expected a seating plan in JSON")
		return nil, reader.err()
	}
	var document json.RawMessage
	if err := json.Unmarshal(data, &document); err != nil {
		reader.report(syntaxErrorOffset(err, len(data)), "not valid JSON: %v", err)
		return nil, reader.err()
	}
	reader.dec = json.NewDecoder(bytes.NewReader(data))
	reader.dec.UseNumber()
	return reader, nil
}

func syntaxErrorOffset(err error, end int) int {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return end
	}
	// The decoder counts the offending byte as read.
	return max(0, int(syntax.Offset)-1)
}

// report records a problem at the present path. Arguments should be cheap: past the limit they are dropped.
func (r *planReader) report(offset int, format string, args ...any) {
	if len(r.found) == MaxProblems {
		r.truncated = true
		return
	}
	r.found = append(r.found, placedProblem{offset, r.at.String(), fmt.Sprintf(format, args...)})
}

// reportField is report for a field of the object at hand.
func (r *planReader) reportField(offset int, field, format string, args ...any) {
	r.at.field(field)
	r.report(offset, format, args...)
	r.at.leave()
}

// err is everything that was reported, in the order of the file, or nil.
func (r *planReader) err() error {
	if len(r.found) == 0 {
		return nil
	}
	sort.SliceStable(r.found, func(i, j int) bool { return r.found[i].offset < r.found[j].offset })
	problems := &ProblemsError{Truncated: r.truncated}
	for _, p := range r.found {
		line, column := r.position(p.offset)
		problems.Problems = append(problems.Problems, Problem{Line: line, Column: column, Path: p.path, Message: p.message})
	}
	return problems
}

// position counts lines and columns (in characters) from 1.
func (r *planReader) position(offset int) (line, column int) {
	before := r.data[:min(offset, len(r.data))]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[lineStart:]) + 1
}

// where names an earlier place for a problem at the offset: its line, and its column when both are on the same line.
func (r *planReader) where(earlier, offset int) string {
	if len(r.found) == MaxProblems {
		// Nobody will read it, and counting the lines of a large file for each of 100,000 duplicates is slow.
		return ""
	}
	line, column := r.position(earlier)
	if sameAs, _ := r.position(offset); sameAs == line {
		return fmt.Sprintf("line %d, column %d", line, column)
	}
	return fmt.Sprintf("line %d", line)
}

// start is the offset of the next value.
func (r *planReader) start() int {
	offset := int(r.dec.InputOffset())
	for offset < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[offset]) >= 0 {
		offset++
	}
	return offset
}

// token reads the next token. The document was found to be valid JSON before the walk began, so it cannot fail.
func (r *planReader) token() json.Token {
	token, err := r.dec.Token()
	if err != nil {
		return nil
	}
	return token
}

// skip reads one value of any kind and forgets it.
func (r *planReader) skip() {
	depth := 0
	for {
		switch r.token() {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return
		}
	}
}

// kind names the type of the next value for people.
func (r *planReader) kind() string {
	switch r.data[r.start()] {
	case '{':
		return "object"
	case '[':
		return "list"
	case '"':
		return "text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// expect reports and skips the next value unless it is of the kind.
func (r *planReader) expect(kind string) bool {
	is := r.kind()
	if is == kind {
		return true
	}
	r.report(r.start(), "must be %s, is %s", article(kind), article(is))
	r.skip()
	return false
}

func article(kind string) string {
	switch kind {
	case "null", "true or false", "text":
		return kind
	case "object":
		return "an object"
	default:
		return "a " + kind
	}
}

// field is how one field of an object is read. A required field may be neither missing nor null.
type field struct {
	name     string
	required bool
	read     func()
}

// object reads an object; fields that are not listed are allowed and ignored, because newer plans have more of them.
func (r *planReader) object(fields ...field) {
	start := r.start()
	if !r.expect("object") {
		return
	}
	r.token()
	seen := make([]bool, len(fields))
	for r.dec.More() {
		keyStart := r.start()
		name, _ := r.token().(string)
		index := indexOfField(fields, name)
		if index < 0 {
			r.skip()
			continue
		}
		r.at.field(name)
		switch {
		case seen[index]:
			r.report(keyStart, "is given twice in the same object")
			r.skip()
		case !fields[index].required && r.kind() == "null":
			r.skip()
		default:
			fields[index].read()
		}
		seen[index] = true
		r.at.leave()
	}
	r.token()
	for i, f := range fields {
		if f.required && !seen[i] {
			r.reportField(start, f.name, "is missing")
		}
	}
}

func indexOfField(fields []field, name string) int {
	for i := range fields {
		if fields[i].name == name {
			return i
		}
	}
	return -1
}

// budget is how many elements of a kind a whole plan may have.
type budget struct {
	what      string
	max, used int
}

// list reads a list. Elements past the budget are reported once and skipped. It returns whether there is a list and
// nothing in it.
func (r *planReader) list(b *budget, each func()) (empty bool) {
	if !r.expect("list") {
		return false
	}
	r.token()
	index := 0
	for ; r.dec.More(); index++ {
		r.at.element(index)
		b.used++
		if b.used == b.max+1 {
			r.report(r.start(), "too many %s: a plan may have %d", b.what, b.max)
		}
		if b.used > b.max {
			r.skip()
		} else {
			each()
		}
		r.at.leave()
	}
	r.token()
	return index == 0
}

// text reads a text into target when it is one and the check has nothing to say. It returns the text's offset, or
// unusable.
func (r *planReader) text(target *string, check func(string) string) int {
	start := r.start()
	if !r.expect("text") {
		return unusable
	}
	value, _ := r.token().(string)
	if message := check(value); message != "" {
		r.report(start, "%s", message)
		return unusable
	}
	*target = value
	return start
}

// unusable stands for the offset of a value that is missing or wrong, and that was reported.
const unusable = -1

// number reads a number into target when it is one and the check has nothing to say.
func (r *planReader) number(target *float64, check func(float64) string) {
	start := r.start()
	if !r.expect("number") {
		return
	}
	literal, _ := r.token().(json.Number)
	// A literal out of range, such as 1e999, comes back as infinity, which no check accepts.
	value, err := strconv.ParseFloat(literal.String(), 64)
	message := check(value)
	if message == "" && err != nil {
		message = "must be a number, is " + shorten(literal.String())
	}
	if message != "" {
		r.report(start, "%s", message)
		return
	}
	*target = value
}
