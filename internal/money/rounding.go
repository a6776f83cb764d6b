package money

// Rounding says where an amount goes that lies between two whole minor units.
type Rounding string

// The ways of rounding. They differ only for what lies exactly in the middle.
const (
	// HalfUp takes the middle up: 0.5 is 1, 1.5 is 2, 2.5 is 3.
	HalfUp Rounding = "HALF_UP"
	// HalfEven takes the middle to the even neighbour: 0.5 is 0, 1.5 is 2, 2.5 is 2.
	HalfEven Rounding = "HALF_EVEN"
)

// Portion is the share n/of of an amount in minor units. It needs 0 <= amount and 0 <= n <= of, and is 0
// of nothing.
func (r Rounding) Portion(amount, n, of int64) int64 {
	if amount <= 0 || n <= 0 || of <= 0 {
		return 0
	}
	quotient, remainder := divide(amount, n, of)
	switch rest := of - remainder; {
	case remainder > rest, remainder == rest && (r != HalfEven || quotient%2 == 1):
		quotient++
	}
	return quotient
}

// IncludedTax is the tax within a price that includes it, at a rate in basis points.
func (r Rounding) IncludedTax(price, basisPoints int64) int64 {
	return r.Portion(price, basisPoints, wholeBasisPoints+basisPoints)
}

// Percent is the share of an amount that basis points (0 to 10000) name.
func (r Rounding) Percent(amount, basisPoints int64) int64 {
	return r.Portion(amount, basisPoints, wholeBasisPoints)
}
