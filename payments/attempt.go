package payments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// Kinds of public ids of this package.
type (
	// AttemptKind is one try to take money for a hold.
	AttemptKind struct{}
	// RefundKind is one refund action.
	RefundKind struct{}
)

// Prefix of an attempt's public id.
func (AttemptKind) Prefix() string { return "pay" }

// Prefix of a refund's public id.
func (RefundKind) Prefix() string { return "refund" }

// Public ids; they are also the idempotency keys at the provider.
type (
	AttemptID = ids.ID[AttemptKind]
	RefundID  = ids.ID[RefundKind]
)

// AttemptState is where an attempt stands.
type AttemptState string

// The states of an attempt.
const (
	// AttemptStateCreated: stored, the provider has not been called yet.
	AttemptStateCreated AttemptState = "CREATED"
	// AttemptStateSubmitted: the provider was, or is being, called.
	AttemptStateSubmitted AttemptState = "SUBMITTED"
	// AttemptStateUnknown: the provider has not said; the money may have moved.
	AttemptStateUnknown AttemptState = "UNKNOWN"
	// AttemptStateAuthorized: the money is reserved and not yet taken. It is captured while its hold can
	// still be sold, and let go otherwise.
	AttemptStateAuthorized AttemptState = "AUTHORIZED"
	// AttemptStateSucceeded: the money was taken. Final.
	AttemptStateSucceeded AttemptState = "SUCCEEDED"
	// AttemptStateDeclined: no money was taken. Only a success overwrites it.
	AttemptStateDeclined AttemptState = "DECLINED"
)

// Open reports whether the outcome is still to come.
func (s AttemptState) Open() bool {
	return s == AttemptStateCreated || s == AttemptStateSubmitted || s == AttemptStateUnknown || s == AttemptStateAuthorized
}

// Disposition says what became of the money of a success.
type Disposition string

// The dispositions of a success.
const (
	// DispositionNone: there is no success.
	DispositionNone Disposition = ""
	// DispositionApplied: it paid for a booking.
	DispositionApplied Disposition = "APPLIED"
	// DispositionOrphaned: there was nothing left to pay for, and it is refunded.
	DispositionOrphaned Disposition = "ORPHANED"
)

// Attempt is one try to take the price of a hold.
type Attempt struct {
	ID     AttemptID
	Tenant tenants.TenantID
	// Hold is the UUID of the hold that is being paid, in the attempt's region.
	Hold     uuid.UUID
	Provider string
	Account  string
	// MethodToken is the provider's name of the instrument; no card data is stored. It is empty for a
	// payment on the provider's page.
	MethodToken string
	// ReturnURL is where the provider's page sends the buyer back to; empty without a page.
	ReturnURL string
	// RedirectURL is where the buyer has to go to pay or to confirm, while that is so.
	RedirectURL string
	// PayUntil is the end of the payment's window, as the provider is told; nil for attempts of before
	// it was kept.
	PayUntil *time.Time
	// Capture says whether the money is reserved first.
	Capture CaptureMode
	// Instrument is equal for two attempts with one instrument.
	Instrument  string
	Amount      money.Amount
	State       AttemptState
	Disposition Disposition
	DeclineCode string
	// ProviderCharge is the provider's id of the charge.
	ProviderCharge string
	// Captured is what was taken, Refunded the sum of all refund actions not failed.
	Captured money.Amount
	Refunded money.Amount
	// Disputed is what is in open disputes, Lost what lost disputes have taken back.
	Disputed    money.Amount
	Lost        money.Amount
	Checks      int64
	NextCheckAt *time.Time
	CreatedAt   time.Time
	SubmittedAt *time.Time
	SettledAt   *time.Time
	Version     int64
}

// Reference is what the provider is told about the attempt.
func (a Attempt) Reference() Reference {
	return Reference{TenantID: a.Tenant, AttemptID: a.ID.String()}
}

// Left is what may still be given back: what was captured, without refunds and lost disputes.
func (a Attempt) Left() money.Amount {
	return money.Amount{Minor: max(0, a.Captured.Minor-a.Refunded.Minor-a.Lost.Minor), Currency: a.Captured.Currency}
}

// Contested reports whether the refunds counted for a payment are more than it has without what is
// or was disputed: then none is sent that was not sent before.
func (a Attempt) Contested() bool {
	return a.Refunded.Minor+a.Disputed.Minor+a.Lost.Minor > a.Captured.Minor
}

// NewAttempt is what an attempt begins with.
type NewAttempt struct {
	ID       AttemptID
	Hold     uuid.UUID
	Provider string
	Account  string
	// MethodToken is empty for a payment on the provider's page.
	MethodToken string
	// Instrument is the provider's fingerprint; empty when it tells none before a charge.
	Instrument string
	Amount     money.Amount
	Capture    CaptureMode
	// ReturnURL asks for the provider's page.
	ReturnURL string
	// PayUntil is when the payment's window ends.
	PayUntil time.Time
}

// instrument is what the open payments of one card are counted by.
func (n NewAttempt) instrument() string {
	if n.Instrument == "" && n.MethodToken != "" {
		return InstrumentOf(n.Provider, n.MethodToken)
	}
	return n.Instrument
}

// storedCapture is how the database says a CaptureMode.
func storedCapture(mode CaptureMode) string {
	if mode == CaptureManual {
		return string(CaptureManual)
	}
	return captureAutomatic
}

const captureAutomatic = "AUTOMATIC"

// Waits between looks at an attempt or refund whose outcome is open.
const (
	// driverPatience is how long the first driver has before the reconciler looks at its attempt:
	// longer than one call to a provider takes.
	driverPatience = 20 * time.Second
	firstWait      = time.Second
	longestWait    = 5 * time.Minute
)

// waitAfter grows with each look: one second, two, four … up to five minutes.
func waitAfter(checks int64) time.Duration {
	if checks > 8 {
		return longestWait
	}
	return min(longestWait, firstWait<<checks)
}

// InstrumentOf is the fingerprint of a payment method before the provider has told its own.
func InstrumentOf(provider, methodToken string) string {
	sum := sha256.Sum256([]byte(provider + "\x00" + methodToken))
	return "token:" + hex.EncodeToString(sum[:12])
}

// CreateTx stores an attempt before anything is sent. Its first look by the reconciler is due when
// the driver of the checkout should long have finished.
func CreateTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, input NewAttempt, now time.Time) (Attempt, error) {
	next := now.Add(driverPatience)
	attempt := Attempt{
		ID: input.ID, Tenant: tenant, Hold: input.Hold, Provider: input.Provider, Account: input.Account,
		MethodToken: input.MethodToken, Instrument: input.instrument(), Amount: input.Amount,
		State: AttemptStateCreated, NextCheckAt: &next, CreatedAt: now, Version: 1,
		Capture: input.Capture, ReturnURL: input.ReturnURL, PayUntil: &input.PayUntil,
	}
	none := money.Amount{Currency: input.Amount.Currency}
	attempt.Captured, attempt.Refunded, attempt.Disputed, attempt.Lost = none, none, none, none
	err := dbsqlc.New(tx).AttemptInsert(ctx, dbsqlc.AttemptInsertParams{
		TenantID: tenant.UUID, Region: string(input.ID.Region), ID: input.ID.UUID, HoldID: input.Hold,
		Provider: input.Provider, Account: input.Account, MethodToken: input.MethodToken, InstrumentFingerprint: attempt.Instrument,
		Capture: storedCapture(input.Capture), ReturnUrl: input.ReturnURL, PayUntil: &input.PayUntil,
		AmountMinor: input.Amount.Minor, Currency: string(input.Amount.Currency), CreatedAt: now, NextCheckAt: &next,
	})
	if err != nil {
		return Attempt{}, fmt.Errorf("store a payment attempt: %w", err)
	}
	return attempt, nil
}

// OpenOfInstrument counts attempts with an open outcome that use one instrument.
func OpenOfInstrument(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, region ids.Region, instrument string, now time.Time) (int64, error) {
	const horizon = 24 * time.Hour
	n, err := dbsqlc.New(tx).AttemptsOpenOfInstrument(ctx, dbsqlc.AttemptsOpenOfInstrumentParams{
		TenantID: tenant.UUID, Region: string(region), InstrumentFingerprint: instrument, Since: now.Add(-horizon),
	})
	if err != nil {
		return 0, fmt.Errorf("count the instrument's open payments: %w", err)
	}
	return n, nil
}

// Get reads an attempt. It does not ask whose it is.
func Get(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, id AttemptID) (Attempt, error) {
	row, err := dbsqlc.New(q).AttemptGet(ctx, dbsqlc.AttemptGetParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Attempt{}, fault.NotFound("payment attempt")
	}
	if err != nil {
		return Attempt{}, fmt.Errorf("read payment attempt %s: %w", id, err)
	}
	return attemptOf(tenant, id.Region, row), nil
}

// Lock reads an attempt and locks its row until the transaction ends.
func Lock(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id AttemptID) (Attempt, error) {
	row, err := dbsqlc.New(tx).AttemptLock(ctx, dbsqlc.AttemptLockParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Attempt{}, fault.NotFound("payment attempt")
	}
	if err != nil {
		return Attempt{}, fmt.Errorf("lock payment attempt %s: %w", id, err)
	}
	return attemptOf(tenant, id.Region, dbsqlc.AttemptGetRow(row)), nil
}

// OfHold lists the attempts of a hold, oldest first.
func OfHold(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, region ids.Region, hold uuid.UUID) ([]Attempt, error) {
	rows, err := dbsqlc.New(q).AttemptsOfHold(ctx, dbsqlc.AttemptsOfHoldParams{TenantID: tenant.UUID, Region: string(region), HoldID: hold})
	if err != nil {
		return nil, fmt.Errorf("list payment attempts: %w", err)
	}
	attempts := make([]Attempt, len(rows))
	for i, row := range rows {
		attempts[i] = attemptOf(tenant, region, dbsqlc.AttemptGetRow(row))
	}
	return attempts, nil
}

// GetMany reads attempts of one tenant and region. One that is not there is left out.
func GetMany(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, region ids.Region, wanted []uuid.UUID) (map[uuid.UUID]Attempt, error) {
	rows, err := dbsqlc.New(q).AttemptsByID(ctx, dbsqlc.AttemptsByIDParams{TenantID: tenant.UUID, Region: string(region), AttemptIds: wanted})
	if err != nil {
		return nil, fmt.Errorf("read payment attempts: %w", err)
	}
	attempts := make(map[uuid.UUID]Attempt, len(rows))
	for _, row := range rows {
		attempts[row.ID] = attemptOf(tenant, region, dbsqlc.AttemptGetRow(row))
	}
	return attempts, nil
}

// SubmitTx marks a locked CREATED attempt as being sent.
func SubmitTx(ctx context.Context, tx pgx.Tx, attempt Attempt, now time.Time) error {
	n, err := dbsqlc.New(tx).AttemptSubmit(ctx, dbsqlc.AttemptSubmitParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: attempt.ID.UUID, Now: now, NextCheckAt: now.Add(driverPatience),
	})
	return oneRow(n, err, "submit", attempt)
}

// CheckLaterTx says of a locked open attempt that its outcome is not known, where its buyer has to go,
// if anywhere, and when to ask again: when its window ends at the latest. What is reserved stays so.
func CheckLaterTx(ctx context.Context, tx pgx.Tx, attempt Attempt, redirectURL string, now time.Time) error {
	to, from := AttemptStateUnknown, []string{string(AttemptStateCreated), string(AttemptStateSubmitted), string(AttemptStateUnknown), string(AttemptStateAuthorized)}
	if attempt.State == AttemptStateAuthorized {
		to = AttemptStateAuthorized
	}
	n, err := checkLater(ctx, tx, attempt, to, from, redirectURL, now)
	return oneRow(n, err, "look later at", attempt)
}

func checkLater(ctx context.Context, tx pgx.Tx, attempt Attempt, to AttemptState, from []string, redirectURL string, now time.Time) (int64, error) {
	next := now.Add(waitAfter(attempt.Checks))
	if attempt.PayUntil != nil && now.Before(*attempt.PayUntil) && attempt.PayUntil.Before(next) {
		next = *attempt.PayUntil
	}
	return dbsqlc.New(tx).AttemptCheckLater(ctx, dbsqlc.AttemptCheckLaterParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: attempt.ID.UUID, ToState: string(to), RedirectUrl: redirectURL,
		FromStates:  from,
		NextCheckAt: next,
	})
}

// AskLaterTx is CheckLaterTx for an attempt that is not locked: one that has ended meanwhile is left
// as it is. Two who look at the same moment count as two looks.
// What is reserved meanwhile stays so.
func AskLaterTx(ctx context.Context, tx pgx.Tx, attempt Attempt, redirectURL string, now time.Time) error {
	from := []string{string(AttemptStateCreated), string(AttemptStateSubmitted), string(AttemptStateUnknown)}
	_, err := checkLater(ctx, tx, attempt, AttemptStateUnknown, from, redirectURL, now)
	if err != nil {
		return fmt.Errorf("look later at payment attempt %s: %w", attempt.ID, err)
	}
	return nil
}

// AuthorizeTx records that a locked open attempt's money is reserved. Whoever does goes on to capture
// it; the reconciler looks after a while.
func AuthorizeTx(ctx context.Context, tx pgx.Tx, attempt Attempt, outcome Outcome, now time.Time) error {
	if outcome.InstrumentFingerprint != "" {
		attempt.Instrument = outcome.InstrumentFingerprint
	}
	n, err := dbsqlc.New(tx).AttemptAuthorize(ctx, dbsqlc.AttemptAuthorizeParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: attempt.ID.UUID, ProviderCharge: outcome.ChargeID,
		InstrumentFingerprint: attempt.Instrument, NextCheckAt: now.Add(driverPatience),
	})
	return oneRow(n, err, "authorize", attempt)
}

// SucceedTx records that a locked attempt's money was taken, and what for.
func SucceedTx(ctx context.Context, tx pgx.Tx, attempt Attempt, disposition Disposition, outcome Outcome, now time.Time) (Attempt, error) {
	if outcome.InstrumentFingerprint != "" {
		attempt.Instrument = outcome.InstrumentFingerprint
	}
	n, err := dbsqlc.New(tx).AttemptSucceed(ctx, dbsqlc.AttemptSucceedParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: attempt.ID.UUID, Disposition: string(disposition),
		ProviderCharge: outcome.ChargeID, CapturedMinor: outcome.Captured.Minor, InstrumentFingerprint: attempt.Instrument, Now: now,
	})
	if err := oneRow(n, err, "record the success of", attempt); err != nil {
		return Attempt{}, err
	}
	attempt.State, attempt.Disposition, attempt.ProviderCharge, attempt.Captured = AttemptStateSucceeded, disposition, outcome.ChargeID, outcome.Captured
	attempt.SettledAt, attempt.DeclineCode, attempt.RedirectURL = &now, "", ""
	attempt.Version++
	return attempt, nil
}

// DeclineTx records that a locked open attempt took no money.
func DeclineTx(ctx context.Context, tx pgx.Tx, attempt Attempt, code string, now time.Time) error {
	n, err := dbsqlc.New(tx).AttemptDecline(ctx, dbsqlc.AttemptDeclineParams{
		TenantID: attempt.Tenant.UUID, Region: string(attempt.ID.Region), ID: attempt.ID.UUID, DeclineCode: code, Now: now,
	})
	return oneRow(n, err, "decline", attempt)
}

// Due lists open attempts of these providers whose next look is due, at most limit, the longest due
// first.
func Due(ctx context.Context, q dbsqlc.DBTX, places []Place, providers []string, now time.Time, limit int) ([]Located[AttemptID], error) {
	params := dbsqlc.AttemptsDueParams{Now: now, Providers: providers, MaxAttempts: int32(min(limit, maxDue))} //nolint:gosec // bounded here
	for _, p := range places {
		params.TenantIds = append(params.TenantIds, p.Tenant.UUID)
		params.Regions = append(params.Regions, string(p.Region))
	}
	rows, err := dbsqlc.New(q).AttemptsDue(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("list due payment attempts: %w", err)
	}
	due := make([]Located[AttemptID], len(rows))
	for i, row := range rows {
		due[i] = Located[AttemptID]{Tenant: tenants.TenantID{UUID: row.TenantID}, ID: AttemptID{Region: ids.Region(row.Region), UUID: row.ID}}
	}
	return due, nil
}

// OfCharge finds the attempt that a provider's charge belongs to, or nil when there is none or more
// than one: a provider's message may name nothing but the charge.
func OfCharge(ctx context.Context, q dbsqlc.DBTX, places []Place, provider, account, charge string) (*Located[AttemptID], error) {
	params := dbsqlc.AttemptsByChargeParams{ProviderCharge: charge, Provider: provider, Account: account}
	for _, p := range places {
		params.TenantIds = append(params.TenantIds, p.Tenant.UUID)
		params.Regions = append(params.Regions, string(p.Region))
	}
	rows, err := dbsqlc.New(q).AttemptsByCharge(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("find the payment attempt of a charge: %w", err)
	}
	if charge == "" || len(rows) != 1 {
		return nil, nil //nolint:nilnil // a charge that is not ours is no fault, and the caller asks for just this
	}
	return &Located[AttemptID]{
		Tenant: tenants.TenantID{UUID: rows[0].TenantID}, ID: AttemptID{Region: ids.Region(rows[0].Region), UUID: rows[0].ID},
	}, nil
}

// maxDue bounds one look for due work.
const maxDue = 10_000

// Place is a tenant and a region in which it sells.
type Place struct {
	Tenant tenants.TenantID
	Region ids.Region
}

// Located is an entity with its tenant: what a job or a reconciler needs to find it.
type Located[ID any] struct {
	Tenant tenants.TenantID
	ID     ID
}

func oneRow(n int64, err error, doing string, attempt Attempt) error {
	if err != nil {
		return fmt.Errorf("%s payment attempt %s: %w", doing, attempt.ID, err)
	}
	if n != 1 {
		return fmt.Errorf("%s payment attempt %s: it is %s", doing, attempt.ID, attempt.State)
	}
	return nil
}

func attemptOf(tenant tenants.TenantID, region ids.Region, row dbsqlc.AttemptGetRow) Attempt {
	currency := money.Currency(row.Currency)
	attempt := Attempt{
		ID: AttemptID{Region: region, UUID: row.ID}, Tenant: tenant, Hold: row.HoldID, Provider: row.Provider, Account: row.Account,
		MethodToken: row.MethodToken, Instrument: row.InstrumentFingerprint,
		Amount: money.Amount{Minor: row.AmountMinor, Currency: currency}, State: AttemptState(row.State),
		DeclineCode: row.DeclineCode, ProviderCharge: row.ProviderCharge,
		Captured:  money.Amount{Minor: row.CapturedMinor, Currency: currency},
		Refunded:  money.Amount{Minor: row.RefundedMinor, Currency: currency},
		Disputed:  money.Amount{Minor: row.DisputedMinor, Currency: currency},
		Lost:      money.Amount{Minor: row.LostMinor, Currency: currency},
		ReturnURL: row.ReturnUrl, RedirectURL: row.RedirectUrl, PayUntil: row.PayUntil,
		Checks: row.Checks, NextCheckAt: row.NextCheckAt, CreatedAt: row.CreatedAt, SubmittedAt: row.SubmittedAt,
		SettledAt: row.SettledAt, Version: row.Version,
	}
	if row.Capture == string(CaptureManual) {
		attempt.Capture = CaptureManual
	}
	if row.Disposition != nil {
		attempt.Disposition = Disposition(*row.Disposition)
	}
	return attempt
}
