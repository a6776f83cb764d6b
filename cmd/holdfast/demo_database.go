package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
)

// dropTimeout bounds the removal of a throw-away database.
const dropTimeout = 30 * time.Second

// openThrowaway opens a migrated database that nobody else uses: on the server of databaseURL,
// under a name that begins with prefix, or on a throw-away engine when there is no URL. drop
// removes it with everything that was started, also when ctx has ended; on an error nothing is
// left to drop.
func openThrowaway(ctx context.Context, databaseURL, prefix string, progress io.Writer) (s *store, drop func() error, err error) {
	remove := func() error { return nil }
	target := databaseURL
	if databaseURL != "" {
		name := prefix + "_" + randomName()
		remove = func() error { return dropDatabase(ctx, databaseURL, name) }
		if target, err = createDatabase(ctx, databaseURL, name); err != nil {
			if ctx.Err() != nil {
				// The server may have made it after we stopped waiting.
				err = errors.Join(err, remove())
			}
			return nil, nil, err
		}
	}
	if s, err = openStore(ctx, target, "", progress, discard()); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	drop = func() error { return errors.Join(s.close(ctx), remove()) }
	if err := s.migrate(ctx, discard()); err != nil {
		return nil, nil, errors.Join(err, drop())
	}
	return s, drop, nil
}

// dropDatabase removes a database even when ctx has ended: whoever interrupts leaves nothing behind.
func dropDatabase(ctx context.Context, server, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	probe, err := db.Open(ctx, db.Config{URL: server, MaxConnections: 1})
	if err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	defer probe.Close()
	statement := "DROP DATABASE IF EXISTS " + pgx.Identifier{name}.Sanitize()
	switch probe.Engine() {
	case db.EngineCockroachDB:
		statement += " CASCADE"
	case db.EnginePostgreSQL:
		statement += " WITH (FORCE)"
	}
	if _, err := probe.Pool().Exec(ctx, statement); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// randomName tells databases and tenants of several runs apart.
func randomName() string {
	var bytes [6]byte
	_, _ = rand.Read(bytes[:]) // crypto/rand never fails
	return hex.EncodeToString(bytes[:])
}
