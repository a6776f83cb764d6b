package inventory

import (
	"context"
	"time"

	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// BoardWatch is told of each new version of a show's seats. It is told once for several that come
// before it looks, so that nobody who is slow holds up anything.
type BoardWatch struct {
	changed chan struct{}
	stop    func()
}

// Changed has a value when there is a version that was not looked at.
func (w *BoardWatch) Changed() <-chan struct{} { return w.changed }

// Close ends the watch.
func (w *BoardWatch) Close() { w.stop() }

func (w *BoardWatch) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// watchInterval is how often a watched show is asked for its version, however many watch it here.
const watchInterval = 500 * time.Millisecond

// WatchSeats watches a show that the actor may see the seats of. The database is polled for it as long
// as somebody watches: once for all who watch the same show in this process.
func (s *Service) WatchSeats(ctx context.Context, actor tenants.Actor, show ShowID) (*BoardWatch, error) {
	if err := s.authorizeShows(ctx, actor, policies.ActionAvailabilityRead, []ShowID{show}); err != nil {
		return nil, err
	}
	return s.boards.watch(boardKey{tenant: actor.Tenant, show: show}), nil //nolint:contextcheck // the poll serves all who watch, and outlives the first
}

func (b *boards) watch(key boardKey) *BoardWatch {
	b.mu.Lock()
	defer b.mu.Unlock()
	show := b.showOf(key)
	watch := &BoardWatch{changed: make(chan struct{}, 1)}
	watch.stop = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(show.watchers, watch)
	}
	if show.watchers == nil {
		show.watchers = map[*BoardWatch]struct{}{}
	}
	show.watchers[watch] = struct{}{}
	if !show.polling {
		show.polling = true
		go b.poll(key, show)
	}
	return watch
}

// poll reads a show's board again and again until nobody watches. What fails is tried again with the
// next tick: whoever looks at the show in between sees why.
func (b *boards) poll(key boardKey, show *watchedShow) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for range ticker.C {
		b.mu.Lock()
		watched := len(show.watchers) > 0
		show.polling = watched
		b.mu.Unlock()
		if !watched {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), boardReadTimeout)
		_, _ = b.get(ctx, key, watchInterval/2)
		cancel()
	}
}
