package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/trade"
)

// historyStatus is how a booking of the history ended.
type historyStatus string

const (
	historyCheckedOut historyStatus = "Check-Out"
	historyCancelled  historyStatus = "Canceled"
	historyNoShow     historyStatus = "No-Show"
)

// historyRow is one booking of the history, in the history's own dates.
type historyRow struct {
	line     int
	hotel    string
	roomType string
	// channel is where it was sold; empty in a file without the column.
	channel string
	booked  civil.Date
	arrival civil.Date
	nights  int
	status  historyStatus
	// settled is when the status was set: the day of the cancellation, arrival or departure.
	settled civil.Date
	// rateMinor is the average daily rate that was paid. It may be negative; it only helps to find
	// the price of a night.
	rateMinor int64
}

func (r historyRow) departure() civil.Date { return r.arrival.AddDays(r.nights) }

// history is a file of bookings.
type history struct {
	digest string
	// lines is how many lines were read: the good rows and the malformed ones.
	lines     int
	rows      []historyRow
	malformed []historyRefusal
}

// historyRefusal is a row that was not booked, and why.
type historyRefusal struct {
	line   int
	code   string
	reason string
}

const (
	codeMalformed = "MALFORMED"

	historyCityHotel   = "City Hotel"
	historyResortHotel = "Resort Hotel"

	maxHistoryLines    = 2_000_000
	maxHistoryLead     = 3_660
	maxHistoryNights   = 10_000
	maxHistoryRate     = 1_000_000
	maxRoomTypeLetters = 20
	maxChannelLetters  = 64
)

// historyColumns are the columns that the import needs; the file may have others.
func historyColumns() []string {
	return []string{
		"hotel", "lead_time", "arrival_date_year", "arrival_date_month", "arrival_date_day_of_month", "stays_in_weekend_nights",
		"stays_in_week_nights", "reserved_room_type", "adr", "reservation_status", "reservation_status_date",
	}
}

// historyChannelColumn may be missing: only advice on overbooking asks where a booking was sold.
const historyChannelColumn = "distribution_channel"

// historyColumnHelp is a line for each of historyColumns, for people who make such a file.
func historyColumnHelp() []string {
	expected := map[string]string{
		"hotel":                     fmt.Sprintf("%q or %q", historyCityHotel, historyResortHotel),
		"lead_time":                 fmt.Sprintf("days between booking and arrival, 0 to %d", maxHistoryLead),
		"arrival_date_year":         "1990 to 2100",
		"arrival_date_month":        "in English, such as July",
		"arrival_date_day_of_month": "1 to 31",
		"stays_in_weekend_nights":   "nights of the stay, added to those of stays_in_week_nights",
		"stays_in_week_nights":      "the same",
		"reserved_room_type":        fmt.Sprintf("up to %d letters", maxRoomTypeLetters),
		"adr":                       "the price of a night in euros, such as 75.50",
		"reservation_status":        fmt.Sprintf("%s, %s or %s", historyCheckedOut, historyCancelled, historyNoShow),
		"reservation_status_date":   "when it got that status: 2015-07-31 or 31-07-2015",
	}
	var lines []string
	for _, column := range historyColumns() {
		lines = append(lines, fmt.Sprintf("  %-26s %s", column, expected[column]))
	}
	return lines
}

// parseHistory reads a file of bookings. A malformed row is kept with its reason; only a file that
// is no such file at all is an error.
func parseHistory(path string, content []byte, digest string) (history, error) {
	h := history{digest: digest}
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	reader.ReuseRecord = true
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return h, fmt.Errorf("%s: the file is empty; expected a header row", path)
	}
	if err != nil {
		return h, fmt.Errorf("%s: line 1: %s", path, trade.CSVProblem(err))
	}
	at := map[string]int{historyChannelColumn: slices.Index(header, historyChannelColumn)}
	for _, column := range historyColumns() {
		i := slices.Index(header, column)
		if i < 0 {
			return h, fmt.Errorf("%s: line 1: the column %s is missing", path, column)
		}
		at[column] = i
	}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		h.lines++
		if h.lines > maxHistoryLines {
			return h, fmt.Errorf("%s: the file has more than %d rows", path, maxHistoryLines)
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			h.malformed = append(h.malformed, historyRefusal{broken.Line, codeMalformed, trade.CSVProblem(err)})
			continue
		}
		if err != nil {
			return h, fmt.Errorf("read %s: %w", path, err)
		}
		line, _ := reader.FieldPos(0)
		row, err := parseHistoryRow(func(column string) string {
			if at[column] < 0 {
				return ""
			}
			return strings.TrimSpace(record[at[column]])
		})
		if err != nil {
			h.malformed = append(h.malformed, historyRefusal{line, codeMalformed, err.Error()})
			continue
		}
		row.line = line
		h.rows = append(h.rows, row)
	}
}

// limited is the history of the first rows only.
func (h history) limited(limit int) history {
	if limit <= 0 || limit >= h.lines {
		return h
	}
	// The header is line 1; rows and malformed rows are both in the order of the file.
	h.malformed = slices.Clone(h.malformed[:min(limit, len(h.malformed))])
	good := limit
	for i, refusal := range h.malformed {
		if before, _ := slices.BinarySearchFunc(h.rows, refusal.line, func(r historyRow, line int) int { return r.line - line }); i+before >= limit {
			h.malformed = h.malformed[:i]
			break
		}
		good--
	}
	h.rows, h.lines = h.rows[:good], limit
	return h
}

func parseHistoryRow(cell func(column string) string) (historyRow, error) {
	row := historyRow{hotel: strings.Clone(cell("hotel")), roomType: strings.Clone(cell("reserved_room_type")), status: historyStatus(strings.Clone(cell("reservation_status")))}
	if row.hotel != historyCityHotel && row.hotel != historyResortHotel {
		return row, fmt.Errorf("hotel: expected %q or %q, got %.40q", historyCityHotel, historyResortHotel, row.hotel)
	}
	if n := len(row.roomType); n < 1 || n > maxRoomTypeLetters {
		return row, fmt.Errorf("reserved_room_type: expected 1 to %d letters, got %.40q", maxRoomTypeLetters, row.roomType)
	}
	if row.channel = strings.Clone(cell(historyChannelColumn)); len(row.channel) > maxChannelLetters {
		return row, fmt.Errorf("%s: expected at most %d letters, got %.40q", historyChannelColumn, maxChannelLetters, row.channel)
	}
	switch row.status {
	case historyCheckedOut, historyCancelled, historyNoShow:
	default:
		return row, fmt.Errorf("reservation_status: expected %s, %s or %s, got %.40q", historyCheckedOut, historyCancelled, historyNoShow, row.status)
	}
	numbers := map[string]int{}
	for _, bound := range []struct {
		column    string
		low, high int
	}{
		{"lead_time", 0, maxHistoryLead},
		{"arrival_date_year", 1990, 2100},
		{"arrival_date_day_of_month", 1, 31},
		{"stays_in_weekend_nights", 0, maxHistoryNights},
		{"stays_in_week_nights", 0, maxHistoryNights},
	} {
		n, err := strconv.Atoi(cell(bound.column))
		if err != nil || n < bound.low || n > bound.high {
			return row, fmt.Errorf("%s: expected a whole number from %d to %d, got %.40q", bound.column, bound.low, bound.high, cell(bound.column))
		}
		numbers[bound.column] = n
	}
	month, err := time.Parse("January", cell("arrival_date_month"))
	if err != nil {
		return row, fmt.Errorf("arrival_date_month: expected an English month such as \"July\", got %.40q", cell("arrival_date_month"))
	}
	row.arrival = civil.Date{Year: numbers["arrival_date_year"], Month: month.Month(), Day: numbers["arrival_date_day_of_month"]}
	if !row.arrival.IsValid() {
		return row, fmt.Errorf("arrival_date_day_of_month: %s %d has no day %d", row.arrival.Month, row.arrival.Year, row.arrival.Day)
	}
	row.booked = row.arrival.AddDays(-numbers["lead_time"])
	row.nights = numbers["stays_in_weekend_nights"] + numbers["stays_in_week_nights"]
	if row.settled, err = parseHistoryDate(cell("reservation_status_date")); err != nil {
		return row, err
	}
	rate, err := strconv.ParseFloat(cell("adr"), 64)
	if err != nil || math.IsNaN(rate) || math.Abs(rate) > maxHistoryRate {
		return row, fmt.Errorf("adr: expected an amount up to %d, got %.40q", maxHistoryRate, cell("adr"))
	}
	row.rateMinor = int64(math.Round(rate * 100))
	return row, nil
}

// parseHistoryDate takes both forms in which copies of the history are about.
func parseHistoryDate(text string) (civil.Date, error) {
	for _, layout := range []string{"02-01-2006", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return civil.DateOf(at), nil
		}
	}
	return civil.Date{}, fmt.Errorf("reservation_status_date: expected a date such as 31-07-2015 or 2015-07-31, got %.40q", text)
}
