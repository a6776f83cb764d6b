package db

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/cockroachdb/cockroach-go/v2/crdb"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast/holdfast/internal/fault"
)

// ErrOutcomeUnknown says that the connection was lost, or the server gave no definite answer,
// while a transaction was committing: its effects may or may not stand. A command that gets it
// runs again; its request row or its guarded transitions tell whether it had already happened.
var ErrOutcomeUnknown = errors.New("the database did not say whether the transaction committed")

// ErrContention says that a transaction lost to others more often than its limit allows.
var ErrContention = errors.New("the transaction was restarted too often")

// SQLSTATE codes that Holdfast tells apart.
const (
	codeCheckViolation        = "23514"
	codeUniqueViolation       = "23505"
	codeSerializationFailure  = "40001"
	codeCompletionUnknown     = "40003"
	codeDeadlock              = "40P01"
	codeAdminShutdown         = "57P01"
	codeCrashShutdown         = "57P02"
	codeCannotConnectNow      = "57P03"
	codeTooManyConnections    = "53300"
	classConnectionException  = "08"
	classInsufficientResource = "53"
)

// ViolatedConstraint is the name of the CHECK or UNIQUE constraint that refused a statement, or ""
// when err is something else. Names map to domain errors; see the migrations.
func ViolatedConstraint(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && (pgErr.Code == codeCheckViolation || pgErr.Code == codeUniqueViolation) {
		return pgErr.ConstraintName
	}
	return ""
}

// IsNoRows reports that a query which should return one row returned none.
func IsNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// restartable reports that the transaction certainly did not commit and may be run again.
func restartable(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code == codeSerializationFailure || pgErr.Code == codeDeadlock
	}
	return false
}

// connectionLost reports that the connection, not the statement, failed.
func connectionLost(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch pgErr.Code {
		case codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow:
			return true
		}
		return strings.HasPrefix(pgErr.Code, classConnectionException)
	}
	var netErr net.Error
	var connectErr *pgconn.ConnectError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &connectErr) || errors.As(err, &netErr) ||
		strings.Contains(err.Error(), "conn closed")
}

// ambiguous reports that an error of COMMIT leaves the outcome open.
func ambiguous(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == codeCompletionUnknown {
		return true
	}
	var commitErr *crdb.AmbiguousCommitError
	return errors.As(err, &commitErr) || connectionLost(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Classify turns a failure of the database itself into fault.KindUnavailable, and leaves faults,
// refusals and defects as they are.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	var pgErr *pgconn.PgError
	isPG := errors.As(err, &pgErr)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.Unavailable(err, "the request was given up before the database answered")
	case errors.Is(err, ErrContention):
		return fault.Unavailable(err, "too many requests want the same units at this moment; try again")
	case errors.Is(err, ErrOutcomeUnknown), connectionLost(err):
		return unavailable(err)
	case isPG && strings.HasPrefix(pgErr.Code, classInsufficientResource):
		return unavailable(err)
	}
	return err
}

func unavailable(err error) error {
	return fault.Unavailable(err, "the database is not available at this moment; try again")
}
