package graph

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// RoomTypes is the resolver for the roomTypes field.
func (r *propertyResolver) RoomTypes(ctx context.Context, obj *generated.Property) ([]generated.RoomType, error) {
	types, err := loadList(ctx, loadersOf(ctx).offers, obj.Source.ID)
	return each(types, roomTypeView), err
}

// Calendar is the resolver for the calendar field.
func (r *propertyResolver) Calendar(ctx context.Context, obj *generated.Property, from, to civil.Date, roomTypes []string, ratePlan *string, guests *generated.GuestsInput) (*generated.Calendar, error) {
	wanted, err := r.offered(ctx, obj.Source.ID, roomTypes)
	if err != nil {
		return nil, err
	}
	var d decoder
	question := inventory.CalendarQuestion{
		RoomTypes: wanted, First: from, Last: to, RatePlan: readOptionalID[inventory.RatePlanKind](&d, "ratePlan", ratePlan),
	}
	if d.err != nil {
		return nil, d.err
	}
	if guests != nil {
		question.Guests = &guestsOf([]generated.GuestsInput{*guests})[0]
	}
	calendar, err := r.inventory.Calendar(ctx, actorOf(ctx), obj.Source, question)
	return one(calendar, err, calendarView)
}

// offered are the room types that a calendar shows: those that were named, which must be the
// property's, or all.
func (r *propertyResolver) offered(ctx context.Context, property tenants.PropertyID, named []string) ([]inventory.RoomTypeID, error) {
	var d decoder
	wanted := make([]inventory.RoomTypeID, len(named))
	for i, text := range named {
		wanted[i] = readID[inventory.RoomTypeKind](&d, fmt.Sprintf("roomTypes[%d]", i), text)
	}
	if d.err != nil {
		return nil, d.err
	}
	types, err := loadList(ctx, loadersOf(ctx).offers, property)
	if err != nil {
		return nil, err
	}
	all := each(types, func(t inventory.RoomType) inventory.RoomTypeID { return t.ID })
	if named == nil {
		return all, nil
	}
	for _, id := range wanted {
		if !slices.Contains(all, id) {
			return nil, fault.NotFound("room type")
		}
	}
	return wanted, nil
}

// Property is the resolver for the property field.
func (r *roomTypeResolver) Property(ctx context.Context, obj *generated.RoomType) (*generated.Property, error) {
	property, err := load(ctx, loadersOf(ctx).properties, obj.Source.Property, "property")
	return one(property, err, propertyView)
}

// CreateRoomType is the resolver for the createRoomType field.
func (r *mutationResolver) CreateRoomType(ctx context.Context, input generated.CreateRoomTypeInput) (*generated.RoomType, error) {
	var d decoder
	property := readID[tenants.PropertyKind](&d, "input.property", input.Property)
	if d.err != nil {
		return nil, d.err
	}
	id, err := r.inventory.CreateRoomType(ctx, actorOf(ctx), input.RequestKey, inventory.NewRoomType{
		Property: property, Name: input.Name, MaxGuests: input.MaxGuests,
	})
	return one(inventory.RoomType{ID: id, Property: property, Name: input.Name, MaxGuests: input.MaxGuests}, inInput(err), roomTypeView)
}
