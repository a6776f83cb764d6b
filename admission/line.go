package admission

import "time"

// The line is cut into buckets of orders, in which visitors are counted: so many for the opening
// window, where orders are random, and one for each few seconds of arrivals after it.
const (
	windowBuckets = 256
	tailBucket    = int64(10 * time.Second / time.Microsecond)
)

// line is the geometry of one room's line: window is the length of its opening window in microseconds.
type line struct{ window int64 }

// bucketOf is where an order is counted.
func (l line) bucketOf(order int64) int64 {
	if order < l.window {
		return order * windowBuckets / l.window
	}
	return windowBuckets + (order-l.window)/tailBucket
}

// span is the orders of a bucket, from start to before end.
func (l line) span(bucket int64) (start, end int64) {
	if bucket < windowBuckets {
		at := func(b int64) int64 { return (b*l.window + windowBuckets - 1) / windowBuckets }
		return at(bucket), at(bucket + 1)
	}
	start = l.window + (bucket-windowBuckets)*tailBucket
	return start, start + tailBucket
}

// sum is how many visitors joined with an order of a bucket.
type sum struct{ bucket, visitors int64 }

// part is how many of a bucket's visitors have orders from one to before another, if they are spread
// evenly over the part of it that is filled until now.
func (l line) part(s sum, from, to, now int64) float64 {
	start, end := l.span(s.bucket)
	if s.bucket >= windowBuckets {
		end = min(end, now)
	}
	from, to = max(from, start), min(to, end)
	if to <= from || end <= start {
		return 0
	}
	return float64(s.visitors) * float64(to-from) / float64(end-start)
}
