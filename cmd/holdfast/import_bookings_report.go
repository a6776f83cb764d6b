package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/tenants"
)

// historyReport is what became of a history.
type historyReport struct {
	// OK says that every row was judged and that the audit is clean.
	OK         bool             `json:"ok"`
	File       string           `json:"file"`
	SHA256     string           `json:"sha256"`
	Engine     string           `json:"engine"`
	Tenant     tenants.TenantID `json:"tenant"`
	TenantSlug string           `json:"tenantSlug"`
	// AdminKey is set only by the import that made the tenant, because nobody can read it again, and
	// not where the tenant is deleted with its database.
	AdminKey  string `json:"adminKey,omitempty"`
	ShiftDays int    `json:"shiftDays"`

	Rows     int `json:"rows"`
	Accepted int `json:"accepted"`
	// Replayed are those of Accepted that an earlier import had booked.
	Replayed   int `json:"replayed"`
	CheckedOut int `json:"checkedOut"`
	Cancelled  int `json:"cancelled"`
	NoShow     int `json:"noShow"`
	// RefusedRows is the sum over Refused, which is by code.
	RefusedRows int                     `json:"refusedRows"`
	Refused     map[string]*refusedRows `json:"refused"`
	RoomTypes   []historyRoomReport     `json:"roomTypes"`

	Seconds float64 `json:"seconds"`
	// RowsPerSecond counts the rows that this import judged, not those that an earlier one had booked.
	RowsPerSecond float64               `json:"rowsPerSecond"`
	Audit         *bookings.AuditReport `json:"audit,omitempty"`
}

// historyRoomReport is what became of the rows of one room type.
type historyRoomReport struct {
	Hotel    string `json:"hotel"`
	RoomType string `json:"roomType"`
	// Rooms is how many there are, see historyStock.
	Rooms    int64 `json:"rooms"`
	Rows     int   `json:"rows"`
	Accepted int   `json:"accepted"`
}

// refusedRows counts rows that were refused for the same reason.
type refusedRows struct {
	Count    int              `json:"count"`
	Examples []refusedExample `json:"examples"`
}

type refusedExample struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// maxRefusedExamples is how many rows of a kind are named.
const maxRefusedExamples = 3

// add counts a refusal, and keeps the first ones of the file as examples.
func (r *refusedRows) add(refusal historyRefusal) {
	r.Count++
	r.Examples = append(r.Examples, refusedExample{refusal.line, refusal.reason})
	slices.SortFunc(r.Examples, func(a, b refusedExample) int { return a.Line - b.Line })
	r.Examples = r.Examples[:min(len(r.Examples), maxRefusedExamples)]
}

func (r *replay) report(c importBookingsCommand, stock historyStock, took time.Duration) *historyReport {
	r.lock.Lock()
	defer r.lock.Unlock()
	report := &historyReport{
		File: c.File, SHA256: r.h.digest, Engine: string(r.setup.app.store.db.Engine()),
		Tenant: r.setup.tenant.ID, TenantSlug: r.setup.tenant.Slug, ShiftDays: r.setup.shiftDays,
		Rows: r.h.lines, Accepted: len(r.booked), Replayed: r.replayed,
		CheckedOut: r.counts[historyCheckedOut], Cancelled: r.counts[historyCancelled], NoShow: r.counts[historyNoShow],
		Refused: r.refused, Seconds: took.Seconds(),
	}
	if !c.ThrowAway {
		report.AdminKey = r.setup.adminKey
	}
	for _, refused := range r.refused {
		report.RefusedRows += refused.Count
	}
	report.RowsPerSecond = float64(report.Accepted-report.Replayed+report.RefusedRows) / took.Seconds()
	for _, row := range r.h.rows {
		r.room(row).Rows++
	}
	for _, room := range stock.roomsInOrder() {
		line := historyRoomReport{}
		if found := r.byRoom[room]; found != nil {
			line = *found
		}
		line.Hotel, line.RoomType, line.Rooms = room.hotel, room.roomType, stock.rooms[room].physical
		report.RoomTypes = append(report.RoomTypes, line)
	}
	return report
}

func (r *historyReport) print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	// A terminal that is gone loses the table, not the bookings.
	defer func() { _ = table.Flush() }()
	fmt.Fprintf(table, "HOTEL\tROOM TYPE\tROOMS\tROWS\tBOOKED\n")
	for _, room := range r.RoomTypes {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\n", room.Hotel, room.RoomType, room.Rooms, room.Rows, room.Accepted)
	}
	fmt.Fprintf(table, "\t\t\t\t\nRows\t%d\n", r.Rows)
	fmt.Fprintf(table, "Booked\t%d\n", r.Accepted)
	if r.Replayed > 0 {
		fmt.Fprintf(table, "  before\t%d\n", r.Replayed)
	}
	fmt.Fprintf(table, "  checked out\t%d\n  cancelled\t%d\n  no-show\t%d\n", r.CheckedOut, r.Cancelled, r.NoShow)
	fmt.Fprintf(table, "Refused\t%d\n", r.RefusedRows)
	for _, code := range slices.Sorted(maps.Keys(r.Refused)) {
		refused := r.Refused[code]
		fmt.Fprintf(table, "  %s\t%d\n", code, refused.Count)
		for _, example := range refused.Examples {
			fmt.Fprintf(table, "    line %d: %s\n", example.Line, example.Reason)
		}
	}
	fmt.Fprintf(table, "Time\t%.1f s, %.0f rows a second, on %s\n", r.Seconds, r.RowsPerSecond, r.Engine)
	fmt.Fprintf(table, "Tenant\t%s (%s)\n", r.TenantSlug, r.Tenant)
	if r.AdminKey != "" {
		fmt.Fprintf(table, "Its admin key\t%s\n", r.AdminKey)
	}
	if r.Audit == nil {
		return
	}
	fmt.Fprintf(table, "\nAudit\t\n")
	for _, check := range r.Audit.Checks {
		fmt.Fprintf(table, "  %s\t%s\n", check.Name, auditVerdict(check))
		for _, example := range check.Examples {
			fmt.Fprintf(table, "    %s\n", example)
		}
	}
}
