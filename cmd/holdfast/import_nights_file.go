package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
)

// maxNightLines bounds a file of nights: two hundred years of one room type.
const maxNightLines = 200 * 366

// lineOfNight is a line of the file and what it says.
type lineOfNight struct {
	line   int
	change inventory.DatedChange
}

// nightColumn reads one cell into a change. Its error says what was expected.
type nightColumn func(change *inventory.NightChange, cell string) error

const (
	columnNight     = "night"
	columnRate      = "rate"
	columnRateMinor = "rate_minor"

	maxRooms    = 100_000
	maxStayRule = 366
)

// nightColumns are the columns that a file of nights may have besides the night itself.
func nightColumns(currency money.Currency) map[string]nightColumn {
	number := func(high int64, target func(*inventory.NightChange) **int64) nightColumn {
		return func(change *inventory.NightChange, cell string) error {
			n, err := parseWhole(cell, high)
			if err == nil {
				*target(change) = &n
			}
			return err
		}
	}
	flag := func(target func(*inventory.NightChange) **bool) nightColumn {
		return func(change *inventory.NightChange, cell string) error {
			value, err := parseFlag(cell)
			if err == nil {
				*target(change) = &value
			}
			return err
		}
	}
	return map[string]nightColumn{
		"physical":            number(maxRooms, func(c *inventory.NightChange) **int64 { return &c.Physical }),
		"out_of_order":        number(maxRooms, func(c *inventory.NightChange) **int64 { return &c.OutOfOrder }),
		"oversell":            number(maxRooms, func(c *inventory.NightChange) **int64 { return &c.Oversell }),
		"stop_sell":           flag(func(c *inventory.NightChange) **bool { return &c.StopSell }),
		"closed_to_arrival":   flag(func(c *inventory.NightChange) **bool { return &c.ClosedToArrival }),
		"closed_to_departure": flag(func(c *inventory.NightChange) **bool { return &c.ClosedToDeparture }),
		"min_stay_arrival":    number(maxStayRule, func(c *inventory.NightChange) **int64 { return &c.MinStayArrival }),
		"max_stay_arrival":    number(maxStayRule, func(c *inventory.NightChange) **int64 { return &c.MaxStayArrival }),
		"min_stay_through":    number(maxStayRule, func(c *inventory.NightChange) **int64 { return &c.MinStayThrough }),
		"max_stay_through":    number(maxStayRule, func(c *inventory.NightChange) **int64 { return &c.MaxStayThrough }),
		columnRateMinor:       number(money.MaxMinor, func(c *inventory.NightChange) **int64 { return &c.RateMinor }),
		columnRate: func(change *inventory.NightChange, cell string) error {
			minor, err := parseDecimal(cell, currency)
			if err == nil {
				change.RateMinor = &minor
			}
			return err
		},
	}
}

// parseNights reads a whole file of nights, in the order of its lines, or says everything that is
// wrong with it.
func parseNights(path string, content []byte, currency money.Currency) ([]lineOfNight, error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	reader.ReuseRecord = true
	found := problems{file: path}
	columns, header := nightColumns(currency), []string(nil)
	record, err := reader.Read()
	switch {
	case errors.Is(err, io.EOF):
		found.add(1, "", "the file is empty; expected a header row with the column %s", columnNight)
	case err != nil:
		found.add(1, "", "%s", csvProblem(err))
	default:
		if len(record) == 1 && strings.Contains(record[0], ";") {
			found.add(1, "", "the cells are separated by semicolons; expected commas, and amounts with a point: 12.50")
			break
		}
		header = nightHeader(record, columns, &found)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	var nights []lineOfNight
	seen := map[civil.Date]int{}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var malformed *csv.ParseError
		if errors.As(err, &malformed) {
			found.add(malformed.Line, "", "%s", csvProblem(err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		line, _ := reader.FieldPos(0)
		if len(nights) == maxNightLines {
			found.add(line, "", "the file has more than %d nights", maxNightLines)
			break
		}
		night := lineOfNight{line: line, change: readNight(line, header, record, columns, &found)}
		if first, twice := seen[night.change.Night]; twice && night.change.Night.IsValid() {
			found.add(line, columnNight, "night %s was named on line %d already", night.change.Night, first)
		}
		seen[night.change.Night] = line
		nights = append(nights, night)
	}
	if len(nights) == 0 && len(found.lines) == 0 {
		found.add(1, "", "the file has no nights")
	}
	return nights, found.err()
}

// nightHeader checks the header row, and is a copy of it without the spaces around its names.
func nightHeader(record []string, columns map[string]nightColumn, found *problems) []string {
	header := make([]string, len(record))
	for i, name := range record {
		header[i] = strings.TrimSpace(name)
		switch {
		case header[i] != columnNight && columns[header[i]] == nil:
			found.add(1, strconv.Quote(header[i]), "there is no such column; expected night, physical, out_of_order, oversell, rate, rate_minor, stop_sell, closed_to_arrival, "+
				"closed_to_departure, min_stay_arrival, max_stay_arrival, min_stay_through or max_stay_through")
		case slices.Contains(header[:i], header[i]):
			found.add(1, header[i], "the column is there twice")
		}
	}
	if !slices.Contains(header, columnNight) {
		found.add(1, columnNight, "the column is missing")
	}
	return header
}

func readNight(line int, header, record []string, columns map[string]nightColumn, found *problems) inventory.DatedChange {
	var dated inventory.DatedChange
	rate := ""
	for i, cell := range record {
		cell, name := strings.TrimSpace(cell), header[i]
		switch {
		case name == columnNight:
			night, err := civil.ParseDate(cell)
			if err != nil || night.Year < 2000 || night.Year > 2199 {
				found.add(line, name, "expected a date between 2000 and 2199 such as 2027-03-14, got %.20q", cell)
				continue
			}
			dated.Night = night
		case cell == "":
		default:
			if name == columnRate || name == columnRateMinor {
				if rate != "" {
					found.add(line, name, "the line has %s as well; expected one of them", rate)
				}
				rate = name
			}
			if err := columns[name](&dated.Change, cell); err != nil {
				found.add(line, name, "%s, got %.20q", err, cell)
			}
		}
	}
	for _, pair := range []struct {
		least, most       *int64
		column, condition string
	}{
		{dated.Change.OutOfOrder, dated.Change.Physical, "out_of_order", "at most the line's physical"},
		{dated.Change.MinStayArrival, dated.Change.MaxStayArrival, "min_stay_arrival", "at most the line's max_stay_arrival"},
		{dated.Change.MinStayThrough, dated.Change.MaxStayThrough, "min_stay_through", "at most the line's max_stay_through"},
	} {
		noRule := pair.column != "out_of_order" && pair.most != nil && *pair.most == 0
		if pair.least != nil && pair.most != nil && !noRule && *pair.least > *pair.most {
			found.add(line, pair.column, "expected %s %d, got %d", pair.condition, *pair.most, *pair.least)
		}
	}
	return dated
}

// csvProblem is what encoding/csv says, without its own line number.
func csvProblem(err error) string {
	var malformed *csv.ParseError
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return "expected as many cells as the header row has"
	case errors.As(err, &malformed):
		return malformed.Err.Error()
	}
	return err.Error()
}

func parseWhole(cell string, high int64) (int64, error) {
	n, err := strconv.ParseInt(cell, 10, 64)
	if err != nil || n < 0 || n > high {
		return 0, fmt.Errorf("expected a whole number from 0 to %d", high)
	}
	return n, nil
}

func parseFlag(cell string) (bool, error) {
	switch strings.ToLower(cell) {
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	}
	return false, errors.New("expected true, yes or 1, or false, no or 0")
}

// parseDecimal reads an amount such as "12.50" into minor units of a currency. It takes no sign, no
// exponent and no more digits than the currency has.
func parseDecimal(cell string, currency money.Currency) (int64, error) {
	decimals := currency.Decimals()
	problem := fmt.Errorf("expected an amount in %s such as %s, with a point and at most %d decimals, up to %s",
		currency, strings.TrimSuffix(money.Amount{Minor: 12_500, Currency: currency}.String(), " "+string(currency)),
		decimals, money.Amount{Minor: money.MaxMinor, Currency: currency})
	whole, fraction, hasPoint := strings.Cut(cell, ".")
	if whole == "" || hasPoint && fraction == "" || len(fraction) > decimals || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, problem
	}
	minor, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil || minor > money.MaxMinor {
		return 0, problem
	}
	return minor, nil
}
