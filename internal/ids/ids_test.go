package ids_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/ids"
)

type holdKind struct{}

func (holdKind) Prefix() string { return "hold" }

type tenantKind struct{}

func (tenantKind) Prefix() string { return "tenant" }

func TestPublicFormRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		region := ids.Region(rapid.StringMatching(`[a-z]{2,8}`).Draw(t, "region"))
		id := ids.New[holdKind](region)
		parsed, err := ids.Parse[holdKind](id.String())
		if err != nil || parsed != id {
			t.Fatalf("%s parsed to %v, %v", id, parsed, err)
		}
		tenant := ids.NewGlobal[tenantKind]()
		global, err := ids.ParseGlobal[tenantKind](tenant.String())
		if err != nil || global != tenant {
			t.Fatalf("%s parsed to %v, %v", tenant, global, err)
		}
	})
}

func TestWrongFormsAreRefusedBeforeAnyLookup(t *testing.T) {
	t.Parallel()
	good := ids.New[holdKind]("eu").String()
	for _, text := range []string{
		"", "hold", "hold_eu", "hold__" + good[8:], strings.ToUpper(good), "book" + good[4:],
		good + "0", good[:len(good)-1], good[:len(good)-1] + "i", good[:len(good)-1] + "z",
		"hold_e_" + good[8:], "hold_europeandmore_" + good[8:], good + "_x", strings.Repeat("a", 10_000),
	} {
		if id, err := ids.Parse[holdKind](text); err == nil {
			t.Errorf("%q was taken as %v", text, id)
		} else if len(err.Error()) > 200 {
			t.Errorf("the error repeats %d characters of input", len(err.Error()))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(ids.New[holdKind]("eu").String())
	f.Add("hold_eu_")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ids.Parse[holdKind](text)
		if err == nil && id.String() != text {
			t.Fatalf("%q parsed, but prints as %q", text, id)
		}
	})
}
