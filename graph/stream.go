package graph

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

// subscription is what one subscription knows of its client. Its transport makes it.
type subscription struct {
	// authenticate says who the client is now, by its credentials, if they still hold.
	authenticate func(ctx context.Context) (tenants.Actor, error)
	// actor is who it was the last time. ended is why the stream ended, when it was not the client; it is set before the stream's channel
	// is closed.
	mu    sync.Mutex
	actor tenants.Actor
	ended error
}

// again asks who the client is, and what it may do, once more.
func (s *subscription) again(ctx context.Context) error {
	actor, err := s.authenticate(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actor = actor
	return nil
}

// subscriberOf is who a subscription acts for, with the rights that were found the last time.
func subscriberOf(ctx context.Context) tenants.Actor {
	s, _ := ctx.Value(subscriptionKey{}).(*subscription)
	if s == nil {
		return actorOf(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.actor
}

func (s *subscription) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = err
}

func (s *subscription) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

type subscriptionKey struct{}

func withSubscription(ctx context.Context, s *subscription) context.Context {
	return context.WithValue(ctx, subscriptionKey{}, s)
}

func subscriptionOf(ctx context.Context) *subscription {
	s, _ := ctx.Value(subscriptionKey{}).(*subscription)
	if s == nil {
		s = &subscription{authenticate: func(ctx context.Context) (tenants.Actor, error) { return actorOf(ctx), nil }}
	}
	return s
}

// authenticateInterval is how long a subscription may outlive its key or session.
const authenticateInterval = 30 * time.Second

// stream tells a client what next gives, at once and after each change, until next says that it was
// the last. nil is nothing to tell. A change while the client is slow waits here, and is told together
// with those after it. What the database cannot answer just now is asked again with the next change.
func stream[T any](ctx context.Context, changed <-chan struct{}, stop func(), next func(first bool) (message *T, last bool, err error)) <-chan *T {
	told := make(chan *T)
	s := subscriptionOf(ctx)
	go func() {
		defer close(told)
		defer stop()
		defer func() {
			if caught := recover(); caught != nil {
				s.end(fmt.Errorf("a subscription panicked: %v", caught))
			}
		}()
		s.end(tell(ctx, s, told, changed, next))
	}()
	return told
}

func tell[T any](ctx context.Context, s *subscription, told chan<- *T, changed <-chan struct{}, next func(bool) (*T, bool, error)) error {
	again := time.NewTicker(authenticateInterval)
	defer again.Stop()
	for first := true; ; {
		message, last, err := next(first)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || fault.KindOf(err) != fault.KindUnavailable):
			return err
		}
		if message != nil {
			select {
			case told <- message:
			case <-ctx.Done():
				return nil
			}
			first = false
		}
		if last {
			return nil
		}
		for waiting := true; waiting; {
			select {
			case <-changed:
				waiting = false
			case <-again.C:
				if err := s.again(ctx); err != nil && fault.KindOf(err) != fault.KindUnavailable {
					return err
				}
			case <-ctx.Done():
				return nil
			}
		}
	}
}
