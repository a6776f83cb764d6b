package sandbox

import (
	"context"
	"errors"

	"github.com/holdfast/holdfast/payments"
)

// Capture implements payments.Gateway.
func (g *Gateway) Capture(context.Context, string, string) (payments.Outcome, error) {
	return payments.Outcome{}, errors.New("sandbox: not there yet")
}

// Cancel implements payments.Gateway.
func (g *Gateway) Cancel(context.Context, string, string) (payments.Outcome, error) {
	return payments.Outcome{}, errors.New("sandbox: not there yet")
}

// Fingerprint implements payments.Gateway.
func (g *Gateway) Fingerprint(context.Context, string, string) (string, error) { return "", nil }
