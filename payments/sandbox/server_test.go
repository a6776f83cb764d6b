package sandbox_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

func TestBadRequestsNameTheField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := chargeBody("tok_approve")
	swap := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for name, row := range map[string]struct {
		key, body string
		status    int
		says      string
	}{
		"no key":             {"", good, 422, "Idempotency-Key"},
		"long key":           {strings.Repeat("k", 256), good, 422, "Idempotency-Key"},
		"no body":            {"pay_1", "", 400, "JSON object"},
		"null":               {"pay_1", "null", 400, "JSON object"},
		"list":               {"pay_1", "[" + good + "]", 400, "JSON object"},
		"text":               {"pay_1", "amount=5", 400, "JSON object"},
		"two objects":        {"pay_1", good + good, 400, "JSON object"},
		"unknown field":      {"pay_1", swap(`"method"`, `"cardNumber":"4242","method"`), 400, "cardNumber"},
		"amount as text":     {"pay_1", swap("4250", `"4250"`), 400, "amountMinor"},
		"amount with cents":  {"pay_1", swap("4250", "42.50"), 400, "amountMinor"},
		"amount overflows":   {"pay_1", swap("4250", "9223372036854775808"), 400, "amountMinor"},
		"amount too large":   {"pay_1", swap("4250", "1000000000001"), 422, "amountMinor"},
		"amount zero":        {"pay_1", swap("4250", "0"), 422, "amountMinor"},
		"amount negative":    {"pay_1", swap("4250", "-4250"), 422, "amountMinor"},
		"unknown currency":   {"pay_1", swap("EUR", "EUX"), 422, "currency"},
		"currency in lower":  {"pay_1", swap("EUR", "eur"), 422, "currency"},
		"no account":         {"pay_1", swap(account, ""), 422, "account"},
		"account with space": {"pay_1", swap(account, "a b"), 422, "account"},
		"long reference":     {"pay_1", swap("{}", `{"attempt":"`+strings.Repeat("a", 129)+`"}`), 422, "reference"},
		"long description":   {"pay_1", swap(`"method"`, `"description":"`+strings.Repeat("a", 501)+`","method"`), 422, "description"},
		"unknown token":      {"pay_1", swap("tok_approve", "visa"), 422, "method"},
		"oversized":          {"pay_1", good + strings.Repeat(" ", 64<<10), 413, "65536 bytes"},
	} {
		status, answer := call(t, http.MethodPost, w.server.URL()+"/v1/charges", row.key, row.body)
		var refusal struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(answer), &refusal); err != nil || refusal.Error.Code == "" || refusal.Error.Message == "" {
			t.Errorf("%s: got %q", name, answer)
		}
		if status != row.status || !strings.Contains(answer, row.says) {
			t.Errorf("%s: got %d %s, want %d and %q", name, status, answer, row.status, row.says)
		}
	}
	for path, want := range map[string]int{
		"/v1/charges?key=k": 422, "/v1/charges?key=&account=a": 422, "/v1/refunds": 422, "/v1/refunds?key=k&account=a": 404,
		"/v1/charges/ch_none": 404, "/v1/charges?limit=0": 422, "/v1/charges?limit=1001": 422, "/v1/charges?limit=x": 422,
		"/v1/charges?after=ch_none": 422, "/v1/charges?since=today": 422, "/v1": 404, "/v1/refunds/re_1": 404,
	} {
		if status, answer := call(t, http.MethodGet, w.server.URL()+path, "", ""); status != want {
			t.Errorf("%s: got %d %s, want %d", path, status, answer, want)
		}
	}
	if charges := w.server.Charges(); len(charges) != 0 {
		t.Errorf("%d charges were made", len(charges))
	}
}

func TestOnlyTheSecretKeyOpens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.server.GatewayConfig()
	config.SecretKey += "_not"
	stranger := newGateway(t, config)
	if _, err := stranger.Charge(t.Context(), chargeRequest("pay_1", sandbox.TokenApprove)); !errors.Is(err, payments.ErrRejected) {
		t.Errorf("a charge with another key gave %v", err)
	}
	if outcome, err := stranger.LookUp(t.Context(), account, "pay_1"); err == nil || errors.Is(err, payments.ErrRejected) || outcome.State != payments.OutcomeStateUnknown {
		t.Errorf("a lookup with another key gave %+v, %v", outcome, err)
	}
	if len(w.server.Charges()) != 0 {
		t.Error("a stranger charged")
	}
}

func TestChargesAreListedInPages(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	var clock sync.Mutex
	w := newWorld(t, func(c *sandbox.Config) {
		c.Now = func() time.Time {
			clock.Lock()
			defer clock.Unlock()
			return now
		}
	})
	// The receiver's clock is another, so it would find the signatures stale.
	if err := w.server.SetWebhookURL(""); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("pay_%02d", i)
		request := chargeRequest(key, sandbox.TokenApprove)
		if i%5 == 4 {
			request.Account = "acct_hotel"
		}
		outcome, err := w.gateway.Charge(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if i%5 != 4 && i >= 10 {
			want = append(want, outcome.ChargeID)
		}
		clock.Lock()
		now = now.Add(time.Minute)
		clock.Unlock()
	}
	var got []string
	query := url.Values{"account": {account}, "limit": {"5"}, "since": {"2026-11-30T20:10:00Z"}}
	for {
		status, answer := call(t, http.MethodGet, w.server.URL()+"/v1/charges?"+query.Encode(), "", "")
		var page struct {
			Charges []struct{ ID string }
			Next    string
		}
		if err := json.Unmarshal([]byte(answer), &page); status != http.StatusOK || err != nil || len(page.Charges) > 5 {
			t.Fatalf("got %d %s", status, answer)
		}
		for _, charge := range page.Charges {
			got = append(got, charge.ID)
		}
		if page.Next == "" {
			break
		}
		query.Set("after", page.Next)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
	if status, answer := call(t, http.MethodGet, w.server.URL()+"/v1/charges/"+want[0], "", ""); status != http.StatusOK || !strings.Contains(answer, want[0]) {
		t.Errorf("got %d %s", status, answer)
	}
}

func TestOldChargesMakeRoomButOpenOnesStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.MaxCharges, c.MaxOpen, c.TimeScale = 3, 2, 1 })
	for _, key := range []string{"open_1", "open_2"} {
		if _, err := w.gateway.Charge(t.Context(), chargeRequest(key, "tok_pending_approve_after_600s")); err != nil {
			t.Fatal(err)
		}
	}
	outcome, err := w.gateway.Charge(t.Context(), chargeRequest("open_3", "tok_pending_approve_after_600s"))
	if err == nil || outcome.State != payments.OutcomeStateUnknown || errors.Is(err, payments.ErrRejected) {
		t.Errorf("an open charge too many: got %+v, %v", outcome, err)
	}
	first := w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	if _, err := w.gateway.Refund(t.Context(), refundRequest("refund_1", first.ChargeID, 1)); err != nil {
		t.Fatal(err)
	}
	w.mustCharge(t, "pay_2", sandbox.TokenApprove)
	var keys []string
	for _, charge := range w.server.Charges() {
		keys = append(keys, charge.Key)
	}
	if strings.Join(keys, " ") != "open_1 open_2 pay_2" || len(w.server.Refunds()) != 0 {
		t.Errorf("got the charges %v", keys)
	}
	refund, err := w.gateway.LookUpRefund(t.Context(), account, "refund_1")
	if err != nil || refund.State != payments.RefundStateNotFound {
		t.Errorf("the refund of a forgotten charge: got %+v, %v", refund, err)
	}
}

func TestClosingEndsCallsThatHang(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.TimeScale = 1 })
	config := w.server.GatewayConfig()
	config.Timeout = time.Hour
	patient := newGateway(t, config)
	var wait sync.WaitGroup
	for i, token := range []string{"tok_timeout_approve", "tok_approve_after_600s"} {
		wait.Go(func() {
			outcome, err := patient.Charge(t.Context(), chargeRequest(fmt.Sprintf("pay_%d", i), token))
			if err == nil || errors.Is(err, payments.ErrRejected) || outcome.State != payments.OutcomeStateUnknown {
				t.Errorf("%s: got %+v, %v", token, outcome, err)
			}
		})
	}
	eventually(t, "the number of charges", func() (string, error) { return fmt.Sprint(len(w.server.Charges())), nil }, "2")
	closeServer(t, w.server)
	wait.Wait()
	closeServer(t, w.server)
	if outcome, err := w.gateway.Charge(t.Context(), chargeRequest("pay_9", sandbox.TokenApprove)); err == nil {
		t.Errorf("a closed provider answered %+v", outcome)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.MaxConnections = 1 })
	address := strings.TrimPrefix(w.server.URL(), "http://")
	var dialer net.Dialer
	first, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	ask := func(conn net.Conn) string {
		t.Helper()
		fmt.Fprintf(conn, "GET /v1/charges HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer %s\r\n\r\n", secretKey)
		status, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return status
	}
	if status := ask(first); !strings.Contains(status, "200") {
		t.Fatalf("got %q", status)
	}
	if outcome, err := w.impatient(t).Charge(t.Context(), chargeRequest("pay_1", sandbox.TokenApprove)); err == nil {
		t.Errorf("a second connection was served: %+v", outcome)
	}
	first.Close()
	w.mustCharge(t, "pay_2", sandbox.TokenApprove)
}

func TestLatencyDelaysTheAnswerNotTheCharge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.Latency = time.Hour })
	if outcome, err := w.impatient(t).Charge(t.Context(), chargeRequest("pay_1", sandbox.TokenApprove)); err == nil {
		t.Errorf("got %+v at once", outcome)
	}
	if total := w.server.CapturedTotal(account)["EUR"]; total != 4250 {
		t.Errorf("%d cents were captured", total)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := sandbox.Config{SecretKey: secretKey, WebhookSecrets: []string{webhookSecret}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*sandbox.Config){
		"SecretKey":      func(c *sandbox.Config) { c.SecretKey = "" },
		"WebhookSecrets": func(c *sandbox.Config) { c.WebhookSecrets = make([]string, 5) },
		"WebhookURL":     func(c *sandbox.Config) { c.WebhookURL = "/webhooks" },
		"Latency":        func(c *sandbox.Config) { c.Latency = -1 },
		"HangLimit":      func(c *sandbox.Config) { c.HangLimit = 2 * time.Hour },
		"MaxCharges":     func(c *sandbox.Config) { c.MaxCharges = -1 },
		"MaxConnections": func(c *sandbox.Config) { c.MaxConnections = math.MaxInt },
		"TimeScale":      func(c *sandbox.Config) { c.TimeScale = math.NaN() },
	} {
		config := good
		change(&config)
		server, err := sandbox.NewServer(config)
		if err == nil || server != nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	taken := newWorld(t)
	second, err := sandbox.NewServer(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context(), strings.TrimPrefix(taken.server.URL(), "http://")); err == nil {
		t.Error("two providers listen on one address")
	}
	closeServer(t, second)
}
