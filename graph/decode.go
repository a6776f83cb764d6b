package graph

import (
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
)

// decoder reads the parts of a request and keeps the first thing that is wrong, so that a resolver
// asks once, after it has read them all.
type decoder struct{ err error }

// refuse keeps the first mistake.
func (d *decoder) refuse(field string, err error) {
	if d.err == nil {
		d.err = fault.Invalid(field, "%s", err)
	}
}

// readID reads the public id of one kind; an id of another kind is refused before any look-up.
func readID[K ids.Kind](d *decoder, field, text string) ids.ID[K] {
	id, err := ids.Parse[K](text)
	if err != nil {
		d.refuse(field, err)
	}
	return id
}

// readOptionalID is readID for a part that may be left out.
func readOptionalID[K ids.Kind](d *decoder, field string, text *string) *ids.ID[K] {
	if text == nil {
		return nil
	}
	id := readID[K](d, field, *text)
	return &id
}

// readGlobalID is readID for entities without a region.
func readGlobalID[K ids.Kind](d *decoder, field, text string) ids.GlobalID[K] {
	id, err := ids.ParseGlobal[K](text)
	if err != nil {
		d.refuse(field, err)
	}
	return id
}

// readOptionalGlobalID gives the zero id for a part that is left out.
func readOptionalGlobalID[K ids.Kind](d *decoder, field string, text *string) ids.GlobalID[K] {
	if text == nil {
		return ids.GlobalID[K]{}
	}
	return readGlobalID[K](d, field, *text)
}

func readRegion(d *decoder, field, text string) ids.Region {
	region, err := ids.ParseRegion(text)
	if err != nil {
		d.refuse(field, err)
	}
	return region
}

// readOptionalRegion reads the argument region, and gives no region when it is left out.
func readOptionalRegion(d *decoder, text *string) ids.Region {
	if text == nil {
		return ""
	}
	return readRegion(d, "region", *text)
}

func readMoney(d *decoder, field string, input generated.MoneyInput) money.Amount {
	currency, err := money.ParseCurrency(input.Currency)
	if err != nil {
		d.refuse(field+".currency", err)
	}
	return money.Amount{Minor: input.AmountMinor, Currency: currency}
}

// textOf is the text of a part that may be left out.
func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// inInput says of a service's fault where in the operation its field stands: below the argument
// named input.
func inInput(err error) error { return fault.InField("input", err) }
