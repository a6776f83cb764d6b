package bookings_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
)

// R70 for cards: ten tokens of one card, used at once by ten guests, share the limit of the card.
func TestSeveralTokensOfOneCardShareItsLimit(t *testing.T) {
	t.Parallel()
	b := open(t)
	const limit = 3
	b.SetTerms(inventory.TermsChange{MaxActiveHoldsPerInstrument: inventorytest.Of[int64](limit)})
	guests := b.Guests(10)
	holds := make([]inventory.Hold, len(guests))
	for i, guest := range guests {
		holds[i] = guest.Hold(b.hall.Seats(i + 1))
	}
	started := 0
	for i, err := range inventorytest.Race(len(guests), func(i int) error {
		for {
			_, err := b.TryPay(guests[i], holds[i], fmt.Sprintf("tok_pending_approve_after_%ds:card-of-alice", 500+i))
			var refusal *inventory.Refusal
			if !errors.As(err, &refusal) || refusal.Code != inventory.RefusalBusy {
				return err
			}
		}
	}) {
		switch {
		case err == nil:
			started++
		case b.Explain(err) != "LIMIT_PER_INSTRUMENT":
			t.Errorf("%d: %s", i, b.Explain(err))
		}
	}
	if started != limit || len(b.Provider.Charges()) != limit {
		t.Errorf("%d payments were started and %d sent, want %d", started, len(b.Provider.Charges()), limit)
	}
	var instruments int
	if err := b.DB.Pool().QueryRow(t.Context(), "SELECT count(DISTINCT instrument_fingerprint) FROM payment_attempts WHERE tenant_id = $1", b.ID.UUID).Scan(&instruments); err != nil || instruments != 1 {
		t.Errorf("%d instruments are counted, %v", instruments, err)
	}
	expect(t, "another card", b.Pay(guests[9], guests[9].Hold(b.floor().Units(1)), slow+":card-of-bob"), "PROCESSING UNKNOWN")
}

// A provider that does not say which card a token is leaves the token to be counted, and nobody waits
// for it.
func TestWithoutAFingerprintTheTokenIsCounted(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(ctx context.Context) (string, error){
		"an error": func(context.Context) (string, error) { return "", errors.New("no route") },
		"none":     func(context.Context) (string, error) { return "", nil },
		"silence": func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		},
		"nonsense": func(context.Context) (string, error) { return "fp\x00", nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.SetTerms(inventory.TermsChange{MaxActiveHoldsPerInstrument: inventorytest.Of[int64](1)})
			sales := b.Service(bookings.Config{InlineWait: bookingstest.Patience}, fingerprinting{b.Gateway, answer})
			pay := func(seat int, token string) error {
				guest := b.Guest()
				_, err := sales.Checkout(t.Context(), guest.Actor, bookingstest.CheckoutOf(guest.Hold(b.hall.Seats(seat)), token))
				return err
			}
			if err := pay(1, slow+":card"); err != nil {
				t.Fatal(b.Explain(err))
			}
			expect(t, "the same token", b.Explain(pay(2, slow+":card")), "LIMIT_PER_INSTRUMENT")
			if err := pay(3, slowNo+":card"); err != nil {
				t.Errorf("another token: %s", b.Explain(err))
			}
		})
	}
}

type fingerprinting struct {
	payments.Gateway
	answer func(ctx context.Context) (string, error)
}

func (f fingerprinting) Fingerprint(ctx context.Context, _, _ string) (string, error) {
	if _, limited := ctx.Deadline(); !limited {
		return "", errors.New("the question has no limit")
	}
	return f.answer(ctx)
}

// Which instrument a token stands for is asked only for what its asker may pay: nobody tries tokens
// out on the holds of others.
func TestNoInstrumentIsAskedForOnTheHoldOfAnother(t *testing.T) {
	t.Parallel()
	b := open(t)
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	asked := 0
	sales := b.Service(bookings.Config{InlineWait: time.Millisecond}, fingerprinting{b.Gateway, func(context.Context) (string, error) {
		asked++
		return "fp_1", nil
	}})
	if _, err := sales.Checkout(t.Context(), b.Guest().Actor, bookingstest.CheckoutOf(hold, slow)); err == nil || asked != 0 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	if _, err := sales.Checkout(t.Context(), guest.Actor, bookingstest.CheckoutOf(hold, slow)); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	// A second click asks nobody.
	if _, err := sales.Checkout(t.Context(), guest.Actor, bookingstest.CheckoutOf(hold, slow)); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}
