package graph_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

const unresolvedQuery = `query($after: String) { unresolvedPayments(region: "eu", first: 1, after: $after) {
	nodes { item reason amount { amountMinor } paymentId } pageInfo { hasNextPage endCursor } } }`

type unresolved struct {
	UnresolvedPayments struct {
		Nodes []struct {
			Item      *string
			Reason    string
			Amount    *struct{ AmountMinor int64 }
			PaymentID *string
		}
		PageInfo struct {
			HasNextPage bool
			EndCursor   *string
		}
	}
}

// An admin sees what waits, decides about it, and follows a sale; nobody else does.
func TestTheOperatorsSideOfPayments(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	own, guest := h.ids()
	h.differ("ch_1", "ch_2")

	var items []string
	var after *string
	for {
		var page unresolved
		h.admin.get(unresolvedQuery, vars{"after": after}, &page)
		for _, node := range page.UnresolvedPayments.Nodes {
			if node.Reason != "CHARGE_FOREIGN" || node.Item == nil || node.Amount == nil || node.Amount.AmountMinor != 700 || node.PaymentID != nil {
				t.Errorf("the item is %+v", node)
				continue
			}
			items = append(items, *node.Item)
		}
		if after = page.UnresolvedPayments.PageInfo.EndCursor; !page.UnresolvedPayments.PageInfo.HasNextPage {
			break
		}
	}
	if len(items) != 2 || items[0] == items[1] {
		t.Fatalf("the queue has %v", items)
	}
	const resolve = `mutation($input: ResolveReviewInput!) { resolveReview(input: $input) { item resolvedBy note } }`
	var decided struct {
		ResolveReview struct{ Item, ResolvedBy, Note string }
	}
	for _, note := range []string{"Sold at the bar.", "Somebody else's view."} {
		h.admin.get(resolve, vars{"input": vars{"item": items[0], "note": note}}, &decided)
		if decided.ResolveReview.Item != items[0] || decided.ResolveReview.Note != "Sold at the bar." || !strings.HasPrefix(decided.ResolveReview.ResolvedBy, "key_") {
			t.Errorf("the decision is %+v", decided.ResolveReview)
		}
	}
	var page unresolved
	h.admin.get(unresolvedQuery, nil, &page)
	if left := page.UnresolvedPayments.Nodes; len(left) != 1 || *left[0].Item != items[1] {
		t.Errorf("the queue still has %+v", left)
	}

	other := newHouse(t, h.server)
	nobodys := base64.RawURLEncoding.EncodeToString([]byte("review eu DIFFERENCE " + base64.RawURLEncoding.EncodeToString([]byte("x"))))
	for item, want := range map[string]string{items[1]: "NOT_FOUND", nobodys: "NOT_FOUND", "nonsense": "BAD_INPUT", "": "BAD_INPUT"} {
		if e := other.admin.refused(resolve, vars{"input": vars{"item": item, "note": "x"}}); e.code() != want {
			t.Errorf("another tenant's decision about %q: %s, want %s", item, e.code(), want)
		}
	}
	other.admin.get(unresolvedQuery, nil, &page)
	if len(page.UnresolvedPayments.Nodes) != 0 {
		t.Errorf("another tenant sees %+v", page.UnresolvedPayments.Nodes)
	}

	var timeline struct {
		PaymentTimeline struct {
			HoldID    string
			BookingID *string
			Steps     []struct{ Kind, Detail string }
		}
	}
	h.admin.get(`query($booking: ID!) { paymentTimeline(booking: $booking) { holdId bookingId steps { kind detail } } }`,
		vars{"booking": own["book"]}, &timeline)
	var kinds []string
	for _, step := range timeline.PaymentTimeline.Steps {
		kinds = append(kinds, step.Kind)
	}
	if got := strings.Join(kinds, " "); !strings.HasPrefix(got, "HOLD_PLACED PAYMENT_CREATED PAYMENT_SUBMITTED PAYMENT_SETTLED HOLD_ENDED BOOKED") || *timeline.PaymentTimeline.BookingID != own["book"] {
		t.Errorf("the timeline is %s of %v", got, timeline.PaymentTimeline.BookingID)
	}
	var report struct {
		Repairs struct {
			Counts []struct {
				Kind  string
				Count int64
			}
			List struct{ Nodes []created }
		}
	}
	today := time.Now().UTC().Format(time.DateOnly)
	const repairs = `query($day: Date!) { repairs(day: $day, region: "eu") { counts { kind count } list { nodes { id } } } }`
	h.admin.get(repairs, vars{"day": today}, &report)
	if len(report.Repairs.Counts) != len(bookings.RepairKinds()) || len(report.Repairs.List.Nodes) != 0 {
		t.Errorf("the repairs are %+v", report.Repairs)
	}

	for who, as := range map[string]client{"partner": h.partner, "page": h.page, "guest": guest} {
		for query, variables := range map[string]vars{
			unresolvedQuery: nil, repairs: {"day": today}, resolve: {"input": vars{"item": items[1], "note": "x"}},
			`query($hold: ID!) { paymentTimeline(hold: $hold) { holdId } }`: {"hold": own["hold"]},
		} {
			if e := as.refused(query, variables); e.code() != "FORBIDDEN" {
				t.Errorf("%s: %s for %.40s", who, e.code(), query)
			}
		}
	}
	for _, query := range []string{`{ paymentTimeline { holdId } }`, `{ unresolvedPayments(region: "eu", after: "x") { nodes { reason } } }`, `{ unresolvedPayments(region: "eu", first: 101) { nodes { reason } } }`} {
		if e := h.admin.refused(query, nil); e.code() != "BAD_INPUT" {
			t.Errorf("%s: %s", query, e.code())
		}
	}
}

// The schema's words are those of the code.
func TestWordsOfPaymentsAreTheCodes(t *testing.T) {
	t.Parallel()
	values := func(name string) string {
		var all []string
		for _, value := range schema().Types[name].EnumValues {
			all = append(all, value.Name)
		}
		return strings.Join(all, " ")
	}
	var kinds, steps []string
	for _, kind := range bookings.RepairKinds() {
		kinds = append(kinds, string(kind))
	}
	for _, step := range bookings.StepKinds() {
		steps = append(steps, string(step))
	}
	if got, want := values("RepairKind"), strings.Join(kinds, " "); got != want {
		t.Errorf("RepairKind is %s, want %s", got, want)
	}
	if got, want := values("PaymentStepKind"), strings.Join(steps, " "); got != want {
		t.Errorf("PaymentStepKind is %s, want %s", got, want)
	}
}

// differ leaves charges of nobody in the tenant's review queue, oldest first.
func (h *house) differ(charges ...string) {
	t := h.server.t
	t.Helper()
	tenant, err := ids.ParseGlobal[tenants.TenantKind](h.tenant)
	if err != nil {
		t.Fatal(err)
	}
	for i, charge := range charges {
		_, err := dbtest.Open(t).Pool().Exec(t.Context(), `INSERT INTO payment_differences
			(tenant_id, region, id, provider, account, charge_id, reason, provider_minor, our_minor, currency, found_at)
			VALUES ($1, 'eu', $2, 'sandbox', 'acct_1', $3, 'FOREIGN', 700, 0, 'EUR', $4)`, tenant.UUID, uuid.New(), charge, time.Now().Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
	}
}
