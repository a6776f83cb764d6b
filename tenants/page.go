package tenants

import (
	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/fault"
)

// Page is a part of a list, ordered by id: an order that stays when rows are added. The next page
// begins after the last item.
type Page[T any] struct {
	Items []T
	// More says that another page follows.
	More bool
}

// checkPage accepts the size of a page.
func checkPage(limit int) error {
	if limit < 1 || limit > MaxPage {
		return fault.Invalid("first", "expected 1 to %d", MaxPage)
	}
	return nil
}

// pageOf makes a page of the rows that a query with one more than limit returned.
func pageOf[R, T any](rows []R, limit int, convert func(R) T) Page[T] {
	page := Page[T]{More: len(rows) > limit}
	if page.More {
		rows = rows[:limit]
	}
	page.Items = make([]T, len(rows))
	for i, row := range rows {
		page.Items[i] = convert(row)
	}
	return page
}

// uuidsOf are the keys of a batched read.
func uuidsOf[T any](batch []T, uuidOf func(T) uuid.UUID) ([]uuid.UUID, error) {
	if len(batch) > MaxBatch {
		return nil, fault.Invalid("ids", "expected at most %d", MaxBatch)
	}
	uuids := make([]uuid.UUID, len(batch))
	for i, id := range batch {
		uuids[i] = uuidOf(id)
	}
	return uuids, nil
}
