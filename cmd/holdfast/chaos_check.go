package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// How the end is waited for.
const (
	// chaosHurryEvery is how often what waits for another look is made due.
	chaosHurryEvery = time.Second
	// chaosQuiet is how long after the last purchase the provider may still change its mind by itself.
	chaosQuiet    = 4 * time.Second
	chaosCheckers = 16
)

// chaosFindings is what is wrong at the end. All of it is to be zero.
type chaosFindings struct {
	// UnitsLost are seats, places and rooms on nights that are taken and in no booking; UnitsDoubled are in
	// two bookings, or booked and on sale all the same.
	UnitsLost    int `json:"unitsLost"`
	UnitsDoubled int `json:"unitsDoubled"`
	// ChargesAstray are purchases of which the provider keeps more than the booking's standing lines and
	// fees.
	ChargesAstray int `json:"chargesWithoutBookingOrRefund"`
	// DoubleRefunds are purchases of which the provider gave more back than was to be given.
	DoubleRefunds int `json:"doubleRefunds"`
	// PromisesBroken are purchases that are not as the buyer was told, and bookings that no buyer knows of.
	PromisesBroken int `json:"promisesBroken"`
	// BooksDiffer are payments whose captured or refunded sum is another at the provider.
	BooksDiffer int `json:"booksDiffer"`
	// Unresolved are payments, refunds and holds that are still open, here or at the provider.
	Unresolved int `json:"unresolved"`
	// Errors are answers that no client should get.
	Errors int `json:"errors"`
	// Examples say which, at most chaosExamples of them.
	Examples []string `json:"examples,omitempty"`
}

// add counts one finding.
func (f *chaosFindings) add(counter *int, n int, format string, args ...any) {
	if n == 0 {
		return
	}
	*counter += n
	if len(f.Examples) < chaosExamples {
		f.Examples = append(f.Examples, fmt.Sprintf(format, args...))
	}
}

func (f *chaosFindings) none() bool {
	return f.UnitsLost+f.UnitsDoubled+f.ChargesAstray+f.DoubleRefunds+f.PromisesBroken+f.BooksDiffer+f.Unresolved+f.Errors == 0
}

// conclude lets everything settle, and compares.
func (r *chaosRun) conclude(ctx context.Context, report *chaosReport) error {
	r.say("Nothing is killed any more; waiting for the end of every payment and refund …")
	began := time.Now()
	open, err := r.settle(ctx, began)
	if err != nil {
		return err
	}
	report.SettledAfterSeconds = rounded(time.Since(began).Seconds(), 10)
	if r.config.BeforeChecks != nil {
		if err := r.config.BeforeChecks(ctx, r); err != nil {
			return err
		}
	}
	r.say("Comparing %d purchases with the provider's books and the stock …", len(r.ledger.sales))
	for _, err := range r.ledger.errors {
		report.Found.add(&report.Found.Errors, 1, "%v", err)
	}
	if err := r.compare(ctx, &report.Found); err != nil {
		return err
	}
	if open > 0 {
		report.Found.add(&report.Found.Unresolved, open, "%d payments, refunds and holds are open after %s", open, chaosSettleLimit)
		if err := r.nameOpen(ctx, &report.Found); err != nil {
			return err
		}
	}
	if report.Repaired, err = r.repaired(ctx); err != nil {
		return err
	}
	if report.Audit, err = r.app.bookings.Audit(ctx, nil); err != nil {
		return err
	}
	webhooks := r.provider.WebhookStats()
	report.Provider = chaosProviderReport{
		Charges: len(r.provider.Charges()), Refunds: len(r.provider.Refunds()), WebhooksDelivered: webhooks.Delivered, WebhookTriesFailed: webhooks.FailedTries,
	}
	report.Sales, report.Faults, report.Kills = r.ledger.tally, r.ledger.faults, r.fleet.kills
	report.OK = report.Found.none() && report.Audit.OK
	return nil
}

// hurry makes every open payment and refund due to be looked at: the waits between two looks, which
// grow to minutes, pass at once. So does the quarter of an hour in which a charge that the provider does
// not know may still be on its way: here no call lasts longer than 15 seconds.
func (r *chaosRun) hurry(ctx context.Context) error {
	for _, statement := range []string{
		"UPDATE payment_attempts SET next_check_at = now() - interval '1 second' WHERE next_check_at > now()",
		"UPDATE refunds SET next_check_at = now() - interval '1 second' WHERE next_check_at > now()",
		`UPDATE payment_attempts SET submitted_at = submitted_at - interval '1 hour'
			WHERE settled_at IS NULL AND submitted_at < now() - interval '20 seconds' AND submitted_at > now() - interval '30 minutes'`,
	} {
		if _, err := r.app.store.db.Pool().Exec(ctx, statement); err != nil {
			return db.Classify(fmt.Errorf("let time pass for payments: %w", err))
		}
	}
	return nil
}

func (r *chaosRun) hurryAlong(ctx context.Context) {
	for pause(ctx, chaosHurryEvery) == nil {
		// A conflict with those who look is no harm: there is a next time.
		_ = r.hurry(ctx)
	}
}

// forgetTheDead lets an hour pass for the jobs and the leadership that dead processes had. It is called
// while no process lives.
func (r *chaosRun) forgetTheDead(ctx context.Context) error {
	for _, statement := range []string{
		"UPDATE river_job SET attempted_at = attempted_at - interval '1 hour' WHERE state = 'running'",
		"DELETE FROM river_leader",
	} {
		if _, err := r.app.store.db.Pool().Exec(ctx, statement); err != nil {
			return db.Classify(fmt.Errorf("let time pass for jobs: %w", err))
		}
	}
	return nil
}

// settle waits until nothing is open and the provider has nothing more to say. What is still open
// when the time is up is its count.
func (r *chaosRun) settle(ctx context.Context, began time.Time) (open int, err error) {
	for {
		// A conflict with those who look is no harm: there is a next time.
		_ = r.hurry(ctx)
		if err := r.app.store.db.Pool().QueryRow(ctx, `SELECT
			(SELECT count(*) FROM payment_attempts WHERE settled_at IS NULL) +
			(SELECT count(*) FROM refunds WHERE settled_at IS NULL) +
			(SELECT count(*) FROM holds WHERE state IN ('ACTIVE', 'PROCESSING'))`).Scan(&open); err != nil {
			return 0, db.Classify(fmt.Errorf("count what is open: %w", err))
		}
		after := time.Since(began)
		if open == 0 && r.provider.WebhookStats().Queued == 0 && after > chaosQuiet || after > chaosSettleLimit {
			return open, nil
		}
		if err := pause(ctx, pollInterval*4); err != nil {
			return open, err
		}
	}
}

// nameOpen adds which payments and refunds are open.
func (r *chaosRun) nameOpen(ctx context.Context, found *chaosFindings) error {
	open, err := r.countBy(ctx, `SELECT 'payment ' || state || ' with ' || method_token || ', looked at ' || checks, 1 FROM payment_attempts WHERE settled_at IS NULL
		UNION ALL SELECT 'refund ' || r.state || ' of ' || a.method_token || ', looked at ' || r.checks, 1 FROM refunds r
		JOIN payment_attempts a ON a.tenant_id = r.tenant_id AND a.region = r.region AND a.id = r.attempt_id WHERE r.settled_at IS NULL`)
	for _, name := range slices.Sorted(maps.Keys(open)) {
		found.add(new(int), 1, "open: %s", name)
	}
	return err
}

// chaosBooks are what is compared: the provider's charges by the payment's id, and what standing
// bookings have of each seller.
type chaosBooks struct {
	charges map[string][]sandbox.Charge
	seats   map[*chaosSeller]map[string]string
	places  map[*chaosSeller]int
	rooms   map[*chaosSeller]map[string]int
	// known counts the bookings that buyers have.
	known int
}

// compare reads every purchase as its buyer does.
func (r *chaosRun) compare(ctx context.Context, found *chaosFindings) error {
	server := r.fleet.servers()[0].running
	r.stage.api.endpoint = newAPIClient(server.url, 1).endpoint
	holds := make([]chaosHold, len(r.ledger.sales))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(chaosCheckers)
	for i, sale := range r.ledger.sales {
		if sale.hold == "" {
			continue
		}
		group.Go(func() (err error) {
			who := sale.who
			who.api = r.stage.api
			if holds[i], _, err = sale.reads(reading, who); err != nil && !errors.Is(err, errChaosGone) {
				return fmt.Errorf("%s reads the hold: %w", sale.name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	books := &chaosBooks{charges: map[string][]sandbox.Charge{}, seats: map[*chaosSeller]map[string]string{}, places: map[*chaosSeller]int{}, rooms: map[*chaosSeller]map[string]int{}}
	for _, seller := range r.sellers {
		books.seats[seller], books.rooms[seller] = map[string]string{}, map[string]int{}
	}
	for _, charge := range r.provider.Charges() {
		books.charges[charge.Key] = append(books.charges[charge.Key], charge)
	}
	for i, sale := range r.ledger.sales {
		if sale.hold != "" {
			books.judge(sale, holds[i], found)
		}
	}
	for key, charges := range books.charges {
		found.add(&found.ChargesAstray, len(charges), "the provider has a charge of payment %s that no buyer knows of", key)
	}
	for _, seller := range r.sellers {
		stock, err := seller.stock(ctx)
		if err != nil {
			return err
		}
		books.compareStock(seller, stock, found)
	}
	var bookings int
	if err := r.app.store.db.Pool().QueryRow(ctx, "SELECT count(*) FROM bookings").Scan(&bookings); err != nil {
		return db.Classify(fmt.Errorf("count the bookings: %w", err))
	}
	found.add(&found.PromisesBroken, max(bookings-books.known, books.known-bookings), "there are %d bookings, buyers know of %d", bookings, books.known)
	return nil
}

// judge compares one purchase with what its buyer was told and with the provider's books.
func (b *chaosBooks) judge(sale *chaosSale, hold chaosHold, found *chaosFindings) {
	if hold.ID == "" {
		found.add(&found.PromisesBroken, 1, "%s was told of hold %s, which is gone", sale.name, sale.hold)
		return
	}
	due := sale.feeMinor
	if hold.Booking != nil {
		b.known++
		due += b.enter(sale, hold.Booking, found)
	}
	if sale.booking != "" && idOf(hold.Booking) != sale.booking {
		found.add(&found.PromisesBroken, 1, "%s was told of booking %s, and has %q", sale.name, sale.booking, idOf(hold.Booking))
	}
	kept, toldOf := int64(0), sale.payment == ""
	for _, payment := range hold.Payments {
		toldOf = toldOf || payment.ID == sale.payment
		kept += b.money(sale, payment, found)
	}
	if !toldOf {
		found.add(&found.PromisesBroken, 1, "%s was told of payment %s, which is not there", sale.name, sale.payment)
	}
	what := fmt.Sprintf("%s (%s, hold %s %s): the provider keeps %d, the booking is worth %d", sale.name, sale.token, hold.ID, hold.State, kept, due)
	switch {
	case kept > due:
		found.add(&found.ChargesAstray, 1, "%s", what)
	case kept < due:
		found.add(&found.DoubleRefunds, 1, "%s", what)
	}
}

// enter adds the standing lines of a booking to the books, and is what they are worth.
func (b *chaosBooks) enter(sale *chaosSale, booking *chaosBooking, found *chaosFindings) (worthMinor int64) {
	for _, line := range booking.Lines {
		if gone := line.State == "CANCELLED"; gone != sale.gone[line.Ordinal] {
			found.add(&found.PromisesBroken, 1, "%s was told that line %d is cancelled: %t; it is %s", sale.name, line.Ordinal, sale.gone[line.Ordinal], line.State)
		}
		if line.State == "CANCELLED" {
			continue
		}
		worthMinor += line.Amount.AmountMinor
		switch {
		case line.Unit.SeatID != "":
			if other, taken := b.seats[sale.seller][line.Unit.SeatID]; taken {
				found.add(&found.UnitsDoubled, 1, "seat %s is in the bookings of %s and %s", line.Unit.SeatID, other, sale.name)
			}
			b.seats[sale.seller][line.Unit.SeatID] = sale.name
		case line.Unit.Night != "":
			b.rooms[sale.seller][line.Unit.Night] += int(line.Unit.Quantity)
		default:
			b.places[sale.seller] += int(line.Unit.Quantity)
		}
	}
	return worthMinor
}

// money takes the charge of a payment from the provider's books, and is what the provider keeps of it.
func (b *chaosBooks) money(sale *chaosSale, payment chaosPayment, found *chaosFindings) (keptMinor int64) {
	charges := b.charges[payment.ID]
	delete(b.charges, payment.ID)
	captured, refunded := int64(0), int64(0)
	for _, charge := range charges {
		captured += charge.Captured.Minor
		refunded += charge.Refunded.Minor
		if charge.State == payments.OutcomeStatePending || charge.State == payments.OutcomeStateAuthorized {
			found.add(&found.Unresolved, 1, "%s (%s): the provider's charge is %s, the payment is %s", sale.name, sale.token, charge.State, payment.State)
		}
	}
	if len(charges) > 1 {
		found.add(&found.ChargesAstray, len(charges)-1, "%s: %d charges of one payment", sale.name, len(charges))
	}
	if payment.Captured.AmountMinor != captured || payment.Refunded.AmountMinor != refunded {
		found.add(&found.BooksDiffer, 1, "%s (%s): payment %s is %s with %d captured and %d refunded, the provider's charge has %d and %d", sale.name, sale.token,
			payment.ID, payment.State, payment.Captured.AmountMinor, payment.Refunded.AmountMinor, captured, refunded)
	}
	return captured - refunded
}

// compareStock compares what bookings have of a seller with what is still on sale.
func (b *chaosBooks) compareStock(seller *chaosSeller, stock chaosStock, found *chaosFindings) {
	for id, status := range stock.seats {
		buyer, booked := b.seats[seller][id]
		switch {
		case booked && status != "BOOKED":
			found.add(&found.UnitsDoubled, 1, "seat %d is booked by %s and %s", seller.hall.numbers[id], buyer, status)
		case !booked && status != "AVAILABLE":
			found.add(&found.UnitsLost, 1, "seat %d is %s, and in no booking", seller.hall.numbers[id], status)
		}
	}
	units := func(what string, capacity, available, booked int) {
		found.add(&found.UnitsLost, max(0, capacity-booked-available), "%s: %d are left of %d, %d are booked", what, available, capacity, booked)
		found.add(&found.UnitsDoubled, max(0, booked+available-capacity), "%s: %d are left of %d, %d are booked", what, available, capacity, booked)
	}
	units("places", chaosPlaces, stock.places, b.places[seller])
	for n := range chaosNights {
		night := seller.house.day(n)
		units("rooms on "+night, chaosRooms, stock.rooms[night], b.rooms[seller][night])
	}
}

// chaosRepaired is what became of everything, by kind.
type chaosRepaired struct {
	// Attempts counts payments by state, and what their money was used for.
	Attempts map[string]int `json:"attempts"`
	// Refunds counts them by reason and state.
	Refunds map[string]int `json:"refunds"`
	// Events counts the provider's messages by what they did.
	Events map[string]int `json:"events"`
	// Repairs counts what was mended by kind, where the schema records it.
	Repairs map[string]int `json:"repairs"`
}

func (r *chaosRun) repaired(ctx context.Context) (repaired chaosRepaired, err error) {
	if repaired.Attempts, err = r.countBy(ctx, "SELECT state || COALESCE(' ' || disposition, ''), count(*) FROM payment_attempts GROUP BY 1"); err != nil {
		return repaired, err
	}
	if repaired.Refunds, err = r.countBy(ctx, "SELECT reason || ' ' || state, count(*) FROM refunds GROUP BY 1"); err != nil {
		return repaired, err
	}
	if repaired.Events, err = r.countBy(ctx, "SELECT result, count(*) FROM provider_events GROUP BY 1"); err != nil {
		return repaired, err
	}
	repaired.Repairs, err = r.repairs(ctx)
	return repaired, err
}

// repairs counts what was mended by kind.
func (r *chaosRun) repairs(ctx context.Context) (map[string]int, error) {
	return r.countBy(ctx, "SELECT kind, count(*) FROM payment_repairs GROUP BY 1")
}

// countBy runs a query of names and counts.
func (r *chaosRun) countBy(ctx context.Context, query string) (map[string]int, error) {
	rows, err := r.app.store.db.Pool().Query(ctx, query)
	if err != nil {
		return nil, db.Classify(fmt.Errorf("count by kind: %w", err))
	}
	defer rows.Close()
	counted := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			return nil, db.Classify(fmt.Errorf("count by kind: %w", err))
		}
		counted[name] = n
	}
	return counted, db.Classify(rows.Err())
}
