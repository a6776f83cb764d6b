package graph_test

import (
	"strings"
	"testing"
	"time"
)

const holdFields = `__typename ... on Hold { id state deadline placedAt secondsLeft extensionsLeft version total { amountMinor currency }
	lines { ordinal item amount { amountMinor } unit { kind quantity seatId seat { label } show { id } poolId pool { name available }
		property { id } roomType { name } night } } }
	... on HoldRefused { code message retryAfterMs lines { line code seatId seat { label } poolId night roomType { name } available limit heldByYou } }`

// held is the answer of every mutation of a hold.
type held struct {
	Typename                    string `json:"__typename"`
	ID, State                   string
	Deadline, PlacedAt          time.Time
	SecondsLeft, ExtensionsLeft int
	Version                     int64
	Total                       struct {
		AmountMinor int64
		Currency    string
	}
	Code, Message string
	RetryAfterMs  *int
	Lines         []heldLine
}

type heldLine struct {
	Ordinal, Item, Line int
	Amount              struct{ AmountMinor int64 }
	Unit                struct {
		Kind     string
		Quantity int
		SeatID   *string
		Seat     *struct{ Label string }
		Show     *created
		PoolID   *string
		Pool     *struct {
			Name      string
			Available int
		}
		Property *created
		RoomType *struct{ Name string }
		Night    *string
	}
	Code             string
	SeatID, PoolID   *string
	Seat             *struct{ Label string }
	Night, HeldByYou *string
	RoomType         *struct{ Name string }
	Available, Limit *int
}

// place asks for a hold.
func (h *house) place(as client, input vars) held {
	h.server.t.Helper()
	var answer struct{ PlaceHold held }
	as.get(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { `+holdFields+` } }`, vars{"input": input}, &answer)
	return answer.PlaceHold
}

// hold must get its lines.
func (h *house) hold(as client, lines ...vars) held {
	h.server.t.Helper()
	hold := h.place(as, vars{"requestKey": key(), "lines": lines})
	if hold.Typename != "Hold" {
		h.server.t.Fatalf("refused: %+v", hold)
	}
	return hold
}

func (h *house) change(as client, mutation, input string, arguments vars) held {
	h.server.t.Helper()
	var answer struct{ Result held }
	as.get(`mutation($input: `+input+`!) { result: `+mutation+`(input: $input) { `+holdFields+` } }`, vars{"input": arguments}, &answer)
	return answer.Result
}

func TestHoldSeatsPoolAndStayTogether(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	input := vars{
		"requestKey": key(),
		"lines": []vars{
			{"seats": vars{"show": h.show, "seats": h.seats[:2]}},
			{"pool": vars{"pool": h.standing, "quantity": 2}},
			{"stay": vars{"roomType": h.double, "checkIn": "2030-03-14", "checkOut": "2030-03-16"}},
		},
		"expectedTotal": vars{"amountMinor": 37000, "currency": "EUR"},
	}
	hold := h.place(guest, input)
	if hold.Typename != "Hold" || hold.State != "ACTIVE" || hold.Total.AmountMinor != 37000 || hold.Total.Currency != "EUR" || len(hold.Lines) != 5 {
		t.Fatalf("got %+v", hold)
	}
	if left := hold.SecondsLeft; left < 250 || left > 300 || hold.ExtensionsLeft != 1 {
		t.Errorf("got %d seconds and %d extensions left", left, hold.ExtensionsLeft)
	}
	seat, pool, night := hold.Lines[0], hold.Lines[2], hold.Lines[4]
	if seat.Unit.Kind != "SEAT" || seat.Unit.Seat == nil || seat.Unit.Seat.Label != "Hall, row A, seat 1" || *seat.Unit.SeatID != h.seats[0] || seat.Unit.Show.ID != h.show || seat.Amount.AmountMinor != 5000 {
		t.Errorf("got the seat %+v", seat)
	}
	if pool.Unit.Kind != "POOL" || pool.Unit.Quantity != 2 || *pool.Unit.PoolID != h.standing || pool.Unit.Pool.Name != "Floor" || pool.Unit.Pool.Available != 18 || pool.Amount.AmountMinor != 3000 {
		t.Errorf("got the pool %+v", pool)
	}
	if night.Unit.Kind != "NIGHT" || *night.Unit.Night != "2030-03-15" || night.Unit.RoomType.Name != "Double" || night.Unit.Property.ID != h.property || night.Item != 2 {
		t.Errorf("got the night %+v", night)
	}
	if again := h.place(guest, input); again.ID != hold.ID || !again.Deadline.Equal(hold.Deadline) {
		t.Errorf("the same request again: got %+v", again)
	}
	input["lines"] = []vars{{"pool": vars{"pool": h.standing, "quantity": 3}}}
	if other := h.place(guest, input); other.Code != "REQUEST_KEY_REUSED" {
		t.Errorf("the same key with other content: got %+v", other)
	}
}

func TestRefusalsNameTheUnitAndTheRule(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	first, second := h.guest(), h.guest()
	mine := h.hold(first, vars{"seats": vars{"show": h.show, "seats": h.seats[3:6]}})
	refused := h.place(second, vars{"requestKey": key(), "lines": []vars{
		{"pool": vars{"pool": h.standing, "quantity": 10}},
		{"seats": vars{"show": h.show, "seats": []string{h.seats[5], h.seats[6], randomID(h.seats[0])}}},
	}})
	if refused.Typename != "HoldRefused" || refused.Code != "HELD_BY_OTHER" || len(refused.Lines) != 2 {
		t.Fatalf("got %+v", refused)
	}
	if l := refused.Lines[0]; l.Line != 1 || l.Code != "HELD_BY_OTHER" || *l.SeatID != h.seats[5] || l.Seat.Label != "Hall, row B, seat 1" || l.HeldByYou != nil {
		t.Errorf("got the line %+v", l)
	}
	if l := refused.Lines[1]; l.Code != "NO_SUCH_SEAT" || l.SeatID == nil || l.Seat != nil {
		t.Errorf("got the line %+v", l)
	}
	own := h.place(first, vars{"requestKey": key(), "lines": []vars{{"seats": vars{"show": h.show, "seats": h.seats[3:4]}}}})
	if own.Code != "HELD_BY_YOU" || *own.Lines[0].HeldByYou != mine.ID {
		t.Errorf("got %+v", own)
	}
	// Three doubles on each night; the stay runs past the last planned night, too.
	h.hold(second, vars{"stay": vars{"roomType": h.double, "checkIn": "2030-03-20", "checkOut": "2030-03-21", "rooms": 2}})
	stay := h.place(first, vars{"requestKey": key(), "lines": []vars{
		{"stay": vars{"roomType": h.double, "checkIn": "2030-03-19", "checkOut": "2030-03-23", "rooms": 2}},
	}})
	want := map[string]string{"2030-03-20": "SOLD_OUT", "2030-03-21": "NO_SUCH_NIGHT", "2030-03-22": "NO_SUCH_NIGHT"}
	if len(stay.Lines) != len(want) {
		t.Fatalf("got %+v, want %v", stay, want)
	}
	for _, line := range stay.Lines {
		if want[*line.Night] != line.Code || line.RoomType.Name != "Double" || line.Code == "SOLD_OUT" && *line.Available != 1 {
			t.Errorf("got the line %+v, want %v", line, want)
		}
	}
	if r := h.place(first, vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": h.standing, "quantity": 1}}}, "expectedTotal": vars{"amountMinor": 1, "currency": "EUR"}}); r.Code != "PRICE_CHANGED" {
		t.Errorf("got %+v", r)
	}
	if r := h.place(first, vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": h.standing, "quantity": 11}}}}); r.Code != "LIMIT_PER_HOLD" || *r.Lines[0].Limit != 10 {
		t.Errorf("got %+v", r)
	}
}

func TestExtendAndRelease(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest, other := h.guest(), h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[:1]}})
	extendKey := key()
	extended := h.change(guest, "extendHold", "ExtendHoldInput", vars{"requestKey": extendKey, "hold": hold.ID})
	if extended.Typename != "Hold" || !extended.Deadline.After(hold.Deadline) || extended.ExtensionsLeft != 0 || extended.Version != hold.Version+1 {
		t.Errorf("got %+v after %+v", extended, hold)
	}
	if again := h.change(guest, "extendHold", "ExtendHoldInput", vars{"requestKey": extendKey, "hold": hold.ID}); !again.Deadline.Equal(extended.Deadline) {
		t.Errorf("the same request again: got %+v", again)
	}
	if r := h.change(guest, "extendHold", "ExtendHoldInput", vars{"requestKey": key(), "hold": hold.ID}); r.Code != "NO_EXTENSION_LEFT" {
		t.Errorf("a second extension: got %+v", r)
	}
	// Knowing the id is not enough.
	for _, query := range []string{
		`mutation($id: ID!) { releaseHold(input: {requestKey: "x", hold: $id}) { __typename } }`,
		`mutation($id: ID!) { extendHold(input: {requestKey: "x", hold: $id}) { __typename } }`,
		`query($id: ID!) { hold(id: $id) { id } }`,
	} {
		if e := other.refused(query, vars{"id": hold.ID}); e.code() != "NOT_FOUND" || e.Message != "no such hold" {
			t.Errorf("%s as another guest: got %+v", query, e)
		}
	}
	var read struct {
		Hold struct {
			State       string
			SecondsLeft int
			EndedAt     *string
			Payments    []created
			Booking     *created
		}
	}
	const query = `query($id: ID!) { hold(id: $id) { state secondsLeft endedAt payments { id } booking { id } } }`
	h.admin.get(query, vars{"id": hold.ID}, &read)
	if read.Hold.State != "ACTIVE" || read.Hold.EndedAt != nil || len(read.Hold.Payments) != 0 || read.Hold.Booking != nil {
		t.Errorf("an admin: got %+v", read.Hold)
	}
	if r := h.change(guest, "releaseHold", "ReleaseHoldInput", vars{"requestKey": key(), "hold": hold.ID}); r.State != "RELEASED" || r.SecondsLeft != 0 {
		t.Errorf("got %+v", r)
	}
	if r := h.change(guest, "extendHold", "ExtendHoldInput", vars{"requestKey": key(), "hold": hold.ID}); r.Code != "HOLD_ENDED" {
		t.Errorf("extend after the release: got %+v", r)
	}
	h.hold(other, vars{"seats": vars{"show": h.show, "seats": h.seats[:1]}})
}

const checkoutFields = `__typename ... on Checkout { hold { state booking { id } } payment { state declineCode redirectUrl amount { amountMinor } refunds { id } }
	booking { id reference state partnerReference total { formatted } contact { name email } lines { state unit { seat { label } } } } }
	... on CheckoutRefused { code message }`

type sold struct {
	Typename      string `json:"__typename"`
	Code, Message string
	Hold          struct {
		State   string
		Booking *created
	}
	Payment *struct {
		State       string
		DeclineCode *string
		RedirectURL *string
		Amount      struct{ AmountMinor int64 }
		Refunds     []created
	}
	Booking *struct {
		ID, Reference, State string
		PartnerReference     *string
		Total                struct{ Formatted string }
		Contact              struct{ Name, Email *string }
		Lines                []struct {
			State string
			Unit  struct{ Seat *struct{ Label string } }
		}
	}
}

func (h *house) checkout(as client, input vars) sold {
	h.server.t.Helper()
	var answer struct{ Checkout sold }
	as.get(`mutation($input: CheckoutInput!) { checkout(input: $input) { `+checkoutFields+` } }`, vars{"input": input}, &answer)
	return answer.Checkout
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[:2]}})
	pay := vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"},
		"expectedTotal": vars{"amountMinor": 10000, "currency": "EUR"}, "contact": vars{"name": "Ann", "email": "ann@example.com"}, "partnerReference": "REF-1",
	}
	wrong := vars{"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 9999, "currency": "EUR"}}
	if r := h.checkout(guest, wrong); r.Code != "PRICE_CHANGED" {
		t.Errorf("another total: got %+v", r)
	}
	bought := h.checkout(guest, pay)
	if bought.Typename != "Checkout" || bought.Hold.State != "CONFIRMED" || bought.Payment == nil || bought.Payment.State != "SUCCEEDED" || bought.Booking == nil {
		t.Fatalf("got %+v", bought)
	}
	booking := bought.Booking
	if booking.State != "BOOKED" || booking.Total.Formatted != "100.00 EUR" || *booking.Contact.Email != "ann@example.com" || *booking.PartnerReference != "REF-1" ||
		len(booking.Lines) != 2 || booking.Lines[0].Unit.Seat.Label != "Hall, row A, seat 1" || bought.Hold.Booking.ID != booking.ID {
		t.Errorf("got the booking %+v", booking)
	}
	if again := h.checkout(guest, pay); again.Booking == nil || again.Booking.ID != booking.ID {
		t.Errorf("the same request again: got %+v", again)
	}
	var list struct{ Bookings struct{ Nodes []created } }
	guest.get(`{ bookings { nodes { id } } }`, nil, &list)
	if len(list.Bookings.Nodes) != 1 || list.Bookings.Nodes[0].ID != booking.ID {
		t.Errorf("the guest's bookings: got %+v", list)
	}
	if e := h.guest().refused(`query($id: ID!) { booking(id: $id) { id } }`, vars{"id": booking.ID}); e.code() != "NOT_FOUND" {
		t.Errorf("another guest: got %+v", e)
	}
	h.cancelOneSeat(booking.ID)
}

// cancelOneSeat takes one of two seats back, which is refunded, and marks the other guest as absent.
func (h *house) cancelOneSeat(booking string) {
	t := h.server.t
	t.Helper()
	type changed struct {
		State    string
		Lines    []struct{ State string }
		Payments []struct {
			Refunded struct{ AmountMinor int64 }
			Refunds  []struct {
				Amount struct{ AmountMinor int64 }
				State  string
			}
		}
	}
	const fields = `... on Booking { state lines { state } payments { refunded { amountMinor } refunds { amount { amountMinor } state } } }`
	var cancelled struct{ Result struct{ Booking changed } }
	var absent struct{ Result changed }
	h.admin.get(`mutation($input: CancelBookingInput!) { result: cancelBooking(input: $input) { ... on Cancellation { booking { `+fields+` } } } }`,
		vars{"input": vars{"requestKey": key(), "booking": booking, "lines": []int{1}}}, &cancelled)
	if r := cancelled.Result.Booking; r.State != "BOOKED" || r.Lines[0].State != "BOOKED" || r.Lines[1].State != "CANCELLED" ||
		r.Payments[0].Refunded.AmountMinor != 5000 || len(r.Payments[0].Refunds) != 1 || r.Payments[0].Refunds[0].Amount.AmountMinor != 5000 {
		t.Errorf("cancelled: got %+v", r)
	}
	h.admin.get(`mutation($input: BookingLinesInput!) { result: markNoShow(input: $input) { `+fields+` } }`,
		vars{"input": vars{"requestKey": key(), "booking": booking}}, &absent)
	if r := absent.Result; r.Lines[0].State != "NO_SHOW" || r.Lines[1].State != "CANCELLED" {
		t.Errorf("absent: got %+v", r)
	}
	var again struct {
		Result struct{ Code, Message string }
	}
	h.admin.get(`mutation($input: CancelBookingInput!) { result: cancelBooking(input: $input) { ... on CancellationRefused { code message } } }`,
		vars{"input": vars{"requestKey": key(), "booking": booking}}, &again)
	if again.Result.Code != "NOT_BOOKED" {
		t.Errorf("cancel again: got %+v", again)
	}
}

func TestDeclineIsToldWithTheCheckout(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	hold := h.hold(guest, vars{"pool": vars{"pool": h.standing, "quantity": 2}})
	declined := h.checkout(guest, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_decline_insufficient_funds"},
		"expectedTotal": vars{"amountMinor": 3000, "currency": "EUR"},
	})
	if declined.Hold.State != "RELEASED" || declined.Payment == nil || declined.Payment.State != "DECLINED" || *declined.Payment.DeclineCode != "insufficient_funds" || declined.Booking != nil {
		t.Errorf("got %+v", declined)
	}
}

func TestAuditIsForAdmins(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	h.hold(guest, vars{"pool": vars{"pool": h.standing, "quantity": 2}})
	var answer struct {
		Audit struct {
			Ok     bool
			Checks []struct {
				Name       string
				Ok         bool
				Violations int
				Examples   []string
			}
		}
	}
	h.admin.get(`{ audit { ok checks { name ok violations examples } } }`, nil, &answer)
	if !answer.Audit.Ok || len(answer.Audit.Checks) == 0 {
		t.Errorf("got %+v", answer.Audit)
	}
	for name, as := range map[string]client{"guest": guest, "page": h.page, "partner": h.partner} {
		if e := as.refused(`{ audit { ok } }`, nil); e.code() != "FORBIDDEN" {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}

// A fan with a code holds before the sale opens, as often as the code has uses, and the admin sees how
// many are left.
func TestAPresaleCodeOpensTheSaleEarly(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	var made struct{ CreateShow shown }
	h.admin.get(`mutation($input: CreateShowInput!) { createShow(input: $input) { id pools { id } } }`, vars{"input": vars{
		"requestKey": key(), "event": h.event, "name": "Early", "startsAt": "2030-03-14T19:30:00Z", "saleOpensAt": "2029-09-01T10:00:00Z",
		"priceLevels": []vars{{"name": "Standing", "amountMinor": 1500}},
		"pools":       []vars{{"name": "Floor", "priceLevel": "Standing", "capacity": 20}},
	}}, &made)
	h.show, h.standing = made.CreateShow.ID, made.CreateShow.Pools[0].ID
	h.presaleCode()
	line := []vars{{"pool": vars{"pool": h.standing, "quantity": 1}}}
	first, second, third := h.guest(), h.guest(), h.guest()
	if r := h.place(first, vars{"requestKey": key(), "lines": line}); r.Code != "SALE_NOT_OPEN" {
		t.Errorf("without a code: got %+v", r)
	}
	if r := h.place(first, vars{"requestKey": key(), "lines": line, "presaleCode": "fan klub"}); r.Code != "PRESALE_CODE_INVALID" {
		t.Errorf("with a wrong code: got %+v", r)
	}
	for _, fan := range []client{first, second} {
		if r := h.place(fan, vars{"requestKey": key(), "lines": line, "presaleCode": "fan CLUB"}); r.State != "ACTIVE" {
			t.Errorf("with the code: got %+v", r)
		}
	}
	if r := h.place(third, vars{"requestKey": key(), "lines": line, "presaleCode": "FANCLUB"}); r.Code != "PRESALE_CODE_USED_UP" {
		t.Errorf("after the last use: got %+v", r)
	}
	var codes struct {
		PresaleCodes struct {
			Nodes []struct {
				Code             string
				Uses, Held, Used int
			}
		}
	}
	h.admin.get(`query($show: ID!) { presaleCodes(show: $show) { nodes { code uses held used } } }`, vars{"show": h.show}, &codes)
	if n := codes.PresaleCodes.Nodes; len(n) != 1 || n[0].Code != "FANCLUB" || n[0].Uses != 2 || n[0].Held != 2 || n[0].Used != 0 {
		t.Errorf("the codes are %+v", n)
	}
}

// The code that a guest reads out finds the booking, for those who may see it and for nobody else.
func TestABookingIsFoundByItsReference(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	guest := h.guest()
	hold := h.hold(guest, vars{"pool": vars{"pool": h.standing, "quantity": 1}})
	sale := h.checkout(guest, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 1500, "currency": "EUR"},
	})
	const query = `query($reference: String!, $region: String) { bookingByReference(reference: $reference, region: $region) { id } }`
	spoken := strings.ToLower(sale.Booking.Reference[:4]) + " " + sale.Booking.Reference[4:]
	for name, as := range map[string]client{"the guest": guest, "the box office": h.admin} {
		var answer struct{ BookingByReference created }
		as.get(query, vars{"reference": spoken, "region": "eu"}, &answer)
		if answer.BookingByReference.ID != sale.Booking.ID {
			t.Errorf("%s finds %q, want %q", name, answer.BookingByReference.ID, sale.Booking.ID)
		}
	}
	nobodys := other.admin.post(query, vars{"reference": "ZZZZZZZZZZZZ", "region": "eu"}).body
	for name, as := range map[string]client{"another guest": h.guest(), "another tenant": other.admin} {
		if got := as.post(query, vars{"reference": sale.Booking.Reference, "region": "eu"}).body; got != nobodys {
			t.Errorf("%s is told %s, want %s", name, got, nobodys)
		}
	}
	if got := h.admin.post(query, vars{"reference": "ABC", "region": "eu"}).body; !strings.Contains(got, "BAD_INPUT") {
		t.Errorf("a short code is answered with %s", got)
	}
}
