package bookings_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments"
)

// instant is a provider that answers every look-up at once.
type instant struct {
	payments.Gateway
	state payments.OutcomeState
}

func (g instant) LookUp(_ context.Context, account, key string) (payments.Outcome, error) {
	outcome := payments.Outcome{State: g.state, Account: account}
	if g.state == payments.OutcomeStateApproved {
		outcome.ChargeID, outcome.Captured = "ch_"+key, money.Amount{Minor: 1000, Currency: "EUR"}
	}
	return outcome, nil
}

// BenchmarkReconcile is how many open payments a second one process's reconciler looks at, of a
// provider that answers at once: one operation is one payment. For a backlog of 100,000:
//
//	go test ./bookings -run '^$' -bench Reconcile -benchtime 100000x
func BenchmarkReconcile(b *testing.B) {
	for name, state := range map[string]payments.OutcomeState{
		// The provider has not decided: the attempt is looked at again later.
		"pending": payments.OutcomeStatePending,
		// The buyer has paid: the booking is made.
		"approved": payments.OutcomeStateApproved,
	} {
		b.Run(name, func(b *testing.B) {
			shop := bookingstest.New(b)
			backlog(shop, b.N)
			shop.Sales = shop.Service(bookings.Config{}, instant{state: state})
			b.ResetTimer()
			looked := 0
			for looked < b.N {
				done, err := shop.Sales.Reconcile(b.Context(), 10_000)
				if err != nil {
					b.Fatal(err)
				}
				if done.Attempts == 0 {
					b.Fatalf("%d of %d were looked at", looked, b.N)
				}
				looked += done.Attempts
			}
			b.StopTimer()
			b.ReportMetric(float64(looked)/b.Elapsed().Seconds(), "attempts/s")
		})
	}
}

// backlog makes holds of one unit of a split pool, whose payments are all unknown and due.
func backlog(shop *bookingstest.Shop, n int) {
	const shards, chunk = 64, 2000
	pool := shop.Hall(1, inventorytest.PoolOf("Floor", int64(max(n, shards)), shards)).Pools[0]
	for begun := 0; begun < n; begun += chunk {
		holds := make([]uuid.UUID, min(chunk, n-begun))
		for i := range holds {
			holds[i] = uuid.New()
		}
		shop.Exec(`INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline, claimable_at,
				max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline, max_per_instrument, total_minor, currency)
			SELECT $1, $2, h, $3, 'GUEST', h, 'PROCESSING', now(), now() + interval '1 day', now() + interval '1 day', now() + interval '1 day',
				1, 300, 900, 120, 900, 'HONOUR', 'RELEASE', 5, 1000, 'EUR'
			FROM unnest($4::uuid[]) AS h`, string(inventorytest.Region), shop.Owner.Channel.UUID, holds)
		shop.Exec(`INSERT INTO hold_lines (tenant_id, region, hold_id, ordinal, item, kind, show_id, pool_id, shard, bucket, quantity, amount_minor)
			SELECT p.tenant_id, p.region, h.id, 0, 0, 'POOL', p.show_id, p.id, h.n % $3::bigint, '00000000-0000-0000-0000-000000000000', 1, 1000
			FROM pools p
			CROSS JOIN unnest($4::uuid[]) WITH ORDINALITY AS h (id, n)
			WHERE p.tenant_id = $1 AND p.id = $2`, pool.ID.UUID, shards, holds)
		shop.Exec(`UPDATE pool_counters c SET held = c.held + l.held, ceiling = GREATEST(c.ceiling, c.held + l.held)
			FROM (SELECT shard, count(*) AS held FROM hold_lines WHERE tenant_id = $1 AND hold_id = ANY($3::uuid[]) GROUP BY shard) AS l
			WHERE c.tenant_id = $1 AND c.pool_id = $2 AND c.shard = l.shard`, pool.ID.UUID, holds)
		shop.Exec(`INSERT INTO checkouts (tenant_id, region, hold_id, contact_name, contact_email, partner_reference)
			SELECT $1, $2, h, '', '', '' FROM unnest($3::uuid[]) AS h`, string(inventorytest.Region), holds)
		shop.Exec(`INSERT INTO payment_attempts (tenant_id, region, id, hold_id, provider, account, method_token, amount_minor, currency, state, checks,
				next_check_at, created_at, submitted_at)
			SELECT $1, $2, h, h, $3, $4, 'tok', 1000, 'EUR', 'UNKNOWN', 9, now() - interval '1 second', now() - interval '1 hour', now() - interval '1 hour'
			FROM unnest($5::uuid[]) AS h`, string(inventorytest.Region), shop.ProviderName, shop.Account, holds)
	}
}
