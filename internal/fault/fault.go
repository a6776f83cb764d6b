// Package fault names the few kinds of failure that Holdfast tells apart, so that they are mapped
// to the API once and compared with errors.As, never by text.
//
// A fault is the caller's or the system's; an expected refusal of a sale (sold out, too late) is
// not a fault but data, see inventory.Refusal.
package fault

import (
	"errors"
	"fmt"
)

// Kind says what went wrong, and thereby who can mend it.
type Kind int

// The kinds of fault.
const (
	// KindInternal is a defect of Holdfast. It is the zero value, so that an error nobody
	// classified is never shown to a caller.
	KindInternal Kind = iota
	// KindInvalid is a malformed request; Field names the part, the message what was expected.
	KindInvalid
	// KindUnauthenticated is a missing, unknown, expired or revoked credential.
	KindUnauthenticated
	// KindDenied is a known caller without the permission.
	KindDenied
	// KindNotFound is an id that does not exist or is not the caller's: both answer the same.
	KindNotFound
	// KindConflict is a change that contradicts the present state of the thing.
	KindConflict
	// KindExhausted is a limit that the caller has used up.
	KindExhausted
	// KindUnavailable is a dependency that is down; the same call may succeed later.
	KindUnavailable
)

// String is the name used in logs.
func (k Kind) String() string {
	switch k {
	case KindInvalid:
		return "invalid"
	case KindUnauthenticated:
		return "unauthenticated"
	case KindDenied:
		return "denied"
	case KindNotFound:
		return "not_found"
	case KindConflict:
		return "conflict"
	case KindExhausted:
		return "exhausted"
	case KindUnavailable:
		return "unavailable"
	case KindInternal:
		return "internal"
	}
	return "internal"
}

// Error is a classified fault. Message and Field are safe to show to the caller; the cause is for
// the log only.
type Error struct {
	Kind    Kind
	Field   string
	Message string
	cause   error
}

// Error is the caller's message, with the field where there is one.
func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// Invalid is a malformed input; field is its path in the request, such as "lines[0].checkOut".
func Invalid(field, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// NotFound says that the named sort of thing does not exist for this caller. The message never
// repeats the id, so that a foreign and a random id answer alike.
func NotFound(what string) *Error {
	return &Error{Kind: KindNotFound, Message: "no such " + what}
}

// Denied says that the caller may not do this.
func Denied(format string, args ...any) *Error {
	return &Error{Kind: KindDenied, Message: fmt.Sprintf(format, args...)}
}

// Unauthenticated says that the caller is not known.
func Unauthenticated(format string, args ...any) *Error {
	return &Error{Kind: KindUnauthenticated, Message: fmt.Sprintf(format, args...)}
}

// Conflict says that the thing's present state does not allow this.
func Conflict(format string, args ...any) *Error {
	return &Error{Kind: KindConflict, Message: fmt.Sprintf(format, args...)}
}

// Unavailable says that something Holdfast needs is down; cause goes to the log.
func Unavailable(cause error, format string, args ...any) *Error {
	return &Error{Kind: KindUnavailable, Message: fmt.Sprintf(format, args...), cause: cause}
}

// KindOf classifies any error; what is not a fault is internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}

// InField moves an invalid input's field under a parent path; other errors pass unchanged.
func InField(parent string, err error) error {
	var e *Error
	if err == nil || !errors.As(err, &e) || e.Kind != KindInvalid {
		return err
	}
	moved := *e
	switch {
	case e.Field == "":
		moved.Field = parent
	case parent != "":
		moved.Field = parent + "." + e.Field
	}
	return &moved
}
