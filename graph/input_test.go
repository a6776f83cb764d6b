package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What is malformed is refused with the path of the field and what was expected, and nothing is
// written.
func TestBadInput(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	const place = `mutation($input: PlaceHoldInput!) { placeHold(input: $input) { __typename } }`
	lines := func(lines ...vars) vars {
		return vars{"input": vars{"requestKey": key(), "lines": append([]vars{}, lines...)}}
	}
	stay := func(in, out any, rooms any) vars {
		return lines(vars{"stay": vars{"roomType": h.double, "checkIn": in, "checkOut": out, "rooms": rooms}})
	}
	seat := func(seats ...string) vars {
		return vars{"seats": vars{"show": h.show, "seats": append([]string{}, seats...)}}
	}
	pool := func(quantity any) vars { return vars{"pool": vars{"pool": h.standing, "quantity": quantity}} }
	total := func(minor any, currency string) vars {
		return vars{"input": vars{"requestKey": key(), "lines": []vars{pool(1)}, "expectedTotal": vars{"amountMinor": minor, "currency": currency}}}
	}
	keyed := func(k string) vars { return vars{"input": vars{"requestKey": k, "lines": []vars{pool(1)}}} }
	overseas := strings.Replace(h.double, "_eu_", "_us_", 1)
	for _, c := range []struct {
		name      string
		query     string
		variables vars
		field     string
		message   string
	}{
		{"no lines", place, lines(), "input.lines", "expected 1 to 20 lines, got 0"},
		{"an empty line", place, lines(vars{}), "input.lines[0]", "expected exactly one of seats, pool, stay"},
		{"two wishes in a line", place, lines(vars{"pool": pool(1)["pool"], "seats": seat(h.seats[0])["seats"]}), "input.lines[0]", "expected exactly one of seats, pool, stay"},
		{"no seats", place, lines(seat()), "input.lines[0].seats.seats", "expected at least one seat"},
		{"the same seat twice", place, lines(seat(h.seats[0], h.seats[0])), "input.lines[0].seats.seats[1]", "the same seat is named at"},
		{"the same pool twice", place, lines(pool(1), pool(2)), "input.lines[1].pool.pool", "the same pool is named at"},
		{"no quantity", place, lines(pool(0)), "input.lines[0].pool.quantity", "expected 1 to 1000, got 0"},
		{"a negative quantity", place, lines(pool(-2)), "input.lines[0].pool.quantity", "expected 1 to 1000, got -2"},
		{"a quantity that overflows", place, lines(pool(json.Number("99999999999"))), "input.lines[0].pool.quantity", "expected a whole number between -2147483648 and 2147483647"},
		{"a fraction of a unit", place, lines(pool(1.5)), "input.lines[0].pool.quantity", ""},
		{"a quantity in words", place, lines(pool("two")), "input.lines[0].pool.quantity", ""},
		{"departure before arrival", place, stay("2030-03-14", "2030-03-13", 1), "input.lines[0].stay.checkOut", "expected a date after checkIn 2030-03-14"},
		{"departure on arrival", place, stay("2030-03-14", "2030-03-14", 1), "input.lines[0].stay.checkOut", "expected a date after checkIn 2030-03-14"},
		{"a date that does not exist", place, stay("2030-02-30", "2030-03-14", 1), "input.lines[0].stay.checkIn", `expected a date such as 2027-03-14, got "2030-02-30"`},
		{"a date with a time", place, stay("2030-03-14T00:00:00Z", "2030-03-15", 1), "input.lines[0].stay.checkIn", "expected a date such as 2027-03-14"},
		{"a date as a number", place, stay(20300314, "2030-03-15", 1), "input.lines[0].stay.checkIn", "expected a date such as 2027-03-14"},
		{"an arrival in the past", place, stay("2020-03-14", "2020-03-15", 1), "input.lines[0].stay.checkIn", ""},
		{"no rooms", place, stay("2030-03-14", "2030-03-15", 0), "input.lines[0].stay.rooms", "expected 1 to 100, got 0"},
		{"two regions", place, lines(pool(1), vars{"stay": vars{"roomType": overseas, "checkIn": "2030-03-14", "checkOut": "2030-03-15"}}), "input.lines[1].stay.roomType", "a hold lies in one region"},
		{"a negative total", place, total(-1, "EUR"), "input.expectedTotal.amountMinor", "expected 0 to"},
		{"a total that overflows", place, total(json.Number("9223372036854775808"), "EUR"), "input.expectedTotal.amountMinor", "expected a whole number between"},
		{"a total in text", place, total("15", "EUR"), "input.expectedTotal.amountMinor", "expected a whole number between"},
		{"a total with cents", place, total(json.Number("15.00"), "EUR"), "input.expectedTotal.amountMinor", "expected a whole number between"},
		{"a currency that does not exist", place, total(15, "XYZ"), "input.expectedTotal.currency", "expected an ISO 4217 currency code"},
		{"a currency in lower case", place, total(15, "eur"), "input.expectedTotal.currency", "expected an ISO 4217 currency code"},
		{"no request key", place, keyed(""), "input.requestKey", "expected 1 to 255 characters"},
		{"a request key that is too long", place, keyed(strings.Repeat("x", 256)), "input.requestKey", "expected 1 to 255 characters"},
		{"a request key that is missing", place, vars{"input": vars{"lines": []vars{pool(1)}}}, "input.requestKey", "must be defined"},
		{"a field that does not exist", place, vars{"input": vars{"requestKey": "x", "lines": []vars{}, "line": 1}}, "input.line", ""},
		{"no input", place, vars{}, "input", "must be defined"},
		{"a region that is none", `mutation { startGuestSession(region: "Europe!") { id } }`, nil, "region", "a region is 2 to 8 lower-case letters"},
		{"an enum's value that does not exist", `mutation($input: SetShowStateInput!) { setShowState(input: $input) { id } }`, vars{"input": vars{"show": h.show, "state": "SOLD"}}, "input.state", "SOLD is not a valid ShowState"},
		{"a night that does not exist", `query($id: ID!) { hotel(id: $id) { calendar(from: "2030-13-01", to: "2030-12-31") { asOf } } }`, vars{"id": h.property}, "from", "expected a date such as"},
		{"a calendar that ends before it begins", `query($id: ID!) { hotel(id: $id) { calendar(from: "2030-03-02", to: "2030-03-01") { asOf } } }`, vars{"id": h.property}, "to", "expected a date not before from"},
		{"a time without a zone", `{ shows(from: "2030-03-14T19:30:00") { nodes { id } } }`, nil, "from", "expected an RFC 3339 time such as"},
		{"a number of 65 bits", `{ shows(first: 18446744073709551616) { nodes { id } } }`, nil, "", "Int cannot represent non 32-bit signed integer value: 18446744073709551616"},
		{"an amount of 65 bits", `mutation { setPrice(input: {show: "x", priceLevel: "x", amountMinor: 18446744073709551616}) { id } }`, nil, "", "18446744073709551616"},
		{"a fraction of a cent", `mutation { setPrice(input: {show: "x", priceLevel: "x", amountMinor: 1.5}) { id } }`, nil, "input.amountMinor", "expected a whole number between"},
		{"a show and a hotel at once", `query($show: ID, $property: ID) { terms(show: $show, property: $property) { holdSeconds } }`, vars{"show": h.show, "property": h.property}, "property", "not both"},
	} {
		as := guest
		if strings.Contains(c.query, "setShowState") {
			as = h.admin
		}
		if strings.Contains(c.query, "startGuestSession") {
			as = h.page
		}
		e := as.refused(c.query, c.variables)
		if e.code() != "BAD_INPUT" || e.field() != c.field || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: got %+v, want %s: %s", c.name, e, c.field, c.message)
		}
	}
	var after struct {
		Show struct{ Pools []struct{ Available int } }
	}
	guest.get(`query($id: ID!) { show(id: $id) { pools { available } } }`, vars{"id": h.show}, &after)
	if after.Show.Pools[0].Available != 20 {
		t.Errorf("the pool has %d left: something was written", after.Show.Pools[0].Available)
	}
}

func TestBadInputOfAdmins(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	type changes = vars
	for _, c := range []struct {
		mutation, input string
		change          changes
		field, message  string
	}{
		{"createProperty", "CreateSiteInput", changes{"timeZone": "Mars/Olympus"}, "input.timeZone", "expected an IANA time zone"},
		{"createProperty", "CreateSiteInput", changes{"timeZone": "Local"}, "input.timeZone", "expected an IANA time zone"},
		{"createProperty", "CreateSiteInput", changes{"currency": "XXXX"}, "input.currency", "expected an ISO 4217"},
		{"createProperty", "CreateSiteInput", changes{"country": "XX"}, "input.country", "expected an ISO 3166"},
		{"createProperty", "CreateSiteInput", changes{"name": " "}, "input.name", "expected 1 to 200 characters"},
		{"createProperty", "CreateSiteInput", changes{"region": "E"}, "input.region", "a region is 2 to 8"},
		{"createVenue", "CreateSiteInput", changes{"city": strings.Repeat("x", 101)}, "input.city", "expected 1 to 100 characters"},
		{"createVenue", "CreateSiteInput", changes{"requestKey": strings.Repeat("ä", 256)}, "input.requestKey", "expected 1 to 255 characters"},
	} {
		input := site("A place")
		for name, value := range c.change {
			input[name] = value
		}
		e := h.admin.refused(fmt.Sprintf("mutation($input: %s!) { %s(input: $input) { id } }", c.input, c.mutation), vars{"input": input})
		if e.code() != "BAD_INPUT" || e.field() != c.field || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s with %v: got %+v", c.mutation, c.change, e)
		}
	}
	nights := func(roomType string, from, to string, change vars, weekdays ...string) vars {
		return vars{"input": vars{"roomType": roomType, "nights": vars{"from": from, "to": to, "weekdays": weekdays}, "change": change}}
	}
	const setNights = `mutation($input: SetNightsInput!) { setNights(input: $input) { nights } }`
	for _, c := range []struct {
		name           string
		variables      vars
		field, message string
	}{
		{"backwards", nights(h.double, "2030-03-02", "2030-03-01", vars{}), "input.nights.to", "expected a date not before from"},
		{"too many", nights(h.double, "2030-01-01", "2033-01-01", vars{"physical": 1}), "input.requestKey", "more than one transaction writes (731)"},
		{"too long", nights(h.double, "2030-01-01", "2035-01-02", vars{"physical": 1}), "input.nights.to", "a range has at most 1827 nights"},
		{"no weekday", nights(h.double, "2030-03-04", "2030-03-05", vars{"physical": 1}, []string{}...), "input.nights.weekdays", "expected at least one day"},
		{"two kinds of oversell", nights(h.double, "2030-03-10", "2030-03-10", vars{"oversell": 1, "oversellPercent": 1}), "input.change.oversellPercent", "not both"},
		{"a percentage above all", nights(h.double, "2030-03-10", "2030-03-10", vars{"oversellPercent": 101}), "input.change.oversellPercent", "expected 0 to 100"},
		{"a house of less than nothing", nights(h.double, "2030-03-10", "2030-03-10", vars{"houseLimit": -1}), "input.change.houseLimit", "expected 0 to 1000000"},
		{"of nothing", vars{"input": vars{"nights": vars{"from": "2030-03-10", "to": "2030-03-10"}, "change": vars{}}}, "input.roomType", "expected exactly one of roomType and property"},
		{"no such weekday", nights(h.double, "2030-03-04", "2030-03-05", vars{"physical": 1}, "SUNDAY"), "input.nights.weekdays", "no night of the range"},
		{"rooms without end", nights(h.double, "2030-03-04", "2030-03-05", vars{"physical": 100_001}), "input.change.physical", "expected 0 to 100000"},
		{"a negative rate", nights(h.double, "2030-03-10", "2030-03-10", vars{"rateMinor": -1}), "input.change.rateMinor", "expected 0 to"},
		{"a rate that overflows", nights(h.double, "2030-03-10", "2030-03-10", vars{"rateMinor": 1_000_000_000_001}), "input.change.rateMinor", "expected 0 to"},
		{"more out of order than there are", nights(h.double, "2030-03-10", "2030-03-10", vars{"outOfOrder": 4}), "input.change.outOfOrder", "more than its 3 rooms"},
		{"an unplanned night", nights(h.double2nd, "2030-03-10", "2030-03-10", vars{"stopSell": true}), "input.change.physical", "does not exist yet"},
		{"a rule that contradicts", nights(h.double, "2030-03-10", "2030-03-10", vars{"minStayArrival": 5, "maxStayArrival": 3}), "input.change.maxStayArrival", "expected at least minStayArrival 5"},
	} {
		if e := h.admin.refused(setNights, c.variables); e.code() != "BAD_INPUT" || e.field() != c.field || !strings.Contains(e.Message, c.message) {
			t.Errorf("nights, %s: got %+v", c.name, e)
		}
	}
	const createShow = `mutation($input: CreateShowInput!) { createShow(input: $input) { id } }`
	show := func(change vars) vars {
		input := vars{
			"requestKey": key(), "event": h.event, "chart": h.chart, "name": "Show", "startsAt": "2030-03-14T19:30:00Z",
			"priceLevels": []vars{{"name": "All", "amountMinor": 1, "categories": []string{"Front", "Back"}}},
		}
		for name, value := range change {
			input[name] = value
		}
		return vars{"input": input}
	}
	for _, c := range []struct {
		name           string
		change         vars
		field, message string
	}{
		{"no price levels", vars{"priceLevels": []vars{}}, "input.priceLevels", "expected 1 to 50, got 0"},
		{"a category without a price", vars{"priceLevels": []vars{{"name": "Front", "amountMinor": 1, "categories": []string{"Front"}}}}, "input.priceLevels", `no price level has the chart's category "Back"`},
		{"a price below nothing", vars{"priceLevels": []vars{{"name": "All", "amountMinor": -5, "categories": []string{"Front", "Back"}}}}, "input.priceLevels[0].amountMinor", "expected 0 to"},
		{"a pool without its level", vars{"pools": []vars{{"name": "Floor", "priceLevel": "None", "capacity": 1}}}, "input.pools[0].priceLevel", "expected the name of one of the show's price levels"},
		{"a sale that closes before it opens", vars{"saleOpensAt": "2030-01-02T00:00:00Z", "saleClosesAt": "2030-01-01T00:00:00Z"}, "input.saleClosesAt", "expected a time after saleOpensAt"},
		{"closed from the start", vars{"state": "CLOSED"}, "input.state", "expected DRAFT or ON_SALE"},
	} {
		if e := h.admin.refused(createShow, show(c.change)); e.code() != "BAD_INPUT" || e.field() != c.field || !strings.Contains(e.Message, c.message) {
			t.Errorf("show, %s: got %+v", c.name, e)
		}
	}
	if e := h.admin.refused(`mutation($input: SetTermsInput!) { setTerms(input: $input) { holdSeconds } }`, vars{"input": vars{"holdSeconds": 0}}); e.code() != "BAD_INPUT" || e.field() != "input.holdSeconds" {
		t.Errorf("terms: got %+v", e)
	}
	if e := h.admin.refused(`mutation($input: CreateKeyInput!) { createKey(input: $input) { secret } }`, vars{"input": vars{"requestKey": key(), "kind": "PLATFORM", "name": "x"}}); e.code() != "BAD_INPUT" || e.field() != "input.kind" {
		t.Errorf("a platform key: got %+v", e)
	}
}

func TestAnEarlierRequestKeyIsAConflict(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	input := site("A hotel")
	var first, again struct{ CreateProperty created }
	const mutation = `mutation($input: CreateSiteInput!) { createProperty(input: $input) { id } }`
	h.admin.get(mutation, vars{"input": input}, &first)
	h.admin.get(mutation, vars{"input": input}, &again)
	if first != again {
		t.Errorf("the same request again made %v after %v", again, first)
	}
	input["name"] = "Another hotel"
	e := h.admin.refused(mutation, vars{"input": input})
	if e.code() != "CONFLICT" || e.field() != "input.requestKey" || !strings.Contains(e.Message, "used before with other content") {
		t.Errorf("got %+v", e)
	}
	channel := vars{"input": vars{"requestKey": key(), "name": "Shop", "kind": "OWN_SITE"}}
	if e := h.admin.refused(`mutation($input: CreateChannelInput!) { createChannel(input: $input) { id } }`, channel); e.code() != "CONFLICT" || !strings.Contains(e.Message, `the name "Shop"`) {
		t.Errorf("a name that is taken: got %+v", e)
	}
}

func TestSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	type answer struct {
		CreateKey struct {
			Key    created
			Secret *string
		}
	}
	input := vars{"input": vars{"requestKey": key(), "kind": "PARTNER", "name": "Spare", "channel": h.partners, "mode": "TEST"}}
	const mutation = `mutation($input: CreateKeyInput!) { createKey(input: $input) { key { id } secret } }`
	var first, again answer
	h.admin.get(mutation, input, &first)
	h.admin.get(mutation, input, &again)
	if first.CreateKey.Secret == nil || !strings.HasPrefix(*first.CreateKey.Secret, "hfk_test_") || again.CreateKey.Secret != nil || again.CreateKey.Key != first.CreateKey.Key {
		t.Errorf("got %+v and then %+v", first, again)
	}
	var revoked struct{ RevokeKey struct{ RevokedAt *string } }
	h.admin.get(`mutation($input: RevokeKeyInput!) { revokeKey(input: $input) { revokedAt } }`, vars{"input": vars{"key": first.CreateKey.Key.ID}}, &revoked)
	if revoked.RevokeKey.RevokedAt == nil {
		t.Errorf("got %+v", revoked)
	}
	r := h.server.client(*first.CreateKey.Secret).post(`{ viewer { keyId } }`, nil)
	if r.status != 401 || r.Errors[0].code() != "UNAUTHENTICATED" || !strings.Contains(r.Errors[0].Message, "revoked") {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

func TestAPlanWithProblemsIsData(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	var answer struct {
		ImportChart struct {
			Typename  string `json:"__typename"`
			Message   string
			Truncated bool
			Problems  []struct {
				Line, Column int
				Path         *string
				Message      string
			}
		}
	}
	plan := strings.Replace(hallPlan(), `"seat_guid": "A2"`, `"seat_guid": "A1"`, 1)
	plan = strings.Replace(plan, `"category": "Back"`, `"category": "Bck"`, 1)
	h.admin.get(`mutation($input: ImportChartInput!) { importChart(input: $input) { __typename ... on ChartRejected { message truncated problems { line column path message } } } }`,
		vars{"input": vars{"requestKey": key(), "venue": h.venue, "plan": plan}}, &answer)
	a := answer.ImportChart
	if a.Typename != "ChartRejected" || len(a.Problems) != 2 || a.Truncated {
		t.Fatalf("got %+v", a)
	}
	if p := a.Problems[0]; p.Line < 1 || p.Column < 1 || *p.Path != "zones[0].rows[0].seats[1].seat_guid" || !strings.Contains(p.Message, `duplicate seat id "A1"`) {
		t.Errorf("got %+v", p)
	}
	h.admin.get(`mutation($input: ImportChartInput!) { importChart(input: $input) { __typename ... on ChartRejected { message truncated problems { line column path message } } } }`,
		vars{"input": vars{"requestKey": key(), "venue": h.venue, "plan": "row;seat"}}, &answer)
	if p := answer.ImportChart.Problems; len(p) != 1 || p[0].Path != nil || !strings.Contains(p[0].Message, "not valid JSON") {
		t.Errorf("got %+v", p)
	}
}

func TestStockOfAdmins(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.hold(h.guest(), vars{"pool": vars{"pool": h.standing, "quantity": 5}}, vars{"stay": vars{"roomType": h.double, "checkIn": "2030-03-10", "checkOut": "2030-03-11", "rooms": 3}})
	var pool struct {
		SetPoolCapacity struct {
			PoolID               string
			Capacity, OversoldBy int
		}
	}
	h.admin.get(`mutation($input: SetPoolCapacityInput!) { setPoolCapacity(input: $input) { poolId capacity oversoldBy } }`, vars{"input": vars{"pool": h.standing, "capacity": 3}}, &pool)
	if p := pool.SetPoolCapacity; p.PoolID != h.standing || p.OversoldBy != 2 {
		t.Errorf("got %+v", p)
	}
	type nights struct {
		Result struct {
			Nights   int
			Oversold []struct {
				Night            string
				SellLimit, Taken int
			}
		}
	}
	var lowered, house nights
	h.admin.get(`mutation($input: SetNightsInput!) { result: setNights(input: $input) { nights oversold { night sellLimit taken } } }`,
		vars{"input": vars{"roomType": h.double, "nights": vars{"from": "2030-03-10", "to": "2030-03-16", "weekdays": []string{"SUNDAY", "SATURDAY"}}, "change": vars{"outOfOrder": 2}}}, &lowered)
	// The 10th of March 2030 is a Sunday, the 16th a Saturday.
	if r := lowered.Result; r.Nights != 2 || len(r.Oversold) != 1 || r.Oversold[0].Night != "2030-03-10" || r.Oversold[0].SellLimit != 1 || r.Oversold[0].Taken != 3 {
		t.Errorf("got %+v", r)
	}
	h.admin.get(`mutation($input: SetNightsInput!) { result: setNights(input: $input) { nights oversold { night sellLimit taken } } }`,
		vars{"input": vars{"property": h.property, "nights": vars{"from": "2030-03-10", "to": "2030-03-11"}, "change": vars{"houseLimit": 2}}}, &house)
	if r := house.Result; r.Nights != 2 || len(r.Oversold) != 1 || r.Oversold[0].Taken != 3 {
		t.Errorf("got %+v", r)
	}
	var price struct {
		SetPrice struct {
			PriceLevels []struct {
				ID    string
				Price struct{ AmountMinor int }
			}
		}
	}
	h.admin.get(`mutation($input: SetPriceInput!) { setPrice(input: $input) { priceLevels { id price { amountMinor } } } }`, vars{"input": vars{"show": h.show, "priceLevel": h.stalls, "amountMinor": 7700}}, &price)
	if l := price.SetPrice.PriceLevels; l[0].ID != h.stalls || l[0].Price.AmountMinor != 7700 {
		t.Errorf("got %+v", l)
	}
	var terms struct {
		SetTerms struct {
			HoldSeconds, MaxExtensions int
			LatePayment                string
		}
	}
	h.admin.get(`mutation($input: SetTermsInput!) { setTerms(input: $input) { holdSeconds maxExtensions latePayment } }`, vars{"input": vars{"show": h.show, "holdSeconds": 60, "latePayment": "REFUND"}}, &terms)
	if s := terms.SetTerms; s.HoldSeconds != 60 || s.MaxExtensions != 1 || s.LatePayment != "REFUND" {
		t.Errorf("got %+v", s)
	}
	var read struct{ Terms struct{ HoldSeconds int } }
	h.page.get(`query($show: ID) { terms(show: $show) { holdSeconds } }`, vars{"show": h.show}, &read)
	if read.Terms.HoldSeconds != 60 {
		t.Errorf("got %+v", read)
	}
	var tenant struct {
		Tenant struct{ ID, HomeRegion, PaymentProvider string }
	}
	h.admin.get(`{ tenant { id homeRegion paymentProvider } }`, nil, &tenant)
	if tenant.Tenant.ID != h.tenant || tenant.Tenant.HomeRegion != "eu" || tenant.Tenant.PaymentProvider != "sandbox" {
		t.Errorf("got %+v", tenant)
	}
}
