package stripe

import (
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// The names of the metadata on PaymentIntents, Checkout Sessions and refunds.
const (
	metadataKey     = "holdfast_key"
	metadataTenant  = "holdfast_tenant"
	metadataAttempt = "holdfast_attempt"
	metadataReason  = "holdfast_reason"
	// metadataHosted is on the PaymentIntents of Checkout Sessions: their state is the session's.
	metadataHosted = "holdfast_hosted"
)

// toMetadata is what is attached to an object, so that it and its events can be told from others.
func toMetadata(key string, reference payments.Reference) map[string]string {
	metadata := map[string]string{metadataKey: key}
	if !reference.TenantID.IsZero() {
		metadata[metadataTenant] = reference.TenantID.String()
	}
	if reference.AttemptID != "" {
		metadata[metadataAttempt] = reference.AttemptID
	}
	return metadata
}

// fromMetadata is the zero Reference unless the whole of it is one of ours.
func fromMetadata(metadata map[string]string) payments.Reference {
	tenant, err := ids.ParseGlobal[tenants.TenantKind](metadata[metadataTenant])
	if err != nil || metadata[metadataAttempt] == "" {
		return payments.Reference{}
	}
	return payments.Reference{TenantID: tenant, AttemptID: metadata[metadataAttempt]}
}
