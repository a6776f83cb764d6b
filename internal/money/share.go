package money

import "math/bits"

// Portion is the share n/of of an amount in minor units, rounded half up. It needs
// 0 <= amount and 0 <= n <= of, and is 0 of nothing.
func Portion(amount, n, of int64) int64 {
	return HalfUp.Portion(amount, n, of)
}

// IncludedTax is the tax within a price that includes it, at a rate in basis points (hundredths of a
// percent), rounded half up.
func IncludedTax(price, basisPoints int64) int64 {
	return Portion(price, basisPoints, wholeBasisPoints+basisPoints)
}

// wholeBasisPoints is 100 %.
const wholeBasisPoints = 10_000

// Percent is the share of an amount that basis points (hundredths of a percent, 0 to 10000) name,
// rounded half up.
func Percent(amount, basisPoints int64) int64 {
	return Portion(amount, basisPoints, wholeBasisPoints)
}

// Apportion divides a total over parts by their weights. Each part is whole, and together they are
// just the total. Where the total is no more than the weights together, no part is more than its
// weight. Nothing is divided when all weights are 0.
func Apportion(total int64, weights []int64) []int64 {
	parts := make([]int64, len(weights))
	var sum int64
	for _, weight := range weights {
		sum += weight
	}
	if sum <= 0 || total <= 0 {
		return parts
	}
	// The parts are the steps of a sum that is rounded down, so that they add up to the last of it.
	var reached, given int64
	for i, weight := range weights {
		reached += weight
		upTo, _ := divide(total, reached, sum)
		parts[i] = upTo - given
		given = upTo
	}
	return parts
}

// divide is a*n/of with 128 bits in between, for positive numbers with n <= of.
func divide(a, n, of int64) (quotient, remainder int64) {
	high, low := bits.Mul64(uint64(a), uint64(n)) //nolint:gosec // positive
	q, r := bits.Div64(high, low, uint64(of))     //nolint:gosec // positive
	return int64(q), int64(r)                     //nolint:gosec // at most a, and less than of
}
