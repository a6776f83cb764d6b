package admission_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
)

// While a room is open a guest holds with a grant, once; a seller's own key stands at the counter.
func TestAHoldUsesAGrantOnce(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	guest := h.Guest()
	_, err := h.holdKey(inventorytest.Key(), guest, nil)
	expect(t, err, "ADMISSION_REQUIRED")
	grant := h.admitted(guest)

	// A refused hold leaves the grant.
	_, err = h.Inventory.PlaceHold(t.Context(), guest.Actor, inventory.PlaceHold{
		RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{h.hall.Pools[0].Units(11)}, Grant: &grant.ID,
	})
	expect(t, err, "LIMIT_PER_HOLD")
	key := inventorytest.Key()
	hold, err := h.holdKey(key, guest, &grant.ID)
	expect(t, err, "ok")
	// The same request again is answered with the same hold, with the grant used up, and without it.
	for _, again := range []*inventory.GrantID{&grant.ID, nil} {
		same, err := h.holdKey(key, guest, again)
		expect(t, err, "ok")
		if same.ID != hold.ID {
			t.Errorf("the same request led to another hold")
		}
	}
	_, err = h.hold(guest, grant.ID)
	expect(t, err, "ADMISSION_REQUIRED")
	// A released hold gives no use back, so holding and releasing in a loop ends.
	guest.Release(hold)
	_, err = h.hold(guest, grant.ID)
	expect(t, err, "ADMISSION_REQUIRED")

	partner := h.Partner("Agency")
	if _, err := partner.Try(h.hall.Pools[0].Units(1)); err != nil {
		t.Errorf("a partner is refused: %v", err)
	}
	h.Audit()
}

// Of many requests at once with one grant, as many get a hold as the grant is good for.
func TestOneGrantInManyHandsAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), func(r *admission.NewRoom) { r.HoldsPerGrant = 2 })
	guest := h.Guest()
	grant := h.admitted(guest)
	won := 0
	for _, err := range inventorytest.Race(20, func(int) error {
		_, err := h.hold(guest, grant.ID)
		return err
	}) {
		if err == nil {
			won++
			continue
		}
		expect(t, err, "ADMISSION_REQUIRED")
	}
	if won != 2 || h.Rows("admission_uses") != 2 {
		t.Errorf("%d holds and %d uses of a grant for two", won, h.Rows("admission_uses"))
	}
	h.Audit()
}

// Grants of somebody else, of another show, that are over or never were open nothing, and are all
// answered alike.
func TestGrantsCannotBeSharedOrMadeUp(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	guest, other := h.Guest(), h.Guest()
	grant := h.admitted(guest)
	_, err := h.hold(other, grant.ID)
	expect(t, err, "ADMISSION_REQUIRED")
	_, err = h.hold(guest, ids.New[inventory.GrantKind](inventorytest.Region))
	expect(t, err, "ADMISSION_REQUIRED")
	// Not at another show either, whether or not that one has a room.
	another := h.hall.Another(inventorytest.PoolOf("Lawn", 10, 1))
	_, err = h.Inventory.PlaceHold(t.Context(), guest.Actor, inventory.PlaceHold{
		RequestKey: inventorytest.Key(), Lines: []inventory.LineRequest{another.Pools[0].Units(1)}, Grant: &grant.ID,
	})
	expect(t, err, "ADMISSION_REQUIRED")
	stranger := open(t, quick(), nil)
	_, err = stranger.hold(stranger.Guest(), grant.ID)
	expect(t, err, "ADMISSION_REQUIRED")
	h.pass(5 * time.Minute)
	_, err = h.hold(guest, grant.ID)
	expect(t, err, "ADMISSION_REQUIRED")
	if h.Rows("admission_uses") != 0 || h.Rows("holds") != 0 {
		t.Error("something was held")
	}
}

// A token opens the door for one session once. Whoever changes a bit of it, has another's, or one of
// another show, tenant or opening, stays outside.
func TestTokensCannotBeSharedOrMadeUp(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	guest, other := h.Guest(), h.Guest()
	mine := h.join(h.room, guest.Actor, "")
	h.called(h.room, guest.Actor, mine.Token)
	admit := func(as inventorytest.Buyer, token string) error {
		_, err := h.room.Admit(t.Context(), as.Actor, token, "")
		return err
	}
	expect(t, admit(other, mine.Token), "ADMISSION_TOKEN_INVALID")
	expect(t, admit(guest, ""), "ADMISSION_TOKEN_INVALID")
	expect(t, admit(guest, strings.Repeat("x", 10_000)), "ADMISSION_TOKEN_INVALID")
	expect(t, admit(guest, mine.Address), "ADMISSION_TOKEN_INVALID")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(mine.Token, "hfw1_"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] ^= 1
		expect(t, admit(guest, "hfw1_"+base64.RawURLEncoding.EncodeToString(raw)), "ADMISSION_TOKEN_INVALID")
		raw[i] ^= 1
	}
	stranger := open(t, quick(), nil)
	_, err = stranger.room.Admit(t.Context(), stranger.Guest().Actor, mine.Token, "")
	expect(t, err, "ADMISSION_TOKEN_INVALID")

	// A visitor without a session may take any, but the ticket lets one session in.
	visitor := h.join(h.room, h.Widget, "")
	h.called(h.room, h.Widget, visitor.Token)
	won := 0
	guests := h.Guests(8)
	for _, err := range inventorytest.Race(len(guests), func(i int) error { return admit(guests[i], visitor.Token) }) {
		if err == nil {
			won++
			continue
		}
		expect(t, err, "ADMISSION_USED")
	}
	if won != 1 {
		t.Errorf("%d sessions came in with one ticket", won)
	}
	// The publishable key alone cannot come in.
	_, err = h.room.Admit(t.Context(), h.Widget, visitor.Token, "")
	expect(t, err, "denied")
}

// A session has one live grant of a show at a time, and is answered with the same as long as it may
// use it; what is used up or over is not to be had again with the same ticket.
func TestATicketIsExchangedOnce(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	guest := h.Guest()
	first := h.join(h.room, guest.Actor, "")
	h.called(h.room, guest.Actor, first.Token)
	grant, err := h.room.Admit(t.Context(), guest.Actor, first.Token, "")
	expect(t, err, "ok")
	again, err := h.room.Admit(t.Context(), guest.Actor, first.Token, "")
	expect(t, err, "ok")
	second := h.join(h.room, h.Widget, "")
	h.called(h.room, h.Widget, second.Token)
	other, err := h.room.Admit(t.Context(), guest.Actor, second.Token, "")
	expect(t, err, "ok")
	if again.ID != grant.ID || other.ID != grant.ID || h.Rows("admission_grants") != 1 {
		t.Errorf("grants %s, %s and %s", grant.ID, again.ID, other.ID)
	}
	if _, err := h.hold(guest, grant.ID); err != nil {
		t.Fatal(err)
	}
	_, err = h.room.Admit(t.Context(), guest.Actor, first.Token, "")
	expect(t, err, "ADMISSION_USED")
	// The second ticket was kept.
	_, err = h.room.Admit(t.Context(), guest.Actor, second.Token, "")
	expect(t, err, "ok")
	h.pass(5 * time.Minute)
	_, err = h.room.Admit(t.Context(), guest.Actor, second.Token, "")
	expect(t, err, "ADMISSION_USED")
	// Who wants to come again stands at the end.
	third, err := h.room.Join(t.Context(), guest.Actor, admission.Join{Show: h.hall.Show, Again: true})
	expect(t, err, "ok")
	if third.Order <= first.Order {
		t.Errorf("joining again gave order %d, the first was %d", third.Order, first.Order)
	}
	h.called(h.room, guest.Actor, third.Token)
	_, err = h.room.Admit(t.Context(), guest.Actor, third.Token, "")
	expect(t, err, "ok")
}

// Without an open room the terms alone can ask for a grant, and then nobody has one.
func TestTermsCanAskForAdmissionAlways(t *testing.T) {
	t.Parallel()
	x := inventorytest.New(t)
	hall := x.Hall(0, inventorytest.PoolOf("Floor", 10, 1))
	yes := true
	if _, err := x.Inventory.SetTerms(t.Context(), x.Owner, inventory.TermsScope{Show: &hall.Show}, inventory.TermsChange{AdmissionRequired: &yes}); err != nil {
		t.Fatal(err)
	}
	guest := x.Guest()
	guest.Refused("ADMISSION_REQUIRED", hall.Pools[0].Units(1))
	if _, err := x.Partner("Agency").Try(hall.Pools[0].Units(1)); err != nil {
		t.Error(err)
	}
}

// Two processes that share nothing but the database accept each other's tokens and count together.
func TestTwoProcessesAreOneRoom(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	there := process(t, quick())
	guest := h.Guest()
	joined := h.join(h.room, guest.Actor, "")
	h.called(there, guest.Actor, joined.Token)
	grant, err := there.Admit(t.Context(), guest.Actor, joined.Token, "")
	expect(t, err, "ok")
	if _, err := h.hold(guest, grant.ID); err != nil {
		t.Error(err)
	}
	here, err := h.room.Document(t.Context(), joined.Address)
	expect(t, err, "ok")
	elsewhere, err := there.Document(t.Context(), joined.Address)
	expect(t, err, "ok")
	if len(here.Body) == 0 || len(elsewhere.Body) == 0 {
		t.Error("an empty document")
	}
	for _, made := range []string{"", "hfw1_", joined.Token, joined.Address[:len(joined.Address)-2] + "xx", "hfw1_" + strings.Repeat("A", 90)} {
		_, err := there.Document(t.Context(), made)
		expect(t, err, "not_found")
	}
}

// Keys change while tickets are out: the old ones are still good, also in a process that has not met
// the new key.
func TestKeysChangeWhileVisitorsWait(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	there := process(t, quick())
	before := h.join(h.room, h.Widget, "")
	if _, err := there.Place(t.Context(), h.Widget, before.Token); err != nil {
		t.Fatal(err)
	}
	if err := h.room.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := h.join(h.room, h.Widget, "")
	if before.Token[:11] == after.Token[:11] {
		t.Error("the same key signed both")
	}
	wait(t, func() error {
		_, err := there.Place(t.Context(), h.Widget, after.Token)
		return err
	})
	for _, token := range []string{before.Token, after.Token} {
		if _, err := there.Place(t.Context(), h.Widget, token); err != nil {
			t.Error(err)
		}
	}
}

// Nobody but the tenant's owner manages a room, and a room of another tenant is not there.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	h, other := open(t, quick(), nil), open(t, quick(), nil)
	paused := true
	for name, actor := range map[string]inventorytest.Buyer{"guest": h.Guest(), "partner": h.Partner("Agency"), "page": h.Buyer(h.Widget)} {
		_, err := h.room.Open(t.Context(), actor.Actor, inventorytest.Key(), h.newRoom())
		_, changed := h.room.Update(t.Context(), actor.Actor, h.hall.Show, admission.Change{Paused: &paused})
		_, closed := h.room.CloseRoom(t.Context(), actor.Actor, h.hall.Show)
		t.Log(name)
		expect(t, err, "denied")
		expect(t, changed, "denied")
		expect(t, closed, "denied")
	}
	_, err := h.room.Update(t.Context(), other.Owner, h.hall.Show, admission.Change{Paused: &paused})
	expect(t, err, "not_found")
	input := h.newRoom()
	_, err = h.room.Open(t.Context(), other.Owner, inventorytest.Key(), input)
	expect(t, err, "not_found")
	_, err = h.room.Room(t.Context(), other.Owner, h.hall.Show)
	expect(t, err, "not_found")
	_, err = h.room.Join(t.Context(), other.Widget, admission.Join{Show: h.hall.Show})
	expect(t, err, "not_found")
	if _, err := h.room.Room(t.Context(), h.Widget, h.hall.Show); err != nil {
		t.Error(err)
	}
}

// In a rush, where many claims share transactions, each hold takes a use of its own buyer's grant, and
// who has none is refused beside those who have one.
func TestARushOfGrants(t *testing.T) {
	t.Parallel()
	h := open(t, quick(), nil)
	guests := h.Guests(60)
	grants := make([]inventory.GrantID, len(guests))
	for i, guest := range guests[:30] {
		grants[i] = ids.New[inventory.GrantKind](inventorytest.Region)
		if _, err := h.DB.Pool().Exec(t.Context(), `INSERT INTO admission_grants (tenant_id, region, id, show_id, ticket, session_id, issued_at, expires_at, holds)
			VALUES ($1, 'eu', $2, $3, $2, $4, now(), now() + interval '1 hour', 1)`, h.ID.UUID, grants[i].UUID, h.hall.Show.UUID, guest.Actor.Session.UUID); err != nil {
			t.Fatal(err)
		}
	}
	for i, err := range inventorytest.Race(2*len(guests), func(i int) error {
		guest := i / 2
		if grants[guest].IsZero() {
			_, err := h.holdKey(inventorytest.Key(), guests[guest], nil)
			return err
		}
		// Both tries are one request, so both get the one hold.
		_, err := h.holdKey(fmt.Sprintf("rush-%d", guest), guests[guest], &grants[guest])
		return err
	}) {
		want := "ADMISSION_REQUIRED"
		if !grants[i/2].IsZero() {
			want = "ok"
		}
		expect(t, err, want)
	}
	if h.Rows("admission_uses") != 30 || h.Rows("holds") != 30 {
		t.Errorf("%d holds with %d uses", h.Rows("holds"), h.Rows("admission_uses"))
	}
	h.Audit()
}
