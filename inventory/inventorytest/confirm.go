package inventorytest

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/inventory"
)

// ErrNotConfirmable is what Confirm answers when the hold may not be sold any more.
var ErrNotConfirmable = errors.New("the hold cannot be confirmed")

// change locks a hold and acts on it, as package bookings does within its transactions.
func (x *Tenant) change(id inventory.HoldID, act func(ctx context.Context, tx pgx.Tx, hold inventory.Hold, now time.Time) (inventory.Hold, error)) (inventory.Hold, error) {
	return db.InTx(x.t.Context(), x.DB, "inventorytest.change", func(ctx context.Context, tx pgx.Tx) (inventory.Hold, error) {
		hold, err := inventory.LockHold(ctx, tx, x.ID, id)
		if err != nil {
			return inventory.Hold{}, err
		}
		now, err := inventory.Now(ctx, tx)
		if err != nil {
			return inventory.Hold{}, err
		}
		return act(ctx, tx, hold, now)
	})
}

// Checkout begins the payment of a hold, as bookings does, unless its deadline has passed.
func (x *Tenant) Checkout(id inventory.HoldID) (inventory.Hold, error) {
	return x.change(id, func(ctx context.Context, tx pgx.Tx, hold inventory.Hold, now time.Time) (inventory.Hold, error) {
		if hold.State != inventory.HoldStateActive || !now.Before(hold.Deadline) {
			return inventory.Hold{}, inventory.Refuse(inventory.RefusalHoldExpired, "the hold's deadline has passed")
		}
		return inventory.ProcessTx(ctx, tx, hold, now)
	})
}

// Confirm sells a hold whose payment has succeeded, or answers ErrNotConfirmable.
func (x *Tenant) Confirm(id inventory.HoldID) (inventory.Hold, error) {
	return x.change(id, func(ctx context.Context, tx pgx.Tx, hold inventory.Hold, now time.Time) (inventory.Hold, error) {
		if !hold.Confirmable(now) {
			return inventory.Hold{}, ErrNotConfirmable
		}
		return inventory.ConfirmTx(ctx, tx, hold, now)
	})
}

// Decline ends the payment of a hold that is being paid.
func (x *Tenant) Decline(id inventory.HoldID) (inventory.Hold, error) {
	return x.change(id, inventory.DeclineTx)
}

// Return gives all units of a confirmed hold back, as a cancellation does.
func (x *Tenant) Return(hold inventory.Hold) error {
	_, err := db.InTx(x.t.Context(), x.DB, "inventorytest.Return", func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		return struct{}{}, inventory.ReturnBookedTx(ctx, tx, x.ID, hold.ID, hold.Lines)
	})
	return err
}
