package graph

import (
	"context"
	"errors"
	"net/http"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

const listAmountsDue = "amountsDue"

// Moves is what the API asks about stays that are changed; a bookings.Service does it.
type Moves interface {
	ChangeStay(ctx context.Context, actor tenants.Actor, input bookings.ChangeStay) (bookings.StayChange, error)
	SettleAmountDue(ctx context.Context, actor tenants.Actor, input bookings.Settle) (bookings.StayChange, error)
	AmountsDue(ctx context.Context, actor tenants.Actor, region ids.Region, after *bookings.DueCursor, limit int) ([]bookings.StayChange, bool, error)
	StayChangesOf(ctx context.Context, actor tenants.Actor, id bookings.BookingID) ([]bookings.StayChange, error)
	CompensationProposals(ctx context.Context, actor tenants.Actor, property tenants.Property, night civil.Date) (bookings.Proposals, error)
	Compensate(ctx context.Context, actor tenants.Actor, input bookings.Compensate) (bookings.StayChange, error)
	SetWalkTerms(ctx context.Context, actor tenants.Actor, property tenants.Property, terms bookings.WalkTerms) (bookings.WalkTerms, error)
	WalkTerms(ctx context.Context, actor tenants.Actor, property tenants.PropertyID) (*bookings.WalkTerms, error)
	CompensationReport(ctx context.Context, actor tenants.Actor, property tenants.Property, first, last civil.Date) (bookings.CompensationReport, error)
}

// ChangeStay is the resolver for the changeStay field.
func (r *mutationResolver) ChangeStay(ctx context.Context, input generated.ChangeStayInput) (generated.ChangeStayResult, error) {
	var d decoder
	wanted := bookings.ChangeStay{
		RequestKey: input.RequestKey, Booking: readID[bookings.BookingKind](&d, "input.booking", input.Booking), Item: input.Item,
		CheckIn: input.NewCheckIn, CheckOut: input.NewCheckOut, Rooms: input.Rooms,
		RoomType:      readOptionalID[inventory.RoomTypeKind](&d, "input.newRoomType", input.NewRoomType),
		ExpectedTotal: readOptionalMoney(&d, "input.expectedTotal", input.ExpectedTotal), ExpectedRefund: readOptionalMoney(&d, "input.expectedRefund", input.ExpectedRefund),
		DryRun: input.DryRun, WaiveFee: input.WaiveFee, OverrideReason: textOf(input.OverrideReason), Reason: textOf(input.Reason),
	}
	if d.err != nil {
		return nil, d.err
	}
	done, err := r.bookings.ChangeStay(ctx, actorOf(ctx), wanted)
	if err != nil {
		return stayChangeRefused(err)
	}
	return stayChangeView(done), nil
}

// stayChangeRefused makes an expected no the mutation's data; other errors stay errors.
func stayChangeRefused(err error) (generated.ChangeStayResult, error) {
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return nil, inInput(err)
	}
	held := holdRefusedView(refusal, nil)
	view := generated.StayChangeRefused{Code: held.Code, Message: held.Message, Lines: held.Lines, RetryAfterMs: held.RetryAfterMs}
	var changed *bookings.ChangedPrice
	if errors.As(err, &changed) {
		now := stayChangeView(changed.Now)
		view.Now = &now
	}
	return view, nil
}

// Compensate is the resolver for the compensate field.
func (r *mutationResolver) Compensate(ctx context.Context, input generated.CompensateInput) (generated.ChangeStayResult, error) {
	var d decoder
	wanted := bookings.Compensate{
		RequestKey: input.RequestKey, Booking: readID[bookings.BookingKind](&d, "input.booking", input.Booking), Item: input.Item, Night: input.Night,
		Kind: bookings.ChangeKind(input.Kind), RoomType: readOptionalID[inventory.RoomTypeKind](&d, "input.roomType", input.RoomType),
		ExpectedCost: readMoney(&d, "input.expectedCost", input.ExpectedCost), Refund: input.Refund, Reason: input.Reason,
	}
	if d.err != nil {
		return nil, d.err
	}
	done, err := r.bookings.Compensate(ctx, actorOf(ctx), wanted)
	if err != nil {
		return stayChangeRefused(err)
	}
	return stayChangeView(done), nil
}

// SettleAmountDue is the resolver for the settleAmountDue field.
func (r *mutationResolver) SettleAmountDue(ctx context.Context, input generated.SettleAmountDueInput) (generated.SettleAmountDueResult, error) {
	return r.settle(ctx, input.Change, bookings.Settle{RequestKey: input.RequestKey, Method: bookings.SettleMethod(input.Method), Note: input.Reference})
}

// WaiveAmountDue is the resolver for the waiveAmountDue field.
func (r *mutationResolver) WaiveAmountDue(ctx context.Context, input generated.WaiveAmountDueInput) (generated.SettleAmountDueResult, error) {
	return r.settle(ctx, input.Change, bookings.Settle{RequestKey: input.RequestKey, Note: input.Reason})
}

func (r *mutationResolver) settle(ctx context.Context, change string, wanted bookings.Settle) (generated.SettleAmountDueResult, error) {
	var d decoder
	wanted.Change = readID[bookings.StayChangeKind](&d, "input.change", change)
	if d.err != nil {
		return nil, d.err
	}
	settled, err := r.bookings.SettleAmountDue(ctx, actorOf(ctx), wanted)
	if err != nil {
		return bookingRefused(err)
	}
	return stayChangeView(settled), nil
}

// SetWalkTerms is the resolver for the setWalkTerms field.
func (r *mutationResolver) SetWalkTerms(ctx context.Context, input generated.SetWalkTermsInput) (*generated.WalkTerms, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "input.property", input.Property)
	terms := bookings.WalkTerms{
		Night: readMoney(&d, "input.night", input.Night), Goodwill: readMoney(&d, "input.goodwill", input.Goodwill),
		Transport: readMoney(&d, "input.transport", input.Transport),
	}
	if d.err != nil {
		return nil, d.err
	}
	property, err := r.tenants.Property(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	set, err := r.bookings.SetWalkTerms(ctx, actorOf(ctx), property, terms)
	return one(set, inInput(err), walkTermsView)
}

// CompensationProposals is the resolver for the compensationProposals field.
func (r *queryResolver) CompensationProposals(ctx context.Context, property string, night civil.Date) (*generated.CompensationProposals, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "property", property)
	if d.err != nil {
		return nil, d.err
	}
	of, err := r.tenants.Property(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	found, err := r.bookings.CompensationProposals(ctx, actorOf(ctx), of, night)
	return one(found, err, proposalsView)
}

// AmountsDue is the resolver for the amountsDue field.
func (r *queryResolver) AmountsDue(ctx context.Context, region string, first int64, after *string) (*generated.StayChangeConnection, error) {
	var d decoder
	where := readRegion(&d, "region", region)
	at, id := readTimeCursor(&d, listAmountsDue, after)
	if d.err != nil {
		return nil, d.err
	}
	var from *bookings.DueCursor
	if after != nil {
		from = &bookings.DueCursor{At: at, ID: id}
	}
	found, more, err := r.bookings.AmountsDue(ctx, actorOf(ctx), where, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.StayChangeConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, func(s bookings.StayChange) string {
		return encodeCursor(listAmountsDue, s.At.UTC().Format(time.RFC3339Nano), s.ID.UUID.String())
	}, stayChangeView, func(cursor string, node generated.StayChange) generated.StayChangeEdge {
		return generated.StayChangeEdge{Cursor: cursor, Node: node}
	})
	return &c, nil
}

// StayChanges is the resolver for the stayChanges field.
func (r *bookingResolver) StayChanges(ctx context.Context, obj *generated.Booking) ([]generated.StayChange, error) {
	var d decoder
	id := readID[bookings.BookingKind](&d, "id", obj.ID)
	if d.err != nil {
		return nil, d.err
	}
	changes, err := r.bookings.StayChangesOf(ctx, actorOf(ctx), id)
	return each(changes, stayChangeView), err
}

// WalkTerms is the resolver for the walkTerms field.
func (r *propertyResolver) WalkTerms(ctx context.Context, obj *generated.Property) (*generated.WalkTerms, error) {
	terms, err := r.bookings.WalkTerms(ctx, actorOf(ctx), obj.Source.ID)
	if err != nil || terms == nil {
		return nil, err
	}
	return one(*terms, nil, walkTermsView)
}

// CompensationReport is the resolver for the compensationReport field.
func (r *propertyResolver) CompensationReport(ctx context.Context, obj *generated.Property, from, to civil.Date) (*generated.CompensationReport, error) {
	report, err := r.bookings.CompensationReport(ctx, actorOf(ctx), obj.Source, from, to)
	return one(report, err, compensationReportView)
}

func (a *Handler) compensationRows(ctx context.Context, actor tenants.Actor, property tenants.Property, r *http.Request) ([][]string, error) {
	var d decoder
	from, to := queryDate(&d, r, "from"), queryDate(&d, r, "to")
	if d.err != nil {
		return nil, d.err
	}
	report, err := a.config.Bookings.CompensationReport(ctx, actor, property, from, to)
	if err != nil {
		return nil, err
	}
	table := [][]string{{"night", "kind", "stays", "rooms", "room_nights", "rate_difference", "lodging", "goodwill", "transport", "cost", "refunded", "currency"}}
	for _, n := range report.Nights {
		table = append(table, []string{
			n.Night.String(), string(n.Kind), number(n.Stays), number(n.Rooms), number(n.RoomNights), decimal(n.RateDifference), decimal(n.Lodging),
			decimal(n.Goodwill), decimal(n.Transport), decimal(n.Cost), decimal(n.Refunded), string(n.Cost.Currency),
		})
	}
	return table, nil
}
