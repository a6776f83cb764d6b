package stripe

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	stripego "github.com/stripe/stripe-go/v84"
)

// Limits of the configuration.
const (
	defaultTimeout = 20 * time.Second
	maxTimeout     = 2 * time.Minute
	// maxWebhookSecrets is enough for the endpoint of the platform and the one of its connected
	// accounts, while the secrets of both are being replaced.
	maxWebhookSecrets = 8
	maxSecretLength   = 255
	maxURLLength      = 2048
)

// Config sets up a Gateway.
type Config struct {
	// SecretKey is a secret or restricted key of the platform: sk_live_…, sk_test_…, rk_live_… or
	// rk_test_…. It says whether this is live: events of the other mode are refused. Required.
	SecretKey string
	// WebhookSecrets are the signing secrets (whsec_…) that are accepted, 1 to 8 of them: one for each
	// endpoint, and two of one whose secret is being replaced. Required.
	WebhookSecrets []string
	// PlatformAccount is the account (acct_…) that the key itself belongs to. Payments into it carry no
	// Stripe-Account header; all other accounts are connected ones. Default: all are connected ones.
	PlatformAccount string
	// ReturnURL is where a buyer comes back to after confirming a payment at a bank. Default: a payment
	// that has to be confirmed by the buyer is declined with "authentication_required".
	ReturnURL string
	// Timeout bounds each method of the Gateway, with all the calls that it makes. Default: 20 s.
	Timeout time.Duration
	// BaseURL is the address of Stripe's API. Tests set it; only a loopback address may go without
	// TLS. Default: https://api.stripe.com.
	BaseURL string
	// HTTPClient makes the calls, but follows no redirects. Default: a client of its own.
	HTTPClient *http.Client
	// Now judges the age of signatures and bounds searches. Default: time.Now.
	Now func() time.Time
}

var (
	keyForm     = regexp.MustCompile(`^(sk|rk)_(live|test)_[A-Za-z0-9]{8,}$`)
	webhookForm = regexp.MustCompile(`^whsec_[!-~]{8,}$`)
	accountForm = regexp.MustCompile(`^acct_[A-Za-z0-9]{1,64}$`)
)

// Validate reports the first field that cannot work, without its value where that is secret.
func (c Config) Validate() error {
	if len(c.SecretKey) > maxSecretLength || !keyForm.MatchString(c.SecretKey) {
		return errors.New("stripe SecretKey: expected a secret key such as sk_live_… or rk_test_…")
	}
	if len(c.WebhookSecrets) == 0 || len(c.WebhookSecrets) > maxWebhookSecrets {
		return fmt.Errorf("stripe WebhookSecrets: expected 1 to %d secrets, got %d", maxWebhookSecrets, len(c.WebhookSecrets))
	}
	for i, secret := range c.WebhookSecrets {
		if len(secret) > maxSecretLength || !webhookForm.MatchString(secret) {
			return fmt.Errorf("stripe WebhookSecrets[%d]: expected a signing secret such as whsec_…", i)
		}
	}
	if c.PlatformAccount != "" && !accountForm.MatchString(c.PlatformAccount) {
		return errors.New("stripe PlatformAccount: expected an account such as acct_…")
	}
	if c.ReturnURL != "" {
		if err := validateURL(c.ReturnURL); err != nil {
			return fmt.Errorf("stripe ReturnURL: %w", err)
		}
	}
	if c.BaseURL != "" {
		if err := validateBaseURL(c.BaseURL); err != nil {
			return fmt.Errorf("stripe BaseURL: %w", err)
		}
	}
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		return fmt.Errorf("stripe Timeout: expected 0 to %s, got %s", maxTimeout, c.Timeout)
	}
	return nil
}

// LiveMode reports whether the key moves real money.
func (c Config) LiveMode() bool {
	return strings.HasPrefix(c.SecretKey, "sk_live_") || strings.HasPrefix(c.SecretKey, "rk_live_")
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.BaseURL == "" {
		c.BaseURL = stripego.APIURL
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func validateURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || len(text) > maxURLLength || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return errors.New("expected an http or https address")
	}
	return nil
}

// validateBaseURL keeps the key from being sent in the clear.
func validateBaseURL(text string) error {
	if err := validateURL(text); err != nil {
		return err
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return errors.New("expected an http or https address")
	}
	host := parsed.Hostname()
	if parsed.Scheme == "http" && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return errors.New("expected https; only a loopback address may go without TLS")
	}
	return nil
}
