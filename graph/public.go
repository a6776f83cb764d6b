package graph

import (
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// publicAnswer is what an operation's answer may be kept as.
type publicAnswer struct {
	// maps is whether it shows the seats of a show.
	maps bool
	// onlyTimes is whether every field that is shown as asOf is the time at which a state was true, so
	// that two answers that differ in nothing else say the same.
	onlyTimes bool
}

// publicOf tells whether an operation reads only what is the same for everybody who comes through a
// channel: the root fields and types below, and nothing that is added to the schema and not to them.
func publicOf(operation *graphql.OperationContext) (publicAnswer, bool) {
	p := publicAnswer{onlyTimes: true}
	if operation.Operation.Operation != ast.Query || !p.selection(operation.Operation.SelectionSet, map[*ast.FragmentDefinition]bool{}) {
		return publicAnswer{}, false
	}
	return p, true
}

// isPublic says of what type's fields everybody may see all. A list or a single read of the root is
// public by its name.
func isPublic(object, field string) bool {
	switch object {
	case "Query":
		switch field {
		case "show", "shows", "chart", "hotel", "hotels", "venue", "quote", "searchStays", "__typename":
			return true
		}
		return false
	case "Show", "ShowConnection", "ShowEdge", "PageInfo", "Event", "Venue", "PriceLevel", "Pool", "Money",
		"SeatMap", "SeatState", "SeatMapChange", "SeatChange",
		"Chart", "Size", "Point", "Category", "Zone", "Row", "Seat", "Area", "AreaText",
		"Quote", "StayQuote", "StayPrice", "NightPrice", "ChargePrice", "AppliedPromotion", "RoundingRule",
		"Property", "PropertyConnection", "PropertyEdge", "RoomType", "Calendar", "CalendarNight", "HotelDescription",
		"StaySearch", "StayLeftOut", "HotelStaysEdge", "HotelStays", "StayOffer",
		"CancellationPolicy", "CancellationStep", "CancellationFee", "TaxRate":
		return true
	}
	return false
}

// selection walks each fragment once, however often it is spread.
func (p *publicAnswer) selection(set ast.SelectionSet, seen map[*ast.FragmentDefinition]bool) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if !isPublic(s.ObjectDefinition.Name, s.Name) || strings.HasPrefix(s.Name, "__") && s.Name != "__typename" {
				return false
			}
			p.maps = p.maps || s.ObjectDefinition.Name == "Show" && s.Name == "seatMap"
			p.onlyTimes = p.onlyTimes && (s.Alias != asOfField || s.Name == asOfField)
			if !p.selection(s.SelectionSet, seen) {
				return false
			}
		case *ast.InlineFragment:
			if !p.selection(s.SelectionSet, seen) {
				return false
			}
		case *ast.FragmentSpread:
			if seen[s.Definition] {
				continue
			}
			seen[s.Definition] = true
			if !p.selection(s.Definition.SelectionSet, seen) {
				return false
			}
		}
	}
	return true
}

const asOfField = "asOf"
