package bookings

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// DifferenceReason says in what a provider and we disagree. No rule decides these: a person does.
type DifferenceReason string

// The reasons. The last two are about our own rows alone, and should be impossible.
const (
	// DifferenceForeign: the provider took money for which we have no attempt.
	DifferenceForeign DifferenceReason = "FOREIGN"
	// DifferenceAccount: it went to another account, or through another provider, than the attempt's.
	DifferenceAccount DifferenceReason = "ACCOUNT_DIFFERS"
	// DifferenceCurrency: it was taken in another currency.
	DifferenceCurrency DifferenceReason = "CURRENCY_DIFFERS"
	// DifferenceAmount: the provider took another amount than we recorded.
	DifferenceAmount DifferenceReason = "AMOUNT_DIFFERS"
	// DifferenceSecondCharge: the provider has a second charge for an attempt that is paid.
	DifferenceSecondCharge DifferenceReason = "SECOND_CHARGE"
	// DifferenceNotCaptured: we have a success that the provider calls a decline.
	DifferenceNotCaptured DifferenceReason = "NOT_CAPTURED"
	// DifferenceRefund: the provider gave back another amount than we asked for.
	DifferenceRefund DifferenceReason = "REFUND_DIFFERS"
	// DifferencePaidUnconfirmed: our rows say that money was taken, and have neither a booking nor a
	// refund for it.
	DifferencePaidUnconfirmed DifferenceReason = "PAID_UNCONFIRMED"
	// DifferenceConfirmedUnpaid: a booking with a price that no payment bought.
	DifferenceConfirmedUnpaid DifferenceReason = "CONFIRMED_UNPAID"
)

// Difference is one thing about which a provider and we disagree.
type Difference struct {
	Reason   DifferenceReason
	Tenant   tenants.TenantID
	Region   ids.Region
	Provider string
	Account  string
	// Charge is the provider's id of the charge.
	Charge string
	// Attempt is ours; the zero id when there is none.
	Attempt payments.AttemptID
	// Booking is set with CONFIRMED_UNPAID.
	Booking BookingID
	// Theirs and Ours are the amounts that are compared.
	Theirs money.Amount
	Ours   money.Amount
	// Line is where the charge stands in a file that was compared; 0 without one.
	Line int
}

// finding is what a charge of a provider means for us.
type finding struct {
	charge  payments.ListedCharge
	line    int
	attempt payments.Located[payments.AttemptID]
	// settle: the provider has captured, and our attempt is open or declined: it is to be applied.
	settle bool
	// drive: our attempt is open, and the provider has something else to say about it.
	drive bool
	// differs is set where only a person can decide.
	differs *Difference
}

// compare says what charges of one provider mean. It reads our attempts in one statement for each
// tenant and region, and changes nothing.
func (s *Service) compare(ctx context.Context, provider string, charges []payments.ListedCharge, now time.Time) ([]finding, error) {
	findings := make([]finding, len(charges))
	wanted := map[payments.Place][]uuid.UUID{}
	for i, charge := range charges {
		findings[i].charge = charge
		if at, ok := attemptOfCharge(charge); ok {
			findings[i].attempt = at
			place := payments.Place{Tenant: at.Tenant, Region: at.ID.Region}
			wanted[place] = append(wanted[place], at.ID.UUID)
		}
	}
	known := map[payments.Located[payments.AttemptID]]payments.Attempt{}
	for place, attempts := range wanted {
		found, err := payments.GetMany(ctx, s.db.Pool(), place.Tenant, place.Region, attempts)
		if err != nil {
			return nil, db.Classify(err)
		}
		for id, attempt := range found {
			known[payments.Located[payments.AttemptID]{Tenant: place.Tenant, ID: payments.AttemptID{Region: place.Region, UUID: id}}] = attempt
		}
	}
	for i := range findings {
		f := &findings[i]
		attempt, ours := known[f.attempt]
		if !ours {
			if err := s.judgeForeign(ctx, provider, f); err != nil {
				return nil, err
			}
			continue
		}
		judgeCharge(provider, f, attempt, now)
	}
	return findings, nil
}

// attemptOfCharge reads which attempt of ours a charge says it is for.
func attemptOfCharge(charge payments.ListedCharge) (payments.Located[payments.AttemptID], bool) {
	id, err := ids.Parse[payments.AttemptKind](charge.Reference.AttemptID)
	if err != nil || charge.Reference.TenantID.IsZero() {
		return payments.Located[payments.AttemptID]{}, false
	}
	return payments.Located[payments.AttemptID]{Tenant: charge.Reference.TenantID, ID: id}, true
}

// judgeForeign is about a charge that no attempt of ours asked for. One that took no money harms
// nobody.
func (s *Service) judgeForeign(ctx context.Context, provider string, f *finding) error {
	if f.charge.State != payments.OutcomeStateApproved || f.charge.Captured.Minor == 0 {
		return nil
	}
	differs := f.difference(DifferenceForeign, provider)
	differs.Attempt = payments.AttemptID{}
	owner, err := dbsqlc.New(s.db.Pool()).AccountOwner(ctx, dbsqlc.AccountOwnerParams{Provider: provider, Account: f.charge.Account})
	switch {
	case db.IsNoRows(err):
		differs.Tenant, differs.Region = tenants.TenantID{}, payments.UnroutedRegion
	case err != nil:
		return db.Classify(fmt.Errorf("look for the tenant of account %s: %w", f.charge.Account, err))
	default:
		differs.Tenant, differs.Region = tenants.TenantID{UUID: owner.TenantID}, ids.Region(owner.Region)
	}
	f.differs = &differs
	return nil
}

func (f *finding) difference(reason DifferenceReason, provider string) Difference {
	return Difference{
		Reason: reason, Tenant: f.attempt.Tenant, Region: f.attempt.ID.Region, Provider: provider, Account: f.charge.Account,
		Charge: f.charge.ID, Attempt: f.attempt.ID, Theirs: f.charge.Captured, Line: f.line,
	}
}

// judgeCharge compares a charge with its attempt. What the saga can decide is left to it.
func judgeCharge(provider string, f *finding, attempt payments.Attempt, now time.Time) {
	differ := func(reason DifferenceReason, ours money.Amount) {
		difference := f.difference(reason, provider)
		difference.Ours = ours
		f.differs = &difference
	}
	captured := f.charge.State == payments.OutcomeStateApproved && f.charge.Captured.Minor > 0
	switch {
	case provider != attempt.Provider || f.charge.Account != attempt.Account:
		if captured {
			differ(DifferenceAccount, attempt.Amount)
		}
	case captured && f.charge.Captured.Currency != attempt.Amount.Currency:
		differ(DifferenceCurrency, attempt.Amount)
	case captured && attempt.State != payments.AttemptStateSucceeded:
		// While the checkout's own process is at work, the end of the payment is its to write.
		f.settle = !attempt.State.Open() || now.After(attempt.CreatedAt.Add(jobPatience))
	case captured && !f.charge.Is(attempt.ProviderCharge):
		differ(DifferenceSecondCharge, attempt.Captured)
	case captured && f.charge.Captured.Minor != attempt.Captured.Minor:
		differ(DifferenceAmount, attempt.Captured)
	case captured && f.charge.Refunded.Minor > attempt.Refunded.Minor:
		difference := f.difference(DifferenceRefund, provider)
		difference.Theirs, difference.Ours = f.charge.Refunded, attempt.Refunded
		f.differs = &difference
	case captured:
	case attempt.State == payments.AttemptStateSucceeded && f.charge.State == payments.OutcomeStateDeclined && f.charge.Is(attempt.ProviderCharge):
		differ(DifferenceNotCaptured, attempt.Captured)
	case attempt.State.Open():
		f.drive = true
	}
}

// recordDifference keeps a difference for the review queue, once, and reports whether a person has
// still to decide about it.
func (s *Service) recordDifference(ctx context.Context, d Difference) (waiting bool, err error) {
	return db.Replayable(ctx, s.db, "bookings.RecordDifference", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		params := dbsqlc.DifferenceInsertParams{
			TenantID: d.Tenant.UUID, Region: string(d.Region), ID: uuid.New(), Provider: d.Provider, Account: d.Account, ChargeID: d.Charge,
			Reason: string(d.Reason), ProviderMinor: d.Theirs.Minor, OurMinor: d.Ours.Minor, Currency: string(d.Theirs.Currency),
		}
		if !d.Attempt.IsZero() {
			params.AttemptID = &d.Attempt.UUID
		}
		if _, err := dbsqlc.New(tx).DifferenceInsert(ctx, params); err != nil {
			return false, fmt.Errorf("keep a difference about charge %s: %w", d.Charge, err)
		}
		return s.differenceWaits(ctx, tx, d)
	})
}

// differenceWaits reports whether nobody has decided about a difference yet.
func (s *Service) differenceWaits(ctx context.Context, q dbsqlc.DBTX, d Difference) (bool, error) {
	decided, err := dbsqlc.New(q).DifferencesDecided(ctx, dbsqlc.DifferencesDecidedParams{
		TenantID: d.Tenant.UUID, Region: string(d.Region), Provider: d.Provider, Account: d.Account, ChargeID: d.Charge, Reason: string(d.Reason),
	})
	if err != nil {
		return false, fmt.Errorf("look for a decision about charge %s: %w", d.Charge, err)
	}
	return decided == 0, nil
}

// Limits of reading a provider's own list.
const (
	// listEvery is how often each account's list is compared, and listOverlap how much of what was
	// read before is read again: a charge may be made, and captured, while the list is read.
	listEvery   = 15 * time.Minute
	listOverlap = time.Hour
	// listFirst is how far back the first pass goes.
	listFirst = 24 * time.Hour
	// maxAccounts and maxPages bound one run; the next goes on where it stopped.
	maxAccounts = 50
	maxPages    = 100
)

// Listed counts what a run over providers' own lists saw.
type Listed struct {
	Accounts int
	Charges  int
	Settled  int
	// Differences are those that wait for a person.
	Differences int
}

// ReconcileCharges compares the lists of charges of the accounts that are due with our attempts: what
// the saga can decide is applied, what it cannot is kept for the review queue. It goes on where the
// last run stopped, and a charge that was seen before changes nothing.
func (s *Service) ReconcileCharges(ctx context.Context) (Listed, error) {
	var done Listed
	now, err := s.now(ctx)
	if err != nil {
		return done, err
	}
	listers := map[string]payments.Lister{}
	var names []string
	for _, name := range s.providers() {
		if lister, ok := s.gateways[name].(payments.Lister); ok {
			listers[name], names = lister, append(names, name)
		}
	}
	rows, err := dbsqlc.New(s.db.Pool()).AccountsDue(ctx, dbsqlc.AccountsDueParams{Providers: names, Now: now, MaxRows: maxAccounts})
	if err != nil {
		return done, db.Classify(fmt.Errorf("list the accounts that are due: %w", err))
	}
	until := time.Now().Add(reconcileBudget)
	for _, row := range rows {
		if time.Now().After(until) {
			break
		}
		pass := listingOf(row, now)
		if err := s.listAccount(ctx, listers[row.Provider], pass, until, &done); err != nil {
			// Another account's provider may answer; this one is tried again at its next turn.
			s.config.Logger.WarnContext(ctx, "the charges of an account could not be compared", "provider", row.Provider, "account", row.Account, "error", err)
			pass.due = now.Add(listEvery)
			if err := s.setListing(ctx, pass); err != nil {
				return done, err
			}
		}
		done.Accounts++
	}
	return done, nil
}

// listing is how far an account's list has been read.
type listing struct {
	tenant            uuid.UUID
	region            string
	provider, account string
	since             time.Time
	after             string
	began, due        time.Time
}

func listingOf(row dbsqlc.AccountsDueRow, now time.Time) *listing {
	pass := &listing{tenant: row.TenantID, region: row.Region, provider: row.Provider, account: row.Account, since: now.Add(-listFirst), began: now, due: now}
	if row.ListedSince != nil && row.ListAfter != nil && row.PassBegan != nil {
		pass.since = *row.ListedSince
		if *row.ListAfter != "" {
			pass.after, pass.began = *row.ListAfter, *row.PassBegan
		}
	}
	return pass
}

// listAccount reads pages of one account's list, and remembers after each how far it came.
func (s *Service) listAccount(ctx context.Context, lister payments.Lister, pass *listing, until time.Time, done *Listed) error {
	for page := 0; page < maxPages && time.Now().Before(until); page++ {
		charges, next, err := s.listPage(ctx, lister, pass.account, pass.since, pass.after)
		if err != nil {
			return err
		}
		done.Charges += len(charges)
		findings, err := s.compare(ctx, pass.provider, charges, pass.began)
		if err != nil {
			return err
		}
		for _, f := range findings {
			if err := s.actOn(ctx, f, done); err != nil {
				return err
			}
		}
		pass.after = next
		if next == "" {
			pass.since, pass.due = pass.began.Add(-listOverlap), pass.began.Add(listEvery)
			return s.setListing(ctx, pass)
		}
		if err := s.setListing(ctx, pass); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) listPage(ctx context.Context, lister payments.Lister, account string, since time.Time, after string) ([]payments.ListedCharge, string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	return lister.ListCharges(ctx, account, since, after, payments.MaxListedPage)
}

// actOn does what a finding of the periodic comparison asks for.
func (s *Service) actOn(ctx context.Context, f finding, done *Listed) error {
	switch {
	case f.differs != nil:
		waiting, err := s.recordDifference(ctx, *f.differs)
		if waiting {
			done.Differences++
		}
		return err
	case f.settle:
		done.Settled++
		return s.apply(ctx, f.attempt, f.charge.Outcome(), DriverReconciler)
	}
	return nil // An open attempt is asked about when its next look is due.
}

func (s *Service) setListing(ctx context.Context, pass *listing) error {
	_, err := db.Replayable(ctx, s.db, "bookings.SetListing", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		err := dbsqlc.New(tx).ListingSet(ctx, dbsqlc.ListingSetParams{
			TenantID: pass.tenant, Region: pass.region, Provider: pass.provider, Account: pass.account,
			ListedSince: pass.since, ListAfter: pass.after, PassBegan: pass.began, DueAt: pass.due,
		})
		if err != nil {
			return struct{}{}, fmt.Errorf("remember how far account %s was compared: %w", pass.account, err)
		}
		return struct{}{}, nil
	})
	return err
}
