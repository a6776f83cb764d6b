package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// AppliedPromotion is a promotion as it stands in a price.
type AppliedPromotion struct {
	ID   PromotionID `json:"id"`
	Name string      `json:"name"`
	// Code is the code that it was asked for with, "" for one that applies by itself.
	Code string `json:"code"`
}

// promotionTerms are what a promotion takes off a stay: a percentage of its rooms, or an amount.
type promotionTerms struct {
	applied     AppliedPromotion
	basisPoints int64
	minor       int64
}

// off is what is taken off the price of the rooms on each night; never more than that price.
func (p promotionTerms) off(rooms []int64, rounding RoundingRule) []int64 {
	if p.basisPoints > 0 {
		return rounding.perNight(rooms, func(amount int64) int64 { return rounding.Mode.Percent(amount, p.basisPoints) })
	}
	sum := int64(0)
	for _, amount := range rooms {
		sum += amount
	}
	return money.Apportion(min(p.minor, sum), rooms)
}

// promotionFacts is a promotion of a property, as a claim finds it.
type promotionFacts struct {
	id, property uuid.UUID
	terms        promotionTerms
	from         *time.Time
	until        *time.Time
	stayFrom     *civil.Date
	stayTo       *civil.Date
	minNights    int64
	roomTypes    []uuid.UUID
	ratePlans    []uuid.UUID
	// counted: it has a limit of uses, of which left were not taken when it was read.
	counted bool
	left    int64
}

// openAt reports whether it may be booked now: from the first instant on and before the last.
func (p promotionFacts) openAt(now time.Time) bool {
	return (p.from == nil || !now.Before(*p.from)) && (p.until == nil || now.Before(*p.until))
}

// fits reports whether it is for a stay: every night within the window, long enough, of its room types and
// rate plans.
func (p promotionFacts) fits(stay StayRequest, property uuid.UUID) bool {
	switch {
	case p.property != property,
		p.stayFrom != nil && stay.CheckIn.Before(*p.stayFrom),
		p.stayTo != nil && stay.lastNight().After(*p.stayTo),
		int64(stay.nights()) < p.minNights,
		len(p.roomTypes) > 0 && !slices.Contains(p.roomTypes, stay.RoomType.UUID):
		return false
	}
	return len(p.ratePlans) == 0 || stay.RatePlan != nil && slices.Contains(p.ratePlans, stay.RatePlan.UUID)
}

// usable reports whether it may lower the price of a claim with such a code, "" for none: one by itself as
// long as there are uses left, one with a code when the code is named, whatever is left: when nothing is,
// the claim is refused and not made dearer.
func (p promotionFacts) usable(code string, now time.Time, left map[uuid.UUID]int64) bool {
	if !p.openAt(now) {
		return false
	}
	if p.terms.applied.Code != "" {
		return p.terms.applied.Code == code
	}
	if locked, ok := left[p.id]; ok {
		return locked > 0
	}
	return !p.counted || p.left > 0
}

// readPromotions finds the promotions of properties that apply by themselves, and those of the codes that
// buyers named.
func readPromotions(ctx context.Context, q dbsqlc.DBTX, at place, properties []uuid.UUID, codes []string, now time.Time) ([]promotionFacts, error) {
	if codes == nil {
		codes = []string{}
	}
	rows, err := dbsqlc.New(q).PromotionsForClaim(ctx, dbsqlc.PromotionsForClaimParams{
		TenantID: at.tenant, Region: string(at.region), PropertyIds: properties, Codes: codes, Now: now, MaxRows: maxPromotionsRead * int32(max(1, len(properties))), //nolint:gosec // at most MaxSearchHotels
	})
	if err != nil {
		return nil, fmt.Errorf("read promotions: %w", err)
	}
	promotions := make([]promotionFacts, len(rows))
	for i, row := range rows {
		promotions[i] = promotionFacts{
			id: row.ID, property: row.PropertyID,
			terms: promotionTerms{
				applied:     AppliedPromotion{ID: PromotionID{Region: at.region, UUID: row.ID}, Name: row.Name},
				basisPoints: row.BasisPoints, minor: row.AmountMinor,
			},
			from: row.BookFrom, until: row.BookUntil, stayFrom: row.StayFrom, stayTo: row.StayTo, minNights: row.MinNights,
			roomTypes: row.RoomTypeIds, ratePlans: row.RatePlanIds, counted: row.Counted, left: row.LeftUses,
		}
		if row.Code != nil {
			promotions[i].terms.applied.Code = *row.Code
		}
	}
	return promotions, nil
}

// promotionIDs are the counted promotions that the batch's wishes may take a use of.
func (f facts) promotionIDs() []uuid.UUID {
	counted := []uuid.UUID{}
	for _, promotion := range f.promotions {
		if promotion.counted {
			counted = append(counted, promotion.id)
		}
	}
	return counted
}

// promotionCodes are the codes that the wishes name.
func (b *batch) promotionCodes() []string {
	var codes []string
	for _, w := range b.wishes {
		if w.claim.promotionCode != "" {
			codes = append(codes, w.claim.promotionCode)
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// judgePromotion says, over the locked counters, whether the promotion of the wish's price has a use left.
func (f facts) judgePromotion(prices heldPrices, s stock) []RefusedLine {
	if prices.use == nil || s.uses == nil || s.uses[*prices.use] > 0 {
		return nil
	}
	return []RefusedLine{{Line: prices.firstLine(), Code: RefusalPromotionUsedUp}}
}

// promotionOf is the public id of the promotion whose use a hold has.
func promotionOf(region ids.Region, id *uuid.UUID) *PromotionID {
	if id == nil {
		return nil
	}
	return &PromotionID{Region: region, UUID: *id}
}
