package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast/holdfast/internal/fault"
)

// ErrOutcomeUnknown says that the connection was lost, or the server gave no definite answer,
// while a transaction was committing: its effects may or may not stand. A command that gets it
// runs again; its request row or its guarded transitions tell whether it had already happened.
var ErrOutcomeUnknown = errors.New("the database did not say whether the transaction committed")

// ErrContention says that a transaction lost to others more often, or for longer, than its limit
// allows.
var ErrContention = errors.New("the transaction was restarted too often")

// SQLSTATE codes and classes that Holdfast tells apart.
const (
	codeCheckViolation       = "23514"
	codeForeignKeyViolation  = "23503"
	codeUniqueViolation      = "23505"
	codeSerializationFailure = "40001"
	codeCompletionUnknown    = "40003"
	codeDeadlock             = "40P01"
	codeLockNotAvailable     = "55P03"
	codeQueryCanceled        = "57014"
	codeAdminShutdown        = "57P01"
	codeCrashShutdown        = "57P02"
	codeCannotConnectNow     = "57P03"
	codeUndefinedDatabase    = "3D000"
	codeUndefinedSchema      = "3F000"
	codeUndefinedTable       = "42P01"
	codeUndefinedColumn      = "42703"
	codeUndefinedObject      = "42704"

	classConnectionException  = "08"
	classConstraintViolation  = "23"
	classInvalidTransaction   = "25"
	classTransactionRollback  = "40"
	classInsufficientResource = "53"
	classSystemError          = "58"
)

// ViolatedConstraint is the name of the CHECK, UNIQUE or FOREIGN KEY constraint that refused a
// statement, or "" when err is something else. Names map to domain errors; see the migrations.
func ViolatedConstraint(err error) string {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return ""
	}
	switch pgErr.Code {
	case codeCheckViolation, codeUniqueViolation, codeForeignKeyViolation:
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

// connectionLost reports that the connection, not the statement, failed, or that there was none.
func connectionLost(err error) bool {
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		return true
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch pgErr.Code {
		case codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow:
			return true
		}
		// The server closes the connection after a FATAL error, whatever its code.
		return pgErr.Severity == "FATAL" || pgErr.SeverityUnlocalized == "FATAL" || inClass(pgErr, classConnectionException)
	}
	if gaveUp(err) {
		return false
	}
	var netErr net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &netErr)
}

// gaveUp reports that the caller or a limit ended the wait.
func gaveUp(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// committedPerhaps reports that an error of COMMIT, or of the RELEASE that commits on CockroachDB,
// leaves the outcome open: it is neither a refusal of the server that means rollback, nor an error
// from before anything was sent.
func committedPerhaps(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code == codeCompletionUnknown ||
			!inClass(pgErr, classConstraintViolation, classInvalidTransaction, classTransactionRollback)
	}
	return !errors.Is(err, pgx.ErrTxCommitRollback) && !pgconn.SafeToRetry(err)
}

// outcomeOf marks an error of a statement by which the server says that it does not know.
func outcomeOf(err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == codeCompletionUnknown {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

func inClass(err *pgconn.PgError, classes ...string) bool {
	for _, class := range classes {
		if strings.HasPrefix(err.Code, class) {
			return true
		}
	}
	return false
}

// Classify turns a failure of the database itself into fault.KindUnavailable, and leaves faults,
// refusals and defects as they are. The cause stays in the chain: errors.Is still finds
// ErrContention and ErrOutcomeUnknown.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	switch {
	case errors.Is(err, ErrContention), restartable(err):
		return fault.Unavailable(err, "too many requests want the same thing at this moment; try again")
	case errors.Is(err, ErrOutcomeUnknown), connectionLost(err):
		return unavailable(err)
	case errors.Is(err, context.Canceled):
		return fault.Unavailable(err, "the request was given up before the database answered")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Unavailable(err, "the database did not answer in time; try again")
	}
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return err
	}
	switch pgErr.Code {
	case codeCompletionUnknown, codeLockNotAvailable, codeQueryCanceled:
		return unavailable(err)
	}
	if inClass(pgErr, classInsufficientResource, classSystemError) {
		return unavailable(err)
	}
	return err
}

func unavailable(err error) error {
	return fault.Unavailable(err, "the database is not available at this moment; try again")
}
