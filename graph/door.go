package graph

import (
	"context"
	"net/http"

	"github.com/holdfast/holdfast/tenants"
)

// door is what stands before every file that is fetched or sent besides GraphQL: it says who calls, within the limits, and
// waits for a turn in the back office's lane.
func (a *Handler) door(serve func(ctx context.Context, actor tenants.Actor, w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(withRequestID(r.Context(), requestIDOf(r)), a.config.MaxDuration)
		defer cancel()
		header := w.Header()
		header.Set(headerRequestID, requestIDFrom(ctx))
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Type", contentType(r))
		if !a.allowOrigin(w, r) {
			answer(w, http.StatusForbidden, failure(codeForbidden, "Origin: pages of this origin may not call this API"))
			return
		}
		actor, ok := a.identify(ctx, w, r)
		if !ok {
			return
		}
		ctx, leave, refused := a.lanes.enterLane(ctx, laneBackOffice)
		if refused != nil {
			answer(w, http.StatusServiceUnavailable, refused)
			return
		}
		defer leave()
		serve(ctx, actor, w, r)
	}
}
