package inventory

import (
	"time"

	"cloud.google.com/go/civil"
)

// RuleLevel says whose rule spoke against a stay.
type RuleLevel string

// The levels. None lifts what another says.
const (
	// RuleLevelRoomType: the plan of the room type's night, or the room type itself.
	RuleLevelRoomType RuleLevel = "ROOM_TYPE"
	// RuleLevelRatePlan: the rate plan, its nights or its booking window.
	RuleLevelRatePlan RuleLevel = "RATE_PLAN"
	// RuleLevelHotel: the hotel's booking window or house limit.
	RuleLevelHotel RuleLevel = "HOTEL"
	// RuleLevelTerms: the sales terms.
	RuleLevelTerms RuleLevel = "TERMS"
	// RuleLevelChannel: what the channel may sell.
	RuleLevelChannel RuleLevel = "CHANNEL"
)

// brokenRule is a rule that speaks against a stay.
type brokenRule struct {
	Code  RefusalCode
	Level RuleLevel
	// Night is the night, or the date of arrival or departure, that the rule is of; nil for the whole stay.
	Night *civil.Date
	// Limit is the bound that was exceeded, in nights, guests or days before the arrival.
	Limit *int64
}

// nightRules are what a room type or a rate plan says of a night. nil is no rule, or no price.
type nightRules struct {
	amount            *int64
	stopSell          bool
	closedToArrival   bool
	closedToDeparture bool
	minStayArrival    *int64
	maxStayArrival    *int64
	minStayThrough    *int64
	maxStayThrough    *int64
}

// nightTable has the rules of nights by date. A night that is not in it is not planned.
type nightTable map[civil.Date]nightRules

// stayFacts are everything by which a stay is judged and priced. They are read once for many stays of one
// room type and rate plan; judgeStay and priceStay change nothing in them.
type stayFacts struct {
	// now is the database's clock, by the clock on the property's wall.
	now time.Time
	// maxNights bounds the stay; 0 where the terms were asked before.
	maxNights int64
	maxGuests int64
	// nights reach from the first check-in to the last check-out, both included.
	nights nightTable
	// window is the hotel's.
	window bookingWindow
	// plan is what the rooms are sold as; nil is the standard rate, and then what follows is empty.
	plan       *planFacts
	planNights nightTable
	// parentNights have the prices from which the plan's are derived; nil are those of nights.
	parentNights nightTable
}

// today is the date at the property.
func (f stayFacts) today() civil.Date { return civil.DateOf(f.now) }

// judgeStay is the rule engine: every rule that speaks against a stay, whatever is left of the stock. Hold,
// extend, checkout and whatever shows stays ask it and nothing else, so that what is offered can be held.
//
// The rules are independent of each other, and of the room type and the rate plan both speak. Stop-sell and
// length of stay "through" look at every occupied night; closed to arrival and length of stay "by arrival"
// at the check-in date; closed to departure at the check-out date, which is no night of the stay and may
// have no row.
func judgeStay(stay StayRequest, f stayFacts) []brokenRule {
	var broken []brokenRule
	nights := int64(stay.nights())
	if f.maxNights > 0 && nights > f.maxNights {
		broken = append(broken, brokenRule{Code: RefusalStayTooLong, Level: RuleLevelTerms, Limit: &f.maxNights})
	}
	for _, room := range stay.Guests {
		if room.Count() > f.maxGuests {
			broken = append(broken, brokenRule{Code: RefusalTooManyGuests, Level: RuleLevelRoomType, Limit: &f.maxGuests})
			break
		}
	}
	broken = append(broken, f.window.judge(stay.CheckIn, f.now, RuleLevelHotel)...)
	if f.plan != nil {
		if f.plan.state != RatePlanActive {
			broken = append(broken, brokenRule{Code: RefusalRatePlanClosed, Level: RuleLevelRatePlan})
		}
		broken = append(broken, f.plan.window.judge(stay.CheckIn, f.now, RuleLevelRatePlan)...)
	}
	for night := stay.CheckIn; night.Before(stay.CheckOut); night = night.AddDays(1) {
		rules, planned := f.nights[night]
		_, priced := f.nightPrice(night)
		switch {
		case !planned:
			broken = append(broken, brokenRule{Code: RefusalNoSuchNight, Level: RuleLevelRoomType, Night: &night})
			continue
		case !priced && f.plan != nil && f.plan.ownPrices():
			broken = append(broken, brokenRule{Code: RefusalNoSuchNight, Level: RuleLevelRatePlan, Night: &night})
		case !priced:
			broken = append(broken, brokenRule{Code: RefusalNoSuchNight, Level: RuleLevelRoomType, Night: &night})
		default:
			broken = append(broken, rules.through(night, nights, RuleLevelRoomType)...)
		}
		broken = append(broken, f.planNights[night].through(night, nights, RuleLevelRatePlan)...)
	}
	broken = append(broken, f.nights[stay.CheckIn].arrival(stay.CheckIn, nights, RuleLevelRoomType)...)
	broken = append(broken, f.planNights[stay.CheckIn].arrival(stay.CheckIn, nights, RuleLevelRatePlan)...)
	broken = append(broken, f.nights[stay.CheckOut].departure(stay.CheckOut, RuleLevelRoomType)...)
	return append(broken, f.planNights[stay.CheckOut].departure(stay.CheckOut, RuleLevelRatePlan)...)
}

// through are the rules of an occupied night.
func (r nightRules) through(night civil.Date, nights int64, level RuleLevel) []brokenRule {
	var broken []brokenRule
	if r.stopSell {
		broken = append(broken, brokenRule{Code: RefusalStopSell, Level: level, Night: &night})
	}
	if least := r.minStayThrough; least != nil && nights < *least {
		broken = append(broken, brokenRule{Code: RefusalMinStayThrough, Level: level, Night: &night, Limit: least})
	}
	if most := r.maxStayThrough; most != nil && nights > *most {
		broken = append(broken, brokenRule{Code: RefusalMaxStayThrough, Level: level, Night: &night, Limit: most})
	}
	return broken
}

// arrival are the rules of the check-in date.
func (r nightRules) arrival(checkIn civil.Date, nights int64, level RuleLevel) []brokenRule {
	var broken []brokenRule
	if r.closedToArrival {
		broken = append(broken, brokenRule{Code: RefusalClosedToArrival, Level: level, Night: &checkIn})
	}
	if least := r.minStayArrival; least != nil && nights < *least {
		broken = append(broken, brokenRule{Code: RefusalMinStayArrival, Level: level, Night: &checkIn, Limit: least})
	}
	if most := r.maxStayArrival; most != nil && nights > *most {
		broken = append(broken, brokenRule{Code: RefusalMaxStayArrival, Level: level, Night: &checkIn, Limit: most})
	}
	return broken
}

// departure is the rule of the check-out date.
func (r nightRules) departure(checkOut civil.Date, level RuleLevel) []brokenRule {
	if !r.closedToDeparture {
		return nil
	}
	return []brokenRule{{Code: RefusalClosedToDeparture, Level: level, Night: &checkOut}}
}

// refuseStay makes refused lines of the rules that speak against the stay of a line.
func refuseStay(line int, broken []brokenRule) []RefusedLine {
	var refused []RefusedLine
	for _, rule := range broken {
		refused = append(refused, RefusedLine{Line: line, Code: rule.Code, Level: rule.Level, Night: rule.Night, Limit: rule.Limit})
	}
	return refused
}
