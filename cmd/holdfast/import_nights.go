package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade"
)

type importNightsCommand struct {
	keyFlag
	File     string `arg:"" help:"A CSV file with a header row and the column \"night\"; the others are listed above. Also compressed by gzip."`
	RoomType string `required:"" help:"The room type that the nights are of, by its public id."`
}

// Help is what --help says beyond the flags.
func (importNightsCommand) Help() string {
	return `Columns, in any order: night (2027-03-14), physical, out_of_order,
oversell or oversell_percent,
rate (12.50, in the currency of the hotel) or rate_minor (1250), stop_sell,
closed_to_arrival, closed_to_departure (true, yes or 1; false, no or 0), min_stay_arrival,
max_stay_arrival, min_stay_through, max_stay_through (nights; 0 is no rule).

Only night is required. An empty cell leaves what is there. A night that does
not exist yet needs physical.

The whole file is checked before anything is written. A file of up to 731 nights
is then written all or none; a longer one in parts of 731 nights, and when a part
is refused the message says which parts were written before it.`
}

// Run checks the file, then writes it.
func (c *importNightsCommand) Run(ctx context.Context, root *cli) error {
	roomType, err := ids.Parse[inventory.RoomTypeKind](c.RoomType)
	if err != nil {
		return fmt.Errorf("--room-type: %w", err)
	}
	content, _, err := readImport(c.File)
	if err != nil {
		return err
	}
	return root.withApp(ctx, func(ctx context.Context, a *app) error {
		actor, err := c.actor(ctx, a)
		if err != nil {
			return err
		}
		currency, err := a.currencyOf(ctx, actor, roomType)
		if err != nil {
			return err
		}
		nights, err := parseNights(c.File, content, currency)
		if err != nil {
			return err
		}
		set, err := a.importNights(ctx, actor, roomType, c.File, nights)
		if err != nil {
			return err
		}
		printNights(os.Stdout, set)
		return nil
	})
}

// currencyOf is the money that a room type is sold in.
func (a *app) currencyOf(ctx context.Context, actor tenants.Actor, id inventory.RoomTypeID) (money.Currency, error) {
	found, err := a.inventory.RoomTypesByID(ctx, actor, []inventory.RoomTypeID{id})
	if err != nil {
		return "", err
	}
	roomType, ok := found[id]
	if !ok {
		return "", errors.New("--room-type: the tenant has no such room type")
	}
	property, err := a.tenants.Property(ctx, actor, roomType.Property)
	return property.Currency, err
}

// importNights writes checked nights in parts of inventory.MaxNightsPerEdit, each all or none.
// Its error names the file and the lines.
func (a *app) importNights(ctx context.Context, actor tenants.Actor, roomType inventory.RoomTypeID, file string, nights []trade.NightLine) (inventory.NightsSet, error) {
	var total inventory.NightsSet
	for start := 0; start < len(nights); start += inventory.MaxNightsPerEdit {
		part := nights[start:min(len(nights), start+inventory.MaxNightsPerEdit)]
		changes := make([]inventory.DatedChange, len(part))
		for i, night := range part {
			changes[i] = night.Change
		}
		set, err := a.inventory.WriteNights(ctx, actor, roomType, changes)
		if err != nil {
			stored := "nothing was stored"
			if start > 0 {
				stored = fmt.Sprintf("%s were stored before, the rest was not", linesOf(nights[:start]))
			}
			return total, fmt.Errorf("%s: %s: %w (%s)", file, linesOf(part), err, stored)
		}
		total.Nights += set.Nights
		total.Oversold = append(total.Oversold, set.Oversold...)
	}
	return total, nil
}

// parseNights reads a whole file of nights, in the order of its lines, or says everything that is
// wrong with it.
func parseNights(path string, content []byte, currency money.Currency) ([]trade.NightLine, error) {
	found := problems{file: path}
	nights := trade.ReadNights(content, currency, found.add)
	return nights, found.err()
}

// linesOf says which lines of the file some nights are on.
func linesOf(nights []trade.NightLine) string {
	first, last := nights[0].Line, nights[len(nights)-1].Line
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

func printNights(out io.Writer, set inventory.NightsSet) {
	were := "were"
	if set.Nights == 1 {
		were = "was"
	}
	fmt.Fprintf(out, "%s %s written.\n", count(int64(set.Nights), "night"), were)
	if len(set.Oversold) == 0 {
		return
	}
	fmt.Fprintf(out, "More is sold than the limit allows now; these sell nothing until they are below it:\n")
	for _, night := range set.Oversold {
		fmt.Fprintf(out, "  %s  limit %d, sold or held %d\n", night.Night, night.SellLimit, night.Taken())
	}
}
