package bookings

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/bookings/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// UnresolvedReason says why something about money is not at its end.
type UnresolvedReason string

// The reasons. Those of charges are CHARGE_ and a DifferenceReason.
const (
	// ReviewPaymentOpen: the provider has not said what became of a payment, and its hold's window is
	// over. It is asked again by itself.
	ReviewPaymentOpen UnresolvedReason = "PAYMENT_OPEN"
	// ReviewRefundOpen: a refund is not paid, for long, or for money that bought nothing. It is asked
	// for again by itself.
	ReviewRefundOpen UnresolvedReason = "REFUND_OPEN"
	// ReviewRefundFailed: the provider refused a refund for good.
	ReviewRefundFailed UnresolvedReason = "REFUND_FAILED"
	// ReviewEventUnmatched: an event names no payment of ours.
	ReviewEventUnmatched UnresolvedReason = "EVENT_UNMATCHED"
	// ReviewEventMismatch: an event's evidence does not fit its payment.
	ReviewEventMismatch UnresolvedReason = "EVENT_MISMATCH"
)

// chargeReason is how the review queue calls a difference.
const chargeReason = "CHARGE_"

// ForPerson reports whether only a person can end it.
func (r UnresolvedReason) ForPerson() bool { return r.subject() != "" }

// subject is the kind under which a decision is kept; "" for what ends by itself.
func (r UnresolvedReason) subject() string {
	switch {
	case r == ReviewRefundFailed:
		return "REFUND"
	case r == ReviewEventUnmatched, r == ReviewEventMismatch:
		return "EVENT"
	case strings.HasPrefix(string(r), chargeReason):
		return "DIFFERENCE"
	}
	return ""
}

// refundWindow is how long a refund may take before it is shown as unresolved.
const refundWindow = 15 * time.Minute

// ReviewItem names one thing in the review queue.
type ReviewItem struct {
	Region  ids.Region
	Subject string
	ID      string
}

// Unresolved is one thing about money that is not at its end.
type Unresolved struct {
	Reason UnresolvedReason
	// Item is what a person decides about.
	Item ReviewItem
	// Since is when it began: the attempt was made, the refund requested or failed, the event received,
	// the difference found.
	Since time.Time
	// Hold, Attempt and Refund are zero or nil where nothing of ours is meant.
	Hold    inventory.HoldID
	Attempt payments.AttemptID
	Refund  *payments.RefundID
	// Amount is what is at stake. Its currency is "" where the provider told none.
	Amount   money.Amount
	Provider string
	Account  string
	// Detail is the state, the provider's failure code, the event's type or the provider's charge.
	Detail string
	// Checks is how often the provider was asked without a definite answer.
	Checks int64
}

// UnresolvedCursor is where a page of unresolved things ended; pages run from the oldest.
type UnresolvedCursor struct {
	Since time.Time
	Item  string
}

// Cursor is where the thing stands in the list.
func (u Unresolved) Cursor() UnresolvedCursor {
	return UnresolvedCursor{Since: u.Since, Item: u.Item.ID}
}

// Unresolved lists what about money is open for too long or waits for a person, in one region of the
// actor's tenant, from the oldest, and says whether more follow. An operator of the installation sees
// in region "xx" what belongs to no tenant.
func (s *Service) Unresolved(ctx context.Context, actor tenants.Actor, region ids.Region, after *UnresolvedCursor, limit int) ([]Unresolved, bool, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionPaymentReview, actor.Tenant); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > inventory.MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", inventory.MaxPage, limit)
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, false, err
	}
	params := dbsqlc.UnresolvedPageParams{
		TenantID: actor.Tenant.UUID, Region: string(region), Now: now, RefundsBefore: now.Add(-refundWindow), MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	}
	if after != nil {
		params.After, params.AfterItem = after.Since, after.Item
	}
	rows, err := dbsqlc.New(s.db.Pool()).UnresolvedPage(ctx, params)
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list unresolved payments: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	found := make([]Unresolved, len(rows))
	for i, row := range rows {
		found[i] = unresolvedOf(region, row)
	}
	return found, more, nil
}

func unresolvedOf(region ids.Region, row dbsqlc.UnresolvedPageRow) Unresolved {
	u := Unresolved{
		Reason: UnresolvedReason(row.Reason), Since: row.Since, Amount: money.Amount{Minor: row.AmountMinor, Currency: money.Currency(row.Currency)},
		Provider: row.Provider, Account: row.Account, Detail: row.Detail, Checks: row.Checks,
	}
	u.Item = ReviewItem{Region: region, Subject: u.Reason.subject(), ID: row.Item}
	if row.HoldID != uuid.Nil {
		u.Hold = inventory.HoldID{Region: region, UUID: row.HoldID}
	}
	if row.AttemptID != uuid.Nil {
		u.Attempt = payments.AttemptID{Region: region, UUID: row.AttemptID}
	}
	if row.RefundID != nil {
		u.Refund = &payments.RefundID{Region: region, UUID: *row.RefundID}
	}
	return u
}

// Review is what a person has decided.
type Review struct {
	Item ReviewItem
	// ResolvedBy is the public id of the key or the member.
	ResolvedBy string
	Note       string
	ResolvedAt time.Time
}

// maxDecisionLength is the longest note of a decision, in characters.
const maxDecisionLength = 1000

// ResolveReview records that a person has dealt with an item of the review queue, and how. It moves
// no money. Whoever decides first has decided: a repetition is answered with that decision.
func (s *Service) ResolveReview(ctx context.Context, actor tenants.Actor, item ReviewItem, note string) (Review, error) {
	if err := s.authorizer.Authorize(actor, policies.ActionPaymentReview, actor.Tenant); err != nil {
		return Review{}, err
	}
	note = strings.TrimSpace(note)
	if n := utf8.RuneCountInString(note); n < 1 || n > maxDecisionLength || !utf8.ValidString(note) || strings.ContainsFunc(note, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
		return Review{}, fault.Invalid("note", "expected what was done about it, in 1 to %d characters", maxDecisionLength)
	}
	if !utf8.ValidString(item.ID) || strings.ContainsRune(item.ID, 0) {
		return Review{}, fault.NotFound("item of the review queue")
	}
	return db.Replayable(ctx, s.db, "bookings.ResolveReview", func(ctx context.Context, tx pgx.Tx) (Review, error) {
		if item.Subject == ReviewEventMismatch.subject() {
			return resolveEventTx(ctx, tx, actor, item, note)
		}
		queries := dbsqlc.New(tx)
		items, err := queries.ReviewableCount(ctx, dbsqlc.ReviewableCountParams{
			SubjectKind: item.Subject, TenantID: actor.Tenant.UUID, Region: string(item.Region), SubjectID: item.ID,
		})
		if err != nil {
			return Review{}, fmt.Errorf("look for an item of the review queue: %w", err)
		}
		if items == 0 {
			return Review{}, fault.NotFound("item of the review queue")
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return Review{}, err
		}
		decided, err := queries.ReviewInsert(ctx, dbsqlc.ReviewInsertParams{
			TenantID: actor.Tenant.UUID, Region: string(item.Region), SubjectKind: item.Subject, SubjectID: item.ID,
			ResolvedBy: actor.Author().Actor, Note: note, ResolvedAt: now,
		})
		if err != nil {
			return Review{}, fmt.Errorf("keep a decision: %w", err)
		}
		if decided > 0 {
			if err := item.auditTx(ctx, tx, actor, note); err != nil {
				return Review{}, err
			}
		}
		row, err := queries.ReviewGet(ctx, dbsqlc.ReviewGetParams{
			TenantID: actor.Tenant.UUID, Region: string(item.Region), SubjectKind: item.Subject, SubjectID: item.ID,
		})
		if err != nil {
			return Review{}, fmt.Errorf("read a decision: %w", err)
		}
		by, err := reviewers(ctx, tx, actor.Tenant, row.ResolvedBy)
		if err != nil {
			return Review{}, err
		}
		return Review{Item: item, ResolvedBy: by[0], Note: row.Note, ResolvedAt: row.ResolvedAt}, nil
	})
}

// auditTx logs a decision about an item.
func (i ReviewItem) auditTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, note string) error {
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionPaymentReview, Resource: i, Region: i.Region, Reason: note, After: map[string]bool{"resolved": true},
	})
}

// String is the kind of the item and its id.
func (i ReviewItem) String() string { return i.Subject + " " + i.ID }

// resolveEventTx is ResolveReview for an event, whose decision stands on itself, as with ResolveEvent.
func resolveEventTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, item ReviewItem, note string) (Review, error) {
	provider, id, _ := strings.Cut(item.ID, " ")
	key := payments.EventKey{Tenant: actor.Tenant.UUID, Region: item.Region, Provider: provider, Event: id}
	event, err := payments.LockEvent(ctx, tx, key)
	if err != nil {
		return Review{}, err
	}
	if event.ReviewedAt == nil {
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return Review{}, err
		}
		done, err := payments.ReviewEventTx(ctx, tx, key, actor.Key.UUID, note, now)
		if err != nil {
			return Review{}, err
		}
		if !done {
			return Review{}, fault.NotFound("item of the review queue")
		}
		if err := item.auditTx(ctx, tx, actor, note); err != nil {
			return Review{}, err
		}
		if event, err = payments.LockEvent(ctx, tx, key); err != nil {
			return Review{}, err
		}
	}
	by, err := reviewers(ctx, tx, actor.Tenant, tenants.KeyID{UUID: *event.ReviewedBy}.String())
	if err != nil {
		return Review{}, err
	}
	return Review{Item: item, ResolvedBy: by[0], Note: event.ReviewNote, ResolvedAt: *event.ReviewedAt}, nil
}

// reviewers are the public ids of who decided, of whom rows may keep a key's id where it was a member.
func reviewers(ctx context.Context, tx pgx.Tx, tenant tenants.TenantID, kept ...string) ([]string, error) {
	keys := make([]tenants.KeyID, len(kept))
	named := make([]uuid.UUID, len(kept))
	for i, text := range kept {
		// What is no key's is a member's already.
		if keys[i].UnmarshalText([]byte(text)) == nil {
			named[i] = keys[i].UUID
		}
	}
	acted, err := tenants.WhoActed(ctx, tx, tenant, named)
	if err != nil {
		return nil, err
	}
	public := make([]string, len(kept))
	for i, text := range kept {
		public[i] = cmp.Or(acted.Actor(named[i]), text)
	}
	return public, nil
}
