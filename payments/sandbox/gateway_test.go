package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

const goodCharge = `{"id":"ch_1","account":"acct_theatre","key":"pay_1","status":"approved","amountMinor":4250,"capturedMinor":4250,"currency":"EUR","fingerprint":"fp_1"}`

// answer is a provider that says one thing.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// awaitLeaving waits until the client gives up, which a server notices once it has read the body.
func awaitLeaving(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func refusal(status int, code string) http.HandlerFunc {
	return answer(status, fmt.Sprintf(`{"error":{"code":%q,"message":"because"}}`, code))
}

func TestEveryFailureIsUnknownUnlessTheProviderRefused(t *testing.T) {
	t.Parallel()
	swap := func(from, to string) http.HandlerFunc {
		return answer(http.StatusOK, strings.Replace(goodCharge, from, to, 1))
	}
	for name, row := range map[string]struct {
		provider http.HandlerFunc
		// want is what the error of a charge wraps, besides being one; nil when it says nothing.
		want error
	}{
		"silence until the timeout": {func(_ http.ResponseWriter, r *http.Request) { awaitLeaving(r) }, context.DeadlineExceeded},
		"silence within the answer": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			fmt.Fprint(w, goodCharge[:20])
			_ = http.NewResponseController(w).Flush()
			awaitLeaving(r)
		}, context.DeadlineExceeded},
		"broken off before the answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil},
		"broken off within the answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			fmt.Fprint(w, goodCharge)
			panic(http.ErrAbortHandler)
		}, nil},
		"500":                        {answer(http.StatusInternalServerError, "oops"), nil},
		"500 in the provider's form": {refusal(http.StatusInternalServerError, "invalid_request"), nil},
		"502 of a proxy":             {answer(http.StatusBadGateway, "<html>"), nil},
		"503 in the provider's form": {refusal(http.StatusServiceUnavailable, "overloaded"), nil},
		"400 of a proxy":             {answer(http.StatusBadRequest, "<html>"), nil},
		"404 of a proxy":             {answer(http.StatusNotFound, "404 page not found"), nil},
		"404 of another address":     {refusal(http.StatusNotFound, "no_such_address"), nil},
		"408":                        {refusal(http.StatusRequestTimeout, "timeout"), nil},
		"429":                        {refusal(http.StatusTooManyRequests, "slow_down"), nil},
		"422 with a new code":        {refusal(http.StatusUnprocessableEntity, "something_new"), nil},
		"422 without a code":         {answer(http.StatusUnprocessableEntity, `{"error":{}}`), nil},
		"204":                        {answer(http.StatusNoContent, ""), nil},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, nil},
		"an empty answer":                    {answer(http.StatusOK, ""), nil},
		"garbage":                            {answer(http.StatusOK, "OK"), nil},
		"null":                               {answer(http.StatusOK, "null"), nil},
		"two answers":                        {answer(http.StatusOK, goodCharge+goodCharge), nil},
		"an endless answer":                  {answer(http.StatusOK, goodCharge+strings.Repeat(" ", 300<<10)), nil},
		"an answer about another key":        {swap("pay_1", "pay_2"), nil},
		"an answer without an id":            {swap("ch_1", ""), nil},
		"an answer with a new status":        {swap("approved", "perhaps"), nil},
		"an answer without a currency":       {swap("EUR", ""), nil},
		"an answer with a negative amount":   {swap(`"capturedMinor":4250`, `"capturedMinor":-1`), nil},
		"an answer with nothing captured":    {swap(`"capturedMinor":4250`, `"capturedMinor":0`), nil},
		"409":                                {refusal(http.StatusConflict, "key_reused"), payments.ErrKeyReused},
		"409 for another reason":             {refusal(http.StatusConflict, "in_progress"), nil},
		"refused as malformed":               {refusal(http.StatusBadRequest, "invalid_request"), payments.ErrRejected},
		"refused as invalid":                 {refusal(http.StatusUnprocessableEntity, "invalid_request"), payments.ErrRejected},
		"refused as unauthorized":            {refusal(http.StatusUnauthorized, "unauthorized"), payments.ErrRejected},
		"refused as too large":               {refusal(http.StatusRequestEntityTooLarge, "request_too_large"), payments.ErrRejected},
		"refused as above what was captured": {refusal(http.StatusUnprocessableEntity, "amount_exceeds_captured"), payments.ErrRejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := httptest.NewServer(row.provider)
			t.Cleanup(provider.Close)
			checkUnknown(t, gatewayTo(t, provider.URL, 2*time.Second, name), name, row.want)
		})
	}
}

func TestAProviderThatIsNotThereIsUnknown(t *testing.T) {
	t.Parallel()
	checkUnknown(t, gatewayTo(t, "http://"+unusedAddress(t), 2*time.Second, ""), "", nil)
}

func TestACallerThatGaveUpIsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	outcome, err := w.gateway.Charge(ctx, chargeRequest("pay_1", sandbox.TokenApprove))
	if !errors.Is(err, context.Canceled) || errors.Is(err, payments.ErrRejected) || outcome.State != payments.OutcomeStateUnknown {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

// gatewayTo speaks to a provider; one that is silent is not given much time.
func gatewayTo(t *testing.T, url string, timeout time.Duration, name string) *sandbox.Gateway {
	t.Helper()
	if strings.HasPrefix(name, "silence") {
		timeout = 50 * time.Millisecond
	}
	return newGateway(t, sandbox.GatewayConfig{
		BaseURL: url, SecretKey: secretKey, WebhookSecrets: []string{webhookSecret}, Timeout: timeout,
	})
}

func checkUnknown(t *testing.T, gateway *sandbox.Gateway, name string, want error) {
	t.Helper()
	check := func(what string, unknown bool, err, want error) {
		t.Helper()
		if err == nil || !unknown {
			t.Fatalf("%s: the failure was taken for an answer (%v)", what, err)
		}
		if want != nil && !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
		for _, other := range []error{payments.ErrRejected, payments.ErrKeyReused} {
			if !errors.Is(want, other) && errors.Is(err, other) {
				t.Errorf("%s: got %v, which claims too much", what, err)
			}
		}
		if strings.Contains(err.Error(), secretKey) {
			t.Errorf("%s: the error tells the secret: %v", what, err)
		}
	}
	outcome, err := gateway.Charge(t.Context(), chargeRequest("pay_1", sandbox.TokenApprove))
	check("charge", outcome == payments.Outcome{}, err, want)
	refund, err := gateway.Refund(t.Context(), refundRequest("pay_1", "ch_1", 1))
	owed := want
	if name == "refused as unauthorized" {
		// Our own credentials are to blame, and the refund stays owed.
		owed = nil
	}
	check("refund", refund == payments.RefundOutcome{}, err, owed)
	// Of a lookup, no failure says anything about the charge.
	if errors.Is(want, payments.ErrRejected) || errors.Is(want, payments.ErrKeyReused) {
		want = nil
	}
	outcome, err = gateway.LookUp(t.Context(), account, "pay_1")
	check("lookup", outcome == payments.Outcome{}, err, want)
	refund, err = gateway.LookUpRefund(t.Context(), account, "pay_1")
	check("refund lookup", refund == payments.RefundOutcome{}, err, want)
}

func TestOnlyTheProviderItselfSaysNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outcome, err := w.gateway.LookUp(t.Context(), account, "pay_1")
	if err != nil || outcome.State != payments.OutcomeStateNotFound {
		t.Errorf("got %+v, %v", outcome, err)
	}
	// An address that is a little wrong reaches the provider, and finds no charge there.
	config := w.server.GatewayConfig()
	config.BaseURL += "/v1"
	outcome, err = newGateway(t, config).LookUp(t.Context(), account, "pay_1")
	if err == nil || outcome.State != payments.OutcomeStateUnknown {
		t.Errorf("got %+v, %v", outcome, err)
	}
	// So does one key of another account.
	w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	outcome, err = w.gateway.LookUp(t.Context(), "acct_hotel", "pay_1")
	if err != nil || outcome.State != payments.OutcomeStateNotFound {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

func TestGatewayConfig(t *testing.T) {
	t.Parallel()
	good := sandbox.GatewayConfig{BaseURL: "http://127.0.0.1:1", SecretKey: secretKey, WebhookSecrets: []string{webhookSecret}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*sandbox.GatewayConfig){
		"BaseURL":           func(c *sandbox.GatewayConfig) { c.BaseURL = "127.0.0.1" },
		"SecretKey":         func(c *sandbox.GatewayConfig) { c.SecretKey = "two words" },
		"WebhookSecrets":    func(c *sandbox.GatewayConfig) { c.WebhookSecrets = nil },
		"WebhookSecrets[1]": func(c *sandbox.GatewayConfig) { c.WebhookSecrets = []string{webhookSecret, "short"} },
		"Timeout":           func(c *sandbox.GatewayConfig) { c.Timeout = -1 },
	} {
		config := good
		change(&config)
		gateway, err := sandbox.NewGateway(config)
		if err == nil || gateway != nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
