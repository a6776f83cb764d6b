package graph

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
)

// The log of something that is down has its cause, and says nothing of one that there is not.
func TestTheLogHasTheCauseIfThereIsOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause error
		want  string
	}{
		{errors.New("refused"), " error=refused\n"},
		{nil, " message=\"the database is busy\"\n"},
	} {
		var log bytes.Buffer
		p := &presenter{logger: slog.New(slog.NewTextHandler(&log, nil))}
		if shown := p.present(t.Context(), fault.Unavailable(c.cause, "the database is busy")); shown.Extensions["code"] != codeUnavailable {
			t.Errorf("it is shown as %v", shown)
		}
		if !strings.HasSuffix(log.String(), c.want) || strings.Contains(log.String(), "nil") {
			t.Errorf("it is logged as %q, want %q at the end", log.String(), c.want)
		}
	}
}
