package graph

import (
	"context"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// Tenants is what the API asks of package tenants; a tenants.Service is one.
type Tenants interface {
	SetDescription(ctx context.Context, actor tenants.Actor, id tenants.PropertyID, description tenants.Description) (tenants.Description, error)
	Descriptions(ctx context.Context, actor tenants.Actor, batch []tenants.PropertyID) (map[tenants.PropertyID]tenants.Description, error)
	AuthenticateAll(ctx context.Context, credentials tenants.Credentials) (tenants.Actor, error)

	CreateTenant(ctx context.Context, actor tenants.Actor, requestKey string, input tenants.NewTenant) (tenants.TenantCreated, error)
	CreateProperty(ctx context.Context, actor tenants.Actor, requestKey string, input tenants.NewProperty) (tenants.Property, error)
	CreateVenue(ctx context.Context, actor tenants.Actor, requestKey string, input tenants.NewVenue) (tenants.Venue, error)
	CreateChannel(ctx context.Context, actor tenants.Actor, requestKey string, input tenants.NewChannel) (tenants.Channel, error)
	SetChannelSuspended(ctx context.Context, actor tenants.Actor, id tenants.ChannelID, suspended bool) (tenants.Channel, error)
	CreateKey(ctx context.Context, actor tenants.Actor, requestKey string, input tenants.NewKey) (tenants.KeyCreated, error)
	InviteMember(ctx context.Context, actor tenants.Actor, requestKey string, input tenants.NewMember) (tenants.Member, error)
	BindRole(ctx context.Context, actor tenants.Actor, requestKey string, input tenants.NewBinding) (tenants.Member, error)
	UnbindRole(ctx context.Context, actor tenants.Actor, requestKey string, member tenants.MemberID, binding tenants.BindingID) (tenants.Member, error)
	RemoveMember(ctx context.Context, actor tenants.Actor, requestKey string, id tenants.MemberID) (tenants.Member, error)
	Member(ctx context.Context, actor tenants.Actor, id tenants.MemberID) (tenants.Member, error)
	Members(ctx context.Context, actor tenants.Actor, after tenants.MemberID, limit int) (tenants.Page[tenants.Member], error)
	RotateKey(ctx context.Context, actor tenants.Actor, requestKey string, input tenants.KeyRotation) (tenants.KeyCreated, error)
	CreateCustomerSecret(ctx context.Context, actor tenants.Actor, requestKey string, channel tenants.ChannelID) (tenants.CustomerSecretCreated, error)
	EndCustomerSecret(ctx context.Context, actor tenants.Actor, id tenants.CustomerSecretID) (tenants.CustomerSecret, error)
	CustomerSecrets(ctx context.Context, actor tenants.Actor, channel tenants.ChannelID) ([]tenants.CustomerSecret, error)
	RevokeKey(ctx context.Context, actor tenants.Actor, tenant tenants.TenantID, id tenants.KeyID) (tenants.Key, error)
	StartGuestSession(ctx context.Context, actor tenants.Actor, region ids.Region) (tenants.GuestSession, error)

	AuditEntries(ctx context.Context, actor tenants.Actor, tenant tenants.TenantID, filter tenants.AuditFilter, after *tenants.AuditCursor, limit int) ([]tenants.AuditEntry, bool, error)
	Tenant(ctx context.Context, actor tenants.Actor, id tenants.TenantID) (tenants.Tenant, error)
	Tenants(ctx context.Context, actor tenants.Actor, after tenants.TenantID, limit int) (tenants.Page[tenants.Tenant], error)
	Property(ctx context.Context, actor tenants.Actor, id tenants.PropertyID) (tenants.Property, error)
	Properties(ctx context.Context, actor tenants.Actor, after tenants.PropertyID, limit int) (tenants.Page[tenants.Property], error)
	PropertiesByID(ctx context.Context, actor tenants.Actor, batch []tenants.PropertyID) (map[tenants.PropertyID]tenants.Property, error)
	Venue(ctx context.Context, actor tenants.Actor, id tenants.VenueID) (tenants.Venue, error)
	Venues(ctx context.Context, actor tenants.Actor, after tenants.VenueID, limit int) (tenants.Page[tenants.Venue], error)
	VenuesByID(ctx context.Context, actor tenants.Actor, batch []tenants.VenueID) (map[tenants.VenueID]tenants.Venue, error)
	Channel(ctx context.Context, actor tenants.Actor, id tenants.ChannelID) (tenants.Channel, error)
	Channels(ctx context.Context, actor tenants.Actor, after tenants.ChannelID, limit int) (tenants.Page[tenants.Channel], error)
	Key(ctx context.Context, actor tenants.Actor, tenant tenants.TenantID, id tenants.KeyID) (tenants.Key, error)
	Keys(ctx context.Context, actor tenants.Actor, tenant tenants.TenantID, after tenants.KeyID, limit int) (tenants.Page[tenants.Key], error)
}

// Inventory is what the API asks of package inventory; an inventory.Service is one.
type Inventory interface {
	Allotments
	ImportChart(ctx context.Context, actor tenants.Actor, requestKey string, venue tenants.VenueID, chart *charts.Chart) (inventory.ChartID, error)
	CreateEvent(ctx context.Context, actor tenants.Actor, requestKey string, input inventory.NewEvent) (inventory.EventID, error)
	CreateShow(ctx context.Context, actor tenants.Actor, requestKey string, input inventory.NewShow) (inventory.ShowID, error)
	SetShowState(ctx context.Context, actor tenants.Actor, id inventory.ShowID, state inventory.ShowState) error
	SetPrice(ctx context.Context, actor tenants.Actor, show inventory.ShowID, level inventory.PriceLevelID, amountMinor int64) error
	SetPoolCapacity(ctx context.Context, actor tenants.Actor, id inventory.PoolID, capacity int64) (over int64, err error)
	SetPoolShards(ctx context.Context, actor tenants.Actor, id inventory.PoolID, shards int64) (over int64, err error)
	CreateRoomType(ctx context.Context, actor tenants.Actor, requestKey string, input inventory.NewRoomType) (inventory.RoomTypeID, error)
	CreateRatePlan(ctx context.Context, actor tenants.Actor, requestKey string, input inventory.NewRatePlan) (inventory.RatePlan, error)
	UpdateRatePlan(ctx context.Context, actor tenants.Actor, id inventory.RatePlanID, change inventory.RatePlanChange) (inventory.RatePlan, error)
	RatePlansByID(ctx context.Context, actor tenants.Actor, wanted []inventory.RatePlanID) (map[inventory.RatePlanID]inventory.RatePlan, error)
	RatePlansOfProperties(ctx context.Context, actor tenants.Actor, properties []tenants.PropertyID) (map[tenants.PropertyID][]inventory.RatePlan, error)
	SetBookingWindow(ctx context.Context, actor tenants.Actor, scope inventory.WindowScope, window inventory.BookingWindow) (inventory.BookingWindow, error)
	HotelBookingWindow(ctx context.Context, actor tenants.Actor, property tenants.PropertyID) (inventory.BookingWindow, error)
	WhyNot(ctx context.Context, actor tenants.Actor, stay inventory.StayRequest) (inventory.WhyNot, error)
	SetNights(ctx context.Context, actor tenants.Actor, edit inventory.NightsEdit) (inventory.NightsSet, error)
	CancelNightsJob(ctx context.Context, actor tenants.Actor, id inventory.NightsJobID) (inventory.NightsJob, error)
	NightsJob(ctx context.Context, actor tenants.Actor, id inventory.NightsJobID) (inventory.NightsJob, error)
	NightsJobs(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, after *inventory.NightsJobCursor, limit int) ([]inventory.NightsJob, bool, error)
	NightsChunks(ctx context.Context, actor tenants.Actor, id inventory.NightsJobID, after int64, limit int) ([]inventory.NightsChunk, bool, error)
	OversoldNights(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, first, last civil.Date, after *inventory.OversoldCursor, limit int) ([]inventory.OversoldNight, bool, error)
	SetTerms(ctx context.Context, actor tenants.Actor, scope inventory.TermsScope, change inventory.TermsChange) (inventory.Terms, error)

	Terms(ctx context.Context, actor tenants.Actor, scope inventory.TermsScope) (inventory.Terms, error)
	SetCancellationPolicy(ctx context.Context, actor tenants.Actor, scope inventory.ConditionsScope, policy inventory.CancellationPolicy) (inventory.CancellationPolicy, error)
	RemoveCancellationPolicy(ctx context.Context, actor tenants.Actor, scope inventory.ConditionsScope) (inventory.CancellationPolicy, error)
	CancellationPolicy(ctx context.Context, actor tenants.Actor, scope inventory.ConditionsScope) (inventory.CancellationPolicy, error)
	SetTaxRate(ctx context.Context, actor tenants.Actor, scope inventory.ConditionsScope, basisPoints int64) (int64, error)
	Offers(ctx context.Context, actor tenants.Actor, sites []inventory.Site) (map[inventory.Site]inventory.Offer, error)
	Chart(ctx context.Context, actor tenants.Actor, id inventory.ChartID) (*charts.Chart, error)
	EventsByID(ctx context.Context, actor tenants.Actor, wanted []inventory.EventID) (map[inventory.EventID]inventory.Event, error)
	Show(ctx context.Context, actor tenants.Actor, id inventory.ShowID) (inventory.Show, error)
	Shows(ctx context.Context, actor tenants.Actor, filter inventory.ShowFilter, after *inventory.ShowCursor, limit int) ([]inventory.Show, bool, error)
	ShowsByID(ctx context.Context, actor tenants.Actor, wanted []inventory.ShowID) (map[inventory.ShowID]inventory.Show, error)
	PriceLevelsOfShows(ctx context.Context, actor tenants.Actor, shows []inventory.Show) (map[inventory.ShowID][]inventory.PriceLevel, error)
	PoolsOfShows(ctx context.Context, actor tenants.Actor, shows []inventory.ShowID) (map[inventory.ShowID][]inventory.Pool, error)
	SeatBoard(ctx context.Context, actor tenants.Actor, show inventory.ShowID, maxAge time.Duration) (inventory.SeatBoard, error)
	WatchSeats(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (*inventory.BoardWatch, error)
	WatchHold(ctx context.Context, actor tenants.Actor, id inventory.HoldID) (*inventory.HoldWatch, inventory.Hold, error)
	RoomTypesOfProperties(ctx context.Context, actor tenants.Actor, properties []tenants.PropertyID) (map[tenants.PropertyID][]inventory.RoomType, error)
	RoomTypesByID(ctx context.Context, actor tenants.Actor, wanted []inventory.RoomTypeID) (map[inventory.RoomTypeID]inventory.RoomType, error)
	Calendar(ctx context.Context, actor tenants.Actor, property tenants.Property, q inventory.CalendarQuestion) (inventory.Calendar, error)
	SearchStays(ctx context.Context, actor tenants.Actor, search inventory.StaySearch, after *inventory.SearchCursor, limit int) (inventory.FoundStays, error)

	CreatePresaleCodes(ctx context.Context, actor tenants.Actor, requestKey string, input inventory.NewPresaleCodes) ([]inventory.PresaleCode, error)
	ChangePresaleCode(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.PresaleCodeID, change inventory.PresaleChange) (inventory.PresaleCode, error)
	PresaleCodes(ctx context.Context, actor tenants.Actor, show inventory.ShowID, after string, limit int) ([]inventory.PresaleCode, bool, error)
	CreateSeatBlock(ctx context.Context, actor tenants.Actor, requestKey string, input inventory.NewSeatBlock) (inventory.BlockEdit, error)
	AssignSeats(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.BlockID, selection inventory.SeatSelection) (inventory.BlockEdit, error)
	MoveSeats(ctx context.Context, actor tenants.Actor, requestKey string, from, to inventory.BlockID, selection inventory.SeatSelection) (inventory.BlockEdit, error)
	ReleaseSeats(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.BlockID, selection inventory.SeatSelection) (inventory.BlockEdit, error)
	ChangeSeatBlock(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.BlockID, change inventory.BlockTerms) (inventory.SeatBlock, error)
	SeatBlock(ctx context.Context, actor tenants.Actor, id inventory.BlockID) (inventory.SeatBlock, error)
	SeatBlocks(ctx context.Context, actor tenants.Actor, show inventory.ShowID, after *inventory.BlockCursor, limit int) ([]inventory.SeatBlock, bool, error)
	SeatsOfBlock(ctx context.Context, actor tenants.Actor, id inventory.BlockID, after inventory.SeatID, limit int) ([]inventory.SeatState, bool, error)
	ChangesOfBlock(ctx context.Context, actor tenants.Actor, id inventory.BlockID, after *inventory.BlockCursor, limit int) ([]inventory.BlockChange, bool, error)
	Quote(ctx context.Context, actor tenants.Actor, stays []inventory.StayRequest, promotionCode string) (inventory.Quote, error)
	HeldPrices(ctx context.Context, actor tenants.Actor, holds []inventory.HoldID) (map[inventory.HoldID][]inventory.HeldPrice, error)
	RatesOf(ctx context.Context, actor tenants.Actor, property tenants.PropertyID) (inventory.Rates, error)
	SetGuestPrices(ctx context.Context, actor tenants.Actor, room inventory.RoomTypeID, plan *inventory.RatePlanID, prices inventory.GuestPrices) (inventory.GuestPrices, error)
	SetRateAdjustments(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, plan *inventory.RatePlanID, adjustments []inventory.RateAdjustment) ([]inventory.RateAdjustment, error)
	SetTaxesAndFees(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, charges []inventory.Charge) ([]inventory.Charge, error)
	SetRoundingRule(ctx context.Context, actor tenants.Actor, rule inventory.RoundingRule) (inventory.RoundingRule, error)
	CreatePromotion(ctx context.Context, actor tenants.Actor, requestKey string, input inventory.NewPromotion) (inventory.Promotion, error)
	UpdatePromotion(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.PromotionID, change inventory.PromotionChange) (inventory.Promotion, error)
	Promotions(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, after uuid.UUID, limit int) ([]inventory.Promotion, bool, error)
	ChannelSales(ctx context.Context, actor tenants.Actor, id tenants.ChannelID) (inventory.ChannelSales, error)
	SetChannelSales(ctx context.Context, actor tenants.Actor, sales inventory.ChannelSales) (inventory.ChannelSales, error)

	CreateRooms(ctx context.Context, actor tenants.Actor, requestKey string, property tenants.PropertyID, rooms []inventory.NewRoom) ([]inventory.Room, error)
	UpdateRoom(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.RoomID, change inventory.RoomChange) (inventory.Room, error)
	Room(ctx context.Context, actor tenants.Actor, id inventory.RoomID) (inventory.Room, error)
	Rooms(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, roomType *inventory.RoomTypeID, after string, limit int) ([]inventory.Room, bool, error)
	OutOfOrderOf(ctx context.Context, actor tenants.Actor, room inventory.RoomID, after *inventory.OutOfOrderCursor, limit int) ([]inventory.OutOfOrder, bool, error)

	PlaceHold(ctx context.Context, actor tenants.Actor, input inventory.PlaceHold) (inventory.Hold, error)
	ExtendHold(ctx context.Context, actor tenants.Actor, id inventory.HoldID, requestKey string) (inventory.Hold, error)
	ReleaseHold(ctx context.Context, actor tenants.Actor, id inventory.HoldID, requestKey string) (inventory.Hold, error)
	Hold(ctx context.Context, actor tenants.Actor, id inventory.HoldID) (inventory.Hold, error)
}

// Bookings is what the API asks of package bookings; a bookings.Service is one.
type Bookings interface {
	Moves
	Checkout(ctx context.Context, actor tenants.Actor, input bookings.Checkout) (bookings.Outcome, error)
	CancelBooking(ctx context.Context, actor tenants.Actor, input bookings.Cancel) (bookings.Cancellation, error)
	ReleaseBlock(ctx context.Context, actor tenants.Actor, requestKey string, id inventory.BlockID) error
	MarkNoShow(ctx context.Context, actor tenants.Actor, input bookings.NoShow) (bookings.Booking, error)
	ReleaseNoShow(ctx context.Context, actor tenants.Actor, input bookings.ReleaseNoShow) (bookings.NoShowRelease, error)
	DepartEarly(ctx context.Context, actor tenants.Actor, input bookings.DepartEarly) (bookings.Cancellation, error)
	AssignRoom(ctx context.Context, actor tenants.Actor, input bookings.AssignRoom) (bookings.DeskStay, error)
	UnassignRoom(ctx context.Context, actor tenants.Actor, input bookings.UnassignRoom) (bookings.DeskStay, error)
	AssignRooms(ctx context.Context, actor tenants.Actor, input bookings.AssignRooms) (bookings.RoomsAssigned, error)
	CheckIn(ctx context.Context, actor tenants.Actor, input bookings.CheckStay) (bookings.DeskStay, error)
	CheckOut(ctx context.Context, actor tenants.Actor, input bookings.CheckStay) (bookings.DeskStay, error)
	PutOutOfOrder(ctx context.Context, actor tenants.Actor, input bookings.NewOutOfOrder) (bookings.OutOfOrderSet, error)
	EndOutOfOrder(ctx context.Context, actor tenants.Actor, input bookings.EndOutOfOrder) (bookings.OutOfOrderSet, error)
	Stays(ctx context.Context, actor tenants.Actor, property tenants.Property, list bookings.StayList, date civil.Date, after *bookings.StayCursor, limit int) ([]bookings.DeskStay, bool, error)
	StaysOfBooking(ctx context.Context, actor tenants.Actor, id bookings.BookingID) ([]bookings.DeskStay, error)

	Booking(ctx context.Context, actor tenants.Actor, id bookings.BookingID) (bookings.Booking, error)
	BookingByReference(ctx context.Context, actor tenants.Actor, region ids.Region, reference string) (bookings.Booking, error)
	BookingsOfNight(ctx context.Context, actor tenants.Actor, region ids.Region, roomTypes []inventory.RoomTypeID, night civil.Date, after *bookings.Cursor, limit int) ([]bookings.Booking, bool, error)
	SeatHistory(ctx context.Context, actor tenants.Actor, show inventory.ShowID, seat inventory.SeatID, after *bookings.HistoryCursor, limit int) ([]bookings.UnitEvent, bool, error)
	PoolHistory(ctx context.Context, actor tenants.Actor, pool inventory.PoolID, after *bookings.HistoryCursor, limit int) ([]bookings.UnitEvent, bool, error)
	NightHistory(ctx context.Context, actor tenants.Actor, room inventory.RoomTypeID, night civil.Date, after *bookings.HistoryCursor, limit int) ([]bookings.UnitEvent, bool, error)
	Occupancy(ctx context.Context, actor tenants.Actor, property tenants.Property, first, last civil.Date) (bookings.Occupancy, error)
	PickUp(ctx context.Context, actor tenants.Actor, property tenants.Property, first, last civil.Date, since, until time.Time) (bookings.PickUp, error)
	BookingOfHold(ctx context.Context, actor tenants.Actor, hold inventory.HoldID) (*bookings.Booking, error)
	Bookings(ctx context.Context, actor tenants.Actor, region ids.Region, after *bookings.Cursor, limit int) ([]bookings.Booking, bool, error)
	AttemptsOfHold(ctx context.Context, actor tenants.Actor, hold inventory.HoldID) ([]payments.Attempt, error)
	CancellationsOf(ctx context.Context, actor tenants.Actor, id bookings.BookingID) ([]bookings.Cancellation, error)
	RefundBooking(ctx context.Context, actor tenants.Actor, input bookings.Refund) (payments.Refund, error)
	RetryRefund(ctx context.Context, actor tenants.Actor, requestKey string, id payments.RefundID) (payments.Refund, error)
	FailedRefunds(ctx context.Context, actor tenants.Actor, region ids.Region, after *payments.RefundCursor, limit int) ([]bookings.FailedRefund, bool, error)
	RefundedOfHolds(ctx context.Context, actor tenants.Actor, holds []inventory.HoldID) (map[inventory.HoldID]money.Amount, error)
	RefundsOfAttempts(ctx context.Context, actor tenants.Actor, attempts []payments.AttemptID) (map[payments.AttemptID][]payments.Refund, error)
	DisputesOfAttempts(ctx context.Context, actor tenants.Actor, attempts []payments.AttemptID) (map[payments.AttemptID][]payments.Dispute, error)
	Audit(ctx context.Context, tenant *tenants.TenantID) (bookings.AuditReport, error)

	Unresolved(ctx context.Context, actor tenants.Actor, region ids.Region, after *bookings.UnresolvedCursor, limit int) ([]bookings.Unresolved, bool, error)
	ResolveReview(ctx context.Context, actor tenants.Actor, item bookings.ReviewItem, note string) (bookings.Review, error)
	RepairCounts(ctx context.Context, actor tenants.Actor, region ids.Region, day time.Time) ([]bookings.RepairCount, error)
	Repairs(ctx context.Context, actor tenants.Actor, region ids.Region, day time.Time, after *bookings.RepairCursor, limit int) ([]bookings.Repair, bool, error)
	PaymentTimeline(ctx context.Context, actor tenants.Actor, of bookings.TimelineOf) (bookings.Timeline, error)
}

// Advisor is what the API asks of a bookings.Advisor.
type Advisor interface {
	Advise(ctx context.Context, actor tenants.Actor, q bookings.AdviceQuestion) (bookings.OversellAdvice, error)
	Apply(ctx context.Context, actor tenants.Actor, q bookings.AdviceQuestion) (bookings.OversellAdvice, inventory.NightsSet, error)
}

// Events is what the API asks of package events; an events.Service is one.
type Events interface {
	CreateEndpoint(ctx context.Context, actor tenants.Actor, requestKey string, input events.NewEndpoint) (events.EndpointSecret, error)
	UpdateEndpoint(ctx context.Context, actor tenants.Actor, id events.EndpointID, change events.EndpointChange) (events.Endpoint, error)
	RotateSecret(ctx context.Context, actor tenants.Actor, requestKey string, id events.EndpointID) (events.EndpointSecret, error)
	DeleteEndpoint(ctx context.Context, actor tenants.Actor, id events.EndpointID) error
	Ping(ctx context.Context, actor tenants.Actor, requestKey string, id events.EndpointID) (events.Delivery, error)
	Replay(ctx context.Context, actor tenants.Actor, requestKey string, id events.EndpointID, wanted []events.EventID) (events.Replayed, error)
	ReplayBetween(ctx context.Context, actor tenants.Actor, requestKey string, id events.EndpointID, region ids.Region, from, to time.Time) (events.Replayed, error)

	Event(ctx context.Context, actor tenants.Actor, id events.EventID) (events.Event, error)
	Events(ctx context.Context, actor tenants.Actor, region ids.Region, after events.EventCursor, limit int) ([]events.Event, bool, error)
	Endpoint(ctx context.Context, actor tenants.Actor, id events.EndpointID) (events.Endpoint, error)
	Endpoints(ctx context.Context, actor tenants.Actor, after events.EndpointID, limit int) ([]events.Endpoint, bool, error)
	Deliveries(ctx context.Context, actor tenants.Actor, endpoint events.EndpointID, region ids.Region, state events.DeliveryState, after *events.DeliveryCursor, limit int) ([]events.Delivery, bool, error)
}

// Authorizer decides who may run the audit, which package bookings runs for whoever asks it; a
// policies.Enforcer is one.
type Authorizer interface {
	Authorize(actor tenants.Actor, action tenants.Action, tenant tenants.TenantID) error
}

// Resolver answers the fields of the schema. Its methods are in one file per schema file.
type Resolver struct {
	tenants    Tenants
	inventory  Inventory
	bookings   Bookings
	advisor    Advisor
	events     Events
	admission  Admission
	trade      Trade
	waitlists  WaitingLists
	authorizer Authorizer
	halls      *hallCache
	metrics    *metrics
}

// actorKey is where a request's context carries who it acts as.
type actorKey struct{}

func withActor(ctx context.Context, actor tenants.Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// actorOf is who the request acts as; the handler lets no request without one through, and services
// refuse the zero Actor.
func actorOf(ctx context.Context) tenants.Actor {
	actor, _ := ctx.Value(actorKey{}).(tenants.Actor)
	return actor
}
