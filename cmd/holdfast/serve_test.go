package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestConfiguredPaymentProviders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags providerFlags
		want  []string
		err   string
	}{
		"none":    {},
		"sandbox": {flags: providerFlags{SandboxURL: "http://127.0.0.1:1", SandboxSecret: "hunter2hunter2", SandboxWebhookSecrets: "hunter2hunter2"}, want: []string{"sandbox"}},
		"both": {
			flags: providerFlags{
				SandboxURL: "http://127.0.0.1:1", SandboxSecret: "hunter2hunter2", SandboxWebhookSecrets: "hunter2hunter2",
				StripeSecretKey: "sk_test_hunter2hunter2", StripeWebhookSecrets: "whsec_hunter2hunter2,whsec_hunter2hunter3", StripePlatformAccount: "acct_1",
			},
			want: []string{"sandbox", "stripe"},
		},
		"no webhook secret":         {flags: providerFlags{StripeSecretKey: "sk_test_hunter2hunter2"}, err: "HOLDFAST_STRIPE_WEBHOOK_SECRETS is not set, but HOLDFAST_STRIPE_SECRET_KEY is"},
		"a bad webhook secret":      {flags: providerFlags{StripeSecretKey: "sk_test_hunter2hunter2", StripeWebhookSecrets: "hunter2"}, err: "HOLDFAST_STRIPE_…: stripe WebhookSecrets[0]: expected a signing secret such as whsec_…"},
		"no sandbox secret":         {flags: providerFlags{SandboxURL: "http://127.0.0.1:1"}, err: "HOLDFAST_SANDBOX_SECRET is not set, but HOLDFAST_SANDBOX_URL is"},
		"no sandbox webhook secret": {flags: providerFlags{SandboxURL: "http://127.0.0.1:1", SandboxSecret: "hunter2hunter2"}, err: "HOLDFAST_SANDBOX_WEBHOOK_SECRETS is not set, but HOLDFAST_SANDBOX_URL is"},
		"a public key":              {flags: providerFlags{StripeSecretKey: "pk_test_hunter2hunter2", StripeWebhookSecrets: "whsec_hunter2hunter2"}, err: "HOLDFAST_STRIPE_…: stripe SecretKey: expected a secret key such as sk_live_… or rk_test_…"},
		"no key":                    {flags: providerFlags{StripeReturnURL: "https://shop.example.com"}, err: "HOLDFAST_STRIPE_SECRET_KEY is not set, but other settings of Stripe are"},
	} {
		gateways, err := c.flags.gateways()
		if got := slices.Sorted(maps.Keys(gateways)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && (err.Error() != c.err || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: got %v, want %s", name, err, c.err)
		}
	}
}
