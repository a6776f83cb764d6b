package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
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

// readPresale finds the code that a buyer named. A code is of one show, so the hold must be too. An
// unknown code leaves f.presale nil.
func (f *facts) readPresale(ctx context.Context, tx pgx.Tx, at place, c claim) error {
	if c.presaleCode == "" {
		return nil
	}
	if len(f.shows) != 1 {
		return fault.Invalid("presaleCode", "a presale code is of one show; expected seats and pools of exactly one, got %d", len(f.shows))
	}
	for show := range f.shows {
		row, err := dbsqlc.New(tx).PresaleCodeForClaim(ctx, dbsqlc.PresaleCodeForClaimParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: show, Code: c.presaleCode,
		})
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the presale code: %w", err)
		}
		f.presale = &presaleFacts{id: row.ID, show: row.ShowID, opens: row.OpensAt, shuts: row.ClosesAt}
	}
	return nil
}

// judgePresale refuses a code that is not good now, with one answer for all reasons: whoever guesses
// codes learns nothing.
func (c claim) judgePresale(f facts) error {
	if c.presaleCode != "" && !f.presale.openAt(f.now) {
		return Refuse(RefusalPresaleCode, messageOf(RefusalPresaleCode))
	}
	return nil
}

// presaleID is the code whose use a claim takes, nil for none.
func (f facts) presaleID() *uuid.UUID {
	if f.presale == nil {
		return nil
	}
	return &f.presale.id
}

// claimPresale takes a use of the code; the counter's named CHECK refuses what is not left.
func (p placing) claimPresale(ctx context.Context, tx pgx.Tx, f facts) error {
	code := f.presaleID()
	if code == nil {
		return nil
	}
	n, err := dbsqlc.New(tx).PresaleCounterHold(ctx, dbsqlc.PresaleCounterHoldParams{TenantID: p.at.tenant, Region: string(p.at.region), CodeID: *code})
	if err != nil {
		return p.guardSpoke(err, "take a use of the presale code")
	}
	if n != 1 {
		return fmt.Errorf("take a use of presale code %s: its counter is missing", *code)
	}
	return nil
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
	uses := map[uuid.UUID]int64{}
	for _, code := range codes {
		uses[code]++
	}
	distinct := slices.Clone(codes)
	slices.SortFunc(distinct, compareUUID)
	for _, code := range slices.Compact(distinct) {
		n, err := dbsqlc.New(tx).PresaleCounterMove(ctx, dbsqlc.PresaleCounterMoveParams{
			TenantID: at.tenant, Region: string(at.region), CodeID: code, HeldDelta: m.held * uses[code], BookedDelta: m.booked * uses[code],
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

// uses are the presale codes of a hold: one or none.
func (h Hold) uses() []uuid.UUID {
	if h.PresaleCode == nil {
		return nil
	}
	return []uuid.UUID{h.PresaleCode.UUID}
}

// readPresaleOf reads the code that a hold was placed with, for the rules that are asked again.
func (f *facts) readPresaleOf(ctx context.Context, tx pgx.Tx, at place, hold Hold) error {
	if hold.PresaleCode == nil {
		return nil
	}
	row, err := dbsqlc.New(tx).PresaleCodeOfHold(ctx, dbsqlc.PresaleCodeOfHoldParams{TenantID: at.tenant, Region: string(at.region), ID: hold.PresaleCode.UUID})
	if err != nil {
		return fmt.Errorf("read the presale code of hold %s: %w", hold.ID, err)
	}
	f.presale = &presaleFacts{id: row.ID, show: row.ShowID, opens: row.OpensAt, shuts: row.ClosesAt}
	return nil
}
