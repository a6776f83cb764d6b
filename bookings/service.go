package bookings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Authorizer decides what an actor may do; package policies implements it.
type Authorizer interface {
	Authorize(actor tenants.Actor, action tenants.Action, tenant tenants.TenantID) error
}

// Job is work to be done after a transaction, enqueued in it. Package jobs runs it.
type Job interface{ job() }

// ChargeJob drives an attempt whose checkout's own process may have died.
type ChargeJob struct {
	Attempt payments.Located[payments.AttemptID]
	// After is when the job is due.
	After time.Time
}

// RefundJob drives a refund.
type RefundJob struct {
	Refund payments.Located[payments.RefundID]
	After  time.Time
}

// EventJob tells others of a change.
type EventJob struct {
	Tenant tenants.TenantID
	Region ids.Region
	Event  uuid.UUID
}

func (ChargeJob) job() {}
func (RefundJob) job() {}
func (EventJob) job()  {}

// Enqueuer puts jobs into the transaction of the change that they follow from.
type Enqueuer interface {
	EnqueueTx(ctx context.Context, tx pgx.Tx, jobs ...Job) error
}

// Config tunes the saga.
type Config struct {
	// InlineWait is how long a checkout waits for the provider before it answers PROCESSING; the
	// payment goes on. Default 5 seconds.
	InlineWait time.Duration
	// CallTimeout bounds one call to a provider. Default 15 seconds.
	CallTimeout time.Duration
	// MaxInline bounds the payments that this process drives at once; beyond it the job does it.
	// Default 256.
	MaxInline int
	// LoopbackReturn lets buyers of a provider's page be sent back to http on this machine, as a
	// developer's shop is. Default: https only.
	LoopbackReturn bool
	// Logger receives what a person may need to know. Default: nowhere.
	Logger *slog.Logger
	// AfterStep is called after each step of the saga, outside its transaction. Failure tests use
	// it to stop there; nil is nothing.
	AfterStep func(step string)
}

func (c Config) withDefaults() Config {
	if c.InlineWait == 0 {
		c.InlineWait = 5 * time.Second
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = 15 * time.Second
	}
	if c.MaxInline == 0 {
		c.MaxInline = 256
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.AfterStep == nil {
		c.AfterStep = func(string) {}
	}
	return c
}

// Validate names the setting that is out of bounds.
func (c Config) Validate() error {
	if c.InlineWait < 0 || c.CallTimeout < 0 || c.MaxInline < 0 {
		return errors.New("bookings: InlineWait, CallTimeout and MaxInline must not be negative")
	}
	return nil
}

// Service sells. Its methods authorise, validate and open transactions.
type Service struct {
	db         *db.DB
	authorizer Authorizer
	gateways   map[string]payments.Gateway
	jobs       Enqueuer
	config     Config
	// inline holds a token for each payment that this process drives.
	inline chan struct{}
	// background ends with the last payment being driven.
	background sync.WaitGroup
	// webhooks counts what providers send; see Collector.
	webhooks *webhookMetrics
	mover    *inventory.Mover
}

// NewService needs a migrated database, the payment gateways by provider name, and where to put
// jobs.
func NewService(d *db.DB, authorizer Authorizer, gateways map[string]payments.Gateway, jobs Enqueuer, config Config) *Service {
	config = config.withDefaults()
	return &Service{
		db: d, authorizer: authorizer, gateways: gateways, jobs: jobs, config: config,
		inline: make(chan struct{}, config.MaxInline), webhooks: newWebhookMetrics(),
		mover: inventory.NewMover(d, NewAnnouncer(jobs)),
	}
}

// Close waits for the payments that this process is driving.
func (s *Service) Close() { s.background.Wait() }

// Booking reads a booking for its buyer, for the partner whose channel sold it, or for the
// tenant's admin. For everybody else it does not exist.
func (s *Service) Booking(ctx context.Context, actor tenants.Actor, id BookingID) (Booking, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionBookingRead, actor.Tenant)); err != nil {
		return Booking{}, err
	}
	row, err := dbsqlc.New(s.db.Pool()).BookingGet(ctx, dbsqlc.BookingGetParams{TenantID: actor.Tenant.UUID, Region: string(id.Region), ID: id.UUID})
	switch {
	case db.IsNoRows(err):
		return Booking{}, fault.NotFound("booking")
	case err != nil:
		return Booking{}, db.Classify(fmt.Errorf("read booking %s: %w", id, err))
	}
	booking, err := bookingOf(actor.Tenant, row)
	if err != nil {
		return Booking{}, err
	}
	if actor.KeyType != tenants.KeyTypeMember && !inventory.MaySee(actor, booking.Buyer, booking.Channel) {
		return Booking{}, fault.NotFound("booking")
	}
	if booking, err = s.complete(ctx, booking); err != nil {
		return Booking{}, err
	}
	return booking, s.maySee(ctx, actor, booking)
}

// maySee refuses a booking, with its lines, to who may not read it: to members by their roles where all
// its units are, see inventory.MaySeeHold.
func (s *Service) maySee(ctx context.Context, actor tenants.Actor, booking Booking) error {
	if actor.KeyType != tenants.KeyTypeMember || actor.Owns(booking.Buyer) {
		if !inventory.MaySee(actor, booking.Buyer, booking.Channel) {
			return fault.NotFound("booking")
		}
		return nil
	}
	return within(ctx, s.db.Pool(), actor, s.authorizer.Authorize(actor, policies.ActionBookingReadAny, actor.Tenant), booking)
}

// querier is a pool or a transaction.
type querier interface {
	dbsqlc.DBTX
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// within refuses a booking that does not lie where the actor may act, by the authorizer's answer.
func within(ctx context.Context, q querier, actor tenants.Actor, may error, booking Booking) error {
	covered, err := inventory.WithinReach(ctx, q, actor.Tenant, may, booking.ID.Region, booking.Lines)
	if err != nil {
		return db.Classify(err)
	}
	if !covered {
		return fault.NotFound("booking")
	}
	return nil
}

// BookingByReference reads a booking by the code that people read to each other, for those who may
// read it by its id. Small letters and spaces are forgiven.
func (s *Service) BookingByReference(ctx context.Context, actor tenants.Actor, region ids.Region, reference string) (Booking, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionBookingRead, actor.Tenant)); err != nil {
		return Booking{}, err
	}
	reference = strings.ToUpper(strings.ReplaceAll(reference, " ", ""))
	if len(reference) != referenceLength {
		return Booking{}, fault.Invalid("reference", "expected the %d characters of a booking's reference", referenceLength)
	}
	id, err := dbsqlc.New(s.db.Pool()).BookingByReference(ctx, dbsqlc.BookingByReferenceParams{
		TenantID: actor.Tenant.UUID, Region: string(region), Reference: reference,
	})
	switch {
	case db.IsNoRows(err):
		return Booking{}, fault.NotFound("booking")
	case err != nil:
		return Booking{}, db.Classify(fmt.Errorf("find a booking by its reference: %w", err))
	}
	return s.Booking(ctx, actor, BookingID{Region: region, UUID: id})
}

// BookingOfHold reads the booking that a hold became, or nil while there is none.
func (s *Service) BookingOfHold(ctx context.Context, actor tenants.Actor, hold inventory.HoldID) (*Booking, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionBookingRead, actor.Tenant)); err != nil {
		return nil, err
	}
	booking, err := bookingOfHold(ctx, s.db.Pool(), actor.Tenant, hold)
	if err != nil || booking == nil {
		return nil, db.Classify(err)
	}
	if err := s.maySee(ctx, actor, *booking); err != nil {
		return nil, err
	}
	return booking, nil
}

// bookingOfHold is nil without an error while the hold has no booking.
func bookingOfHold(ctx context.Context, q dbsqlc.DBTX, tenant tenants.TenantID, hold inventory.HoldID) (*Booking, error) {
	row, err := dbsqlc.New(q).BookingByHold(ctx, dbsqlc.BookingByHoldParams{TenantID: tenant.UUID, Region: string(hold.Region), HoldID: hold.UUID})
	if db.IsNoRows(err) {
		return nil, nil //nolint:nilnil // a hold without a booking is no fault, and the caller asks for just this
	}
	if err != nil {
		return nil, fmt.Errorf("read the booking of hold %s: %w", hold, err)
	}
	booking, err := bookingOf(tenant, dbsqlc.BookingGetRow(row))
	if err != nil {
		return nil, err
	}
	found := []Booking{booking}
	if err := withLines(ctx, q, found); err != nil {
		return nil, err
	}
	return &found[0], nil
}

// Bookings lists bookings from the newest, at most limit after the cursor, and says whether more
// follow: a guest's own, a partner's channel's, or for an admin the tenant's. A member whose roles are
// bound to places is shown the member's own sales.
func (s *Service) Bookings(ctx context.Context, actor tenants.Actor, region ids.Region, after *Cursor, limit int) ([]Booking, bool, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionBookingRead, actor.Tenant)); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	before := Cursor{BookedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), ID: uuid.Max}
	if after != nil {
		before = *after
	}
	rows, err := s.bookingRows(ctx, actor, region, before, int32(limit+1)) //nolint:gosec // at most MaxPage
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list bookings: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	found := make([]Booking, len(rows))
	for i, row := range rows {
		if found[i], err = bookingOf(actor.Tenant, row); err != nil {
			return nil, false, err
		}
	}
	return found, more, db.Classify(withLines(ctx, s.db.Pool(), found))
}

func (s *Service) bookingRows(ctx context.Context, actor tenants.Actor, region ids.Region, before Cursor, limit int32) ([]dbsqlc.BookingGetRow, error) {
	queries := dbsqlc.New(s.db.Pool())
	var result []dbsqlc.BookingGetRow
	onlyOwn := actor.KeyType == tenants.KeyTypeMember && s.authorizer.Authorize(actor, policies.ActionBookingReadAny, actor.Tenant) != nil
	if buyer, ok := actor.Buyer(); ok && (buyer.Kind == tenants.BuyerKindGuest || onlyOwn) {
		rows, err := queries.BookingsOfBuyerPage(ctx, dbsqlc.BookingsOfBuyerPageParams{
			TenantID: actor.Tenant.UUID, Region: string(region), BuyerID: buyer.ID, BuyerKind: string(buyer.Kind),
			Before: before.BookedAt, BeforeID: before.ID, MaxRows: limit,
		})
		for _, row := range rows {
			result = append(result, dbsqlc.BookingGetRow(row))
		}
		return result, err
	}
	params := dbsqlc.BookingsPageParams{TenantID: actor.Tenant.UUID, Region: string(region), Before: before.BookedAt, BeforeID: before.ID, MaxRows: limit}
	switch actor.KeyType {
	case tenants.KeyTypeAdmin, tenants.KeyTypeMember:
	case tenants.KeyTypePartner:
		params.OneChannel, params.ChannelID = true, actor.Channel.UUID
	case tenants.KeyTypePlatform, tenants.KeyTypePublishable:
		return nil, fault.Unauthenticated("bookings need a buyer: send the header Holdfast-Session")
	}
	rows, err := queries.BookingsPage(ctx, params)
	for _, row := range rows {
		result = append(result, dbsqlc.BookingGetRow(row))
	}
	return result, err
}

// AttemptsOfHold lists the payment attempts of a hold that the actor may see, oldest first.
func (s *Service) AttemptsOfHold(ctx context.Context, actor tenants.Actor, id inventory.HoldID) ([]payments.Attempt, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionHoldRead, actor.Tenant)); err != nil {
		return nil, err
	}
	hold, err := inventory.GetHold(ctx, s.db.Pool(), actor.Tenant, id)
	if err != nil {
		return nil, db.Classify(err)
	}
	if seen, err := inventory.MaySeeHold(ctx, s.db.Pool(), s.authorizer, actor, hold); err != nil {
		return nil, db.Classify(err)
	} else if !seen {
		return nil, fault.NotFound("hold")
	}
	attempts, err := payments.OfHold(ctx, s.db.Pool(), actor.Tenant, id.Region, id.UUID)
	if !inventory.MayPay(actor, hold) {
		// Whoever has the address of a page can pay, or decline, on it.
		for i := range attempts {
			attempts[i].RedirectURL = ""
		}
	}
	return attempts, db.Classify(err)
}

// DisputesOfAttempts lists the disputes of attempts that the actor was given by AttemptsOfHold.
func (s *Service) DisputesOfAttempts(ctx context.Context, actor tenants.Actor, attempts []payments.AttemptID) (map[payments.AttemptID][]payments.Dispute, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionHoldRead, actor.Tenant)); err != nil {
		return nil, err
	}
	disputes, err := payments.DisputesOf(ctx, s.db.Pool(), actor.Tenant, attempts)
	return disputes, db.Classify(err)
}

// RefundsOfAttempts lists the refunds of attempts that the actor was given by AttemptsOfHold.
func (s *Service) RefundsOfAttempts(ctx context.Context, actor tenants.Actor, attempts []payments.AttemptID) (map[payments.AttemptID][]payments.Refund, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionHoldRead, actor.Tenant)); err != nil {
		return nil, err
	}
	refunds, err := payments.RefundsOf(ctx, s.db.Pool(), actor.Tenant, attempts)
	return refunds, db.Classify(err)
}

func (s *Service) complete(ctx context.Context, booking Booking) (Booking, error) {
	found := []Booking{booking}
	if err := withLines(ctx, s.db.Pool(), found); err != nil {
		return Booking{}, db.Classify(err)
	}
	return found[0], nil
}

// places are the tenants and regions that sell, for work that looks everywhere.
func (s *Service) places(ctx context.Context) ([]payments.Place, error) {
	rows, err := dbsqlc.New(s.db.Pool()).SellingPlaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list where stock lives: %w", err)
	}
	places := make([]payments.Place, len(rows))
	for i, row := range rows {
		places[i] = payments.Place{Tenant: tenants.TenantID{UUID: row.TenantID}, Region: ids.Region(row.Region)}
	}
	return places, nil
}

// now is the database's clock.
func (s *Service) now(ctx context.Context) (time.Time, error) {
	now, err := inventory.Now(ctx, s.db.Pool())
	return now, db.Classify(err)
}

// columnsOf are places as the parameters of a statement.
func columnsOf(places []payments.Place) (tenantIDs []uuid.UUID, regions []string) {
	for _, place := range places {
		tenantIDs, regions = append(tenantIDs, place.Tenant.UUID), append(regions, string(place.Region))
	}
	return tenantIDs, regions
}

// emitTx writes an event in the transaction of its change, and the job that tells others of it.
// channel is the one that made the sale.
func (s *Service) emitTx(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, region ids.Region, channel tenants.ChannelID, kind string, entity uuid.UUID, version int64, event string, now time.Time) error {
	return tellTx(ctx, tx, s.jobs, events.NewEvent{
		Tenant: tenant, Region: region, Channel: channel, Kind: events.Kind(kind), Entity: entity, Version: version, Type: events.Type(event), OccurredAt: now,
	})
}
