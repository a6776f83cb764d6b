package trade

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory"
)

// MaxNightLines bounds a file of nights: two hundred years of one room type.
const MaxNightLines = 200 * 366

// NightLine is a line of a file of nights and what it says.
type NightLine struct {
	Line   int
	Change inventory.DatedChange
}

// Problem is told what is wrong with a file: the line, the column, if it is about one, and what was expected.
type Problem func(line int, column, format string, args ...any)

// nightColumn reads one cell into a change. Its error says what was expected.
type nightColumn func(change *inventory.NightChange, cell string) error

const (
	columnNight     = "night"
	columnRate      = "rate"
	columnRateMinor = "rate_minor"
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
		"physical":            number(maxCount, func(c *inventory.NightChange) **int64 { return &c.Physical }),
		"out_of_order":        number(maxCount, func(c *inventory.NightChange) **int64 { return &c.OutOfOrder }),
		"oversell":            number(maxCount, func(c *inventory.NightChange) **int64 { return &c.Oversell }),
		"oversell_percent":    number(100, func(c *inventory.NightChange) **int64 { return &c.OversellPercent }),
		"stop_sell":           flag(func(c *inventory.NightChange) **bool { return &c.StopSell }),
		"closed_to_arrival":   flag(func(c *inventory.NightChange) **bool { return &c.ClosedToArrival }),
		"closed_to_departure": flag(func(c *inventory.NightChange) **bool { return &c.ClosedToDeparture }),
		"min_stay_arrival":    number(inventory.MaxStayRule, func(c *inventory.NightChange) **int64 { return &c.MinStayArrival }),
		"max_stay_arrival":    number(inventory.MaxStayRule, func(c *inventory.NightChange) **int64 { return &c.MaxStayArrival }),
		"min_stay_through":    number(inventory.MaxStayRule, func(c *inventory.NightChange) **int64 { return &c.MinStayThrough }),
		"max_stay_through":    number(inventory.MaxStayRule, func(c *inventory.NightChange) **int64 { return &c.MaxStayThrough }),
		columnRateMinor:       number(money.MaxMinor, func(c *inventory.NightChange) **int64 { return &c.RateMinor }),
		columnRate: func(change *inventory.NightChange, cell string) error {
			minor, err := money.ParseDecimal(cell, currency)
			if err == nil {
				change.RateMinor = &minor
			}
			return err
		},
	}
}

// ReadNights reads a file of nights, in the order of its lines, and tells everything that is wrong with it. The names
// of the columns are those of nightColumns.
func ReadNights(content []byte, currency money.Currency, problem Problem) []NightLine {
	f := nightsFile{columns: nightColumns(currency), problem: problem, seen: map[civil.Date]int{}}
	if !utf8.Valid(content) {
		problem(1, "", "expected a file in UTF-8")
		return nil
	}
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	reader.ReuseRecord = true
	record, err := reader.Read()
	switch {
	case errors.Is(err, io.EOF):
		problem(1, "", "the file is empty; expected a header row with the column %s", columnNight)
		return nil
	case err != nil:
		problem(1, "", "%s", CSVProblem(err))
		return nil
	case len(record) == 1 && strings.Contains(record[0], ";"):
		problem(1, "", "the cells are separated by semicolons; expected commas, and amounts with a point: 12.50")
		return nil
	}
	if !f.readHeader(record) {
		return nil
	}
	wrong := false
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			problem(broken.Line, "", "%s", CSVProblem(err))
			wrong = true
			continue
		}
		line, _ := reader.FieldPos(0)
		if len(f.nights) == MaxNightLines {
			problem(line, "", "the file has more than %d nights", MaxNightLines)
			return nil
		}
		f.readLine(line, record)
	}
	if len(f.nights) == 0 && !wrong {
		problem(1, "", "the file has no nights")
	}
	return f.nights
}

// nightsFile is a file that is being read.
type nightsFile struct {
	columns map[string]nightColumn
	header  []string
	problem Problem
	nights  []NightLine
	// seen says on which line a night was named.
	seen map[civil.Date]int
}

func (f *nightsFile) readLine(line int, record []string) {
	night := NightLine{Line: line, Change: f.readNight(line, record)}
	if first, twice := f.seen[night.Change.Night]; twice && night.Change.Night.IsValid() {
		f.problem(line, columnNight, "night %s was named on line %d already", night.Change.Night, first)
	}
	f.seen[night.Change.Night] = line
	f.nights = append(f.nights, night)
}

// readHeader checks the header row, and keeps it without the spaces around its names.
func (f *nightsFile) readHeader(record []string) bool {
	fits := true
	for i, name := range record {
		name = strings.TrimSpace(name)
		switch {
		case name != columnNight && f.columns[name] == nil:
			f.problem(1, strconv.Quote(name), "there is no such column; expected night, physical, out_of_order, oversell, oversell_percent, rate, rate_minor, stop_sell, "+
				"closed_to_arrival, closed_to_departure, min_stay_arrival, max_stay_arrival, min_stay_through or max_stay_through")
			fits = false
		case slices.Contains(f.header[:i], name):
			f.problem(1, name, "the column is there twice")
			fits = false
		}
		f.header = append(f.header, name)
	}
	if !slices.Contains(f.header, columnNight) {
		f.problem(1, columnNight, "the column is missing")
		fits = false
	}
	return fits
}

func (f *nightsFile) readNight(line int, record []string) inventory.DatedChange {
	var dated inventory.DatedChange
	rate := ""
	for i, cell := range record {
		cell, name := strings.TrimSpace(cell), f.header[i]
		switch {
		case name == columnNight:
			night, err := civil.ParseDate(cell)
			if err != nil || night.Year < 2000 || night.Year > 2199 {
				f.problem(line, name, "expected a date between 2000 and 2199 such as 2027-03-14, got %.20q", cell)
				continue
			}
			dated.Night = night
		case cell == "":
		default:
			if name == columnRate || name == columnRateMinor {
				if rate != "" {
					f.problem(line, name, "the line has %s as well; expected one of them", rate)
				}
				rate = name
			}
			if err := f.columns[name](&dated.Change, cell); err != nil {
				f.problem(line, name, "%s, got %.20q", err, cell)
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
			f.problem(line, pair.column, "expected %s %d, got %d", pair.condition, *pair.most, *pair.least)
		}
	}
	return dated
}

// CSVProblem is what encoding/csv says, without its own line number.
func CSVProblem(err error) string {
	var broken *csv.ParseError
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return "expected as many cells as the header row has"
	case errors.As(err, &broken):
		return broken.Err.Error()
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
