package trade

import "github.com/holdfast/holdfast/internal/ids"

// MessageKind is the kind of the public ids of messages.
type MessageKind struct{}

// Prefix of a message's public id.
func (MessageKind) Prefix() string { return "message" }

// MessageID is a message's public id.
type MessageID = ids.ID[MessageKind]
