package trade_test

import (
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/trade"
)

// Start and End are both nights, ranges that touch do not meet, and other nights stay as they are.
func TestCountsOfRooms(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.take(counts("", count(2, 3, 1, 8, 6, 2, 99, 1)+count(4, 4, 1, 9)+count(12, 12, 1, 4)))
	for day, want := range map[int]int64{1: 5, 2: 7, 3: 7, 4: 9, 5: 5, 12: 4} {
		if got := d.night(d.double, day).Available; got != want {
			t.Errorf("on day %d there are %d rooms, want %d", day, got, want)
		}
	}
	if got := d.night(d.single, 2).Available; got != 3 {
		t.Errorf("of the other room type there are %d", got)
	}
}

// CountType 2 is what may still be sold, so that what is sold here comes on top of it.
func TestAvailableIsBesidesWhatIsSold(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	guest := d.Guest()
	guest.Hold(d.double.Rooms(2, 2, 4))
	due := d.Guest().Hold(d.double.Stay(3, 4))
	d.Lapse(due)
	d.take(counts("", count(1, 3, 2, 4)))
	for day := 1; day <= 3; day++ {
		if got := d.night(d.double, day).Available; got != 4 {
			t.Errorf("on day %d there are %d rooms, want 4", day, got)
		}
	}
	d.Guest().Hold(d.double.Rooms(4, 2, 4))
	if _, err := d.Guest().Try(d.double.Stay(2, 4)); err == nil {
		t.Error("a room was sold that is not there")
	}
	// As AlpineBits says: no counts, no rooms; and a season in which the hotel is closed.
	d.take(counts("", `<Inventory>`+control(5, 5, `InvTypeCode="DBL"`)+`</Inventory><Inventory>`+control(6, 6, `AllInvCode="true"`)+`</Inventory>`))
	if d.night(d.double, 5).Available != 0 || d.night(d.single, 5).Available != 3 || d.night(d.double, 6).Available != 0 || d.night(d.single, 6).Available != 0 {
		t.Error("rooms are left that were closed")
	}
	d.Audit()
}

// complete marks a message as the whole of what there is.
func complete(message string) string {
	for _, list := range []string{"<Inventories ", "<AvailStatusMessages ", "<RatePlans "} {
		message = strings.Replace(message, list, `<UniqueID Type="16" ID="1" Instance="CompleteSet"/>`+list, 1)
	}
	return message
}

// A complete set closes what it does not name, and what was sold stays sold.
func TestCompleteSetOfCounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Guest().Hold(d.single.Stay(1, 2))
	d.take(complete(counts("", count(2, 3, 2, 1))))
	for day := 1; day <= 10; day++ {
		want := int64(0)
		if day == 2 || day == 3 {
			want = 1
		}
		if got := d.night(d.double, day).Available; got != want {
			t.Errorf("on day %d there are %d rooms, want %d", day, got, want)
		}
		if got := d.night(d.single, day).Available; got != 0 {
			t.Errorf("on day %d there are %d single rooms", day, got)
		}
	}
	d.take(complete(counts("", `<Inventory/>`)))
	if d.night(d.double, 2).Available != 0 {
		t.Error("a complete set of nothing leaves rooms for sale")
	}
	d.Audit()
}

func TestRestrictions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.take(avails("", `
		<AvailStatusMessage>`+control(1, 7, `InvTypeCode="DBL" Mon="true" Tue="1"`)+`<RestrictionStatus Restriction="Arrival" Status="Close"/></AvailStatusMessage>
		<AvailStatusMessage>`+control(1, 1, `InvTypeCode="DBL"`)+`<RestrictionStatus Restriction="Departure" Status="Close"/></AvailStatusMessage>
		<AvailStatusMessage>`+control(2, 2, ``)+`<RestrictionStatus Status="Close"/></AvailStatusMessage>
		<AvailStatusMessage BookingLimit="2" BookingLimitMessageType="SetLimit">`+control(3, 3, `InvTypeCode="DBL"`)+`
			<LengthsOfStay>
				<LengthOfStay MinMaxMessageType="SetMinLOS" Time="2" TimeUnit="Day"/><LengthOfStay MinMaxMessageType="SetMaxLOS" Time="5" TimeUnit="Day"/>
				<LengthOfStay MinMaxMessageType="SetForwardMinStay" Time="3" TimeUnit="Day"/><LengthOfStay MinMaxMessageType="SetForwardMaxStay" Time="6" TimeUnit="Day"/>
			</LengthsOfStay></AvailStatusMessage>`))
	for day := 1; day <= 7; day++ {
		weekday := inventorytest.Nov(day).Weekday().String()
		if got, want := d.night(d.double, day).ClosedToArrival, weekday == "Monday" || weekday == "Tuesday"; got != want {
			t.Errorf("%s is closed to arrival: %t", weekday, got)
		}
	}
	if !d.night(d.double, 1).ClosedToDeparture || d.night(d.double, 1).StopSell {
		t.Errorf("day 1 is %+v", d.night(d.double, 1))
	}
	if !d.night(d.double, 2).StopSell || !d.night(d.single, 2).StopSell {
		t.Error("a message without room type closes all")
	}
	third := d.night(d.double, 3)
	if third.Available != 2 || *third.MinStayArrival != 2 || *third.MaxStayArrival != 5 || *third.MinStayThrough != 3 || *third.MaxStayThrough != 6 {
		t.Errorf("day 3 is %+v", third)
	}
	// One restriction leaves the others.
	d.take(avails("", `<AvailStatusMessage>`+control(3, 3, `InvTypeCode="DBL"`)+`<LengthsOfStay><LengthOfStay MinMaxMessageType="RemoveMinLOS"/></LengthsOfStay></AvailStatusMessage>`))
	if third = d.night(d.double, 3); third.MinStayArrival != nil || *third.MaxStayArrival != 5 {
		t.Errorf("day 3 is %+v", third)
	}
	// A complete set lifts what it does not name.
	d.take(complete(avails("", `<AvailStatusMessage>`+control(4, 4, `InvTypeCode="DBL"`)+`<RestrictionStatus Restriction="Master" Status="Close"/></AvailStatusMessage>`)))
	if third = d.night(d.double, 3); third.MaxStayArrival != nil || d.night(d.single, 2).StopSell || !d.night(d.double, 4).StopSell || d.night(d.double, 1).ClosedToDeparture {
		t.Error("a complete set leaves restrictions")
	}
}

func rate(first, last int, attributes, amounts string) string {
	return `<RatePlan RatePlanCode="STANDARD" RatePlanNotifType="Overlay" CurrencyCode="EUR"><Rates><Rate InvTypeCode="DBL" Start="` + inventorytest.Nov(first).String() + `" End="` +
		inventorytest.Nov(last).String() + `" ` + attributes + `><BaseByGuestAmts>` + amounts + `</BaseByGuestAmts></Rate></Rates></RatePlan>`
}

func TestRates(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	answer := d.take(plans(rate(1, 2, "", `<BaseByGuestAmt NumberOfGuests="1" AmountAfterTax="80.5"/><BaseByGuestAmt NumberOfGuests="2" AmountAfterTax="99.50"/><BaseByGuestAmt NumberOfGuests="3" AmountAfterTax="150"/>`) +
		rate(3, 3, `UnitMultiplier="1" RateTimeUnit="Day"`, `<BaseByGuestAmt AmountAfterTax="12345" DecimalPlaces="2" AmountBeforeTax="11000"/>`) +
		rate(4, 4, "", `<BaseByGuestAmt NumberOfGuests="2" Type="7" AmountAfterTax="50.00"/>`)))
	for day, want := range map[int]int64{1: 99_50, 2: 99_50, 3: 123_45, 4: 100_00, 5: inventorytest.NightPrice(inventorytest.Nov(5))} {
		if got := d.night(d.double, day).Price.Minor; got != want {
			t.Errorf("day %d costs %d, want %d", day, got, want)
		}
	}
	// What is not kept is said.
	for _, want := range []string{"<Warning Type=\"11\"", "the price for 1 guests is not kept", "the price for 3 guests is not kept", "@AmountBeforeTax is not kept"} {
		if !strings.Contains(string(answer.Document), want) {
			t.Errorf("the answer does not say %q:\n%s", want, answer.Document)
		}
	}
}

func TestWhatIsNotKeptIsSaidOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	answer := d.take(counts("", strings.Replace(count(1, 1, 1, 5, 4, 2), "<InvCounts>", `<UniqueID ID="1"/><InvCounts>`, 1)+
		strings.Replace(count(2, 2, 1, 5), "<InvCounts>", `<UniqueID ID="2"/><InvCounts>`, 1)))
	for _, want := range []string{"CountType 4 is not kept", "UniqueID is not kept, 2 times"} {
		if !strings.Contains(string(answer.Document), want) {
			t.Errorf("the answer does not say %q:\n%s", want, answer.Document)
		}
	}
}

// The same message again changes nothing, whatever happened between, and is answered the same.
func TestRepetition(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := counts(`EchoToken="17" TimeStamp="2097-10-01T10:00:00Z"`, count(1, 1, 2, 4))
	answered := d.take(first)
	d.take(counts(`EchoToken="18" TimeStamp="2097-10-01T10:00:05Z"`, count(1, 1, 2, 1)))
	again := d.send(first)
	if again.Outcome != trade.OutcomeRepeated || string(again.Document) != string(answered.Document) {
		t.Errorf("the repetition is answered %s:\n%s", again.Outcome, again.Document)
	}
	if got := d.night(d.double, 1).Available; got != 1 {
		t.Errorf("the repetition left %d rooms", got)
	}
	if !strings.Contains(string(again.Document), `EchoToken="17"`) {
		t.Errorf("the answer has not the message's EchoToken:\n%s", again.Document)
	}
	d.refuse(counts(`EchoToken="17" TimeStamp="2097-10-01T10:00:00Z"`, count(1, 1, 2, 3)), "came before with other content")
	messages, more, err := d.trade.Messages(t.Context(), d.Owner, d.hotel.Property.ID, nil, 10)
	if err != nil || more || len(messages) != 2 || messages[0].EchoToken != "18" || messages[1].Nights != 1 || messages[1].Author != d.Owner.Key.String() {
		t.Errorf("the messages are %+v, %v", messages, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	open := `<AvailStatusMessage>` + control(1, 1, `InvTypeCode="DBL"`) + `<RestrictionStatus Status="Open"/></AvailStatusMessage>`
	stay := func(day int, lengths string) string {
		return `<AvailStatusMessage>` + control(day, day, `InvTypeCode="DBL"`) + `<LengthsOfStay>` + lengths + `</LengthsOfStay></AvailStatusMessage>`
	}
	deep := strings.Repeat("<a>", 40) + strings.Repeat("</a>", 40)
	for name, test := range map[string]struct {
		body  string
		wants []string
	}{
		"nothing":              {"", []string{`<OTA_ErrorRS`, "got none"}},
		"no XML":               {"night,physical", []string{`<OTA_ErrorRS`, `Type="7"`}},
		"not closed":           {`<OTA_HotelAvailNotifRQ xmlns="http://www.opentravel.org/OTA/2003/05">`, []string{`<OTA_ErrorRS`, `Code="459"`}},
		"other message":        {message("OTA_ReadRQ", "", ""), []string{`<OTA_ErrorRS`, "OTA_ReadRQ"}},
		"other namespace":      {strings.Replace(avails("", open), "opentravel.org", "example.com", 1), []string{`<OTA_ErrorRS`, "namespace"}},
		"document type":        {`<!DOCTYPE a [<!ENTITY b "c">]>` + avails("", open), []string{"DOCTYPE"}},
		"external entity":      {`<!DOCTYPE a SYSTEM "file:///etc/passwd">` + avails("", open), []string{"DOCTYPE"}},
		"entity":               {strings.Replace(avails("", open), `"DBL"`, `"&b;"`, 1), []string{`<OTA_ErrorRS`}},
		"other encoding":       {strings.Replace(avails("", open), "UTF-8", "UTF-16", 1), []string{"UTF-8"}},
		"no UTF-8":             {strings.Replace(avails("", open), "DBL", "D\xe4L", 1), []string{"UTF-8"}},
		"too deep":             {avails("", deep), []string{"deep"}},
		"too many elements":    {avails("", strings.Repeat("<a/>", 50_001)), []string{"at most 50000 elements"}},
		"attribute twice":      {strings.Replace(avails("", open), `InvTypeCode=`, `InvTypeCode="SGL" InvTypeCode=`, 1), []string{"twice"}},
		"test":                 {avails(`Target="Test"`, open), []string{"@Target", "Production"}},
		"no hotel code":        {strings.Replace(avails("", open), `HotelCode="H1"`, "", 1), []string{`Type="10"`, `Code="321"`, "HotelCode"}},
		"unknown hotel":        {strings.Replace(avails("", open), `"H1"`, `"H2"`, 1), []string{`Code="392"`, "H2"}},
		"unknown room type":    {strings.Replace(avails("", open), `"DBL"`, `"XXL"`, 1), []string{`Code="402"`, "XXL", "StatusApplicationControl"}},
		"unknown rate plan":    {strings.Replace(plans(rate(1, 1, "", `<BaseByGuestAmt AmountAfterTax="1"/>`)), "STANDARD", "BAR", 1), []string{`Code="249"`, "BAR"}},
		"single room":          {strings.Replace(counts("", count(1, 1, 1, 5)), `InvTypeCode`, `InvCode="101" InvTypeCode`, 1), []string{"InvCode"}},
		"no date":              {strings.Replace(avails("", open), inventorytest.Nov(1).String(), "2097-02-30", 1), []string{`Code="15"`, "2097-02-30"}},
		"year":                 {strings.Replace(avails("", open), inventorytest.Nov(1).String(), "1997-02-03", 1), []string{`Code="15"`, "2000"}},
		"end before start":     {strings.Replace(avails("", open), inventorytest.Nov(1).String(), "2098-02-03", 1), []string{`Code="404"`}},
		"long range":           {strings.Replace(avails("", open), inventorytest.Nov(1).String(), "2090-02-03", 1), []string{`Code="404"`, "1827"}},
		"too many nights":      {counts("", count(1, 1800, 1, 5)+strings.ReplaceAll(count(1, 1800, 1, 5), "DBL", "SGL")+count(1801, 1900, 1, 5)), []string{"3660", "in parts"}},
		"no weekday":           {strings.Replace(avails("", open), `InvTypeCode`, `Sun="0" Mon="0" Tue="0" Weds="0" Thur="0" Fri="0" Sat="0" InvTypeCode`, 1), []string{`Code="404"`}},
		"negative count":       {counts("", count(1, 1, 1, -5)), []string{"@Count", "0 to 100000"}},
		"too high a count":     {counts("", count(1, 1, 1, 100_001)), []string{"@Count"}},
		"count twice":          {counts("", count(1, 1, 1, 5, 1, 6)), []string{"CountType 1 is there twice"}},
		"more broken than are": {counts("", count(1, 1, 6, 6)), []string{"6 rooms out of order", "CountType=6"}},
		"no such night yet":    {counts("", count(11, 11, 6, 1)), []string{"does not exist yet"}},
		"night twice":          {counts("", count(1, 4, 1, 5)+count(4, 5, 1, 6)), []string{"Inventory[2]", "set before to another value"}},
		"rules contradict":     {avails("", stay(1, `<LengthOfStay MinMaxMessageType="SetMinLOS" Time="5"/><LengthOfStay MinMaxMessageType="SetMaxLOS" Time="4"/>`)), []string{"SetMaxLOS", "at least minStayArrival 5"}},
		"rule twice":           {avails("", stay(1, `<LengthOfStay MinMaxMessageType="SetMinLOS" Time="5"/><LengthOfStay MinMaxMessageType="SetMinLOS" Time="4"/>`)), []string{"twice"}},
		"rule too long":        {avails("", stay(1, `<LengthOfStay MinMaxMessageType="SetMinLOS" Time="367"/>`)), []string{"@Time", "366"}},
		"pattern":              {avails("", stay(1, `<LengthOfStay MinMaxMessageType="FullPatternLOS" Time="7"/>`)), []string{"FullPatternLOS"}},
		"hours":                {avails("", stay(1, `<LengthOfStay MinMaxMessageType="SetMinLOS" Time="7" TimeUnit="Hour"/>`)), []string{"Hour"}},
		"open and closed":      {avails("", strings.Replace(open, "<RestrictionStatus", `<RestrictionStatus Status="Close"/><RestrictionStatus`, 1)), []string{"both opened and closed"}},
		"unknown status":       {strings.Replace(avails("", open), `"Open"`, `"Ajar"`, 1), []string{"Ajar"}},
		"adjusted limit":       {strings.Replace(avails("", open), `<AvailStatusMessage>`, `<AvailStatusMessage BookingLimit="1" BookingLimitMessageType="AdjustLimit">`, 1), []string{"SetLimit"}},
		"other currency":       {strings.Replace(plans(rate(1, 1, "", `<BaseByGuestAmt AmountAfterTax="1"/>`)), "EUR", "USD", 1), []string{`Code="61"`, "EUR"}},
		"two currencies":       {plans(rate(1, 1, "", `<BaseByGuestAmt CurrencyCode="CHF" AmountAfterTax="1"/>`)), []string{`Code="61"`}},
		"negative price":       {plans(rate(1, 1, "", `<BaseByGuestAmt AmountAfterTax="-1"/>`)), []string{`Code="320"`, "not negative", "-1"}},
		"price too exact":      {plans(rate(1, 1, "", `<BaseByGuestAmt AmountAfterTax="1.005"/>`)), []string{"at most 2 decimals"}},
		"price too high":       {plans(rate(1, 1, "", `<BaseByGuestAmt AmountAfterTax="99999999999999999999"/>`)), []string{"@AmountAfterTax"}},
		"price overflows":      {plans(rate(1, 1, "", `<BaseByGuestAmt NumberOfGuests="2" Type="7" AmountAfterTax="9999999999.99"/>`)), []string{"too high"}},
		"price with exponent":  {plans(rate(1, 1, "", `<BaseByGuestAmt AmountAfterTax="1e3"/>`)), []string{"1e3"}},
		"before tax alone":     {plans(rate(1, 1, "", `<BaseByGuestAmt AmountBeforeTax="1"/>`)), []string{"AmountAfterTax"}},
		"price of a week":      {plans(rate(1, 1, `UnitMultiplier="7"`, `<BaseByGuestAmt AmountAfterTax="1"/>`)), []string{"price of one night"}},
		"for more guests":      {plans(rate(1, 1, "", `<BaseByGuestAmt NumberOfGuests="3" AmountAfterTax="1"/>`)), []string{"at most 2 guests"}},
		"complete rates":       {complete(plans(rate(1, 1, "", `<BaseByGuestAmt AmountAfterTax="1"/>`))), []string{"CompleteSet"}},
		"one of several":       {counts("", count(1, 9, 1, 50)+strings.Replace(count(1, 1, 1, 5), "DBL", "XXL", 1)), []string{"XXL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *d
			own.t, own.Tenant = t, d.For(t)
			own.refuse(test.body, test.wants...)
		})
	}
}

// What is exported and imported again changes nothing.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	percent, yes, two, nine := int64(20), true, int64(2), int64(9)
	d.double.Set(2, 6, inventory.NightChange{OversellPercent: &percent, ClosedToArrival: &yes, MinStayArrival: &two, MaxStayThrough: &nine})
	d.double.Set(4, 5, inventory.NightChange{StopSell: &yes, OutOfOrder: &two})
	d.Guest().Hold(d.double.Rooms(3, 7, 9))
	before := d.state()
	for _, kind := range trade.Kinds() {
		answer := d.take(d.export(kind))
		if strings.Contains(string(answer.Document), "<Warning") {
			t.Errorf("what was exported is not wholly understood:\n%s", answer.Document)
		}
	}
	if after := d.state(); after != before {
		t.Errorf("a round trip changes\n%s\nto\n%s", before, after)
	}
	// The percentage is still one: it follows the rooms.
	rooms := int64(10)
	d.double.Set(2, 2, inventory.NightChange{Physical: &rooms})
	if got := d.night(d.double, 2).Available; got != 12 {
		t.Errorf("ten rooms and a fifth are %d", got)
	}
	d.Audit()
}

func TestWhoMaySend(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	partner := d.Partner("Agency")
	if _, err := d.trade.Take(t.Context(), partner.Actor, []byte(counts("", count(1, 1, 1, 9)))); fault.KindOf(err) != fault.KindDenied {
		t.Errorf("a partner's message is answered %v", err)
	}
	if _, err := d.trade.Export(t.Context(), partner.Actor, trade.KindRates, d.hotel.Property.ID, inventorytest.Nov(1), inventorytest.Nov(2)); fault.KindOf(err) != fault.KindDenied {
		t.Errorf("a partner's export is answered %v", err)
	}
	other := newDesk(t)
	other.code("H9")
	if got := string(other.send(counts("", count(1, 1, 1, 9))).Document); !strings.Contains(got, `Code="392"`) {
		t.Errorf("another tenant's hotel is answered:\n%s", got)
	}
	if _, err := other.trade.Export(t.Context(), other.Owner, trade.KindRates, d.hotel.Property.ID, inventorytest.Nov(1), inventorytest.Nov(2)); fault.KindOf(err) != fault.KindNotFound {
		t.Errorf("the export of another tenant's hotel is answered %v", err)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	second := d.Hotel()
	set := func(input trade.SetCodes) error {
		_, err := d.trade.SetCodes(t.Context(), d.Owner, inventorytest.Key(), input)
		return err
	}
	double, single := d.double.ID, d.single.ID
	for name, test := range map[string]struct {
		input trade.SetCodes
		kind  fault.Kind
		want  string
	}{
		"another hotel's":     {trade.SetCodes{Property: second.Property.ID, Hotel: "H1"}, fault.KindConflict, "H1"},
		"none":                {trade.SetCodes{Property: second.Property.ID}, fault.KindInvalid, "hotelCode"},
		"spaces":              {trade.SetCodes{Property: second.Property.ID, Hotel: " H2"}, fault.KindInvalid, "hotelCode"},
		"another's room type": {trade.SetCodes{Property: second.Property.ID, Hotel: "H2", RoomTypes: []trade.RoomTypeCode{{RoomType: double, Code: "A"}}}, fault.KindInvalid, "roomTypes[0].roomType"},
		"code twice":          {trade.SetCodes{Property: d.hotel.Property.ID, Hotel: "H1", RoomTypes: []trade.RoomTypeCode{{RoomType: double, Code: "A"}, {RoomType: single, Code: "A"}}}, fault.KindInvalid, "roomTypes[1].code"},
		"room type twice":     {trade.SetCodes{Property: d.hotel.Property.ID, Hotel: "H1", RoomTypes: []trade.RoomTypeCode{{RoomType: double, Code: "A"}, {RoomType: double, Code: "B"}}}, fault.KindInvalid, "roomTypes[1].roomType"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := set(test.input); fault.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	// Two room types may exchange their codes.
	if err := set(trade.SetCodes{Property: d.hotel.Property.ID, Hotel: "H1", RoomTypes: []trade.RoomTypeCode{{RoomType: double, Code: "SGL"}, {RoomType: single, Code: "DBL"}}}); err != nil {
		t.Fatal(err)
	}
	codes, err := d.trade.Codes(t.Context(), d.Owner, d.hotel.Property.ID)
	if err != nil || codes.Hotel != "H1" || codes.StandardRate != trade.DefaultStandardRate || len(codes.RoomTypes) != 2 {
		t.Errorf("the codes are %+v, %v", codes, err)
	}
	d.take(counts("", count(1, 1, 1, 9)))
	if d.night(d.single, 1).Available != 9 {
		t.Error("the code does not mean the room type that it was given to")
	}
}

// A rate plan has prices and restrictions of its own, and leaves those of the room type.
func TestRatePlans(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	plan, err := d.Inventory.CreateRatePlan(t.Context(), d.Owner, inventorytest.Key(), inventory.NewRatePlan{Property: d.hotel.Property.ID, Code: "BAR", Name: "Best rate", Refundable: true})
	if err != nil {
		t.Fatal(err)
	}
	before := d.state()
	d.take(strings.Replace(plans(rate(1, 4, "", `<BaseByGuestAmt AmountAfterTax="77"/>`)), "STANDARD", "BAR", 1))
	d.take(avails("", `<AvailStatusMessage>`+control(3, 3, `InvTypeCode="DBL" RatePlanCode="BAR"`)+`<RestrictionStatus Status="Close"/></AvailStatusMessage>`))
	stay := func(checkIn, checkOut int) inventory.LineRequest {
		wish := d.double.Stay(checkIn, checkOut)
		wish.Stay.RatePlan = &plan.ID
		return wish
	}
	if hold := d.Guest().Hold(stay(1, 3)); hold.Total.Minor != 2*77_00 {
		t.Errorf("two nights of the plan cost %d", hold.Total.Minor)
	}
	if _, err := d.Guest().Try(stay(3, 4)); err == nil {
		t.Error("the plan was sold on a night on which it is closed")
	}
	d.Guest().Hold(d.double.Stay(3, 4))
	if after := d.export(trade.KindRates); !strings.Contains(before, after) {
		t.Errorf("the standard rate is now\n%s", after)
	}
	d.refuse(avails("", `<AvailStatusMessage>`+control(3, 3, `InvTypeCode="DBL" RatePlanCode="BAR"`)+`<LengthsOfStay><LengthOfStay MinMaxMessageType="SetMinLOS" Time="5"/><LengthOfStay MinMaxMessageType="SetMaxLOS" Time="2"/></LengthsOfStay></AvailStatusMessage>`), "at least minStayArrival 5")
	d.refuse(avails("", `<AvailStatusMessage>`+control(3, 3, `InvTypeCode="DBL" RatePlanCode="OTHER"`)+`<RestrictionStatus Status="Open"/></AvailStatusMessage>`), `Code="249"`)
}
