package inventory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// presale is a show whose sale opens next month, with one code.
type presale struct {
	*inventorytest.Tenant
	hall *inventorytest.Hall
	code inventory.PresaleCode
}

func openPresale(t *testing.T, uses int64, seats int, pools ...inventory.NewPool) presale {
	t.Helper()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(seats, pools...)
	soon := tenant.Now().Add(30 * 24 * time.Hour)
	if _, err := tenant.DB.Pool().Exec(t.Context(), "UPDATE shows SET sale_opens_at = $1 WHERE tenant_id = $2", soon, tenant.ID.UUID); err != nil {
		t.Fatal(err)
	}
	codes, err := tenant.Inventory.CreatePresaleCodes(t.Context(), tenant.Owner, inventorytest.Key(), inventory.NewPresaleCodes{
		Show: hall.Show, Codes: []string{"fan club 2030"}, Uses: uses,
	})
	if err != nil {
		t.Fatal(err)
	}
	return presale{Tenant: tenant, hall: hall, code: codes[0]}
}

func (p presale) try(t *testing.T, buyer inventorytest.Buyer, code string, wishes ...inventory.LineRequest) (inventory.Hold, error) {
	t.Helper()
	return p.Inventory.PlaceHold(t.Context(), buyer.Actor, inventory.PlaceHold{RequestKey: inventorytest.Key(), Lines: wishes, PresaleCode: code})
}

func (p presale) expect(t *testing.T, held, used int64) {
	t.Helper()
	codes, more, err := p.Inventory.PresaleCodes(t.Context(), p.Owner, p.hall.Show, "", 10)
	if err != nil || more || len(codes) != 1 {
		t.Fatalf("%d codes, more %v: %v", len(codes), more, err)
	}
	if codes[0].Held != held || codes[0].Used != used {
		t.Errorf("held %d and used %d, want %d and %d", codes[0].Held, codes[0].Used, held, used)
	}
	p.Audit()
}

// R65: a code with 10 uses gives exactly 10 holds to 100 buyers at once, and an expired hold gives
// its use back.
func TestTenUsesAreTenHolds(t *testing.T) {
	t.Parallel()
	p := openPresale(t, 10, 0, inventorytest.PoolOf("Floor", 1000, 4))
	buyers := make([]inventorytest.Buyer, 100)
	for i := range buyers {
		buyers[i] = p.Guest()
	}
	holds := make([]inventory.Hold, len(buyers))
	won, refused := tally(t, p.Tenant, inventorytest.Race(len(buyers), func(i int) (err error) {
		holds[i], err = p.try(t, buyers[i], "FanClub2030", p.hall.Pools[0].Units(1))
		return err
	}))
	if won != 10 || len(refused) != 1 || refused["PRESALE_CODE_USED_UP"] != 90 {
		t.Fatalf("%d won, refused: %v", won, refused)
	}
	p.expect(t, 10, 0)

	var live []inventory.Hold
	for _, hold := range holds {
		if !hold.ID.IsZero() {
			live = append(live, hold)
		}
	}
	p.Lapse(live[0])
	if _, err := p.try(t, p.Guest(), "fanclub 2030", p.hall.Pools[0].Units(1)); err != nil {
		t.Fatalf("the use of the lapsed hold is not given back: %v", err)
	}
	if _, err := p.Confirm(live[1].ID); err != nil {
		t.Fatal(err)
	}
	p.expect(t, 9, 1)
	for _, buyer := range buyers {
		if buyer.Actor.Session.UUID == live[2].Buyer.ID {
			buyer.Release(live[2])
		}
	}
	p.expect(t, 8, 1)
	if _, err := p.Inventory.ExpireDue(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	p.expect(t, 8, 1)
}

func TestOnlyTheCodeOpensTheSaleEarly(t *testing.T) {
	t.Parallel()
	p := openPresale(t, 5, 10)
	p.Guest().Refused("SALE_NOT_OPEN", p.hall.Seats(1))
	for _, wrong := range []string{"fan club 2031", "FANS"} {
		_, err := p.try(t, p.Guest(), wrong, p.hall.Seats(1))
		expectAnswer(t, p.Tenant, err, "PRESALE_CODE_INVALID")
	}
	// A code of another show is as good as none.
	other := p.hall.Another()
	_, err := p.try(t, p.Guest(), p.code.Code, other.Seats(1))
	expectAnswer(t, p.Tenant, err, "PRESALE_CODE_INVALID")

	buyer := p.Guest()
	hold, err := p.try(t, buyer, " fan Club 2030 ", p.hall.Seats(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if hold.PresaleCode == nil || *hold.PresaleCode != p.code.ID {
		t.Errorf("the hold has code %v", hold.PresaleCode)
	}
	buyer.Extend(hold)
	if read := buyer.Read(hold); read.PresaleCode == nil || *read.PresaleCode != p.code.ID {
		t.Errorf("the hold reads code %v", read.PresaleCode)
	}
	// A refused hold takes no use.
	_, err = p.try(t, p.Guest(), p.code.Code, p.hall.Seats(2, 3))
	expectAnswer(t, p.Tenant, err, "HELD_BY_OTHER seat 2")
	p.expect(t, 1, 0)

	// The rule is the same for the hold, its extension and its checkout: a code that has ended opens
	// nothing any more.
	ended := p.Now().Add(-time.Second)
	if _, err := p.Inventory.ChangePresaleCode(t.Context(), p.Owner, inventorytest.Key(), p.code.ID, inventory.PresaleChange{ClosesAt: &ended}); err != nil {
		t.Fatal(err)
	}
	_, err = p.try(t, p.Guest(), p.code.Code, p.hall.Seats(5))
	expectAnswer(t, p.Tenant, err, "PRESALE_CODE_INVALID")
	_, err = buyer.TryExtend(hold)
	expectAnswer(t, p.Tenant, err, "SALE_NOT_OPEN")
}

func TestSeatsOfALapsedPresaleHoldAreHeldAgain(t *testing.T) {
	t.Parallel()
	p := openPresale(t, 1, 5)
	first, err := p.try(t, p.Guest(), p.code.Code, p.hall.Seats(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.try(t, p.Guest(), p.code.Code, p.hall.Seats(2))
	expectAnswer(t, p.Tenant, err, "PRESALE_CODE_USED_UP")
	p.Lapse(first)
	// Another seat: only the use is in the way.
	if _, err := p.try(t, p.Guest(), p.code.Code, p.hall.Seats(2)); err != nil {
		t.Fatal(err)
	}
	p.expect(t, 1, 0)
}

func TestUsesCanBeChangedWhileSelling(t *testing.T) {
	t.Parallel()
	p := openPresale(t, 2, 5)
	for seat := 1; seat <= 2; seat++ {
		if _, err := p.try(t, p.Guest(), p.code.Code, p.hall.Seats(seat)); err != nil {
			t.Fatal(err)
		}
	}
	set := func(uses int64) inventory.PresaleCode {
		t.Helper()
		changed, err := p.Inventory.ChangePresaleCode(t.Context(), p.Owner, inventorytest.Key(), p.code.ID, inventory.PresaleChange{Uses: &uses})
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	if changed := set(1); changed.Uses != 1 || changed.Held != 2 {
		t.Errorf("the code is %+v", changed)
	}
	_, err := p.try(t, p.Guest(), p.code.Code, p.hall.Seats(3))
	expectAnswer(t, p.Tenant, err, "PRESALE_CODE_USED_UP")
	set(3)
	if _, err := p.try(t, p.Guest(), p.code.Code, p.hall.Seats(3)); err != nil {
		t.Fatal(err)
	}
	p.expect(t, 3, 0)
}

func TestPresaleCodesAreCheckedWhenTheyAreMade(t *testing.T) {
	t.Parallel()
	p := openPresale(t, 1, 5)
	now := p.Now()
	for field, input := range map[string]inventory.NewPresaleCodes{
		"codes":    {Uses: 1},
		"codes[0]": {Codes: []string{"abc"}, Uses: 1},
		"codes[1]": {Codes: []string{"SAME-ONE", "same-one"}, Uses: 1},
		"codes[2]": {Codes: []string{"FINE", "FINER", "ümlaut"}, Uses: 1},
		"uses":     {Codes: []string{"FINE"}, Uses: -1},
		"closesAt": {Codes: []string{"FINE"}, Uses: 1, OpensAt: &now, ClosesAt: &now},
	} {
		input.Show = p.hall.Show
		_, err := p.Inventory.CreatePresaleCodes(t.Context(), p.Owner, inventorytest.Key(), input)
		if err == nil || !strings.HasPrefix(err.Error(), field+":") {
			t.Errorf("%s: got %v", field, err)
		}
	}
	key := inventorytest.Key()
	input := inventory.NewPresaleCodes{Show: p.hall.Show, Codes: []string{"zulu-1", "alpha-1"}, Uses: 3}
	for range 2 {
		codes, err := p.Inventory.CreatePresaleCodes(t.Context(), p.Owner, key, input)
		if err != nil || len(codes) != 2 || codes[0].Code != "ZULU-1" || codes[1].Code != "ALPHA-1" || codes[0].Uses != 3 {
			t.Fatalf("got %+v, %v", codes, err)
		}
	}
	if _, err := p.Inventory.CreatePresaleCodes(t.Context(), p.Owner, inventorytest.Key(), input); err == nil || p.Rows("presale_codes") != 3 {
		t.Errorf("a code exists twice: %v, %d rows", err, p.Rows("presale_codes"))
	}
	_, err := p.try(t, p.Guest(), "a", p.hall.Seats(1))
	if err == nil || !strings.HasPrefix(err.Error(), "presaleCode:") {
		t.Errorf("got %v", err)
	}
}

// R70: with a limit of 4 units of a show per buyer, of 10 parallel holds of 2 at most 2 succeed.
func TestALimitPerBuyerHoldsForParallelHolds(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	hall := tenant.Hall(40)
	limit, holds := int64(4), int64(100)
	if _, err := tenant.Inventory.SetTerms(t.Context(), tenant.Owner, inventory.TermsScope{Show: &hall.Show}, inventory.TermsChange{
		MaxUnitsPerBuyer: &limit, MaxActiveHoldsPerBuyer: &holds,
	}); err != nil {
		t.Fatal(err)
	}
	buyer := tenant.Guest()
	placed := make([]inventory.Hold, 10)
	won, _ := tally(t, tenant, inventorytest.Race(10, func(i int) (err error) {
		placed[i], err = buyer.Try(hall.Seats(2*i+1, 2*i+2))
		return err
	}))
	if won != 2 {
		t.Errorf("%d holds of 2 seats each, want 2", won)
	}
	buyer.Refused("LIMIT_PER_BUYER left 0 limit 4", hall.Seats(31))
	tenant.Guest().Hold(hall.Seats(34, 35))
	// A lapsed hold does not count, a sale does.
	sold := false
	for _, hold := range placed {
		switch {
		case hold.ID.IsZero():
		case !sold:
			sold = true
			if _, err := tenant.Confirm(hold.ID); err != nil {
				t.Fatal(err)
			}
		default:
			tenant.Lapse(hold)
		}
	}
	buyer.Refused("LIMIT_PER_BUYER left 2 limit 4", hall.Seats(31, 32, 33))
	buyer.Hold(hall.Seats(31, 32))
	tenant.Audit()
}
