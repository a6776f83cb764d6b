package deploy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	graphql "github.com/vektah/gqlparser/v2/ast"
	graphqlparser "github.com/vektah/gqlparser/v2/parser"
)

// root is the repository, seen from this folder.
const root = ".."

// command is one command of the program, as its help describes it.
type command struct {
	variables []string
	flags     []string
}

// program is what the binary says about its command line.
type program struct {
	path     string
	commands map[string]command
}

var (
	helpCommand  = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)(?: |$)`)
	helpVariable = regexp.MustCompile(`\$(HOLDFAST_[A-Z_]+)`)
	helpFlag     = regexp.MustCompile(`--([a-z][a-z-]*)`)
)

// askProgram reads the help of every command.
func askProgram(t *testing.T, binary string) program {
	t.Helper()
	p := program{path: binary, commands: map[string]command{}}
	_, list, found := strings.Cut(output(t, binary, "--help"), "\nCommands:\n")
	if !found {
		t.Fatal("the help has no list of commands")
	}
	for _, match := range helpCommand.FindAllStringSubmatch(list, -1) {
		help := output(t, binary, append(strings.Fields(match[1]), "--help")...)
		var c command
		for _, v := range helpVariable.FindAllStringSubmatch(help, -1) {
			c.variables = append(c.variables, v[1])
		}
		for _, f := range helpFlag.FindAllStringSubmatch(help, -1) {
			c.flags = append(c.flags, f[1])
		}
		p.commands[match[1]] = c
	}
	if len(p.commands) < 5 {
		t.Fatalf("the help lists only %v", p.commands)
	}
	return p
}

// command is the one that the words begin with, such as "key" and "create".
func (p program) command(words []string) (string, bool) {
	for n := min(2, len(words)); n > 0; n-- {
		name := strings.Join(words[:n], " ")
		if _, known := p.commands[name]; known {
			return name, true
		}
	}
	return "", false
}

// check refuses a command line and environment that the program would not understand.
func (p program) check(t *testing.T, where string, words []string, variables []string) {
	t.Helper()
	name, known := p.command(words)
	if !known {
		t.Errorf("%s: holdfast has no command %q", where, strings.Join(words, " "))
		return
	}
	for _, word := range words {
		if flag, isFlag := strings.CutPrefix(word, "--"); isFlag {
			flag, _, _ = strings.Cut(flag, "=")
			if !slices.Contains(p.commands[name].flags, flag) {
				t.Errorf("%s: holdfast %s has no flag --%s", where, name, flag)
			}
		}
	}
	for _, variable := range variables {
		if strings.HasPrefix(variable, "HOLDFAST_") && !p.knows(variable) {
			t.Errorf("%s: no command of holdfast reads %s", where, variable)
		}
	}
}

// knows reports whether any command reads the variable: one environment is shared by several.
func (p program) knows(variable string) bool {
	for _, c := range p.commands {
		if slices.Contains(c.variables, variable) {
			return true
		}
	}
	return false
}

// output runs a command in this folder.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, failure.Bytes())
	}
	return string(out)
}

// httpFacts is what cmd/holdfast/http.go serves, and within which times.
type httpFacts struct {
	routes []string
	// readyTimeout is what /readyz gives the database; drainTimeout what requests, and after them
	// jobs, get at the end of a process.
	readyTimeout, drainTimeout time.Duration
}

func readHTTP(t *testing.T) httpFacts {
	t.Helper()
	var facts httpFacts
	durations := map[string]time.Duration{}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "cmd/holdfast/http.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CallExpr:
			if name := called(n); (name == "Handle" || name == "HandleFunc") && len(n.Args) == 2 {
				if pattern, ok := text(n.Args[0]); ok {
					facts.routes = append(facts.routes, pattern[strings.Index(pattern, "/"):])
				}
			}
		case *ast.ValueSpec:
			if len(n.Values) == 1 {
				if d, ok := duration(n.Values[0]); ok {
					durations[n.Names[0].Name] = d
				}
			}
		}
		return true
	})
	facts.readyTimeout, facts.drainTimeout = durations["readyTimeout"], durations["drainTimeout"]
	if facts.readyTimeout == 0 || facts.drainTimeout == 0 || !slices.Contains(facts.routes, "/metrics") {
		t.Fatalf("cmd/holdfast/http.go is not read rightly any more: %+v", facts)
	}
	return facts
}

// duration reads an expression such as 20 * time.Second.
func duration(expression ast.Expr) (time.Duration, bool) {
	units := map[string]time.Duration{"Second": time.Second, "Minute": time.Minute, "Millisecond": time.Millisecond}
	product, ok := expression.(*ast.BinaryExpr)
	if !ok || product.Op != token.MUL {
		return 0, false
	}
	number, isLiteral := product.X.(*ast.BasicLit)
	unit, isSelector := product.Y.(*ast.SelectorExpr)
	if !isLiteral || !isSelector {
		return 0, false
	}
	n, err := strconv.Atoi(number.Value)
	return time.Duration(n) * units[unit.Sel.Name], err == nil
}

// metric is one that the program exports.
type metric struct {
	histogram bool
	labels    []string
}

// exports is what the product's own code can put into /metrics.
type exports struct {
	metrics map[string]metric
	// values are the values that a label can have, where the code bounds them.
	values map[string][]string
}

// readExports reads the metrics, the names of transactions and the outcomes from the Go code.
func readExports(t *testing.T) exports {
	t.Helper()
	fields, codes := readSchema(t)
	e := exports{metrics: standardMetrics(t), values: map[string][]string{"outcome": {"ok"}, "operation": fields, "code": codes}}
	own := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path != root && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.CallExpr:
				if name, m, ok := metricOf(t, path, n); ok {
					e.metrics[name] = m
					own++
				}
				// db.InTx(ctx, database, "inventory.PlaceHold", …)
				if name := called(n); (name == "InTx" || name == "Replayable") && len(n.Args) == 4 {
					if transaction, ok := text(n.Args[2]); ok {
						e.values["transaction"] = append(e.values["transaction"], transaction)
					}
				}
			case *ast.FuncDecl:
				if n.Name.Name == "outcome" && strings.HasSuffix(path, "db/metrics.go") {
					e.values["outcome"] = append(e.values["outcome"], returned(n)...)
				}
			case *ast.ValueSpec:
				// codeUnavailable = "UNAVAILABLE"
				if strings.HasSuffix(path, "graph/errors.go") && len(n.Values) == 1 && strings.HasPrefix(n.Names[0].Name, "code") {
					if code, ok := text(n.Values[0]); ok {
						e.values["outcome"] = append(e.values["outcome"], strings.ToLower(code))
					}
				}
				// queuePayments = "payments"
				if strings.HasSuffix(path, "jobs/args.go") && len(n.Values) == 1 && strings.HasPrefix(n.Names[0].Name, "queue") {
					if queue, ok := text(n.Values[0]); ok {
						e.values["queue"] = append(e.values["queue"], queue)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if own == 0 || len(e.values["transaction"]) == 0 || len(e.values["outcome"]) < 5 || len(e.values["queue"]) < 5 || len(e.values["code"]) < 5 {
		t.Fatalf("the code's metrics are not read rightly any more: %+v", e)
	}
	return e
}

// metricOf reads prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "…"}, []string{"…"}) and
// its like. A name that is not written out cannot be checked, so it is refused.
func metricOf(t *testing.T, path string, call *ast.CallExpr) (string, metric, bool) {
	t.Helper()
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return "", metric{}, false
	}
	if pkg, isName := selector.X.(*ast.Ident); !isName || pkg.Name != "prometheus" {
		return "", metric{}, false
	}
	constructor := regexp.MustCompile(`^New(Histogram|Counter|Gauge|Summary|Untyped)(Vec|Func)?$`).FindStringSubmatch(selector.Sel.Name)
	switch {
	case selector.Sel.Name == "NewDesc":
		// prometheus.NewDesc("name", "help", []string{"label"}, nil)
		name, written := text(call.Args[0])
		if !written {
			t.Errorf("%s: write the name of a metric out", path)
		}
		return name, metric{labels: texts(call.Args[2])}, written
	case constructor == nil:
		return "", metric{}, false
	}
	m := metric{histogram: constructor[1] == "Histogram"}
	if constructor[2] == "Vec" && len(call.Args) == 2 {
		m.labels = texts(call.Args[1])
	}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if ok {
		for _, element := range options.Elts {
			pair, isPair := element.(*ast.KeyValueExpr)
			if !isPair {
				continue
			}
			if key, isName := pair.Key.(*ast.Ident); isName && key.Name == "Name" {
				if name, written := text(pair.Value); written {
					return name, m, true
				}
			}
		}
	}
	t.Errorf("%s: write the name of a metric out where it is made", path)
	return "", metric{}, false
}

// standardMetrics are those of the Go runtime and the process, and Prometheus' own.
func standardMetrics(t *testing.T) map[string]metric {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]metric{"up": {}}
	for _, family := range families {
		known[family.GetName()] = metric{}
	}
	// The process collector is silent on systems without /proc.
	for _, name := range []string{"process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds"} {
		known[name] = metric{}
	}
	return known
}

// readSchema is the operations that the API has, with the names for those that are none of them, and
// the codes of refusals.
func readSchema(t *testing.T) (fields, codes []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "graph/schema/*.graphqls"))
	if err != nil {
		t.Fatal(err)
	}
	fields = []string{"none", "several"}
	for _, file := range files {
		document, err := graphqlparser.ParseSchema(&graphql.Source{Name: file, Input: string(read(t, file))})
		if err != nil {
			t.Fatal(err)
		}
		for _, definition := range slices.Concat(document.Definitions, document.Extensions) {
			if definition.Name == "Query" || definition.Name == "Mutation" {
				for _, field := range definition.Fields {
					fields = append(fields, field.Name)
				}
			}
			if definition.Name == "RefusalCode" {
				for _, value := range definition.EnumValues {
					codes = append(codes, value.Name)
				}
			}
		}
	}
	return fields, codes
}

func called(call *ast.CallExpr) string {
	switch function := call.Fun.(type) {
	case *ast.Ident:
		return function.Name
	case *ast.SelectorExpr:
		return function.Sel.Name
	}
	return ""
}

func text(expression ast.Expr) (string, bool) {
	literal, ok := expression.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}

func texts(expression ast.Expr) []string {
	var all []string
	if list, ok := expression.(*ast.CompositeLit); ok {
		for _, element := range list.Elts {
			if value, isText := text(element); isText {
				all = append(all, value)
			}
		}
	}
	return all
}

// returned is every text that a function returns.
func returned(function *ast.FuncDecl) []string {
	var all []string
	ast.Inspect(function, func(node ast.Node) bool {
		if statement, ok := node.(*ast.ReturnStmt); ok {
			for _, result := range statement.Results {
				if value, isText := text(result); isText {
					all = append(all, value)
				}
			}
		}
		return true
	})
	return all
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
