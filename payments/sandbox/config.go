package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"
)

// Config sets up a Server. Durations and bounds that are zero take their defaults.
type Config struct {
	// SecretKey is what clients present as their bearer token: 8 to 128 printable characters
	// without spaces. Required.
	SecretKey string

	// WebhookSecrets sign the webhooks, 1 to 4 of them, each like SecretKey. A webhook carries one
	// signature for each, so that a receiver can change from one to the next. Required.
	WebhookSecrets []string
	// WebhookURL is where webhooks are posted to. Default: nowhere, until Server.SetWebhookURL.
	WebhookURL string
	// WebhookTimeout bounds one delivery. Default: 5 s.
	WebhookTimeout time.Duration
	// WebhookRetryFirst is the wait after the first failed delivery; it doubles with each further
	// one, up to WebhookRetryMax. Defaults: 200 ms and 30 s, both multiplied by TimeScale.
	WebhookRetryFirst time.Duration
	WebhookRetryMax   time.Duration
	// WebhookAttempts is after how many failed deliveries an event is given up. Default: 100, which
	// outlasts a receiver that is down for half an hour.
	WebhookAttempts int
	// WebhookQueue bounds the events that wait for delivery or for another try; further ones are
	// dropped and counted. Default: 10,000.
	WebhookQueue int

	// WebhookFaults loses, doubles and shuffles webhooks. Default: none.
	WebhookFaults WebhookFaults

	// Latency delays every answer, after the request took effect. Default: none.
	Latency time.Duration
	// TimeScale multiplies the seconds in tokens, the 2 seconds of tokens that name none, HangLimit
	// and the waits between deliveries. 0.01 makes a test a hundred times faster. Default: 1.
	TimeScale float64
	// HangLimit is how long a call that is never answered holds its connection. Default: 10 min.
	HangLimit time.Duration

	// JournalPath names a file that outlives the server, so that a restarted one knows its old
	// charges. Only one server may use it at a time. Default: memory only.
	JournalPath string

	// MaxCharges bounds the charges that are remembered; beyond it, the oldest decided one is
	// forgotten with its refunds and keys. Default: 1,000,000.
	MaxCharges int
	// MaxOpen bounds the charges and refunds that are not decided yet; beyond it, the call that
	// would make another is answered with 503. Default: 100,000.
	MaxOpen int
	// MaxConnections bounds the connections that are served at once; further ones wait to be
	// accepted. Default: 4,096.
	MaxConnections int

	// Logger takes what goes wrong. Default: nothing is logged.
	Logger *slog.Logger
	// Now is the provider's clock, for the times on charges and signatures. Default: time.Now.
	Now func() time.Time
}

// WebhookFaults is how unreliable the delivery of webhooks is, beside what the tokens do. The same
// seed and order of events give the same faults.
type WebhookFaults struct {
	Seed uint64
	// Drop, Double and Shuffle are the shares of events, 0 to 1, that are never delivered, delivered
	// twice, and delayed by up to ShuffleWithin, so that later ones overtake them.
	Drop, Double, Shuffle float64
	// ShuffleWithin is multiplied by TimeScale. Default: 1 s.
	ShuffleWithin time.Duration
}

func (f WebhookFaults) validate() error {
	for name, share := range map[string]float64{"Drop": f.Drop, "Double": f.Double, "Shuffle": f.Shuffle} {
		// The comparison is written so that NaN fails it.
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("sandbox WebhookFaults.%s: expected a share of 0 to 1, got %g", name, share)
		}
	}
	if f.ShuffleWithin < 0 || f.ShuffleWithin > time.Hour {
		return fmt.Errorf("sandbox WebhookFaults.ShuffleWithin: expected 0 to 1h, got %s", f.ShuffleWithin)
	}
	return nil
}

// Validate reports the first field that cannot work.
func (c Config) Validate() error {
	if err := validateSecret("SecretKey", c.SecretKey); err != nil {
		return err
	}
	if err := validateSecrets(c.WebhookSecrets); err != nil {
		return err
	}
	if c.WebhookURL != "" {
		if err := validateURL("WebhookURL", c.WebhookURL); err != nil {
			return err
		}
	}
	for name, value := range map[string]time.Duration{
		"WebhookTimeout": c.WebhookTimeout, "WebhookRetryFirst": c.WebhookRetryFirst, "WebhookRetryMax": c.WebhookRetryMax,
		"Latency": c.Latency, "HangLimit": c.HangLimit,
	} {
		if value < 0 || value > time.Hour {
			return fmt.Errorf("sandbox %s: expected 0 to 1h, got %s", name, value)
		}
	}
	for name, value := range map[string]int{
		"WebhookAttempts": c.WebhookAttempts, "WebhookQueue": c.WebhookQueue, "MaxCharges": c.MaxCharges,
		"MaxOpen": c.MaxOpen, "MaxConnections": c.MaxConnections,
	} {
		if value < 0 || value > maxBound {
			return fmt.Errorf("sandbox %s: expected 0 to %d, got %d", name, maxBound, value)
		}
	}
	if err := c.WebhookFaults.validate(); err != nil {
		return err
	}
	// The comparison is written so that NaN fails it.
	if !(c.TimeScale >= 0 && c.TimeScale <= 1000) {
		return fmt.Errorf("sandbox TimeScale: expected 0 to 1000, got %g", c.TimeScale)
	}
	return nil
}

// maxBound is the largest value of every bound that counts things.
const maxBound = 10_000_000

func (c Config) withDefaults() Config {
	setDefault(&c.WebhookTimeout, 5*time.Second)
	setDefault(&c.WebhookRetryFirst, 200*time.Millisecond)
	setDefault(&c.WebhookRetryMax, 30*time.Second)
	setDefault(&c.WebhookAttempts, 100)
	setDefault(&c.WebhookQueue, 10_000)
	setDefault(&c.WebhookFaults.ShuffleWithin, time.Second)
	setDefault(&c.TimeScale, 1)
	setDefault(&c.HangLimit, 10*time.Minute)
	setDefault(&c.MaxCharges, 1_000_000)
	setDefault(&c.MaxOpen, 100_000)
	setDefault(&c.MaxConnections, 4096)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// scaled is a wait as this configuration makes it.
func (c Config) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.TimeScale)
}

func validateSecrets(secrets []string) error {
	if len(secrets) == 0 || len(secrets) > maxSecrets {
		return fmt.Errorf("sandbox WebhookSecrets: expected 1 to %d secrets, got %d", maxSecrets, len(secrets))
	}
	for i, secret := range secrets {
		if err := validateSecret(fmt.Sprintf("WebhookSecrets[%d]", i), secret); err != nil {
			return err
		}
	}
	return nil
}

// validateSecret never repeats the value.
func validateSecret(name, secret string) error {
	const shortest, longest = 8, 128
	if len(secret) < shortest || len(secret) > longest || !isPrintable(secret) {
		return fmt.Errorf("sandbox %s: expected %d to %d printable ASCII characters without spaces", name, shortest, longest)
	}
	return nil
}

func validateURL(name, text string) error {
	parsed, err := url.Parse(text)
	if err == nil && (parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "") {
		err = errors.New("no scheme or host")
	}
	if err != nil {
		return fmt.Errorf("sandbox %s: expected an http or https URL: %w", name, err)
	}
	return nil
}

// isPrintable reports whether a text is ASCII without spaces and control characters.
func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
