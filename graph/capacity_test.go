package graph_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func (h *house) book(as client, lines ...vars) (booking string) {
	h.server.t.Helper()
	held := h.hold(as, lines...)
	var total struct {
		Hold struct{ Total struct{ AmountMinor int } }
	}
	as.get(`query($id: ID!) { hold(id: $id) { total { amountMinor } } }`, vars{"id": held.ID}, &total)
	sale := h.checkout(as, vars{
		"requestKey": key(), "hold": held.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": euro(total.Hold.Total.AmountMinor),
	})
	if sale.Booking == nil {
		h.server.t.Fatalf("nothing was booked: %+v", sale)
	}
	return sale.Booking.ID
}

func (h *house) stay(roomType, checkIn, checkOut string, rooms int) vars {
	return vars{"stay": vars{"roomType": roomType, "checkIn": checkIn, "checkOut": checkOut, "rooms": rooms}}
}

// R54: a limit below what is sold is accepted with a warning that names the nights and the bookings;
// nothing is negative, and nothing more is sold until it is below the limit.
func TestALimitBelowWhatIsSold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	first := h.book(guest, h.stay(h.double, "2030-03-10", "2030-03-11", 2))
	second := h.book(guest, h.stay(h.double, "2030-03-10", "2030-03-12", 1))
	type warned struct {
		Nights   int
		Oversold []struct {
			Night                                  string
			RoomType                               *struct{ Name string }
			SellLimit, Taken, Held, Booked, Excess int
			Bookings                               struct{ Nodes []created }
		}
	}
	var answer struct{ SetNights warned }
	const set = `mutation($input: SetNightsInput!) { setNights(input: $input) { nights oversold { night roomType { name } sellLimit taken held booked excess bookings { nodes { id } } } } }`
	edit := func(change vars) vars {
		return vars{"input": vars{"property": h.property, "nights": vars{"from": "2030-03-10", "to": "2030-03-11"}, "change": change}}
	}
	h.nights(h.double2nd, "2030-03-10", "2030-03-11", vars{"physical": 1, "rateMinor": 100})
	h.admin.get(set, edit(vars{"physical": 1, "houseLimit": 2}), &answer)
	var said []string
	for _, o := range answer.SetNights.Oversold {
		name := "the house"
		if o.RoomType != nil {
			name = o.RoomType.Name
		}
		said = append(said, fmt.Sprint(o.Night, " ", name, " ", o.Taken, " of ", o.SellLimit, ", ", o.Excess, " too many"))
		if len(o.Bookings.Nodes) != 2 || o.Bookings.Nodes[0].ID != second || o.Bookings.Nodes[1].ID != first {
			t.Errorf("the bookings of %s are %+v", o.Night, o.Bookings.Nodes)
		}
	}
	if got := strings.Join(said, "; "); got != "2030-03-10 Double 3 of 1, 2 too many; 2030-03-10 the house 3 of 2, 1 too many" || answer.SetNights.Nights != 6 {
		t.Errorf("got %s, %+v", got, answer.SetNights)
	}
	var listed struct {
		OversoldNights struct {
			Nodes    []struct{ Night string }
			PageInfo struct {
				HasNextPage bool
				EndCursor   string
			}
		}
	}
	const list = `query($property: ID!, $after: String) { oversoldNights(property: $property, from: "2030-03-01", to: "2030-03-31", first: 1, after: $after) { nodes { night } pageInfo { hasNextPage endCursor } } }`
	h.admin.get(list, vars{"property": h.property}, &listed)
	if l := listed.OversoldNights; len(l.Nodes) != 1 || !l.PageInfo.HasNextPage {
		t.Errorf("got %+v", l)
	}
	h.admin.get(list, vars{"property": h.property, "after": listed.OversoldNights.PageInfo.EndCursor}, &listed)
	if l := listed.OversoldNights; len(l.Nodes) != 1 || l.PageInfo.HasNextPage {
		t.Errorf("then %+v", l)
	}
	left := func() int {
		var calendar struct {
			Hotel struct {
				Calendar struct{ Nights []struct{ Available int } }
			}
		}
		h.page.get(`query($id: ID!, $rooms: [ID!]) { hotel(id: $id) { calendar(from: "2030-03-10", to: "2030-03-10", roomTypes: $rooms) { nights { available } } } }`,
			vars{"id": h.property, "rooms": []string{h.double}}, &calendar)
		return calendar.Hotel.Calendar.Nights[0].Available
	}
	if n := left(); n != 0 {
		t.Errorf("%d are shown as left", n)
	}
	if r := h.place(guest, vars{"requestKey": key(), "lines": []vars{h.stay(h.double, "2030-03-10", "2030-03-11", 1)}}); r.Typename == "Hold" {
		t.Errorf("sold above the limit: %+v", r)
	}
	h.cancel(h.admin, vars{"booking": first})
	h.cancel(h.admin, vars{"booking": second})
	if n := left(); n != 1 {
		t.Errorf("after the cancellations %d are shown as left", n)
	}
	h.hold(guest, h.stay(h.double, "2030-03-10", "2030-03-11", 1))
}

// Staff hold against a restriction with an explicit argument and a reason; nobody else may, and the log
// says who did.
func TestAnOverrideThroughTheAPI(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.nights(h.double, "2030-03-12", "2030-03-12", vars{"stopSell": true})
	line := []vars{h.stay(h.double, "2030-03-12", "2030-03-13", 1)}
	if r := h.place(h.admin, vars{"requestKey": key(), "lines": line}); r.Typename == "Hold" {
		t.Errorf("without saying so: %+v", r)
	}
	const place = `mutation($input: PlaceHoldInput!) { placeHold(input: $input) { __typename } }`
	override := func(reason any) vars {
		return vars{"input": vars{"requestKey": key(), "lines": line, "overrideRestrictions": true, "overrideReason": reason}}
	}
	if e := h.admin.refused(place, override(nil)); e.code() != "BAD_INPUT" || e.field() != "input.overrideReason" {
		t.Errorf("without a reason: %+v", e)
	}
	for _, as := range []client{h.guest(), h.partner} {
		if e := as.refused(place, override("Please")); e.code() != "FORBIDDEN" {
			t.Errorf("a buyer: %+v", e)
		}
	}
	r := h.place(h.admin, override("The owner's family")["input"].(vars))
	if r.Typename != "Hold" {
		t.Fatalf("staff are refused: %+v", r)
	}
	found := h.entries(h.admin, vars{"resource": r.ID})
	if len(found) != 1 || found[0].Action != "hold.override" || found[0].Reason == nil || *found[0].Reason != "The owner's family" ||
		!strings.Contains(string(found[0].After), "STOP_SELL") {
		t.Errorf("the log has %+v", found)
	}
}

// A seat's history tells each step, by whom and of which booking.
func TestTheHistoryOfASeat(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	manager, signedIn := h.invite()
	h.bind(manager.ID, "TENANT_OWNER", nil)
	house := h.houseSeats(h.seats[0])
	agency := h.createBlock(h.admin, vars{
		"requestKey": key(), "show": h.show, "channel": h.partners, "note": "Until Friday", "seats": vars{"seats": h.seats[1:2]},
	}).Block.ID
	signedIn.get(`mutation($input: MoveSeatsInput!) { moveSeats(input: $input) { __typename } }`,
		vars{"input": vars{"requestKey": key(), "fromBlock": house, "toBlock": agency, "seats": vars{"seats": h.seats[:1]}}}, new(any))
	var done any
	h.admin.get(`mutation($input: ReleaseSeatBlockInput!) { releaseSeatBlock(input: $input) { state } }`, vars{"input": vars{"requestKey": key(), "block": agency}}, &done)
	guest := h.guest()
	seat := vars{"seats": vars{"show": h.show, "seats": h.seats[:1]}}
	hold := h.hold(guest, seat)
	h.change(guest, "extendHold", "ExtendHoldInput", vars{"requestKey": key(), "hold": hold.ID})
	h.change(guest, "releaseHold", "ReleaseHoldInput", vars{"requestKey": key(), "hold": hold.ID})
	booking := h.book(guest, seat)
	h.cancel(h.admin, vars{"booking": booking, "reason": "A new stage"})
	var answer struct {
		SeatHistory struct {
			Nodes []struct {
				Change            string
				Actor, Reason     *string
				HoldID, ChannelID string
				BookingID         *string
			}
		}
	}
	h.admin.get(`query($show: ID!, $seat: ID!) { seatHistory(show: $show, seat: $seat) { nodes { change actor reason holdId bookingId channelId } } }`,
		vars{"show": h.show, "seat": h.seats[0]}, &answer)
	var got []string
	for _, step := range answer.SeatHistory.Nodes {
		who := "nobody"
		if step.Actor != nil {
			who, _, _ = strings.Cut(*step.Actor, "_")
		}
		got = append(got, step.Change+" by "+who)
	}
	want := "CANCELLED by key, SOLD by sess, HELD by sess, RELEASED by sess, EXTENDED by sess, HELD by sess, " +
		"UNBLOCKED by key, BLOCKED by member, UNBLOCKED by member, BLOCKED by key"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if first := answer.SeatHistory.Nodes[0]; first.Reason == nil || *first.Reason != "A new stage" || first.BookingID == nil || *first.BookingID != booking {
		t.Errorf("the last step is %+v", first)
	}
	if e := guest.refused(`query($show: ID!, $seat: ID!) { seatHistory(show: $show, seat: $seat) { nodes { at } } }`, vars{"show": h.show, "seat": h.seats[0]}); e.code() != "FORBIDDEN" {
		t.Errorf("a guest: %+v", e)
	}
}

// The report as CSV has the numbers of the field, for the same keys, and names what is wrong.
func TestOccupancyAsCSV(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	h.book(h.guest(), h.stay(h.double, "2030-03-10", "2030-03-12", 2))
	var answer struct {
		Hotel struct {
			Occupancy struct {
				Nights []struct {
					Night                string
					Physical, Booked     int
					OccupancyBasisPoints *int
					Revenue              struct{ AmountMinor int }
				}
			}
		}
	}
	h.admin.get(`query($id: ID!) { hotel(id: $id) { occupancy(from: "2030-03-10", to: "2030-03-12") { nights { night physical booked occupancyBasisPoints revenue { amountMinor } } } } }`,
		vars{"id": h.property}, &answer)
	nights := answer.Hotel.Occupancy.Nights
	if len(nights) != 3 || nights[0].Booked != 2 || *nights[0].OccupancyBasisPoints != 6666 || nights[0].Revenue.AmountMinor != 24000 || nights[2].Booked != 0 {
		t.Fatalf("got %+v", nights)
	}
	ask := func(secret string, query url.Values) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/reports/occupancy.csv?"+query.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	query := url.Values{"property": {h.property}, "from": {"2030-03-10"}, "to": {"2030-03-12"}}
	status, body := ask(h.admin.key, query)
	table, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || status != http.StatusOK || len(table) != 4 || len(table[1]) != 11 {
		t.Fatalf("%d %v: %s", status, err, body)
	}
	for i, n := range nights {
		if row := table[i+1]; row[0] != n.Night || row[8] != strconv.Itoa(n.Booked) || row[9] != fmt.Sprintf("%d.%02d", n.Revenue.AmountMinor/100, n.Revenue.AmountMinor%100) {
			t.Errorf("the row %v is not %+v", row, n)
		}
	}
	other := newHouse(t, s)
	for name, c := range map[string]struct {
		secret string
		change url.Values
		status int
		says   string
	}{
		"another tenant": {other.admin.key, nil, http.StatusNotFound, "no such property"},
		"a partner":      {h.partner.key, nil, http.StatusForbidden, "report.read"},
		"no key":         {"", nil, http.StatusUnauthorized, "Authorization"},
		"backwards":      {h.admin.key, url.Values{"to": {"2030-03-01"}}, http.StatusBadRequest, "to: expected a date not before"},
		"too long":       {h.admin.key, url.Values{"to": {"2031-03-11"}}, http.StatusBadRequest, "to: a report has at most 366 nights"},
		"no date":        {h.admin.key, url.Values{"from": {"soon"}}, http.StatusBadRequest, "from: expected a date"},
	} {
		changed := url.Values{"property": query["property"], "from": query["from"], "to": query["to"]}
		for field, value := range c.change {
			changed[field] = value
		}
		if status, body := ask(c.secret, changed); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// What is set aside of a night for a channel is in its history: by whom it was, how it changed, and that it
// came back when its time had come.
func TestTheHistoryOfANightTellsWhatIsSetAside(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	manager, signedIn := h.invite()
	h.bind(manager.ID, "CHANNEL_MANAGER", nil)
	allotment := h.create(vars{"quantity": 2})
	h.allot(signedIn, "updateAllotment", "UpdateAllotmentInput", vars{"allotment": allotment.ID, "quantity": 1})
	h.book(h.partner, h.stay(h.double, "2030-03-14", "2030-03-15", 1))
	h.allot(h.admin, "releaseAllotment", "ReleaseAllotmentInput", vars{"allotment": allotment.ID})
	type step struct {
		Change      string
		Quantity    int
		AllotmentID *string
		ChannelID   *string
		HoldID      *string
		Actor       *string
	}
	var steps []step
	page := vars{"room": h.double}
	for {
		var answer struct {
			NightHistory struct {
				Nodes    []step
				PageInfo struct {
					HasNextPage bool
					EndCursor   *string
				}
			}
		}
		h.admin.get(`query($room: ID!, $after: String) { nightHistory(roomType: $room, night: "2030-03-14", first: 2, after: $after) {
			nodes { change quantity allotmentId channelId holdId actor } pageInfo { hasNextPage endCursor } } }`, page, &answer)
		steps = append(steps, answer.NightHistory.Nodes...)
		if !answer.NightHistory.PageInfo.HasNextPage {
			break
		}
		page["after"] = *answer.NightHistory.PageInfo.EndCursor
	}
	var told []string
	for _, s := range steps {
		told = append(told, fmt.Sprint(s.Change, " ", s.Quantity))
		if aside := strings.HasSuffix(s.Change, "ALLOTTED"); aside != (s.AllotmentID != nil) || aside == (s.HoldID != nil) || aside && (*s.AllotmentID != allotment.ID || *s.ChannelID != h.partners) {
			t.Errorf("a step is %+v", s)
		}
	}
	if got := strings.Join(told, ", "); got != "UNALLOTTED 1, SOLD 1, HELD 1, UNALLOTTED 1, ALLOTTED 2" {
		t.Errorf("the night's history is %s", got)
	}
	if by := steps[3].Actor; by == nil || *by != manager.ID {
		t.Errorf("who made it smaller is %+v", steps[3])
	}
}
