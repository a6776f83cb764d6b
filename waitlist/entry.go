package waitlist

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/waitlist/internal/dbsqlc"
)

// EntryKind is an entry of a waiting list.
type EntryKind struct{}

// Prefix of an entry's public id.
func (EntryKind) Prefix() string { return "wait" }

// EntryID names an entry; it carries the region of what is waited for.
type EntryID = ids.ID[EntryKind]

// State is where an entry stands.
type State string

// The states of an entry. All but the first two are ends.
const (
	// StateWaiting: it is in line.
	StateWaiting State = "WAITING"
	// StateOffered: all it is for is held for the buyer.
	StateOffered State = "OFFERED"
	// StateServed: the buyer bought what was offered.
	StateServed State = "SERVED"
	// StateDeclined: the buyer released what was offered.
	StateDeclined State = "DECLINED"
	// StateLapsed: the offer's time passed.
	StateLapsed State = "LAPSED"
	// StateLeft: the buyer left the list.
	StateLeft State = "LEFT"
	// StateExpired: it waited until there was nothing to wait for any more.
	StateExpired State = "EXPIRED"
)

// Live reports whether an entry in this state is not over.
func (s State) Live() bool { return s == StateWaiting || s == StateOffered }

// Entry is one buyer's wish in a list.
type Entry struct {
	ID     EntryID
	Tenant tenants.TenantID
	Scope
	Channel tenants.ChannelID
	Buyer   tenants.Buyer
	// Lines are what is waited for, all or nothing.
	Lines []inventory.LineRequest
	State State
	// JoinedAt and ExpiresAt say since when and until when it waits.
	JoinedAt, ExpiresAt time.Time
	// OfferedAt and Hold are set once something was offered.
	OfferedAt *time.Time
	Hold      inventory.HoldID
	EndedAt   *time.Time
	// Ahead is how many are before it in line, whatever they wait for; 0 when it does not wait.
	Ahead   int64
	Version int64
	// number is the place in line.
	number int64
	// unseen is for how long nobody has looked whether its list can be served; 0 when the list is closed.
	unseen time.Duration
}

// entryOf shows an entry as it is at this moment, whether or not anybody has written that down: what
// became of the hold is what became of the entry.
func entryOf(tenant tenants.TenantID, region ids.Region, row dbsqlc.EntryGetRow) (Entry, error) {
	lines, err := decodeLines(row.Lines)
	if err != nil {
		return Entry{}, fmt.Errorf("read the wish of entry %s: %w", row.ID, err)
	}
	entry := Entry{
		ID: EntryID{Region: region, UUID: row.ID}, Tenant: tenant, Scope: scopeOf(row.ScopeKind, region, row.ScopeID),
		Channel: tenants.ChannelID{UUID: row.ChannelID}, Buyer: tenants.Buyer{Kind: tenants.BuyerKind(row.BuyerKind), ID: row.BuyerID},
		Lines: lines, State: State(row.State), JoinedAt: row.JoinedAt, ExpiresAt: row.ExpiresAt, OfferedAt: row.OfferedAt,
		EndedAt: row.EndedAt, Ahead: row.Ahead, Version: row.Version, number: row.Number,
	}
	if row.IsOpen {
		entry.unseen = row.Now.Sub(row.LookedAt)
	}
	if row.HoldID != nil {
		entry.Hold = inventory.HoldID{Region: region, UUID: *row.HoldID}
	}
	switch {
	case entry.State == StateWaiting && !row.Now.Before(entry.ExpiresAt):
		entry.State, entry.EndedAt, entry.Ahead = StateExpired, &row.ExpiresAt, 0
	case entry.State == StateOffered && row.HoldState != nil && row.HoldClaimableAt != nil:
		if entry.State = stateAfter(inventory.HoldState(*row.HoldState), *row.HoldClaimableAt, row.Now); entry.State != StateOffered {
			entry.EndedAt = row.HoldEndedAt
			if entry.EndedAt == nil {
				entry.EndedAt = row.HoldClaimableAt
			}
		}
	}
	return entry, nil
}

// stateAfter is the state of an entry whose hold is in a state.
func stateAfter(state inventory.HoldState, claimable, now time.Time) State {
	switch (inventory.Hold{State: state, ClaimableAt: claimable}).StateAt(now) {
	case inventory.HoldStateConfirmed:
		return StateServed
	case inventory.HoldStateReleased:
		return StateDeclined
	case inventory.HoldStateExpired:
		return StateLapsed
	case inventory.HoldStateActive, inventory.HoldStateProcessing:
	}
	return StateOffered
}

// wishes are kept as the claim takes them; ids in them have their public form.
func encodeLines(lines []inventory.LineRequest) ([]byte, error) {
	encoded, err := json.Marshal(lines)
	if err != nil {
		return nil, fmt.Errorf("encode a wish: %w", err)
	}
	return encoded, nil
}

func decodeLines(encoded []byte) ([]inventory.LineRequest, error) {
	var lines []inventory.LineRequest
	err := json.Unmarshal(encoded, &lines)
	return lines, err
}

// Cursor is a place in a list of a buyer's entries.
type Cursor struct {
	JoinedAt time.Time
	ID       uuid.UUID
}
