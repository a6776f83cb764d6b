package graph_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
)

// A show that is over, its booking and its hold are told of in the same words before and after its
// stock has moved.
func TestAnArchivedShowIsToldOfAsBefore(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	h := newHouse(t, newServer(t, nil))
	guest := h.guest()
	hold := h.hold(guest, vars{"seats": vars{"show": h.show, "seats": h.seats[:2]}}, vars{"pool": vars{"pool": h.standing, "quantity": 3}})
	bought := h.checkout(guest, vars{
		"requestKey": key(), "hold": hold.ID, "paymentMethod": vars{"token": "tok_approve"},
		"expectedTotal": vars{"amountMinor": 14500, "currency": "EUR"},
	})
	if bought.Booking == nil {
		t.Fatalf("got %+v", bought)
	}
	show, err := ids.Parse[inventory.ShowKind](h.show)
	if err != nil {
		t.Fatal(err)
	}
	// So long ago that no other test's show is that old.
	if _, err := d.Pool().Exec(t.Context(), "UPDATE shows SET starts_at = '1990-03-14 19:30:00+00' WHERE id = $1", show.UUID); err != nil {
		t.Fatal(err)
	}
	asOf := regexp.MustCompile(`"asOf":"[^"]*"`)
	told := func() string {
		answer := h.admin.post(`query($show: ID!, $booking: ID!, $hold: ID!) {
			show(id: $show) { name state startsAt priceLevels { name price { formatted } } pools { name capacity available asOf }
				seatMap { asOf seats { seatId status priceLevelId seat { label } } } }
			booking(id: $booking) { state total { formatted } lines { state amount { formatted } unit { seat { label } } } }
			hold(id: $hold) { state total { formatted } }
		}`, vars{"show": h.show, "booking": bought.Booking.ID, "hold": hold.ID})
		if len(answer.Errors) > 0 {
			t.Fatalf("got %+v", answer.Errors)
		}
		return asOf.ReplaceAllString(string(answer.Data), `"asOf":""`)
	}
	before := told()
	archive(t, d)
	if after := told(); after != before {
		t.Errorf("told of\n%s\nbefore\n%s", after, before)
	}
	var left int
	if err := d.Pool().QueryRow(t.Context(), "SELECT count(*) FROM show_seats WHERE show_id = $1", show.UUID).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d seats have not moved, %v", left, err)
	}
	if refused := h.place(guest, vars{"requestKey": key(), "lines": []vars{{"pool": vars{"pool": h.standing, "quantity": 1}}}}); refused.Code != "SALE_CLOSED" {
		t.Errorf("a hold afterwards: got %+v", refused)
	}
}

func archive(t *testing.T, d *db.DB) {
	t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	before := time.Date(1991, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := inventory.NewService(d, enforcer).ArchiveDue(t.Context(), inventory.Archiving{CompletedBefore: before, MaxRows: 1000}); err != nil {
		t.Fatal(err)
	}
}
