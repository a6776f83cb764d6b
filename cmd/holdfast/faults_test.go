package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

// The fault tests break something while buyers buy, mend it, and then compare what the buyers were
// told with what there is: their holds and bookings, the provider's books, and the audit.

// faultPatience bounds one story of buyers and a fault, on a machine that has other things to do.
const faultPatience = 2 * time.Minute

// front is the one address of a shop whose server may be replaced. Without a server it breaks
// connections, as a machine does whose process has died.
type front struct {
	url    string
	server atomic.Pointer[url.URL]
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			target := f.server.Load()
			if target == nil {
				panic(http.ErrAbortHandler)
			}
			r.SetURL(target)
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	web := httptest.NewServer(proxy)
	t.Cleanup(web.Close)
	f.url = web.URL
	return f
}

// leadTo sends requests to a server from now on; "" is none.
func (f *front) leadTo(t *testing.T, server string) {
	t.Helper()
	if server == "" {
		f.server.Store(nil)
		return
	}
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	f.server.Store(target)
}

// faultSite is a shop that sells through a front.
type faultSite struct {
	t *testing.T
	// app is the test's own way to the database, which no fault touches.
	app      *app
	front    *front
	provider *sandbox.Server
	gateways map[string]payments.Gateway
	seller   *demoSeller
	hall     *demoHall
	buyers   []*faultBuyer
	// serverDies says that a broken connection is to be expected.
	serverDies bool
}

const faultPlaces = 1000

// newFaultSite sets a shop up on a database, which it migrates: a hall of so many seats and a pool of
// faultPlaces. Until the test decides otherwise, this process serves it.
func newFaultSite(t *testing.T, databaseURL string, seats int) *faultSite {
	t.Helper()
	ctx := t.Context()
	s := &faultSite{t: t, front: newFront(t)}
	var err error
	s.provider, s.gateways, err = startSandbox(ctx, sandbox.Config{SecretKey: newSecret(), WebhookSecrets: []string{newSecret()}, TimeScale: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeSandbox(ctx, s.provider); err != nil {
			t.Error(err)
		}
	})
	if err := s.provider.SetWebhookURL(s.front.url + "/webhooks/payments/" + sandbox.Name); err != nil {
		t.Fatal(err)
	}
	s.app = s.open(databaseURL)
	s.front.leadTo(t, serveHere(t, s.app).url)
	key, err := tenants.BootstrapPlatformKey(ctx, s.app.store.db, "faults")
	if err != nil {
		t.Fatal(err)
	}
	api := newAPIClient(s.front.url, demoConnections)
	t.Cleanup(api.close)
	stage := &demoStage{app: s.app, provider: s.provider, api: api, platform: apiCaller{api: api, key: key}}
	if s.seller, err = stage.sells(ctx, "faults", apiInput{"maxActiveHoldsPerInstrument": 1000}); err != nil {
		t.Fatal(err)
	}
	if s.hall, err = s.seller.hall(ctx, seats, faultPlaces); err != nil {
		t.Fatal(err)
	}
	return s
}

// open is the services of this process over a database.
func (s *faultSite) open(databaseURL string) *app {
	s.t.Helper()
	opened, err := openStore(s.t.Context(), databaseURL, "", nil, discard())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = opened.close(s.t.Context()) })
	if err := opened.migrate(s.t.Context(), discard()); err != nil {
		s.t.Fatal(err)
	}
	a, err := newApp(s.t.Context(), opened, s.gateways, discard(), appSettings{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(a.close)
	return a
}

// work runs workers in this process until the test ends.
func (s *faultSite) work(a *app) {
	s.t.Helper()
	workers, err := a.startWorkers(s.t.Context(), workFlags{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := stopWorkers(s.t.Context(), workers); err != nil {
			s.t.Error(err)
		}
	})
}

// serveHere serves an app in this process until the test ends.
func serveHere(t *testing.T, a *app) *server {
	t.Helper()
	handler, err := a.handler(httpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := bind(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := serveOn(listener, handler)
	t.Cleanup(func() { _ = web.close(t.Context()) })
	return web
}

// faultBuyer buys as a careful client does: it keeps the key of each request, and sends the same
// request again until it is answered.
type faultBuyer struct {
	demoBuyer
	site *faultSite
	// wants are the lines that it holds in the end; token is how it pays.
	wants []apiInput
	token string
	// cancels says that its booking is cancelled again.
	cancels bool

	holdKey, payKey, cancelKey string
	// told is what it was answered.
	told struct {
		hold      apiHold
		paid      apiPaid
		cancelled bool
	}
	// end is the hold as it stood when its payment was over.
	end apiHold
}

// faultTokens are cards with every kind of outcome that a few seconds can hold.
func faultTokens() []string {
	return []string{
		sandbox.TokenApprove, sandbox.TokenDecline, sandbox.TokenUnknownThenApprove, sandbox.TokenApprove,
		sandbox.TokenErrorApprove, sandbox.TokenLostOnce, sandbox.TokenPendingApproveAfter + "3s", sandbox.TokenUnknownThenDecline,
	}
}

// newBuyers are so many more buyers, each two of whom want the same seat. Each third cancels.
func (s *faultSite) newBuyers(n int) []*faultBuyer {
	s.t.Helper()
	var more []*faultBuyer
	for range n {
		i := len(s.buyers)
		guest, err := s.seller.guest(s.t.Context(), "guest "+strconv.Itoa(i))
		if err != nil {
			s.t.Fatal(err)
		}
		tokens := faultTokens()
		buyer := &faultBuyer{
			demoBuyer: guest, site: s, token: tokens[i%len(tokens)], cancels: i%3 == 0,
			wants: []apiInput{s.hall.seats(i/2%len(s.hall.seatIDs) + 1), poolInput(s.hall.pool, 1+i%2)}, holdKey: randomName(), payKey: randomName(), cancelKey: randomName(),
		}
		s.buyers, more = append(s.buyers, buyer), append(more, buyer)
	}
	return more
}

// insist sends a request until it is answered. UNAVAILABLE, BUSY, no answer within apiCallTimeout and,
// where the server may die, a broken connection are no answers; any other error is the server's fault.
func insist[T any](ctx context.Context, s *faultSite, send func(ctx context.Context) (answer T, code string, err error)) (T, error) {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		answer, code, err := send(ctx)
		var said *apiError
		var late interface{ Timeout() bool }
		switch {
		case err == nil && code != refusalBusy:
			return answer, nil
		case errors.As(err, &said) && said.Extensions.Code != "UNAVAILABLE":
			return answer, err
		case errors.As(err, &late) && late.Timeout():
		case err != nil && said == nil && !s.serverDies:
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, fmt.Errorf("%w; the last answer was %q, %v", ctx.Err(), code, err) //nolint:errorlint // the story's end is the cause
		case <-again.C:
		}
	}
}

// refusedOr is the error, or what was answered instead of success.
func refusedOr(answer string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("the answer is %q", answer)
}

// buys goes the whole way. It returns when the payment is over, whoever ended it.
func (b *faultBuyer) buys(ctx context.Context) error {
	answer, err := b.asksUntilAnswered(ctx)
	if err != nil {
		return fmt.Errorf("%s asks for a hold: %w", b.name, err)
	}
	if answer.ID == "" {
		// The seat is another's. Places are for all.
		if answer.Code != "HELD_BY_OTHER" && answer.Code != "SOLD_OUT" {
			return fmt.Errorf("%s is refused with %s: %s", b.name, answer.Code, answer.Message)
		}
		b.wants, b.holdKey = b.wants[1:], randomName()
		if answer, err = b.asksUntilAnswered(ctx); err != nil || answer.ID == "" {
			return fmt.Errorf("%s asks for places: %w", b.name, refusedOr(answer.Code, err))
		}
	}
	b.told.hold = answer.apiHold
	if b.told.paid, err = b.paysUntilAnswered(ctx); err != nil || b.told.paid.Code != "" {
		return fmt.Errorf("%s pays: %w", b.name, refusedOr(b.told.paid.Code, err))
	}
	if err := b.waits(ctx); err != nil {
		return fmt.Errorf("%s waits for the end of the payment: %w", b.name, err)
	}
	if b.end.Booking == nil || !b.cancels {
		return nil
	}
	state, err := b.cancelsUntilAnswered(ctx)
	if err != nil || state != "CANCELLED" {
		return fmt.Errorf("%s has the booking cancelled: %w", b.name, refusedOr(state, err))
	}
	b.told.cancelled = true
	return nil
}

func (b *faultBuyer) asksUntilAnswered(ctx context.Context) (apiPlaced, error) {
	return insist(ctx, b.site, func(ctx context.Context) (apiPlaced, string, error) {
		answer, err := b.place(ctx, b.holdKey, b.wants...)
		return answer, answer.Code, err
	})
}

func (b *faultBuyer) paysUntilAnswered(ctx context.Context) (apiPaid, error) {
	return insist(ctx, b.site, func(ctx context.Context) (apiPaid, string, error) {
		answer, err := ask[apiPaid](ctx, b.apiCaller, apiCheckout, map[string]any{"input": apiInput{
			"requestKey": b.payKey, "hold": b.told.hold.ID, "paymentMethod": apiInput{"token": b.token},
			"expectedTotal": b.told.hold.Total.input(), "contact": apiInput{"name": b.name},
		}})
		return answer, answer.Code, err
	})
}

func (b *faultBuyer) cancelsUntilAnswered(ctx context.Context) (state string, err error) {
	type answer struct {
		State string `json:"state"`
		Code  string `json:"code"`
	}
	said, err := insist(ctx, b.site, func(ctx context.Context) (answer, string, error) {
		said, err := ask[answer](ctx, b.site.seller.admin,
			`mutation ($input: BookingLinesInput!) { result: cancelBooking(input: $input) { ... on Booking { state } ... on BookingRefused { code } } }`,
			map[string]any{"input": apiInput{"requestKey": b.cancelKey, "booking": b.end.Booking.ID}})
		return said, said.Code, err
	})
	return said.State + said.Code, err
}

// waits until the hold and its one payment have ended.
func (b *faultBuyer) waits(ctx context.Context) error {
	_, err := insist(ctx, b.site, func(ctx context.Context) (struct{}, string, error) {
		hold, err := b.reads(ctx, b.told.hold.ID)
		if err != nil {
			return struct{}{}, "", err
		}
		if hold.State == "ACTIVE" || hold.State == "PROCESSING" {
			return struct{}{}, refusalBusy, nil
		}
		b.end = hold
		return struct{}{}, "", nil
	})
	return err
}

// shop lets buyers buy at once, breaks what the test wants broken, and returns when all are done. Time
// passes quickly meanwhile for payments that wait for another look.
func (s *faultSite) shop(buyers []*faultBuyer, fault func(ctx context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), faultPatience)
	defer cancel()
	var hurrying sync.WaitGroup
	defer hurrying.Wait()
	ended, end := context.WithCancel(ctx)
	defer end()
	hurrying.Go(func() {
		again := time.NewTicker(200 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-ended.Done():
				return
			case <-again.C:
				// While the database is away no time passes for its rows.
				_ = s.hurry(ended)
			}
		}
	})
	group, ctx := errgroup.WithContext(ctx)
	for _, buyer := range buyers {
		group.Go(func() error { return buyer.buys(ctx) })
	}
	group.Go(func() error { return fault(ctx) })
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

// hurry lets so much time pass that every open payment and refund is to be looked at.
func (s *faultSite) hurry(ctx context.Context) error {
	for _, statement := range []string{
		"UPDATE payment_attempts SET next_check_at = now() - interval '1 second' WHERE next_check_at IS NOT NULL",
		"UPDATE refunds SET next_check_at = now() - interval '1 second' WHERE next_check_at IS NOT NULL",
	} {
		if _, err := s.app.store.db.Pool().Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until no payment and no refund is open, while workers work.
func (s *faultSite) settle() {
	s.t.Helper()
	eventually(s.t, "every payment and refund has ended", func() bool {
		if err := s.hurry(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		var open int
		if err := s.app.store.db.Pool().QueryRow(s.t.Context(), `SELECT
			(SELECT count(*) FROM payment_attempts WHERE state IN ('CREATED', 'SUBMITTED', 'UNKNOWN')) +
			(SELECT count(*) FROM refunds WHERE state IN ('REQUESTED', 'SUBMITTED'))`).Scan(&open); err != nil {
			s.t.Fatal(err)
		}
		return open == 0
	})
}

// audit compares what every buyer so far was told with what there is.
func (s *faultSite) audit() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), faultPatience)
	defer cancel()
	books := newFaultBooks(s)
	for _, buyer := range s.buyers {
		if err := buyer.comparesWith(ctx, books); err != nil {
			s.t.Errorf("%s, who pays with %s: %v", buyer.name, buyer.token, err)
		}
	}
	if err := books.close(ctx); err != nil {
		s.t.Error(err)
	}
	report, err := s.app.bookings.Audit(ctx, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, check := range report.Checks {
		if !check.OK {
			s.t.Errorf("the audit: %s: %q", check.Name, check.Examples)
		}
	}
}

// faultBooks are the provider's books and the stock, from which each buyer takes what is theirs.
type faultBooks struct {
	site *faultSite
	// charges and refunded are the provider's, by the attempt's id.
	charges map[string][]sandbox.Charge
	// seats and places are what standing bookings have.
	seats  map[string]string
	places int
}

func newFaultBooks(s *faultSite) *faultBooks {
	b := &faultBooks{site: s, charges: map[string][]sandbox.Charge{}, seats: map[string]string{}}
	for _, charge := range s.provider.Charges() {
		b.charges[charge.Key] = append(b.charges[charge.Key], charge)
	}
	return b
}

// comparesWith finds what the buyer was told still true, the buyer's money with a booking or
// refunded, and each request with the same answer as before.
func (b *faultBuyer) comparesWith(ctx context.Context, books *faultBooks) error {
	now, err := b.reads(ctx, b.told.hold.ID)
	if err != nil {
		return err
	}
	if len(now.Payments) != 1 || b.told.paid.Payment == nil || now.Payments[0].ID != b.told.paid.Payment.ID {
		return fmt.Errorf("was told of payment %+v, has %+v", b.told.paid.Payment, now.Payments)
	}
	payment := now.Payments[0]
	for _, told := range []*apiBooking{b.told.paid.Booking, b.end.Booking} {
		if told != nil && (now.Booking == nil || now.Booking.ID != told.ID) {
			return fmt.Errorf("was told of booking %s, has %+v", told.ID, now.Booking)
		}
	}
	if b.told.cancelled && now.Booking.State != "CANCELLED" {
		return fmt.Errorf("was told that the booking is cancelled, it is %s", now.Booking.State)
	}
	if err := books.take(payment, now); err != nil {
		return err
	}
	return b.repeats(ctx)
}

// take finds the one charge of a payment and says whether its money is where it belongs.
func (books *faultBooks) take(payment apiPayment, hold apiHold) error {
	charges := books.charges[payment.ID]
	delete(books.charges, payment.ID)
	if len(charges) > 1 {
		return fmt.Errorf("%d charges of one payment", len(charges))
	}
	if payment.State != "SUCCEEDED" {
		if hold.Booking != nil || len(charges) == 1 && charges[0].Captured.Minor != 0 {
			return fmt.Errorf("the payment is %s, with booking %v and charge %+v", payment.State, hold.Booking, charges)
		}
		return nil
	}
	if len(charges) != 1 {
		return fmt.Errorf("the payment is SUCCEEDED without a charge")
	}
	kept := charges[0].Captured.Minor - charges[0].Refunded.Minor
	standing := hold.Booking != nil && hold.Booking.State == "BOOKED"
	switch {
	case standing && kept != hold.Total.AmountMinor:
		return fmt.Errorf("booked for %d, the provider keeps %d", hold.Total.AmountMinor, kept)
	case !standing && kept != 0:
		return fmt.Errorf("nothing is booked, the provider keeps %d", kept)
	case !standing:
		return nil
	}
	for _, line := range hold.Booking.Lines {
		if line.Unit.SeatID == "" {
			books.places += int(line.Unit.Quantity)
			continue
		}
		if other, taken := books.seats[line.Unit.SeatID]; taken {
			return fmt.Errorf("a seat is booked twice, by %s as well", other)
		}
		books.seats[line.Unit.SeatID] = hold.Booking.ID
	}
	return nil
}

// repeats sends every request again; nothing happens, and the answers are the same.
func (b *faultBuyer) repeats(ctx context.Context) error {
	held, err := b.asksUntilAnswered(ctx)
	if err != nil || held.ID != b.told.hold.ID {
		return fmt.Errorf("the hold's request was answered with %s, now with %q: %w", b.told.hold.ID, held.ID, refusedOr(held.Code, err))
	}
	paid, err := b.paysUntilAnswered(ctx)
	if err != nil || paid.Payment == nil || paid.Payment.ID != b.told.paid.Payment.ID {
		return fmt.Errorf("the checkout was answered with payment %s, now with %+v: %w", b.told.paid.Payment.ID, paid.Payment, refusedOr(paid.Code, err))
	}
	if b.told.cancelled {
		if state, err := b.cancelsUntilAnswered(ctx); err != nil || state != "CANCELLED" {
			return fmt.Errorf("the cancellation is answered anew: %w", refusedOr(state, err))
		}
	}
	return nil
}

// close finds no money that is nobody's, and in the show just what is booked.
func (books *faultBooks) close(ctx context.Context) error {
	for attempt, charges := range books.charges {
		if charges[0].Account == books.site.seller.account {
			return fmt.Errorf("the provider has a charge of attempt %s that no buyer knows of", attempt)
		}
	}
	view, err := books.site.hall.view(ctx)
	if err != nil {
		return err
	}
	for _, seat := range view.SeatMap.Seats {
		if _, booked := books.seats[seat.SeatID]; booked != (seat.Status == "BOOKED") {
			return fmt.Errorf("seat %d is %s; it is in a booking: %t", books.site.hall.numbers[seat.SeatID], seat.Status, booked)
		}
	}
	if got, want := view.Pools[0].Available, faultPlaces-books.places; got != want {
		return fmt.Errorf("%d places are left, %d are in no booking", got, want)
	}
	return nil
}
