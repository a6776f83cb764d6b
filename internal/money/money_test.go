package money_test

import (
	"errors"
	"math"
	"testing"

	"github.com/holdfast/holdfast/internal/money"
)

func TestAmountsPrintWithTheirCurrencysDecimals(t *testing.T) {
	t.Parallel()
	for want, amount := range map[string]money.Amount{
		"12.50 EUR":                 {Minor: 1250, Currency: "EUR"},
		"0.05 EUR":                  {Minor: 5, Currency: "EUR"},
		"-0.05 EUR":                 {Minor: -5, Currency: "EUR"},
		"1200 JPY":                  {Minor: 1200, Currency: "JPY"},
		"1.005 KWD":                 {Minor: 1005, Currency: "KWD"},
		"-92233720368547758.08 USD": {Minor: math.MinInt64, Currency: "USD"},
	} {
		if got := amount.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestSumsNeverWrap(t *testing.T) {
	t.Parallel()
	most := money.Amount{Minor: math.MaxInt64, Currency: "EUR"}
	one := money.Amount{Minor: 1, Currency: "EUR"}
	if _, err := most.Add(one); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("adding past the largest amount gave %v", err)
	}
	if _, err := most.Times(2); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("doubling the largest amount gave %v", err)
	}
	if _, err := one.Add(money.Amount{Minor: 1, Currency: "USD"}); !errors.Is(err, money.ErrMixedCurrencies) {
		t.Errorf("adding euros and dollars gave %v", err)
	}
	sum, err := (money.Amount{}).Add(one)
	if err != nil || sum != one {
		t.Errorf("adding to nothing gave %v, %v", sum, err)
	}
}

func TestCurrencyCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "eur", "EURO", "XXZ", "€"} {
		if got, err := money.ParseCurrency(code); err == nil {
			t.Errorf("%q was taken as %s", code, got)
		}
	}
	if got, err := money.ParseCurrency("KWD"); err != nil || got.Decimals() != 3 {
		t.Errorf("KWD: %v, %v", got, err)
	}
}
