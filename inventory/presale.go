package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// PresaleCode lets whoever has it hold units of one show before its sale opens for everybody.
type PresaleCode struct {
	ID   PresaleCodeID
	Show ShowID
	// Code is in capitals, without spaces; buyers may write it in any way.
	Code string
	// Uses is how many holds the code is good for. Held are taken by live holds, Used by sales. A sale
	// that is cancelled keeps its use.
	Uses, Held, Used int64
	// OpensAt and ClosesAt bound the code's own window; nil is no bound.
	OpensAt, ClosesAt *time.Time
}

// NewPresaleCodes are codes of one show with the same window and number of uses.
type NewPresaleCodes struct {
	Show  ShowID
	Codes []string
	// Uses of each code.
	Uses              int64
	OpensAt, ClosesAt *time.Time
}

func (n NewPresaleCodes) normal() (NewPresaleCodes, error) {
	if len(n.Codes) < 1 || len(n.Codes) > maxCodesPerCall {
		return n, fault.Invalid("codes", "expected 1 to %d codes, got %d", maxCodesPerCall, len(n.Codes))
	}
	seen := make(map[string]int, len(n.Codes))
	codes := make([]string, len(n.Codes))
	for i, code := range n.Codes {
		field := fmt.Sprintf("codes[%d]", i)
		codes[i] = normalCode(code)
		if err := checkCode(field, codes[i]); err != nil {
			return n, err
		}
		if first, twice := seen[codes[i]]; twice {
			return n, fault.Invalid(field, "the same code is named at codes[%d]", first)
		}
		seen[codes[i]] = i
	}
	n.Codes = codes
	if err := checkUses(n.Uses); err != nil {
		return n, err
	}
	return n, checkWindow(n.OpensAt, n.ClosesAt)
}

func checkUses(uses int64) error {
	if uses < 0 || uses > maxCodeUses {
		return fault.Invalid("uses", "expected 0 to %d, got %d", int64(maxCodeUses), uses)
	}
	return nil
}

func checkWindow(opens, closes *time.Time) error {
	if opens != nil && closes != nil && !opens.Before(*closes) {
		return fault.Invalid("closesAt", "expected a time after opensAt")
	}
	return nil
}

// CreatePresaleCodes adds codes to a show. A code that the show has already is a conflict, and then
// none is added.
func (s *Service) CreatePresaleCodes(ctx context.Context, actor tenants.Actor, requestKey string, input NewPresaleCodes) ([]PresaleCode, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionPresaleSet, "show", input.Show.Region, input.Show.UUID); err != nil {
		return nil, err
	}
	input, err := input.normal()
	if err != nil {
		return nil, err
	}
	at := placeOf(actor.Tenant, input.Show.Region)
	if _, err := s.create(ctx, actor, at.region, "createPresaleCodes", requestKey, input, func(ctx context.Context, tx pgx.Tx, _ uuid.UUID) error {
		queries := dbsqlc.New(tx)
		if err := showTx(ctx, tx, at, input.Show.UUID); err != nil {
			return err
		}
		codes := make([]uuid.UUID, len(input.Codes))
		for i := range codes {
			codes[i] = uuid.New()
		}
		if _, err := queries.PresaleCodesInsert(ctx, dbsqlc.PresaleCodesInsertParams{
			TenantID: at.tenant, Region: string(at.region), ShowID: input.Show.UUID, OpensAt: input.OpensAt, ClosesAt: input.ClosesAt,
			Ids: codes, Codes: input.Codes,
		}); err != nil {
			return fmt.Errorf("store presale codes: %w", err)
		}
		if _, err := queries.PresaleCountersInsert(ctx, dbsqlc.PresaleCountersInsertParams{
			TenantID: at.tenant, Region: string(at.region), Ids: codes, Uses: input.Uses,
		}); err != nil {
			return fmt.Errorf("store the counters of presale codes: %w", err)
		}
		return tenants.AuditTx(ctx, tx, actor, tenants.Change{Action: policies.ActionPresaleSet, Resource: input.Show, After: map[string]any{
			"presaleCodes": len(codes), "uses": input.Uses, "opensAt": input.OpensAt, "closesAt": input.ClosesAt,
		}})
	}); err != nil {
		return nil, err
	}
	rows, err := dbsqlc.New(s.db.Pool()).PresaleCodesByCode(ctx, dbsqlc.PresaleCodesByCodeParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: input.Show.UUID, Codes: input.Codes,
	})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read presale codes: %w", err))
	}
	found := make([]PresaleCode, len(rows))
	for i, row := range rows {
		found[i] = presaleCodeOf(at, dbsqlc.PresaleCodesPageRow(row))
	}
	// In the order of the request.
	slices.SortFunc(found, func(a, b PresaleCode) int {
		return slices.Index(input.Codes, a.Code) - slices.Index(input.Codes, b.Code)
	})
	return found, nil
}

// showTx says that a show is the tenant's.
func showTx(ctx context.Context, q dbsqlc.DBTX, at place, show uuid.UUID) error {
	shows, err := dbsqlc.New(q).ShowsForClaim(ctx, dbsqlc.ShowsForClaimParams{TenantID: at.tenant, Region: string(at.region), Ids: []uuid.UUID{show}})
	if err != nil {
		return fmt.Errorf("read the show: %w", err)
	}
	if len(shows) == 0 {
		return fault.NotFound("show")
	}
	return nil
}

// PresaleChange names what to set of a code; nil leaves a value as it is.
type PresaleChange struct {
	Uses              *int64
	OpensAt, ClosesAt *time.Time
}

// ChangePresaleCode changes a code's uses and window. Fewer uses than are taken end the code without
// touching what is held or sold. A code whose closesAt has passed is over, for extensions and
// checkouts of its holds too.
func (s *Service) ChangePresaleCode(ctx context.Context, actor tenants.Actor, requestKey string, id PresaleCodeID, change PresaleChange) (PresaleCode, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionPresaleSet, "presale code", id.Region, id.UUID); err != nil {
		return PresaleCode{}, err
	}
	if change.Uses != nil {
		if err := checkUses(*change.Uses); err != nil {
			return PresaleCode{}, err
		}
	}
	if err := request.ValidateKey(requestKey); err != nil {
		return PresaleCode{}, err
	}
	fingerprint, err := request.Fingerprint(struct {
		ID     string
		Change PresaleChange
	}{id.String(), change})
	if err != nil {
		return PresaleCode{}, err
	}
	at := placeOf(actor.Tenant, id.Region)
	return db.Replayable(ctx, s.db, "inventory.ChangePresaleCode", func(ctx context.Context, tx pgx.Tx) (PresaleCode, error) {
		_, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: at.tenant, Region: at.region, Key: requestKey, Scope: "changePresaleCode/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, id.UUID)
		if err != nil {
			return PresaleCode{}, err
		}
		return changePresaleTx(ctx, tx, actor, at, id, change, replayed)
	})
}

func changePresaleTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, at place, code PresaleCodeID, change PresaleChange, replayed bool) (PresaleCode, error) {
	queries, id := dbsqlc.New(tx), code.UUID
	row, err := queries.PresaleCodeLock(ctx, dbsqlc.PresaleCodeLockParams{TenantID: at.tenant, Region: string(at.region), ID: id})
	if db.IsNoRows(err) {
		return PresaleCode{}, fault.NotFound("presale code")
	}
	if err != nil {
		return PresaleCode{}, fmt.Errorf("lock presale code: %w", err)
	}
	before, err := presaleCodeTx(ctx, queries, at, row)
	if err != nil || replayed {
		return before, err
	}
	if change.OpensAt != nil {
		row.OpensAt = change.OpensAt
	}
	if change.ClosesAt != nil {
		row.ClosesAt = change.ClosesAt
	}
	if err := checkWindow(row.OpensAt, row.ClosesAt); err != nil {
		return PresaleCode{}, err
	}
	if _, err := queries.PresaleCodeSet(ctx, dbsqlc.PresaleCodeSetParams{
		TenantID: at.tenant, Region: string(at.region), ID: id, OpensAt: row.OpensAt, ClosesAt: row.ClosesAt,
	}); err != nil {
		return PresaleCode{}, fmt.Errorf("change presale code: %w", err)
	}
	if change.Uses != nil {
		if _, err := queries.PresaleCounterLimitSet(ctx, dbsqlc.PresaleCounterLimitSetParams{
			TenantID: at.tenant, Region: string(at.region), CodeID: id, Uses: *change.Uses,
		}); err != nil {
			return PresaleCode{}, fmt.Errorf("set the uses of a presale code: %w", err)
		}
	}
	after, err := presaleCodeTx(ctx, queries, at, row)
	if err != nil {
		return PresaleCode{}, err
	}
	type terms struct {
		Uses              int64
		OpensAt, ClosesAt *time.Time
	}
	return after, tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionPresaleSet, Resource: code,
		Before: terms{before.Uses, before.OpensAt, before.ClosesAt}, After: terms{after.Uses, after.OpensAt, after.ClosesAt},
	})
}

func presaleCodeTx(ctx context.Context, queries *dbsqlc.Queries, at place, row dbsqlc.PresaleCodeLockRow) (PresaleCode, error) {
	codes, err := queries.PresaleCodesByCode(ctx, dbsqlc.PresaleCodesByCodeParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: row.ShowID, Codes: []string{row.Code},
	})
	if err != nil || len(codes) != 1 {
		return PresaleCode{}, fmt.Errorf("read presale code: %d found: %w", len(codes), err)
	}
	return presaleCodeOf(at, dbsqlc.PresaleCodesPageRow(codes[0])), nil
}

// PresaleCodes lists the codes of a show in alphabetical order, at most limit after the given one,
// and says whether more follow.
func (s *Service) PresaleCodes(ctx context.Context, actor tenants.Actor, show ShowID, after string, limit int) ([]PresaleCode, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionPresaleRead, "show", show.Region, show.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	at := placeOf(actor.Tenant, show.Region)
	if err := showTx(ctx, s.db.Pool(), at, show.UUID); err != nil {
		return nil, false, db.Classify(err)
	}
	rows, err := dbsqlc.New(s.db.Pool()).PresaleCodesPage(ctx, dbsqlc.PresaleCodesPageParams{
		TenantID: at.tenant, Region: string(at.region), ShowID: show.UUID, AfterCode: after, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("list presale codes: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	codes := make([]PresaleCode, len(rows))
	for i, row := range rows {
		codes[i] = presaleCodeOf(at, row)
	}
	return codes, more, nil
}

func presaleCodeOf(at place, row dbsqlc.PresaleCodesPageRow) PresaleCode {
	return PresaleCode{
		ID: PresaleCodeID{Region: at.region, UUID: row.ID}, Show: ShowID{Region: at.region, UUID: row.ShowID}, Code: row.Code,
		Uses: row.SellLimit, Held: row.Held, Used: row.Booked, OpensAt: row.OpensAt, ClosesAt: row.ClosesAt,
	}
}
