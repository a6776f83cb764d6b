package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A token names a pretended card and thereby chooses what happens to its charge. Tokens that end
// in "after_" are followed by whole seconds and "s", such as tok_approve_after_5s. Any token may
// carry ":" and a seed, such as tok_approve:alice: charges with the same seed are made with the
// same instrument, whatever their outcome.
const (
	// TokenApprove is approved at once.
	TokenApprove = "tok_approve"
	// TokenDecline and the following are declined at once, with the rest of the name as the code.
	TokenDecline                  = "tok_decline"
	TokenDeclineInsufficientFunds = "tok_decline_insufficient_funds"
	TokenDeclineExpiredCard       = "tok_decline_expired_card"
	TokenDeclineStolenCard        = "tok_decline_stolen_card"
	TokenDeclineLimitExceeded     = "tok_decline_limit_exceeded"

	// TokenApproveAfter is decided, and the HTTP call answered, after so many seconds. Lookups say
	// pending until then, also when the client has given up.
	TokenApproveAfter = "tok_approve_after_"
	// TokenDeclineAfter is the same with a decline.
	TokenDeclineAfter = "tok_decline_after_"

	// TokenPendingApproveAfter is answered at once as pending, and approved after so many seconds.
	TokenPendingApproveAfter = "tok_pending_approve_after_"
	// TokenPendingDeclineAfter is the same with a decline.
	TokenPendingDeclineAfter = "tok_pending_decline_after_"

	// TokenTimeoutApprove is approved at once, but the HTTP call that made it is never answered.
	TokenTimeoutApprove = "tok_timeout_approve"
	// TokenTimeoutDecline is declined at once, but the HTTP call that made it is never answered.
	TokenTimeoutDecline = "tok_timeout_decline"

	// TokenUnknownThenApprove breaks the connection in the middle of the answer. Lookups say
	// pending for 2 seconds, then approved.
	TokenUnknownThenApprove = "tok_unknown_then_approve"
	// TokenUnknownThenDecline is the same with a decline.
	TokenUnknownThenDecline = "tok_unknown_then_decline"
	// TokenUnknownThenApproveAfter is TokenUnknownThenApprove with its own seconds.
	TokenUnknownThenApproveAfter = "tok_unknown_then_approve_after_"
	// TokenUnknownThenDeclineAfter is TokenUnknownThenDecline with its own seconds.
	TokenUnknownThenDeclineAfter = "tok_unknown_then_decline_after_"
	// TokenErrorApprove is approved at once, but the HTTP call that made it is answered with 500.
	TokenErrorApprove = "tok_error_approve"
	// TokenErrorDecline is declined at once, but the HTTP call that made it is answered with 500.
	TokenErrorDecline = "tok_error_decline"
	// TokenLostOnce loses the first request with a key before it is recorded: the connection
	// breaks and lookups find nothing. The next request with that key is approved.
	TokenLostOnce = "tok_lost_once"

	// TokenWebhookTwice is approved, and its webhook is delivered twice.
	TokenWebhookTwice = "tok_webhook_twice"
	// TokenWebhookBeforeResponse is approved, and its webhook is delivered before the HTTP answer.
	TokenWebhookBeforeResponse = "tok_webhook_before_response"
	// TokenWebhookNever is approved, and no webhook tells so.
	TokenWebhookNever = "tok_webhook_never"

	// TokenLateApproveAfter breaks the connection within the answer, stays pending whatever is asked,
	// a cancellation too, and is approved after so many seconds.
	TokenLateApproveAfter = "tok_late_approve_after_"
	// TokenApproveThenDecline is approved; an event that follows says that it was declined.
	TokenApproveThenDecline = "tok_approve_then_decline"
	// TokenDeclineThenApprove is declined, and approved all the same 2 seconds later.
	TokenDeclineThenApprove = "tok_decline_then_approve"
	// TokenConfirm waits until the buyer has confirmed on the provider's page.
	TokenConfirm = "tok_confirm"

	// TokenCaptureFails is authorised when only a reservation is asked for, and its capture is then
	// declined for good.
	TokenCaptureFails = "tok_capture_fails"
	// TokenCaptureTimeout is authorised, and captured, but the call that captured is never answered.
	TokenCaptureTimeout = "tok_capture_timeout"
	// TokenCaptureError is authorised; the first capture is answered with 500 and does nothing.
	TokenCaptureError = "tok_capture_error"
	// TokenReservationExpiresAfter is authorised, and its reservation ends after so many seconds.
	TokenReservationExpiresAfter = "tok_reservation_expires_after_"

	// TokenDisputeWon is approved; 2 seconds later a dispute is opened, and 2 seconds later won.
	TokenDisputeWon = "tok_dispute_won"
	// TokenDisputeLost is the same with a dispute that is lost.
	TokenDisputeLost = "tok_dispute_lost"

	// TokenWrongAmount is approved, but one minor unit more than asked is captured.
	TokenWrongAmount = "tok_wrong_amount"
	// TokenWrongAccount is approved, but the money goes to another account.
	TokenWrongAccount = "tok_wrong_account"
	// TokenWrongCurrency is approved, but the money is taken in another currency.
	TokenWrongCurrency = "tok_wrong_currency"

	// TokenRefundFailsOnce is approved; the first refund of it fails, later ones (under other keys)
	// succeed.
	TokenRefundFailsOnce = "tok_refund_fails_once"
	// TokenRefundPending is approved; refunds of it are pending for 2 seconds, then succeed.
	TokenRefundPending = "tok_refund_pending"
	// TokenRefundTimeout is approved; refunds of it succeed, but the HTTP calls that made them are
	// never answered.
	TokenRefundTimeout = "tok_refund_timeout"
	// TokenRefundFails is approved; every refund of it fails.
	TokenRefundFails = "tok_refund_fails"
	// TokenRefundRefused is approved; every call for a refund of it is refused and records nothing.
	TokenRefundRefused = "tok_refund_refused"
	// TokenRefundError is approved; refunds of it succeed, but the calls that made them are answered
	// with 500.
	TokenRefundError = "tok_refund_error"
	// TokenRefundLostOnce is approved; the first call for a refund is lost before it is recorded, for
	// each key.
	TokenRefundLostOnce = "tok_refund_lost_once"
	// TokenRefundPendingFails is approved; refunds of it are pending for 2 seconds, then fail.
	TokenRefundPendingFails = "tok_refund_pending_fails"
	// TokenRefundWrongAmount is approved; what is told of a refund is one minor unit too much.
	TokenRefundWrongAmount = "tok_refund_wrong_amount"
)

const (
	// maxTokenLength bounds the whole token with its seed, in bytes.
	maxTokenLength = 128
	// maxAfterSeconds bounds the seconds in a token.
	maxAfterSeconds = 600
	// briefly is how long outcomes stay open where a token does not say it.
	briefly = 2 * time.Second
)

type answerKind int

const (
	// answerDecision waits for the decision and tells it.
	answerDecision answerKind = iota
	// answerPending says at once that there is no decision yet.
	answerPending
	// answerNever holds the connection until the client gives up.
	answerNever
	// answerCut breaks the connection within the answer.
	answerCut
	// answerError is a 500 that says nothing about the charge.
	answerError
)

type webhookKind int

const (
	webhookOnce webhookKind = iota
	webhookTwice
	webhookBeforeAnswer
	webhookNever
)

type refundKind int

const (
	refundSucceeds refundKind = iota
	refundFailsOnce
	refundPending
	refundNeverAnswers
	refundFails
	refundRefused
	refundError
	refundLostOnce
	refundPendingFails
	refundWrongAmount
)

type captureKind int

const (
	captureSucceeds captureKind = iota
	captureFails
	captureNeverAnswers
	captureErrorOnce
)

// behaviour is what a token makes the provider do.
type behaviour struct {
	// declineCode is empty for an approval.
	declineCode string
	// after is how long the decision takes.
	after    time.Duration
	answer   answerKind
	lostOnce bool
	webhook  webhookKind
	refund   refundKind
	// extraMinor is captured beyond what was asked, in minor units.
	extraMinor int64
	// elsewhere sends the money to another account, otherCurrency takes it in another currency.
	elsewhere     bool
	otherCurrency bool
	// stubborn charges are not cancelled.
	stubborn bool
	// contradicts sends an event of a decline after the one of the approval.
	contradicts bool
	// changesMind approves what was declined.
	changesMind bool
	// confirm waits for the buyer.
	confirm bool
	capture captureKind
	// reservation is how long one lasts; 0 is for ever.
	reservation time.Duration
	// dispute is how a dispute of the charge ends; empty is none.
	dispute string
}

const genericDecline = "card_declined"

// tokenBehaviours lists the tokens that are whole words.
var tokenBehaviours = map[string]behaviour{
	TokenApprove:                  {},
	TokenDecline:                  {declineCode: genericDecline},
	TokenDeclineInsufficientFunds: {declineCode: "insufficient_funds"},
	TokenDeclineExpiredCard:       {declineCode: "expired_card"},
	TokenDeclineStolenCard:        {declineCode: "stolen_card"},
	TokenDeclineLimitExceeded:     {declineCode: "limit_exceeded"},
	TokenTimeoutApprove:           {answer: answerNever},
	TokenTimeoutDecline:           {answer: answerNever, declineCode: genericDecline},
	TokenUnknownThenApprove:       {answer: answerCut, after: briefly},
	TokenUnknownThenDecline:       {answer: answerCut, after: briefly, declineCode: genericDecline},
	TokenErrorApprove:             {answer: answerError},
	TokenErrorDecline:             {answer: answerError, declineCode: genericDecline},
	TokenLostOnce:                 {lostOnce: true},
	TokenWebhookTwice:             {webhook: webhookTwice},
	TokenWebhookBeforeResponse:    {webhook: webhookBeforeAnswer},
	TokenWebhookNever:             {webhook: webhookNever},
	TokenApproveThenDecline:       {contradicts: true},
	TokenDeclineThenApprove:       {declineCode: genericDecline, changesMind: true},
	TokenConfirm:                  {confirm: true, answer: answerPending},
	TokenCaptureFails:             {capture: captureFails},
	TokenCaptureTimeout:           {capture: captureNeverAnswers},
	TokenCaptureError:             {capture: captureErrorOnce},
	TokenDisputeWon:               {dispute: statusWon},
	TokenDisputeLost:              {dispute: statusLost},
	TokenWrongAmount:              {extraMinor: 1},
	TokenWrongAccount:             {elsewhere: true},
	TokenWrongCurrency:            {otherCurrency: true},
	TokenRefundFailsOnce:          {refund: refundFailsOnce},
	TokenRefundPending:            {refund: refundPending},
	TokenRefundTimeout:            {refund: refundNeverAnswers},
	TokenRefundFails:              {refund: refundFails},
	TokenRefundRefused:            {refund: refundRefused},
	TokenRefundError:              {refund: refundError},
	TokenRefundLostOnce:           {refund: refundLostOnce},
	TokenRefundPendingFails:       {refund: refundPendingFails},
	TokenRefundWrongAmount:        {refund: refundWrongAmount},
}

// tokenBehavioursAfter lists the tokens that are followed by seconds.
var tokenBehavioursAfter = map[string]behaviour{
	TokenApproveAfter:            {},
	TokenDeclineAfter:            {declineCode: genericDecline},
	TokenPendingApproveAfter:     {answer: answerPending},
	TokenPendingDeclineAfter:     {answer: answerPending, declineCode: genericDecline},
	TokenUnknownThenApproveAfter: {answer: answerCut},
	TokenUnknownThenDeclineAfter: {answer: answerCut, declineCode: genericDecline},
	TokenLateApproveAfter:        {answer: answerCut, stubborn: true},
	TokenReservationExpiresAfter: {},
}

// FingerprintOf is the fingerprint of the instrument that a token stands for. The error says what
// is wrong with the token.
func FingerprintOf(token string) (string, error) {
	_, seed, err := readToken(token)
	if err != nil {
		return "", err
	}
	return fingerprint(seed), nil
}

func fingerprint(seed string) string {
	sum := sha256.Sum256([]byte("instrument:" + seed))
	return "fp_" + hex.EncodeToString(sum[:12])
}

// readOwnToken is readToken for an account: what names another one, after an "@", is refused.
func readOwnToken(account, token string) (behaviour, string, error) {
	name, _, _ := strings.Cut(token, ":")
	if _, owner, owned := strings.Cut(name, "@"); owned && owner != account {
		return behaviour{}, "", errors.New("expected a token of this account, got another account's")
	}
	return readToken(token)
}

// readToken gives what the token does and the seed of its instrument: what follows the colon, or
// else the whole token.
func readToken(token string) (behaviour, string, error) {
	if len(token) > maxTokenLength {
		return behaviour{}, "", fmt.Errorf("expected a token of at most %d characters", maxTokenLength)
	}
	name, seed, seeded := strings.Cut(token, ":")
	name, _, _ = strings.Cut(name, "@")
	if !seeded {
		seed = token
	} else if !isSeed(seed) {
		return behaviour{}, "", errors.New("expected letters, digits, dots, hyphens and underscores after the colon of the token")
	}
	if known, ok := tokenBehaviours[name]; ok {
		return known, seed, nil
	}
	if at := strings.LastIndex(name, "after_"); at >= 0 {
		prefix := name[:at+len("after_")]
		if known, ok := tokenBehavioursAfter[prefix]; ok {
			seconds, err := readSeconds(name[len(prefix):])
			if err != nil {
				return behaviour{}, "", fmt.Errorf("expected %s<n>s with n from 0 to %d", prefix, maxAfterSeconds)
			}
			if prefix == TokenReservationExpiresAfter {
				// At least an instant, because 0 would be for ever.
				known.reservation = max(seconds, time.Millisecond)
			} else {
				known.after = seconds
			}
			return known, seed, nil
		}
	}
	return behaviour{}, "", fmt.Errorf("expected a sandbox token such as %s or %s5s, got %q", TokenApprove, TokenApproveAfter, token)
}

func readSeconds(text string) (time.Duration, error) {
	digits, unit := strings.CutSuffix(text, "s")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("read the seconds: %w", err)
	}
	if !unit || n > maxAfterSeconds {
		return 0, errors.New("out of range or without a unit")
	}
	return time.Duration(n) * time.Second, nil
}

func isSeed(text string) bool {
	for _, r := range text {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
		default:
			return false
		}
	}
	return text != ""
}
