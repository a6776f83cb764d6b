package admission

import "time"

// perVisitor is what calling one visitor costs of the credit, which accrues by the rate a minute in
// each microsecond.
const perVisitor = int64(time.Minute / time.Microsecond)

// motion is how far a watermark may move: everybody whose order is not above it is called.
type motion struct {
	line line
	// watermark is the last order that was called, -1 for none.
	watermark int64
	// credit has accrued for visitors not yet called.
	credit int64
	// ratePerMinute is how many visitors are called in a minute.
	ratePerMinute int64
	// sums are of the visitors from the watermark's bucket on, in order; complete says that none is left
	// out behind them.
	sums     []sum
	complete bool
	// now is the present as an order, and limit the first order that may not be called yet, because
	// those who join with it may not be counted.
	now, limit int64
}

// after is the watermark and the credit when so much time has passed. It never moves back. Time in
// which nobody waited is not saved up, but for one second.
func (m motion) after(elapsed time.Duration) (watermark, credit int64) {
	left := float64(m.credit) + float64(m.ratePerMinute)*float64(elapsed.Microseconds())
	watermark = m.watermark
	for _, s := range m.sums {
		start, end := m.line.span(s.bucket)
		from, to := max(start, watermark+1), min(end, m.limit)
		if start >= m.limit {
			break
		}
		if from >= to {
			continue
		}
		cost := m.line.part(s, from, to, m.now) * float64(perVisitor)
		if cost > left {
			// The rest of a visitor is kept: the next one is called when all of it has accrued.
			step := int64(float64(to-from) * left / cost)
			if step == 0 {
				return watermark, int64(left)
			}
			spent := cost * float64(step) / float64(to-from)
			return from - 1 + step, max(0, int64(left-spent))
		}
		left -= cost
		watermark = to - 1
	}
	if m.complete {
		watermark = max(watermark, m.limit-1)
	}
	return watermark, min(int64(left), max(perVisitor, m.ratePerMinute*int64(time.Second/time.Microsecond)))
}
