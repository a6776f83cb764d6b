package graph

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade"
)

// Trade is what the API asks of package trade; a trade.Service is one.
type Trade interface {
	Codes(ctx context.Context, actor tenants.Actor, property tenants.PropertyID) (trade.Codes, error)
	SetCodes(ctx context.Context, actor tenants.Actor, requestKey string, input trade.SetCodes) (trade.Codes, error)
	Messages(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, after *trade.MessageCursor, limit int) ([]trade.Message, bool, error)
	Take(ctx context.Context, actor tenants.Actor, body []byte) (trade.Answer, error)
	Export(ctx context.Context, actor tenants.Actor, kind trade.Kind, property tenants.PropertyID, first, last civil.Date) ([]byte, error)
	ExportNights(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, first, last civil.Date) ([]byte, error)
	ImportNights(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, content []byte) (inventory.NightsSet, error)
	ExportCalendar(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, first, last civil.Date) ([]byte, error)
	CalendarRange(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID) (first, last civil.Date, err error)
	ImportCalendar(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, name string, content []byte) (trade.CalendarTaken, error)
}

const listTradeMessages = "tradeMessages"

// TradeCodes is the resolver for the tradeCodes field.
func (r *queryResolver) TradeCodes(ctx context.Context, property string) (*generated.TradeCodes, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "property", property)
	if d.err != nil {
		return nil, d.err
	}
	codes, err := r.trade.Codes(ctx, actorOf(ctx), id)
	return one(codes, err, tradeCodesView)
}

// SetTradeCodes is the resolver for the setTradeCodes field.
func (r *mutationResolver) SetTradeCodes(ctx context.Context, input generated.SetTradeCodesInput) (*generated.TradeCodes, error) {
	var d decoder
	set := trade.SetCodes{
		Property: readID[tenants.PropertyKind](&d, "input.property", input.Property),
		Hotel:    input.HotelCode, StandardRate: input.StandardRateCode,
	}
	for i, room := range input.RoomTypes {
		id := readID[inventory.RoomTypeKind](&d, fmt.Sprintf("input.roomTypes[%d].roomType", i), room.RoomType)
		set.RoomTypes = append(set.RoomTypes, trade.RoomTypeCode{RoomType: id, Code: room.Code})
	}
	if d.err != nil {
		return nil, d.err
	}
	codes, err := r.trade.SetCodes(ctx, actorOf(ctx), input.RequestKey, set)
	return one(codes, inInput(err), tradeCodesView)
}

// TradeMessages is the resolver for the tradeMessages field.
func (r *queryResolver) TradeMessages(ctx context.Context, property string, first int64, after *string) (*generated.TradeMessageConnection, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "property", property)
	at, last := readTimeCursor(&d, listTradeMessages, after)
	if d.err != nil {
		return nil, d.err
	}
	var from *trade.MessageCursor
	if after != nil {
		from = &trade.MessageCursor{CreatedAt: at, ID: last}
	}
	found, more, err := r.trade.Messages(ctx, actorOf(ctx), id, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.TradeMessageConnection
	c.Edges, c.Nodes, c.PageInfo = connect(found, more, func(m trade.Message) string {
		return encodeCursor(listTradeMessages, m.CreatedAt.UTC().Format(time.RFC3339Nano), m.ID.UUID.String())
	}, tradeMessageView, func(cursor string, node generated.TradeMessage) generated.TradeMessageEdge {
		return generated.TradeMessageEdge{Cursor: cursor, Node: node}
	})
	return &c, nil
}

func tradeCodesView(c trade.Codes) generated.TradeCodes {
	return generated.TradeCodes{
		PropertyID: c.Property.String(), HotelCode: orNull(c.Hotel), StandardRateCode: c.StandardRate,
		RoomTypes: each(c.RoomTypes, func(r trade.RoomTypeCode) generated.RoomTypeCode {
			return generated.RoomTypeCode{RoomTypeID: r.RoomType.String(), Code: orNull(r.Code)}
		}),
	}
}

func tradeMessageView(m trade.Message) generated.TradeMessage {
	return generated.TradeMessage{
		ID: m.ID.String(), Kind: generated.TradeMessageKind(m.Kind), Author: m.Author, EchoToken: orNull(m.EchoToken), TimeStamp: orNull(m.TimeStamp),
		Nights: m.Nights, Warnings: m.Warnings, CreatedAt: m.CreatedAt,
	}
}
