package stripe

import (
	"context"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	stripego "github.com/stripe/stripe-go/v84"

	"github.com/holdfast/holdfast/payments"
)

// Name is the provider's name in attempts, events and addresses.
const Name = "stripe"

const (
	// maxKeyLength is Stripe's bound on an idempotency key, in characters. Capturing and cancelling go
	// without one: Stripe guards them by the PaymentIntent's state, and a key would make it repeat an
	// error of its own for a day.
	maxKeyLength = 255
	// maxRemembered bounds the ids of Stripe's that are kept for the keys seen last.
	maxRemembered = 1 << 16
)

// Gateway speaks to Stripe; it is a payments.Gateway.
type Gateway struct {
	config Config
	client *stripego.Client
	// ids remembers which object belongs to which account and key. It is a cache of facts that never
	// change: losing it costs searches.
	ids *lru.Cache[place, string]
}

// place is where a key stands.
type place struct{ account, key string }

var _ payments.Gateway = (*Gateway)(nil)

// NewGateway makes the adapter. It calls nothing yet.
func NewGateway(config Config) (*Gateway, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	ids, err := lru.New[place, string](maxRemembered)
	if err != nil {
		return nil, fmt.Errorf("stripe: make the cache of ids: %w", err)
	}
	backends := stripego.NewBackendsWithConfig(&stripego.BackendConfig{
		HTTPClient: newHTTPClient(config.HTTPClient),
		URL:        stripego.String(strings.TrimSuffix(config.BaseURL, "/")),
		// The caller repeats, under its own rules; stripe-go would sleep within the call.
		MaxNetworkRetries: stripego.Int64(0),
		EnableTelemetry:   stripego.Bool(false),
		// stripe-go logs whole answers.
		LeveledLogger: &stripego.LeveledLogger{Level: stripego.LevelNull},
	})
	return &Gateway{config: config, client: stripego.NewClient(config.SecretKey, stripego.WithBackends(backends)), ids: ids}, nil
}

// bound is the context of one method of the Gateway.
func (g *Gateway) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, g.config.Timeout)
}

// header is the Stripe-Account header of a call: none for the platform's own account.
func (g *Gateway) header(account string) *string {
	if account == g.config.PlatformAccount {
		return nil
	}
	return &account
}

// params are the common parameters of a call that reads or that Stripe guards by itself.
func (g *Gateway) params(account string) stripego.Params {
	return stripego.Params{StripeAccount: g.header(account)}
}

// keyed are the common parameters of a call that takes effect once per key.
func (g *Gateway) keyed(account, key string) stripego.Params {
	return stripego.Params{StripeAccount: g.header(account), IdempotencyKey: &key}
}

func (g *Gateway) listed(account string) stripego.ListParams {
	return stripego.ListParams{StripeAccount: g.header(account), Limit: stripego.Int64(pageSize)}
}

func validatePlace(account, key string) error {
	if !accountForm.MatchString(account) {
		return fmt.Errorf("expected a Stripe account such as acct_…, got %.64q", account)
	}
	return validateKey(key)
}

// validateKey takes what stands in an idempotency key, a metadata value and a search query as it is.
func validateKey(key string) error {
	if key == "" || len(key) > maxKeyLength || strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.:#", r)
	}) {
		return fmt.Errorf("expected a key of 1 to %d letters, digits, underscores and hyphens, got %.64q", maxKeyLength, key)
	}
	return nil
}
