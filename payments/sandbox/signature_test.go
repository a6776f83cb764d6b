package sandbox_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
)

var signedAt = time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)

const (
	newSecret = "whsec_number_two"
	oldSecret = "whsec_number_one"
)

const goodEvent = `{"id":"evt_1","type":"charge.succeeded","createdAt":"2026-11-30T19:59:59Z","charge":{"id":"ch_1","account":"acct_theatre","key":"pay_1",` +
	`"status":"approved","amountMinor":4250,"capturedMinor":4250,"currency":"EUR","fingerprint":"fp_1","addedLater":true}}`

// signature makes the header by the documented recipe.
func signature(at time.Time, body string, secrets ...string) string {
	header := fmt.Sprintf("t=%d", at.Unix())
	for _, secret := range secrets {
		sum := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(sum, "%d.%s", at.Unix(), body)
		header += ",v1=" + hex.EncodeToString(sum.Sum(nil))
	}
	return header
}

func parser(t *testing.T) *sandbox.Gateway {
	t.Helper()
	return newGateway(t, sandbox.GatewayConfig{
		BaseURL: "http://127.0.0.1:1", SecretKey: secretKey, WebhookSecrets: []string{newSecret, oldSecret},
		Now: func() time.Time { return signedAt },
	})
}

func parse(gateway *sandbox.Gateway, header, body string) (payments.Event, error) {
	headers := http.Header{}
	headers.Set(sandbox.SignatureHeader, header)
	return gateway.ParseWebhook(headers, []byte(body))
}

func TestOnlySignedWebhooksAreRead(t *testing.T) {
	t.Parallel()
	gateway := parser(t)
	good := signature(signedAt, goodEvent, newSecret)
	withoutTime := good[strings.Index(good, ",")+1:]
	for name, row := range map[string]struct {
		header, body string
		want         error
	}{
		"signed":                         {good, goodEvent, nil},
		"signed with the old secret":     {signature(signedAt, goodEvent, oldSecret), goodEvent, nil},
		"signed with both":               {signature(signedAt, goodEvent, "whsec_of_another", oldSecret), goodEvent, nil},
		"signed in another way as well":  {good + ",v2=zz,kid=7", goodEvent, nil},
		"almost too old":                 {signature(signedAt.Add(-5*time.Minute), goodEvent, newSecret), goodEvent, nil},
		"almost too early":               {signature(signedAt.Add(5*time.Minute), goodEvent, newSecret), goodEvent, nil},
		"too old":                        {signature(signedAt.Add(-301*time.Second), goodEvent, newSecret), goodEvent, payments.ErrStaleSignature},
		"too early":                      {signature(signedAt.Add(301*time.Second), goodEvent, newSecret), goodEvent, payments.ErrStaleSignature},
		"forged":                         {signature(signedAt, goodEvent, "whsec_of_a_forger"), goodEvent, payments.ErrBadSignature},
		"altered body":                   {good, strings.Replace(goodEvent, "4250", "1", 1), payments.ErrBadSignature},
		"reformatted body":               {good, goodEvent + "\n", payments.ErrBadSignature},
		"truncated body":                 {good, goodEvent[:len(goodEvent)-1], payments.ErrBadSignature},
		"empty body":                     {good, "", payments.ErrBadSignature},
		"altered time":                   {strings.Replace(good, "t=1", "t=2", 1), goodEvent, payments.ErrBadSignature},
		"truncated signature":            {good[:len(good)-2], goodEvent, payments.ErrBadSignature},
		"signature of half a byte":       {good[:len(good)-1], goodEvent, payments.ErrBadSignature},
		"empty signature":                {"t=1,v1=", goodEvent, payments.ErrBadSignature},
		"no signature":                   {fmt.Sprintf("t=%d", signedAt.Unix()), goodEvent, payments.ErrBadSignature},
		"no time":                        {withoutTime, goodEvent, payments.ErrBadSignature},
		"two times":                      {good + ",t=1", goodEvent, payments.ErrBadSignature},
		"five signatures":                {signature(signedAt, goodEvent, "aaaaaaaa", "aaaaaaaa", "aaaaaaaa", "aaaaaaaa", newSecret), goodEvent, payments.ErrBadSignature},
		"no header":                      {"", goodEvent, payments.ErrBadSignature},
		"something else":                 {"Bearer " + newSecret, goodEvent, payments.ErrBadSignature},
		"endless header":                 {good + strings.Repeat(",v2=00", 1000), goodEvent, payments.ErrBadSignature},
		"signature of nothing as a time": {"t=,v1=" + strings.Repeat("00", 32), goodEvent, payments.ErrBadSignature},
	} {
		event, err := parse(gateway, row.header, row.body)
		if !errors.Is(err, row.want) || (err == nil) != (event.ID == "evt_1") {
			t.Errorf("%s: got %+v, %v; want %v", name, event, err, row.want)
		}
		if err != nil && (strings.Contains(err.Error(), newSecret) || strings.Contains(err.Error(), oldSecret)) {
			t.Errorf("%s: the error tells a secret", name)
		}
	}
	if _, err := gateway.ParseWebhook(http.Header{sandbox.SignatureHeader: {good, good}}, []byte(goodEvent)); !errors.Is(err, payments.ErrBadSignature) {
		t.Errorf("two headers: got %v", err)
	}
	if _, err := gateway.ParseWebhook(nil, []byte(goodEvent)); !errors.Is(err, payments.ErrBadSignature) {
		t.Errorf("no headers: got %v", err)
	}
}

func TestSignedMessagesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	gateway := parser(t)
	swap := func(from, to string) string { return strings.Replace(goodEvent, from, to, 1) }
	for name, body := range map[string]string{
		"empty":                    "",
		"null":                     "null",
		"a list":                   "[]",
		"two objects":              goodEvent + "{}",
		"an empty object":          "{}",
		"no id":                    swap(`"evt_1"`, `""`),
		"no type":                  swap(`"charge.succeeded"`, `""`),
		"no charge":                `{"id":"evt_1","type":"charge.succeeded"}`,
		"a refund's type":          swap("charge.succeeded", "refund.succeeded"),
		"a charge of no key":       swap(`"pay_1"`, `""`),
		"a charge of no id":        swap(`"ch_1"`, `""`),
		"a type that contradicts":  swap("charge.succeeded", "charge.declined"),
		"a status that is new":     swap(`"approved"`, `"perhaps"`),
		"no currency":              swap(`"EUR"`, `""`),
		"a negative amount":        swap(`"capturedMinor":4250`, `"capturedMinor":-4250`),
		"nothing captured":         swap(`"capturedMinor":4250`, `"capturedMinor":0`),
		"an amount in euros":       swap(`"capturedMinor":4250`, `"capturedMinor":42.50`),
		"an amount that overflows": swap(`"capturedMinor":4250`, `"capturedMinor":9999999999999999999`),
		"a date as the time":       swap("2026-11-30T19:59:59Z", "2026-11-30"),
		"oversized":                goodEvent + strings.Repeat(" ", 64<<10),
	} {
		event, err := parse(gateway, signature(signedAt, body, newSecret), body)
		if !errors.Is(err, payments.ErrBadEvent) || event != (payments.Event{}) {
			t.Errorf("%s: got %+v, %v", name, event, err)
		}
	}
}

func TestEventsThatAreNotOurs(t *testing.T) {
	t.Parallel()
	gateway := parser(t)
	body := `{"id":"evt_2","type":"payout.paid","createdAt":"2026-11-30T19:59:59Z","payout":{}}`
	event, err := parse(gateway, signature(signedAt, body, newSecret), body)
	if err != nil || event.Type != payments.EventTypeOther || event.ID != "evt_2" {
		t.Errorf("another type: got %+v, %v", event, err)
	}
	event, err = parse(gateway, signature(signedAt, goodEvent, newSecret), goodEvent)
	if err != nil || event.Reference != (payments.Reference{}) || event.Key != "pay_1" {
		t.Errorf("without a reference: got %+v, %v", event, err)
	}
	body = strings.Replace(goodEvent, `"id":"ch_1"`, `"id":"ch_1","reference":{"tenant":"tenant_1","attempt":"pay_1"}`, 1)
	event, err = parse(gateway, signature(signedAt, body, newSecret), body)
	if err != nil || event.Reference != (payments.Reference{}) {
		t.Errorf("with a reference of another form: got %+v, %v", event, err)
	}
}

func FuzzParseWebhook(f *testing.F) {
	f.Add(signature(signedAt, goodEvent, newSecret), goodEvent)
	f.Add("t=1,v1=00", "{}")
	gateway, err := sandbox.NewGateway(sandbox.GatewayConfig{
		BaseURL: "http://127.0.0.1:1", SecretKey: secretKey, WebhookSecrets: []string{newSecret},
		Now: func() time.Time { return signedAt },
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header, body string) {
		if event, err := parse(gateway, header, body); (err != nil) != (event == payments.Event{}) {
			t.Errorf("got %+v with %v", event, err)
		}
		// What is signed is read or refused, whatever it says.
		if event, err := parse(gateway, signature(signedAt, body, newSecret), body); (err != nil) != (event == payments.Event{}) || errors.Is(err, payments.ErrBadSignature) {
			t.Errorf("got %+v with %v", event, err)
		}
	})
}
