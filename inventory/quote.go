package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// Quote is what stays cost if they are held together now. It promises nothing of what is left: only a hold does.
type Quote struct {
	Stays []StayQuote
	// Total is the price of all stays together, nil when one of them has none.
	Total *money.Amount
	// Refused are the rules that speak against the stays, whatever is left of the rooms.
	Refused []RefusedLine
	AsOf    time.Time
}

// StayQuote is the price of one stay.
type StayQuote struct {
	Stay StayRequest
	// Line is the stay's position in the request, from 0.
	Line     int
	Property tenants.PropertyID
	// Price is nil when a night of the stay has none.
	Price *StayPrice
	// Version stands for everything that was priced: placeHold with it holds the stay at this price, or not
	// at all. "" without a price.
	Version string
}

// versionOf is a fingerprint of a stay and of its price.
func versionOf(stay StayRequest, price StayPrice) string {
	stay.Quote = ""
	content, err := json.Marshal(struct {
		Stay  StayRequest
		Price StayPrice
	}{stay, price})
	if err != nil {
		// Both are plain values, which always have a JSON form.
		panic(fmt.Sprintf("encode a price: %v", err))
	}
	sum := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(sum[:versionBytes])
}

// versionBytes is how much of the fingerprint a version has.
const versionBytes = 16

// judgePrice compares the price of a claim with what its buyer was shown.
func (f facts) judgePrice(c claim, total money.Amount, prices heldPrices) error {
	changed := ""
	if expected := c.expectedTotal; expected != nil && *expected != total {
		changed = fmt.Sprintf("the price is now %s, expected was %s", total, *expected)
	}
	for i, line := range c.lines {
		if changed == "" && line.Stay != nil && line.Stay.Quote != "" && line.Stay.Quote != versionOf(*line.Stay, *prices.stays[i]) {
			changed = messageOf(RefusalPriceChanged)
		}
	}
	if changed == "" {
		return nil
	}
	refusal := Refuse(RefusalPriceChanged, changed)
	if quote := f.quoteOf(c, prices); len(quote.Stays) > 0 {
		refusal.Quote = &quote
	}
	return refusal
}

// quoteOf is a quote of the stays of a claim that have prices.
func (f facts) quoteOf(c claim, prices heldPrices) Quote {
	quote := Quote{AsOf: f.now}
	total := money.Amount{}
	priced := true
	for i, line := range c.lines {
		if line.Stay == nil {
			continue
		}
		room := f.rooms[line.Stay.RoomType.UUID]
		stay := StayQuote{Stay: *line.Stay, Line: i, Property: tenants.PropertyID{Region: c.region, UUID: room.property}}
		if prices.stays == nil || prices.stays[i] == nil {
			priced = false
		} else {
			stay.Price, stay.Version = prices.stays[i], versionOf(*line.Stay, *prices.stays[i])
			// The sum was bounded when the claim was priced.
			total.Minor += stay.Price.Total
			total.Currency = stay.Price.Currency
		}
		quote.Stays = append(quote.Stays, stay)
	}
	if priced {
		quote.Total = &total
	}
	return quote
}

// Quote is what stays cost that are held together, with the promotion of a code, "" for none. It reads and
// holds nothing, and may be seconds old.
func (s *Service) Quote(ctx context.Context, actor tenants.Actor, stays []StayRequest, promotionCode string) (Quote, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionAvailabilityRead, actor.Tenant)); err != nil {
		return Quote{}, err
	}
	c, err := quoteClaim(stays, promotionCode)
	if err != nil {
		return Quote{}, err
	}
	if err := s.authorizeClaim(ctx, actor, policies.ActionAvailabilityRead, c); err != nil {
		return Quote{}, err
	}
	c.channels = append(c.channels, actor.Channel.UUID)
	return db.InSnapshotAsOf(ctx, s.db, func(ctx context.Context, at db.Snapshot) (Quote, error) {
		return quoteTx(ctx, at.Tx, actor, c)
	}, db.Stale(mapStaleness))
}

func quoteClaim(stays []StayRequest, promotionCode string) (claim, error) {
	if len(stays) < 1 || len(stays) > maxLines {
		return claim{}, fault.Invalid("stays", "expected 1 to %d stays, got %d", maxLines, len(stays))
	}
	var c claim
	seen := newSeenUnits()
	for i := range stays {
		if err := c.addStay(fmt.Sprintf("stays[%d]", i), stays[i], &seen); err != nil {
			return claim{}, err
		}
		if c.unitRows += stays[i].nights(); c.unitRows > maxHoldUnits {
			return claim{}, fault.Invalid(fmt.Sprintf("stays[%d]", i), "the stays have more than %d nights together", maxHoldUnits)
		}
		c.lines = append(c.lines, LineRequest{Stay: &stays[i]})
	}
	c.sort()
	if promotionCode != "" {
		c.promotionCode = normalCode(promotionCode)
		return c, checkCode("promotionCode", c.promotionCode)
	}
	return c, nil
}

func quoteTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, c claim) (Quote, error) {
	at := placeOf(actor.Tenant, c.region)
	var codes []string
	if c.promotionCode != "" {
		codes = append(codes, c.promotionCode)
	}
	f, err := factsOf(ctx, tx, at, c, nil, codes)
	if err != nil {
		return Quote{}, err
	}
	refused, err := c.judgeRules(actor, f)
	if err != nil {
		return refusedQuote(f.quoteOf(c, heldPrices{}), err)
	}
	if f.anyUnpriced(c) {
		quote := f.quoteOf(c, heldPrices{})
		quote.Refused = refused
		return quote, nil
	}
	prices, err := f.pricesOf(c, nil)
	if err != nil {
		return refusedQuote(f.quoteOf(c, heldPrices{}), err)
	}
	quote := f.quoteOf(c, prices)
	quote.Refused = append(refused, f.usedUp(prices)...)
	return quote, nil
}

// refusedQuote is the quote of stays that a rule refuses as a whole: it says so in the place of prices.
func refusedQuote(quote Quote, err error) (Quote, error) {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return Quote{}, inStays(err)
	}
	quote.Refused = append(quote.Refused, RefusedLine{Code: refusal.Code})
	return quote, nil
}

// inStays names the fields of a hold as those of a quote, which has nothing but stays.
func inStays(err error) error {
	var invalid *fault.Error
	if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Field, "lines") {
		return err
	}
	named := *invalid
	named.Field = "stays" + strings.Replace(strings.TrimPrefix(invalid.Field, "lines"), ".stay", "", 1)
	return &named
}

// anyUnpriced reports whether a night of the claim's stays has no price.
func (f *facts) anyUnpriced(c claim) bool {
	for _, line := range c.lines {
		if line.Stay != nil && len(f.amountsOf(*line.Stay)) < line.Stay.nights() {
			return true
		}
	}
	return false
}

// usedUp says whether the promotion of the claim's code had no use left when it was read.
func (f facts) usedUp(prices heldPrices) []RefusedLine {
	for _, promotion := range f.promotions {
		if prices.use != nil && promotion.id == *prices.use && promotion.left <= 0 {
			return []RefusedLine{{Line: prices.firstLine(), Code: RefusalPromotionUsedUp}}
		}
	}
	return nil
}
