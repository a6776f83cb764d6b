package graph

import (
	"context"
	"encoding/csv"
	"net/http"
	"strconv"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
	"github.com/holdfast/holdfast/tenants"
)

// Reports are the downloads of reports as CSV, to be mounted at /reports/: the same numbers as the
// fields occupancy and pickUp, for the same keys, under the same limits and in the back office's lane.
func (a *Handler) Reports() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /reports/occupancy.csv", a.download("occupancy", a.occupancyRows))
	mux.HandleFunc("GET /reports/pickup.csv", a.download("pickup", a.pickUpRows))
	mux.HandleFunc("GET /reports/compensation.csv", a.download("compensation", a.compensationRows))
	return mux
}

// download answers with rows, or with an error in the form of a GraphQL answer.
func (a *Handler) download(name string, rows func(ctx context.Context, actor tenants.Actor, property tenants.Property, r *http.Request) ([][]string, error)) http.HandlerFunc {
	return a.door(func(ctx context.Context, actor tenants.Actor, w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		table, err := a.report(ctx, actor, r, rows)
		if err != nil {
			answer(w, downloadStatus(err), a.faults.present(ctx, err))
			return
		}
		header.Set("Content-Type", "text/csv; charset=utf-8")
		header.Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
		// A write fails when the client has gone; there is nobody left to tell.
		_ = csv.NewWriter(w).WriteAll(table)
	})
}

func (a *Handler) report(ctx context.Context, actor tenants.Actor, r *http.Request, rows func(ctx context.Context, actor tenants.Actor, property tenants.Property, r *http.Request) ([][]string, error)) ([][]string, error) {
	var d decoder
	id := readID[tenants.PropertyKind](&d, "property", r.URL.Query().Get("property"))
	if d.err != nil {
		return nil, d.err
	}
	property, err := a.config.Tenants.Property(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return rows(ctx, actor, property, r)
}

// downloadStatus is the HTTP status of a fault.
func downloadStatus(err error) int {
	switch fault.KindOf(err) {
	case fault.KindInvalid:
		return http.StatusBadRequest
	case fault.KindDenied:
		return http.StatusForbidden
	case fault.KindNotFound:
		return http.StatusNotFound
	case fault.KindConflict:
		return http.StatusConflict
	case fault.KindExhausted:
		return http.StatusTooManyRequests
	case fault.KindUnauthenticated, fault.KindUnavailable, fault.KindInternal:
	}
	return statusOf(err)
}

func (a *Handler) occupancyRows(ctx context.Context, actor tenants.Actor, property tenants.Property, r *http.Request) ([][]string, error) {
	var d decoder
	from, to := queryDate(&d, r, "from"), queryDate(&d, r, "to")
	if d.err != nil {
		return nil, d.err
	}
	report, err := a.config.Bookings.Occupancy(ctx, actor, property, from, to)
	if err != nil {
		return nil, err
	}
	table := [][]string{{"night", "room_type", "room_type_id", "physical", "out_of_order", "oversell", "allotted", "held", "booked", "revenue", "currency"}}
	for _, n := range report.Nights {
		table = append(table, []string{
			n.Night.String(), cell(n.Name), n.RoomType.String(), number(n.Physical), number(n.OutOfOrder), number(n.Oversell), number(n.Allotted),
			number(n.Held), number(n.Booked), decimal(n.Revenue), string(n.Revenue.Currency),
		})
	}
	return table, nil
}

func (a *Handler) pickUpRows(ctx context.Context, actor tenants.Actor, property tenants.Property, r *http.Request) ([][]string, error) {
	var d decoder
	from, to := queryDate(&d, r, "from"), queryDate(&d, r, "to")
	since, until := queryTime(&d, r, "since"), queryTime(&d, r, "until")
	if d.err != nil {
		return nil, d.err
	}
	report, err := a.config.Bookings.PickUp(ctx, actor, property, from, to, since, until)
	if err != nil {
		return nil, err
	}
	table := [][]string{{"night", "room_type", "room_type_id", "sold", "cancelled", "rooms_before", "rooms_after", "revenue_before", "revenue_after", "currency"}}
	for _, n := range report.Nights {
		table = append(table, []string{
			n.Night.String(), cell(n.Name), n.RoomType.String(), number(n.Sold), number(n.Cancelled), number(n.RoomsBefore), number(n.RoomsAfter),
			decimal(n.RevenueBefore), decimal(n.RevenueAfter), string(n.RevenueAfter.Currency),
		})
	}
	return table, nil
}

func queryDate(d *decoder, r *http.Request, name string) civil.Date {
	date, err := civil.ParseDate(r.URL.Query().Get(name))
	if err != nil && d.err == nil {
		d.err = fault.Invalid(name, "expected a date such as 2027-03-14")
	}
	return date
}

func queryTime(d *decoder, r *http.Request, name string) time.Time {
	at, err := time.Parse(time.RFC3339, r.URL.Query().Get(name))
	if err != nil && d.err == nil {
		d.err = fault.Invalid(name, "expected a moment such as 2027-03-14T12:00:00Z")
	}
	return at
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// decimal is an amount in units of its currency, with a point.
func decimal(amount money.Amount) string {
	text := amount.String()
	return text[:len(text)-len(" ")-len(amount.Currency)]
}

// cell keeps a spreadsheet from taking a name for a formula.
func cell(text string) string {
	switch text[0] {
	case '=', '+', '-', '@', '\t', '\r':
		return "'" + text
	}
	return text
}
