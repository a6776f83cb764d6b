package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade"
)

// Two kinds of file are read, told apart by their header row. Columns may stand in any order, and
// further ones are ignored.
//
// Stripe's export of payments (Payments, Export, with the metadata columns): id, Amount, Currency,
// Status, "Created date (UTC)" or "Created (UTC)", "holdfast_tenant (metadata)" and
// "holdfast_attempt (metadata)"; and, if there, Amount Refunded, "PaymentIntent ID" and Captured.
// Amounts are decimal.
//
// The sandbox's, named as in its API: id, account, key, status, capturedMinor, refundedMinor,
// currency, tenant, attempt, createdAt. Amounts are minor units.

// maxChargeRow bounds one row of a file of charges, in bytes.
const maxChargeRow = 1 << 20

// chargeFormat is how one kind of file is read.
type chargeFormat struct {
	required []string
	read     func(row chargeRow) payments.ListedCharge
}

// chargeRow is one row of a file, whose cells are asked for by column. The first thing that is wrong
// is kept.
type chargeRow struct {
	cells   map[string]string
	account string
	problem *chargeProblem
}

type chargeProblem struct{ column, text string }

func (r chargeRow) refuse(column string, err error) {
	if r.problem.text == "" {
		r.problem.column, r.problem.text = column, err.Error()
	}
}

// needed is the text of a cell that may not be empty.
func (r chargeRow) needed(column string) string {
	text := r.cells[column]
	if text == "" || len(text) > maxChargeCell {
		r.refuse(column, fmt.Errorf("expected 1 to %d characters", maxChargeCell))
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		r.refuse(column, errors.New("expected UTF-8 without control characters"))
	}
	return text
}

// maxChargeCell bounds an id or a name in a file of charges.
const maxChargeCell = 255

func (r chargeRow) currency(column string) money.Currency {
	currency, err := money.ParseCurrency(strings.ToUpper(r.cells[column]))
	if err != nil {
		r.refuse(column, err)
	}
	return currency
}

func (r chargeRow) decimal(column string, currency money.Currency) money.Amount {
	amount := money.Amount{Currency: currency}
	text, known := r.cells[column]
	if !known || currency == "" {
		return amount
	}
	minor, err := money.ParseDecimal(strings.ReplaceAll(text, ",", ""), currency)
	if err != nil {
		r.refuse(column, err)
	}
	amount.Minor = minor
	return amount
}

func (r chargeRow) minor(column string, currency money.Currency) money.Amount {
	n, err := parseWhole(r.cells[column], money.MaxMinor)
	if err != nil {
		r.refuse(column, err)
	}
	return money.Amount{Minor: n, Currency: currency}
}

func (r chargeRow) instant(column string, layouts ...string) time.Time {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, r.cells[column]); err == nil {
			return at
		}
	}
	r.refuse(column, fmt.Errorf("expected a time such as %s", layouts[0]))
	return time.Time{}
}

// reference is the zero Reference for a charge that is not ours; half of one is a mistake.
func (r chargeRow) reference(tenantColumn, attemptColumn string) payments.Reference {
	tenantText, attemptText := r.cells[tenantColumn], r.cells[attemptColumn]
	if tenantText == "" && attemptText == "" {
		return payments.Reference{}
	}
	tenant, err := ids.ParseGlobal[tenants.TenantKind](tenantText)
	if err != nil {
		r.refuse(tenantColumn, err)
	}
	attempt, err := ids.Parse[payments.AttemptKind](attemptText)
	if err != nil {
		r.refuse(attemptColumn, err)
	}
	return payments.Reference{TenantID: tenant, AttemptID: attempt.String()}
}

// state is what a status means.
func (r chargeRow) state(column string, meanings map[payments.OutcomeState][]string) payments.OutcomeState {
	status := strings.ToLower(strings.ReplaceAll(r.cells[column], "_", " "))
	var known []string
	for state, words := range meanings {
		if slices.Contains(words, status) {
			return state
		}
		known = append(known, words...)
	}
	slices.Sort(known)
	r.refuse(column, fmt.Errorf("expected one of %s, got %.40q", strings.Join(known, ", "), r.cells[column]))
	return payments.OutcomeStateUnknown
}

// Columns of both kinds of file.
const (
	stripeTenant     = "holdfast_tenant (metadata)"
	stripeAttempt    = "holdfast_attempt (metadata)"
	stripeCreated    = "Created (UTC)"
	stripeCreatedNew = "Created date (UTC)"
)

func stripeCharges() chargeFormat {
	meanings := map[payments.OutcomeState][]string{
		payments.OutcomeStateApproved: {"paid", "succeeded", "refunded", "partial refund", "partially refunded", "disputed"},
		payments.OutcomeStateDeclined: {
			"failed", "canceled", "cancelled", "blocked", "incomplete", "expired", "requires payment method", "requires confirmation", "requires action",
		},
		payments.OutcomeStatePending:    {"pending", "processing"},
		payments.OutcomeStateAuthorized: {"uncaptured", "requires capture"},
	}
	return chargeFormat{
		required: []string{"id", "Amount", "Currency", "Status", stripeTenant, stripeAttempt},
		read: func(row chargeRow) payments.ListedCharge {
			currency := row.currency("Currency")
			created := stripeCreated
			if _, there := row.cells[stripeCreatedNew]; there {
				created = stripeCreatedNew
			}
			charge := payments.ListedCharge{
				ID: row.needed("id"), OtherID: row.cells["PaymentIntent ID"], Account: row.account, Reference: row.reference(stripeTenant, stripeAttempt),
				State: row.state("Status", meanings), Captured: row.decimal("Amount", currency), Refunded: row.decimal("Amount Refunded", currency),
				CreatedAt: row.instant(created, "2006-01-02 15:04:05", "2006-01-02 15:04", time.RFC3339),
			}
			if strings.EqualFold(row.cells["Captured"], "false") && charge.State == payments.OutcomeStateApproved {
				charge.State = payments.OutcomeStateAuthorized
			}
			if charge.State != payments.OutcomeStateApproved {
				charge.Captured.Minor = 0
			}
			return charge
		},
	}
}

func sandboxCharges() chargeFormat {
	meanings := map[payments.OutcomeState][]string{
		payments.OutcomeStateApproved: {"approved"}, payments.OutcomeStateDeclined: {"declined", "cancelled", "canceled"},
		payments.OutcomeStatePending: {"pending"}, payments.OutcomeStateAuthorized: {"authorized"},
	}
	return chargeFormat{
		required: []string{"id", "account", "key", "status", "capturedMinor", "refundedMinor", "currency", "tenant", "attempt", "createdAt"},
		read: func(row chargeRow) payments.ListedCharge {
			currency := row.currency("currency")
			return payments.ListedCharge{
				ID: row.needed("id"), Account: row.account, Key: row.cells["key"], Reference: row.reference("tenant", "attempt"),
				State: row.state("status", meanings), Captured: row.minor("capturedMinor", currency), Refunded: row.minor("refundedMinor", currency),
				CreatedAt: row.instant("createdAt", time.RFC3339Nano),
			}
		},
	}
}

// rowLimit bounds what may be read for one row, so that a file without an end to its quotes does not
// fill the memory.
type rowLimit struct {
	source io.Reader
	left   int
}

var errLongRow = fmt.Errorf("the row is longer than %d bytes, or a quote in it is not closed", maxChargeRow)

// Read implements io.Reader.
func (l *rowLimit) Read(into []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLongRow
	}
	n, err := l.source.Read(into[:min(len(into), l.left)])
	l.left -= n
	return n, err
}

// readCharges reads the header row and gives the charges one by one, in bounded memory. Rows that
// cannot be read are added to bad, with their line and column, and left out.
func readCharges(source io.Reader, account string, bad *problems) (iter.Seq2[bookings.FileCharge, error], error) {
	limit := &rowLimit{source: source, left: maxChargeRow}
	reader := csv.NewReader(limit)
	reader.ReuseRecord = true
	record, err := reader.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: the file is empty; expected a header row", bad.file)
	case err != nil:
		return nil, fmt.Errorf("%s: line 1: %s", bad.file, trade.CSVProblem(err))
	}
	header := slices.Clone(record)
	header[0] = strings.TrimPrefix(header[0], "\uFEFF")
	for i := range header {
		header[i] = strings.Clone(strings.TrimSpace(header[i]))
	}
	format, err := chargeFormatOf(header)
	if err != nil {
		return nil, fmt.Errorf("%s: line 1: %w", bad.file, err)
	}
	if !slices.Contains(header, "account") && account == "" {
		return nil, errors.New("the file does not say whose account its charges are: name it with --account, or its tenant with --tenant")
	}
	return func(yield func(bookings.FileCharge, error) bool) {
		for {
			limit.left = maxChargeRow
			record, err := reader.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			var malformed *csv.ParseError
			if errors.As(err, &malformed) {
				bad.add(malformed.Line, "", "%s", trade.CSVProblem(err))
				continue
			}
			if err != nil {
				yield(bookings.FileCharge{}, fmt.Errorf("read %s: %w", bad.file, err))
				return
			}
			line, _ := reader.FieldPos(0)
			charge, problem := readChargeRow(format, header, record, account)
			if problem.text != "" {
				bad.add(line, problem.column, "%s", problem.text)
				continue
			}
			if !yield(bookings.FileCharge{ListedCharge: charge, Line: line}, nil) {
				return
			}
		}
	}, nil
}

func readChargeRow(format chargeFormat, header, record []string, account string) (payments.ListedCharge, chargeProblem) {
	row := chargeRow{cells: make(map[string]string, len(header)), account: account, problem: &chargeProblem{}}
	for i, column := range header {
		row.cells[column] = strings.TrimSpace(strings.Clone(record[i]))
	}
	if _, told := row.cells["account"]; told {
		row.account = row.needed("account")
	}
	return format.read(row), *row.problem
}

// chargeFormatOf tells the kind of a file by its header row.
func chargeFormatOf(header []string) (chargeFormat, error) {
	format := sandboxCharges()
	stripe := slices.Contains(header, "Amount")
	if stripe {
		format = stripeCharges()
		if !slices.Contains(header, stripeCreated) && !slices.Contains(header, stripeCreatedNew) {
			return format, fmt.Errorf("expected the column %q or %q", stripeCreatedNew, stripeCreated)
		}
	}
	var missing []string
	for _, column := range format.required {
		if !slices.Contains(header, column) {
			missing = append(missing, fmt.Sprintf("%q", column))
		}
	}
	seen := map[string]bool{}
	for _, column := range header {
		if seen[column] && column != "" {
			return format, fmt.Errorf("the column %q is there twice", column)
		}
		seen[column] = true
	}
	switch {
	case len(missing) > 0 && stripe:
		return format, fmt.Errorf("expected the columns %s too; export the payments with their metadata", strings.Join(missing, ", "))
	case len(missing) > 0:
		return format, fmt.Errorf("expected Stripe's export of payments, or the columns %s too", strings.Join(missing, ", "))
	}
	return format, nil
}

func parseWhole(cell string, high int64) (int64, error) {
	n, err := strconv.ParseInt(cell, 10, 64)
	if err != nil || n < 0 || n > high {
		return 0, fmt.Errorf("expected a whole number from 0 to %d", high)
	}
	return n, nil
}
