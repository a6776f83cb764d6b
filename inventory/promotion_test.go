package inventory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// offer is a promotion of a hotel with rooms enough for everybody.
type offer struct {
	*inventorytest.Tenant
	room  *inventorytest.Room
	promo inventory.Promotion
}

func promote(t *testing.T, input inventory.NewPromotion) offer {
	t.Helper()
	tenant := inventorytest.New(t)
	o := offer{Tenant: tenant, room: tenant.Hotel().Stocked("Double", 200, 1, 30)}
	o.promo = o.another(t, input)
	return o
}

func (o offer) another(t *testing.T, input inventory.NewPromotion) inventory.Promotion {
	t.Helper()
	input.Property = o.room.Hotel.Property.ID
	if input.Terms.Name == "" {
		input.Terms.Name = "Autumn"
	}
	input.Terms.MinNights = max(1, input.Terms.MinNights)
	made, err := o.Inventory.CreatePromotion(t.Context(), o.Owner, inventorytest.Key(), input)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (o offer) try(t *testing.T, buyer inventorytest.Buyer, code string, wishes ...inventory.LineRequest) (inventory.Hold, error) {
	t.Helper()
	return o.Inventory.PlaceHold(t.Context(), buyer.Actor, inventory.PlaceHold{RequestKey: inventorytest.Key(), Lines: wishes, PromotionCode: code})
}

func (o offer) expect(t *testing.T, held, used int64) {
	t.Helper()
	promotions, _, err := o.Inventory.Promotions(t.Context(), o.Owner, o.room.Hotel.Property.ID, [16]byte{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range promotions {
		if p.ID == o.promo.ID && (p.Held != held || p.Used != used) {
			t.Errorf("held %d and used %d, want %d and %d", p.Held, p.Used, held, used)
		}
	}
	o.Audit()
}

// R65: a promotion with 10 uses lowers exactly 10 of 100 holds at once, and a hold that ends unsold gives its
// use back.
func TestAPromotionOfTenUsesLowersTenHolds(t *testing.T) {
	t.Parallel()
	o := promote(t, inventory.NewPromotion{Code: "autumn 10", Uses: inventorytest.Of(int64(10)), Terms: inventory.PromotionTerms{BasisPoints: 1000}})
	buyers := make([]inventorytest.Buyer, 100)
	for i := range buyers {
		buyers[i] = o.Guest()
	}
	holds := make([]inventory.Hold, len(buyers))
	won, refused := tally(t, o.Tenant, inventorytest.Race(len(buyers), func(i int) (err error) {
		holds[i], err = o.try(t, buyers[i], "Autumn10", o.room.Stay(3, 4))
		return err
	}))
	if won != 10 || len(refused) != 1 || refused["PROMOTION_USED_UP"] != 90 {
		t.Fatalf("%d won, refused: %v", won, refused)
	}
	o.expect(t, 10, 0)
	var live []inventory.Hold
	var owners []inventorytest.Buyer
	for i, hold := range holds {
		if hold.ID.IsZero() {
			continue
		}
		// 103.00 with 10 % off.
		if hold.Total.Minor != 9270 || hold.Promotion == nil || *hold.Promotion != o.promo.ID {
			t.Errorf("the hold costs %s with promotion %v", hold.Total, hold.Promotion)
		}
		live, owners = append(live, hold), append(owners, buyers[i])
	}
	o.Lapse(live[0])
	if _, err := o.try(t, o.Guest(), "AUTUMN 10", o.room.Stay(20, 21)); err != nil {
		t.Fatalf("the use of the lapsed hold is not given back: %v", err)
	}
	if _, err := o.Confirm(live[1].ID); err != nil {
		t.Fatal(err)
	}
	o.expect(t, 9, 1)
	owners[2].Release(live[2])
	o.expect(t, 8, 1)
}

// Of the promotions that apply by themselves the best one counts, alone; when its uses are gone, the next.
func TestTheBestPromotionApplies(t *testing.T) {
	t.Parallel()
	o := promote(t, inventory.NewPromotion{Uses: inventorytest.Of(int64(1)), Terms: inventory.PromotionTerms{BasisPoints: 2000}})
	o.another(t, inventory.NewPromotion{Terms: inventory.PromotionTerms{Name: "Ten off", Minor: 1000}})
	o.another(t, inventory.NewPromotion{Code: "HALF", Terms: inventory.PromotionTerms{BasisPoints: 5000, MinNights: 2}})
	o.another(t, inventory.NewPromotion{Terms: inventory.PromotionTerms{Name: "Never", BasisPoints: 9000, StayTo: inventorytest.Of(inventorytest.Nov(1))}})
	buyer := o.Guest()
	// 103.00: 20 % are 20.60; after that 10.00 off.
	first := buyer.Hold(o.room.Stay(3, 4))
	second := buyer.Hold(o.room.Stay(3, 4))
	if first.Total.Minor != 8240 || second.Total.Minor != 9300 || second.Promotion != nil {
		t.Errorf("the holds cost %s and %s", first.Total, second.Total)
	}
	o.expect(t, 1, 0)
	// The code is for two nights: 103.00 + 104.00, half of it.
	coded, err := o.try(t, o.Guest(), "half", o.room.Stay(3, 5))
	if err != nil || coded.Total.Minor != 10350 {
		t.Errorf("with the code it costs %s: %v", coded.Total, err)
	}
	for _, code := range []string{"half", "UNKNOWN"} {
		_, err = o.try(t, o.Guest(), code, o.room.Stay(3, 4))
		expectAnswer(t, o.Tenant, err, "PROMOTION_CODE_INVALID")
	}
	// A closed promotion lowers nothing.
	if _, err := o.Inventory.UpdatePromotion(t.Context(), o.Owner, inventorytest.Key(), o.promo.ID, inventory.PromotionChange{
		Terms: o.promo.Terms, State: inventory.PromotionStateClosed, Uses: inventorytest.Of(int64(9)),
	}); err != nil {
		t.Fatal(err)
	}
	if third := o.Guest().Hold(o.room.Stay(3, 4)); third.Total.Minor != 9300 {
		t.Errorf("the hold costs %s", third.Total)
	}
}

// A buyer who holds with the version of a quote pays what it said, or is told the new one.
func TestAQuoteIsThePriceOrRefused(t *testing.T) {
	t.Parallel()
	o := promote(t, inventory.NewPromotion{Uses: inventorytest.Of(int64(1)), Terms: inventory.PromotionTerms{BasisPoints: 1000}})
	buyer := o.Guest()
	stay := *o.room.Stay(3, 5).Stay
	quote := func() inventory.StayQuote {
		t.Helper()
		quoted, err := o.Inventory.Quote(t.Context(), buyer.Actor, []inventory.StayRequest{stay}, "")
		if err != nil || len(quoted.Refused) > 0 || quoted.Total == nil {
			t.Fatalf("quoted %+v, %v", quoted, err)
		}
		return quoted.Stays[0]
	}
	first := quote()
	// 103.00 and 104.00, 10 % less.
	if first.Price.Total != 18630 || first.Price.Nights[1].Total != 9360 {
		t.Fatalf("quoted %+v", first.Price)
	}
	stay.Quote = first.Version
	if hold, err := buyer.Try(inventory.LineRequest{Stay: &stay}); err != nil || hold.Total.Minor != first.Price.Total {
		t.Fatalf("held for %s: %v", hold.Total, err)
	}
	// The only use is taken: another price, and the refusal says which.
	other := o.Guest()
	_, err := other.Try(inventory.LineRequest{Stay: &stay})
	refusal := refusalIn(t, err)
	if refusal.Code != inventory.RefusalPriceChanged || refusal.Quote == nil || refusal.Quote.Stays[0].Price.Total != 20700 || refusal.Quote.Stays[0].Version == first.Version {
		t.Fatalf("refused with %+v", refusal)
	}
	stay.Quote = refusal.Quote.Stays[0].Version
	if hold, err := other.Try(inventory.LineRequest{Stay: &stay}); err != nil || hold.Total.Minor != 20700 {
		t.Fatalf("held for %s: %v", hold.Total, err)
	}
	o.Audit()
}

// Guests, charges and rounding reach the hold: its total is the sum of its lines, and its breakdown says why.
func TestAHoldKeepsItsPrice(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Stocked("Double", 5, 1, 30)
	property := room.Hotel.Property.ID
	if _, err := tenant.Inventory.SetGuestPrices(t.Context(), tenant.Owner, room.ID, nil, inventory.GuestPrices{
		BaseOccupancy: 1, ExtraAdult: 2000, Ages: []inventory.AgeBand{{FromAge: 0, ToAge: 5}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.Inventory.SetTaxesAndFees(t.Context(), tenant.Owner, property, []inventory.Charge{
		{Name: "VAT", Kind: inventory.ChargeKindPercent, Included: true, BasisPoints: 1000},
		{Name: "City tax", Kind: inventory.ChargeKindPersonNight, Minor: 150, ExemptBelow: 15},
		{Name: "Booking fee", Kind: inventory.ChargeKindStay, Minor: 501},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.Inventory.SetRoundingRule(t.Context(), tenant.Owner, inventory.RoundingRule{Level: inventory.RoundingLevelStay, Mode: "HALF_EVEN"}); err != nil {
		t.Fatal(err)
	}
	wish := room.Rooms(2, 3, 5)
	wish.Stay.Guests = []inventory.Guests{{Adults: 2}, {Adults: 1, ChildAges: []int64{4}}}
	hold := tenant.Guest().Hold(wish)
	// Two rooms at 103.00 and 104.00, one extra adult of 20.00 a night: 226.00 and 228.00. City tax of three
	// adults: 4.50 a night. The fee: 2.50 and 2.51.
	if hold.Total.Minor != 22600+22800+900+501 || hold.Lines[0].Amount.Minor != 22600+450+250 || hold.Lines[1].Amount.Minor != 22800+450+251 {
		t.Errorf("the hold costs %s: %+v", hold.Total, hold.Lines)
	}
	later := []inventory.Charge{{Name: "Resort fee", Kind: inventory.ChargeKindRoomNight, Minor: 5000}}
	if _, err := tenant.Inventory.SetTaxesAndFees(t.Context(), tenant.Owner, property, later); err != nil {
		t.Fatal(err)
	}
	prices, err := tenant.Inventory.HeldPrices(t.Context(), tenant.Owner, []inventory.HoldID{hold.ID})
	if err != nil || len(prices[hold.ID]) != 1 {
		t.Fatalf("%+v: %v", prices, err)
	}
	price := prices[hold.ID][0].Price
	// 10 % within 454.00 is 41.27.
	if price.Total != hold.Total.Minor || price.Rooms != 45400 || price.Added != 1401 || price.Tax != 4127 || price.Rounding.Mode != "HALF_EVEN" || price.Charges[1].Minor != 900 {
		t.Errorf("the breakdown is %+v", price)
	}
	tenant.Audit()
}

func TestPricesAreCheckedWhenTheyAreSet(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	room := tenant.Hotel().Room("Double")
	property := room.Hotel.Property.ID
	day, nights := time.Monday, int64(3)
	for want, err := range map[string]error{
		"baseOccupancy":           guestPrices(t, tenant, room, inventory.GuestPrices{BaseOccupancy: 3}),
		"extraAdultMinor":         guestPrices(t, tenant, room, inventory.GuestPrices{BaseOccupancy: 2, ExtraAdult: -1}),
		"singleReductionMinor":    guestPrices(t, tenant, room, inventory.GuestPrices{BaseOccupancy: 2, SingleReduction: 1e13}),
		"ages[0].fromAge":         guestPrices(t, tenant, room, inventory.GuestPrices{BaseOccupancy: 2, Ages: []inventory.AgeBand{{FromAge: 1, ToAge: 2}}}),
		"ages[1].fromAge":         guestPrices(t, tenant, room, inventory.GuestPrices{BaseOccupancy: 2, Ages: []inventory.AgeBand{{ToAge: 5}, {FromAge: 5, ToAge: 9}}}),
		"ages[0].toAge":           guestPrices(t, tenant, room, inventory.GuestPrices{BaseOccupancy: 2, Ages: []inventory.AgeBand{{ToAge: 18}}}),
		"adjustments[0]":          adjust(t, tenant, room, inventory.RateAdjustment{MinNights: &nights, Weekday: &day, Minor: 1}),
		"adjustments[1]":          adjust(t, tenant, room, inventory.RateAdjustment{Weekday: &day, Minor: 1}, inventory.RateAdjustment{Weekday: &day, Minor: 2}),
		"adjustments[0].basisPoi": adjust(t, tenant, room, inventory.RateAdjustment{Weekday: &day, BasisPoints: 10001}),
		"charges[0].basisPoints":  charge(t, tenant, room, inventory.Charge{Name: "Fee", Kind: inventory.ChargeKindStay, BasisPoints: 1}),
		"charges[0].exemptBelow":  charge(t, tenant, room, inventory.Charge{Name: "Fee", Kind: inventory.ChargeKindStay, ExemptBelow: 3}),
		"charges[0].amountMinor":  charge(t, tenant, room, inventory.Charge{Name: "Fee", Kind: inventory.ChargeKindStay, Minor: -5}),
		"charges[1].name":         charge(t, tenant, room, inventory.Charge{Name: "Fee", Kind: inventory.ChargeKindStay}, inventory.Charge{Name: "Fee", Kind: inventory.ChargeKindStay}),
		"charges[1]": charge(t, tenant, room, inventory.Charge{Name: "VAT", Kind: inventory.ChargeKindPercent, Included: true},
			inventory.Charge{Name: "GST", Kind: inventory.ChargeKindPercent, Included: true}),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	for want, input := range map[string]inventory.NewPromotion{
		"name":        {Terms: inventory.PromotionTerms{BasisPoints: 1, MinNights: 1}},
		"basisPoints": {Terms: inventory.PromotionTerms{Name: "Both", BasisPoints: 1, Minor: 1, MinNights: 1}},
		"minNights":   {Terms: inventory.PromotionTerms{Name: "Long", BasisPoints: 1, MinNights: 367}},
		"stayTo":      {Terms: inventory.PromotionTerms{Name: "Back", BasisPoints: 1, MinNights: 1, StayFrom: inventorytest.Of(inventorytest.Nov(2)), StayTo: inventorytest.Of(inventorytest.Nov(1))}},
		"code":        {Terms: inventory.PromotionTerms{Name: "Short", BasisPoints: 1, MinNights: 1}, Code: "abc"},
		"uses":        {Terms: inventory.PromotionTerms{Name: "Few", BasisPoints: 1, MinNights: 1}, Uses: inventorytest.Of(int64(-1))},
	} {
		input.Property = property
		if _, err := tenant.Inventory.CreatePromotion(t.Context(), tenant.Owner, inventorytest.Key(), input); err == nil || !strings.HasPrefix(err.Error(), want+":") {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if tenant.Rows("promotions")+tenant.Rows("stay_charges")+tenant.Rows("rate_adjustments")+tenant.Rows("guest_prices") != 0 {
		t.Error("something was written of what was refused")
	}
}

func guestPrices(t *testing.T, tenant *inventorytest.Tenant, room *inventorytest.Room, prices inventory.GuestPrices) error {
	t.Helper()
	_, err := tenant.Inventory.SetGuestPrices(t.Context(), tenant.Owner, room.ID, nil, prices)
	return err
}

func adjust(t *testing.T, tenant *inventorytest.Tenant, room *inventorytest.Room, adjustments ...inventory.RateAdjustment) error {
	t.Helper()
	_, err := tenant.Inventory.SetRateAdjustments(t.Context(), tenant.Owner, room.Hotel.Property.ID, nil, adjustments)
	return err
}

func charge(t *testing.T, tenant *inventorytest.Tenant, room *inventorytest.Room, charges ...inventory.Charge) error {
	t.Helper()
	_, err := tenant.Inventory.SetTaxesAndFees(t.Context(), tenant.Owner, room.Hotel.Property.ID, charges)
	return err
}
