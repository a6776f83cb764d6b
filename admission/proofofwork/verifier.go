// Package proofofwork is a verifier of waiting rooms that asks each visitor for a second of work
// before joining. One visitor does not notice; somebody who wants a thousand places pays for each. It
// needs no service, no cookie and nothing about the person.
package proofofwork

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/holdfast/holdfast/admission"
)

// Name is what rooms call this verifier by.
const Name = "proof-of-work"

// DefaultBits is about a second of work in a browser.
const DefaultBits = 18

// maxBits bounds the work that a configuration can ask for; each bit doubles it.
const maxBits = 28

// maxAnswer bounds the length of a proof.
const maxAnswer = 32

// Verifier asks for an answer whose SHA-256, together with the challenge, begins with so many zero
// bits.
type Verifier struct{ bits int }

// New asks for that many zero bits, 1 to 28.
func New(zeroBits int) (*Verifier, error) {
	if zeroBits < 1 || zeroBits > maxBits {
		return nil, fmt.Errorf("the work of a waiting room: expected 1 to %d bits, got %d", maxBits, zeroBits)
	}
	return &Verifier{bits: zeroBits}, nil
}

// Name is Name.
func (*Verifier) Name() string { return Name }

// Asks for the work before a place is given: each place costs it.
func (*Verifier) Asks(moment admission.Moment) bool { return moment == admission.MomentJoin }

// Challenge is the number of zero bits, a colon, and what is to be hashed before a colon and the
// answer. It is of one visitor and one opening of a room, so that no work can be used twice.
func (v *Verifier) Challenge(visit admission.Visit) string {
	return strconv.Itoa(v.bits) + ":" + visit.Show.String() + ":" + strconv.FormatInt(visit.Opening, 10) + ":" +
		strconv.FormatInt(visit.OpensAt.UnixMilli(), 10) + ":" + visit.Subject
}

// Verify judges an answer.
func (v *Verifier) Verify(_ context.Context, visit admission.Visit, proof string) error {
	if proof == "" || len(proof) > maxAnswer || zeroBits(v.Challenge(visit), proof) < v.bits {
		return admission.ErrProof
	}
	return nil
}

// Solve finds an answer to a challenge, as a client does.
func Solve(ctx context.Context, challenge string) (string, error) {
	wanted := 0
	for i, r := range challenge {
		if r == ':' {
			n, err := strconv.Atoi(challenge[:i])
			if err != nil {
				return "", fmt.Errorf("the challenge does not begin with a number: %w", err)
			}
			wanted = n
			break
		}
	}
	if wanted < 1 || wanted > maxBits {
		return "", fmt.Errorf("the challenge asks for %d bits, expected 1 to %d", wanted, maxBits)
	}
	const look = 1 << 12
	for n := uint64(0); ; n++ {
		if n%look == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		answer := strconv.FormatUint(n, 36)
		if zeroBits(challenge, answer) >= wanted {
			return answer, nil
		}
	}
}

// zeroBits is how many bits the hash begins with that are zero.
func zeroBits(challenge, answer string) int {
	n := 0
	for _, b := range sha256.Sum256([]byte(challenge + ":" + answer)) {
		n += bits.LeadingZeros8(b)
		if b != 0 {
			break
		}
	}
	return n
}
