package graph

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

const listStays = "stays"

// HotelStays returns generated.HotelStaysResolver implementation.
func (r *Resolver) HotelStays() generated.HotelStaysResolver { return &hotelStaysResolver{r} }

// StayOffer returns generated.StayOfferResolver implementation.
func (r *Resolver) StayOffer() generated.StayOfferResolver { return &stayOfferResolver{r} }

type (
	hotelStaysResolver struct{ *Resolver }
	stayOfferResolver  struct{ *Resolver }
)

// SearchStays is the resolver for the searchStays field.
func (r *queryResolver) SearchStays(ctx context.Context, input generated.SearchStaysInput, first int64, after *string) (*generated.StaySearch, error) {
	var d decoder
	search := readSearch(&d, input)
	from := readSearchCursor(&d, after)
	if d.err != nil {
		return nil, d.err
	}
	found, err := r.inventory.SearchStays(ctx, actorOf(ctx), search, from, int(first))
	if err != nil {
		return nil, searchFault(err)
	}
	view := generated.StaySearch{
		AsOf: found.AsOf, HotelCount: int64(found.HotelCount), OfferCount: int64(found.OfferCount),
		LeftOut: each(found.LeftOut, func(l inventory.LeftOut) generated.StayLeftOut {
			return generated.StayLeftOut{Code: generated.RefusalCode(l.Code), Rates: int64(l.Rates)}
		}),
	}
	view.Edges, view.Nodes, view.PageInfo = connect(found.Hotels, found.More, searchCursor, hotelStaysView,
		func(cursor string, node generated.HotelStays) generated.HotelStaysEdge {
			return generated.HotelStaysEdge{Cursor: cursor, Node: node}
		})
	return &view, nil
}

// searchFault leaves first and after where they are; what else is wrong is in the input.
func searchFault(err error) error {
	var invalid *fault.Error
	if errors.As(err, &invalid) && invalid.Field == "first" {
		return err
	}
	return inInput(err)
}

func readSearch(d *decoder, input generated.SearchStaysInput) inventory.StaySearch {
	search := inventory.StaySearch{
		FlexibleDays: input.FlexibleDays, NearbyDays: input.NearbyDays, Rooms: input.Rooms, Guests: guestsOf(input.Guests),
		Sort: inventory.SearchSort(input.Sort), Where: readWhere(d, input.Where),
	}
	if input.CheckIn != nil {
		search.CheckIn = *input.CheckIn
	}
	if input.CheckOut != nil {
		search.CheckOut = *input.CheckOut
	}
	if m := input.Month; m != nil {
		search.Month = &inventory.SearchMonth{Year: m.Year, Month: m.Month, Nights: m.Nights}
	}
	if f := input.Filter; f != nil {
		search.Filter = inventory.SearchFilter{MinStars: f.MinStars, Refundable: f.Refundable, Amenities: each(f.Amenities, amenityCode)}
		if f.MaxTotal != nil {
			most := readMoney(d, "input.filter.maxTotal", *f.MaxTotal)
			search.Filter.MaxTotal = &most
		}
	}
	return search
}

func readWhere(d *decoder, input *generated.SearchWhereInput) inventory.SearchWhere {
	if input == nil {
		return inventory.SearchWhere{}
	}
	where := inventory.SearchWhere{City: textOf(input.City), Country: textOf(input.Country)}
	if input.Properties != nil {
		where.Properties = []tenants.PropertyID{}
	}
	for i, id := range input.Properties {
		where.Properties = append(where.Properties, readID[tenants.PropertyKind](d, fmt.Sprintf("input.where.properties[%d]", i), id))
	}
	if c := input.Circle; c != nil {
		where.Circle = &inventory.SearchCircle{
			Centre:     tenants.Point{LatitudeE6: readDegrees(d, "input.where.circle.latitude", c.Latitude), LongitudeE6: readDegrees(d, "input.where.circle.longitude", c.Longitude)},
			Kilometres: c.Kilometres,
		}
	}
	return where
}

// maxDegrees is more than any degrees are, and their millionths fit into an integer.
const maxDegrees = 1000

// readDegrees reads degrees as millionths of them.
func readDegrees(d *decoder, field string, degrees float64) int64 {
	if math.IsNaN(degrees) || math.Abs(degrees) > maxDegrees {
		d.refuse(field, fmt.Errorf("expected degrees"))
		return 0
	}
	return int64(math.Round(degrees * 1e6))
}

func amenityCode(a generated.Amenity) string { return string(a) }

// searchCursor has the name of a hotel in base64, because it may have spaces.
func searchCursor(h inventory.HotelStays) string {
	c := h.Cursor()
	return encodeCursor(listStays, strconv.FormatBool(c.Full), base64.RawURLEncoding.EncodeToString([]byte(c.Text)), strconv.FormatInt(c.Number, 10), c.Property.String())
}

func readSearchCursor(d *decoder, after *string) *inventory.SearchCursor {
	if after == nil {
		return nil
	}
	key, err := decodeCursor(listStays, *after, 4)
	if err != nil {
		d.refuse("after", err)
		return nil
	}
	full, errFull := strconv.ParseBool(key[0])
	text, errText := base64.RawURLEncoding.DecodeString(key[1])
	number, errNumber := strconv.ParseInt(key[2], 10, 64)
	property, errProperty := uuid.Parse(key[3])
	if errFull != nil || errText != nil || errNumber != nil || errProperty != nil {
		d.refuse("after", errCursor)
		return nil
	}
	return &inventory.SearchCursor{Full: full, Text: string(text), Number: number, Property: property}
}

// Property is the resolver for the property field.
func (r *hotelStaysResolver) Property(ctx context.Context, obj *generated.HotelStays) (*generated.Property, error) {
	property, err := load(ctx, loadersOf(ctx).properties, obj.Source.Property, "property")
	return one(property, err, propertyView)
}

// RoomType is the resolver for the roomType field.
func (r *stayOfferResolver) RoomType(ctx context.Context, obj *generated.StayOffer) (*generated.RoomType, error) {
	roomType, err := load(ctx, loadersOf(ctx).roomTypes, obj.Source.RoomType, "room type")
	return one(roomType, err, roomTypeView)
}

// Description is the resolver for the description field.
func (r *propertyResolver) Description(ctx context.Context, obj *generated.Property) (*generated.HotelDescription, error) {
	description, err := load(ctx, loadersOf(ctx).descriptions, obj.Source.ID, "property")
	return one(description, err, descriptionView)
}

// DescribeHotel is the resolver for the describeHotel field.
func (r *mutationResolver) DescribeHotel(ctx context.Context, input generated.DescribeHotelInput) (*generated.HotelDescription, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "input.property", input.Property)
	description := tenants.Description{Stars: input.Stars, Amenities: each(input.Amenities, amenityCode)}
	switch {
	case input.Latitude != nil && input.Longitude != nil:
		description.Point = &tenants.Point{LatitudeE6: readDegrees(&d, "input.latitude", *input.Latitude), LongitudeE6: readDegrees(&d, "input.longitude", *input.Longitude)}
	case input.Latitude != nil:
		d.refuse("input.longitude", fmt.Errorf("expected latitude and longitude, or neither"))
	case input.Longitude != nil:
		d.refuse("input.latitude", fmt.Errorf("expected latitude and longitude, or neither"))
	}
	if d.err != nil {
		return nil, d.err
	}
	description, err := r.tenants.SetDescription(ctx, actorOf(ctx), id, description)
	return one(description, inInput(err), descriptionView)
}

func descriptionView(d tenants.Description) generated.HotelDescription {
	view := generated.HotelDescription{Stars: d.Stars, Amenities: each(d.Amenities, func(code string) generated.Amenity { return generated.Amenity(code) })}
	if d.Point != nil {
		latitude, longitude := float64(d.Point.LatitudeE6)/1e6, float64(d.Point.LongitudeE6)/1e6
		view.Latitude, view.Longitude = &latitude, &longitude
	}
	return view
}

func hotelStaysView(h inventory.HotelStays) generated.HotelStays {
	return generated.HotelStays{
		DistanceMetres: h.Metres, Offers: each(h.Offers, stayOfferView), Alternatives: each(h.Alternatives, stayOfferView), Source: h,
	}
}

func stayOfferView(o inventory.StayOffer) generated.StayOffer {
	view := generated.StayOffer{
		CheckIn: o.CheckIn, CheckOut: o.CheckOut, Total: moneyView(o.Total), Refundable: o.Refundable,
		Remaining: o.Remaining, RemainingIsMore: o.RemainingIsMore, Source: o,
	}
	if o.RatePlan != nil {
		id := o.RatePlan.String()
		view.RatePlanID = &id
	}
	return view
}
