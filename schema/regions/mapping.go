package regions

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
)

// Survival is what a database goes on working through.
type Survival string

// The survival goals of CockroachDB.
const (
	// SurvivalZone is the loss of one zone. It is CockroachDB's default.
	SurvivalZone Survival = "zone"
	// SurvivalRegion is the loss of a whole region. It needs three, and each write waits for the
	// nearest other one.
	SurvivalRegion Survival = "region"
)

// maxCodes bounds a mapping, and with it the CASE that every written row evaluates.
const maxCodes = 32

// minRegionsToSurviveOne is CockroachDB's own rule: two of three regions are still a majority.
const minRegionsToSurviveOne = 3

// Mapping says which region of the cluster keeps the rows of each region code.
type Mapping struct {
	// Homes is the cluster region, such as "europe-west1", of each code, such as "eu". Several
	// codes may share one.
	Homes map[ids.Region]string
	// Primary is the code whose cluster region keeps what belongs to no region: River's jobs and
	// the migrations' version.
	Primary ids.Region
	// Survive is the database's survival goal.
	Survive Survival
}

// clusterRegion accepts what a node's --locality=region=… may hold and what needs no escaping
// inside a string or an identifier.
var clusterRegion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// ParseMapping reads "eu=europe-west1,us=us-east1". The mapping is validated. Rows of nobody, such as a
// provider's event about nothing of ours, live in the primary region unless the text says otherwise.
func ParseMapping(text, primary string, survive Survival) (Mapping, error) {
	homes, err := ParseHomes(text)
	if err != nil {
		return Mapping{}, err
	}
	m := Mapping{Homes: homes, Primary: ids.Region(primary), Survive: survive}
	if err := m.Validate(); err != nil {
		return Mapping{}, err
	}
	if _, mapped := homes[ids.RegionOfNobody]; !mapped {
		homes[ids.RegionOfNobody] = homes[m.Primary]
	}
	return m, nil
}

// ParseHomes reads "eu=europe-west1,us=us-east1" for whoever only needs to know the regions, and
// checks each code and each region.
func ParseHomes(text string) (map[ids.Region]string, error) {
	homes := map[ids.Region]string{}
	for _, pair := range strings.Split(text, ",") {
		code, home, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found {
			return nil, fault.Invalid("--map", "expected code=region pairs such as eu=europe-west1,us=us-east1, got %q", pair)
		}
		if _, twice := homes[ids.Region(code)]; twice {
			return nil, fault.Invalid("--map", "the code %q is mapped twice", code)
		}
		homes[ids.Region(code)] = home
	}
	return homes, checkHomes(homes)
}

// checkHomes names the code or region that cannot be one.
func checkHomes(homes map[ids.Region]string) error {
	if len(homes) == 0 || len(homes) > maxCodes {
		return fault.Invalid("--map", "expected 1 to %d region codes", maxCodes)
	}
	for _, code := range slices.Sorted(maps.Keys(homes)) {
		if _, err := ids.ParseRegion(string(code)); err != nil {
			return fault.Invalid("--map", "the code %q: %v", code, err)
		}
		if home := homes[code]; !clusterRegion.MatchString(home) {
			return fault.Invalid("--map", "the code %q needs the name of a cluster region such as europe-west1, got %q", code, home)
		}
	}
	return nil
}

// Validate names the flag that is wrong. What depends on the cluster is checked by Plan.
func (m Mapping) Validate() error {
	if err := checkHomes(m.Homes); err != nil {
		return err
	}
	if _, mapped := m.Homes[m.Primary]; !mapped {
		return fault.Invalid("--primary", "expected one of the mapped codes %s, got %q", listed(m.codes()), m.Primary)
	}
	if m.Survive != SurvivalZone && m.Survive != SurvivalRegion {
		return fault.Invalid("--survive", "expected zone or region, got %q", m.Survive)
	}
	return nil
}

// codes are in alphabetical order, so that a plan is the same however the flag was written.
func (m Mapping) codes() []ids.Region { return slices.Sorted(maps.Keys(m.Homes)) }

// clusterRegions are the distinct regions that are mapped to, the primary one first.
func (m Mapping) clusterRegions() []string {
	found := []string{m.Homes[m.Primary]}
	for _, code := range m.codes() {
		if home := m.Homes[code]; !slices.Contains(found, home) {
			found = append(found, home)
		}
	}
	return found
}

// listed joins names for a sentence.
func listed[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}
