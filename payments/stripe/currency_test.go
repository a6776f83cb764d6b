package stripe

import (
	"testing"

	"github.com/bojanz/currency"
	"pgregory.net/rapid"

	"github.com/holdfast/holdfast/internal/money"
)

func TestAmountsAsStripeCountsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		iso    money.Amount
		stripe int64
		code   string
	}{
		{money.Amount{Minor: 1099, Currency: "EUR"}, 1099, "eur"},
		{money.Amount{Minor: 1, Currency: "USD"}, 1, "usd"},
		{money.Amount{Minor: 5800, Currency: "JPY"}, 5800, "jpy"},
		{money.Amount{Minor: 5800, Currency: "XOF"}, 5800, "xof"},
		{money.Amount{Minor: 5120, Currency: "KWD"}, 5120, "kwd"},
		{money.Amount{Minor: 10, Currency: "TND"}, 10, "tnd"},
		// Special cases: five krónur are 500, five shillings too.
		{money.Amount{Minor: 5, Currency: "ISK"}, 500, "isk"},
		{money.Amount{Minor: 5, Currency: "UGX"}, 500, "ugx"},
		// The forint and the Taiwan dollar are whole in payouts only.
		{money.Amount{Minor: 1045, Currency: "HUF"}, 1045, "huf"},
		{money.Amount{Minor: 80045, Currency: "TWD"}, 80045, "twd"},
		// ISO writes the ariary with two digits, Stripe with none.
		{money.Amount{Minor: 1200, Currency: "MGA"}, 12, "mga"},
		{money.Amount{Minor: money.MaxMinor, Currency: "EUR"}, money.MaxMinor, "eur"},
	} {
		minor, code, err := toStripe(c.iso)
		if err != nil || minor != c.stripe || code != c.code {
			t.Errorf("%s: got %d %s, %v, want %d %s", c.iso, minor, code, err, c.stripe, c.code)
		}
		if back, err := fromStripe(c.stripe, c.code); err != nil || back != c.iso {
			t.Errorf("%d %s: got %s, %v, want %s", c.stripe, c.code, back, err, c.iso)
		}
	}
}

func TestAmountsThatStripeCannotTake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount money.Amount
		want   string
	}{
		{money.Amount{Minor: 5124, Currency: "KWD"}, "exactly 5.124 KWD cannot be charged through Stripe; prices in KWD must be multiples of 0.010 KWD"},
		{money.Amount{Minor: 1250, Currency: "MGA"}, "exactly 12.50 MGA cannot be charged through Stripe; prices in MGA must be multiples of 1.00 MGA"},
		{money.Amount{Minor: 1, Currency: "IQD"}, `the currency "IQD" is none that Stripe takes`},
		{money.Amount{Minor: 1, Currency: "CLF"}, `the currency "CLF" is none that Stripe takes`},
		{money.Amount{Minor: 0, Currency: "EUR"}, "expected an amount of 1 to 1000000000000 minor units, got 0"},
		{money.Amount{Minor: money.MaxMinor + 1, Currency: "EUR"}, "expected an amount of 1 to 1000000000000 minor units, got 1000000000001"},
		{money.Amount{Minor: 1, Currency: "eur"}, `expected an ISO 4217 currency code such as "EUR", got "eur"`},
	} {
		if minor, code, err := toStripe(c.amount); err == nil || err.Error() != c.want {
			t.Errorf("%v: got %d %s, %v, want %s", c.amount, minor, code, err, c.want)
		}
	}
	for _, c := range []struct {
		minor int64
		code  string
	}{
		{550, "isk"}, {-1, "eur"}, {1, "iqd"}, {1, ""}, {1, "euro"}, {1 << 62, "mga"},
	} {
		if amount, err := fromStripe(c.minor, c.code); err == nil {
			t.Errorf("%d %s was read as %s", c.minor, c.code, amount)
		}
	}
}

// What can be sent comes back as it was, in every currency.
func TestNoAmountChangesOnTheWay(t *testing.T) {
	t.Parallel()
	codes := currency.GetCurrencyCodes()
	rapid.Check(t, func(t *rapid.T) {
		amount := money.Amount{
			Minor:    rapid.Int64Range(1, money.MaxMinor).Draw(t, "minor"),
			Currency: money.Currency(rapid.SampledFrom(codes).Draw(t, "currency")),
		}
		minor, code, err := toStripe(amount)
		if err != nil {
			return
		}
		if back, err := fromStripe(minor, code); err != nil || back != amount {
			t.Fatalf("%s was sent as %d %s and came back as %s, %v", amount, minor, code, back, err)
		}
	})
}

// A currency of Stripe's own table is counted as ISO counts it, but for the exceptions that are named.
func TestTheExceptionsAreTheNamedOnes(t *testing.T) {
	t.Parallel()
	exceptions := map[string]int{"ISK": 2, "UGX": 2, "MGA": 0}
	for _, code := range currency.GetCurrencyCodes() {
		unit, err := unitOf(money.Currency(code))
		if err != nil {
			continue
		}
		want, ok := exceptions[code]
		if !ok {
			want = money.Currency(code).Decimals()
		}
		if unit.decimals != want {
			t.Errorf("%s is counted with %d decimals, want %d", code, unit.decimals, want)
		}
	}
}
