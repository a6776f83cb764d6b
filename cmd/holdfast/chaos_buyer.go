package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// How buyers behave.
const (
	// chaosAskAgain is the pause before a request that got no answer is sent again.
	chaosAskAgain = 25 * time.Millisecond
	// chaosLook is how often an unfinished payment is looked at, and chaosLookUntil how long before the
	// buyer goes on to the next purchase; what became of this one is checked at the end.
	chaosLook      = 100 * time.Millisecond
	chaosLookUntil = 5 * time.Second
	chaosTold      = 5 * time.Second
)

// chaosHold is a hold as the API shows it: with its payments, and the lines of its booking.
type chaosHold struct {
	ID       string         `json:"id"`
	State    string         `json:"state"`
	Total    apiMoney       `json:"total"`
	Payments []chaosPayment `json:"payments"`
	Booking  *chaosBooking  `json:"booking"`
}

func (h chaosHold) open() bool { return h.State == "ACTIVE" || h.State == "PROCESSING" }

type chaosPayment struct {
	ID          string   `json:"id"`
	State       string   `json:"state"`
	Captured    apiMoney `json:"captured"`
	Refunded    apiMoney `json:"refunded"`
	RedirectURL string   `json:"redirectUrl"`
}

type chaosBooking struct {
	ID    string      `json:"id"`
	State string      `json:"state"`
	Lines []chaosLine `json:"lines"`
}

type chaosLine struct {
	apiLine
	Ordinal int    `json:"ordinal"`
	State   string `json:"state"`
}

const (
	chaosPaymentFields = `{ id state captured ` + apiMoneyFields + ` refunded ` + apiMoneyFields + ` redirectUrl }`
	chaosBookingFields = `{ id state lines { ordinal state unit { kind quantity seatId night } amount ` + apiMoneyFields + ` } }`

	chaosReadHold = `query ($id: ID!) { result: hold(id: $id) {
		id state total ` + apiMoneyFields + ` payments ` + chaosPaymentFields + ` booking ` + chaosBookingFields + `
	} }`
	chaosCheckout = `mutation ($input: CheckoutInput!) { result: checkout(input: $input) {
		... on Checkout { payment ` + chaosPaymentFields + ` booking ` + chaosBookingFields + ` }
		... on CheckoutRefused { code message }
	} }`
	chaosCancel = `mutation ($input: CancelBookingInput!) { result: cancelBooking(input: $input) {
		... on Cancellation { booking ` + chaosBookingFields + ` fee ` + apiMoneyFields + ` }
		... on CancellationRefused { code message }
	} }`
)

type chaosPaid struct {
	Payment *chaosPayment `json:"payment"`
	Booking *chaosBooking `json:"booking"`
	apiRefusal
}

type chaosCancelled struct {
	Booking *chaosBooking `json:"booking"`
	Fee     apiMoney      `json:"fee"`
	apiRefusal
}

// chaosSale is one purchase, and what the buyer was told of it.
type chaosSale struct {
	chaosPlan
	name string
	who  apiCaller
	hold string
	// payment and booking are ids; empty when the buyer was told of none.
	payment, booking string
	// gone are the ordinals of the lines that were said to be cancelled, and feeMinor is what was kept
	// of them.
	gone     map[int]bool
	feeMinor int64
}

// chaosTally counts what buyers did and were told.
type chaosTally struct {
	Begun      int `json:"begun"`
	Held       int `json:"held"`
	Abandoned  int `json:"abandoned"`
	ToldBooked int `json:"toldBooked"`
	Cancelled  int `json:"cancelled"`
	Declined   int `json:"declined"`
	// Unfinished payments were still open when the buyer went on.
	Unfinished int `json:"unfinished"`
	// Refused counts refusals by code.
	Refused map[string]int `json:"refused"`
	// Retries are requests that were sent again because nothing, UNAVAILABLE or BUSY was the answer.
	Retries int `json:"retries"`
}

// chaosLedger is all purchases.
type chaosLedger struct {
	lock   sync.Mutex
	sales  []*chaosSale
	tally  chaosTally
	faults map[string]int
	// errors are answers that no client should get.
	errors []error
}

func newChaosLedger() chaosLedger {
	return chaosLedger{tally: chaosTally{Refused: map[string]int{}}, faults: map[string]int{}}
}

// note changes the ledger under its lock.
func (l *chaosLedger) note(change func(*chaosLedger)) {
	l.lock.Lock()
	defer l.lock.Unlock()
	change(l)
}

// buy lets buyers buy and processes die until the time is up, and every buyer be answered.
func (r *chaosRun) buy(ctx context.Context) error {
	began := time.Now()
	r.buyingEnds = began.Add(time.Duration(r.config.Seconds * float64(time.Second)))
	ended, end := context.WithCancel(ctx)
	var aside sync.WaitGroup
	defer aside.Wait()
	defer end()
	aside.Go(func() { r.hurryAlong(ended) })
	aside.Go(func() { r.tell(ended, began) })
	group, ctx := errgroup.WithContext(ctx)
	for i := range r.config.Buyers {
		buyer := &chaosBuyer{run: r, number: i, chance: r.config.chanceOf(i + 1), sessions: map[*chaosSeller]string{}}
		group.Go(func() error { return buyer.buysOnAndOn(ctx) })
	}
	group.Go(func() error { return r.fleet.harass(ctx, r.config, r.buyingEnds, r.forgetTheDead) })
	return group.Wait()
}

// tell says now and then how far it is.
func (r *chaosRun) tell(ctx context.Context, began time.Time) {
	for pause(ctx, chaosTold) == nil {
		r.fleet.lock.Lock()
		kills := counts(r.fleet.kills)
		r.fleet.lock.Unlock()
		r.ledger.note(func(l *chaosLedger) {
			r.say("%4.0f s  %d purchases, %d told booked, %d requests sent again; killed: %s", time.Since(began).Seconds(), l.tally.Begun, l.tally.ToldBooked,
				l.tally.Retries, kills)
		})
	}
}

// chaosBuyer buys one thing after the other, as a careful client does: it keeps the key of each
// request, and sends the same request to the other server until it is answered.
type chaosBuyer struct {
	run    *chaosRun
	number int
	chance *rand.Rand
	// sessions are tokens by seller.
	sessions map[*chaosSeller]string
	// server is whom the buyer asks first.
	server int
}

// buysOnAndOn returns when the time is up. The error is only that the run was broken off.
func (b *chaosBuyer) buysOnAndOn(ctx context.Context) error {
	for n := 0; time.Now().Before(b.run.buyingEnds); n++ {
		sale := &chaosSale{chaosPlan: b.run.plans(b.chance), name: fmt.Sprintf("chaos-%d-%d", b.number, n), gone: map[int]bool{}}
		full := false
		b.run.ledger.note(func(l *chaosLedger) {
			if full = len(l.sales) >= chaosMaxSales; !full {
				l.sales = append(l.sales, sale)
				l.tally.Begun++
			}
		})
		if full {
			return nil
		}
		if err := b.buys(ctx, sale); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.run.ledger.note(func(l *chaosLedger) { l.errors = append(l.errors, fmt.Errorf("%s: %w", sale.name, err)) })
		}
	}
	return nil
}

// insistAnywhere sends a request until it is answered, to one server after the other.
func insistAnywhere[T any](ctx context.Context, b *chaosBuyer, who apiCaller, send func(ctx context.Context, who apiCaller) (answer T, code string, err error)) (T, error) {
	servers := b.run.fleet.servers()
	for {
		b.server = (b.server + 1) % len(servers)
		if client := servers[b.server].client.Load(); client != nil {
			who.api = client
			answer, code, err := send(ctx, who)
			var said *apiError
			switch {
			case err == nil && code != refusalBusy:
				return answer, nil
			case errors.As(err, &said) && said.Extensions.Code != "UNAVAILABLE", errors.Is(err, errChaosGone):
				return answer, err
			}
		}
		b.run.ledger.note(func(l *chaosLedger) { l.tally.Retries++ })
		if err := pause(ctx, chaosAskAgain); err != nil {
			var none T
			return none, err
		}
	}
}

// session starts a guest's session with a seller, once.
func (b *chaosBuyer) session(ctx context.Context, seller *chaosSeller) (apiCaller, error) {
	who := apiCaller{key: seller.shop.key, session: b.sessions[seller]}
	if who.session != "" {
		return who, nil
	}
	type started struct {
		Token string `json:"token"`
	}
	answer, err := insistAnywhere(ctx, b, who, func(ctx context.Context, who apiCaller) (started, string, error) {
		answer, err := ask[started](ctx, who, apiStartSession, nil)
		return answer, "", err
	})
	if err != nil {
		return who, fmt.Errorf("start a session: %w", err)
	}
	who.session, b.sessions[seller] = answer.Token, answer.Token
	return who, nil
}

// buys goes the way of one purchase, as far as its plan goes.
func (b *chaosBuyer) buys(ctx context.Context, sale *chaosSale) error {
	var err error
	if sale.who, err = b.session(ctx, sale.seller); err != nil {
		return err
	}
	placed, err := insistAnywhere(ctx, b, sale.who, func(ctx context.Context, who apiCaller) (apiPlaced, string, error) {
		placed, err := who.place(ctx, sale.name+"-hold", sale.lines...)
		return placed, placed.Code, err
	})
	switch {
	case err != nil:
		return fmt.Errorf("ask for a hold: %w", err)
	case placed.ID == "":
		b.refused(placed.Code)
		return nil
	}
	sale.hold = placed.ID
	abandons := sale.intent == chaosAbandons
	b.run.ledger.note(func(l *chaosLedger) {
		l.tally.Held++
		if abandons {
			l.tally.Abandoned++
		}
	})
	if abandons {
		return nil
	}
	paid, err := b.pays(ctx, sale, placed.apiHold)
	if err != nil || paid.Code != "" {
		return err
	}
	sale.booking = idOf(paid.Booking)
	booking := paid.Booking
	if booking == nil {
		if booking, err = b.waits(ctx, sale); err != nil || booking == nil {
			return err
		}
		sale.booking = booking.ID
	}
	b.run.ledger.note(func(l *chaosLedger) { l.tally.ToldBooked++ })
	return b.cancels(ctx, sale, booking)
}

func idOf(booking *chaosBooking) string {
	if booking == nil {
		return ""
	}
	return booking.ID
}

func (b *chaosBuyer) refused(code string) {
	b.run.ledger.note(func(l *chaosLedger) { l.tally.Refused[code]++ })
}

// pays checks out. A refusal is in the answer, and counted.
func (b *chaosBuyer) pays(ctx context.Context, sale *chaosSale, hold apiHold) (chaosPaid, error) {
	method := apiInput{"hosted": apiInput{"returnUrl": "http://127.0.0.1/thanks"}}
	if sale.token != "" {
		// Each purchase has a card of its own.
		method = apiInput{"token": sale.token + ":" + sale.name}
	}
	paid, err := insistAnywhere(ctx, b, sale.who, func(ctx context.Context, who apiCaller) (chaosPaid, string, error) {
		paid, err := ask[chaosPaid](ctx, who, chaosCheckout, map[string]any{"input": apiInput{
			"requestKey": sale.name + "-pay", "hold": sale.hold, "paymentMethod": method, "expectedTotal": hold.Total.input(), "contact": apiInput{"name": sale.name},
		}})
		return paid, paid.Code, err
	})
	switch {
	case err != nil:
		return paid, fmt.Errorf("check out: %w", err)
	case paid.Code != "":
		b.refused(paid.Code)
		return paid, nil
	case paid.Payment == nil:
		return paid, errors.New("the checkout of a hold that costs something made no payment")
	}
	sale.payment = paid.Payment.ID
	if sale.trouble != "" {
		b.run.ledger.note(func(l *chaosLedger) { l.faults[sale.trouble]++ })
	}
	return paid, nil
}

// waits looks at a payment that is under way until it is over, but not for ever, and does what the
// provider's page asks for. The booking is nil when there is none yet.
func (b *chaosBuyer) waits(ctx context.Context, sale *chaosSale) (*chaosBooking, error) {
	pressed := false
	for until := time.Now().Add(chaosLookUntil); ; {
		hold, err := insistAnywhere(ctx, b, sale.who, sale.reads)
		if err != nil {
			return nil, fmt.Errorf("read the hold: %w", err)
		}
		if hold.Booking != nil {
			return hold.Booking, nil
		}
		if !hold.open() {
			b.run.ledger.note(func(l *chaosLedger) { l.tally.Declined++ })
			return nil, nil //nolint:nilnil // no booking is the answer, and no failure
		}
		if time.Now().After(until) {
			b.run.ledger.note(func(l *chaosLedger) { l.tally.Unfinished++ })
			return nil, nil //nolint:nilnil // no booking yet is the answer, and no failure
		}
		for _, payment := range hold.Payments {
			if payment.RedirectURL != "" && !pressed {
				// The page may have closed meanwhile: its charge's end is checked like any other's.
				_ = b.run.provider.Press(sale.seller.account, payment.ID, sale.press, "tok_approve:"+sale.name)
				pressed = true
			}
		}
		if err := pause(ctx, chaosLook); err != nil {
			return nil, err
		}
	}
}

// reads is the purchase as the API shows it to its buyer.
func (s *chaosSale) reads(ctx context.Context, who apiCaller) (chaosHold, string, error) {
	hold, err := ask[*chaosHold](ctx, who, chaosReadHold, map[string]any{"id": s.hold})
	if err != nil {
		return chaosHold{}, "", err
	}
	if hold == nil {
		return chaosHold{}, "", fmt.Errorf("the buyer's hold %s is gone: %w", s.hold, errChaosGone)
	}
	return *hold, "", nil
}

// errChaosGone says that a buyer's hold is not there.
var errChaosGone = errors.New("the API answers with null")

// cancels gives a booking back, or one line of it, when the plan says so.
func (b *chaosBuyer) cancels(ctx context.Context, sale *chaosSale, booking *chaosBooking) error {
	if sale.intent == chaosKeeps {
		return nil
	}
	lines := []int{}
	if sale.intent == chaosCancelsLine {
		lines = append(lines, booking.Lines[0].Ordinal)
	}
	cancelled, err := insistAnywhere(ctx, b, sale.seller.admin, func(ctx context.Context, who apiCaller) (chaosCancelled, string, error) {
		cancelled, err := ask[chaosCancelled](ctx, who, chaosCancel, map[string]any{"input": apiInput{
			"requestKey": sale.name + "-cancel", "booking": booking.ID, "lines": lines,
		}})
		return cancelled, cancelled.Code, err
	})
	switch {
	case err != nil:
		return fmt.Errorf("cancel: %w", err)
	case cancelled.Code != "":
		b.refused(cancelled.Code)
		return nil
	case cancelled.Booking == nil:
		return errors.New("cancel: the answer has no booking")
	}
	sale.feeMinor = cancelled.Fee.AmountMinor
	for _, line := range cancelled.Booking.Lines {
		if line.State == "CANCELLED" {
			sale.gone[line.Ordinal] = true
		}
	}
	if len(sale.gone) == 0 {
		return errors.New("cancel: no line of the answer is cancelled")
	}
	b.run.ledger.note(func(l *chaosLedger) { l.tally.Cancelled++ })
	return nil
}
