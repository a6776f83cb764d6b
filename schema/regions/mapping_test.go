package regions

import (
	"maps"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
)

func TestParseMappingRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, primary, survive, says string }{
		{"", "eu", "zone", `--map: expected code=region pairs`},
		{"eu", "eu", "zone", `--map: expected code=region pairs`},
		{"eu=a,eu=b", "eu", "zone", `--map: the code "eu" is mapped twice`},
		{"eu=", "eu", "zone", `--map: the code "eu" needs the name of a cluster region`},
		{"e=a", "e", "zone", `--map: the code "e": a region is 2 to 8 lower-case letters`},
		{"europe1=a", "europe1", "zone", `--map: the code "europe1"`},
		{"eu=a'b", "eu", "zone", `--map: the code "eu" needs the name of a cluster region`},
		{`eu=a"b`, "eu", "zone", `--map: the code "eu" needs the name of a cluster region`},
		{"eu=a", "us", "zone", `--primary: expected one of the mapped codes eu, got "us"`},
		{"eu=a", "", "zone", `--primary: expected one of the mapped codes eu, got ""`},
		{"eu=a", "eu", "planet", `--survive: expected zone or region, got "planet"`},
	}
	for _, c := range cases {
		_, err := ParseMapping(c.text, c.primary, Survival(c.survive))
		if fault.KindOf(err) != fault.KindInvalid || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("ParseMapping(%q, %q, %q): got %v, expected %q", c.text, c.primary, c.survive, err, c.says)
		}
	}
}

func TestExpressionIsReadBackInEverySpelling(t *testing.T) {
	t.Parallel()
	m := Mapping{Homes: map[ids.Region]string{"eu": "europe-west1", "us": "us-east1"}, Primary: "eu", Survive: SurvivalZone}
	spellings := []string{
		m.expression(),
		"CASE region WHEN 'eu':::STRING THEN 'europe-west1':::public.crdb_internal_region WHEN 'us':::STRING THEN 'us-east1':::public.crdb_internal_region END",
		"CASE region WHEN 'eu'::text THEN 'europe-west1'::crdb_internal_region WHEN 'us'::text THEN 'us-east1'::crdb_internal_region END",
		`(CASE "region" WHEN 'eu':::STRING THEN 'europe-west1':::"my db".public.crdb_internal_region WHEN 'us':::STRING THEN 'us-east1':::@100104 END)`,
		"case region when 'eu' then 'europe-west1'\n  when 'us' then 'us-east1' end",
	}
	for _, spelling := range spellings {
		homes, ok := homesOf(spelling)
		if !ok || !maps.Equal(homes, m.Homes) {
			t.Errorf("%s: read %v", spelling, homes)
		}
	}
	for _, other := range []string{
		"", "region", "CASE region WHEN 'eu' THEN 'europe-west1' ELSE 'us-east1' END",
		"CASE city WHEN 'eu' THEN 'europe-west1' END", "CASE region WHEN 'eu' THEN 'a' WHEN upper('x') THEN 'b' END", "CASE region END",
	} {
		if homes, ok := homesOf(other); ok {
			t.Errorf("%q was read as %v", other, homes)
		}
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Version{"CockroachDB v25.4.1": {25, 4}, "v26.1": {26, 1}, "26.2": {26, 2}, "CockroachDB v26.1.0-alpha.1": {26, 1}} {
		if got, err := ParseVersion(text); err != nil || got != want {
			t.Errorf("ParseVersion(%q): got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "unknown", "v26"} {
		if got, err := ParseVersion(text); err == nil {
			t.Errorf("ParseVersion(%q): got %v, expected an error", text, got)
		}
	}
	if !v26.atLeast(schemaLockedByDefault) || v25.atLeast(schemaLockedByDefault) || !schemaLockedByDefault.atLeast(v25) {
		t.Error("versions are compared wrongly")
	}
}

func TestGuardedByTheComputedColumn(t *testing.T) {
	t.Parallel()
	table := Table{Computed: map[string]string{regionColumn: "CASE region WHEN 'eu' THEN 'a' WHEN 'us' THEN 'b' END"}}
	for _, c := range []struct {
		codes []ids.Region
		want  bool
	}{{[]ids.Region{"eu", "us", "ap"}, true}, {[]ids.Region{"eu", "us"}, true}, {[]ids.Region{"eu"}, false}} {
		if got := table.guarded(c.codes); got != c.want {
			t.Errorf("guarded(%v): got %t", c.codes, got)
		}
	}
	if (Table{}).guarded([]ids.Region{"eu"}) {
		t.Error("a table without the column guards nothing")
	}
}
