package bookings_test

import (
	"bytes"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/bookings/bookingstest"
	"github.com/holdfast/holdfast/inventory/inventorytest"
	"github.com/holdfast/holdfast/payments/sandbox"
)

// logbook collects what is logged, at every level.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// No card data, no secret of the provider and no secret of its webhooks is stored or logged, whatever
// happens to a sale, and although a careless shop sends a card's number.
func TestNoCardDataIsStoredOrLogged(t *testing.T) {
	t.Parallel()
	const (
		cardNumber    = "4242424242424242"
		hyphenated    = "4000-0566-5566-5556"
		secretKey     = "sk_sandbox_never_to_be_seen"
		webhookSecret = "whsec_never_to_be_seen"
	)
	log := &logbook{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
	b := open(t, impatient, ownDatabase(t), webhooks, func(s *bookingstest.Setup) {
		s.Sales.Logger, s.Provider.Logger = logger, logger
		s.Provider.SecretKey, s.Provider.WebhookSecrets = secretKey, []string{webhookSecret}
	})
	for _, capture := range []bool{false, true} {
		if capture {
			b.terms(manual())
		}
		for i, token := range []string{
			sandbox.TokenApprove, sandbox.TokenDecline, sandbox.TokenTimeoutApprove, sandbox.TokenErrorApprove, sandbox.TokenWrongAmount,
			sandbox.TokenWrongAccount, sandbox.TokenRefundFailsOnce, sandbox.TokenDisputeLost, "tok_no_such_thing",
		} {
			guest := b.Guest()
			hold := guest.Hold(b.hall.Seats(i + 1))
			for _, number := range []string{cardNumber, hyphenated} {
				_, err := b.TryPay(guest, hold, number)
				expect(t, "a card's number", b.Explain(err), "invalid: paymentMethod.token: expected the provider's token of a payment method; a card number must never be sent here")
			}
			b.Pay(guest, hold, token)
			b.Reconcile()
			if booking := b.BookingOf(hold); booking != nil {
				if _, err := b.Sales.CancelBooking(t.Context(), b.Owner, bookings.Cancel{RequestKey: inventorytest.Key(), Booking: booking.ID}); err != nil {
					t.Fatal(err)
				}
			}
			b.Reconcile()
		}
		b.Exec("UPDATE payment_attempts SET state = 'DECLINED', settled_at = now(), next_check_at = NULL WHERE tenant_id = $1 AND settled_at IS NULL")
		b.hall = b.Hall(10)
	}
	body := []byte(`{"id":"evt_forged","type":"charge.succeeded","card":"` + cardNumber + `"}`)
	if err := b.Sales.HandleWebhook(t.Context(), b.ProviderName, signature("whsec_wrong", b.Now(), body), body); err == nil {
		t.Error("a forged message was taken")
	}
	b.Restart(bookings.Config{Logger: logger})

	hidden := []string{cardNumber, hyphenated, strings.ReplaceAll(hyphenated, "-", ""), secretKey, webhookSecret}
	for _, secret := range hidden {
		hidden = append(hidden, hex.EncodeToString([]byte(secret))) // As bytes are shown.
	}
	logged := log.String()
	if len(logged) < 1000 {
		t.Errorf("only %d bytes were logged: the search has lost its way", len(logged))
	}
	stored, columns := b.everyText(t)
	if columns < 50 || len(stored) < 10_000 {
		t.Errorf("only %d bytes in %d columns are stored: the search has lost its way", len(stored), columns)
	}
	for _, secret := range hidden {
		if at := strings.Index(logged, secret); at >= 0 {
			t.Errorf("logged: %s", logged[max(0, at-200):min(len(logged), at+50)])
		}
		if at := strings.Index(stored, secret); at >= 0 {
			t.Errorf("stored: %s", stored[max(0, at-200):min(len(stored), at+50)])
		}
	}
	// What is looked for would be found: the tokens are stored.
	if !strings.Contains(stored, sandbox.TokenWrongAccount) {
		t.Error("not even a token was found")
	}
}

// everyText is the content of every column of every table that can hold a text.
func (b box) everyText(t *testing.T) (content string, columns int) {
	t.Helper()
	rows, err := b.DB.Pool().Query(t.Context(), `
		SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type IN ('text', 'character varying', 'jsonb', 'ARRAY', 'bytea', 'name')`)
	if err != nil {
		t.Fatal(err)
	}
	var places [][2]string
	for rows.Next() {
		var place [2]string
		if err := rows.Scan(&place[0], &place[1]); err != nil {
			t.Fatal(err)
		}
		places = append(places, place)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, place := range places {
		all.WriteString(b.column(t, place[0], place[1]))
	}
	return all.String(), len(places)
}

func (b box) column(t *testing.T, table, column string) string {
	t.Helper()
	statement := `SELECT COALESCE(string_agg("` + column + `"::text, ' '), '') FROM "` + table + `"`
	var text string
	if err := b.DB.Pool().QueryRow(t.Context(), statement).Scan(&text); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return text
}
