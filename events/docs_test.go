package events_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast/holdfast/events"
)

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDocumentListsEveryType(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	want.WriteString("| type | about | what it says |\n|---|---|---|\n")
	for _, meaning := range events.Meanings() {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", meaning.Type, meaning.Kind, meaning.Text)
	}
	if text := document(t); !strings.Contains(text, "\n"+want.String()+"\n") {
		t.Errorf("docs/webhooks.md has to have the table\n%s", want.String())
	}
}

// The document's receiver is code that compiles and is tested.
func TestTheDocumentShowsTheExample(t *testing.T) {
	t.Parallel()
	found := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(document(t), -1)
	if len(found) != 1 {
		t.Fatalf("%d blocks of Go in docs/webhooks.md", len(found))
	}
	code, err := os.ReadFile("receiver_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(code), found[0][1]) {
		t.Error("the receiver of docs/webhooks.md is not the one of events/receiver_test.go")
	}
}

func TestTheDocumentKnowsTheLimits(t *testing.T) {
	t.Parallel()
	text := document(t)
	for _, want := range []string{
		fmt.Sprintf("up to %d events of up to %d days", events.MaxReplayed, int(events.MaxReplaySpan.Hours()/24)),
		fmt.Sprintf("for %d hours each message carries two signatures", int(events.SecretOverlap.Hours())),
		"After three days the delivery is `FAILED`", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/webhooks.md does not say %q", want)
		}
	}
	if events.RetryFor.Hours() != 72 {
		t.Errorf("deliveries are tried for %s", events.RetryFor)
	}
}
