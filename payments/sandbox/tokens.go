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

	// TokenWrongAmount is approved, but one minor unit more than asked is captured.
	TokenWrongAmount = "tok_wrong_amount"

	// TokenRefundFailsOnce is approved; the first refund of it fails, later ones (under other keys)
	// succeed.
	TokenRefundFailsOnce = "tok_refund_fails_once"
	// TokenRefundPending is approved; refunds of it are pending for 2 seconds, then succeed.
	TokenRefundPending = "tok_refund_pending"
	// TokenRefundTimeout is approved; refunds of it succeed, but the HTTP calls that made them are
	// never answered.
	TokenRefundTimeout = "tok_refund_timeout"
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
	TokenWrongAmount:              {extraMinor: 1},
	TokenRefundFailsOnce:          {refund: refundFailsOnce},
	TokenRefundPending:            {refund: refundPending},
	TokenRefundTimeout:            {refund: refundNeverAnswers},
}

// tokenBehavioursAfter lists the tokens that are followed by seconds.
var tokenBehavioursAfter = map[string]behaviour{
	TokenApproveAfter:            {},
	TokenDeclineAfter:            {declineCode: genericDecline},
	TokenPendingApproveAfter:     {answer: answerPending},
	TokenPendingDeclineAfter:     {answer: answerPending, declineCode: genericDecline},
	TokenUnknownThenApproveAfter: {answer: answerCut},
	TokenUnknownThenDeclineAfter: {answer: answerCut, declineCode: genericDecline},
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

// readToken gives what the token does and the seed of its instrument: what follows the colon, or
// else the whole token.
func readToken(token string) (behaviour, string, error) {
	if len(token) > maxTokenLength {
		return behaviour{}, "", fmt.Errorf("expected a token of at most %d characters", maxTokenLength)
	}
	name, seed, seeded := strings.Cut(token, ":")
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
			known.after = seconds
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
