package inventory_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// saidOfNight is what a test has set on one night, of a room type or of a rate plan.
type saidOfNight struct {
	stop, arrival, departure bool
	minArrival, maxArrival   int64
	minThrough, maxThrough   int64
}

func drawNight(t *rapid.T, label string) saidOfNight {
	flag := func(name string) bool { return rapid.IntRange(0, 5).Draw(t, label+name) == 0 }
	length := func(name string) int64 {
		return rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 2, 3}).Draw(t, label+name)
	}
	n := saidOfNight{stop: flag(" stop"), arrival: flag(" cta"), departure: flag(" ctd"), minArrival: length(" min arrival"), minThrough: length(" min through")}
	if most := length(" max arrival"); most >= n.minArrival {
		n.maxArrival = most
	}
	if most := length(" max through"); most >= n.minThrough {
		n.maxThrough = most
	}
	return n
}

func (n saidOfNight) change() inventory.NightChange {
	return inventory.NightChange{
		StopSell: &n.stop, ClosedToArrival: &n.arrival, ClosedToDeparture: &n.departure, MinStayArrival: &n.minArrival,
		MaxStayArrival: &n.maxArrival, MinStayThrough: &n.minThrough, MaxStayThrough: &n.maxThrough,
	}
}

// codes are what the definitions say of a stay, written down once more and for one level: the test's own
// opinion.
func codes(said []saidOfNight, level inventory.RuleLevel, first, last int) []string {
	var broken []string
	nights := int64(last - first)
	add := func(is bool, code inventory.RefusalCode, night int) {
		if is {
			broken = append(broken, fmt.Sprint(code, level, night))
		}
	}
	for i := first; i < last; i++ {
		add(said[i].stop, inventory.RefusalStopSell, i)
		add(nights < said[i].minThrough, inventory.RefusalMinStayThrough, i)
		add(said[i].maxThrough > 0 && nights > said[i].maxThrough, inventory.RefusalMaxStayThrough, i)
	}
	add(said[first].arrival, inventory.RefusalClosedToArrival, first)
	add(nights < said[first].minArrival, inventory.RefusalMinStayArrival, first)
	add(said[first].maxArrival > 0 && nights > said[first].maxArrival, inventory.RefusalMaxStayArrival, first)
	add(said[last].departure, inventory.RefusalClosedToDeparture, last)
	return broken
}

// windowCode is what a booking window says of an arrival so many days ahead.
func windowCode(w inventory.BookingWindow, level inventory.RuleLevel, ahead int64, night int) []string {
	switch {
	case ahead < w.MinAdvanceDays:
		return []string{fmt.Sprint(inventory.RefusalTooLateToBook, level, night)}
	case w.MaxAdvanceDays != nil && ahead > *w.MaxAdvanceDays:
		return []string{fmt.Sprint(inventory.RefusalTooEarlyToBook, level, night)}
	}
	return nil
}

// R19, R20, R22: over random restrictions of a room type and of a rate plan, and random windows, a stay
// against which nothing speaks can be held and extended, and every other is refused with exactly the codes
// that whyNot gives and the definitions ask for.
func TestEveryStayThatIsOfferedCanBeHeld(t *testing.T) {
	t.Parallel()
	tenant := inventorytest.New(t)
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	today := func() civil.Date { return civil.DateOf(tenant.Now().In(vienna)) }
	rapid.Check(t, func(rt *rapid.T) {
		const dates = 6 // the last is a date of departure alone
		before := today()
		first := before.AddDays(2)
		hotel := tenant.Hotel()
		room := hotel.Room("Double")
		room.Stock(50, first, first.AddDays(dates-1))
		plan := tenant.Plan(hotel, inventory.NewRatePlan{Code: "BAR", Name: "Best", Refundable: true, Derivation: inventory.Derivation{Kind: inventory.DerivationPercent, BasisPoints: -500}})
		var said, planSaid [dates]saidOfNight
		var changes []inventory.DatedChange
		for i := range dates {
			said[i], planSaid[i] = drawNight(rt, fmt.Sprint("night ", i)), drawNight(rt, fmt.Sprint("plan ", i))
			changes = append(changes, inventory.DatedChange{Night: first.AddDays(i), Change: said[i].change()})
			tenant.SetPlan(room, plan, first.AddDays(i), first.AddDays(i), planSaid[i].change())
		}
		if _, err := tenant.Inventory.WriteNights(t.Context(), tenant.Owner, room.ID, changes); err != nil {
			rt.Fatal(err)
		}
		var windows [2]inventory.BookingWindow
		for i, scope := range []inventory.WindowScope{{Property: &hotel.Property.ID}, {RatePlan: &plan}} {
			windows[i].MinAdvanceDays = rapid.Int64Range(0, 3).Draw(rt, "min advance")
			if rapid.Bool().Draw(rt, "bounded") {
				most := windows[i].MinAdvanceDays + rapid.Int64Range(0, 5).Draw(rt, "max advance")
				windows[i].MaxAdvanceDays = &most
			}
			if _, err := tenant.Inventory.SetBookingWindow(t.Context(), tenant.Owner, scope, windows[i]); err != nil {
				rt.Fatal(err)
			}
		}
		guest := tenant.Guest()
		for range 4 {
			from := rapid.IntRange(0, dates-2).Draw(rt, "arrival")
			to := rapid.IntRange(from+1, dates-1).Draw(rt, "departure")
			wish := room.On(1, first.AddDays(from), first.AddDays(to))
			want := codes(said[:], inventory.RuleLevelRoomType, from, to)
			want = append(want, windowCode(windows[0], inventory.RuleLevelHotel, int64(2+from), from)...)
			if rapid.Bool().Draw(rt, "as the plan") {
				wish.Stay.RatePlan = &plan
				want = append(want, codes(planSaid[:], inventory.RuleLevelRatePlan, from, to)...)
				want = append(want, windowCode(windows[1], inventory.RuleLevelRatePlan, int64(2+from), from)...)
			}
			expectStay(t, rt, tenant, guest, first, wish, want, func() bool { return today() != before })
		}
	})
}

// expectStay asks why a stay could not be held, and holds it; over says that the day has changed meanwhile,
// and with it what is right.
func expectStay(t *testing.T, rt *rapid.T, tenant *inventorytest.Tenant, guest inventorytest.Buyer, first civil.Date, wish inventory.LineRequest, want []string, over func() bool) {
	t.Helper()
	answer, err := tenant.Inventory.WhyNot(t.Context(), guest.Actor, *wish.Stay)
	if err != nil {
		rt.Fatal(err)
	}
	var asked, refused []string
	for _, o := range answer.Objections {
		asked = append(asked, fmt.Sprint(o.Code, o.Level, o.Night.DaysSince(first)))
	}
	hold, err := guest.Try(wish)
	var refusal *inventory.Refusal
	switch {
	case errors.As(err, &refusal):
		for _, line := range refusal.Lines {
			refused = append(refused, fmt.Sprint(line.Code, line.Level, line.Night.DaysSince(first)))
		}
	case err != nil:
		rt.Fatal(err)
	default:
		if _, err := guest.TryExtend(hold); err != nil {
			rt.Errorf("%+v was held and cannot be extended: %v", *wish.Stay, err)
		}
		guest.Release(hold)
	}
	for _, list := range [][]string{want, asked, refused} {
		slices.Sort(list)
	}
	if over() {
		return
	}
	if !slices.Equal(asked, want) || !slices.Equal(refused, want) {
		rt.Errorf("%+v: whyNot says %v, the hold %v, want %v", *wish.Stay, asked, refused, want)
	}
}
