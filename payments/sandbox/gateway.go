package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// Name is the provider's name in attempts, events and addresses.
const Name = "sandbox"

// pathRefunds is where refunds are asked for.
const pathRefunds = "/v1/refunds"

const (
	defaultTimeout = 10 * time.Second
	// maxAnswerBytes bounds the answer to one call.
	maxAnswerBytes = 256 << 10
	// maxConnectionsPerGateway bounds the calls under way; further ones wait within their timeout.
	maxConnectionsPerGateway = 512
)

// GatewayConfig sets up a Gateway.
type GatewayConfig struct {
	// BaseURL is the server's, such as "http://127.0.0.1:49152". Required.
	BaseURL string
	// SecretKey is the server's. Required.
	SecretKey string
	// WebhookSecrets are accepted on webhooks, 1 to 4 of them: while a secret is being replaced,
	// the old and the new one. Required.
	WebhookSecrets []string
	// Timeout bounds each call. Default: 10 s.
	Timeout time.Duration
	// HTTPClient makes the calls, but follows no redirects. Default: a client of its own.
	HTTPClient *http.Client
	// Now judges the age of signatures. Default: time.Now.
	Now func() time.Time
}

// Validate reports the first field that cannot work.
func (c GatewayConfig) Validate() error {
	if err := validateURL("BaseURL", c.BaseURL); err != nil {
		return err
	}
	if err := validateSecret("SecretKey", c.SecretKey); err != nil {
		return err
	}
	if err := validateSecrets(c.WebhookSecrets); err != nil {
		return err
	}
	if c.Timeout < 0 || c.Timeout > time.Hour {
		return fmt.Errorf("sandbox Timeout: expected 0 to 1h, got %s", c.Timeout)
	}
	return nil
}

// Gateway speaks to a Server; it is a payments.Gateway.
type Gateway struct {
	config GatewayConfig
	base   string
	client http.Client
}

var _ payments.Gateway = (*Gateway)(nil)

// NewGateway makes the adapter. It calls nothing yet.
func NewGateway(config GatewayConfig) (*Gateway, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	setDefault(&config.Timeout, defaultTimeout)
	if config.Now == nil {
		config.Now = time.Now
	}
	g := &Gateway{config: config, base: strings.TrimSuffix(config.BaseURL, "/")}
	if config.HTTPClient != nil {
		g.client = *config.HTTPClient
	} else {
		g.client.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			MaxIdleConnsPerHost: 64,
			MaxConnsPerHost:     maxConnectionsPerGateway,
			IdleConnTimeout:     30 * time.Second,
		}
	}
	// A redirect is not an answer, and would carry the key to somebody else.
	g.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return g, nil
}

// Charge implements payments.Gateway.
func (g *Gateway) Charge(ctx context.Context, request payments.ChargeRequest) (payments.Outcome, error) {
	var answer wireCharge
	wire := wireChargeRequest{
		Account: request.Account, AmountMinor: request.Amount.Minor, Currency: string(request.Amount.Currency),
		Method: request.MethodToken, Reference: toWire(request.Reference), Description: request.Description,
	}
	if request.Capture == payments.CaptureManual {
		wire.Capture = captureManual
	}
	if request.Hosted != nil {
		wire.ReturnURL, wire.ExpiresAt = request.Hosted.ReturnURL, request.Hosted.ExpiresAt.UTC()
	}
	err := g.post(ctx, "/v1/charges", request.Key, wire, &answer)
	if err == nil {
		return readOutcome(answer, request.Key)
	}
	return payments.Outcome{}, fmt.Errorf("charge %s: %w", request.Key, err)
}

// LookUp implements payments.Gateway.
func (g *Gateway) LookUp(ctx context.Context, account, key string) (payments.Outcome, error) {
	var answer wireCharge
	err := g.get(ctx, "/v1/charges", account, key, &answer)
	switch {
	case err == nil:
		return readOutcome(answer, key)
	case isNotFound(err):
		return payments.Outcome{State: payments.OutcomeStateNotFound, Account: account}, nil
	}
	return payments.Outcome{}, fmt.Errorf("look up charge %s: %w", key, err)
}

// Refund implements payments.Gateway.
func (g *Gateway) Refund(ctx context.Context, request payments.RefundRequest) (payments.RefundOutcome, error) {
	var answer wireRefund
	err := g.post(ctx, pathRefunds, request.Key, wireRefundRequest{
		Account: request.Account, Charge: request.ChargeID, AmountMinor: request.Amount.Minor, Currency: string(request.Amount.Currency),
		Reference: toWire(request.Reference), Reason: request.Reason,
	}, &answer)
	if err == nil {
		return readRefundOutcome(answer, request.Key)
	}
	return payments.RefundOutcome{}, fmt.Errorf("refund %s: %w", request.Key, err)
}

// LookUpRefund implements payments.Gateway.
func (g *Gateway) LookUpRefund(ctx context.Context, account, key string) (payments.RefundOutcome, error) {
	var answer wireRefund
	err := g.get(ctx, "/v1/refunds", account, key, &answer)
	switch {
	case err == nil:
		return readRefundOutcome(answer, key)
	case isNotFound(err):
		return payments.RefundOutcome{State: payments.RefundStateNotFound, Account: account}, nil
	}
	return payments.RefundOutcome{}, fmt.Errorf("look up refund %s: %w", key, err)
}

// post sends a request that takes effect. Its error wraps payments.ErrRejected only if the
// provider itself said, in its own form, that it refused.
func (g *Gateway) post(ctx context.Context, path, key string, body, into any) error {
	// Such a key could not be sent at all, and would stay UNKNOWN for ever.
	if err := validateKey("key", key); err != nil {
		return fmt.Errorf("%w: idempotency key: %w", payments.ErrRejected, err)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	err = g.call(ctx, http.MethodPost, path, key, encoded, into)
	var refusal *apiError
	if !errors.As(err, &refusal) || refusal.status < 400 || refusal.status > 499 {
		return err
	}
	// Credentials that are not accepted are our own fault and will be mended. A buyer can be told no
	// at once, but a refund that is owed stays owed.
	if refusal.code == codeUnauthorized && path == pathRefunds {
		return err
	}
	switch refusal.code {
	case codeInvalid, codeUnauthorized, codeNotFound, codeTooLarge, codeNotCaptured, codeExceedsCapture, codeNotCapturable, codeRefundRefused:
		return fmt.Errorf("%w: %w", payments.ErrRejected, err)
	case codeKeyReused:
		return fmt.Errorf("%w: %w", payments.ErrKeyReused, err)
	}
	return err
}

// get asks by key. Its error never wraps payments.ErrRejected.
func (g *Gateway) get(ctx context.Context, path, account, key string, into any) error {
	query := url.Values{"account": {account}, "key": {key}}
	return g.call(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil, into)
}

// call makes one call and reads its answer; a refusal in the provider's own form is an *apiError.
func (g *Gateway) call(ctx context.Context, method, target, key string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, g.config.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, g.base+target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the call to the provider: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+g.config.SecretKey)
	if key != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set(keyHeader, key)
	}
	response, err := g.client.Do(request)
	if err != nil {
		return fmt.Errorf("call the provider: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return fmt.Errorf("read the provider's answer (%s): %w", response.Status, err)
	}
	if len(answer) > maxAnswerBytes {
		return fmt.Errorf("read the provider's answer (%s): it is longer than %d bytes", response.Status, maxAnswerBytes)
	}
	if response.StatusCode == http.StatusOK || response.StatusCode == http.StatusAccepted {
		if err := decodeTolerantly(answer, into); err != nil {
			return fmt.Errorf("read the provider's answer (%s): %w", response.Status, err)
		}
		return nil
	}
	return readRefusal(response.StatusCode, answer)
}

// readRefusal tells the provider's own words from those of something between it and us, such as a
// proxy's page.
func readRefusal(status int, answer []byte) error {
	var refusal wireError
	if err := decodeTolerantly(answer, &refusal); err != nil || refusal.Error.Code == "" {
		return fmt.Errorf("the answer has status %d and is not the provider's", status)
	}
	detail := refusal.Error
	message := fmt.Sprintf("the provider answered %d %s: %s", status, detail.Code, detail.Message)
	if detail.Field != "" {
		message = fmt.Sprintf("the provider answered %d %s: %s: %s", status, detail.Code, detail.Field, detail.Message)
	}
	return &apiError{status: status, code: detail.Code, field: detail.Field, message: message}
}

func isNotFound(err error) bool {
	var refusal *apiError
	return errors.As(err, &refusal) && refusal.status == http.StatusNotFound && refusal.code == codeNotFound
}

// readOutcome makes an outcome of an answer, or UNKNOWN of one that makes no sense.
func readOutcome(answer wireCharge, key string) (payments.Outcome, error) {
	captured, err := readAmount(answer.CapturedMinor, answer.Currency)
	state := outcomeState(answer.Status)
	switch {
	case err != nil:
	case answer.Key != key:
		err = fmt.Errorf("it is about the key %.64q", answer.Key)
	case answer.ID == "" || state == payments.OutcomeStateUnknown:
		err = errors.New("it has no id or no known status")
	case state == payments.OutcomeStateApproved && captured.Minor == 0:
		err = errors.New("it is approved, but captured nothing")
	}
	if err != nil {
		return payments.Outcome{}, fmt.Errorf("read the provider's answer about charge %s: %w", key, err)
	}
	if state != payments.OutcomeStateApproved {
		captured = money.Amount{}
	}
	return payments.Outcome{
		State: state, ChargeID: answer.ID, DeclineCode: answer.DeclineCode, Captured: captured,
		Account: answer.Account, InstrumentFingerprint: answer.Fingerprint, RedirectURL: answer.RedirectURL,
	}, nil
}

func readRefundOutcome(answer wireRefund, key string) (payments.RefundOutcome, error) {
	amount, err := readAmount(answer.AmountMinor, answer.Currency)
	state := refundState(answer.Status)
	switch {
	case err != nil:
	case answer.Key != key:
		err = fmt.Errorf("it is about the key %.64q", answer.Key)
	case answer.ID == "" || state == payments.RefundStateUnknown:
		err = errors.New("it has no id or no known status")
	}
	if err != nil {
		return payments.RefundOutcome{}, fmt.Errorf("read the provider's answer about refund %s: %w", key, err)
	}
	return payments.RefundOutcome{
		State: state, RefundID: answer.ID, ChargeID: answer.Charge, FailureCode: answer.FailureCode,
		Amount: amount, Account: answer.Account,
	}, nil
}

func readAmount(minor int64, code string) (money.Amount, error) {
	currency, err := money.ParseCurrency(code)
	if err != nil {
		return money.Amount{}, err
	}
	if minor < 0 {
		return money.Amount{}, fmt.Errorf("the amount is negative: %d", minor)
	}
	return money.Amount{Minor: minor, Currency: currency}, nil
}

func outcomeState(status string) payments.OutcomeState {
	switch status {
	case statusApproved:
		return payments.OutcomeStateApproved
	case statusDeclined:
		return payments.OutcomeStateDeclined
	case statusPending:
		return payments.OutcomeStatePending
	case statusAuthorized:
		return payments.OutcomeStateAuthorized
	}
	return payments.OutcomeStateUnknown
}

func refundState(status string) payments.RefundState {
	switch status {
	case statusSucceeded:
		return payments.RefundStateSucceeded
	case statusFailed:
		return payments.RefundStateFailed
	case statusPending:
		return payments.RefundStatePending
	}
	return payments.RefundStateUnknown
}

func toWire(reference payments.Reference) wireReference {
	if reference.TenantID.IsZero() {
		return wireReference{Attempt: reference.AttemptID}
	}
	return wireReference{Tenant: reference.TenantID.String(), Attempt: reference.AttemptID}
}

// fromWire is the zero Reference unless the whole of it is one of ours.
func fromWire(reference wireReference) payments.Reference {
	tenant, err := ids.ParseGlobal[tenants.TenantKind](reference.Tenant)
	if err != nil || reference.Attempt == "" {
		return payments.Reference{}
	}
	return payments.Reference{TenantID: tenant, AttemptID: reference.Attempt}
}
