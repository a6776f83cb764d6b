package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// HoldState is where a hold stands in its life.
type HoldState string

// The states of a hold.
const (
	// HoldStateActive: the buyer may pay, extend or release.
	HoldStateActive HoldState = "ACTIVE"
	// HoldStateProcessing: a payment is under way.
	HoldStateProcessing HoldState = "PROCESSING"
	// HoldStateConfirmed: the units are booked.
	HoldStateConfirmed HoldState = "CONFIRMED"
	// HoldStateReleased: the units were given back by the buyer or after a decline.
	HoldStateReleased HoldState = "RELEASED"
	// HoldStateExpired: the deadline passed and the units were given back.
	HoldStateExpired HoldState = "EXPIRED"
)

// Live reports whether a hold in this state owns its units.
func (s HoldState) Live() bool { return s == HoldStateActive || s == HoldStateProcessing }

// Transition is a change of a hold's state: its name, where it may start and where it ends. The
// SQL guards on the sources.
type Transition struct {
	Name string
	From []HoldState
	To   HoldState
}

// Transitions of a hold; the diagram in docs/holds.md is made from them.
func Transitions() []Transition {
	return []Transition{transitionExtend(), transitionProcess(), transitionKeep(), transitionConfirm(), transitionRelease(), transitionDecline(), transitionExpire()}
}

func transitionExtend() Transition {
	return Transition{Name: "extend", From: []HoldState{HoldStateActive}, To: HoldStateActive}
}

func transitionProcess() Transition {
	return Transition{Name: "checkout", From: []HoldState{HoldStateActive}, To: HoldStateProcessing}
}

func transitionKeep() Transition {
	return Transition{Name: "decline (KEEP)", From: []HoldState{HoldStateProcessing}, To: HoldStateActive}
}

func transitionConfirm() Transition {
	return Transition{Name: "confirm", From: []HoldState{HoldStateActive, HoldStateProcessing}, To: HoldStateConfirmed}
}

func transitionRelease() Transition {
	return Transition{Name: "release", From: []HoldState{HoldStateActive}, To: HoldStateReleased}
}

func transitionDecline() Transition {
	return Transition{Name: "decline (RELEASE)", From: []HoldState{HoldStateProcessing}, To: HoldStateReleased}
}

func transitionExpire() Transition {
	return Transition{Name: "expire", From: []HoldState{HoldStateActive, HoldStateProcessing}, To: HoldStateExpired}
}

func (t Transition) sources() []string {
	names := make([]string, len(t.From))
	for i, state := range t.From {
		names[i] = string(state)
	}
	return names
}

// Hold is a durable lease of units for one buyer until a server deadline.
type Hold struct {
	ID      HoldID
	Tenant  tenants.TenantID
	Channel tenants.ChannelID
	Buyer   tenants.Buyer
	State   HoldState
	// PlacedAt is when the hold was made.
	PlacedAt time.Time
	// Deadline is what the buyer sees: the end of the lease, or of the payment window.
	Deadline time.Time
	// LeaseDeadline is the deadline of the lease itself, to which a declined payment under policy
	// KEEP returns.
	LeaseDeadline time.Time
	// ClaimableAt is the instant from which others may take the units.
	ClaimableAt time.Time
	// EndedAt is when the hold left its live states; nil while it is live.
	EndedAt       *time.Time
	Extensions    int64
	MaxExtensions int64
	// Terms are those of the moment the hold was placed.
	Terms HoldTerms
	// Total is the price locked at the hold: the sum of its lines.
	Total   money.Amount
	Version int64
	// PresaleCode is the code whose use the hold has; nil for none.
	PresaleCode *PresaleCodeID
	// OverridesRestrictions: staff held it against the restrictions of its nights, which do not speak again.
	OverridesRestrictions bool
	Lines                 []HoldLine
}

// HoldTerms are the sales terms that a hold keeps for its life.
type HoldTerms struct {
	HoldSeconds       int64
	MaxHoldSeconds    int64
	ProcessingSeconds int64
	GraceSeconds      int64
	LatePayment       LatePayment
	OnDecline         OnDecline
	MaxPerInstrument  int64
	Capture           Capture
}

// LineKind says what sort of unit a line owns.
type LineKind string

// The kinds of line.
const (
	LineKindSeat  LineKind = "SEAT"
	LineKindPool  LineKind = "POOL"
	LineKindNight LineKind = "NIGHT"
)

// HoldLine is one unit row that a hold owns: a seat, a quantity of one counter of a pool, or a
// quantity of rooms on one night.
type HoldLine struct {
	Ordinal int64
	// Item is the position in the buyer's request, from 0; the nights of one stay share it.
	Item     int64
	Kind     LineKind
	Show     ShowID
	Seat     SeatID
	Pool     PoolID
	Shard    int64
	Property tenants.PropertyID
	RoomType RoomTypeID
	// RatePlan is what a night was sold as; zero is the standard rate.
	RatePlan RatePlanID
	Night    civil.Date
	// Bucket is the allotment that the units come from, or zero for what everybody may sell.
	Bucket   uuid.UUID
	Quantity int64
	// Amount is the price of the whole line.
	Amount money.Amount
}

// StateAt is the state that a reader is shown: a hold whose units others may take has expired,
// whether or not anybody has reaped it yet.
func (h Hold) StateAt(now time.Time) HoldState {
	if h.State.Live() && !now.Before(h.ClaimableAt) {
		return HoldStateExpired
	}
	return h.State
}

// LockHold reads a hold with its lines and locks its row until the transaction ends. A hold of
// another tenant is not found.
func LockHold(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, id HoldID) (Hold, error) {
	row, err := dbsqlc.New(tx).HoldLock(ctx, dbsqlc.HoldLockParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Hold{}, fault.NotFound("hold")
	}
	if err != nil {
		return Hold{}, fmt.Errorf("lock hold %s: %w", id, err)
	}
	return withLines(ctx, tx, holdOf(tenant, id.Region, dbsqlc.HoldGetRow(row)))
}

// GetHold reads a hold with its lines. It does not ask whose it is; see Service.Hold.
func GetHold(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, id HoldID) (Hold, error) {
	row, err := dbsqlc.New(q).HoldGet(ctx, dbsqlc.HoldGetParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return Hold{}, fault.NotFound("hold")
	}
	if err != nil {
		return Hold{}, fmt.Errorf("read hold %s: %w", id, err)
	}
	return withLines(ctx, q, holdOf(tenant, id.Region, row))
}

// ChannelOf is the channel through which a hold was placed, which never changes.
func ChannelOf(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, id HoldID) (tenants.ChannelID, error) {
	channel, err := dbsqlc.New(q).HoldChannel(ctx, dbsqlc.HoldChannelParams{TenantID: tenant.UUID, Region: string(id.Region), ID: id.UUID})
	if db.IsNoRows(err) {
		return tenants.ChannelID{}, fault.NotFound("hold")
	}
	if err != nil {
		return tenants.ChannelID{}, fmt.Errorf("read the channel of hold %s: %w", id, err)
	}
	return tenants.ChannelID{UUID: channel}, nil
}

// Now is the database's clock. Read it after the locks that a decision waits for.
func Now(ctx context.Context, q dbsqlc.DBTX) (time.Time, error) {
	now, err := dbsqlc.New(q).Now(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}

func withLines(ctx context.Context, q dbsqlc.DBTX, hold Hold) (Hold, error) {
	lines, err := linesOf(ctx, q, hold.Tenant.UUID, hold.ID.Region, []uuid.UUID{hold.ID.UUID})
	if err != nil {
		return Hold{}, err
	}
	hold.Lines = lines[hold.ID.UUID]
	for i := range hold.Lines {
		hold.Lines[i].Amount.Currency = hold.Total.Currency
	}
	return hold, nil
}

// linesOf are the lines of several holds of one tenant and region, without their currency.
func linesOf(ctx context.Context, q dbsqlc.DBTX, tenant uuid.UUID, region ids.Region, holds []uuid.UUID) (map[uuid.UUID][]HoldLine, error) {
	rows, err := dbsqlc.New(q).HoldLines(ctx, dbsqlc.HoldLinesParams{TenantID: tenant, Region: string(region), HoldIds: holds})
	if err != nil {
		return nil, fmt.Errorf("read hold lines: %w", err)
	}
	lines := make(map[uuid.UUID][]HoldLine, len(holds))
	for _, row := range rows {
		lines[row.HoldID] = append(lines[row.HoldID], holdLineOf(region, row))
	}
	for _, held := range lines {
		slices.SortFunc(held, func(a, b HoldLine) int { return int(a.Ordinal - b.Ordinal) })
	}
	return lines, nil
}

func holdOf(tenant tenants.TenantID, region ids.Region, row dbsqlc.HoldGetRow) Hold {
	hold := Hold{
		ID: HoldID{Region: region, UUID: row.ID}, Tenant: tenant, Channel: tenants.ChannelID{UUID: row.ChannelID},
		Buyer: tenants.Buyer{Kind: tenants.BuyerKind(row.BuyerKind), ID: row.BuyerID},
		State: HoldState(row.State), PlacedAt: row.PlacedAt, Deadline: row.Deadline, LeaseDeadline: row.LeaseDeadline,
		ClaimableAt: row.ClaimableAt, EndedAt: row.EndedAt, Extensions: row.Extensions, MaxExtensions: row.MaxExtensions,
		Terms: HoldTerms{
			HoldSeconds: row.HoldSeconds, MaxHoldSeconds: row.MaxHoldSeconds, ProcessingSeconds: row.ProcessingSeconds,
			GraceSeconds: row.GraceSeconds, LatePayment: LatePayment(row.LatePayment), OnDecline: OnDecline(row.OnDecline),
			MaxPerInstrument: row.MaxPerInstrument, Capture: Capture(row.Capture),
		},
		Total:   money.Amount{Minor: row.TotalMinor, Currency: money.Currency(row.Currency)},
		Version: row.Version, OverridesRestrictions: row.OverridesRestrictions,
	}
	if row.PresaleCodeID != nil {
		hold.PresaleCode = &PresaleCodeID{Region: region, UUID: *row.PresaleCodeID}
	}
	return hold
}

func holdLineOf(region ids.Region, row dbsqlc.HoldLinesRow) HoldLine {
	line := HoldLine{
		Ordinal: row.Ordinal, Item: row.Item, Kind: LineKind(row.Kind), Bucket: row.Bucket, Quantity: row.Quantity,
		Amount: money.Amount{Minor: row.AmountMinor},
	}
	if row.ShowID != nil {
		line.Show = ShowID{Region: region, UUID: *row.ShowID}
	}
	if row.SeatID != nil {
		line.Seat = SeatID{Region: region, UUID: *row.SeatID}
	}
	if row.PoolID != nil {
		line.Pool = PoolID{Region: region, UUID: *row.PoolID}
	}
	if row.Shard != nil {
		line.Shard = *row.Shard
	}
	if row.PropertyID != nil {
		line.Property = tenants.PropertyID{Region: region, UUID: *row.PropertyID}
	}
	if row.RoomTypeID != nil {
		line.RoomType = RoomTypeID{Region: region, UUID: *row.RoomTypeID}
	}
	if row.RatePlanID != nil {
		line.RatePlan = RatePlanID{Region: region, UUID: *row.RatePlanID}
	}
	if row.Night != nil {
		line.Night = *row.Night
	}
	return line
}
