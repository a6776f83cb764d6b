package stripe

import (
	"errors"
	"fmt"
	"strings"

	stripego "github.com/stripe/stripe-go/v84"

	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
)

// The ids of Stripe's objects begin with these.
const (
	intentPrefix  = "pi_"
	sessionPrefix = "cs_"
	refundPrefix  = "re_"
	// refundPrefixOld is on refunds of some payment methods.
	refundPrefixOld = "pyr_"
)

// declinedWithoutReason is the decline code where Stripe gives none.
const declinedWithoutReason = "declined"

// readIntent makes an outcome of a PaymentIntent as it stands. One that waits for another payment
// method is PENDING here, because Stripe would still take money under it; decline makes it final.
func readIntent(intent *stripego.PaymentIntent, account, key string) (payments.Outcome, error) {
	if err := checkIntent(intent, key); err != nil {
		return payments.Outcome{}, err
	}
	outcome := payments.Outcome{ChargeID: intent.ID, Account: account, InstrumentFingerprint: fingerprintOfIntent(intent)}
	switch intent.Status {
	case stripego.PaymentIntentStatusSucceeded:
		captured, err := fromStripe(intent.AmountReceived, string(intent.Currency))
		if err == nil && captured.Minor == 0 {
			err = errors.New("it has succeeded, but received nothing")
		}
		if err != nil {
			return payments.Outcome{}, fmt.Errorf("read the PaymentIntent %s: %w", intent.ID, err)
		}
		outcome.State, outcome.Captured = payments.OutcomeStateApproved, captured
	case stripego.PaymentIntentStatusRequiresCapture:
		outcome.State = payments.OutcomeStateAuthorized
	case stripego.PaymentIntentStatusCanceled:
		outcome.State, outcome.DeclineCode = payments.OutcomeStateDeclined, declineCode(intent)
	case stripego.PaymentIntentStatusRequiresAction:
		outcome.State, outcome.RedirectURL = payments.OutcomeStatePending, nextURL(intent.NextAction)
	case stripego.PaymentIntentStatusProcessing, stripego.PaymentIntentStatusRequiresConfirmation, stripego.PaymentIntentStatusRequiresPaymentMethod:
		outcome.State = payments.OutcomeStatePending
	default:
		return payments.Outcome{}, fmt.Errorf("the PaymentIntent %s has the unknown status %q", intent.ID, word(string(intent.Status)))
	}
	return outcome, nil
}

// checkIntent refuses an answer that is not about this key.
func checkIntent(intent *stripego.PaymentIntent, key string) error {
	switch {
	case intent == nil || !strings.HasPrefix(word(intent.ID), intentPrefix):
		return errUnreadable
	case intent.Metadata[metadataKey] != key:
		return fmt.Errorf("the PaymentIntent %s is about another key", word(intent.ID))
	}
	return nil
}

// isUnpaid reports whether Stripe waits for an instrument to pay with, or to be told to use it.
func isUnpaid(intent *stripego.PaymentIntent) bool {
	return intent.Status == stripego.PaymentIntentStatusRequiresPaymentMethod || intent.Status == stripego.PaymentIntentStatusRequiresConfirmation
}

// declineCode is the issuer's reason, else Stripe's, else why the PaymentIntent was cancelled.
func declineCode(intent *stripego.PaymentIntent) string {
	codes := []string{string(intent.CancellationReason), declinedWithoutReason}
	if failure := intent.LastPaymentError; failure != nil {
		codes = append([]string{string(failure.DeclineCode), string(failure.Code)}, codes...)
	}
	for _, code := range codes {
		if code = word(code); code != "" {
			return code
		}
	}
	return declinedWithoutReason
}

// nextURL is where the buyer goes on, or "" when that takes more than a page.
func nextURL(action *stripego.PaymentIntentNextAction) string {
	switch {
	case action == nil:
	case action.RedirectToURL != nil:
		return action.RedirectToURL.URL
	case action.AlipayHandleRedirect != nil:
		return action.AlipayHandleRedirect.URL
	case action.CashAppHandleRedirectOrDisplayQRCode != nil:
		return action.CashAppHandleRedirectOrDisplayQRCode.HostedInstructionsURL
	case action.SwishHandleRedirectOrDisplayQRCode != nil:
		return action.SwishHandleRedirectOrDisplayQRCode.HostedInstructionsURL
	case action.WeChatPayDisplayQRCode != nil:
		return action.WeChatPayDisplayQRCode.HostedInstructionsURL
	case action.PixDisplayQRCode != nil:
		return action.PixDisplayQRCode.HostedInstructionsURL
	case action.PromptPayDisplayQRCode != nil:
		return action.PromptPayDisplayQRCode.HostedInstructionsURL
	case action.PayNowDisplayQRCode != nil:
		return action.PayNowDisplayQRCode.HostedInstructionsURL
	case action.KonbiniDisplayDetails != nil:
		return action.KonbiniDisplayDetails.HostedVoucherURL
	case action.BoletoDisplayDetails != nil:
		return action.BoletoDisplayDetails.HostedVoucherURL
	case action.OXXODisplayDetails != nil:
		return action.OXXODisplayDetails.HostedVoucherURL
	case action.MultibancoDisplayDetails != nil:
		return action.MultibancoDisplayDetails.HostedVoucherURL
	case action.DisplayBankTransferInstructions != nil:
		return action.DisplayBankTransferInstructions.HostedInstructionsURL
	}
	return ""
}

// amountOf is what a PaymentIntent asks for, or has asked for.
func amountOf(intent *stripego.PaymentIntent) (money.Amount, error) {
	return fromStripe(intent.Amount, string(intent.Currency))
}
