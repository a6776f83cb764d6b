package sqlfloor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/sqlfloor"
)

// source is a statement and where it stands in the project.
type source struct {
	sqlfloor.Statement

	// file is relative to the project's root, with slashes.
	file string
	// offset is what to add to the statement's line to get the file's.
	offset int
}

func (s source) place() string { return s.file + ":" + strconv.Itoa(s.Line+s.offset) }

// collect finds every statement of the project: all .sql files, and every string in Go code that
// reads like SQL. It leaves out
//   - tests and testdata, which may do what only one engine can;
//   - internal/dbsqlc, which sqlc makes of the .sql files;
//   - internal/embedded, which talks to an engine that it has just started and knows.
func collect(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the project's root: %v", err)
	}
	var sources []source
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file := filepath.ToSlash(relative)
		if entry.IsDir() {
			name := entry.Name()
			hidden := strings.HasPrefix(name, ".") && file != "."
			if hidden || name == "testdata" || name == "node_modules" || name == "dbsqlc" || file == "internal/embedded" || file == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		switch {
		case strings.HasSuffix(file, ".sql"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, statement := range sqlfloor.Split(string(text)) {
				sources = append(sources, source{Statement: statement, file: file})
			}
		case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
			found, err := inGo(path, file)
			if err != nil {
				return err
			}
			sources = append(sources, found...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// sqlPattern is how SQL in Go code begins: with a verb in capitals, or with the first words of a
// statement in any case.
var sqlPattern = regexp.MustCompile(`^(?:\s|--[^\n]*\n|/\*(?s:.*?)\*/|\()*(?:(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|TRUNCATE|MERGE|COPY|LOCK|LISTEN|NOTIFY|GRANT|EXPLAIN|SHOW|SET|DO|CALL|BEGIN|SAVEPOINT)\s|` +
	`(?i:select\s.*\sfrom\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|create\s+(?:table|index|unique|type|schema|database)\s|alter\s+(?:table|database)\s|drop\s+(?:table|index|database)\s))`)

// notSQL is what only looks like it: two words to compare a statement's beginning with, and the
// message of an error.
var notSQL = regexp.MustCompile(`^[A-Z]+ [A-Z]+$|%w`)

// inGo finds SQL in the string literals of a Go file. Literals that are added up are one string,
// in which a space stands for other operands.
func inGo(path, file string) ([]source, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var sources []source
	ast.Inspect(parsed, func(node ast.Node) bool {
		expression, ok := node.(ast.Expr)
		if !ok {
			return true
		}
		text, ok := literal(expression)
		if !ok {
			return true
		}
		if sqlPattern.MatchString(text) && !notSQL.MatchString(text) {
			line := files.Position(expression.Pos()).Line
			for _, statement := range sqlfloor.Split(text) {
				sources = append(sources, source{Statement: statement, file: file, offset: line - 1})
			}
		}
		return false
	})
	return sources, nil
}

func literal(expression ast.Expr) (string, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, leftOK := literal(e.X)
		right, rightOK := literal(e.Y)
		if !leftOK {
			left = " "
		}
		if !rightOK {
			right = " "
		}
		return left + right, e.Op == token.ADD && (leftOK || rightOK)
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return "", false
}
