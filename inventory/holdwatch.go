package inventory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/tenants"
)

// HoldWatch is told when a hold has changed: it was written, or its time was over. It is told once for
// several changes that come before it looks.
type HoldWatch struct {
	changed chan struct{}
	stop    func()
	seen    holdVersion
}

// Changed has a value when there is a change that was not looked at.
func (w *HoldWatch) Changed() <-chan struct{} { return w.changed }

// Close ends the watch.
func (w *HoldWatch) Close() { w.stop() }

// holdVersion is what changes with a hold. The zero value is none.
type holdVersion struct {
	version int64
	due     bool
}

// holdPlace is where holds are asked for together.
type holdPlace struct {
	tenant uuid.UUID
	region ids.Region
}

// holdWatches asks for all watched holds of a tenant in a region at once, as long as there are any.
type holdWatches struct {
	read func(ctx context.Context, at holdPlace, holds []uuid.UUID) (map[uuid.UUID]holdVersion, error)

	mu      sync.Mutex
	watched map[holdPlace]map[uuid.UUID]map[*HoldWatch]struct{}
	polling map[holdPlace]bool
}

func newHoldWatches(read func(context.Context, holdPlace, []uuid.UUID) (map[uuid.UUID]holdVersion, error)) *holdWatches {
	return &holdWatches{read: read, watched: map[holdPlace]map[uuid.UUID]map[*HoldWatch]struct{}{}, polling: map[holdPlace]bool{}}
}

// holdBatch bounds the holds of one statement.
const holdBatch = 1000

// WatchHold watches a hold that the actor may read now. The database is polled for all watched holds
// together.
func (s *Service) WatchHold(ctx context.Context, actor tenants.Actor, id HoldID) (*HoldWatch, Hold, error) {
	// The watch is first, so that no change falls between it and the read.
	watch := s.holds.add(holdPlace{tenant: actor.Tenant.UUID, region: id.Region}, id.UUID) //nolint:contextcheck // the poll is for all who watch
	hold, err := s.Hold(ctx, actor, id)
	if err != nil {
		watch.Close()
		return nil, Hold{}, err
	}
	return watch, hold, nil
}

func (w *holdWatches) add(at holdPlace, hold uuid.UUID) *HoldWatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := &HoldWatch{changed: make(chan struct{}, 1)}
	watch.stop = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watched[at][hold], watch)
		if len(w.watched[at][hold]) == 0 {
			delete(w.watched[at], hold)
		}
	}
	holds := w.watched[at]
	if holds == nil {
		holds = map[uuid.UUID]map[*HoldWatch]struct{}{}
		w.watched[at] = holds
	}
	if holds[hold] == nil {
		holds[hold] = map[*HoldWatch]struct{}{}
	}
	holds[hold][watch] = struct{}{}
	if !w.polling[at] {
		w.polling[at] = true
		go w.poll(at)
	}
	return watch
}

func (w *holdWatches) poll(at holdPlace) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for range ticker.C {
		w.mu.Lock()
		holds := make([]uuid.UUID, 0, len(w.watched[at]))
		for hold := range w.watched[at] {
			holds = append(holds, hold)
		}
		if len(holds) == 0 {
			delete(w.polling, at)
			delete(w.watched, at)
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		for batch := range slices.Chunk(holds, holdBatch) {
			ctx, cancel := context.WithTimeout(context.Background(), boardReadTimeout)
			// What fails is asked again with the next tick.
			if versions, err := w.read(ctx, at, batch); err == nil {
				w.tell(at, versions)
			}
			cancel()
		}
	}
}

// tell tells the watches of what they have not seen; the first look of a watch is told of always.
func (w *holdWatches) tell(at holdPlace, versions map[uuid.UUID]holdVersion) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for hold, version := range versions {
		for watch := range w.watched[at][hold] {
			if watch.seen == version {
				continue
			}
			watch.seen = version
			select {
			case watch.changed <- struct{}{}:
			default:
			}
		}
	}
}

func (s *Service) readHoldVersions(ctx context.Context, at holdPlace, holds []uuid.UUID) (map[uuid.UUID]holdVersion, error) {
	rows, err := dbsqlc.New(s.db.Pool()).HoldVersions(ctx, dbsqlc.HoldVersionsParams{TenantID: at.tenant, Region: string(at.region), Ids: holds})
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read the versions of holds: %w", err))
	}
	versions := make(map[uuid.UUID]holdVersion, len(rows))
	for _, row := range rows {
		versions[row.ID] = holdVersion{version: row.Version, due: row.Due}
	}
	return versions, nil
}
