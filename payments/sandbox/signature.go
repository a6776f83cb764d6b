package sandbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast/holdfast/payments"
)

// SignatureHeader carries the time and the signatures of a webhook:
// "t=<Unix seconds>,v1=<hex HMAC-SHA256>", with one v1 for each secret in use.
const SignatureHeader = "Sandbox-Signature"

const (
	// signatureTolerance is how far a webhook's time may be from ours, either way.
	signatureTolerance = 5 * time.Minute
	// maxSecrets bounds the secrets in use at once, and so the signatures on a webhook.
	maxSecrets = 4
	// maxSignatureLength bounds the header, in bytes; four signatures take about 300.
	maxSignatureLength = 1024
)

// sign makes the value of the header for a body as it goes over the wire.
func sign(secrets []string, at time.Time, body []byte) string {
	var header strings.Builder
	timestamp := strconv.FormatInt(at.Unix(), 10)
	header.WriteString("t=" + timestamp)
	for _, secret := range secrets {
		header.WriteString(",v1=" + hex.EncodeToString(mac(secret, timestamp, body)))
	}
	return header.String()
}

// verify accepts a body that is signed with one of the secrets at about the given time. The
// signature is judged first, so that a stale message is known to be a real one.
func verify(secrets []string, header string, body []byte, now time.Time) error {
	timestamp, signatures, err := readSignature(header)
	if err != nil {
		return err
	}
	if !signedByOneOf(secrets, timestamp, signatures, body) {
		return payments.ErrBadSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: the time is not a number", payments.ErrBadSignature)
	}
	signed := time.Unix(seconds, 0).UTC()
	if age := now.Sub(signed); age > signatureTolerance || age < -signatureTolerance {
		return fmt.Errorf("%w: signed at %s, tolerated are %s", payments.ErrStaleSignature, signed.Format(time.RFC3339), signatureTolerance)
	}
	return nil
}

// readSignature takes the header apart. Parts of other versions are skipped, so that a better
// signature can be added beside v1.
func readSignature(header string) (timestamp string, signatures [][]byte, err error) {
	if header == "" || len(header) > maxSignatureLength {
		return "", nil, fmt.Errorf("%w: the header %s is missing or too long", payments.ErrBadSignature, SignatureHeader)
	}
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "t":
			if timestamp != "" {
				return "", nil, fmt.Errorf("%w: the header has two times", payments.ErrBadSignature)
			}
			timestamp = value
		case "v1":
			signature, err := hex.DecodeString(value)
			if err != nil || len(signature) != sha256.Size {
				return "", nil, fmt.Errorf("%w: a signature is not %d bytes in hex", payments.ErrBadSignature, sha256.Size)
			}
			signatures = append(signatures, signature)
		}
	}
	if timestamp == "" || len(signatures) == 0 || len(signatures) > maxSecrets {
		return "", nil, fmt.Errorf("%w: the header needs a time and 1 to %d signatures", payments.ErrBadSignature, maxSecrets)
	}
	return timestamp, signatures, nil
}

func signedByOneOf(secrets []string, timestamp string, signatures [][]byte, body []byte) bool {
	for _, secret := range secrets {
		want := mac(secret, timestamp, body)
		for _, got := range signatures {
			if hmac.Equal(want, got) {
				return true
			}
		}
	}
	return false
}

func mac(secret, timestamp string, body []byte) []byte {
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(timestamp))
	sum.Write([]byte{'.'})
	sum.Write(body)
	return sum.Sum(nil)
}
