package inventory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

const constraintPresaleCeiling = "presale_counters_ceiling"

// presaleFacts is a presale code of a show, as it is stored.
type presaleFacts struct {
	id, show     uuid.UUID
	opens, shuts *time.Time
}

// openAt reports whether the code's own window is open. The code is good from opens to shuts, the
// latter not included.
func (p *presaleFacts) openAt(now time.Time) bool {
	return p != nil && (p.opens == nil || !now.Before(*p.opens)) && (p.shuts == nil || now.Before(*p.shuts))
}

// normalCode is how a code is stored and compared: capitals without spaces, because it is read from
// a letter or told on the telephone.
func normalCode(code string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToUpper(r)
	}, code)
}

// checkCode names the field of a normal code that cannot be one.
func checkCode(field, code string) error {
	fits := func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' }
	if len(code) < minCodeLength || len(code) > maxCodeLength || strings.ContainsFunc(code, func(r rune) bool { return !fits(r) }) {
		return fault.Invalid(field, "expected %d to %d letters A to Z, digits, - and _; capitals and spaces make no difference", minCodeLength, maxCodeLength)
	}
	return nil
}

// readPresale finds the codes that buyers named. A code is of one show, so it is asked for only when
// the claim is.
func (f *facts) readPresale(ctx context.Context, tx pgx.Tx, at place, codes []string) error {
	if len(codes) == 0 || len(f.shows) != 1 {
		return nil
	}
	f.presale = map[string]*presaleFacts{}
	for show := range f.shows {
		rows, err := dbsqlc.New(tx).PresaleCodesForClaim(ctx, dbsqlc.PresaleCodesForClaimParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: show, Codes: codes,
		})
		if err != nil {
			return fmt.Errorf("read presale codes: %w", err)
		}
		for _, row := range rows {
			f.presale[row.Code] = &presaleFacts{id: row.ID, show: row.ShowID, opens: row.OpensAt, shuts: row.ClosesAt}
		}
	}
	return nil
}

// judgePresale refuses a code that is not good now, with one answer for all reasons: whoever guesses
// codes learns nothing.
func (c claim) judgePresale(f facts) (*presaleFacts, error) {
	if c.presaleCode == "" {
		return nil, nil //nolint:nilnil // a claim without a code is the common one
	}
	if len(f.shows) != 1 {
		return nil, fault.Invalid("presaleCode", "a presale code is of one show; expected seats and pools of exactly one, got %d", len(f.shows))
	}
	presale := f.presale[c.presaleCode]
	if !presale.openAt(f.now) {
		return nil, Refuse(RefusalPresaleCode, messageOf(RefusalPresaleCode))
	}
	return presale, nil
}

// presaleID is the code whose use a claim takes, nil for none.
func (f facts) presaleID(c claim) *uuid.UUID {
	if c.presaleCode == "" || f.presale[c.presaleCode] == nil {
		return nil
	}
	return &f.presale[c.presaleCode].id
}

// presaleIDs are all the codes that the batch's wishes may take a use of.
func (f facts) presaleIDs() []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(f.presale))
	for _, presale := range f.presale {
		ids = append(ids, presale.id)
	}
	return ids
}

// claimUses takes uses of codes, in lock order; the counters' named CHECK refuses what is not left.
func (b *batch) claimUses(ctx context.Context, tx pgx.Tx, codes []uuid.UUID) error {
	for code, uses := range countUses(codes) {
		n, err := dbsqlc.New(tx).PresaleCounterHold(ctx, dbsqlc.PresaleCounterHoldParams{
			TenantID: b.at.tenant, Region: string(b.at.region), CodeID: code, Uses: uses,
		})
		if err != nil {
			return b.guardSpoke(err, "take a use of the presale code")
		}
		if n != 1 {
			return fmt.Errorf("take a use of presale code %s: its counter is missing", code)
		}
	}
	return nil
}

// countUses says how often each code is named, in ascending order.
func countUses(codes []uuid.UUID) iter.Seq2[uuid.UUID, int64] {
	sorted := slices.Clone(codes)
	slices.SortFunc(sorted, compareUUID)
	return func(yield func(uuid.UUID, int64) bool) {
		for len(sorted) > 0 {
			n := 1
			for n < len(sorted) && sorted[n] == sorted[0] {
				n++
			}
			if !yield(sorted[0], int64(n)) {
				return
			}
			sorted = sorted[n:]
		}
	}
}

// lockPresale locks the counters of codes, the last rows in the lock order, and says what is left of
// each.
func lockPresale(ctx context.Context, tx pgx.Tx, at place, codes []uuid.UUID) (map[uuid.UUID]int64, error) {
	if len(codes) == 0 {
		return nil, nil //nolint:nilnil // nothing is left of no codes
	}
	rows, err := dbsqlc.New(tx).PresaleCountersLock(ctx, dbsqlc.PresaleCountersLockParams{TenantID: at.tenant, Region: string(at.region), CodeIds: codes})
	if err != nil {
		return nil, fmt.Errorf("lock presale counters: %w", err)
	}
	left := make(map[uuid.UUID]int64, len(rows))
	for _, row := range rows {
		left[row.CodeID] = max(0, row.Ceiling-row.Held-row.Booked)
	}
	return left, nil
}

// moveUses moves the counters of presale codes for holds that end, one use a hold, in lock order.
func moveUses(ctx context.Context, tx pgx.Tx, at place, codes []uuid.UUID, m move) error {
	for code, uses := range countUses(codes) {
		n, err := dbsqlc.New(tx).PresaleCounterMove(ctx, dbsqlc.PresaleCounterMoveParams{
			TenantID: at.tenant, Region: string(at.region), CodeID: code, HeldDelta: m.held * uses, BookedDelta: m.booked * uses,
		})
		if err != nil {
			return fmt.Errorf("%s uses of presale code %s: %w", m.name, code, err)
		}
		if n != 1 {
			return fmt.Errorf("%s uses of presale code %s: its counter is missing", m.name, code)
		}
	}
	return nil
}

// uses are the presale code and the promotion of which a hold has a use.
func (h Hold) uses() []uuid.UUID {
	var uses []uuid.UUID
	if h.PresaleCode != nil {
		uses = append(uses, h.PresaleCode.UUID)
	}
	if h.Promotion != nil {
		uses = append(uses, h.Promotion.UUID)
	}
	return uses
}

// presaleOf reads the code that a hold was placed with, for the rules that are asked again; nil for
// none.
func presaleOf(ctx context.Context, tx pgx.Tx, at place, hold Hold) (*presaleFacts, error) {
	if hold.PresaleCode == nil {
		return nil, nil //nolint:nilnil // a hold without a code is the common one
	}
	row, err := dbsqlc.New(tx).PresaleCodeOfHold(ctx, dbsqlc.PresaleCodeOfHoldParams{TenantID: at.tenant, Region: string(at.region), ID: hold.PresaleCode.UUID})
	if err != nil {
		return nil, fmt.Errorf("read the presale code of hold %s: %w", hold.ID, err)
	}
	return &presaleFacts{id: row.ID, show: row.ShowID, opens: row.OpensAt, shuts: row.ClosesAt}, nil
}
