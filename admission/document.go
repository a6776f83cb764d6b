package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
)

// Document is what everybody who waits for a show reads: small, and the same bytes for all, so that
// any cache in between may answer.
type Document struct {
	Body []byte
	// ETag is a name of these bytes.
	ETag string
}

// published is the document's JSON.
type published struct {
	Show          string    `json:"show"`
	State         State     `json:"state"`
	AsOf          time.Time `json:"asOf"`
	OpensAt       time.Time `json:"opensAt"`
	AdmitsFrom    time.Time `json:"admitsFrom"`
	ClosesAt      time.Time `json:"closesAt"`
	RatePerMinute int64     `json:"ratePerMinute"`
	Opening       int64     `json:"opening"`
	// Watermark is the order up to which visitors were called, -1 for none.
	Watermark int64 `json:"watermark"`
	// Waiting is how many visitors joined and were not called.
	Waiting int64 `json:"waiting"`
	// Line is points of the line in order, each an order and how many visitors are called before it is.
	Line [][2]int64 `json:"line"`
}

func documentOf(st *state) Document {
	p := published{
		Show: st.room.Show.String(), State: st.room.State, AsOf: st.clock.shown.UTC(),
		OpensAt: st.room.OpensAt.UTC(), AdmitsFrom: st.room.AdmitsFrom().UTC(), ClosesAt: st.room.ClosesAt.UTC(),
		RatePerMinute: st.room.RatePerMinute, Opening: st.room.Opening, Watermark: st.room.Watermark, Line: [][2]int64{},
	}
	now, ahead := st.room.orderAt(st.clock.shown), 0.0
	step := (len(st.sums) + maxLine - 1) / maxLine
	for i, s := range st.sums {
		_, end := st.line.span(s.bucket)
		if end <= st.room.Watermark+1 {
			continue
		}
		ahead += st.line.part(s, st.room.Watermark+1, end, now)
		if (i+1)%step == 0 || i == len(st.sums)-1 {
			p.Line = append(p.Line, [2]int64{end, int64(ahead)})
		}
	}
	p.Waiting = int64(ahead)
	body, err := json.Marshal(p)
	if err != nil {
		// Numbers, times and short texts can be written as JSON.
		body = []byte("{}")
	}
	sum := sha256.Sum256(body)
	return Document{Body: body, ETag: `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// Document is what is published at an address. Addresses are signed: of one that was made up, nothing
// is looked for. It asks for no permission, because it says nothing that is not for everybody.
func (s *Service) Document(ctx context.Context, address string) (Document, error) {
	body, ok, err := s.unseal(ctx, purposeAddress, address)
	if err != nil {
		return Document{}, err
	}
	p, rest, good := decodePlace(body)
	if !ok || !good || len(rest) > 0 {
		return Document{}, fault.NotFound("waiting room")
	}
	st, err := s.look(ctx, s.crowdOf(p))
	if err != nil {
		return Document{}, err
	}
	s.metrics.polls.Inc()
	return st.document, nil
}

// address is where a room's document is published.
func (s *Service) address(ctx context.Context, p place) (string, error) {
	key, err := s.keys.signer(ctx)
	if err != nil {
		return "", err
	}
	return seal(key, purposeAddress, p.encode()), nil
}

// unseal is the body of a token that this installation signed for this purpose.
func (s *Service) unseal(ctx context.Context, use purpose, token string) ([]byte, bool, error) {
	signed, id, ok := keyNumber(token)
	if !ok {
		return nil, false, nil
	}
	key, known, err := s.keys.byID(ctx, id)
	if err != nil || !known {
		return nil, false, err
	}
	body, ok := unseal(key, use, signed)
	return body, ok, nil
}
