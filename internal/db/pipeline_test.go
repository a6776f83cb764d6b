package db_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
)

// The statements of a pipeline are executed in order, in the transaction, and each is answered for.
func TestAPipelineAnswersForEachStatement(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	if _, err := d.Pool().Exec(t.Context(), `CREATE TABLE IF NOT EXISTS pipelined (id bigint PRIMARY KEY, n bigint NOT NULL CHECK (n < 10))`); err != nil {
		t.Fatal(err)
	}
	changed, err := db.InTx(t.Context(), d, "test.Pipeline", func(ctx context.Context, tx pgx.Tx) ([]int64, error) {
		var p db.Pipeline
		for _, sql := range []string{
			`INSERT INTO pipelined SELECT unnest(ARRAY[1, 2, 3]::bigint[]), 1`,
			`UPDATE pipelined SET n = n + 1 WHERE id > 1`,
			`DELETE FROM pipelined WHERE id = 9`,
		} {
			if _, err := p.Exec(ctx, sql); err != nil {
				return nil, err
			}
		}
		return p.Send(ctx, tx)
	})
	if err != nil || len(changed) != 3 || changed[0] != 3 || changed[1] != 2 || changed[2] != 0 {
		t.Fatalf("got %v, %v", changed, err)
	}
	_, err = db.InTx(t.Context(), d, "test.Pipeline", func(ctx context.Context, tx pgx.Tx) ([]int64, error) {
		var p db.Pipeline
		_, _ = p.Exec(ctx, `DELETE FROM pipelined`)
		_, _ = p.Exec(ctx, `INSERT INTO pipelined VALUES (4, 100)`)
		return p.Send(ctx, tx)
	})
	if db.ViolatedConstraint(err) == "" {
		t.Fatalf("a violation in a pipeline: got %v", err)
	}
	var sum int64
	if err := d.Pool().QueryRow(t.Context(), `SELECT sum(n)::bigint FROM pipelined`).Scan(&sum); err != nil || sum != 5 {
		t.Errorf("after a pipeline that failed: got %d, %v", sum, err)
	}
	var p db.Pipeline
	if rows, err := p.Query(t.Context(), "SELECT 1"); err == nil {
		rows.Close()
		t.Errorf("a pipeline read something: %v", rows.Err())
	}
	if err := p.QueryRow(t.Context(), "SELECT 1").Scan(); err == nil {
		t.Error("a pipeline read a row")
	}
}
