package graph_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/payments"
)

func euro(minor int) vars { return vars{"amountMinor": minor, "currency": "EUR"} }

// refund gives some of a booking's money back.
func (h *house) refund(booking string, minor int) string {
	h.server.t.Helper()
	var answer struct{ RefundBooking created }
	h.admin.get(`mutation($input: RefundBookingInput!) { refundBooking(input: $input) { ... on Refund { id } } }`,
		vars{"input": vars{"requestKey": key(), "booking": booking, "amount": euro(minor), "reason": "noise"}}, &answer)
	return answer.RefundBooking.ID
}

type minor struct{ AmountMinor int64 }

// cancelled is the answer of cancelBooking.
type cancelled struct {
	Typename, Code         string
	DryRun                 bool
	Fee, Refund, RefundTax minor
	WaivedFee              minor
	Reason                 *string
	Lines                  []struct {
		Ordinal                                    int
		Price, Fee, Refund, Tax, FeeTax, RefundTax minor
	}
	Booking *struct {
		State                        string
		FeesKept, RefundedTotal, Tax minor
		Lines                        []struct {
			State            string
			Tax, Fee, FeeTax minor
			TaxRate          struct{ BasisPoints int }
		}
		CancellationPolicies []bookedPolicy
	}
	Now *struct{ Fee, Refund minor }
}

type bookedPolicy struct {
	Name, StartsAt, ClosesAt, TimeZone string
	Lines                              []int
	Steps                              []struct {
		Until string
		Fee   shownFee
	}
	FinalFee shownFee
}

type shownFee struct {
	Kind        string
	BasisPoints *int
	Amount      *minor
}

const cancelFields = `typename: __typename ... on Cancellation { dryRun fee { amountMinor } refund { amountMinor } refundTax { amountMinor } waivedFee { amountMinor } reason
	lines { ordinal price { amountMinor } fee { amountMinor } refund { amountMinor } tax { amountMinor } feeTax { amountMinor } refundTax { amountMinor } }
	booking { state feesKept { amountMinor } refundedTotal { amountMinor } tax { amountMinor } lines { state tax { amountMinor } fee { amountMinor } feeTax { amountMinor } taxRate { basisPoints } }
		cancellationPolicies { name startsAt closesAt timeZone lines steps { until fee { kind basisPoints amount { amountMinor } } } finalFee { kind basisPoints amount { amountMinor } } } } }
	... on CancellationRefused { code now { fee { amountMinor } refund { amountMinor } } }`

func (h *house) cancel(as client, input vars) cancelled {
	h.server.t.Helper()
	var answer struct{ CancelBooking cancelled }
	input["requestKey"] = key()
	as.get(`mutation($input: CancelBookingInput!) { cancelBooking(input: $input) { `+cancelFields+` } }`, vars{"input": input}, &answer)
	return answer.CancelBooking
}

type shownPolicy struct {
	Name, CheckInTime string
	ClosesAt          *string
	Steps             []struct {
		MinutesBefore, DaysBefore *int
		LocalTime, Until          *string
		Fee                       shownFee
	}
	FinalFee shownFee
}

const policyFields = `name checkInTime closesAt steps { minutesBefore daysBefore localTime until fee { kind basisPoints amount { amountMinor } } } finalFee { kind basisPoints amount { amountMinor } }`

func (h *house) setPolicy(input vars) {
	h.server.t.Helper()
	var answer struct{ SetCancellationPolicy shownPolicy }
	h.admin.get(`mutation($input: SetCancellationPolicyInput!) { setCancellationPolicy(input: $input) { `+policyFields+` } }`, vars{"input": input}, &answer)
	if got := answer.SetCancellationPolicy.Name; got != input["name"] {
		h.server.t.Errorf("set %v, got %s", input["name"], got)
	}
}

// A buyer sees before the sale what a cancellation costs, buys, asks what it costs now, and cancels a
// part for just that.
func TestAGuestCancels(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.setPolicy(vars{
		"property": h.property, "name": "Moderate", "checkInTime": "14:00",
		"steps":    []vars{{"daysBefore": 7, "fee": vars{"basisPoints": 0}}, {"daysBefore": 1, "localTime": "18:00", "fee": vars{"perBooking": euro(2500)}}},
		"finalFee": vars{"basisPoints": 9000},
	})
	var tax struct{ SetTaxRate struct{ BasisPoints int } }
	h.admin.get(`mutation($input: SetTaxRateInput!) { setTaxRate(input: $input) { basisPoints } }`, vars{"input": vars{"property": h.property, "basisPoints": 1000}}, &tax)

	var seen struct {
		Node struct {
			Property struct{ TaxRate struct{ BasisPoints int } }
			Policy   shownPolicy
			Untimed  shownPolicy
		}
	}
	h.page.get(`query($id: ID!) { node(id: $id) { ... on RoomType { property { taxRate { basisPoints } } policy: cancellationPolicy(checkIn: "2030-03-14") { `+policyFields+` } untimed: cancellationPolicy { `+policyFields+` } } } }`,
		vars{"id": h.double}, &seen)
	policy := seen.Node.Policy
	if seen.Node.Property.TaxRate.BasisPoints != 1000 || policy.Name != "Moderate" || policy.CheckInTime != "14:00" || len(policy.Steps) != 2 ||
		*policy.Steps[0].Until != "2030-03-07T13:00:00Z" || *policy.Steps[1].Until != "2030-03-13T17:00:00Z" || *policy.Steps[1].LocalTime != "18:00" ||
		policy.Steps[1].Fee.Kind != "PER_BOOKING" || policy.Steps[1].Fee.Amount.AmountMinor != 2500 || *policy.FinalFee.BasisPoints != 9000 || *policy.ClosesAt != "2030-03-14T13:00:00Z" {
		t.Errorf("got %+v", seen)
	}
	if seen.Node.Untimed.ClosesAt != nil || seen.Node.Untimed.Steps[0].Until != nil {
		t.Errorf("without a day: got %+v", seen.Node.Untimed)
	}

	guest := h.guest()
	hold := h.hold(guest, vars{"stay": vars{"roomType": h.double, "checkIn": "2030-03-14", "checkOut": "2030-03-16"}})
	sale := h.checkout(guest, vars{"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": euro(24000)})
	booking := sale.Booking.ID
	// What is set later does not reach it.
	h.setPolicy(vars{"property": h.property, "name": "Strict"})

	dry := h.cancel(guest, vars{"booking": booking, "lines": []int{0}, "dryRun": true})
	if !dry.DryRun || dry.Fee.AmountMinor != 0 || dry.Refund.AmountMinor != 12000 || dry.RefundTax.AmountMinor != 1091 || dry.Booking.State != "BOOKED" ||
		len(dry.Booking.CancellationPolicies) != 1 || dry.Booking.CancellationPolicies[0].Name != "Moderate" ||
		dry.Booking.CancellationPolicies[0].ClosesAt != "2030-03-14T13:00:00Z" || dry.Booking.Tax.AmountMinor != 2182 {
		t.Errorf("the dry run: got %+v", dry)
	}
	if r := h.cancel(guest, vars{"booking": booking, "lines": []int{0}, "expectedFee": euro(1)}); r.Code != "FEE_CHANGED" || r.Now == nil || r.Now.Fee.AmountMinor != 0 || r.Now.Refund.AmountMinor != 12000 {
		t.Errorf("another fee: got %+v", r)
	}
	done := h.cancel(guest, vars{"booking": booking, "lines": []int{0}, "expectedFee": euro(0), "expectedRefund": euro(12000), "reason": "ill"})
	if done.DryRun || done.Refund != dry.Refund || done.Booking.RefundedTotal.AmountMinor != 12000 || done.Booking.FeesKept.AmountMinor != 0 ||
		done.Booking.Lines[0].State != "CANCELLED" || done.Booking.Lines[1].State != "BOOKED" || *done.Reason != "ill" || done.Booking.Lines[1].TaxRate.BasisPoints != 1000 {
		t.Errorf("cancelled: got %+v", done)
	}
	var read struct {
		Booking struct {
			Cancellations []struct {
				Reason *string
				Refund minor
				Lines  []struct{ Ordinal int }
			}
		}
	}
	guest.get(`query($id: ID!) { booking(id: $id) { cancellations { reason refund { amountMinor } lines { ordinal } } } }`, vars{"id": booking}, &read)
	if c := read.Booking.Cancellations; len(c) != 1 || *c[0].Reason != "ill" || c[0].Refund.AmountMinor != 12000 || len(c[0].Lines) != 1 {
		t.Errorf("the booking's cancellations: got %+v", c)
	}
	if e := guest.refused(`mutation($input: CancelBookingInput!) { cancelBooking(input: $input) { __typename } }`,
		vars{"input": vars{"requestKey": key(), "booking": booking, "waiveFee": true, "reason": "please"}}); e.code() != "FORBIDDEN" {
		t.Errorf("a guest waives: got %+v", e)
	}
}

// The policy of a show goes before its venue's, and that before the tenant's.
func TestPoliciesOverrideEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	var shown struct {
		Show struct {
			CancellationPolicy shownPolicy
			Venue              struct{ TaxRate struct{ BasisPoints int } }
		}
	}
	look := func() shownPolicy {
		t.Helper()
		h.page.get(`query($id: ID!) { show(id: $id) { venue { taxRate { basisPoints } } cancellationPolicy { `+policyFields+` } } }`, vars{"id": h.show}, &shown)
		return shown.Show.CancellationPolicy
	}
	if p := look(); p.Name != "Free until the start" || *p.Steps[0].Until != "2030-03-14T19:30:00Z" || *p.FinalFee.BasisPoints != 10000 {
		t.Errorf("the product's own: got %+v", p)
	}
	h.setPolicy(vars{"name": "Tenant", "steps": []vars{{"minutesBefore": 1440, "fee": vars{"basisPoints": 1000}}}})
	if p := look(); p.Name != "Tenant" || *p.Steps[0].Until != "2030-03-13T19:30:00Z" {
		t.Errorf("the tenant's: got %+v", p)
	}
	h.setPolicy(vars{"venue": h.venue, "name": "Venue", "finalFee": vars{"perUnit": euro(500)}})
	h.setPolicy(vars{"show": h.show, "name": "Show", "steps": []vars{{"daysBefore": 0, "localTime": "23:00", "fee": vars{"basisPoints": 1}}}})
	if p := look(); p.Name != "Show" || *p.Steps[0].Until != "2030-03-14T19:30:00Z" {
		t.Errorf("the show's: got %+v", p)
	}
	var removed struct{ RemoveCancellationPolicy shownPolicy }
	h.admin.get(`mutation($input: RemoveCancellationPolicyInput!) { removeCancellationPolicy(input: $input) { `+policyFields+` } }`, vars{"input": vars{"show": h.show}}, &removed)
	if p := look(); p.Name != "Venue" || removed.RemoveCancellationPolicy.Name != "Venue" || p.FinalFee.Amount.AmountMinor != 500 {
		t.Errorf("the venue's: got %+v", p)
	}
	var read struct{ CancellationPolicy shownPolicy }
	h.partner.get(`query($show: ID) { cancellationPolicy(show: $show) { `+policyFields+` } }`, vars{"show": h.show}, &read)
	if read.CancellationPolicy.Name != "Venue" {
		t.Errorf("the query: got %+v", read)
	}
}

// Money is given back by amount, never more than is left; what failed for good is listed and can be
// tried again.
func TestRefundsByAmount(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	own, guest := h.ids()
	var refused struct {
		RefundBooking struct {
			Code string
			Rest *minor
		}
	}
	h.admin.get(`mutation($input: RefundBookingInput!) { refundBooking(input: $input) { ... on RefundRefused { code rest { amountMinor } } } }`,
		vars{"input": vars{"requestKey": key(), "booking": own["book"], "amount": euro(1500), "reason": "noise"}}, &refused)
	if r := refused.RefundBooking; r.Code != "REFUND_TOO_HIGH" || r.Rest == nil || r.Rest.AmountMinor != 1499 {
		t.Errorf("too much: got %+v", r)
	}
	type page struct {
		FailedRefunds struct {
			Nodes []struct {
				Refund                                 created
				PaymentID, HoldID, BookingID, FailedAt string
			}
			PageInfo struct {
				HasNextPage bool
				EndCursor   *string
			}
		}
	}
	list := func(after *string) page {
		t.Helper()
		var p page
		h.admin.get(`query($after: String) { failedRefunds(region: "eu", first: 1, after: $after) { nodes { refund { id } paymentId holdId bookingId failedAt } pageInfo { hasNextPage endCursor } } }`, vars{"after": after}, &p)
		return p
	}
	if p := list(nil); len(p.FailedRefunds.Nodes) != 0 {
		t.Errorf("nothing has failed: got %+v", p)
	}
	second := h.refund(own["book"], 2)
	// The provider fails both for good.
	if _, err := dbtest.Open(t).Pool().Exec(t.Context(), `UPDATE refunds SET state = 'FAILED', settled_at = now(), exhausted_at = now() + amount_minor * interval '1 second'
		WHERE tenant_id = (SELECT tenant_id FROM refunds WHERE id = $1)`, uuidOf(t, second)); err != nil {
		t.Fatal(err)
	}
	first := list(nil)
	if n := first.FailedRefunds.Nodes; len(n) != 1 || n[0].Refund.ID != own["refund"] || n[0].BookingID != own["book"] || !first.FailedRefunds.PageInfo.HasNextPage {
		t.Fatalf("the first page: got %+v", first)
	}
	if p := list(first.FailedRefunds.PageInfo.EndCursor); len(p.FailedRefunds.Nodes) != 1 || p.FailedRefunds.Nodes[0].Refund.ID != second || p.FailedRefunds.PageInfo.HasNextPage {
		t.Errorf("the second page: got %+v", p)
	}
	retry := func(id string) (result struct {
		RetryRefund struct{ ID, State, Code string }
	},
	) {
		t.Helper()
		h.admin.get(`mutation($input: RetryRefundInput!) { retryRefund(input: $input) { ... on Refund { id state } ... on RefundRefused { code } } }`,
			vars{"input": vars{"requestKey": key(), "refund": id}}, &result)
		return result
	}
	if r := retry(second).RetryRefund; r.ID == second || r.State != "REQUESTED" {
		t.Errorf("tried again: got %+v", r)
	}
	if r := retry(second).RetryRefund; r.Code != "REFUND_NOT_FAILED" {
		t.Errorf("tried again twice: got %+v", r)
	}
	for name, as := range map[string]client{"guest": guest, "page": h.page, "partner": h.partner} {
		if e := as.refused(`{ failedRefunds(region: "eu") { nodes { holdId } } }`, nil); e.code() != "FORBIDDEN" {
			t.Errorf("%s lists failed refunds: got %+v", name, e)
		}
	}
}

func uuidOf(t *testing.T, refund string) uuid.UUID {
	t.Helper()
	id, err := ids.Parse[payments.RefundKind](refund)
	if err != nil {
		t.Fatal(err)
	}
	return id.UUID
}

// What is malformed is refused with the path of the field.
func TestBadCancellations(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	own, _ := h.ids()
	const set = `mutation($input: SetCancellationPolicyInput!) { setCancellationPolicy(input: $input) { name } }`
	const cancel = `mutation($input: CancelBookingInput!) { cancelBooking(input: $input) { __typename } }`
	const refund = `mutation($input: RefundBookingInput!) { refundBooking(input: $input) { __typename } }`
	policy := func(change vars) vars {
		input := vars{"property": h.property, "name": "Flexible"}
		for field, value := range change {
			input[field] = value
		}
		return input
	}
	steps := func(steps ...vars) vars { return policy(vars{"steps": steps}) }
	free := vars{"basisPoints": 0}
	cancelling := func(change vars) vars {
		change["requestKey"], change["booking"] = key(), own["book"]
		return change
	}
	for _, c := range []struct {
		name, query    string
		input          vars
		field, message string
	}{
		{"no name", set, policy(vars{"name": ""}), "input.name", "expected one line of 1 to 100"},
		{"two sites", set, policy(vars{"venue": h.venue}), "input.property", "expected only one of"},
		{"a check-in that is none", set, policy(vars{"checkInTime": "3 pm"}), "input.checkInTime", "expected a time from"},
		{"a check-in at 24:00", set, policy(vars{"checkInTime": "24:00"}), "input.checkInTime", "expected a time from"},
		{"no form of fee", set, policy(vars{"finalFee": vars{}}), "input.finalFee", "expected one of basisPoints"},
		{"two forms of fee", set, policy(vars{"finalFee": vars{"basisPoints": 1, "perUnit": euro(1)}}), "input.finalFee", "expected one of basisPoints"},
		{"more than the price", set, policy(vars{"finalFee": vars{"basisPoints": 10001}}), "input.finalFee.basisPoints", "expected 0 to 10000, got 10001"},
		{"a negative fee", set, policy(vars{"finalFee": vars{"perUnit": euro(-1)}}), "input.finalFee.perUnit.amountMinor", "expected 0 to"},
		{"another currency", set, policy(vars{"finalFee": vars{"perBooking": vars{"amountMinor": 1, "currency": "JPY"}}}), "input.finalFee.perBooking.currency", "expected EUR"},
		{"an amount for the tenant", set, vars{"name": "All", "finalFee": vars{"perUnit": euro(1)}}, "input.finalFee.perUnit", "an amount is in one currency"},
		{"a step without a time", set, steps(vars{"fee": free}), "input.steps[0]", "expected either minutesBefore or daysBefore"},
		{"a step with two times", set, steps(vars{"minutesBefore": 1, "daysBefore": 1, "fee": free}), "input.steps[0]", "expected either"},
		{"a step after the start", set, steps(vars{"minutesBefore": -1, "fee": free}), "input.steps[0].minutesBefore", "expected 0 to"},
		{"a step long before", set, steps(vars{"daysBefore": 731, "fee": free}), "input.steps[0].daysBefore", "expected 0 to 730"},
		{"a local time alone", set, steps(vars{"minutesBefore": 1, "localTime": "10:00", "fee": free}), "input.steps[0].localTime", "only with daysBefore"},
		{"steps out of order", set, steps(vars{"daysBefore": 1, "fee": free}, vars{"daysBefore": 2, "fee": free}), "input.steps[1].daysBefore", "no more than the 1"},
		{"steps that overlap", set, steps(vars{"daysBefore": 1, "localTime": "18:00", "fee": free}, vars{"daysBefore": 1, "localTime": "18:00", "fee": free}), "input.steps[1].localTime", "expected a later time"},
		{"equal steps", set, steps(vars{"minutesBefore": 60, "fee": free}, vars{"minutesBefore": 60, "fee": free}), "input.steps[1].minutesBefore", "expected less than the 60"},
		{"steps of two sorts", set, steps(vars{"minutesBefore": 60, "fee": free}, vars{"daysBefore": 0, "fee": free}), "input.steps[1]", "expected all steps to count in the same way"},
		{"a fee of a step", set, steps(vars{"minutesBefore": 60, "fee": vars{"basisPoints": -1}}), "input.steps[0].fee.basisPoints", "expected 0 to 10000"},
		{"a tax of nowhere", `mutation($input: SetTaxRateInput!) { setTaxRate(input: $input) { basisPoints } }`, vars{"basisPoints": 100}, "input.property", "expected a venue or a hotel"},
		{"a tax above the price", `mutation($input: SetTaxRateInput!) { setTaxRate(input: $input) { basisPoints } }`, vars{"property": h.property, "basisPoints": 10001}, "input.basisPoints", "expected 0 to 10000"},
		{"a waiver without a reason", cancel, cancelling(vars{"waiveFee": true}), "input.reason", "expected why"},
		{"a reason of two lines", cancel, cancelling(vars{"reason": "a\nb"}), "input.reason", "expected one line"},
		{"a line that does not exist", cancel, cancelling(vars{"lines": []int{9}}), "input.lines", "no such line"},
		{"an expected fee below nothing", cancel, cancelling(vars{"expectedFee": euro(-1)}), "input.expectedFee.amountMinor", "expected 0 to"},
		{"nothing to refund", refund, cancelling(vars{"amount": euro(0), "reason": "noise"}), "input.amount.amountMinor", "expected 1 to"},
		{"a refund in another currency", refund, cancelling(vars{"amount": vars{"amountMinor": 1, "currency": "JPY"}, "reason": "noise"}), "input.amount.currency", "expected EUR"},
		{"a refund without a reason", refund, cancelling(vars{"amount": euro(1), "reason": ""}), "input.reason", "expected why"},
	} {
		answer := h.admin.post(c.query, vars{"input": c.input})
		if len(answer.Errors) != 1 || answer.Errors[0].code() != "BAD_INPUT" || answer.Errors[0].field() != c.field || !strings.Contains(answer.Errors[0].Message, c.message) {
			t.Errorf("%s: got %s", c.name, answer.body)
		}
	}
}
