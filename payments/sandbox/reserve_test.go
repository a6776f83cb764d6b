package sandbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

func reservation(key, token string) payments.ChargeRequest {
	request := chargeRequest(key, token)
	request.Capture = payments.CaptureManual
	return request
}

// types are the events received about a key, in their order of arrival.
func (r *receiver) types(key string) []payments.EventType {
	var types []payments.EventType
	for _, event := range r.about(key) {
		types = append(types, event.Type)
	}
	return types
}

func expectState(t *testing.T, what string, outcome payments.Outcome, err error, want payments.OutcomeState) {
	t.Helper()
	if err != nil || outcome.State != want {
		t.Fatalf("%s is %s, %v; want %s", what, outcome.State, err, want)
	}
}

// What was reserved is captured once, and can be cancelled only before.
func TestAReservationIsCapturedOrCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for _, key := range []string{"pay_1", "pay_2"} {
		outcome, err := w.gateway.Charge(ctx, reservation(key, sandbox.TokenApprove))
		expectState(t, "a reservation", outcome, err, payments.OutcomeStateAuthorized)
		if outcome.Captured.Minor != 0 || outcome.ChargeID == "" {
			t.Errorf("a reservation took money: %+v", outcome)
		}
	}
	if total := w.server.CapturedTotal(account)["EUR"]; total != 0 {
		t.Fatalf("reservations captured %d", total)
	}
	for range 2 {
		outcome, err := w.gateway.Capture(ctx, account, "pay_1")
		expectState(t, "a capture", outcome, err, payments.OutcomeStateApproved)
		if outcome.Captured != euros(4250) {
			t.Errorf("captured %s", outcome.Captured)
		}
		outcome, err = w.gateway.Cancel(ctx, account, "pay_1")
		expectState(t, "a cancellation after the capture", outcome, err, payments.OutcomeStateApproved)
		outcome, err = w.gateway.Cancel(ctx, account, "pay_2")
		expectState(t, "a cancellation", outcome, err, payments.OutcomeStateDeclined)
		outcome, err = w.gateway.Capture(ctx, account, "pay_2")
		expectState(t, "a capture after the cancellation", outcome, err, payments.OutcomeStateDeclined)
	}
	if total := w.server.CapturedTotal(account)["EUR"]; total != 4250 {
		t.Errorf("captured %d in all", total)
	}
	w.drained(t)
	for key, last := range map[string]payments.EventType{"pay_1": payments.EventTypeChargeSucceeded, "pay_2": payments.EventTypeChargeDeclined} {
		types := w.receiver.types(key)
		slices.Sort(types)
		if !slices.Equal(types, []payments.EventType{payments.EventTypeChargeAuthorized, last}) {
			t.Errorf("%s was told as %v", key, types)
		}
	}
}

func TestNothingToCaptureIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *sandbox.Config) { c.TimeScale = 1 })
	if _, err := w.gateway.Charge(t.Context(), chargeRequest("pay_1", "tok_pending_approve_after_600s")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"pay_1", "pay_never"} {
		if outcome, err := w.gateway.Capture(t.Context(), account, key); !errors.Is(err, payments.ErrRejected) {
			t.Errorf("%s: got %+v, %v", key, outcome, err)
		}
	}
	outcome, err := w.gateway.Cancel(t.Context(), account, "pay_never")
	expectState(t, "the cancellation of an unknown key", outcome, err, payments.OutcomeStateNotFound)
	// What is being decided can still be cancelled, and is then never approved.
	outcome, err = w.gateway.Cancel(t.Context(), account, "pay_1")
	expectState(t, "the cancellation before the decision", outcome, err, payments.OutcomeStateDeclined)
	if w.server.Settle(account, "pay_1") {
		t.Error("a cancelled charge was decided")
	}
	if event := w.receiver.awaitEvent(t, "pay_1"); event.Type != payments.EventTypeChargeDeclined || event.DeclineCode != "cancelled" {
		t.Errorf("told %+v", event)
	}
}

func TestTroubleWithACapture(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		token string
		// fails says that the first call is not answered.
		fails bool
		end   payments.OutcomeState
	}{
		{sandbox.TokenCaptureFails, false, payments.OutcomeStateDeclined},
		{sandbox.TokenCaptureTimeout, true, payments.OutcomeStateApproved},
		{sandbox.TokenCaptureError, true, payments.OutcomeStateApproved},
		{sandbox.TokenReservationExpiresAfter + "0s", false, payments.OutcomeStateDeclined},
	} {
		t.Run(row.token, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			outcome, err := w.gateway.Charge(t.Context(), reservation("pay_1", row.token))
			if err != nil || outcome.State != payments.OutcomeStateAuthorized {
				t.Fatalf("reserved as %s, %v", outcome.State, err)
			}
			if strings.HasPrefix(row.token, sandbox.TokenReservationExpiresAfter) {
				w.eventuallyCharge(t, "pay_1", payments.OutcomeStateDeclined)
			}
			if row.fails {
				outcome, err = w.impatient(t).Capture(t.Context(), account, "pay_1")
				if err == nil || outcome.State != payments.OutcomeStateUnknown || errors.Is(err, payments.ErrRejected) {
					t.Fatalf("the first capture: %+v, %v", outcome, err)
				}
			}
			outcome, err = w.gateway.Capture(t.Context(), account, "pay_1")
			expectState(t, "the capture", outcome, err, row.end)
		})
	}
}

// press presses a button of a page as a browser would, and gives the status and where it is sent.
func press(t *testing.T, page, button, method string) (status int, location string) {
	t.Helper()
	body := url.Values{"press": {button}, "method": {method}}.Encode()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("Location")
}

func showPage(t *testing.T, page string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}

func hostedRequest(key string, expiresAt time.Time) payments.ChargeRequest {
	request := chargeRequest(key, "")
	request.Hosted = &payments.HostedPage{ReturnURL: "https://shop.example/thanks?order=7", ExpiresAt: expiresAt}
	return request
}

func TestABuyerPaysOnThePage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		button, method string
		end            payments.OutcomeState
		fingerprint    string
	}{
		{"pay", "tok_approve:alice", payments.OutcomeStateApproved, "tok_approve:alice"},
		{"pay", "tok_decline_stolen_card", payments.OutcomeStateDeclined, "tok_decline_stolen_card"},
		{"pay", "tok_approve_after_1s", payments.OutcomeStateApproved, "tok_approve_after_1s"},
		{"decline", "", payments.OutcomeStateDeclined, ""},
		{"leave", "", payments.OutcomeStatePending, ""},
	} {
		t.Run(row.button+" "+row.method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			request := hostedRequest("pay_1", time.Now().Add(time.Hour))
			outcome, err := w.gateway.Charge(t.Context(), request)
			expectState(t, "a hosted charge", outcome, err, payments.OutcomeStatePending)
			page := outcome.RedirectURL
			if again, err := w.gateway.Charge(t.Context(), request); err != nil || again.RedirectURL != page {
				t.Errorf("the same charge has the page %s, %v; want %s", again.RedirectURL, err, page)
			}
			if status, body := showPage(t, page); status != http.StatusOK || !strings.Contains(body, "42.50") || !strings.Contains(body, "two seats") {
				t.Errorf("the page is %d %s", status, body)
			}
			if status, location := press(t, page, row.button, row.method); status != http.StatusSeeOther ||
				location != "https://shop.example/thanks?charge="+outcome.ChargeID+"&order=7" {
				t.Errorf("the buyer is sent to %d %s", status, location)
			}
			w.eventuallyCharge(t, "pay_1", row.end)
			if row.fingerprint != "" {
				outcome, err = w.gateway.LookUp(t.Context(), account, "pay_1")
				if want, _ := sandbox.FingerprintOf(row.fingerprint); err != nil || outcome.InstrumentFingerprint != want || outcome.RedirectURL != "" {
					t.Errorf("looked up %+v, %v", outcome, err)
				}
			}
			// A second press changes nothing once there is a decision.
			if row.end != payments.OutcomeStatePending {
				press(t, page, "decline", "")
				w.eventuallyCharge(t, "pay_1", row.end)
			}
		})
	}
}

func TestAPageTakesNoMoneyAfterItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expired, err := w.gateway.Charge(t.Context(), hostedRequest("pay_1", time.Now().Add(-time.Second)))
	expectState(t, "a hosted charge", expired, err, payments.OutcomeStatePending)
	cancelled, err := w.gateway.Charge(t.Context(), hostedRequest("pay_2", time.Now().Add(time.Hour)))
	expectState(t, "a hosted charge", cancelled, err, payments.OutcomeStatePending)
	outcome, err := w.gateway.Cancel(t.Context(), account, "pay_2")
	expectState(t, "the cancelled page", outcome, err, payments.OutcomeStateDeclined)
	for _, page := range []string{expired.RedirectURL, cancelled.RedirectURL} {
		if _, body := showPage(t, page); strings.Contains(body, "<button") {
			t.Errorf("the page can still be paid: %s", body)
		}
		press(t, page, "pay", sandbox.TokenApprove)
	}
	if total := w.server.CapturedTotal(account)["EUR"]; total != 0 {
		t.Errorf("%d cents were captured", total)
	}
}

func TestBadInputOnAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outcome, err := w.gateway.Charge(t.Context(), hostedRequest("pay_1", time.Now().Add(time.Hour)))
	expectState(t, "a hosted charge", outcome, err, payments.OutcomeStatePending)
	if status, _ := showPage(t, outcome.RedirectURL+"x"); status != http.StatusNotFound {
		t.Errorf("an unknown page is %d", status)
	}
	for _, row := range [][2]string{{"", "tok_approve"}, {"steal", "tok_approve"}, {"pay", "4242424242424242"}, {"pay", ""}} {
		if status, _ := press(t, outcome.RedirectURL, row[0], row[1]); status != http.StatusUnprocessableEntity {
			t.Errorf("%v: got %d", row, status)
		}
	}
	w.eventuallyCharge(t, "pay_1", payments.OutcomeStatePending)
	for _, target := range []string{"", "javascript:alert(1)", "/thanks", "https://shop.example/" + strings.Repeat("a", 2000)} {
		request := hostedRequest("pay_2", time.Now())
		request.Hosted.ReturnURL = target
		if _, err := w.gateway.Charge(t.Context(), request); !errors.Is(err, payments.ErrRejected) {
			t.Errorf("the return URL %.30q: %v", target, err)
		}
	}
}

func TestAConfirmationWaitsForTheBuyer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for key, end := range map[string]payments.OutcomeState{"pay_1": payments.OutcomeStateApproved, "pay_2": payments.OutcomeStateDeclined} {
		outcome, err := w.gateway.Charge(t.Context(), chargeRequest(key, sandbox.TokenConfirm+":alice"))
		expectState(t, "a charge to confirm", outcome, err, payments.OutcomeStatePending)
		button := "pay"
		if end == payments.OutcomeStateDeclined {
			button = "decline"
		}
		if status, _ := press(t, outcome.RedirectURL, button, ""); status != http.StatusOK {
			t.Errorf("pressing %s is answered with %d", button, status)
		}
		w.eventuallyCharge(t, key, end)
	}
}

func TestAFingerprintIsThatOfTheCharge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mark, err := w.gateway.Fingerprint(t.Context(), account, "tok_decline:alice")
	if err != nil {
		t.Fatal(err)
	}
	if charged := w.mustCharge(t, "pay_1", "tok_approve:alice"); charged.InstrumentFingerprint != mark {
		t.Errorf("the fingerprint is %s, the charge's %s", mark, charged.InstrumentFingerprint)
	}
	w.mustCharge(t, "pay_2", "tok_approve@"+account+":alice")
	if outcome, err := w.gateway.Charge(t.Context(), chargeRequest("pay_3", "tok_approve@acct_other:alice")); !errors.Is(err, payments.ErrRejected) {
		t.Errorf("another account's token: %+v, %v", outcome, err)
	}
	if mark, err := w.gateway.Fingerprint(t.Context(), account, "4242424242424242"); err == nil {
		t.Errorf("a card number has the fingerprint %s", mark)
	}
}

func TestDisputesAreToldStepByStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustCharge(t, "pay_1", sandbox.TokenApprove)
	if _, err := w.server.Dispute(account, "pay_1", "lost", 0); err == nil {
		t.Error("a dispute was lost that nobody opened")
	}
	id, err := w.server.Dispute(account, "pay_1", "opened", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.server.Dispute(account, "pay_1", "opened", 1000); err == nil {
		t.Error("a second dispute was opened beside the first")
	}
	if status, answer := call(t, http.MethodPost, w.server.URL()+"/v1/disputes", "any", `{"account":"acct_theatre","charge":"pay_1","status":"lost"}`); status != http.StatusOK {
		t.Errorf("got %d %s", status, answer)
	}
	w.drained(t)
	var told []payments.EventType
	for _, event := range w.receiver.about("pay_1") {
		if event.DisputeID == "" {
			continue
		}
		told = append(told, event.Type)
		if event.DisputeID != id || event.Amount != euros(1000) || event.Account != account || event.ChargeID == "" ||
			event.Reference.AttemptID != "pay_1" {
			t.Errorf("told %+v", event)
		}
	}
	slices.Sort(told)
	if !slices.Equal(told, []payments.EventType{payments.EventTypeDisputeLost, payments.EventTypeDisputeOpened}) {
		t.Errorf("told %v", told)
	}
	for token, end := range map[string]payments.EventType{
		sandbox.TokenDisputeWon: payments.EventTypeDisputeWon, sandbox.TokenDisputeLost: payments.EventTypeDisputeLost,
	} {
		w.mustCharge(t, token, token)
		w.receiver.await(t, string(end), func() bool { return slices.Contains(w.receiver.types(token), end) })
	}
}

// Events that contradict each other, and money that went astray.
func TestWhatAProviderShouldNotDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustCharge(t, "pay_1", sandbox.TokenApproveThenDecline)
	outcome, err := w.gateway.Charge(t.Context(), chargeRequest("pay_2", sandbox.TokenDeclineThenApprove))
	expectState(t, "a charge", outcome, err, payments.OutcomeStateDeclined)
	w.eventuallyCharge(t, "pay_2", payments.OutcomeStateApproved)
	w.drained(t)
	for _, key := range []string{"pay_1", "pay_2"} {
		types := w.receiver.types(key)
		slices.Sort(types)
		if !slices.Equal(types, []payments.EventType{payments.EventTypeChargeDeclined, payments.EventTypeChargeSucceeded}) {
			t.Errorf("%s was told as %v", key, types)
		}
		w.eventuallyCharge(t, key, payments.OutcomeStateApproved)
	}
	if outcome := w.mustCharge(t, "pay_3", sandbox.TokenWrongAccount); outcome.Account == account {
		t.Error("the money went to the right account")
	}
	if outcome := w.mustCharge(t, "pay_4", sandbox.TokenWrongCurrency); outcome.Captured.Currency == "EUR" {
		t.Error("the money is in the right currency")
	}
	outcome, err = w.gateway.Charge(t.Context(), chargeRequest("pay_5", sandbox.TokenLateApproveAfter+"600s"))
	if err == nil {
		t.Fatalf("got %+v", outcome)
	}
	outcome, err = w.gateway.Cancel(t.Context(), account, "pay_5")
	expectState(t, "a stubborn charge", outcome, err, payments.OutcomeStatePending)
	if !w.server.Settle(account, "pay_5") {
		t.Error("a stubborn charge was not pending")
	}
	w.eventuallyCharge(t, "pay_5", payments.OutcomeStateApproved)
}

func TestRefundsFailInEveryWay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		token    string
		first    payments.RefundState
		rejected bool
		// end is what a lookup says in the end, again what a repeated call is told.
		end, again payments.RefundState
	}{
		{sandbox.TokenRefundFails, payments.RefundStateFailed, false, payments.RefundStateFailed, payments.RefundStateFailed},
		{sandbox.TokenRefundRefused, payments.RefundStateUnknown, true, payments.RefundStateNotFound, payments.RefundStateUnknown},
		{sandbox.TokenRefundError, payments.RefundStateUnknown, false, payments.RefundStateSucceeded, payments.RefundStateSucceeded},
		{sandbox.TokenRefundLostOnce, payments.RefundStateUnknown, false, payments.RefundStateNotFound, payments.RefundStateSucceeded},
		{sandbox.TokenRefundPendingFails, payments.RefundStatePending, false, payments.RefundStateFailed, payments.RefundStateFailed},
		{sandbox.TokenRefundWrongAmount, payments.RefundStateSucceeded, false, payments.RefundStateSucceeded, payments.RefundStateSucceeded},
	} {
		t.Run(row.token, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			charged := w.mustCharge(t, "pay_1", row.token)
			request := refundRequest("refund_1", charged.ChargeID, 1000)
			outcome, err := w.gateway.Refund(t.Context(), request)
			if outcome.State != row.first || errors.Is(err, payments.ErrRejected) != row.rejected {
				t.Fatalf("the first call: %+v, %v", outcome, err)
			}
			eventually(t, "the refund", func() (string, error) {
				outcome, err := w.gateway.LookUpRefund(t.Context(), account, "refund_1")
				return outcome.State.String(), err
			}, row.end.String())
			outcome, _ = w.gateway.Refund(t.Context(), request)
			if outcome.State != row.again {
				t.Errorf("the second call is %s", outcome.State)
			}
			if wrong := outcome.Amount == euros(1001); wrong != (row.token == sandbox.TokenRefundWrongAmount) {
				t.Errorf("told %s", outcome.Amount)
			}
			// What failed is left to refund.
			if row.again != payments.RefundStateSucceeded && !row.rejected {
				if outcome, err := w.gateway.Refund(t.Context(), refundRequest("refund_2", charged.ChargeID, 4250)); err != nil {
					t.Errorf("the whole, after a failure: %+v, %v", outcome, err)
				}
			}
		})
	}
}

func TestConfiguredFaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		faults    sandbox.WebhookFaults
		delivered int
	}{
		{sandbox.WebhookFaults{Drop: 1}, 0},
		{sandbox.WebhookFaults{Double: 1}, 40},
		{sandbox.WebhookFaults{Shuffle: 1, Double: 1}, 40},
		{sandbox.WebhookFaults{Shuffle: 1}, 20},
	} {
		w := newWorld(t, func(c *sandbox.Config) { c.WebhookFaults = row.faults; c.WebhookFaults.Seed = 7 })
		for i := range 20 {
			w.mustCharge(t, "pay_"+string(rune('a'+i)), sandbox.TokenApprove)
		}
		w.drained(t)
		if got := w.server.WebhookStats().Delivered; got != row.delivered {
			t.Errorf("%+v delivered %d, want %d", row.faults, got, row.delivered)
		}
	}
	// The same seed loses the same events.
	kept := func() []string {
		w := newWorld(t, func(c *sandbox.Config) { c.WebhookFaults = sandbox.WebhookFaults{Seed: 11, Drop: 0.5} })
		for i := range 20 {
			w.mustCharge(t, "pay_"+string(rune('a'+i)), sandbox.TokenApprove)
		}
		w.drained(t)
		var keys []string
		for i := range 20 {
			if key := "pay_" + string(rune('a'+i)); len(w.receiver.about(key)) > 0 {
				keys = append(keys, key)
			}
		}
		return keys
	}
	first := kept()
	if second := kept(); !slices.Equal(first, second) || len(first) == 0 || len(first) == 20 {
		t.Errorf("one seed kept %v, then %v", first, second)
	}
	if _, err := sandbox.NewServer(sandbox.Config{
		SecretKey: secretKey, WebhookSecrets: []string{webhookSecret}, WebhookFaults: sandbox.WebhookFaults{Drop: 2},
	}); err == nil {
		t.Error("a share of 2 was taken")
	}
}

// A restarted provider knows pages, reservations and disputes again.
func TestReservationsSurviveARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	start := func() (*sandbox.Server, *sandbox.Gateway) {
		server, err := sandbox.NewServer(sandbox.Config{SecretKey: secretKey, WebhookSecrets: []string{webhookSecret}, JournalPath: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(context.WithoutCancel(t.Context()), "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		return server, newGateway(t, server.GatewayConfig())
	}
	server, gateway := start()
	for key, request := range map[string]payments.ChargeRequest{
		"pay_1": reservation("pay_1", sandbox.TokenApprove), "pay_2": hostedRequest("pay_2", time.Now().Add(time.Hour)),
		"pay_3": chargeRequest("pay_3", sandbox.TokenApprove),
	} {
		if _, err := gateway.Charge(t.Context(), request); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	if _, err := server.Dispute(account, "pay_3", "opened", 0); err != nil {
		t.Fatal(err)
	}
	closeServer(t, server)
	server, gateway = start()
	t.Cleanup(func() { closeServer(t, server) })
	outcome, err := gateway.Capture(t.Context(), account, "pay_1")
	expectState(t, "the reservation of before", outcome, err, payments.OutcomeStateApproved)
	outcome, err = gateway.LookUp(t.Context(), account, "pay_2")
	expectState(t, "the page of before", outcome, err, payments.OutcomeStatePending)
	press(t, outcome.RedirectURL, "pay", sandbox.TokenApprove)
	outcome, err = gateway.LookUp(t.Context(), account, "pay_2")
	expectState(t, "the page after it was paid", outcome, err, payments.OutcomeStateApproved)
	if _, err := server.Dispute(account, "pay_3", "won", 0); err != nil {
		t.Errorf("the dispute of before: %v", err)
	}
}
