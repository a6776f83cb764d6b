package bookings_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// R47: the sweeper, a newer buyer and the success meet at the same moment, 1,000 times. Each ends
// booked or refunded, never expired with the money kept.
func TestExpiryAndSuccessAtTheSameMoment(t *testing.T) {
	t.Parallel()
	b := open(t, ownDatabase(t))
	const rounds, holds = 20, 50
	ends := map[string]int{}
	for round := range rounds {
		b.hall = b.Hall(holds)
		change := inventory.TermsChange{LatePayment: inventorytest.Of(inventory.LatePaymentHonour)}
		if round%4 == 3 {
			change = refundLate()
		}
		b.SetTerms(change)
		sales := make([]inventory.Hold, holds)
		attempts := make([]payments.Attempt, holds)
		guests := b.Guests(holds)
		inventorytest.Race(holds, func(i int) error {
			sales[i] = guests[i].Hold(b.hall.Seats(i + 1))
			b.Pay(guests[i], sales[i], fmt.Sprintf("%s:r%d-%d", slow, round, i))
			attempts[i] = b.Attempts(sales[i])[0]
			return nil
		})
		b.Lapse(sales...)
		newer := b.Guests(holds)
		var work sync.WaitGroup
		for i := range holds {
			b.Provider.Settle(b.Account, attempts[i].ID.String())
			m := b.chargeMessage(attempts[i], "approved")
			m.about()["id"] = b.chargeID(attempts[i])
			work.Go(func() {
				if err := b.deliver(t, m); err != nil {
					t.Errorf("the event: %v", err)
				}
			})
			work.Go(func() {
				if i%2 == 0 {
					return
				}
				if _, err := newer[i].Try(b.hall.Seats(i + 1)); err != nil && !refused(err) {
					t.Errorf("the newer buyer: %v", err)
				}
			})
		}
		for range 2 {
			work.Go(func() {
				if _, err := b.Inventory.ExpireDue(t.Context(), holds); err != nil {
					t.Errorf("the sweeper: %v", err)
				}
			})
		}
		work.Wait()
		b.Settle()
		standing := make([]string, holds)
		inventorytest.Race(holds, func(i int) error {
			standing[i] = b.Sale(sales[i])
			return nil
		})
		for _, end := range standing {
			ends[end]++
		}
	}
	b.Audit()
	t.Logf("%d races: %v", rounds*holds, ends)
	for end := range ends {
		switch end {
		case "CONFIRMED SUCCEEDED/APPLIED BOOKED", "EXPIRED SUCCEEDED/ORPHANED refund 5000 SUCCEEDED":
		default:
			t.Errorf("ended as %s", end)
		}
	}
}

func refused(err error) bool {
	var refusal *inventory.Refusal
	return errors.As(err, &refusal)
}

// chargeID is the provider's own id of an attempt's charge.
func (b box) chargeID(attempt payments.Attempt) string {
	for _, charge := range b.Provider.Charges() {
		if charge.Key == attempt.ID.String() {
			return charge.ID
		}
	}
	return ""
}

// R4: fifty whole sales race for ten units, with every kind of card. Never more than ten are
// booked, and everybody else is refused or has the money back.
func TestFiftySalesRaceForTenUnits(t *testing.T) {
	t.Parallel()
	b := open(t, webhooks)
	const buyers = 50
	tokens := []string{
		sandbox.TokenApprove, sandbox.TokenDecline, sandbox.TokenWebhookBeforeResponse, "tok_pending_approve_after_1s",
		sandbox.TokenErrorApprove, sandbox.TokenUnknownThenApprove,
	}
	guests := b.Guests(buyers)
	for i, err := range inventorytest.Race(buyers, func(i int) error {
		for try := 0; ; try++ {
			hold, err := guests[i].Try(b.floor().Units(1))
			if refused(err) && try < 3 {
				continue
			}
			if err != nil {
				return err
			}
			outcome, err := b.TryPay(guests[i], hold, fmt.Sprintf("%s:b%d", tokens[(i+try)%len(tokens)], i))
			if err != nil || outcome.Hold.State != inventory.HoldStateReleased {
				return err
			}
		}
	}) {
		if err != nil && !refused(err) {
			t.Errorf("buyer %d: %v", i, err)
		}
	}
	b.Settle()
	b.Audit()
	// Whoever still wants a unit may have what declines gave back.
	for range 10 {
		guest := b.Guest()
		hold, err := guest.Try(b.floor().Units(1))
		if err != nil {
			break
		}
		b.Pay(guest, hold, sandbox.TokenApprove+":"+hold.ID.UUID.String())
	}
	if got := b.floor().Count(); got.Booked != 10 || got.Held != 0 {
		t.Errorf("the pool is %+v, want 10 booked", got)
	}
	b.Audit()
}

// R6: while a slow provider is asked, no transaction is open and nobody waits, with two connections
// for everybody.
func TestASlowProviderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	const application = "holdfast-slow-provider"
	dbtest.Open(t)
	few := openDatabase(t, db.Config{URL: dbtest.URL(t), MaxConnections: 2, ApplicationName: application})
	b := open(t, onDatabase(few))
	slowBuyers := b.Guests(4)
	holds := make([]inventory.Hold, len(slowBuyers))
	for i, guest := range slowBuyers {
		holds[i] = guest.Hold(b.floor().Units(1))
	}
	var paying sync.WaitGroup
	for i, guest := range slowBuyers {
		paying.Go(func() {
			if _, err := b.TryPay(guest, holds[i], fmt.Sprintf("tok_approve_after_600s:s%d", i)); err != nil {
				t.Errorf("buyer %d: %v", i, err)
			}
		})
	}
	b.Eventually("the provider is being asked", func() bool { return len(b.Provider.Charges()) == len(slowBuyers) })
	if few.Engine() == db.EnginePostgreSQL {
		// What is open for another reason ends by itself; the provider takes ten minutes.
		b.Eventually("no transaction is open while the provider is asked", func() bool {
			var open int
			if err := dbtest.Open(t).Pool().QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE application_name = $1 AND xact_start IS NOT NULL`, application).Scan(&open); err != nil {
				t.Fatal(err)
			}
			return open == 0
		})
	}
	for range 4 {
		b.Guest().Hold(b.floor().Units(1))
	}
	for _, hold := range holds {
		expect(t, "while the provider is asked", b.Sale(hold), "PROCESSING SUBMITTED")
	}
	for _, charge := range b.Provider.Charges() {
		b.Provider.Settle(b.Account, charge.Key)
	}
	paying.Wait()
	for _, hold := range holds {
		expect(t, "in the end", b.Sale(hold), "CONFIRMED SUCCEEDED/APPLIED BOOKED")
	}
	b.Audit()
}

// A checkout answers in time although its provider does not, and the payment goes on without it.
func TestACheckoutDoesNotWaitForItsProvider(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.InlineWait = time.Millisecond })
	guest := b.Guest()
	hold := guest.Hold(b.hall.Seats(1))
	outcome, err := b.TryPay(guest, hold, "tok_approve_after_30s")
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Hold.State != inventory.HoldStateProcessing || !outcome.Attempt.State.Open() {
		t.Errorf("the answer is %s", bookingstest.Standing(outcome))
	}
	b.Eventually("the payment has gone on", func() bool { return b.Sale(hold) == "CONFIRMED SUCCEEDED/APPLIED BOOKED" })
	b.Sales.Close()
	b.Audit()
}

// A process that drives as many payments as it may leaves the others to their jobs.
func TestAProcessDrivesABoundedNumberOfPayments(t *testing.T) {
	t.Parallel()
	b := open(t, func(s *bookingstest.Setup) { s.Sales.MaxInline, s.Sales.InlineWait = 1, time.Millisecond })
	first, second := b.Guest(), b.Guest()
	one, two := first.Hold(b.hall.Seats(1)), second.Hold(b.hall.Seats(2))
	b.Pay(first, one, "tok_approve_after_600s:one")
	b.Eventually("the provider is being asked", func() bool { return len(b.Provider.Charges()) == 1 })
	answer := b.Pay(second, two, sandbox.TokenApprove)
	expect(t, "the second", answer, "PROCESSING CREATED")
	b.Provider.Settle(b.Account, b.Attempt(one).ID.String())
	b.Settle()
	for _, hold := range []inventory.Hold{one, two} {
		if got := b.Sale(hold); !strings.HasSuffix(got, "BOOKED") {
			t.Errorf("ended as %s", got)
		}
	}
	b.Sales.Close()
	b.Audit()
}
