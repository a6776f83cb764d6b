package inventory

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// HeldPrice is what a stay of a hold costs and why, as it was fixed when it was held. The booking of the
// hold keeps it.
type HeldPrice struct {
	Hold HoldID
	// Item is the stay's position in the request, from 0, as its lines have it.
	Item  int64
	Price StayPrice
}

// shareOut divides the price of a night over the counters that its rooms come from.
func shareOut(total int64, parts []nightPart) []int64 {
	quantities := make([]int64, len(parts))
	for i, part := range parts {
		quantities[i] = part.quantity
	}
	return money.Apportion(total, quantities)
}

// insertStayPrices stores what the stays of the winners cost.
func (b *batch) insertStayPrices(ctx context.Context, out *pipelined, winners []won) error {
	params := dbsqlc.StayPricesInsertParams{TenantID: b.at.tenant, Region: string(b.at.region)}
	for _, w := range winners {
		for item, price := range w.prices.stays {
			if price == nil {
				continue
			}
			detail, err := json.Marshal(price)
			if err != nil {
				return fmt.Errorf("encode the price of a stay: %w", err)
			}
			params.HoldIds = append(params.HoldIds, w.wish.hold)
			params.Items = append(params.Items, int64(item))
			params.RoomMinors = append(params.RoomMinors, price.Rooms)
			params.AddedMinors = append(params.AddedMinors, price.Added)
			params.TaxMinors = append(params.TaxMinors, price.Tax)
			params.TotalMinors = append(params.TotalMinors, price.Total)
			params.TaxBasisPoints = append(params.TaxBasisPoints, price.TaxBasisPoints)
			params.Details = append(params.Details, string(detail))
		}
	}
	if len(params.HoldIds) == 0 {
		return nil
	}
	if _, err := dbsqlc.New(out).StayPricesInsert(ctx, params); err != nil {
		return fmt.Errorf("store the prices of stays: %w", err)
	}
	out.expect("store the prices of stays", len(params.HoldIds))
	return nil
}

// HeldPrices are the prices of the stays of holds that the actor was shown, and so may look at, by hold.
// Holds without stays have none, nor have those that are older than these prices.
func (s *Service) HeldPrices(ctx context.Context, actor tenants.Actor, holds []HoldID) (map[HoldID][]HeldPrice, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionHoldRead, actor.Tenant)); err != nil {
		return nil, err
	}
	byRegion := map[ids.Region][]uuid.UUID{}
	for _, hold := range holds {
		byRegion[hold.Region] = append(byRegion[hold.Region], hold.UUID)
	}
	prices := make(map[HoldID][]HeldPrice, len(holds))
	for region, of := range byRegion {
		found, err := heldPricesOf(ctx, s.db.Pool(), placeOf(actor.Tenant, region), of)
		if err != nil {
			return nil, db.Classify(err)
		}
		for _, price := range found {
			prices[price.Hold] = append(prices[price.Hold], price)
		}
	}
	return prices, nil
}

func heldPricesOf(ctx context.Context, q dbsqlc.DBTX, at place, holds []uuid.UUID) ([]HeldPrice, error) {
	rows, err := dbsqlc.New(q).StayPricesOfHolds(ctx, dbsqlc.StayPricesOfHoldsParams{TenantID: at.tenant, Region: string(at.region), HoldIds: holds})
	if err != nil {
		return nil, fmt.Errorf("read the prices of stays: %w", err)
	}
	prices := make([]HeldPrice, len(rows))
	for i, row := range rows {
		prices[i] = HeldPrice{Hold: HoldID{Region: at.region, UUID: row.HoldID}, Item: row.Item}
		if err := json.Unmarshal(row.Detail, &prices[i].Price); err != nil {
			return nil, fmt.Errorf("decode the price of stay %d of hold %s: %w", row.Item, row.HoldID, err)
		}
	}
	return prices, nil
}

// addTaxes sets the tax of each line of the hold, in basis points and as an amount: of nights as their
// price was fixed with the hold, of other lines at the rate of the sale.
func (c *Conditions) addTaxes(ctx context.Context, q dbsqlc.DBTX, hold Hold) error {
	c.Taxes = make([]int64, len(hold.Lines))
	nights := false
	for i, line := range hold.Lines {
		c.Taxes[i] = money.IncludedTax(line.Amount.Minor, c.TaxBasisPoints[i])
		nights = nights || line.Kind == LineKindNight
	}
	if !nights {
		return nil
	}
	held, err := heldPricesOf(ctx, q, placeOf(hold.Tenant, hold.ID.Region), []uuid.UUID{hold.ID.UUID})
	if err != nil {
		return err
	}
	for _, stay := range held {
		for _, night := range stay.Price.Nights {
			var lines []int
			var amounts []int64
			for i, line := range hold.Lines {
				if line.Kind == LineKindNight && line.Item == stay.Item && line.Night == night.Night {
					lines, amounts = append(lines, i), append(amounts, line.Amount.Minor)
				}
			}
			for j, tax := range money.Apportion(night.Tax, amounts) {
				c.Taxes[lines[j]], c.TaxBasisPoints[lines[j]] = tax, stay.Price.TaxBasisPoints
			}
		}
	}
	return nil
}
