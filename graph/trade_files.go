package graph

import (
	"context"
	"encoding/json"
	"net/http"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// exportNights writes the nights of a room type as a CSV file.
func (a *Handler) exportNights(ctx context.Context, actor tenants.Actor, w http.ResponseWriter, r *http.Request) {
	var d decoder
	room := readID[inventory.RoomTypeKind](&d, "roomType", r.URL.Query().Get("roomType"))
	from, to := queryDate(&d, r, "from"), queryDate(&d, r, "to")
	written, err := []byte(nil), d.err
	if err == nil {
		written, err = a.config.Trade.ExportNights(ctx, actor, room, from, to)
	}
	if err != nil {
		answer(w, tradeStatus(err), a.faults.present(ctx, err))
		return
	}
	writeFile(w, "text/csv; charset=utf-8", "nights.csv", written)
}

// importNights writes a CSV file of nights into a room type, all or nothing.
func (a *Handler) importNights(ctx context.Context, actor tenants.Actor, w http.ResponseWriter, r *http.Request) {
	var d decoder
	room := readID[inventory.RoomTypeKind](&d, "roomType", r.URL.Query().Get("roomType"))
	if d.err != nil {
		answer(w, tradeStatus(d.err), a.faults.present(ctx, d.err))
		return
	}
	body, status, refused := readTrade(w, r, "text/csv")
	if refused != nil {
		answer(w, status, failure(codeBadInput, refused.Error()))
		return
	}
	set, err := a.config.Trade.ImportNights(ctx, actor, room, body)
	if err != nil {
		answer(w, tradeStatus(err), a.faults.present(ctx, err))
		return
	}
	type oversold struct {
		Night  string `json:"night"`
		Excess int64  `json:"excess"`
	}
	said := struct {
		Nights   int        `json:"nights"`
		Oversold []oversold `json:"oversold"`
	}{Nights: set.Nights, Oversold: []oversold{}}
	for _, night := range set.Oversold {
		said.Oversold = append(said.Oversold, oversold{night.Night.String(), night.Excess})
	}
	a.writeJSON(ctx, w, said)
}

// exportCalendar writes the closed nights of a room type as a calendar; without a range, from today a year.
func (a *Handler) exportCalendar(ctx context.Context, actor tenants.Actor, w http.ResponseWriter, r *http.Request) {
	var d decoder
	room := readID[inventory.RoomTypeKind](&d, "roomType", r.URL.Query().Get("roomType"))
	var from, to civil.Date
	ranged := r.URL.Query().Has("from") || r.URL.Query().Has("to")
	if ranged {
		from, to = queryDate(&d, r, "from"), queryDate(&d, r, "to")
	}
	written, err := []byte(nil), d.err
	if err == nil && !ranged {
		from, to, err = a.config.Trade.CalendarRange(ctx, actor, room)
	}
	if err == nil {
		written, err = a.config.Trade.ExportCalendar(ctx, actor, room, from, to)
	}
	if err != nil {
		answer(w, tradeStatus(err), a.faults.present(ctx, err))
		return
	}
	writeFile(w, "text/calendar; charset=utf-8", "calendar.ics", written)
}

// importCalendar makes the events of a calendar close the nights of a room type.
func (a *Handler) importCalendar(ctx context.Context, actor tenants.Actor, w http.ResponseWriter, r *http.Request) {
	var d decoder
	room := readID[inventory.RoomTypeKind](&d, "roomType", r.URL.Query().Get("roomType"))
	if d.err != nil {
		answer(w, tradeStatus(d.err), a.faults.present(ctx, d.err))
		return
	}
	body, status, refused := readTrade(w, r, "text/calendar")
	if refused != nil {
		answer(w, status, failure(codeBadInput, refused.Error()))
		return
	}
	taken, err := a.config.Trade.ImportCalendar(ctx, actor, room, r.URL.Query().Get("name"), body)
	if err != nil {
		answer(w, tradeStatus(err), a.faults.present(ctx, err))
		return
	}
	a.writeJSON(ctx, w, struct {
		Events    int `json:"events"`
		Closed    int `json:"closed"`
		Opened    int `json:"opened"`
		Unplanned int `json:"unplanned"`
	}{taken.Events, taken.Closed, taken.Opened, taken.Unplanned})
}

func writeFile(w http.ResponseWriter, mediaType, name string, content []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.WriteHeader(http.StatusOK)
	// A write fails when the client has gone; there is nobody left to tell.
	_, _ = w.Write(content)
}

func (a *Handler) writeJSON(ctx context.Context, w http.ResponseWriter, value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		answer(w, http.StatusInternalServerError, a.faults.present(ctx, err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(append(encoded, '\n'))
}
