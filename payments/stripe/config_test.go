package stripe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments/stripe"
)

func validConfig() stripe.Config {
	return stripe.Config{SecretKey: "sk_test_abcdefgh1234", WebhookSecrets: []string{"whsec_abcdefgh1234"}}
}

func TestConfigsThatCannotWork(t *testing.T) {
	t.Parallel()
	if err := validConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*stripe.Config){
		"stripe SecretKey: expected a secret key such as sk_live_… or rk_test_…":     func(c *stripe.Config) { c.SecretKey = "pk_live_abcdefgh1234" },
		"stripe WebhookSecrets: expected 1 to 8 secrets, got 0":                      func(c *stripe.Config) { c.WebhookSecrets = nil },
		"stripe WebhookSecrets: expected 1 to 8 secrets, got 9":                      func(c *stripe.Config) { c.WebhookSecrets = make([]string, 9) },
		"stripe WebhookSecrets[1]: expected a signing secret such as whsec_…":        func(c *stripe.Config) { c.WebhookSecrets = append(c.WebhookSecrets, "hunter2hunter2") },
		"stripe PlatformAccount: expected an account such as acct_…":                 func(c *stripe.Config) { c.PlatformAccount = "me" },
		"stripe ReturnURL: expected an http or https address":                        func(c *stripe.Config) { c.ReturnURL = "javascript:alert(1)" },
		"stripe BaseURL: expected https; only a loopback address may go without TLS": func(c *stripe.Config) { c.BaseURL = "http://stripe.example.com" },
		"stripe Timeout: expected 0 to 2m0s, got 1h0m0s":                             func(c *stripe.Config) { c.Timeout = time.Hour },
	} {
		config := validConfig()
		change(&config)
		err := config.Validate()
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, made := stripe.NewGateway(config); made == nil || strings.Contains(made.Error(), "hunter2") {
			t.Errorf("made with it: %v", made)
		}
	}
}

func TestTheKeySaysWhetherItIsLive(t *testing.T) {
	t.Parallel()
	for key, live := range map[string]bool{"sk_live_abcdefgh": true, "rk_live_abcdefgh": true, "sk_test_abcdefgh": false, "rk_test_live_abc": false} {
		config := validConfig()
		config.SecretKey = key
		if config.LiveMode() != live {
			t.Errorf("%s: live %t", key, !live)
		}
	}
}
