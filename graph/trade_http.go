package graph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade"
)

// Trade are the doors of the interfaces of the trade, to be mounted at /trade/: messages of the OpenTravel
// Alliance, files of nights and calendars, for the same keys, under the same limits and in the back office's lane.
func (a *Handler) Trade() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /trade/ota", a.door(a.takeMessage))
	for kind, path := range map[trade.Kind]string{trade.KindInventory: "inventory", trade.KindRestrictions: "restrictions", trade.KindRates: "rates"} {
		mux.HandleFunc("GET /trade/ota/"+path+".xml", a.exportMessage(kind))
	}
	mux.HandleFunc("GET /trade/nights.csv", a.door(a.exportNights))
	mux.HandleFunc("POST /trade/nights.csv", a.door(a.importNights))
	mux.HandleFunc("GET /trade/calendar.ics", a.door(a.exportCalendar))
	mux.HandleFunc("POST /trade/calendar.ics", a.door(a.importCalendar))
	return mux
}

// readTrade reads a body of one of some media types, whole.
func readTrade(w http.ResponseWriter, r *http.Request, types ...string) ([]byte, int, error) {
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	fits := false
	for _, known := range types {
		fits = fits || media == known
	}
	if charset := parameters["charset"]; err != nil || !fits || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("Content-Type: expected %s in UTF-8", strings.Join(types, " or "))
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, http.StatusUnsupportedMediaType, errors.New("Content-Encoding: expected a body that is not compressed")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, trade.MaxBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("expected a body of at most %d bytes; send it in parts", trade.MaxBytes)
	case err != nil:
		return nil, http.StatusBadRequest, errors.New("the body did not arrive whole")
	}
	return body, http.StatusOK, nil
}

// takeMessage applies a message. What becomes of it is in its answer, with status 200 whether it was applied or refused, as
// the standard's senders expect.
func (a *Handler) takeMessage(ctx context.Context, actor tenants.Actor, w http.ResponseWriter, r *http.Request) {
	body, status, err := readTrade(w, r, "application/xml", "text/xml")
	if err != nil {
		writeXML(w, status, trade.FaultAnswer(trade.FaultInput, err.Error()))
		return
	}
	taken, err := a.config.Trade.Take(ctx, actor, body)
	if err != nil {
		shown := a.faults.present(ctx, err)
		kind := trade.FaultInternal
		switch shown.Extensions["code"] {
		case codeForbidden, codeNotFound:
			kind = trade.FaultDenied
		case codeUnavailable:
			kind = trade.FaultUnavailable
		}
		writeXML(w, downloadStatus(err), trade.FaultAnswer(kind, shown.Message))
		return
	}
	writeXML(w, http.StatusOK, taken.Document)
}

func writeXML(w http.ResponseWriter, status int, document []byte) {
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	w.WriteHeader(status)
	// A write fails when the client has gone; there is nobody left to tell.
	_, _ = w.Write(document)
}

// exportMessage writes a message about the nights of a hotel.
func (a *Handler) exportMessage(kind trade.Kind) http.HandlerFunc {
	return a.door(func(ctx context.Context, actor tenants.Actor, w http.ResponseWriter, r *http.Request) {
		var d decoder
		property := readID[tenants.PropertyKind](&d, "property", r.URL.Query().Get("property"))
		from, to := queryDate(&d, r, "from"), queryDate(&d, r, "to")
		written, err := []byte(nil), d.err
		if err == nil {
			written, err = a.config.Trade.Export(ctx, actor, kind, property, from, to)
		}
		if err != nil {
			answer(w, tradeStatus(err), a.faults.present(ctx, err))
			return
		}
		writeXML(w, http.StatusOK, written)
	})
}

// tradeStatus is the HTTP status of an error.
func tradeStatus(err error) int {
	if fault.KindOf(err) == fault.KindUnavailable {
		return http.StatusServiceUnavailable
	}
	return downloadStatus(err)
}
