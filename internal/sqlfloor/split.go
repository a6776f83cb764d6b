package sqlfloor

import (
	"regexp"
	"strings"
)

// Statement is one SQL statement and the line where it begins, counted from 1.
type Statement struct {
	// Name is that of sqlc's comment "-- name: HoldInsert :exec", or "".
	Name string
	// Text is the statement as it stands, without the semicolon and without comments before it.
	Text string
	Line int
}

// namePattern is how sqlc names a query.
var namePattern = regexp.MustCompile(`^-- name: (\w+) :\w+`)

// Split cuts a file into its statements. It knows strings, quoted names, and comments.
func Split(text string) []Statement {
	var statements []Statement
	name, start, line, startLine := "", -1, 1, 0
	finish := func(end int) {
		if start >= 0 {
			statements = append(statements, Statement{Name: name, Text: strings.TrimSpace(text[start:end]), Line: startLine})
		}
		name, start = "", -1
	}
	for at := 0; at < len(text); {
		kind, end := nextToken(text, at)
		token := text[at:end]
		switch {
		case kind == tokenComment && start < 0:
			if found := namePattern.FindStringSubmatch(token); found != nil {
				name = found[1]
			}
		case token == ";":
			finish(at)
		case kind != tokenSpace && start < 0:
			start, startLine = at, line
		}
		line += strings.Count(token, "\n")
		at = end
	}
	finish(len(text))
	return statements
}

// tokenKind is the sort of a piece of SQL.
type tokenKind int

const (
	tokenSpace tokenKind = iota
	tokenComment
	tokenString
	tokenQuotedName
	tokenWord
	tokenNumber
	tokenParameter
	tokenSymbol
)

// tokenPatterns are tried in turn; the last one always matches.
var tokenPatterns = []struct {
	kind    tokenKind
	pattern *regexp.Regexp
}{
	{tokenSpace, regexp.MustCompile(`^\s+`)},
	{tokenComment, regexp.MustCompile(`^(--[^\n]*|/\*(?s:.*?)\*/)`)},
	{tokenString, regexp.MustCompile(`^(?:[eE]'(?:[^'\\]|''|\\(?s:.))*'|'(?:[^']|'')*')`)},
	{tokenQuotedName, regexp.MustCompile(`^"(?:[^"]|"")*"`)},
	{tokenWord, regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*`)},
	{tokenNumber, regexp.MustCompile(`^[0-9]+(\.[0-9]+)?`)},
	{tokenParameter, regexp.MustCompile(`^(@[A-Za-z_]\w*|\$[0-9]+)`)},
	{tokenSymbol, regexp.MustCompile(`^(::|=>|:=|->>|->|<=|>=|<>|!=|\|\||&&|(?s:.))`)},
}

func nextToken(text string, at int) (kind tokenKind, end int) {
	for _, try := range tokenPatterns {
		if length := len(try.pattern.FindString(text[at:])); length > 0 {
			return try.kind, at + length
		}
	}
	return tokenSymbol, at + 1
}

// normalize is a statement in one line: comments gone, words in capitals, one space between tokens,
// strings as ” and quoted names without quotes, so that patterns need not care.
func normalize(text string) string {
	var tokens []string
	for at := 0; at < len(text); {
		kind, end := nextToken(text, at)
		token := text[at:end]
		at = end
		switch kind {
		case tokenSpace, tokenComment:
			continue
		case tokenString:
			token = "''"
		case tokenQuotedName:
			token = strings.Trim(token, `"`)
		case tokenWord:
			token = strings.ToUpper(token)
		case tokenParameter:
			token = "$1"
		case tokenNumber, tokenSymbol:
		}
		tokens = append(tokens, token)
	}
	return " " + strings.Join(tokens, " ") + " "
}
