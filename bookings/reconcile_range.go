package bookings

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// Range is a reconciliation by hand: of what was begun in [Since, Until).
type Range struct {
	Since, Until time.Time
	// Tenant limits it to one tenant; zero is all.
	Tenant tenants.TenantID
	// Provider limits it to one provider; "" is every one that this process can reach. With Charges
	// it is required: it says whose charges they are.
	Provider string
	// DryRun changes nothing, and says what would be done.
	DryRun bool
	// Charges are compared in place of the provider's own list, such as those of an exported file.
	// An error ends the reconciliation.
	Charges iter.Seq2[FileCharge, error]
	// Progress, unless nil, is told from time to time how far it is.
	Progress func(report RangeReport)
}

// FileCharge is a charge with its line in a file.
type FileCharge struct {
	payments.ListedCharge
	Line int
}

// RangeReport is what a reconciliation by hand saw and did.
type RangeReport struct {
	DryRun bool `json:"dryRun"`
	// Attempts and Refunds were open; Charges were compared.
	Attempts int64 `json:"attempts"`
	Refunds  int64 `json:"refunds"`
	Charges  int64 `json:"charges"`
	// Repaired counts what was mended, or with DryRun would be, by kind.
	Repaired map[RepairKind]int64 `json:"repaired"`
	// Waiting are payments and refunds that are still open: their provider has not decided.
	Waiting int64 `json:"waiting"`
	// Asked are the providers that were asked. NotAsked are those that this process cannot reach and
	// that have payments in the time: nothing is known of them.
	Asked    []string           `json:"asked"`
	NotAsked []ProviderNotAsked `json:"notAsked"`
	// Unreachable are open payments and refunds whose provider gave no answer.
	Unreachable int64 `json:"unreachable"`
	// Disputed is how many differences wait for a person; Differences are the first of them.
	Disputed    int64              `json:"disputed"`
	Differences []ReportDifference `json:"differences"`
}

// ProviderNotAsked is a provider of payments of the time that is not configured here.
type ProviderNotAsked struct {
	Provider string `json:"provider"`
	Payments int64  `json:"payments"`
	// Open are those of them whose outcome is not known.
	Open int64 `json:"open"`
}

// ReportDifference is a Difference in a report.
type ReportDifference struct {
	Reason   DifferenceReason `json:"reason"`
	Tenant   string           `json:"tenant,omitempty"`
	Provider string           `json:"provider,omitempty"`
	Account  string           `json:"account,omitempty"`
	Charge   string           `json:"charge,omitempty"`
	Attempt  string           `json:"attempt,omitempty"`
	Booking  string           `json:"booking,omitempty"`
	Theirs   string           `json:"theirs,omitempty"`
	Ours     string           `json:"ours,omitempty"`
	Line     int              `json:"line,omitempty"`
}

// Limits of a reconciliation by hand.
const (
	// rangePage is how many attempts, refunds or charges are read at once.
	rangePage = 500
	// maxReported is how many differences a report names.
	maxReported = 1000
	// rangeProgress is how often its caller is told how far it is.
	rangeProgress = time.Second
)

// ranging is a reconciliation by hand under way.
type ranging struct {
	Range
	service *Service
	now     time.Time
	lock    sync.Mutex
	report  RangeReport
	told    time.Time
}

// ReconcileRange does by hand what Reconcile and ReconcileCharges do by themselves, for everything
// that was begun in a time, due or not: it asks about each open attempt and refund, compares the
// provider's charges with ours, and looks for what should be impossible in our own rows. Doing it
// again changes nothing. It does not ask for permission: it is the operator's.
func (s *Service) ReconcileRange(ctx context.Context, input Range) (RangeReport, error) {
	now, err := s.now(ctx)
	if err != nil {
		return RangeReport{}, err
	}
	r := &ranging{Range: input, service: s, now: now, told: time.Now()}
	r.report = RangeReport{DryRun: input.DryRun, Repaired: map[RepairKind]int64{}, Differences: []ReportDifference{}}
	providers, err := r.reachable()
	if err != nil {
		return RangeReport{}, err
	}
	r.report.Asked, r.report.NotAsked = append([]string{}, providers...), []ProviderNotAsked{}
	places, err := s.places(ctx)
	if err != nil {
		return RangeReport{}, db.Classify(err)
	}
	for _, place := range places {
		if !input.Tenant.IsZero() && place.Tenant != input.Tenant {
			continue
		}
		if err := r.place(ctx, place, providers); err != nil {
			return r.report, err
		}
	}
	if input.Charges != nil {
		err = r.file(ctx)
	} else {
		err = r.lists(ctx, providers)
	}
	return r.report, err
}

// reachable are the providers that are asked.
func (r *ranging) reachable() ([]string, error) {
	providers := r.service.providers()
	switch {
	case r.Provider == "":
		return providers, nil
	case slices.Contains(providers, r.Provider):
		return []string{r.Provider}, nil
	case r.Charges != nil:
		return nil, nil // The file says what the provider would.
	}
	return nil, fmt.Errorf("the payment provider %q is not configured here; known are %s", r.Provider, strings.Join(providers, ", "))
}

// place goes over the open attempts and refunds of one tenant and region, and over its own rows.
func (r *ranging) place(ctx context.Context, place payments.Place, providers []string) error {
	queries := dbsqlc.New(r.service.db.Pool())
	attempts := func(after uuid.UUID) ([]uuid.UUID, error) {
		return queries.OpenAttemptsPage(ctx, dbsqlc.OpenAttemptsPageParams{
			TenantID: place.Tenant.UUID, Region: string(place.Region), Providers: providers, Since: r.Since, Until: r.Until, AfterID: after, MaxRows: rangePage,
		})
	}
	if err := r.pages(ctx, attempts, func(id uuid.UUID) error {
		return r.attempt(ctx, payments.Located[payments.AttemptID]{Tenant: place.Tenant, ID: payments.AttemptID{Region: place.Region, UUID: id}})
	}); err != nil {
		return err
	}
	refunds := func(after uuid.UUID) ([]uuid.UUID, error) {
		return queries.OpenRefundsPage(ctx, dbsqlc.OpenRefundsPageParams{
			TenantID: place.Tenant.UUID, Region: string(place.Region), Providers: providers, Since: r.Since, Until: r.Until, AfterID: after, MaxRows: rangePage,
		})
	}
	if err := r.pages(ctx, refunds, func(id uuid.UUID) error {
		return r.refund(ctx, payments.Located[payments.RefundID]{Tenant: place.Tenant, ID: payments.RefundID{Region: place.Region, UUID: id}})
	}); err != nil {
		return err
	}
	if r.Provider == "" {
		if err := r.notAsked(ctx, place, providers); err != nil {
			return err
		}
	}
	return r.ownRows(ctx, place)
}

// notAsked counts the payments of a place about which nobody here can ask.
func (r *ranging) notAsked(ctx context.Context, place payments.Place, providers []string) error {
	rows, err := dbsqlc.New(r.service.db.Pool()).PaymentsNotAsked(ctx, dbsqlc.PaymentsNotAskedParams{
		TenantID: place.Tenant.UUID, Region: string(place.Region), Providers: providers, Since: r.Since, Until: r.Until,
	})
	if err != nil {
		return db.Classify(fmt.Errorf("count payments of other providers: %w", err))
	}
	for _, row := range rows {
		at := slices.IndexFunc(r.report.NotAsked, func(p ProviderNotAsked) bool { return p.Provider == row.Provider })
		if at < 0 {
			at = len(r.report.NotAsked)
			r.report.NotAsked = append(r.report.NotAsked, ProviderNotAsked{Provider: row.Provider})
		}
		r.report.NotAsked[at].Payments += row.Payments
		r.report.NotAsked[at].Open += row.Open
	}
	return nil
}

// pages does something about each id of a list that is read in pages.
func (r *ranging) pages(ctx context.Context, page func(after uuid.UUID) ([]uuid.UUID, error), act func(id uuid.UUID) error) error {
	after := uuid.Nil
	for {
		found, err := page(after)
		if err != nil {
			return db.Classify(fmt.Errorf("list open payments: %w", err))
		}
		if len(found) == 0 {
			return nil
		}
		t := newTeam(time.Hour)
		for _, id := range found {
			if ctx.Err() != nil {
				break
			}
			t.do(func() error { return act(id) })
		}
		if err := errors.Join(t.wait(), ctx.Err()); err != nil {
			return err
		}
		after = found[len(found)-1]
		r.progress()
	}
}

// progress tells the caller how far it is, not too often.
func (r *ranging) progress() {
	if r.Progress == nil || time.Since(r.told) < rangeProgress {
		return
	}
	r.told = time.Now()
	r.lock.Lock()
	defer r.lock.Unlock()
	r.Progress(r.report)
}

// count adds to the report.
func (r *ranging) count(add func(report *RangeReport)) {
	r.lock.Lock()
	defer r.lock.Unlock()
	add(&r.report)
}

// attempt asks about one open attempt.
func (r *ranging) attempt(ctx context.Context, at payments.Located[payments.AttemptID]) error {
	r.count(func(report *RangeReport) { report.Attempts++ })
	if r.DryRun {
		return r.foresee(ctx, at)
	}
	if err := r.service.driveCharge(ctx, at, DriverCommand); err != nil {
		return err
	}
	attempt, err := payments.Get(ctx, r.service.db.Pool(), at.Tenant, at.ID)
	if err != nil {
		return db.Classify(err)
	}
	if attempt.State.Open() {
		r.count(func(report *RangeReport) { report.Waiting++ })
		return nil
	}
	return r.settled(ctx, attempt)
}

// settled counts what this reconciliation has mended about an attempt, and has the money of an orphan
// paid back at once: its job may never come.
func (r *ranging) settled(ctx context.Context, attempt payments.Attempt) error {
	if err := r.countRepairs(ctx, attempt, func(repair Repair) bool {
		return repair.Attempt == attempt.ID && repair.Refund == nil && repair.Kind != RepairOrphanRefunded
	}); err != nil {
		return err
	}
	refunds, err := payments.RefundsOf(ctx, r.service.db.Pool(), attempt.Tenant, []payments.AttemptID{attempt.ID})
	if err != nil {
		return db.Classify(err)
	}
	for _, refund := range refunds[attempt.ID] {
		if !refund.State.Open() {
			continue
		}
		if _, reachable := r.service.gateways[attempt.Provider]; !reachable {
			r.count(func(report *RangeReport) { report.Waiting++ })
			continue
		}
		if err := r.refund(ctx, payments.Located[payments.RefundID]{Tenant: attempt.Tenant, ID: refund.ID}); err != nil {
			return err
		}
	}
	return nil
}

// countRepairs adds those repairs of a hold that this reconciliation has just made.
func (r *ranging) countRepairs(ctx context.Context, attempt payments.Attempt, counts func(Repair) bool) error {
	repairs, err := repairsOfHold(ctx, r.service.db.Pool(), attempt.Tenant, attempt.ID.Region, attempt.Hold)
	if err != nil {
		return db.Classify(err)
	}
	r.count(func(report *RangeReport) {
		for _, repair := range repairs {
			if repair.By == DriverCommand && !repair.At.Before(r.now) && counts(repair) {
				report.Repaired[repair.Kind]++
			}
		}
	})
	return nil
}

// foresee says what would become of an open attempt, and changes nothing.
func (r *ranging) foresee(ctx context.Context, at payments.Located[payments.AttemptID]) error {
	s := r.service
	attempt, err := payments.Get(ctx, s.db.Pool(), at.Tenant, at.ID)
	if err != nil {
		return db.Classify(err)
	}
	gateway, err := s.gateway(attempt.Provider)
	if err != nil {
		return err
	}
	outcome := payments.Outcome{State: payments.OutcomeStateNotFound, Account: attempt.Account}
	if attempt.State != payments.AttemptStateCreated {
		if outcome, err = s.lookUp(ctx, gateway, attempt); err != nil {
			r.count(func(report *RangeReport) { report.Unreachable++ })
			return nil
		}
	}
	hold, now, err := s.holdOf(ctx, attempt)
	if err != nil {
		return db.Classify(err)
	}
	outcome = foreseen(attempt, hold, outcome, now)
	if !outcome.State.Final() {
		r.count(func(report *RangeReport) { report.Waiting++ })
		return nil
	}
	return r.rehearse(ctx, attempt, func(ctx context.Context, tx pgx.Tx) error {
		_, err := s.applyTx(ctx, tx, at, outcome, DriverCommand)
		return err
	})
}

// foreseen is what a charge that the provider has not ended would be driven to: what is reserved is
// captured while its hold can be sold, and what is not wanted any more is cancelled or given up. That
// the provider does what it is asked for is expected.
func foreseen(attempt payments.Attempt, hold inventory.Hold, outcome payments.Outcome, now time.Time) payments.Outcome {
	over := hold.State != inventory.HoldStateProcessing || !now.Before(hold.Deadline)
	mayBeOnItsWay := attempt.SubmittedAt != nil && now.Sub(*attempt.SubmittedAt) < notReceivedAfter
	sellable := hold.State == inventory.HoldStateProcessing && hold.Confirmable(now)
	switch {
	case outcome.State == payments.OutcomeStateAuthorized && sellable:
		outcome.State, outcome.Captured = payments.OutcomeStateApproved, attempt.Amount
	case outcome.State == payments.OutcomeStateAuthorized,
		outcome.State == payments.OutcomeStatePending && (over && outcome.RedirectURL != "" || !hold.StateAt(now).Live()):
		outcome.State, outcome.DeclineCode = payments.OutcomeStateDeclined, "cancelled"
	case outcome.State == payments.OutcomeStateNotFound && over && !mayBeOnItsWay:
		outcome.State, outcome.DeclineCode = payments.OutcomeStateDeclined, "not_received"
	}
	return outcome
}

// rehearsed is what a transaction that was rolled back would have mended.
type rehearsed struct{ kinds []RepairKind }

// Error is never shown.
func (rehearsed) Error() string { return "rolled back after a rehearsal" }

// rehearse runs a step of the saga as it is, counts what it mends, and rolls it back: so a dry run
// says exactly what would be done.
func (r *ranging) rehearse(ctx context.Context, attempt payments.Attempt, act func(ctx context.Context, tx pgx.Tx) error) error {
	_, err := db.InTx(ctx, r.service.db, "bookings.RehearseRepair", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		before, err := repairsOfHold(ctx, tx, attempt.Tenant, attempt.ID.Region, attempt.Hold)
		if err != nil {
			return struct{}{}, err
		}
		if err := act(ctx, tx); err != nil {
			return struct{}{}, err
		}
		after, err := repairsOfHold(ctx, tx, attempt.Tenant, attempt.ID.Region, attempt.Hold)
		if err != nil {
			return struct{}{}, err
		}
		result := rehearsed{}
		for _, repair := range after {
			if !slices.ContainsFunc(before, func(b Repair) bool { return b.ID == repair.ID }) {
				result.kinds = append(result.kinds, repair.Kind)
			}
		}
		orphan, err := becameOrphan(ctx, tx, attempt)
		if err != nil {
			return struct{}{}, err
		}
		if orphan {
			result.kinds = append(result.kinds, RepairOrphanRefunded)
		}
		return struct{}{}, result
	})
	var result rehearsed
	switch {
	case errors.As(err, &result):
		r.count(func(report *RangeReport) {
			for _, kind := range result.kinds {
				report.Repaired[kind]++
			}
		})
		return nil
	case errors.Is(err, errMismatch):
		r.count(func(report *RangeReport) { report.Waiting++ })
		return nil // It stays open: a person has to decide.
	}
	return err
}

// becameOrphan reports whether the transaction has made an attempt one whose money goes back.
func becameOrphan(ctx context.Context, tx pgx.Tx, before payments.Attempt) (bool, error) {
	if before.Disposition == payments.DispositionOrphaned {
		return false, nil
	}
	now, err := payments.Get(ctx, tx, before.Tenant, before.ID)
	return now.Disposition == payments.DispositionOrphaned && now.Captured.Minor > 0, err
}

// refund asks about one open refund.
func (r *ranging) refund(ctx context.Context, at payments.Located[payments.RefundID]) error {
	r.count(func(report *RangeReport) { report.Refunds++ })
	s := r.service
	known, err := payments.GetRefund(ctx, s.db.Pool(), at.Tenant, at.ID)
	if err != nil {
		return db.Classify(err)
	}
	attempt, err := payments.Get(ctx, s.db.Pool(), at.Tenant, known.Attempt)
	if err != nil {
		return db.Classify(err)
	}
	if r.DryRun {
		return r.foreseeRefund(ctx, at, known, attempt)
	}
	if err := s.driveRefund(ctx, at, DriverCommand); err != nil {
		return err
	}
	if known, err = payments.GetRefund(ctx, s.db.Pool(), at.Tenant, at.ID); err != nil {
		return db.Classify(err)
	}
	if known.State.Open() {
		r.count(func(report *RangeReport) { report.Waiting++ })
		return nil
	}
	return r.countRepairs(ctx, attempt, func(repair Repair) bool {
		return repair.Refund != nil && *repair.Refund == at.ID || repair.Kind == RepairOrphanRefunded && repair.Attempt == attempt.ID
	})
}

// foreseeRefund says what the provider knows of a refund. One that it does not know would be asked
// for, and is expected to be paid.
func (r *ranging) foreseeRefund(ctx context.Context, at payments.Located[payments.RefundID], refund payments.Refund, attempt payments.Attempt) error {
	s := r.service
	gateway, err := s.gateway(attempt.Provider)
	if err != nil {
		return err
	}
	if refund.State == payments.RefundRequested && attempt.Contested() {
		if attempt.Disputed.Minor > 0 {
			r.count(func(report *RangeReport) { report.Waiting++ })
		}
		return nil // It waits for the end of a dispute, or ends because one was lost.
	}
	outcome := payments.RefundOutcome{State: payments.RefundStateNotFound}
	if refund.State != payments.RefundRequested {
		callCtx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
		defer cancel()
		if outcome, err = gateway.LookUpRefund(callCtx, attempt.Account, at.ID.String()); err != nil {
			r.count(func(report *RangeReport) { report.Unreachable++ })
			return nil
		}
	}
	switch outcome.State {
	case payments.RefundStateNotFound:
		outcome = payments.RefundOutcome{State: payments.RefundStateSucceeded, Account: attempt.Account, Amount: refund.Amount}
	case payments.RefundStatePending, payments.RefundStateUnknown:
		r.count(func(report *RangeReport) { report.Waiting++ })
		return nil
	case payments.RefundStateSucceeded, payments.RefundStateFailed:
	}
	return r.rehearse(ctx, attempt, func(ctx context.Context, tx pgx.Tx) error {
		_, err := s.settleRefundTx(ctx, tx, at, outcome, DriverCommand)
		return err
	})
}

// ownRows looks for what should be impossible: money without a booking or refund, and a booking
// without money. Nothing repairs it by itself, because nothing that is known can have made it.
func (r *ranging) ownRows(ctx context.Context, place payments.Place) error {
	queries := dbsqlc.New(r.service.db.Pool())
	paid, err := queries.PaidUnconfirmed(ctx, dbsqlc.PaidUnconfirmedParams{
		TenantID: place.Tenant.UUID, Region: string(place.Region), Since: r.Since, Until: r.Until, MaxRows: maxReported,
	})
	if err != nil {
		return db.Classify(fmt.Errorf("look for money without a booking: %w", err))
	}
	for _, row := range paid {
		r.dispute(Difference{
			Reason: DifferencePaidUnconfirmed, Tenant: place.Tenant, Attempt: payments.AttemptID{Region: place.Region, UUID: row.ID},
			Ours: money.Amount{Minor: row.CapturedMinor, Currency: money.Currency(row.Currency)},
		})
	}
	confirmed, err := queries.ConfirmedUnpaid(ctx, dbsqlc.ConfirmedUnpaidParams{
		TenantID: place.Tenant.UUID, Region: string(place.Region), Since: r.Since, Until: r.Until, MaxRows: maxReported,
	})
	if err != nil {
		return db.Classify(fmt.Errorf("look for bookings without money: %w", err))
	}
	for _, row := range confirmed {
		r.dispute(Difference{
			Reason: DifferenceConfirmedUnpaid, Tenant: place.Tenant, Booking: BookingID{Region: place.Region, UUID: row.ID},
			Ours: money.Amount{Minor: row.TotalMinor, Currency: money.Currency(row.Currency)},
		})
	}
	return nil
}

// dispute adds a difference to the report.
func (r *ranging) dispute(d Difference) {
	told := ReportDifference{
		Reason: d.Reason, Provider: d.Provider, Account: d.Account, Charge: d.Charge, Line: d.Line, Theirs: amountText(d.Theirs), Ours: amountText(d.Ours),
	}
	if !d.Tenant.IsZero() {
		told.Tenant = d.Tenant.String()
	}
	if !d.Attempt.IsZero() {
		told.Attempt = d.Attempt.String()
	}
	if !d.Booking.IsZero() {
		told.Booking = d.Booking.String()
	}
	r.count(func(report *RangeReport) {
		report.Disputed++
		if len(report.Differences) < maxReported {
			report.Differences = append(report.Differences, told)
		}
	})
}

func amountText(a money.Amount) string {
	if a.Currency == "" {
		return ""
	}
	return a.String()
}

// PaymentAccount is the account through which a tenant is paid by a provider.
func (s *Service) PaymentAccount(ctx context.Context, tenant tenants.TenantID, provider string) (string, error) {
	seller, err := dbsqlc.New(s.db.Pool()).TenantPayments(ctx, tenant.UUID)
	switch {
	case db.IsNoRows(err):
		return "", fault.NotFound("tenant")
	case err != nil:
		return "", db.Classify(fmt.Errorf("read the tenant's payment account: %w", err))
	case seller.PaymentProvider != provider:
		return "", fault.Conflict("the tenant is paid through %s, not through %s", seller.PaymentProvider, provider)
	}
	return seller.PaymentAccount, nil
}

// lists compares the provider's own lists, where it has them.
func (r *ranging) lists(ctx context.Context, providers []string) error {
	after := uuid.Nil
	for {
		rows, err := dbsqlc.New(r.service.db.Pool()).Accounts(ctx, dbsqlc.AccountsParams{
			EveryTenant: r.Tenant.IsZero(), TenantID: r.Tenant.UUID, AfterID: after, MaxRows: rangePage,
		})
		if err != nil {
			return db.Classify(fmt.Errorf("list the tenants' accounts: %w", err))
		}
		if len(rows) == 0 {
			return nil
		}
		for _, row := range rows {
			lister, ok := r.service.gateways[row.Provider].(payments.Lister)
			if !ok || !slices.Contains(providers, row.Provider) {
				continue
			}
			if err := r.list(ctx, lister, row.Provider, row.Account); err != nil {
				return err
			}
		}
		after = rows[len(rows)-1].TenantID
	}
}

// list compares one account's list up to the end of the range.
func (r *ranging) list(ctx context.Context, lister payments.Lister, provider, account string) error {
	after := ""
	for {
		page, next, err := r.service.listPage(ctx, lister, account, r.Since, after)
		if err != nil {
			return err
		}
		for i, charge := range page {
			if !charge.CreatedAt.Before(r.Until) {
				page, next = page[:i], ""
				break
			}
		}
		if err := r.charges(ctx, provider, page, nil); err != nil {
			return err
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

// file compares the charges that the caller gives.
func (r *ranging) file(ctx context.Context) error {
	if r.Provider == "" {
		return errors.New("charges of a file need the name of their provider")
	}
	var batch []payments.ListedCharge
	var lines []int
	for charge, err := range r.Charges {
		if err != nil {
			return err
		}
		if charge.CreatedAt.Before(r.Since) || !charge.CreatedAt.Before(r.Until) {
			continue
		}
		if !r.Tenant.IsZero() && !charge.Reference.TenantID.IsZero() && charge.Reference.TenantID != r.Tenant {
			continue
		}
		batch, lines = append(batch, charge.ListedCharge), append(lines, charge.Line)
		if len(batch) == rangePage {
			if err := r.charges(ctx, r.Provider, batch, lines); err != nil {
				return err
			}
			batch, lines = batch[:0], lines[:0]
		}
	}
	return r.charges(ctx, r.Provider, batch, lines)
}

// charges acts on charges of one provider: at most one page of them.
func (r *ranging) charges(ctx context.Context, provider string, charges []payments.ListedCharge, lines []int) error {
	findings, err := r.service.compare(ctx, provider, charges, r.now)
	if err != nil {
		return err
	}
	r.count(func(report *RangeReport) { report.Charges += int64(len(charges)) })
	t := newTeam(time.Hour)
	for i, f := range findings {
		if len(lines) > 0 {
			f.line = lines[i]
			if f.differs != nil {
				f.differs.Line = f.line
			}
		}
		if f.differs != nil || f.settle {
			t.do(func() error { return r.actOn(ctx, provider, f) })
		}
	}
	err = errors.Join(t.wait(), ctx.Err())
	r.progress()
	return err
}

// actOn does what a finding asks for, or with DryRun says what that would be.
func (r *ranging) actOn(ctx context.Context, provider string, f finding) error {
	if f.differs != nil {
		waiting, err := r.keep(ctx, *f.differs)
		if err == nil && waiting {
			r.dispute(*f.differs)
		}
		return err
	}
	attempt, err := payments.Get(ctx, r.service.db.Pool(), f.attempt.Tenant, f.attempt.ID)
	if err != nil {
		return db.Classify(err)
	}
	if attempt.State == payments.AttemptStateSucceeded {
		return nil // Somebody was faster.
	}
	if r.DryRun && attempt.State.Open() && r.asked(attempt) {
		return nil // The dry run has asked the provider about it already.
	}
	outcome := f.charge.Outcome()
	if gateway, reachable := r.service.gateways[provider]; reachable && r.Charges != nil {
		// The provider's own word goes before that of a file, which may be old or edited.
		if outcome, err = r.service.lookUp(ctx, gateway, attempt); err != nil {
			r.count(func(report *RangeReport) { report.Unreachable++ })
			return nil
		}
		if outcome.State != payments.OutcomeStateApproved {
			difference := f.difference(DifferenceNotCaptured, provider)
			difference.Ours, difference.Line = attempt.Amount, f.line
			waiting, err := r.keep(ctx, difference)
			if err == nil && waiting {
				r.dispute(difference)
			}
			return err
		}
	}
	if r.DryRun {
		return r.rehearse(ctx, attempt, func(ctx context.Context, tx pgx.Tx) error {
			_, err := r.service.applyTx(ctx, tx, f.attempt, outcome, DriverCommand)
			return err
		})
	}
	if err := r.service.apply(ctx, f.attempt, outcome, DriverCommand); err != nil {
		return err
	}
	return r.settled(ctx, attempt)
}

// asked reports whether an open attempt is one of those that were asked about one by one.
func (r *ranging) asked(attempt payments.Attempt) bool {
	_, reachable := r.service.gateways[attempt.Provider]
	return reachable && !attempt.CreatedAt.Before(r.Since) && attempt.CreatedAt.Before(r.Until)
}

// keep records a difference, unless nothing is to be changed, and reports whether it waits for a
// person.
func (r *ranging) keep(ctx context.Context, d Difference) (bool, error) {
	if r.DryRun {
		waits, err := r.service.differenceWaits(ctx, r.service.db.Pool(), d)
		return waits, db.Classify(err)
	}
	return r.service.recordDifference(ctx, d)
}
