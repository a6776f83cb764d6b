package graph

import (
	"net/http"

	"github.com/holdfast/holdfast/internal/fault"
)

// statusPrefix is below which path the public documents of waiting rooms are read.
const statusPrefix = "/waiting-rooms/"

// statusPath is where the document of an address is read.
func statusPath(address string) string { return statusPrefix + address }

// NewWaitingRoomHandler serves the public documents of waiting rooms, to be mounted at
// "GET /waiting-rooms/{address}". It asks for no key: a document is the same for everybody, any cache
// may keep it for a second, and an address that was made up is refused without a look into the
// database.
func NewWaitingRoomHandler(rooms Admission) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Access-Control-Allow-Origin", "*")
		header.Set("Content-Type", mediaJSON)
		document, err := rooms.Document(r.Context(), r.PathValue("address"))
		if err != nil {
			status, body := http.StatusServiceUnavailable, `{"error":"the waiting room cannot be read at this moment"}`
			if fault.KindOf(err) == fault.KindNotFound {
				status, body = http.StatusNotFound, `{"error":"no such waiting room"}`
			} else {
				header.Set("Retry-After", "2")
			}
			header.Set("Cache-Control", "no-store")
			w.WriteHeader(status)
			// The caller may be gone; nothing depends on its reading this.
			_, _ = w.Write([]byte(body))
			return
		}
		header.Set("Cache-Control", "public, max-age=1")
		header.Set("ETag", document.ETag)
		if matches(r.Header.Values("If-None-Match"), document.ETag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(document.Body)
	})
}
