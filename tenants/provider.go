package tenants

import (
	"regexp"
	"slices"

	"github.com/holdfast/holdfast/internal/fault"
)

// The payment providers that a tenant can have, by the names of their adapters. Whether a server can
// reach one is that server's configuration.
const (
	// providerOffline is money that is taken elsewhere, at a box office for example.
	providerOffline = "offline"
	// providerSandbox moves no money.
	providerSandbox = "sandbox"
	// providerStripe needs a PaymentAccount.
	providerStripe = "stripe"
)

// stripeAccountForm is what Stripe's accounts look like.
var stripeAccountForm = regexp.MustCompile(`^acct_[A-Za-z0-9]{1,64}$`)

// checkProvider accepts a provider that can be asked for money, with an account of the form that it has. Otherwise
// the mistake would show when the first buyer pays.
func checkProvider(providers []string, provider, account string) error {
	if !slices.Contains(providers, provider) {
		return fault.Invalid("paymentProvider", "expected one of the providers %q, got %.40q", providers, provider)
	}
	if provider == providerStripe && !stripeAccountForm.MatchString(account) {
		return fault.Invalid("paymentAccount", "expected the tenant's account with Stripe, such as \"acct_1A2b3C\"")
	}
	return nil
}
