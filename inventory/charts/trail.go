package charts

import (
	"strconv"
	"strings"
)

// trail is where a walk stands, such as zones[0].rows[3]. It becomes text only when there is a problem to report,
// which keeps a walk over 100,000 good seats cheap.
type trail []step

// step is a field, or an element of the list that the step before it names.
type step struct {
	field string
	index int
}

func (t *trail) field(name string) { *t = append(*t, step{field: name}) }

func (t *trail) element(index int) { *t = append(*t, step{index: index}) }

func (t *trail) leave() { *t = (*t)[:len(*t)-1] }

func (t *trail) String() string {
	var path strings.Builder
	for _, s := range *t {
		switch {
		case s.field == "":
			path.WriteString("[" + strconv.Itoa(s.index) + "]")
		case path.Len() > 0:
			path.WriteString("." + s.field)
		default:
			path.WriteString(s.field)
		}
	}
	return path.String()
}
