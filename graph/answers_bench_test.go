package graph_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdfast/holdfast/graph"
)

// BenchmarkAnswerFromMemory is what a public answer costs besides the connection.
func BenchmarkAnswerFromMemory(b *testing.B) {
	var handler http.Handler
	var config graph.Config
	s := newServer(b, func(c *graph.Config) { oldAnswers(c); config = *c })
	h := newHouse(b, s)
	var err error
	config.Metrics = nil
	if handler, err = graph.NewHandler(config); err != nil {
		b.Fatal(err)
	}
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/"+address(mapQuery, vars{"id": h.show}), nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.page.key)
	request.Header.Set("Accept-Encoding", "gzip")
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
