package stripe

import (
	"context"
	"fmt"
	"regexp"

	stripego "github.com/stripe/stripe-go/v84"
)

// tokenForm is what a payment method's id looks like: pm_…, or card_…, src_… and ba_… of older
// integrations. A card number does not, and is never sent on.
var tokenForm = regexp.MustCompile(`^(pm|card|src|ba)_[A-Za-z0-9_]{1,250}$`)

// Fingerprint implements payments.Gateway. It is "" for methods that Stripe gives no fingerprint,
// such as most wallets. A failure to ask says nothing about the method.
func (g *Gateway) Fingerprint(ctx context.Context, account, methodToken string) (string, error) {
	ctx, cancel := g.bound(ctx)
	defer cancel()
	fingerprint, err := g.fingerprint(ctx, account, methodToken)
	if err != nil {
		return "", fmt.Errorf("ask for the fingerprint of a payment method: %w", err)
	}
	return fingerprint, nil
}

func (g *Gateway) fingerprint(ctx context.Context, account, methodToken string) (string, error) {
	if !accountForm.MatchString(account) {
		return "", fmt.Errorf("expected a Stripe account such as acct_…, got %.64q", account)
	}
	if !tokenForm.MatchString(methodToken) {
		return "", errToken
	}
	method, err := g.client.V1PaymentMethods.Retrieve(ctx, methodToken, &stripego.PaymentMethodRetrieveParams{Params: g.params(account)})
	if err != nil {
		return "", safe(err)
	}
	return fingerprintOfMethod(method), nil
}

func fingerprintOfIntent(intent *stripego.PaymentIntent) string {
	if charge := intent.LatestCharge; charge != nil {
		if fingerprint := fingerprintOfDetails(charge.PaymentMethodDetails); fingerprint != "" {
			return fingerprint
		}
	}
	if fingerprint := fingerprintOfMethod(intent.PaymentMethod); fingerprint != "" {
		return fingerprint
	}
	if intent.LastPaymentError != nil {
		return fingerprintOfMethod(intent.LastPaymentError.PaymentMethod)
	}
	return ""
}

func fingerprintOfMethod(method *stripego.PaymentMethod) string {
	switch {
	case method == nil:
	case method.Card != nil:
		return method.Card.Fingerprint
	case method.SEPADebit != nil:
		return method.SEPADebit.Fingerprint
	case method.USBankAccount != nil:
		return method.USBankAccount.Fingerprint
	case method.BACSDebit != nil:
		return method.BACSDebit.Fingerprint
	case method.AUBECSDebit != nil:
		return method.AUBECSDebit.Fingerprint
	case method.ACSSDebit != nil:
		return method.ACSSDebit.Fingerprint
	}
	return ""
}

func fingerprintOfDetails(details *stripego.ChargePaymentMethodDetails) string {
	switch {
	case details == nil:
	case details.Card != nil:
		return details.Card.Fingerprint
	case details.SEPADebit != nil:
		return details.SEPADebit.Fingerprint
	case details.USBankAccount != nil:
		return details.USBankAccount.Fingerprint
	case details.BACSDebit != nil:
		return details.BACSDebit.Fingerprint
	case details.AUBECSDebit != nil:
		return details.AUBECSDebit.Fingerprint
	case details.ACSSDebit != nil:
		return details.ACSSDebit.Fingerprint
	}
	return ""
}
