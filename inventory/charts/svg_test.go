package charts_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/inventory/charts/halls"
)

var svgFolder = flag.String("svg", "", "folder into which TestSVG writes its pictures, to look at them")

func TestSVG(t *testing.T) {
	t.Parallel()
	pictures := map[string]*charts.Chart{"theatre": halls.Theatre(), "arena": halls.Arena()}
	if path := stadiumFile(); path != "" {
		pictures["stadium"] = parseFile(t, path)
	}
	for name, chart := range pictures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var picture bytes.Buffer
			if err := chart.SVG(&picture); err != nil {
				t.Fatal(err)
			}
			if *svgFolder != "" {
				if err := os.MkdirAll(*svgFolder, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(*svgFolder, name+".svg"), picture.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if shapes := countShapes(t, &picture); shapes < chart.SeatCount() {
				t.Errorf("%d circles and rectangles for %d seats", shapes, chart.SeatCount())
			}
		})
	}
}

// A name with markup in it stays text.
func TestSVGEscapes(t *testing.T) {
	t.Parallel()
	chart := parse(t, strings.Replace(smallPlan, `"name": "Small hall"`, `"name": "</title><script>alert(1)</script>"`, 1))
	var picture strings.Builder
	if err := chart.SVG(&picture); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(picture.String(), "<script") {
		t.Errorf("markup reached the picture: %s", picture.String())
	}
}

func TestSVGReportsAFullDisk(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	full := errors.New("no space left")
	_ = reader.CloseWithError(full)
	if err := halls.Theatre().SVG(writer); !errors.Is(err, full) {
		t.Errorf("got %v, want the writer's error", err)
	}
}

func countShapes(t *testing.T, picture io.Reader) (count int) {
	t.Helper()
	decoder := xml.NewDecoder(picture)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && (start.Name.Local == "circle" || start.Name.Local == "rect") {
			count++
		}
	}
}
