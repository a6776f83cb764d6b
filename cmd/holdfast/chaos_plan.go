package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/holdfast/holdfast/payments/sandbox"
)

// Shares of the provider's messages that are doubled, and that are overtaken by later ones.
const (
	chaosDoubled  = 0.25
	chaosShuffled = 0.25
)

// The kinds of trouble, as the report counts them. Payments that are declined, or wait for the buyer,
// are no trouble.
const (
	chaosTimeout      = "timeout"
	chaosLate         = "late success"
	chaosContradicted = "declined after approval"
	chaosRefund       = "refund"
	chaosWebhook      = "webhook"
)

// What a buyer does on the provider's page.
const (
	pressPay     = "pay"
	pressDecline = "decline"
	pressLeave   = "leave"
)

// What a buyer does in the end.
type chaosIntent int

const (
	chaosKeeps chaosIntent = iota
	// chaosCancels cancels everything, chaosCancelsLine one line.
	chaosCancels
	chaosCancelsLine
	// chaosAbandons never pays.
	chaosAbandons
)

// chaosPlan is what a buyer means to do, decided by the seed before anything is asked.
type chaosPlan struct {
	seller *chaosSeller
	lines  []apiInput
	intent chaosIntent
	// token is how it is paid; empty is on the provider's page.
	token string
	// press is what the buyer does on the provider's page, if led there.
	press string
	// trouble is the kind of it; empty is none.
	trouble string
}

// plans decides a purchase.
func (r *chaosRun) plans(chance *rand.Rand) chaosPlan {
	plan := chaosPlan{seller: r.sellers[chance.IntN(len(r.sellers))], press: pressPay}
	plan.lines = plan.seller.wants(chance)
	switch n := chance.IntN(100); {
	case n < 20:
		plan.intent = chaosCancels
	case n < 30:
		plan.intent = chaosCancelsLine
	case n < 35:
		plan.intent = chaosAbandons
	}
	r.config.pays(chance, &plan)
	return plan
}

// pays decides how a purchase is paid, and what trouble the provider makes.
func (c chaosConfig) pays(chance *rand.Rand, plan *chaosPlan) {
	if at := chance.Float64() * 100; at < c.Timeouts+c.Late+c.Contradicted {
		switch {
		case at < c.Timeouts:
			plan.trouble, plan.token = chaosTimeout, oneOf(chance, sandbox.TokenTimeoutApprove, sandbox.TokenTimeoutDecline, sandbox.TokenUnknownThenApprove,
				sandbox.TokenUnknownThenDecline, sandbox.TokenErrorApprove, sandbox.TokenLostOnce, sandbox.TokenCaptureTimeout)
		case at < c.Timeouts+c.Late:
			// After the window, and then within the grace or after that.
			late := fmt.Sprintf("%s%ds", sandbox.TokenLateApproveAfter, c.PaymentSeconds+1+chance.IntN(c.PaymentSeconds+1))
			plan.trouble, plan.token = chaosLate, oneOf(chance, late, sandbox.TokenDeclineThenApprove)
		default:
			plan.trouble, plan.token = chaosContradicted, sandbox.TokenApproveThenDecline
		}
		return
	}
	switch n := chance.IntN(100); {
	case n < 3:
		plan.token = oneOf(chance, sandbox.TokenDecline, sandbox.TokenDeclineInsufficientFunds)
	case n < 5:
		plan.token = sandbox.TokenPendingApproveAfter + "1s"
	case n < 7:
		plan.token, plan.press = sandbox.TokenConfirm, oneOf(chance, pressPay, pressPay, pressDecline)
	case n < 9:
		plan.press = oneOf(chance, pressPay, pressPay, pressDecline, pressLeave)
	case n < 11:
		plan.trouble, plan.token = chaosWebhook, oneOf(chance, sandbox.TokenWebhookTwice, sandbox.TokenWebhookBeforeResponse, sandbox.TokenWebhookNever)
	case n < 13:
		plan.trouble, plan.intent = chaosRefund, oneOf(chance, chaosCancels, chaosCancelsLine)
		plan.token = oneOf(chance, sandbox.TokenRefundFailsOnce, sandbox.TokenRefundPending, sandbox.TokenRefundTimeout, sandbox.TokenRefundError,
			sandbox.TokenRefundLostOnce)
	default:
		plan.token = sandbox.TokenApprove
	}
}

func oneOf[T any](chance *rand.Rand, all ...T) T { return all[chance.IntN(len(all))] }
