package inventorytest

import (
	"context"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"

	"github.com/jackc/pgx/v5"
)

// Now is the database's clock.
func (x *Tenant) Now() time.Time {
	x.t.Helper()
	now, err := inventory.Now(x.t.Context(), x.DB.Pool())
	if err != nil {
		x.t.Fatal(err)
	}
	return now
}

// Tick lets time pass for every hold of the tenant: what they remember moves into the past by so
// much. It does not touch the database's clock, which all tests share.
func (x *Tenant) Tick(d time.Duration) {
	x.t.Helper()
	if err := x.shift(d, "TRUE"); err != nil {
		x.t.Fatal(err)
	}
}

// Lapse lets just so much time pass for a hold that others may take its units.
func (x *Tenant) Lapse(holds ...inventory.Hold) {
	x.t.Helper()
	for _, hold := range holds {
		current, err := inventory.GetHold(x.t.Context(), x.DB.Pool(), x.ID, hold.ID)
		if err != nil {
			x.t.Fatal(err)
		}
		if err := x.shift(current.ClaimableAt.Sub(x.Now())+time.Millisecond, "id = '"+hold.ID.UUID.String()+"'"); err != nil {
			x.t.Fatal(err)
		}
	}
}

// Over lets the hall's show have started so long ago, without an end of its sale of its own.
func (h *Hall) Over(ago time.Duration) {
	h.tenant.t.Helper()
	if _, err := h.tenant.DB.Pool().Exec(h.tenant.t.Context(),
		"UPDATE shows SET starts_at = $3, sale_closes_at = NULL WHERE tenant_id = $1 AND id = $2", h.tenant.ID.UUID, h.Show.UUID, h.tenant.Now().Add(-ago)); err != nil {
		h.tenant.t.Fatal(err)
	}
}

func (x *Tenant) shift(d time.Duration, which string) error {
	_, err := db.InTx(x.t.Context(), x.DB, "inventorytest.Tick", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		_, err := tx.Exec(ctx, `UPDATE holds
			SET placed_at = placed_at - $2::interval, deadline = deadline - $2::interval,
				lease_deadline = lease_deadline - $2::interval, claimable_at = claimable_at - $2::interval,
				ended_at = ended_at - $2::interval
			WHERE tenant_id = $1 AND `+which, x.ID.UUID, d)
		if err != nil {
			return struct{}{}, err
		}
		_, err = tx.Exec(ctx, `UPDATE show_seats s SET claimable_at = h.claimable_at, version = s.version + 1
			FROM holds h
			WHERE s.tenant_id = $1 AND s.state = 'HELD' AND h.tenant_id = s.tenant_id AND h.region = s.region AND h.id = s.hold_id`, x.ID.UUID)
		return struct{}{}, err
	})
	return err
}
