package inventory

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// MapVersion names one state of a show's seats. It comes from the database, so that a version which
// one process gave can be answered by every other.
type MapVersion struct {
	// Sum is of the versions of the seats' rows, each of which grows when it is written. States with the
	// same one have the same rows, and later states a larger one.
	Sum int64
	// At is an instant, by the database's clock, at which the state was this: seats become free by the
	// passing of time, too, without being written.
	At time.Time
}

// String is the version as clients keep it.
func (v MapVersion) String() string {
	return strconv.FormatInt(v.Sum, 10) + "." + strconv.FormatInt(v.At.UnixMicro(), 10)
}

var errMapVersion = errors.New("expected a version as the seat map gives it")

// ParseMapVersion reads what String wrote.
func ParseMapVersion(text string) (MapVersion, error) {
	writes, at, found := strings.Cut(text, ".")
	counted, err := strconv.ParseUint(writes, 10, 63)
	micros, atErr := strconv.ParseUint(at, 10, 63)
	if !found || err != nil || atErr != nil {
		return MapVersion{}, errMapVersion
	}
	v := MapVersion{Sum: int64(counted), At: time.UnixMicro(int64(micros)).UTC()} //nolint:gosec // both have 63 bits
	if v.String() != text {
		return MapVersion{}, errMapVersion
	}
	return v, nil
}
