// Package money owns amounts: integers of minor units with an ISO 4217 code of 0, 2 or 3 decimals.
// There is no floating point anywhere, and every sum is checked for overflow.
package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bojanz/currency"
)

// Currency is an upper-case ISO 4217 code in use, such as "EUR".
type Currency string

// ErrOverflow says that a sum does not fit an amount.
var ErrOverflow = errors.New("the amount is too large")

// ErrMixedCurrencies says that amounts of two currencies were to be added.
var ErrMixedCurrencies = errors.New("amounts of different currencies cannot be added")

// MaxMinor bounds one price or total, in minor units: a million million, far above any sale and
// far below overflow when summed over every line of a hold.
const MaxMinor = 1_000_000_000_000

// ParseCurrency accepts the code of a currency in use.
func ParseCurrency(code string) (Currency, error) {
	if code == "" || !currency.IsValid(code) {
		return "", fmt.Errorf("expected an ISO 4217 currency code such as \"EUR\", got %.8q", code)
	}
	return Currency(code), nil
}

// Decimals is how many digits of the minor unit a currency has: 0 (JPY), 2 (EUR) or 3 (KWD).
func (c Currency) Decimals() int {
	digits, ok := currency.GetDigits(string(c))
	if !ok {
		return 2
	}
	return int(digits)
}

// Amount is a sum of money. The zero Amount has no currency and may be added to any.
type Amount struct {
	Minor    int64
	Currency Currency
}

// Add is the sum, or ErrMixedCurrencies or ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) {
	switch {
	case a.Currency == "":
		a.Currency = b.Currency
	case b.Currency != "" && a.Currency != b.Currency:
		return Amount{}, ErrMixedCurrencies
	}
	if b.Minor > 0 && a.Minor > math.MaxInt64-b.Minor || b.Minor < 0 && a.Minor < math.MinInt64-b.Minor {
		return Amount{}, ErrOverflow
	}
	return Amount{Minor: a.Minor + b.Minor, Currency: a.Currency}, nil
}

// Times is the amount n times over, or ErrOverflow.
func (a Amount) Times(n int64) (Amount, error) {
	if n == 0 || a.Minor == 0 {
		return Amount{Currency: a.Currency}, nil
	}
	product := a.Minor * n
	if product/n != a.Minor || (a.Minor == math.MinInt64 && n == -1) {
		return Amount{}, ErrOverflow
	}
	return Amount{Minor: product, Currency: a.Currency}, nil
}

// String is for logs and people who read English: "12.50 EUR", "1200 JPY", "0.005 KWD".
func (a Amount) String() string {
	decimals := a.Currency.Decimals()
	digits := strconv.FormatUint(magnitude(a.Minor), 10)
	for len(digits) <= decimals {
		digits = "0" + digits
	}
	if decimals > 0 {
		digits = digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:]
	}
	if a.Minor < 0 {
		digits = "-" + digits
	}
	return digits + " " + string(a.Currency)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return uint64(-(n + 1)) + 1
	}
	return uint64(n)
}

// ParseDecimal reads an amount such as "12.50" into minor units of a currency. It takes no sign, no
// exponent and no more digits than the currency has; its error says what was expected.
func ParseDecimal(text string, currency Currency) (int64, error) {
	decimals := currency.Decimals()
	problem := fmt.Errorf("expected an amount in %s such as %s, with a point and at most %d decimals, up to %s",
		currency, strings.TrimSuffix(Amount{Minor: 12_500, Currency: currency}.String(), " "+string(currency)),
		decimals, Amount{Minor: MaxMinor, Currency: currency})
	whole, fraction, hasPoint := strings.Cut(text, ".")
	if whole == "" || hasPoint && fraction == "" || len(fraction) > decimals || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, problem
	}
	minor, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil || minor > MaxMinor {
		return 0, problem
	}
	return minor, nil
}
