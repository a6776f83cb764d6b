package inventorytest

import (
	"sync"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Buyer is somebody who holds units.
type Buyer struct {
	Actor  tenants.Actor
	tenant *Tenant
}

// Try asks for a hold of all wishes and returns what the service says.
func (b Buyer) Try(wishes ...inventory.LineRequest) (inventory.Hold, error) {
	return b.TryKey(Key(), wishes...)
}

// TryKey is Try with a request key of the caller's choice.
func (b Buyer) TryKey(key string, wishes ...inventory.LineRequest) (inventory.Hold, error) {
	return b.tenant.Inventory.PlaceHold(b.tenant.t.Context(), b.Actor, inventory.PlaceHold{RequestKey: key, Lines: wishes})
}

// Hold must get all wishes.
func (b Buyer) Hold(wishes ...inventory.LineRequest) inventory.Hold {
	b.tenant.t.Helper()
	hold, err := b.Try(wishes...)
	if err != nil {
		b.tenant.t.Fatalf("refused: %s", b.tenant.Explain(err))
	}
	return hold
}

// Refused must get nothing, and be told exactly this; see Explain.
func (b Buyer) Refused(want string, wishes ...inventory.LineRequest) {
	b.tenant.t.Helper()
	_, err := b.Try(wishes...)
	if got := b.tenant.Explain(err); got != want {
		b.tenant.t.Fatalf("got:  %s\nwant: %s", got, want)
	}
}

// TryExtend asks for a later deadline and returns what the service says.
func (b Buyer) TryExtend(hold inventory.Hold) (inventory.Hold, error) {
	return b.tenant.Inventory.ExtendHold(b.tenant.t.Context(), b.Actor, hold.ID, Key())
}

// Extend must get a later deadline.
func (b Buyer) Extend(hold inventory.Hold) inventory.Hold {
	b.tenant.t.Helper()
	extended, err := b.TryExtend(hold)
	if err != nil {
		b.tenant.t.Fatalf("refused: %s", b.tenant.Explain(err))
	}
	return extended
}

// TryRelease gives a hold back and returns what the service says.
func (b Buyer) TryRelease(hold inventory.Hold) (inventory.Hold, error) {
	return b.tenant.Inventory.ReleaseHold(b.tenant.t.Context(), b.Actor, hold.ID, Key())
}

// Release must give a hold back.
func (b Buyer) Release(hold inventory.Hold) inventory.Hold {
	b.tenant.t.Helper()
	released, err := b.TryRelease(hold)
	if err != nil {
		b.tenant.t.Fatalf("refused: %s", b.tenant.Explain(err))
	}
	return released
}

// Read is the hold as its buyer sees it.
func (b Buyer) Read(hold inventory.Hold) inventory.Hold {
	b.tenant.t.Helper()
	read, err := b.tenant.Inventory.Hold(b.tenant.t.Context(), b.Actor, hold.ID)
	if err != nil {
		b.tenant.t.Fatal(err)
	}
	return read
}

// Race lets n callers loose at the same moment and returns what each of them was told.
func Race(n int, act func(i int) error) []error {
	results := make([]error, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			results[i] = act(i)
		})
	}
	close(start)
	done.Wait()
	return results
}
