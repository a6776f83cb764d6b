package trade

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade/internal/dbsqlc"
)

// DefaultStandardRate is the code of the standard rate where nobody gave another.
const DefaultStandardRate = "STANDARD"

// Codes are what partners' systems call a hotel and what it sells.
type Codes struct {
	Property tenants.PropertyID
	// Hotel is the hotel's code, one of its own in the tenant; "" is none yet, so that no message reaches it.
	Hotel string
	// StandardRate is the code of the standard rate, which is sold without a rate plan.
	StandardRate string
	// RoomTypes are all the hotel's, by name; those without a code are in no message.
	RoomTypes []RoomTypeCode
}

// RoomTypeCode is the code of a room type, one of its own in the hotel; "" is none.
type RoomTypeCode struct {
	RoomType inventory.RoomTypeID
	Code     string
}

// SetCodes is what a hotel's codes are to be.
type SetCodes struct {
	Property tenants.PropertyID
	Hotel    string
	// StandardRate is DefaultStandardRate when it is "".
	StandardRate string
	// RoomTypes replace those there are: a room type that is left out has no code any more.
	RoomTypes []RoomTypeCode
}

// hotel is a hotel as messages need it.
type hotel struct {
	tenant       tenants.TenantID
	property     tenants.PropertyID
	code         string
	standardRate string
	currency     money.Currency
	zone         *time.Location
	rooms        []room
	// plans are the ids of rate plans by their codes.
	plans map[string]inventory.RatePlanID
}

type room struct {
	id        inventory.RoomTypeID
	code      string
	maxGuests int64
}

// Codes reads a hotel's codes.
func (s *Service) Codes(ctx context.Context, actor tenants.Actor, property tenants.PropertyID) (Codes, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionTradeRead, property); err != nil {
		return Codes{}, err
	}
	h, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (hotel, error) {
		return hotelTx(ctx, tx, actor.Tenant, property)
	})
	return h.codes(), err
}

func (h hotel) codes() Codes {
	codes := Codes{Property: h.property, Hotel: h.code, StandardRate: h.standardRate}
	for _, r := range h.rooms {
		codes.RoomTypes = append(codes.RoomTypes, RoomTypeCode{RoomType: r.id, Code: r.code})
	}
	return codes
}

// SetCodes sets all codes of a hotel.
func (s *Service) SetCodes(ctx context.Context, actor tenants.Actor, requestKey string, input SetCodes) (Codes, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionTradeSet, input.Property); err != nil {
		return Codes{}, err
	}
	if input.StandardRate == "" {
		input.StandardRate = DefaultStandardRate
	}
	if err := input.check(); err != nil {
		return Codes{}, err
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return Codes{}, err
	}
	fingerprint, err := request.Fingerprint(input)
	if err != nil {
		return Codes{}, err
	}
	return db.Replayable(ctx, s.db, "trade.SetCodes", func(ctx context.Context, tx pgx.Tx) (Codes, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: input.Property.Region, Key: requestKey, Scope: "setTradeCodes/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, input.Property.UUID)
		if err != nil {
			return Codes{}, err
		}
		if !replayed {
			if err := input.writeTx(ctx, tx, actor); err != nil {
				return Codes{}, err
			}
		}
		h, err := hotelTx(ctx, tx, actor.Tenant, input.Property)
		return h.codes(), err
	})
}

func (c SetCodes) check() error {
	if err := checkCode("hotelCode", c.Hotel); err != nil {
		return err
	}
	if err := checkCode("standardRateCode", c.StandardRate); err != nil {
		return err
	}
	named, coded := map[inventory.RoomTypeID]bool{}, map[string]bool{}
	for i, r := range c.RoomTypes {
		field := fmt.Sprintf("roomTypes[%d]", i)
		if err := checkCode(field+".code", r.Code); err != nil {
			return err
		}
		switch {
		case named[r.RoomType]:
			return fault.Invalid(field+".roomType", "the room type is named twice")
		case coded[r.Code]:
			return fault.Invalid(field+".code", "the code %q is given to two room types", r.Code)
		case r.RoomType.Region != c.Property.Region:
			return fault.Invalid(field+".roomType", "the room type is of another hotel")
		}
		named[r.RoomType], coded[r.Code] = true, true
	}
	return nil
}

func checkCode(field, code string) error {
	odd := func(c rune) bool { return unicode.IsControl(c) }
	if n := utf8.RuneCountInString(code); n < 1 || n > MaxCodeLength || !utf8.ValidString(code) || strings.TrimSpace(code) != code || strings.ContainsFunc(code, odd) {
		return fault.Invalid(field, "expected 1 to %d characters without spaces around them, got %q", MaxCodeLength, code)
	}
	return nil
}

func (c SetCodes) writeTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor) error {
	queries, tenant := dbsqlc.New(tx), actor.Tenant.UUID
	region, err := queries.HotelCodeLock(ctx, dbsqlc.HotelCodeLockParams{TenantID: tenant, PropertyID: c.Property.UUID})
	switch {
	case db.IsNoRows(err), err == nil && region != string(c.Property.Region):
		return fault.NotFound("property")
	case err != nil:
		return fmt.Errorf("lock the property: %w", err)
	}
	before, err := hotelTx(ctx, tx, actor.Tenant, c.Property)
	if err != nil {
		return err
	}
	own := map[inventory.RoomTypeID]bool{}
	for _, r := range before.rooms {
		own[r.id] = true
	}
	rooms := dbsqlc.RoomCodesInsertParams{TenantID: tenant, Region: region, PropertyID: c.Property.UUID}
	for i, r := range c.RoomTypes {
		if !own[r.RoomType] {
			return fault.Invalid(fmt.Sprintf("roomTypes[%d].roomType", i), "the hotel has no such room type")
		}
		rooms.RoomTypeIds, rooms.Codes = append(rooms.RoomTypeIds, r.RoomType.UUID), append(rooms.Codes, r.Code)
	}
	if _, err := queries.HotelCodeSet(ctx, dbsqlc.HotelCodeSetParams{TenantID: tenant, PropertyID: c.Property.UUID, Code: c.Hotel, StandardRate: c.StandardRate}); err != nil {
		if db.ViolatedConstraint(err) == "trade_hotels_code_unique" {
			return fault.Conflict("another hotel has the code %q", c.Hotel)
		}
		return fmt.Errorf("store the code of a hotel: %w", err)
	}
	if _, err := queries.RoomCodesRemove(ctx, dbsqlc.RoomCodesRemoveParams{TenantID: tenant, Region: region, PropertyID: c.Property.UUID}); err != nil {
		return fmt.Errorf("remove the codes of room types: %w", err)
	}
	if len(rooms.Codes) > 0 {
		if _, err := queries.RoomCodesInsert(ctx, rooms); err != nil {
			return fmt.Errorf("store the codes of room types: %w", err)
		}
	}
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionTradeSet, Resource: c.Property, Before: before.codes(), After: c})
}

// hotelTx reads a hotel with its codes.
func hotelTx(ctx context.Context, tx dbsqlc.DBTX, tenant tenants.TenantID, property tenants.PropertyID) (hotel, error) {
	row, err := dbsqlc.New(tx).HotelCodeOf(ctx, dbsqlc.HotelCodeOfParams{TenantID: tenant.UUID, PropertyID: property.UUID})
	switch {
	case db.IsNoRows(err), err == nil && row.Region != string(property.Region):
		return hotel{}, fault.NotFound("property")
	case err != nil:
		return hotel{}, fmt.Errorf("read the codes of a hotel: %w", err)
	}
	h := hotel{tenant: tenant, property: property, code: row.Code, standardRate: row.StandardRate, currency: money.Currency(row.Currency)}
	if h.standardRate == "" {
		h.standardRate = DefaultStandardRate
	}
	return h.withRoomsTx(ctx, tx, row.TimeZone)
}

// hotelByCodeTx reads the hotel that a message names; false is none.
func hotelByCodeTx(ctx context.Context, tx dbsqlc.DBTX, tenant tenants.TenantID, code string) (hotel, bool, error) {
	row, err := dbsqlc.New(tx).HotelByCode(ctx, dbsqlc.HotelByCodeParams{TenantID: tenant.UUID, Code: code})
	if db.IsNoRows(err) {
		return hotel{}, false, nil
	}
	if err != nil {
		return hotel{}, false, fmt.Errorf("find a hotel by its code: %w", err)
	}
	h := hotel{
		tenant: tenant, property: tenants.PropertyID{Region: ids.Region(row.Region), UUID: row.PropertyID},
		code: row.Code, standardRate: row.StandardRate, currency: money.Currency(row.Currency),
	}
	h, err = h.withRoomsTx(ctx, tx, row.TimeZone)
	return h, err == nil, err
}

func (h hotel) withRoomsTx(ctx context.Context, tx dbsqlc.DBTX, zone string) (hotel, error) {
	var err error
	if h.zone, err = time.LoadLocation(zone); err != nil {
		return hotel{}, fmt.Errorf("load the time zone of a hotel: %w", err)
	}
	rows, err := dbsqlc.New(tx).RoomCodesOf(ctx, dbsqlc.RoomCodesOfParams{TenantID: h.tenant.UUID, Region: string(h.property.Region), PropertyID: h.property.UUID})
	if err != nil {
		return hotel{}, fmt.Errorf("read the codes of room types: %w", err)
	}
	for _, row := range rows {
		h.rooms = append(h.rooms, room{id: inventory.RoomTypeID{Region: h.property.Region, UUID: row.RoomTypeID}, code: row.Code, maxGuests: row.MaxGuests})
	}
	plans, err := dbsqlc.New(tx).RatePlanCodesOf(ctx, dbsqlc.RatePlanCodesOfParams{TenantID: h.tenant.UUID, Region: string(h.property.Region), PropertyID: h.property.UUID})
	if err != nil {
		return hotel{}, fmt.Errorf("read the codes of rate plans: %w", err)
	}
	h.plans = make(map[string]inventory.RatePlanID, len(plans))
	for _, row := range plans {
		h.plans[row.Code] = inventory.RatePlanID{Region: h.property.Region, UUID: row.ID}
	}
	return h, nil
}

// codeOf is what answers call a room type: its code, or else its public id.
func (h hotel) codeOf(id inventory.RoomTypeID) string {
	for _, r := range h.rooms {
		if r.id == id {
			if r.code == "" {
				return id.String()
			}
			return r.code
		}
	}
	return id.String()
}
