package stripe_test

import (
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/stripe/stripetest"
)

// How another process finds a charge, by how old and how crowded the account is.
func TestFindingAChargeByItsKey(t *testing.T) {
	t.Parallel()
	const crowd = 350 // More than is read from the list.
	for name, c := range map[string]struct {
		prepare func(*bench)
		found   payments.OutcomeState
		missing payments.OutcomeState
	}{
		"a new one, before the search knows it": {
			prepare: func(b *bench) { b.server.Crowd(account, 250) },
			found:   payments.OutcomeStateApproved, missing: payments.OutcomeStateNotFound,
		},
		"an old one, by the search": {
			prepare: func(b *bench) { b.server.Age(48 * time.Hour) },
			found:   payments.OutcomeStateApproved, missing: payments.OutcomeStateNotFound,
		},
		"in a crowd, by the search": {
			prepare: func(b *bench) { b.server.Crowd(account, crowd) },
			found:   payments.OutcomeStateApproved, missing: payments.OutcomeStateNotFound,
		},
		"without a search, while it is new": {
			prepare: func(b *bench) { b.server.DisableSearch() },
			found:   payments.OutcomeStateApproved, missing: payments.OutcomeStateNotFound,
		},
		"without a search, in a crowd nobody knows": {
			prepare: func(b *bench) { b.server.DisableSearch(); b.server.Crowd(account, crowd) },
			found:   payments.OutcomeStateUnknown, missing: payments.OutcomeStateUnknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if name == "a new one, before the search knows it" {
				b.server.FreezeSearch()
			}
			key := newKey()
			b.charge(chargeOf(key, stripetest.MethodCard), payments.OutcomeStateApproved)
			c.prepare(b)
			b.other().lookUp(key, c.found)
			b.other().lookUp(newKey(), c.missing)
			// The process that charged remembers the id.
			b.lookUp(key, payments.OutcomeStateApproved)
		})
	}
}

// The documented limit: not among the newest, and not searchable yet.
func TestNotFoundIsNoProof(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.server.FreezeSearch()
	key := newKey()
	request := chargeOf(key, stripetest.MethodCard)
	b.charge(request, payments.OutcomeStateApproved)
	b.server.Crowd(account, 350)
	b.other().lookUp(key, payments.OutcomeStateNotFound)
	// Sending it again under the same key, as the driver does, is told of the same charge.
	b.other().charge(request, payments.OutcomeStateApproved)
	b.only(key)
}

func TestAnotherProcessFindsAndClosesAPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := newKey()
	b.charge(pageOf(key), payments.OutcomeStatePending)
	if found := b.other().lookUp(key, payments.OutcomeStatePending); found.RedirectURL == "" {
		t.Errorf("got %+v", found)
	}
	b.other().cancel(key, payments.OutcomeStateDeclined)
	if b.server.PayPage(b.server.Pages(key)[0], stripetest.MethodCard) {
		t.Error("the closed page was paid")
	}
}
