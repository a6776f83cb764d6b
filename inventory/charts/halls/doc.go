// Package halls owns the charts of the product's own sample data: halls that do not exist, drawn the way real ones are.
//
// It does not own prices, pool capacities or shows; the sample data sets those. Both halls are the same at every call,
// seat ids included, and pass charts.Chart.Validate.
package halls
