package graph

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// The lists of this file.
const (
	listNightsJobs     = "nightsJobs"
	listNightsChunks   = "nightsChunks"
	listOversoldNights = "oversoldNights"
)

// NightsJob returns generated.NightsJobResolver implementation.
func (r *Resolver) NightsJob() generated.NightsJobResolver { return &nightsJobResolver{r} }

// NightsSet returns generated.NightsSetResolver implementation.
func (r *Resolver) NightsSet() generated.NightsSetResolver { return &nightsSetResolver{r} }

// OversoldNight returns generated.OversoldNightResolver implementation.
func (r *Resolver) OversoldNight() generated.OversoldNightResolver { return &oversoldNightResolver{r} }

type (
	nightsJobResolver     struct{ *Resolver }
	nightsSetResolver     struct{ *Resolver }
	oversoldNightResolver struct{ *Resolver }
)

// SetNights is the resolver for the setNights field.
func (r *mutationResolver) SetNights(ctx context.Context, input generated.SetNightsInput) (*generated.NightsSet, error) {
	var d decoder
	edit := inventory.NightsEdit{
		RequestKey: textOf(input.RequestKey),
		RoomType:   readOptionalID[inventory.RoomTypeKind](&d, "input.roomType", input.RoomType),
		Property:   readOptionalID[tenants.PropertyKind](&d, "input.property", input.Property),
		RatePlan:   readOptionalID[inventory.RatePlanKind](&d, "input.ratePlan", input.RatePlan),
		Nights:     nightRange(input.Nights), Change: nightChange(input.Change),
	}
	if d.err != nil {
		return nil, d.err
	}
	set, err := r.inventory.SetNights(ctx, actorOf(ctx), edit)
	return one(set, nightsFault(err), nightsSetView)
}

func nightChange(c generated.NightChangeInput) inventory.NightChange {
	return inventory.NightChange{
		Physical: c.Physical, OutOfOrder: c.OutOfOrder, Oversell: c.Oversell, OversellPercent: c.OversellPercent, StopSell: c.StopSell,
		ClosedToArrival: c.ClosedToArrival, ClosedToDeparture: c.ClosedToDeparture,
		MinStayArrival: c.MinStayArrival, MaxStayArrival: c.MaxStayArrival,
		MinStayThrough: c.MinStayThrough, MaxStayThrough: c.MaxStayThrough, RateMinor: c.RateMinor,
		HouseLimit: c.HouseLimit, NoHouseLimit: c.NoHouseLimit,
	}
}

func nightRange(input generated.NightRangeInput) inventory.NightRange {
	nights := inventory.NightRange{First: input.From, Last: input.To}
	if input.Weekdays != nil {
		nights.Weekdays = each(input.Weekdays, weekdayOf)
	}
	return nights
}

func weekdayOf(day generated.Weekday) time.Weekday {
	for weekday := time.Sunday; weekday <= time.Saturday; weekday++ {
		if strings.EqualFold(weekday.String(), string(day)) {
			return weekday
		}
	}
	// The schema admits no other value.
	return time.Sunday
}

// nightsFault says of a fault of SetNights where its field stands: inventory names the fields of a
// change without saying that it is one.
func nightsFault(err error) error {
	var known *fault.Error
	if !errors.As(err, &known) || known.Kind != fault.KindInvalid {
		return err
	}
	switch field, _, _ := strings.Cut(known.Field, "."); field {
	case "night", "nights", "roomType", "property", "ratePlan", "requestKey":
		return inInput(err)
	case "rate":
		return fault.Invalid("input.change.rateMinor", "%s", known.Message)
	}
	return fault.InField("input.change", err)
}

// Job is the resolver for the job field.
func (r *nightsSetResolver) Job(ctx context.Context, obj *generated.NightsSet) (*generated.NightsJob, error) {
	if obj.Source == nil {
		return nil, nil //nolint:nilnil // a small edit has no job
	}
	job, err := r.inventory.NightsJob(ctx, actorOf(ctx), *obj.Source)
	return one(job, err, nightsJobView)
}

// CancelNightsJob is the resolver for the cancelNightsJob field.
func (r *mutationResolver) CancelNightsJob(ctx context.Context, job string) (*generated.NightsJob, error) {
	var d decoder
	id := readID[inventory.NightsJobKind](&d, "job", job)
	if d.err != nil {
		return nil, d.err
	}
	cancelled, err := r.inventory.CancelNightsJob(ctx, actorOf(ctx), id)
	return one(cancelled, err, nightsJobView)
}

// NightsJob is the resolver for the nightsJob field.
func (r *queryResolver) NightsJob(ctx context.Context, id string) (*generated.NightsJob, error) {
	var d decoder
	wanted := readID[inventory.NightsJobKind](&d, "id", id)
	if d.err != nil {
		return nil, d.err
	}
	job, err := r.inventory.NightsJob(ctx, actorOf(ctx), wanted)
	return one(job, err, nightsJobView)
}

// NightsJobs is the resolver for the nightsJobs field.
func (r *queryResolver) NightsJobs(ctx context.Context, property string, first int64, after *string) (*generated.NightsJobConnection, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "property", property)
	at, last := readTimeCursor(&d, listNightsJobs, after)
	if d.err != nil {
		return nil, d.err
	}
	var from *inventory.NightsJobCursor
	if after != nil {
		from = &inventory.NightsJobCursor{CreatedAt: at, ID: last}
	}
	found, more, err := r.inventory.NightsJobs(ctx, actorOf(ctx), id, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.NightsJobConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, func(j inventory.NightsJob) string {
		return encodeCursor(listNightsJobs, j.CreatedAt.UTC().Format(time.RFC3339Nano), j.ID.UUID.String())
	}, nightsJobView, func(cursor string, node generated.NightsJob) generated.NightsJobEdge {
		return generated.NightsJobEdge{Cursor: cursor, Node: node}
	})
	return &c, nil
}

// Chunks is the resolver for the chunks field.
func (r *nightsJobResolver) Chunks(ctx context.Context, obj *generated.NightsJob, first int64, after *string) (*generated.NightsChunkConnection, error) {
	var d decoder
	from := int64(-1)
	if text := readCursor(&d, listNightsChunks, after); text != "" {
		var err error
		if from, err = strconv.ParseInt(text, 10, 64); err != nil {
			d.refuse("after", errCursor)
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	found, more, err := r.inventory.NightsChunks(ctx, actorOf(ctx), obj.Source, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.NightsChunkConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, func(k inventory.NightsChunk) string {
		return encodeCursor(listNightsChunks, strconv.FormatInt(k.Ordinal, 10))
	}, nightsChunkView, func(cursor string, node generated.NightsChunk) generated.NightsChunkEdge {
		return generated.NightsChunkEdge{Cursor: cursor, Node: node}
	})
	return &c, nil
}

// OversoldNights is the resolver for the oversoldNights field.
func (r *queryResolver) OversoldNights(ctx context.Context, property string, from, to civil.Date, first int64, after *string) (*generated.OversoldNightConnection, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "property", property)
	at := readOversoldCursor(&d, after)
	if d.err != nil {
		return nil, d.err
	}
	found, more, err := r.inventory.OversoldNights(ctx, actorOf(ctx), id, from, to, at, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.OversoldNightConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, func(o inventory.OversoldNight) string {
		cursor := o.Cursor()
		return encodeCursor(listOversoldNights, cursor.Night.String(), cursor.Room.String())
	}, oversoldNightView, func(cursor string, node generated.OversoldNight) generated.OversoldNightEdge {
		return generated.OversoldNightEdge{Cursor: cursor, Node: node}
	})
	return &c, nil
}

func readOversoldCursor(d *decoder, after *string) *inventory.OversoldCursor {
	if after == nil {
		return nil
	}
	key, err := decodeCursor(listOversoldNights, *after, 2)
	if err != nil {
		d.refuse("after", err)
		return nil
	}
	night, nightErr := civil.ParseDate(key[0])
	room, roomErr := uuid.Parse(key[1])
	if nightErr != nil || roomErr != nil {
		d.refuse("after", errCursor)
	}
	return &inventory.OversoldCursor{Night: night, Room: room}
}

// RoomType is the resolver for the roomType field.
func (r *oversoldNightResolver) RoomType(ctx context.Context, obj *generated.OversoldNight) (*generated.RoomType, error) {
	if obj.Source.RoomType.IsZero() {
		return nil, nil //nolint:nilnil // a house has no room type
	}
	roomType, err := load(ctx, loadersOf(ctx).roomTypes, obj.Source.RoomType, "room type")
	return one(roomType, err, roomTypeView)
}

// Bookings is the resolver for the bookings field.
func (r *oversoldNightResolver) Bookings(ctx context.Context, obj *generated.OversoldNight, first int64, after *string) (*generated.BookingConnection, error) {
	var d decoder
	at, id := readTimeCursor(&d, listBookings, after)
	if d.err != nil {
		return nil, d.err
	}
	var from *bookings.Cursor
	if after != nil {
		from = &bookings.Cursor{BookedAt: at, ID: id}
	}
	rooms := []inventory.RoomTypeID{obj.Source.RoomType}
	if obj.Source.RoomType.IsZero() {
		types, err := loadList(ctx, loadersOf(ctx).offers, obj.Source.Property)
		if err != nil {
			return nil, err
		}
		rooms = each(types, func(t inventory.RoomType) inventory.RoomTypeID { return t.ID })
	}
	found, more, err := r.bookings.BookingsOfNight(ctx, actorOf(ctx), obj.Source.Property.Region, rooms, obj.Night, from, int(first))
	if err != nil {
		return nil, err
	}
	return bookingConnection(found, more), nil
}
