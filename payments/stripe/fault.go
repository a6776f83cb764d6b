package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	stripego "github.com/stripe/stripe-go/v84"

	"github.com/holdfast/holdfast/payments"
)

// errUnreadable stands for whatever stripe-go says of an answer that it cannot read, because that
// quotes the answer.
var errUnreadable = errors.New("the answer is not Stripe's, or cannot be read")

// refusal is what may be told of an error of Stripe's. Its text and the objects in it are left out:
// they quote what was sent and what is known of the buyer. The request's id finds them in Stripe's
// dashboard.
type refusal struct {
	status           int
	kind, code       string
	declineCode      string
	param, requestID string
	// intent is the PaymentIntent that a failed call left behind.
	intent *stripego.PaymentIntent
	// replayed says that the answer was given before, to an earlier call with this key.
	replayed bool
}

// Error names the codes.
func (r *refusal) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Stripe answered %d %s", r.status, r.kind)
	for _, detail := range []struct{ name, value string }{
		{"code", r.code}, {"decline code", r.declineCode}, {"parameter", r.param}, {"request", r.requestID},
	} {
		if detail.value != "" {
			fmt.Fprintf(&text, ", %s %s", detail.name, detail.value)
		}
	}
	return text.String()
}

// safe makes an error that may be logged of one of stripe-go's.
func safe(err error) error {
	var answered *stripego.Error
	var transported *url.Error
	var known *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, &answered):
		r := &refusal{
			status: answered.HTTPStatusCode, kind: word(string(answered.Type)), code: word(string(answered.Code)),
			declineCode: word(string(answered.DeclineCode)), param: word(answered.Param), requestID: word(answered.RequestID),
			intent: answered.PaymentIntent,
		}
		if answered.LastResponse != nil {
			r.replayed = isReplayed(answered.LastResponse)
		}
		return r
	case errors.As(err, &transported):
		// Its URL is ours; the ids in it are no secrets.
		return transported
	case errors.Is(err, errTooLong), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	}
	return errUnreadable
}

// isReplayed reports whether an answer is a repetition of the first one under its idempotency key.
func isReplayed(response *stripego.APIResponse) bool {
	return response != nil && response.Header.Get("Idempotent-Replayed") == "true"
}

// word is a code of Stripe's, or "" of anything that does not look like one: it goes into logs and
// rows.
func word(text string) string {
	const longest = 100
	if len(text) > longest || strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.[]", r)
	}) {
		return ""
	}
	return text
}

// judge says what a failed POST under an idempotency key means. Only Stripe's own word that a request
// is wrong is payments.ErrRejected. A server error, a limit of rate and an object that is locked are
// none: under the first, something may have happened, and the others are to be tried again.
func judge(err error) error {
	err = safe(err)
	var r *refusal
	if !errors.As(err, &r) || r.status < 400 || r.status > 499 {
		return err
	}
	switch {
	case r.code == string(stripego.ErrorCodeIdempotencyKeyInUse), r.status == http.StatusConflict:
		// The first call with this key is still being worked on.
		return err
	case r.kind == string(stripego.ErrorTypeIdempotency):
		return fmt.Errorf("%w: %w", payments.ErrKeyReused, err)
	case r.status == http.StatusTooManyRequests, r.code == string(stripego.ErrorCodeLockTimeout), r.code == string(stripego.ErrorCodeRateLimit):
		return err
	case r.kind == string(stripego.ErrorTypeInvalidRequest):
		return fmt.Errorf("%w: %w", payments.ErrRejected, err)
	}
	return err
}

// isAuthentication reports whether Stripe did not accept the key, or not for this account.
func isAuthentication(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden)
}

// isMissing reports whether Stripe does not know the object.
func isMissing(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (r.status == http.StatusNotFound || r.code == string(stripego.ErrorCodeResourceMissing))
}

// isWrongState reports whether Stripe refused because of the state that the object is in.
func isWrongState(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == http.StatusBadRequest && r.kind == string(stripego.ErrorTypeInvalidRequest)
}

func rejected(format string, arguments ...any) error {
	return fmt.Errorf("%w: %w", payments.ErrRejected, fmt.Errorf(format, arguments...))
}
