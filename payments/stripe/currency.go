package stripe

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/holdfast/holdfast/internal/money"
)

// unit says how Stripe counts a currency where ISO 4217 or the general rule counts otherwise.
type unit struct {
	// decimals is how many digits of the minor unit are in Stripe's amounts.
	decimals int
	// step is what Stripe's amounts must be a multiple of.
	step int64
}

// unitOf is how Stripe counts a currency. The rules are those of https://docs.stripe.com/currencies:
//
//   - "Zero-decimal currencies" are counted whole. ISO 4217 agrees on all but the ariary (MGA), whose
//     minor unit is a fifth that ISO writes with two digits.
//   - "Three-decimal currencies" are counted in thousandths of which the last digit must be 0.
//   - "Special cases": the króna (ISK) and the Ugandan shilling (UGX) have no minor unit any more, but
//     are still sent as two-decimal values that end in 00. The page lists UGX among the zero-decimal
//     currencies as well; its special case is the more exact text. The forint (HUF) and the Taiwan
//     dollar (TWD) are special in payouts only, and are charged with two decimals.
//   - All others have two decimals. One that ISO counts otherwise is none that Stripe is known to take,
//     and is refused instead of guessed at: a wrong guess is wrong by a factor of ten at least.
func unitOf(currency money.Currency) (unit, error) {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF":
		return unit{decimals: 0, step: 1}, nil
	case "BHD", "JOD", "KWD", "OMR", "TND":
		return unit{decimals: 3, step: 10}, nil
	case "ISK", "UGX":
		return unit{decimals: 2, step: 100}, nil
	}
	if currency.Decimals() != 2 {
		return unit{}, fmt.Errorf("the currency %.3q is none that Stripe takes", string(currency))
	}
	return unit{decimals: 2, step: 1}, nil
}

// toStripe is an amount as Stripe counts it, with Stripe's name of its currency. An amount that
// Stripe cannot express is an error, and never rounded: the buyer has agreed to a price.
func toStripe(amount money.Amount) (minor int64, currency string, err error) {
	if _, err := money.ParseCurrency(string(amount.Currency)); err != nil {
		return 0, "", err
	}
	if amount.Minor <= 0 || amount.Minor > money.MaxMinor {
		return 0, "", fmt.Errorf("expected an amount of 1 to %d minor units, got %d", int64(money.MaxMinor), amount.Minor)
	}
	unit, err := unitOf(amount.Currency)
	if err != nil {
		return 0, "", err
	}
	minor, err = rescale(amount.Minor, amount.Currency.Decimals(), unit.decimals)
	if err != nil || minor%unit.step != 0 {
		return 0, "", fmt.Errorf("exactly %s cannot be charged through Stripe; prices in %s must be multiples of %s",
			amount, amount.Currency, smallest(amount.Currency, unit))
	}
	return minor, strings.ToLower(string(amount.Currency)), nil
}

// fromStripe is an amount as ISO 4217 counts it.
func fromStripe(minor int64, currency string) (money.Amount, error) {
	code, err := money.ParseCurrency(strings.ToUpper(currency))
	if err != nil {
		return money.Amount{}, err
	}
	unit, err := unitOf(code)
	if err != nil {
		return money.Amount{}, err
	}
	if minor < 0 {
		return money.Amount{}, fmt.Errorf("the amount is negative: %d", minor)
	}
	// The step is a rule for requests; what Stripe tells is only required to have an ISO amount.
	iso, err := rescale(minor, unit.decimals, code.Decimals())
	if err != nil {
		return money.Amount{}, fmt.Errorf("%d of Stripe's units of %s: %w", minor, code, err)
	}
	return money.Amount{Minor: iso, Currency: code}, nil
}

// smallest is the smallest price that both Stripe and ISO 4217 can express.
func smallest(currency money.Currency, unit unit) money.Amount {
	minor := unit.step
	for range currency.Decimals() - unit.decimals {
		minor *= 10
	}
	for range unit.decimals - currency.Decimals() {
		minor = max(1, minor/10)
	}
	return money.Amount{Minor: minor, Currency: currency}
}

// rescale changes the number of decimals of an amount, which must stay whole.
func rescale(minor int64, from, to int) (int64, error) {
	for ; from < to; from++ {
		if minor > math.MaxInt64/10 {
			return 0, money.ErrOverflow
		}
		minor *= 10
	}
	for ; from > to; from-- {
		if minor%10 != 0 {
			return 0, errors.New("it has a fraction of the smallest unit")
		}
		minor /= 10
	}
	return minor, nil
}
