package inventory

import "github.com/holdfast/holdfast/internal/ids"

// Kinds of public ids of this package.
type (
	// ChartKind is a seating chart.
	ChartKind struct{}
	// EventKind is a production.
	EventKind struct{}
	// ShowKind is one performance of an event.
	ShowKind struct{}
	// SeatKind is a seat of a chart; the same id names it in every show of that chart.
	SeatKind struct{}
	// PriceLevelKind is a price level of a show.
	PriceLevelKind struct{}
	// PoolKind is a general-admission pool of a show.
	PoolKind struct{}
	// RoomTypeKind is what a hotel sells.
	RoomTypeKind struct{}
	// HoldKind is a lease of units.
	HoldKind struct{}
	// PresaleCodeKind is a code that opens a show's sale early.
	PresaleCodeKind struct{}
	// AllotmentKind is a quantity of counted stock that a channel sells from first.
	AllotmentKind struct{}
	// GrantKind is an admission from a waiting room.
	GrantKind struct{}
	// NightsJobKind is an edit of nights that runs as a job.
	NightsJobKind struct{}
	// PromotionKind is a reduction of the price of stays.
	PromotionKind struct{}
	// BlockKind is a set of seats of a show that is set aside.
	BlockKind struct{}
	// RatePlanKind is what a room is sold as, besides the standard rate.
	RatePlanKind struct{}
	// RoomKind is a physical room of a hotel.
	RoomKind struct{}
	// OutOfOrderKind is a period in which a physical room cannot be slept in.
	OutOfOrderKind struct{}
)

// Prefix of a chart's public id.
func (ChartKind) Prefix() string { return "chart" }

// Prefix of an event's public id.
func (EventKind) Prefix() string { return "event" }

// Prefix of a show's public id.
func (ShowKind) Prefix() string { return "show" }

// Prefix of a seat's public id.
func (SeatKind) Prefix() string { return "seat" }

// Prefix of a price level's public id.
func (PriceLevelKind) Prefix() string { return "level" }

// Prefix of a pool's public id.
func (PoolKind) Prefix() string { return "pool" }

// Prefix of a room type's public id.
func (RoomTypeKind) Prefix() string { return "room" }

// Prefix of a hold's public id.
func (HoldKind) Prefix() string { return "hold" }

// Prefix of a presale code's public id; the code itself is something else.
func (PresaleCodeKind) Prefix() string { return "presale" }

// Prefix of an allotment's public id.
func (AllotmentKind) Prefix() string { return "allotment" }

// Prefix of an admission grant's public id.
func (GrantKind) Prefix() string { return "grant" }

// Prefix of a job's public id.
func (NightsJobKind) Prefix() string { return "nights" }

// Prefix of a promotion's public id.
func (PromotionKind) Prefix() string { return "promotion" }

// Prefix of a seat block's public id.
func (BlockKind) Prefix() string { return "block" }

// Prefix of a rate plan's public id.
func (RatePlanKind) Prefix() string { return "plan" }

// Prefix of a physical room's public id; what is sold is a room type, "room".
func (RoomKind) Prefix() string { return "door" }

// Prefix of an out-of-order period's public id.
func (OutOfOrderKind) Prefix() string { return "ooo" }

// Public ids. Each carries the region in which its stock lives.
type (
	ChartID       = ids.ID[ChartKind]
	EventID       = ids.ID[EventKind]
	ShowID        = ids.ID[ShowKind]
	SeatID        = ids.ID[SeatKind]
	PriceLevelID  = ids.ID[PriceLevelKind]
	PoolID        = ids.ID[PoolKind]
	RoomTypeID    = ids.ID[RoomTypeKind]
	HoldID        = ids.ID[HoldKind]
	PresaleCodeID = ids.ID[PresaleCodeKind]
	AllotmentID   = ids.ID[AllotmentKind]
	GrantID       = ids.ID[GrantKind]
	NightsJobID   = ids.ID[NightsJobKind]
	BlockID       = ids.ID[BlockKind]
	PromotionID   = ids.ID[PromotionKind]
	RatePlanID    = ids.ID[RatePlanKind]
	RoomID        = ids.ID[RoomKind]
	OutOfOrderID  = ids.ID[OutOfOrderKind]
)
