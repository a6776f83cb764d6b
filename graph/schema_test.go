package graph_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	graphql "github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/graph/generated"
)

func updateGolden() bool { return flag.Lookup("update").Value.String() == "true" }

var _ = flag.Bool("update", false, "rewrite schema.graphql")

func schema() *graphql.Schema {
	return generated.NewExecutableSchema(generated.Config{}).Schema()
}

// The merged schema is a file of its own, so that every change of the API shows in review.
func TestSchemaIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	var merged bytes.Buffer
	merged.WriteString("# Made from graph/schema by `go test ./graph -run Schema -update`.\n\n")
	formatter.NewFormatter(&merged, formatter.WithIndent("  ")).FormatSchema(schema())
	const golden = "schema.graphql"
	if updateGolden() {
		if err := os.WriteFile(golden, merged.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, merged.Bytes()) {
		t.Errorf("the schema is not the one of %s: look at the change, then run this test with -update", golden)
	}
}

// The explorer is the API's documentation: every element says what it is.
func TestEverythingInTheSchemaIsDescribed(t *testing.T) {
	t.Parallel()
	described := func(what, description string) {
		if strings.TrimSpace(description) == "" || !strings.HasSuffix(strings.TrimSpace(description), ".") {
			t.Errorf("%s has no description that ends with a full stop: %q", what, description)
		}
	}
	for name, definition := range schema().Types {
		if definition.BuiltIn {
			continue
		}
		described(name, definition.Description)
		for _, field := range definition.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			described(name+"."+field.Name, field.Description)
			for _, argument := range field.Arguments {
				described(name+"."+field.Name+"("+argument.Name+")", argument.Description)
			}
		}
		for _, value := range definition.EnumValues {
			described(name+"."+value.Name, value.Description)
		}
	}
}

// The enums of the API are the constants of the packages they come from: neither has a value that
// the other lacks.
func TestEnumsAreTheDomainsConstants(t *testing.T) {
	t.Parallel()
	for _, enum := range []struct{ graphql, folder, golang string }{
		{"RefusalCode", "inventory", "RefusalCode"},
		{"ShowState", "inventory", "ShowState"},
		{"SeatStatus", "inventory", "SeatStatus"},
		{"HoldState", "inventory", "HoldState"},
		{"UnitKind", "inventory", "LineKind"},
		{"LatePayment", "inventory", "LatePayment"},
		{"OnDecline", "inventory", "OnDecline"},
		{"OrphanSeats", "inventory", "OrphanSeats"},
		{"CancellationFeeKind", "inventory", "FeeKind"},
		{"Capture", "inventory", "Capture"},
		{"AreaShape", "inventory/charts", "AreaShape"},
		{"ChannelKind", "tenants", "ChannelType"},
		{"KeyType", "tenants", "KeyType"},
		{"KeyMode", "tenants", "Mode"},
		{"BookingState", "bookings", "State"},
		{"BookingLineState", "bookings", "LineState"},
		{"PaymentState", "payments", "AttemptState"},
		{"PaymentDisposition", "payments", "Disposition"},
		{"RefundState", "payments", "RefundRecordState"},
		{"WebhookEndpointState", "events", "EndpointState"},
		{"WebhookDisabledReason", "events", "DisabledReason"},
		{"WebhookDeliveryState", "events", "DeliveryState"},
		{"DisputeState", "payments", "DisputeState"},
	} {
		want := constantsOf(t, filepath.Join("..", enum.folder), enum.golang)
		var got []string
		for _, value := range schema().Types[enum.graphql].EnumValues {
			got = append(got, value.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, %s.%s has %v", enum.graphql, got, enum.folder, enum.golang, want)
		}
	}
}

// The enum of event types is the table of package events, in its order and in its words.
func TestEventTypesAreTheTables(t *testing.T) {
	t.Parallel()
	name := strings.NewReplacer(".", "_")
	var got, want []string
	for _, value := range schema().Types["ChangeEventType"].EnumValues {
		got = append(got, value.Name+": "+value.Description)
	}
	for _, meaning := range events.Meanings() {
		want = append(want, strings.ToUpper(name.Replace(string(meaning.Type)))+": "+meaning.Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the schema has\n%s\nthe table has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// constantsOf are the values of the typed text constants of a package, sorted, in upper case and
// without the empty one.
func constantsOf(t *testing.T, folder, typeName string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", folder, err)
	}
	var values []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != typeName {
				return true
			}
			for _, expression := range spec.Values {
				literal, ok := expression.(*ast.BasicLit)
				if !ok {
					continue
				}
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				if value != "" {
					values = append(values, strings.ToUpper(value))
				}
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}
