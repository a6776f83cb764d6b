package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/tenants"
)

// read gives the charges of a file, and what is wrong with it.
func readFile(t *testing.T, content, account string) ([]bookings.FileCharge, []string) {
	t.Helper()
	bad := problems{file: "charges.csv"}
	rows, err := readCharges(strings.NewReader(content), account, &bad)
	if err != nil {
		t.Fatal(err)
	}
	var charges []bookings.FileCharge
	for charge, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		charges = append(charges, charge)
	}
	return charges, bad.lines
}

// One row that a database cannot store is one bad row, and not the end of the reconciliation.
func TestIdsOfChargesAreText(t *testing.T) {
	t.Parallel()
	content := "id,account,key,status,capturedMinor,refundedMinor,currency,tenant,attempt,createdAt\n" +
		"ch_\x00,acct_1,,approved,100,0,EUR,,,2026-11-30T10:00:00Z\n" +
		"ch_\xe9,acct_1,,approved,100,0,EUR,,,2026-11-30T10:00:00Z\n" +
		"ch_3,acct_\xff,,approved,100,0,EUR,,,2026-11-30T10:00:00Z\n" +
		"ch_4,acct_1,,approved,100,0,EUR,,,2026-11-30T10:00:00Z\n"
	charges, bad := readFile(t, content, "")
	if len(charges) != 1 || charges[0].ID != "ch_4" || len(bad) != 3 {
		t.Fatalf("read %d charges, bad %q", len(charges), bad)
	}
	for i, column := range []string{"id", "id", "account"} {
		if want := fmt.Sprintf("charges.csv: line %d, column %s: expected UTF-8 without control characters", i+2, column); bad[i] != want {
			t.Errorf("%q, want %q", bad[i], want)
		}
	}
}

func TestStripesExportIsRead(t *testing.T) {
	t.Parallel()
	tenant, attempt := ids.NewGlobal[tenants.TenantKind](), ids.New[payments.AttemptKind]("eu")
	content := "\uFEFFid,Created date (UTC),Amount,Amount Refunded,Currency,Status,Captured,PaymentIntent ID,Customer,holdfast_tenant (metadata),holdfast_attempt (metadata)\n" +
		fmt.Sprintf("ch_1,2026-11-30 10:00:01,\"1,250.00\",0.00,eur,Paid,true,pi_1,\"a, b\",%s,%s\n", tenant, attempt) +
		"ch_2,2026-11-30 10:00,500,0,jpy,Failed,false,pi_2,,,\n" +
		fmt.Sprintf("ch_3,2026-11-30 10:00:03,1.234,1.000,kwd,Refunded,true,pi_3,,%s,%s\n", tenant, attempt) +
		"ch_4,2026-11-30 10:00:04,9.00,0.00,eur,requires_capture,false,pi_4,,,\n"
	charges, bad := readFile(t, content, "acct_1")
	if len(bad) != 0 || len(charges) != 4 {
		t.Fatalf("read %d charges, bad %q", len(charges), bad)
	}
	first := charges[0]
	if first.ID != "ch_1" || first.OtherID != "pi_1" || first.Account != "acct_1" || first.Captured != (money.Amount{Minor: 125_000, Currency: "EUR"}) ||
		first.Reference != (payments.Reference{TenantID: tenant, AttemptID: attempt.String()}) || first.State != payments.OutcomeStateApproved || first.Line != 2 ||
		!first.CreatedAt.Equal(time.Date(2026, 11, 30, 10, 0, 1, 0, time.UTC)) || !first.Is("pi_1") || first.Is("pi_2") {
		t.Errorf("the first is %+v", first)
	}
	for i, want := range []payments.OutcomeState{payments.OutcomeStateApproved, payments.OutcomeStateDeclined, payments.OutcomeStateApproved, payments.OutcomeStateAuthorized} {
		if charges[i].State != want || charges[i].State != payments.OutcomeStateApproved && charges[i].Captured.Minor != 0 {
			t.Errorf("%s is %+v", charges[i].ID, charges[i])
		}
	}
	if third := charges[2]; third.Captured.Minor != 1234 || third.Refunded.Minor != 1000 {
		t.Errorf("the third is %+v", third)
	}
}

const sandboxHeader = "id,account,key,status,amountMinor,capturedMinor,refundedMinor,currency,tenant,attempt,createdAt\n"

// Each row that cannot be read is named by its line and column, and the others are read.
func TestBadRowsAreNamedByLineAndColumn(t *testing.T) {
	t.Parallel()
	good := "ch_1,acct_1,k,approved,5,5,0,EUR,,,2026-11-30T10:00:00Z\n"
	for column, row := range map[string]string{
		"id":            ",acct_1,k,approved,5,5,0,EUR,,,2026-11-30T10:00:00Z",
		"account":       "ch_2,,k,approved,5,5,0,EUR,,,2026-11-30T10:00:00Z",
		"status":        "ch_2,acct_1,k,perhaps,5,5,0,EUR,,,2026-11-30T10:00:00Z",
		"capturedMinor": "ch_2,acct_1,k,approved,5,5.5,0,EUR,,,2026-11-30T10:00:00Z",
		"refundedMinor": "ch_2,acct_1,k,approved,5,5,-1,EUR,,,2026-11-30T10:00:00Z",
		"currency":      "ch_2,acct_1,k,approved,5,5,0,XXQ,,,2026-11-30T10:00:00Z",
		"tenant":        "ch_2,acct_1,k,approved,5,5,0,EUR,tenant_nope,,2026-11-30T10:00:00Z",
		"createdAt":     "ch_2,acct_1,k,approved,5,5,0,EUR,,,yesterday",
	} {
		charges, bad := readFile(t, sandboxHeader+good+row+"\n"+good, "")
		if len(charges) != 2 || len(bad) != 1 || !strings.HasPrefix(bad[0], "charges.csv: line 3, column "+column+": expected ") {
			t.Errorf("%s: read %d charges, bad %q", column, len(charges), bad)
		}
	}
	charges, bad := readFile(t, sandboxHeader+good+"too,few\n"+good, "")
	if len(charges) != 2 || len(bad) != 1 || !strings.HasPrefix(bad[0], "charges.csv: line 3: ") {
		t.Errorf("too few cells: read %d charges, bad %q", len(charges), bad)
	}
}

func TestFilesThatAreNotOfCharges(t *testing.T) {
	t.Parallel()
	for content, words := range map[string]string{
		"":                            "the file is empty",
		"a,b\n":                       "expected Stripe's export of payments, or the columns",
		"id,Amount,Currency,Status\n": `expected the column "Created date (UTC)"`,
		"id,Amount,Currency,Status,Created (UTC)\n":       "export the payments with their metadata",
		strings.TrimSuffix(sandboxHeader, "\n") + ",id\n": `the column "id" is there twice`,
	} {
		_, err := readCharges(strings.NewReader(content), "acct_1", &problems{file: "charges.csv"})
		wantError(t, err, words)
	}
	_, err := readCharges(strings.NewReader("id,Amount,Currency,Status,Created (UTC),holdfast_tenant (metadata),holdfast_attempt (metadata)\n"), "", &problems{file: "f"})
	wantError(t, err, "--account")
	// A quote that is never closed does not fill the memory.
	endless := io.MultiReader(strings.NewReader(sandboxHeader+`"`), endlessly{})
	rows, err := readCharges(endless, "", &problems{file: "f"})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range rows {
		wantError(t, err, "a quote in it is not closed")
		break
	}
}

// endlessly is a file without an end.
type endlessly struct{}

func (endlessly) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = 'x'
	}
	return len(into), nil
}

func TestFlagsOfReconcile(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	input, err := (&reconcileCommand{Since: "24h", Until: "2026-11-30T11:00:00Z"}).input(now)
	if err != nil || !input.Since.Equal(now.Add(-24*time.Hour)) || !input.Until.Equal(now.Add(-time.Hour)) {
		t.Errorf("it reads %+v, %v", input, err)
	}
	if input, err = (&reconcileCommand{Since: "7d"}).input(now); err != nil || !input.Since.Equal(now.AddDate(0, 0, -7)) {
		t.Errorf("it reads %+v, %v", input, err)
	}
	for words, c := range map[string]reconcileCommand{
		"--since: expected a time":  {Since: "yesterday"},
		"--since: expected a":       {Since: "-3h"},
		"or 7d, got \"-7d\"":        {Since: "-7d"},
		"or 7d, got \"36501d\"":     {Since: "36501d"},
		"--until: expected a time ": {Since: "1h", Until: "2h"},
		"--tenant":                  {Since: "1h", Tenant: "nobody"},
		"--provider: say whose":     {Since: "1h", CSV: "f.csv"},
		"--account: it is about":    {Since: "1h", Account: "acct_1"},
	} {
		_, err := c.input(now)
		wantError(t, err, words)
	}
}

// Good, foreign and bad rows in one file: the report names what is left for a person, and says so.
func TestReconcileSaysWhatIsLeftForAPerson(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	owner := newOwner(t, a)
	stdin := sandboxHeader +
		fmt.Sprintf("ch_1,%s,k,approved,5,5,0,EUR,,,%s\n", owner.Tenant, time.Now().UTC().Format(time.RFC3339)) +
		fmt.Sprintf("ch_2,%s,k,declined,5,0,0,EUR,,,%s\n", owner.Tenant, time.Now().UTC().Format(time.RFC3339)) +
		"broken\n"
	c := reconcileCommand{Since: "1h", Tenant: owner.Tenant.String(), Provider: "sandbox", CSV: "-", DryRun: true}
	output, err := c.reconcile(t.Context(), a, strings.NewReader(stdin), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if output.OK || output.Charges != 2 || output.Disputed != 1 || len(output.BadRows) != 1 {
		t.Errorf("it says %+v", output)
	}
	var printed strings.Builder
	printReconcile(&printed, output)
	for _, words := range []string{"0 open payments, 0 open refunds and 2 charges", "would be repaired", "FOREIGN (line 2)", "charge ch_1", "provider says 0.05 EUR", "-: line 4: ", "Asked: nobody", "Left for a person: 1 difference, 1 bad row, 0 providers not asked."} {
		if !strings.Contains(printed.String(), words) {
			t.Errorf("it does not print %q:\n%s", words, printed.String())
		}
	}
	c.CSV, c.Provider = "", ""
	if output, err = c.reconcile(t.Context(), a, nil, io.Discard); err != nil || !output.OK {
		t.Errorf("with nothing to do: %+v, %v", output, err)
	}
}

// Payments of a provider that is not configured here are not passed over in silence.
func TestReconcileSaysWhomItDidNotAsk(t *testing.T) {
	t.Parallel()
	a := newTestApp(t)
	owner := newOwner(t, a)
	if _, err := a.tenants.CreateVenue(t.Context(), owner, rand.Text(), tenants.NewVenue{
		Region: "eu", Site: tenants.Site{Name: "Hall", TimeZone: "Europe/Vienna", Currency: "EUR", Country: "AT", City: "Vienna"},
	}); err != nil {
		t.Fatal(err)
	}
	const payment = `INSERT INTO holds (tenant_id, region, id, channel_id, buyer_kind, buyer_id, state, placed_at, deadline, lease_deadline, claimable_at, ended_at,
			max_extensions, hold_seconds, max_hold_seconds, processing_seconds, grace_seconds, late_payment, on_decline, max_per_instrument, total_minor, currency)
		VALUES ($1, 'eu', $2, $2, 'GUEST', $2, 'RELEASED', now(), now(), now(), now(), now(), 1, 300, 900, 120, 120, 'HONOUR', 'RELEASE', 5, 100, 'EUR')`
	if _, err := a.store.db.Pool().Exec(t.Context(), payment, owner.Tenant.UUID, owner.Key.UUID); err != nil {
		t.Fatal(err)
	}
	const attempt = `INSERT INTO payment_attempts (tenant_id, region, id, hold_id, provider, account, method_token, amount_minor, currency, state, created_at)
		VALUES ($1, 'eu', $2, $2, 'stripe', 'acct_1', 'pm_1', 100, 'EUR', 'UNKNOWN', now())`
	if _, err := a.store.db.Pool().Exec(t.Context(), attempt, owner.Tenant.UUID, owner.Key.UUID); err != nil {
		t.Fatal(err)
	}
	c := reconcileCommand{Since: "1h", Tenant: owner.Tenant.String(), DryRun: true}
	output, err := c.reconcile(t.Context(), a, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if output.OK || len(output.NotAsked) != 1 || output.NotAsked[0] != (bookings.ProviderNotAsked{Provider: "stripe", Payments: 1, Open: 1}) {
		t.Errorf("it says %+v", output)
	}
	var printed strings.Builder
	printReconcile(&printed, output)
	if words := `not asked: 1 payment of "stripe", 1 of them open`; !strings.Contains(printed.String(), words) {
		t.Errorf("it does not print %q:\n%s", words, printed.String())
	}
}
