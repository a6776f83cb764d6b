package admission

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/admission/internal/dbsqlc"
	"github.com/holdfast/holdfast/internal/db"
)

// How the keys change. A key signs when every process has had time to read it; the newest ten are
// accepted, which is most of a year, and no room is open for longer than a week.
const (
	keyLifetime = 30 * 24 * time.Hour
	keyNotice   = 5 * time.Minute
	keysReadFor = time.Minute
	keysUnknown = time.Second
	// keysRetry is how long a database that did not answer is left alone while there are keys.
	keysRetry    = 2 * time.Second
	secretLength = 32
)

// signingKey is one of the installation's keys.
type signingKey struct {
	id     uint32
	secret []byte
	signs  time.Time
}

// keyRing is the keys as a process knows them.
type keyRing struct {
	db      *db.DB
	elapsed func() time.Duration

	lock sync.Mutex
	keys map[uint32]signingKey
	// newest first.
	order []signingKey
	clock reading
	known bool
	// retry is when a failed reading is tried again, in elapsed time.
	retry time.Duration
}

func newKeyRing(d *db.DB, elapsed func() time.Duration) *keyRing {
	return &keyRing{db: d, elapsed: elapsed}
}

// signer is the key that signs at present.
func (r *keyRing) signer(ctx context.Context) (signingKey, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if err := r.fresh(ctx, keysReadFor); err != nil {
		return signingKey{}, err
	}
	now := r.clock.time(r.elapsed())
	for _, key := range r.order {
		if !now.Before(key.signs) {
			return key, nil
		}
	}
	// The first key of an installation signs at once, and every process has read it before it signed.
	return r.order[len(r.order)-1], nil
}

// byID is a key that a token names. One that is not known may be new, and is looked for once a second.
func (r *keyRing) byID(ctx context.Context, id uint32) (signingKey, bool, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if err := r.fresh(ctx, keysReadFor); err != nil {
		return signingKey{}, false, err
	}
	if key, ok := r.keys[id]; ok {
		return key, true, nil
	}
	if err := r.fresh(ctx, keysUnknown); err != nil {
		return signingKey{}, false, err
	}
	key, ok := r.keys[id]
	return key, ok, nil
}

// fresh reads the keys when they were read longer ago than that, and makes the next one when the
// newest has grown old. The lock is held.
func (r *keyRing) fresh(ctx context.Context, oldest time.Duration) error {
	if age := r.clock.age(r.elapsed()); r.known && (age >= 0 && age < oldest || r.elapsed() < r.retry) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	err := r.read(ctx)
	if err == nil && len(r.order) == 0 {
		// The very first.
		if err = r.make(ctx, 1, 0); err == nil {
			err = r.read(ctx)
		}
	}
	if err == nil {
		if newest := r.order[0]; r.clock.shown.Sub(newest.signs) > keyLifetime {
			if err = r.make(ctx, newest.id+1, keyNotice); err == nil {
				err = r.read(ctx)
			}
		}
	}
	if err != nil && r.known {
		// Keys do not go bad because the database is away, and visitors do not wait for it one by one.
		r.retry = r.elapsed() + keysRetry
		return nil
	}
	return err
}

func (r *keyRing) read(ctx context.Context) error {
	rows, err := dbsqlc.New(r.db.Pool()).KeysRead(ctx)
	if err != nil {
		return db.Classify(fmt.Errorf("read the keys of waiting rooms: %w", err))
	}
	keys, order := make(map[uint32]signingKey, len(rows)), make([]signingKey, len(rows))
	for i, row := range rows {
		order[i] = signingKey{id: uint32(row.ID), secret: row.Secret, signs: row.SignsAt} //nolint:gosec // the CHECK bounds it
		keys[order[i].id] = order[i]
		r.clock = reading{shown: row.AskedAt, at: r.elapsed()}
	}
	r.keys, r.order, r.known = keys, order, len(order) > 0
	return nil
}

// make adds a key that signs after the notice. Of several processes that do, one succeeds.
func (r *keyRing) make(ctx context.Context, id uint32, notice time.Duration) error {
	secret := make([]byte, secretLength)
	if _, err := rand.Read(secret); err != nil {
		return fmt.Errorf("make a key of waiting rooms: %w", err)
	}
	_, err := db.Replayable(ctx, r.db, "admission.MakeKey", func(ctx context.Context, tx pgx.Tx) (int64, error) {
		queries := dbsqlc.New(tx)
		now, err := queries.Now(ctx)
		if err != nil {
			return 0, fmt.Errorf("read the database's clock: %w", err)
		}
		return queries.KeyInsert(ctx, dbsqlc.KeyInsertParams{ID: int64(id), Secret: secret, SignsAt: now.Add(notice)})
	})
	return err
}

// RotateKeys makes a key that signs from now on, at the next look of each process, within a minute.
// Tickets that were signed with the keys before are good until those are removed.
func (s *Service) RotateKeys(ctx context.Context) error {
	s.keys.lock.Lock()
	defer s.keys.lock.Unlock()
	if err := s.keys.fresh(ctx, 0); err != nil {
		return err
	}
	if err := s.keys.make(ctx, s.keys.order[0].id+1, 0); err != nil {
		return err
	}
	return s.keys.read(ctx)
}
