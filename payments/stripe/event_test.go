package stripe_test

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/stripe"
	"github.com/holdfast/holdfast/payments/stripe/stripetest"
	"github.com/holdfast/holdfast/tenants"
)

// with copies an object with fields changed; a nil removes one.
func with(object, fields map[string]any) map[string]any {
	changed := maps.Clone(object)
	maps.Copy(changed, fields)
	for name, value := range fields {
		if value == nil {
			delete(changed, name)
		}
	}
	return changed
}

// read reads a message signed now.
func read(t *testing.T, gateway *stripe.Gateway, body []byte) (payments.Event, error) {
	t.Helper()
	return gateway.ParseWebhook(stripetest.Sign(body, time.Now(), stripetest.WebhookSecret), body)
}

func TestWhatEventsMean(t *testing.T) {
	t.Parallel()
	reference := payments.Reference{TenantID: ids.NewGlobal[tenants.TenantKind](), AttemptID: "attempt_eu_1"}
	metadata := map[string]string{"holdfast_key": "attempt_eu_1", "holdfast_tenant": reference.TenantID.String(), "holdfast_attempt": reference.AttemptID}
	intent := map[string]any{
		"id": "pi_1", "object": "payment_intent", "status": "succeeded", "amount": 500, "amount_received": 500, "currency": "isk", "metadata": metadata,
	}
	session := map[string]any{
		"id": "cs_test_1", "object": "checkout.session", "status": "complete", "payment_status": "paid", "amount_total": 500, "currency": "isk",
		"payment_intent": "pi_1", "metadata": metadata,
	}
	refund := map[string]any{"id": "re_1", "object": "refund", "status": "succeeded", "amount": 500, "currency": "isk", "payment_intent": "pi_1", "metadata": metadata}
	dispute := map[string]any{"id": "dp_1", "object": "dispute", "status": "needs_response", "amount": 500, "currency": "isk", "payment_intent": "pi_1", "charge": "ch_1"}
	failure := map[string]any{"code": "card_declined", "decline_code": "do_not_honor", "payment_method": map[string]any{"id": "pm_1", "card": map[string]any{"fingerprint": "fp_1"}}}
	foreign := map[string]any{"metadata": map[string]string{"order": "7"}, "currency": "usdc"}

	krona := money.Amount{Minor: 5, Currency: "ISK"}
	charged := payments.Event{Key: "attempt_eu_1", Reference: reference, ChargeID: "pi_1", Amount: krona}
	declined := charged
	declined.Type, declined.DeclineCode = payments.EventTypeChargeDeclined, "do_not_honor"
	ofType := func(event payments.Event, kind payments.EventType) payments.Event { event.Type = kind; return event }
	other := payments.Event{Type: payments.EventTypeOther}
	refunded := charged
	refunded.RefundID = "re_1"
	disputed := payments.Event{ChargeID: "pi_1", DisputeID: "dp_1", Amount: krona}

	for name, c := range map[string]struct {
		kind   string
		object map[string]any
		want   payments.Event
		// bad is set where the message cannot be believed.
		bad bool
	}{
		"paid":                       {"payment_intent.succeeded", intent, ofType(charged, payments.EventTypeChargeSucceeded), false},
		"paid, with charge expanded": {"payment_intent.succeeded", with(intent, map[string]any{"latest_charge": map[string]any{"id": "ch_1", "payment_method_details": map[string]any{"card": map[string]any{"fingerprint": "fp_1"}}}}), payments.Event{Type: payments.EventTypeChargeSucceeded, Key: "attempt_eu_1", Reference: reference, ChargeID: "pi_1", Amount: krona, InstrumentFingerprint: "fp_1"}, false},
		"paid in part":               {"payment_intent.succeeded", with(intent, map[string]any{"amount_received": 300}), payments.Event{Type: payments.EventTypeChargeSucceeded, Key: "attempt_eu_1", Reference: reference, ChargeID: "pi_1", Amount: money.Amount{Minor: 3, Currency: "ISK"}}, false},
		"paid nothing":               {"payment_intent.succeeded", with(intent, map[string]any{"amount_received": nil}), payments.Event{}, true},
		"paid, but not":              {"payment_intent.succeeded", with(intent, map[string]any{"status": "processing"}), payments.Event{}, true},
		"paid, in no state":          {"payment_intent.succeeded", with(intent, map[string]any{"status": nil}), payments.Event{}, true},
		"paid, in no currency":       {"payment_intent.succeeded", with(intent, map[string]any{"currency": nil}), payments.Event{}, true},
		"paid, without an id":        {"payment_intent.succeeded", with(intent, map[string]any{"id": nil}), payments.Event{}, true},
		"paid, as text":              {"payment_intent.succeeded", with(intent, map[string]any{"amount_received": "500"}), payments.Event{}, true},
		"somebody else's":            {"payment_intent.succeeded", with(intent, foreign), other, false},
		"a broken reference": {
			"payment_intent.succeeded", with(intent, map[string]any{"metadata": map[string]string{"holdfast_key": "attempt_eu_1", "holdfast_tenant": "x"}}),
			payments.Event{Type: payments.EventTypeChargeSucceeded, Key: "attempt_eu_1", ChargeID: "pi_1", Amount: krona},
			false,
		},
		// It can still be paid with another card.
		"a try failed": {
			"payment_intent.payment_failed", with(intent, map[string]any{"status": "requires_payment_method", "amount_received": 0, "last_payment_error": failure}),
			payments.Event{Type: payments.EventTypeOther, Key: "attempt_eu_1", Reference: reference, ChargeID: "pi_1", Amount: krona, InstrumentFingerprint: "fp_1"},
			false,
		},
		"cancelled after a try": {"payment_intent.canceled", with(intent, map[string]any{"status": "canceled", "amount_received": 0, "cancellation_reason": "abandoned", "last_payment_error": with(failure, map[string]any{"payment_method": nil})}), declined, false},
		"cancelled, but not":    {"payment_intent.canceled", intent, payments.Event{}, true},
		"reserved":              {"payment_intent.amount_capturable_updated", with(intent, map[string]any{"status": "requires_capture", "amount_received": 0, "amount_capturable": 500}), ofType(charged, payments.EventTypeChargeAuthorized), false},
		"captured from":         {"payment_intent.amount_capturable_updated", intent, ofType(charged, payments.EventTypeOther), false},
		"a new kind":            {"payment_intent.folded", intent, ofType(charged, payments.EventTypeOther), false},

		"page paid":                {"checkout.session.completed", session, ofType(charged, payments.EventTypeChargeSucceeded), false},
		"page done, not yet paid":  {"checkout.session.completed", with(session, map[string]any{"payment_status": "unpaid"}), ofType(charged, payments.EventTypeOther), false},
		"page done, but open":      {"checkout.session.completed", with(session, map[string]any{"status": "open"}), payments.Event{}, true},
		"page paid later":          {"checkout.session.async_payment_succeeded", session, ofType(charged, payments.EventTypeChargeSucceeded), false},
		"page refused later":       {"checkout.session.async_payment_failed", with(session, map[string]any{"payment_status": "unpaid"}), payments.Event{Type: payments.EventTypeChargeDeclined, Key: "attempt_eu_1", Reference: reference, ChargeID: "pi_1", Amount: krona, DeclineCode: "declined"}, false},
		"page expired":             {"checkout.session.expired", with(session, map[string]any{"status": "expired", "payment_status": "unpaid", "payment_intent": nil}), payments.Event{Type: payments.EventTypeChargeDeclined, Key: "attempt_eu_1", Reference: reference, Amount: krona, DeclineCode: "expired"}, false},
		"page expired in a try":    {"checkout.session.expired", with(session, map[string]any{"status": "expired", "payment_status": "unpaid"}), ofType(charged, payments.EventTypeOther), false},
		"page expired, but not":    {"checkout.session.expired", session, payments.Event{}, true},
		"page of somebody else":    {"checkout.session.completed", with(session, foreign), other, false},
		"page without an id":       {"checkout.session.completed", with(session, map[string]any{"id": nil}), payments.Event{}, true},
		"refunded at once":         {"refund.created", refund, ofType(refunded, payments.EventTypeRefundSucceeded), false},
		"refunded":                 {"refund.updated", refund, ofType(refunded, payments.EventTypeRefundSucceeded), false},
		"refunded, by the old way": {"charge.refund.updated", refund, ofType(refunded, payments.EventTypeRefundSucceeded), false},
		"refund waits":             {"refund.created", with(refund, map[string]any{"status": "pending"}), ofType(refunded, payments.EventTypeOther), false},
		"refund failed": {
			"refund.failed", with(refund, map[string]any{"status": "failed", "failure_reason": "expired_or_canceled_card"}),
			payments.Event{Type: payments.EventTypeRefundFailed, Key: "attempt_eu_1", Reference: reference, ChargeID: "pi_1", RefundID: "re_1", Amount: krona, DeclineCode: "expired_or_canceled_card"},
			false,
		},
		"refund in no state":       {"refund.updated", with(refund, map[string]any{"status": nil}), payments.Event{}, true},
		"refund of somebody else":  {"refund.updated", with(refund, foreign), other, false},
		"a charge has refunds":     {"charge.refunded", map[string]any{"id": "ch_1", "object": "charge"}, other, false},
		"disputed":                 {"charge.dispute.created", dispute, ofType(disputed, payments.EventTypeDisputeOpened), false},
		"dispute won":              {"charge.dispute.closed", with(dispute, map[string]any{"status": "won"}), ofType(disputed, payments.EventTypeDisputeWon), false},
		"inquiry closed":           {"charge.dispute.closed", with(dispute, map[string]any{"status": "warning_closed"}), ofType(disputed, payments.EventTypeDisputeWon), false},
		"dispute lost":             {"charge.dispute.closed", with(dispute, map[string]any{"status": "lost"}), ofType(disputed, payments.EventTypeDisputeLost), false},
		"dispute in between":       {"charge.dispute.updated", dispute, ofType(disputed, payments.EventTypeOther), false},
		"dispute of an old charge": {"charge.dispute.created", with(dispute, map[string]any{"payment_intent": nil}), other, false},
		"dispute without an id":    {"charge.dispute.created", with(dispute, map[string]any{"id": nil}), payments.Event{}, true},
		"something else entirely":  {"customer.created", map[string]any{"id": "cus_1", "object": "customer"}, other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := stripetest.NewEvent(c.kind, c.object, map[string]any{"account": account})
			event, err := read(t, newBench(t).gateway, body)
			if c.bad {
				if !errors.Is(err, payments.ErrBadEvent) || event != (payments.Event{}) {
					t.Errorf("got %+v, %v", event, err)
				}
				return
			}
			want := c.want
			want.Provider, want.ID, want.Account, want.OccurredAt = "stripe", "evt_own", account, time.Unix(1_790_000_000, 0).UTC()
			if err != nil || event != want {
				t.Errorf("got\n%+v, %v, want\n%+v", event, err, want)
			}
		})
	}
}

func TestEventsAreOfAnAccountAndAMode(t *testing.T) {
	t.Parallel()
	object := map[string]any{"id": "cus_1", "object": "customer"}
	test := newBench(t).gateway
	live := newBench(t, func(c *stripe.Config) { c.SecretKey = "sk_live_abcdefgh1234" }).gateway
	if event, err := read(t, test, stripetest.NewEvent("customer.created", object, nil)); err != nil || event.Account != platform {
		t.Errorf("the platform's own: %+v, %v", event, err)
	}
	for name, c := range map[string]struct {
		gateway *stripe.Gateway
		fields  map[string]any
	}{
		"a test event on a live configuration": {live, map[string]any{"livemode": false}},
		"a live event on a test configuration": {test, map[string]any{"livemode": true}},
		"no mode on a live configuration":      {live, map[string]any{"livemode": nil}},
		"no id":                                {test, map[string]any{"id": ""}},
		"another kind of id":                   {test, map[string]any{"id": "pi_1"}},
		"no type":                              {test, map[string]any{"type": ""}},
		"nothing in it":                        {test, map[string]any{"data": nil}},
		"no object in it":                      {test, map[string]any{"data": map[string]any{}}},
		"not an event":                         {test, map[string]any{"object": "v2.core.event"}},
		"a list as its id":                     {test, map[string]any{"id": []string{"evt_1"}}},
	} {
		if event, err := read(t, c.gateway, stripetest.NewEvent("customer.created", object, c.fields)); !errors.Is(err, payments.ErrBadEvent) {
			t.Errorf("%s: %+v, %v", name, event, err)
		}
	}
	if event, err := read(t, live, stripetest.NewEvent("customer.created", object, map[string]any{"livemode": true})); err != nil {
		t.Errorf("a live event on a live configuration: %+v, %v", event, err)
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	const next, gone = "whsec_next0123456789", "whsec_gone0123456789"
	now := time.Now().Truncate(time.Second)
	gateway := newBench(t, func(c *stripe.Config) {
		c.WebhookSecrets = append(c.WebhookSecrets, next)
		c.Now = func() time.Time { return now }
	}).gateway
	body := stripetest.NewEvent("customer.created", map[string]any{"id": "cus_1"}, nil)
	signed := stripetest.Sign(body, now, stripetest.WebhookSecret)[stripe.SignatureHeader][0]
	header := func(values ...string) http.Header { return http.Header{stripe.SignatureHeader: values} }
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
		want   error
	}{
		"fresh":                   {header(signed), body, nil},
		"with the next secret":    {stripetest.Sign(body, now, next), body, nil},
		"with both":               {stripetest.Sign(body, now, gone, next), body, nil},
		"with a future scheme":    {header(signed + ",v9=abc"), body, nil},
		"five minutes old":        {stripetest.Sign(body, now.Add(-5*time.Minute), next), body, nil},
		"older":                   {stripetest.Sign(body, now.Add(-5*time.Minute-time.Second), next), body, payments.ErrStaleSignature},
		"from the future":         {stripetest.Sign(body, now.Add(5*time.Minute+time.Second), next), body, payments.ErrStaleSignature},
		"with a retired secret":   {stripetest.Sign(body, now, gone), body, payments.ErrBadSignature},
		"old and forged":          {stripetest.Sign(body, now.Add(-time.Hour), gone), body, payments.ErrBadSignature},
		"changed":                 {header(signed), bytes.Replace(body, []byte("cus_1"), []byte("cus_2"), 1), payments.ErrBadSignature},
		"reformatted":             {header(signed), append(body, '\n'), payments.ErrBadSignature},
		"truncated":               {header(signed), body[:len(body)/2], payments.ErrBadSignature},
		"unsigned":                {header(), body, payments.ErrBadSignature},
		"signed twice":            {header(signed, signed), body, payments.ErrBadSignature},
		"two times":               {header(signed + ",t=1"), body, payments.ErrBadSignature},
		"no time":                 {header("v1=00"), body, payments.ErrBadSignature},
		"a time in words":         {header("t=now,v1=00"), body, payments.ErrBadSignature},
		"a test scheme only":      {header(strings.Replace(signed, "v1=", "v0=", 1)), body, payments.ErrBadSignature},
		"an endless header":       {header(signed + strings.Repeat(",v1=00", 1000)), body, payments.ErrBadSignature},
		"an endless body":         {header(signed), make([]byte, 257<<10), payments.ErrBadEvent},
		"signed, but not of JSON": {stripetest.Sign([]byte("hello"), now, next), []byte("hello"), payments.ErrBadEvent},
	} {
		if event, err := gateway.ParseWebhook(c.header, c.body); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %+v, %v, want %v", name, event, err, c.want)
		}
	}
}

// The events of a whole life, as the double makes them, in order.
func TestEventsOfADispute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	charge := b.paid(stripetest.MethodCard)
	b.server.CloseDispute(b.server.OpenDispute(charge), "lost")
	var kinds []payments.EventType
	for _, made := range b.server.Events() {
		event, err := read(t, b.gateway, made.Body)
		if err != nil || event.Account != account || event.ChargeID != charge {
			t.Errorf("%s: %+v, %v", made.Type, event, err)
		}
		kinds = append(kinds, event.Type)
	}
	want := []payments.EventType{payments.EventTypeChargeSucceeded, payments.EventTypeDisputeOpened, payments.EventTypeDisputeLost}
	if len(kinds) != len(want) || kinds[0] != want[0] || kinds[1] != want[1] || kinds[2] != want[2] {
		t.Errorf("got %v, want %v", kinds, want)
	}
}

// FuzzParseWebhook feeds signed messages: an attacker cannot sign, but Stripe may change its mind.
func FuzzParseWebhook(f *testing.F) {
	gateway := gatewayTo(f, "http://127.0.0.1:1")
	f.Add([]byte(`{"id":"evt_1","object":"event","type":"payment_intent.succeeded","data":{"object":{"id":"pi_1","status":"succeeded","metadata":{"holdfast_key":"k"}}}}`))
	f.Add([]byte(`{"id":"evt_1","object":"event","type":"refund.updated","data":{"object":{"id":"re_1","metadata":{"holdfast_key":"k"},"payment_intent":null}}}`))
	f.Add([]byte(`{"id":"evt_1","object":"event","type":"charge.dispute.closed","data":{"object":"dp_1"}}`))
	f.Add([]byte(`{"id":"evt_1","object":"event","type":"checkout.session.expired","data":{"object":{"payment_intent":{}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		event, err := gateway.ParseWebhook(stripetest.Sign(body, time.Now(), stripetest.WebhookSecret), body)
		if err == nil && (event.ID == "" || event.Type == "" || event.Provider != stripe.Name) || err != nil && event != (payments.Event{}) {
			t.Errorf("%+v, %v", event, err)
		}
	})
}
