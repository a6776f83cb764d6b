package trade_test

import (
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

func TestFilesOfNights(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	percent, yes, two := int64(20), true, int64(2)
	d.double.Set(2, 6, inventory.NightChange{OversellPercent: &percent, ClosedToArrival: &yes, MinStayArrival: &two, OutOfOrder: &two})
	export := func() string {
		written, err := d.trade.ExportNights(t.Context(), d.Owner, d.double.ID, inventorytest.Nov(1), inventorytest.Nov(20))
		if err != nil {
			t.Fatal(err)
		}
		return string(written)
	}
	before := export()
	if !strings.Contains(before, "2097-11-02,5,2,,20,102.00,false,true,false,2,0,0,0\n") || strings.Count(before, "\n") != 11 {
		t.Errorf("the file is\n%s", before)
	}
	set, err := d.trade.ImportNights(t.Context(), d.Owner, d.double.ID, []byte(before))
	if err != nil || set.Nights != 10 {
		t.Fatalf("%d nights were written, %v", set.Nights, err)
	}
	if after := export(); after != before {
		t.Errorf("a round trip changes\n%s\nto\n%s", before, after)
	}
	for name, test := range map[string]struct{ content, want string }{
		"a cell":             {"night,physical\n2097-11-01,7\n2097-11-02,x\n", "line 3, column physical"},
		"a night of nothing": {"night,physical,rate\n2097-11-01,7,\n2097-11-12,,50\n", "line 3: physical: night 2097-11-12"},
		"contradiction":      {"night,physical,max_stay_arrival\n2097-11-01,7,\n2097-11-02,,1\n", "line 3: maxStayArrival"},
		"no UTF-8":           {"night,physical\n2097-11-01,\xff\n", "UTF-8"},
		"percent and number": {"night,oversell,oversell_percent\n2097-11-01,1,1\n", "line 2: oversellPercent"},
	} {
		if _, err := d.trade.ImportNights(t.Context(), d.Owner, d.double.ID, []byte(test.content)); fault.KindOf(err) != fault.KindInvalid || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if after := export(); after != before {
		t.Errorf("refused files change\n%s\nto\n%s", before, after)
	}
}
