package trade

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade/internal/dbsqlc"
)

// Message is one that was applied to a hotel.
type Message struct {
	ID   MessageID
	Kind Kind
	// Author is the public id of the key or the member that sent it.
	Author string
	// EchoToken and TimeStamp are the message's own; "" is none.
	EchoToken string
	TimeStamp string
	// Nights is how many nights of room types it wrote, and Warnings what it said that is not kept.
	Nights    int64
	Warnings  int64
	CreatedAt time.Time
}

// MessageCursor is where a page of messages begins: with those before this one.
type MessageCursor struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// Messages lists the messages that were applied to a hotel from the newest, those of KeptDays at least, and says
// whether older ones follow.
func (s *Service) Messages(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, after *MessageCursor, limit int) ([]Message, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionTradeRead, property); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	if _, err := hotelTx(ctx, s.db.Pool(), actor.Tenant, property); err != nil {
		return nil, false, db.Classify(err)
	}
	from := MessageCursor{CreatedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	if after != nil {
		from = *after
	}
	rows, err := dbsqlc.New(s.db.Pool()).MessagesPage(ctx, dbsqlc.MessagesPageParams{
		TenantID: actor.Tenant.UUID, Region: string(property.Region), PropertyID: property.UUID,
		BeforeTime: from.CreatedAt, BeforeID: from.ID, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list messages: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	messages := make([]Message, len(rows))
	for i, row := range rows {
		messages[i] = Message{
			ID: MessageID{Region: property.Region, UUID: row.ID}, Kind: Kind(row.Kind), Author: row.Author, EchoToken: row.EchoToken,
			TimeStamp: row.TimeStamp, Nights: row.Nights, Warnings: row.Warnings, CreatedAt: row.CreatedAt.UTC(),
		}
	}
	return messages, more, nil
}
