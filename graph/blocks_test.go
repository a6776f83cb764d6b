package graph_test

import (
	"slices"
	"strings"
	"testing"
)

// blockAnswer is a change of a block's seats, or why there was none.
type blockAnswer struct {
	Typename string `json:"__typename"`
	Block    struct {
		ID               string
		ChannelID        *string
		State            string
		Free, Held, Sold int
		ReleaseAt        *string
	}
	SeatCount, KeptCount int
	Kept                 []struct{ SeatID, Status string }
	Code                 string
	Refused              []struct{ SeatID, Code, BlockID string }
}

const editFields = `{ __typename ... on SeatBlockEdit { block { id channelId state free held sold releaseAt } seatCount keptCount kept { seatId status } }
	... on SeatBlockRefused { code refused: seats { seatId code blockId } } }`

func (h *house) createBlock(as client, input vars) blockAnswer {
	h.server.t.Helper()
	var answer struct{ CreateSeatBlock blockAnswer }
	as.get(`mutation($input: CreateSeatBlockInput!) { createSeatBlock(input: $input) `+editFields+` }`, vars{"input": input}, &answer)
	return answer.CreateSeatBlock
}

// houseSeats sets seats aside for the house.
func (h *house) houseSeats(seats ...string) string {
	h.server.t.Helper()
	return h.createBlock(h.admin, vars{
		"requestKey": key(), "show": h.show, "reason": "Camera", "seats": vars{"seats": seats},
	}).Block.ID
}

func (h *house) statuses(as client) map[string]int {
	h.server.t.Helper()
	var answer struct {
		Show struct {
			SeatMap struct{ Seats []struct{ Status string } }
		}
	}
	as.get(`query($id: ID!) { show(id: $id) { seatMap { seats { status } } } }`, vars{"id": h.show}, &answer)
	counts := map[string]int{}
	for _, seat := range answer.Show.SeatMap.Seats {
		counts[seat.Status]++
	}
	return counts
}

// R25, R58: a block lowers what the public sees at once; its release restores it once and is told once.
func TestABlockFromItsBeginningToItsRelease(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	made := h.createBlock(h.admin, vars{
		"requestKey": key(), "show": h.show, "channel": h.partners, "note": "Until Friday", "releaseAtLocal": "2030-03-08T18:00",
		"seats": vars{"rows": []vars{{"zone": "Hall", "row": "A"}}, "seats": []string{h.seats[5]}},
	})
	if made.Block.Free != 6 || made.SeatCount != 6 || made.Block.ReleaseAt == nil || *made.Block.ReleaseAt != "2030-03-08T17:00:00Z" {
		t.Fatalf("the block is %+v", made)
	}
	if got := h.statuses(guest); got["AVAILABLE"] != 4 || got["BLOCKED"] != 6 {
		t.Errorf("the public sees %v", got)
	}
	if got := h.statuses(h.partner); got["AVAILABLE"] != 10 {
		t.Errorf("the partner sees %v", got)
	}
	h.hold(h.partner, vars{"seats": vars{"show": h.show, "seats": []string{h.seats[0]}}})
	const read = `query($id: ID!) { seatBlock(id: $id) { state free held sold releasedBy seatList: seats { nodes { status seat { label } } } } }`
	for who, as := range map[string]client{"the admin": h.admin, "the partner": h.partner} {
		var answer struct {
			SeatBlock struct {
				State            string
				Free, Held, Sold int
				ReleasedBy       *string
				SeatList         struct {
					Nodes []struct {
						Status string
						Seat   struct{ Label string }
					}
				}
			}
		}
		as.get(read, vars{"id": made.Block.ID}, &answer)
		if b := answer.SeatBlock; b.State != "ACTIVE" || b.Free != 5 || b.Held != 1 || len(b.SeatList.Nodes) != 6 || b.SeatList.Nodes[0].Seat.Label == "" {
			t.Errorf("%s sees %+v", who, b)
		}
	}
	if e := guest.refused(read, vars{"id": made.Block.ID}); e.code() != "FORBIDDEN" {
		t.Errorf("the guest is told %+v", e)
	}

	request := key()
	for range 2 {
		for range 2 {
			var released struct {
				ReleaseSeatBlock struct {
					State, ReleasedBy string
					Free              int
				}
			}
			h.admin.get(`mutation($input: ReleaseSeatBlockInput!) { releaseSeatBlock(input: $input) { state releasedBy free } }`,
				vars{"input": vars{"requestKey": request, "block": made.Block.ID}}, &released)
			if r := released.ReleaseSeatBlock; r.State != "RELEASED" || r.ReleasedBy != "COMMAND" || r.Free != 0 {
				t.Errorf("the released block is %+v", r)
			}
		}
		request = key()
	}
	if got := h.statuses(guest); got["AVAILABLE"] != 9 || got["HELD"] != 1 {
		t.Errorf("the public sees %v", got)
	}
	told := 0
	for _, event := range h.changeEvents(h.admin) {
		if event.Type == "BLOCK_RELEASED" {
			told++
			if event.SubjectID != made.Block.ID {
				t.Errorf("the event is about %s", event.SubjectID)
			}
		}
	}
	if told != 1 {
		t.Errorf("the release is told %d times", told)
	}
	var history struct {
		SeatBlocks struct {
			Nodes []struct {
				ID      string
				Changes struct{ Nodes []struct{ Kind string } }
			}
		}
	}
	h.admin.get(`query($show: ID!) { seatBlocks(show: $show) { nodes { id changes { nodes { kind } } } } }`, vars{"show": h.show}, &history)
	var kinds []string
	for _, change := range history.SeatBlocks.Nodes[0].Changes.Nodes {
		kinds = append(kinds, change.Kind)
	}
	if want := []string{"CREATED", "RELEASED"}; !slices.Equal(kinds, want) {
		t.Errorf("kept is %v, want %v", kinds, want)
	}
}

// R11: two channels and one last seat: one has it, and the other hears why not. Staff may override a
// block, with a reason that is kept, and never get what somebody has.
func TestOneLastSeatAndTwoChannels(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	block := h.createBlock(h.admin, vars{
		"requestKey": key(), "show": h.show, "channel": h.partners, "seats": vars{"seats": []string{h.seats[0], h.seats[1]}},
	}).Block.ID
	seat := func(i int) vars { return vars{"seats": vars{"show": h.show, "seats": []string{h.seats[i]}}} }
	place := func(as client, override any, lines ...vars) (typename, code string) {
		t.Helper()
		var answer struct {
			PlaceHold struct {
				Typename string `json:"__typename"`
				Lines    []struct{ Code string }
			}
		}
		as.get(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { __typename ... on HoldRefused { lines { code } } } }`,
			vars{"input": vars{"requestKey": key(), "lines": lines, "overrideBlock": override}}, &answer)
		if len(answer.PlaceHold.Lines) > 0 {
			code = answer.PlaceHold.Lines[0].Code
		}
		return answer.PlaceHold.Typename, code
	}
	if got, code := place(h.guest(), nil, seat(0)); got != "HoldRefused" || code != "IN_OTHER_BLOCK" {
		t.Errorf("the public gets %s %s", got, code)
	}
	if got, _ := place(h.partner, nil, seat(0)); got != "Hold" {
		t.Errorf("the partner gets %s", got)
	}
	reason := vars{"reason": "The critic comes after all"}
	if got, code := place(h.admin, reason, seat(0)); got != "HoldRefused" || code != "HELD_BY_OTHER" {
		t.Errorf("staff get %s %s", got, code)
	}
	if got, code := place(h.admin, reason, seat(1)); got != "Hold" {
		t.Errorf("staff get %s %s", got, code)
	}
	if got, code := place(h.partner, nil, seat(1)); got != "HoldRefused" || code != "HELD_BY_OTHER" {
		t.Errorf("the partner gets %s %s", got, code)
	}
	const hold = `mutation($input: PlaceHoldInput!) { placeHold(input: $input) { __typename } }`
	if e := h.partner.refused(hold, vars{"input": vars{"requestKey": key(), "lines": []vars{seat(2)}, "overrideBlock": reason}}); e.code() != "FORBIDDEN" {
		t.Errorf("a partner that overrides is told %+v", e)
	}
	if e := h.admin.refused(hold, vars{"input": vars{"requestKey": key(), "lines": []vars{seat(2)}, "overrideBlock": vars{"reason": ""}}}); e.field() != "input.overrideBlock.reason" {
		t.Errorf("without a reason: %+v", e)
	}
	var kept struct {
		SeatBlock struct {
			Changes struct {
				Nodes []struct{ Kind, Note, KeyID, HoldID string }
			}
		}
	}
	h.admin.get(`query($id: ID!) { seatBlock(id: $id) { changes(first: 5) { nodes { kind note keyId holdId } } } }`, vars{"id": block}, &kept)
	if n := kept.SeatBlock.Changes.Nodes; len(n) != 2 || n[1].Kind != "OVERRIDDEN" || n[1].Note != reason["reason"] || n[1].KeyID != h.adminKey || !strings.HasPrefix(n[1].HoldID, "hold_") {
		t.Errorf("kept is %+v", n)
	}
}

// Nobody without the permission, and no other tenant, sees or changes a block.
func TestBlocksOfOthersAreNone(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	block := h.houseSeats(h.seats[0])
	theirs := other.houseSeats(other.seats[0])
	create := func(change vars) vars {
		input := vars{"requestKey": key(), "show": h.show, "channel": h.partners, "seats": vars{"seats": []string{h.seats[1]}}}
		for name, value := range change {
			input[name] = value
		}
		return vars{"input": input}
	}
	const made = `mutation($input: CreateSeatBlockInput!) { createSeatBlock(input: $input) { __typename } }`
	for _, c := range []struct {
		change               vars
		code, field, message string
	}{
		{vars{"channel": other.partners}, "NOT_FOUND", "", "no such channel"},
		{vars{"show": other.show}, "NOT_FOUND", "", "no such show"},
		{vars{"seats": vars{"seats": []string{h.seats[1], other.seats[2]}}}, "BAD_INPUT", "input.seats.seats[1]", "the show has no such seat"},
		{vars{"seats": vars{"zones": []string{"Moon"}}}, "BAD_INPUT", "input.seats.zones[0]", "no zone"},
		{vars{"seats": vars{}}, "BAD_INPUT", "input.seats", "expected at least one"},
		{vars{"channel": nil}, "BAD_INPUT", "input.reason", "expected why"},
		{vars{"releaseAtLocal": "18:00"}, "BAD_INPUT", "input.releaseAtLocal", "2027-03-14T18:00"},
		{vars{"releaseAt": "2020-01-01T00:00:00Z"}, "BAD_INPUT", "input.releaseAt", "a moment to come"},
	} {
		if e := h.admin.refused(made, create(c.change)); e.code() != c.code || e.field() != c.field || !strings.Contains(e.Message, c.message) {
			t.Errorf("%v: got %+v", c.change, e)
		}
	}
	for who, as := range map[string]client{"partner": h.partner, "page": h.page, "guest": h.guest()} {
		if e := as.refused(made, create(nil)); e.code() != "FORBIDDEN" {
			t.Errorf("%s: %+v", who, e)
		}
	}
	refusedMove := h.admin.refused(`mutation($input: MoveSeatsInput!) { moveSeats(input: $input) { __typename } }`,
		vars{"input": vars{"requestKey": key(), "fromBlock": theirs, "toBlock": block, "seats": vars{"seats": []string{h.seats[1]}}}})
	if refusedMove.code() != "NOT_FOUND" {
		t.Errorf("from another tenant's block: %+v", refusedMove)
	}
	if got := h.statuses(h.guest()); got["BLOCKED"] != 1 {
		t.Errorf("something was written: %v", got)
	}
}

// A channel sells what it may; its commission is that of the sale.
func TestWhatAChannelMaySellAndEarns(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	set := func(shows, properties any, basisPoints int) {
		t.Helper()
		var answer struct {
			SetChannelSales struct {
				ShowIDs, PropertyIDs  []string
				CommissionBasisPoints int
			}
		}
		h.admin.get(`mutation($input: SetChannelSalesInput!) { setChannelSales(input: $input) { showIds propertyIds commissionBasisPoints } }`,
			vars{"input": vars{"channel": h.partners, "shows": shows, "properties": properties, "commissionBasisPoints": basisPoints}}, &answer)
	}
	set(nil, []string{}, 825)
	hold := h.hold(h.partner, vars{"pool": vars{"pool": h.standing, "quantity": 1}})
	sale := h.checkout(h.partner, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 1500, "currency": "EUR"},
	})
	set([]string{}, nil, 100)
	var answer struct {
		Booking struct {
			Commission *struct {
				BasisPoints int
				Amount      struct{ AmountMinor int }
			}
		}
	}
	const read = `query($id: ID!) { booking(id: $id) { commission { basisPoints amount { amountMinor } } } }`
	t.Log(h.admin.post(read, vars{"id": sale.Booking.ID}).body)
	h.admin.get(read, vars{"id": sale.Booking.ID}, &answer)
	// 8.25 % of 15.00 is 1.2375.
	if c := answer.Booking.Commission; c == nil || c.BasisPoints != 825 || c.Amount.AmountMinor != 124 {
		t.Errorf("the channel earns %+v", c)
	}
	var refused struct {
		PlaceHold struct{ Code string }
	}
	h.partner.get(`mutation($input: PlaceHoldInput!) { placeHold(input: $input) { ... on HoldRefused { code } } }`,
		vars{"input": vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": h.standing, "quantity": 1}}}}}, &refused)
	if refused.PlaceHold.Code != "NOT_SOLD_BY_CHANNEL" {
		t.Errorf("the channel is told %q", refused.PlaceHold.Code)
	}
	guest := h.guest()
	own := h.hold(guest, vars{"pool": vars{"pool": h.standing, "quantity": 1}})
	bought := h.checkout(guest, vars{
		"requestKey": key(), "hold": own.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 1500, "currency": "EUR"},
	})
	answer.Booking.Commission = nil
	guest.get(read, vars{"id": bought.Booking.ID}, &answer)
	if answer.Booking.Commission != nil {
		t.Errorf("the guest sees a commission")
	}
}
