package graph

import (
	"context"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist"
)

// Mutation returns generated.MutationResolver implementation.
func (r *Resolver) Mutation() generated.MutationResolver { return &mutationResolver{r} }

// Query returns generated.QueryResolver implementation.
func (r *Resolver) Query() generated.QueryResolver { return &queryResolver{r} }

// Allotment gives the resolvers of allotments.
func (r *Resolver) Allotment() generated.AllotmentResolver { return &allotmentResolver{r} }

// Booking returns generated.BookingResolver implementation.
func (r *Resolver) Booking() generated.BookingResolver { return &bookingResolver{r} }

// Event returns generated.EventResolver implementation.
func (r *Resolver) Event() generated.EventResolver { return &eventResolver{r} }

// Hold returns generated.HoldResolver implementation.
func (r *Resolver) Hold() generated.HoldResolver { return &holdResolver{r} }

// Payment returns generated.PaymentResolver implementation.
func (r *Resolver) Payment() generated.PaymentResolver { return &paymentResolver{r} }

// BlockSeat returns generated.BlockSeatResolver implementation.
func (r *Resolver) BlockSeat() generated.BlockSeatResolver { return &blockSeatResolver{r} }

// SeatBlock returns generated.SeatBlockResolver implementation.
func (r *Resolver) SeatBlock() generated.SeatBlockResolver { return &seatBlockResolver{r} }

// PhysicalRoom returns generated.PhysicalRoomResolver implementation.
func (r *Resolver) PhysicalRoom() generated.PhysicalRoomResolver { return &physicalRoomResolver{r} }

// Property returns generated.PropertyResolver implementation.
func (r *Resolver) Property() generated.PropertyResolver { return &propertyResolver{r} }

// RefusedLine returns generated.RefusedLineResolver implementation.
func (r *Resolver) RefusedLine() generated.RefusedLineResolver { return &refusedLineResolver{r} }

// RoomType returns generated.RoomTypeResolver implementation.
func (r *Resolver) RoomType() generated.RoomTypeResolver { return &roomTypeResolver{r} }

// SeatMap returns generated.SeatMapResolver implementation.
func (r *Resolver) SeatMap() generated.SeatMapResolver { return &seatMapResolver{r} }

// Show returns generated.ShowResolver implementation.
func (r *Resolver) Show() generated.ShowResolver { return &showResolver{r} }

// Subscription returns generated.SubscriptionResolver implementation.
func (r *Resolver) Subscription() generated.SubscriptionResolver { return &subscriptionResolver{r} }

// Unit returns generated.UnitResolver implementation.
func (r *Resolver) Unit() generated.UnitResolver { return &unitResolver{r} }

// WaitingList gives the resolvers of waiting lists.
func (r *Resolver) WaitingList() generated.WaitingListResolver { return &waitingListResolver{r} }

// WaitingListEntry gives the resolvers of their entries.
func (r *Resolver) WaitingListEntry() generated.WaitingListEntryResolver {
	return &waitingListEntryResolver{r}
}

// Venue returns generated.VenueResolver implementation.
func (r *Resolver) Venue() generated.VenueResolver { return &venueResolver{r} }

type (
	allotmentResolver    struct{ *Resolver }
	blockSeatResolver    struct{ *Resolver }
	bookingResolver      struct{ *Resolver }
	eventResolver        struct{ *Resolver }
	holdResolver         struct{ *Resolver }
	mutationResolver     struct{ *Resolver }
	paymentResolver      struct{ *Resolver }
	physicalRoomResolver struct{ *Resolver }
	propertyResolver     struct{ *Resolver }
	queryResolver        struct{ *Resolver }
	refusedLineResolver  struct{ *Resolver }
	roomTypeResolver     struct{ *Resolver }
	seatBlockResolver    struct{ *Resolver }
	seatMapResolver      struct{ *Resolver }
	showResolver         struct{ *Resolver }
	subscriptionResolver struct{ *Resolver }
	unitResolver         struct{ *Resolver }
	venueResolver        struct{ *Resolver }

	waitingListResolver      struct{ *Resolver }
	waitingListEntryResolver struct{ *Resolver }
)

// Node is the resolver for the node field. The id's kind chooses the field that reads it.
func (r *queryResolver) Node(ctx context.Context, id string) (generated.Node, error) {
	switch ids.PrefixOf(id) {
	case tenants.TenantKind{}.Prefix():
		return node(r.Tenant(ctx, &id))
	case tenants.PropertyKind{}.Prefix():
		return node(r.Hotel(ctx, id))
	case tenants.VenueKind{}.Prefix():
		return node(r.Venue(ctx, id))
	case tenants.ChannelKind{}.Prefix():
		return node(r.channel(ctx, id))
	case tenants.KeyKind{}.Prefix():
		return node(r.key(ctx, id))
	case tenants.MemberKind{}.Prefix():
		return node(r.member(ctx, id))
	case inventory.EventKind{}.Prefix():
		return node(r.event(ctx, id))
	case inventory.ShowKind{}.Prefix():
		return node(r.Show(ctx, id))
	case inventory.ChartKind{}.Prefix():
		return node(r.Chart(ctx, id))
	case inventory.RoomTypeKind{}.Prefix():
		return node(r.roomType(ctx, id))
	case inventory.RatePlanKind{}.Prefix():
		return node(r.ratePlan(ctx, id))
	case inventory.HoldKind{}.Prefix():
		return node(r.Hold(ctx, id))
	case inventory.AllotmentKind{}.Prefix():
		return node(r.Allotment(ctx, id))
	case inventory.BlockKind{}.Prefix():
		return node(r.SeatBlock(ctx, id))
	case inventory.RoomKind{}.Prefix():
		return node(r.PhysicalRoom(ctx, id))
	case bookings.BookingKind{}.Prefix():
		return node(r.Booking(ctx, id))
	case inventory.NightsJobKind{}.Prefix():
		return node(r.NightsJob(ctx, id))
	case waitlist.EntryKind{}.Prefix():
		return node(r.WaitingListEntry(ctx, id))
	case events.EventKind{}.Prefix():
		return node(r.changeEvent(ctx, id))
	case events.EndpointKind{}.Prefix():
		return node(r.WebhookEndpoint(ctx, id))
	}
	return nil, fault.Invalid("id", "expected the id of a tenant, property, venue, channel, key, member, event, show, chart, room type, physical room, rate plan, job, hold, allotment, seat block, booking, waiting list entry, change event or webhook endpoint, got %.48q", id)
}

// node passes an entity on as a Node. A nil pointer must not become a Node that is not nil.
func node[T generated.Node](found *T, err error) (generated.Node, error) {
	if err != nil {
		return nil, err
	}
	return *found, nil
}

func (r *queryResolver) channel(ctx context.Context, text string) (*generated.Channel, error) {
	var d decoder
	id := readGlobalID[tenants.ChannelKind](&d, "id", text)
	if d.err != nil {
		return nil, d.err
	}
	channel, err := r.tenants.Channel(ctx, actorOf(ctx), id)
	return one(channel, err, channelView)
}

func (r *queryResolver) key(ctx context.Context, text string) (*generated.Key, error) {
	var d decoder
	id := readGlobalID[tenants.KeyKind](&d, "id", text)
	if d.err != nil {
		return nil, d.err
	}
	key, err := r.tenants.Key(ctx, actorOf(ctx), tenants.TenantID{}, id)
	return one(key, err, keyView)
}

func (r *queryResolver) event(ctx context.Context, text string) (*generated.Event, error) {
	var d decoder
	id := readID[inventory.EventKind](&d, "id", text)
	if d.err != nil {
		return nil, d.err
	}
	event, err := load(ctx, loadersOf(ctx).events, id, "event")
	return one(event, err, eventView)
}

func (r *queryResolver) roomType(ctx context.Context, text string) (*generated.RoomType, error) {
	var d decoder
	id := readID[inventory.RoomTypeKind](&d, "id", text)
	if d.err != nil {
		return nil, d.err
	}
	roomType, err := load(ctx, loadersOf(ctx).roomTypes, id, "room type")
	return one(roomType, err, roomTypeView)
}
