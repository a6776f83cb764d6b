package graph_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/vektah/gqlparser/v2"
)

// Every operation that the documents show is one that the API takes: its fields, arguments and inputs
// are the schema's.
func TestDocumentedOperationsFitTheSchema(t *testing.T) {
	t.Parallel()
	api, blocks := schema(), regexp.MustCompile("(?s)```graphql\n(.*?)```")
	total := 0
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../deploy/*.md", "../payments/*/README.md"} {
		documents, err := filepath.Glob(pattern)
		if err != nil || len(documents) == 0 {
			t.Fatalf("%s: %d documents, %v", pattern, len(documents), err)
		}
		for _, document := range documents {
			text, err := os.ReadFile(document)
			if err != nil {
				t.Fatal(err)
			}
			for _, block := range blocks.FindAllSubmatch(text, -1) {
				total++
				if _, err := gqlparser.LoadQueryWithRules(api, string(block[1]), nil); err != nil {
					t.Errorf("%s shows what the API does not take: %v\n%s", document, err, block[1])
				}
			}
		}
	}
	if total < 10 {
		t.Errorf("only %d operations were found", total)
	}
}
