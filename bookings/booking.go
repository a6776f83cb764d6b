package bookings

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// BookingKind is a confirmed sale.
type BookingKind struct{}

// Prefix of a booking's public id.
func (BookingKind) Prefix() string { return "book" }

// BookingID names a booking; it carries the region of its stock.
type BookingID = ids.ID[BookingKind]

// State says whether anything of a booking still stands.
type State string

// The states of a booking.
const (
	StateBooked State = "BOOKED"
	// StateCancelled: every line was cancelled.
	StateCancelled State = "CANCELLED"
)

// LineState is where one line of a booking stands.
type LineState string

// The states of a line.
const (
	LineStateBooked    LineState = "BOOKED"
	LineStateCancelled LineState = "CANCELLED"
	LineStateNoShow    LineState = "NO_SHOW"
	LineStateWalked    LineState = "WALKED"
)

// Contact is who the booking is for.
type Contact struct {
	Name  string
	Email string
}

// Booking is the confirmed sale of a hold.
type Booking struct {
	ID      BookingID
	Hold    inventory.HoldID
	Tenant  tenants.TenantID
	Channel tenants.ChannelID
	Buyer   tenants.Buyer
	// Reference is the short code that people read to each other.
	Reference string
	// PartnerReference is the seller's own.
	PartnerReference string
	Contact          Contact
	State            State
	Total            money.Amount
	// Version grows by one with each change; every event carries it.
	Version  int64
	BookedAt time.Time
	// Cancellation are the timelines under which it was sold; nil for a sale older than they are.
	Cancellation []inventory.Timeline
	// CommissionBasisPoints is the channel's commission at the sale, in hundredths of a percent of Total.
	CommissionBasisPoints int64
	Lines                 []Line
}

// Commission is what a channel earns by a booking.
type Commission struct {
	// BasisPoints is in hundredths of a percent of the booking's total.
	BasisPoints int64
	Amount      money.Amount
}

// Commission is what the channel earns.
func (b Booking) Commission() Commission {
	return Commission{
		BasisPoints: b.CommissionBasisPoints,
		Amount:      money.Amount{Minor: money.Percent(b.Total.Minor, b.CommissionBasisPoints), Currency: b.Total.Currency},
	}
}

// FeesKept is what cancellations of the booking cost so far.
func (b Booking) FeesKept() money.Amount {
	kept := money.Amount{Currency: b.Total.Currency}
	for _, line := range b.Lines {
		kept.Minor += line.Fee.Minor
	}
	return kept
}

// Tax is the tax within the booking's total.
func (b Booking) Tax() money.Amount {
	tax := money.Amount{Currency: b.Total.Currency}
	for _, line := range b.Lines {
		tax.Minor += line.Tax.Minor
	}
	return tax
}

// Line is one unit row of a booking.
type Line struct {
	inventory.HoldLine
	State LineState
	// Tax is the tax within the line's price, at TaxBasisPoints hundredths of a percent.
	Tax            money.Amount
	TaxBasisPoints int64
	// Fee is what its cancellation cost, and FeeTax the tax within that.
	Fee    money.Amount
	FeeTax money.Amount
	// Cancellation is the one that cancelled it; nil for none, and for one that is older than they are.
	Cancellation *uuid.UUID
}

// Cursor is where a page of bookings ended; pages run from the newest.
type Cursor struct {
	BookedAt time.Time
	ID       uuid.UUID
}

// withLines reads the lines of several bookings of one tenant and region.
func withLines(ctx context.Context, q dbsqlc.DBTX, bookings []Booking) error {
	if len(bookings) == 0 {
		return nil
	}
	wanted := make([]uuid.UUID, len(bookings))
	at := make(map[uuid.UUID]*Booking, len(bookings))
	for i := range bookings {
		wanted[i] = bookings[i].ID.UUID
		at[bookings[i].ID.UUID] = &bookings[i]
	}
	region := bookings[0].ID.Region
	rows, err := dbsqlc.New(q).BookingLines(ctx, dbsqlc.BookingLinesParams{
		TenantID: bookings[0].Tenant.UUID, Region: string(region), BookingIds: wanted,
	})
	if err != nil {
		return fmt.Errorf("read booking lines: %w", err)
	}
	for _, row := range rows {
		booking := at[row.BookingID]
		booking.Lines = append(booking.Lines, lineOf(region, booking.Total.Currency, row))
	}
	for _, booking := range at {
		slices.SortFunc(booking.Lines, func(a, b Line) int { return int(a.Ordinal - b.Ordinal) })
	}
	return nil
}

func bookingOf(tenant tenants.TenantID, row dbsqlc.BookingGetRow) (Booking, error) {
	region := ids.Region(row.Region)
	booking := Booking{
		ID: BookingID{Region: region, UUID: row.ID}, Hold: inventory.HoldID{Region: region, UUID: row.HoldID}, Tenant: tenant,
		Channel: tenants.ChannelID{UUID: row.ChannelID}, Buyer: tenants.Buyer{Kind: tenants.BuyerKind(row.BuyerKind), ID: row.BuyerID},
		Reference: row.Reference, PartnerReference: row.PartnerReference,
		Contact: Contact{Name: row.ContactName, Email: row.ContactEmail}, State: State(row.State),
		Total: money.Amount{Minor: row.TotalMinor, Currency: money.Currency(row.Currency)}, Version: row.Version, BookedAt: row.BookedAt,
		CommissionBasisPoints: row.CommissionBasisPoints,
	}
	if row.Cancellation == nil {
		return booking, nil
	}
	if err := json.Unmarshal(row.Cancellation, &booking.Cancellation); err != nil {
		return Booking{}, fmt.Errorf("read the cancellation policy of booking %s: %w", booking.ID, err)
	}
	return booking, nil
}

func lineOf(region ids.Region, currency money.Currency, row dbsqlc.BookingLinesRow) Line {
	line := Line{
		State: LineState(row.State), Tax: money.Amount{Minor: row.TaxMinor, Currency: currency}, TaxBasisPoints: row.TaxBasisPoints,
		Fee: money.Amount{Minor: row.FeeMinor, Currency: currency}, FeeTax: money.Amount{Minor: row.FeeTaxMinor, Currency: currency},
		Cancellation: row.CancellationID,
		HoldLine: inventory.HoldLine{
			Ordinal: row.Ordinal, Item: row.Item, Kind: inventory.LineKind(row.Kind), Bucket: row.Bucket, Quantity: row.Quantity,
			Amount: money.Amount{Minor: row.AmountMinor, Currency: currency},
		},
	}
	if row.ShowID != nil {
		line.Show = inventory.ShowID{Region: region, UUID: *row.ShowID}
	}
	if row.SeatID != nil {
		line.Seat = inventory.SeatID{Region: region, UUID: *row.SeatID}
	}
	if row.PoolID != nil {
		line.Pool = inventory.PoolID{Region: region, UUID: *row.PoolID}
	}
	if row.Shard != nil {
		line.Shard = *row.Shard
	}
	if row.PropertyID != nil {
		line.Property = tenants.PropertyID{Region: region, UUID: *row.PropertyID}
	}
	if row.RoomTypeID != nil {
		line.RoomType = inventory.RoomTypeID{Region: region, UUID: *row.RoomTypeID}
	}
	if row.RatePlanID != nil {
		line.RatePlan = inventory.RatePlanID{Region: region, UUID: *row.RatePlanID}
	}
	if row.Night != nil {
		line.Night = *row.Night
	}
	return line
}
