package graph

import (
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// Browsing may be stale; a buyer's own things, what is asked for with them, and what answers a
// mutation may not.
func TestWhatMayBeReadStale(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]bool{
		`{ shows(region: "eu", first: 1) { nodes { name } } }`:                   true,
		`{ show(id: "x") { seatMap { asOf } } hotel(id: "y") { name } }`:         true,
		`{ a: hotels(first: 1) { nodes { name } } __typename }`:                  true,
		`{ hold(id: "x") { state } }`:                                            false,
		`{ show(id: "x") { name } hold(id: "y") { state } }`:                     false,
		`{ node(id: "x") { id } }`:                                               false,
		`query { ...F } fragment F on Query { show(id: "x") { name } }`:          false,
		`mutation { createShow(input: {}) { pools { available } } }`:             false,
		`{ booking(id: "x") { reference } bookings(first: 1) { nodes { id } } }`: false,
	} {
		parsed, err := parser.ParseQuery(&ast.Source{Input: document})
		if err != nil {
			t.Fatal(err)
		}
		if got := onlyBrowses(parsed.Operations[0]); got != want {
			t.Errorf("%s: %t, want %t", document, got, want)
		}
	}
}
