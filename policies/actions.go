package policies

import (
	"strings"

	"github.com/holdfast/holdfast/tenants"
)

// Action names something that an actor may be allowed to do: a resource and a verb, such as
// "hold.place".
type Action = tenants.Action

// The actions of all packages.
const (
	ActionTenantCreate   = tenants.ActionTenantCreate
	ActionTenantRead     = tenants.ActionTenantRead
	ActionPropertyCreate = tenants.ActionPropertyCreate
	ActionPropertyRead   = tenants.ActionPropertyRead
	ActionPropertyUpdate = tenants.ActionPropertyUpdate
	ActionVenueCreate    = tenants.ActionVenueCreate
	ActionVenueRead      = tenants.ActionVenueRead
	ActionChannelCreate  = tenants.ActionChannelCreate
	ActionChannelRead    = tenants.ActionChannelRead
	ActionChannelSuspend = tenants.ActionChannelSuspend
	ActionKeyCreate      = tenants.ActionKeyCreate
	ActionKeyRead        = tenants.ActionKeyRead
	ActionKeyRevoke      = tenants.ActionKeyRevoke
	ActionSessionStart   = tenants.ActionSessionStart

	ActionChartImport      Action = "chart.import"
	ActionChartRead        Action = "chart.read"
	ActionShowCreate       Action = "show.create"
	ActionShowUpdate       Action = "show.update"
	ActionShowRead         Action = "show.read"
	ActionPricesSet        Action = "prices.set"
	ActionPoolCreate       Action = "pool.create"
	ActionPoolUpdate       Action = "pool.update"
	ActionRoomTypeCreate   Action = "roomtype.create"
	ActionRoomTypeRead     Action = "roomtype.read"
	ActionNightsSet        Action = "nights.set"
	ActionNightsRead       Action = "nights.read"
	ActionRatesSet         Action = "rates.set"
	ActionRatesRead        Action = "rates.read"
	ActionChargesSet       Action = "charges.set"
	ActionPromotionSet     Action = "promotion.set"
	ActionHouseLimitsSet   Action = "houselimits.set"
	ActionTermsSet         Action = "terms.set"
	ActionTermsRead        Action = "terms.read"
	ActionAvailabilityRead Action = "availability.read"

	ActionHoldPlace      Action = "hold.place"
	ActionHoldRead       Action = "hold.read"
	ActionHoldReadAny    Action = "hold.read_any"
	ActionHoldExtend     Action = "hold.extend"
	ActionHoldRelease    Action = "hold.release"
	ActionHoldReleaseAny Action = "hold.release_any"

	ActionBookingCheckout  Action = "booking.checkout"
	ActionBookingRead      Action = "booking.read"
	ActionBookingReadAny   Action = "booking.read_any"
	ActionBookingCancel    Action = "booking.cancel"
	ActionBookingCancelAny Action = "booking.cancel_any"
	ActionBookingNoShow    Action = "booking.noshow"
	ActionBookingChange    Action = "booking.change"
	ActionBookingChangeAny Action = "booking.change_any"
	ActionBookingSettle    Action = "booking.settle"
	ActionCompensationRead Action = "compensation.read"
	ActionCompensate       Action = "compensation.decide"
	ActionWalkTermsSet     Action = "walkterms.set"

	ActionPaymentRead  Action = "payment.read"
	ActionRefundCreate Action = "refund.create"
	ActionAuditRun     Action = "audit.run"
	ActionEventRead    Action = "event.read"

	ActionPaymentReview    Action = "payment.review"
	ActionEventReplay      Action = "event.replay"
	ActionEndpointRead     Action = "endpoint.read"
	ActionEndpointManage   Action = "endpoint.manage"
	ActionCancellationRead Action = "cancellation.read"
	ActionCancellationSet  Action = "cancellation.set"
	ActionPresaleRead      Action = "presale.read"
	ActionPresaleSet       Action = "presale.set"
	ActionAllotmentRead    Action = "allotment.read"
	ActionAllotmentSet     Action = "allotment.set"
	ActionJobInspect              = tenants.ActionJobInspect

	ActionWaitingRoomManage Action = "waitingroom.manage"
	ActionWaitingRoomRead   Action = "waitingroom.read"
	ActionWaitingRoomJoin   Action = "waitingroom.join"
	ActionWaitingRoomEnter  Action = "waitingroom.enter"

	ActionWaitingListManage Action = "waitinglist.manage"
	ActionWaitingListRead   Action = "waitinglist.read"
	ActionWaitingListJoin   Action = "waitinglist.join"

	ActionAuditRead           = tenants.ActionAuditRead
	ActionHoldOverride Action = "hold.override"
	ActionUnitHistory  Action = "unit.history"
	ActionReportRead   Action = "report.read"

	ActionBlockRead        Action = "block.read"
	ActionBlockSet         Action = "block.set"
	ActionBlockOverride    Action = "block.override"
	ActionChannelSalesRead Action = "channel.sales_read"
	ActionChannelSalesSet  Action = "channel.sales_set"
	ActionMemberRead              = tenants.ActionMemberRead
	ActionMemberManage            = tenants.ActionMemberManage
	ActionCustomerSecret          = tenants.ActionCustomerSecret
	ActionRefundLimited    Action = "refund.create_limited"

	ActionRoomRead       Action = "physicalroom.read"
	ActionRoomSet        Action = "physicalroom.set"
	ActionRoomOutOfOrder Action = "physicalroom.out_of_order"
	ActionDeskRead       Action = "desk.read"
	ActionDeskWork       Action = "desk.work"
	ActionTradeRead      Action = "trade.read"
	ActionTradeSet       Action = "trade.set"
	ActionTradeImport    Action = "trade.import"
)

// Meaning says what an action lets somebody do, for people who set roles.
type Meaning struct {
	Action Action
	Text   string
}

// Meanings are all actions, in the order in which the table of roles shows them.
func Meanings() []Meaning {
	return []Meaning{
		{ActionTenantCreate, "Set up a new tenant, with its first key"},
		{ActionTenantRead, "See a tenant's settings; platform operators also list all tenants"},
		{ActionPropertyCreate, "Add a hotel"},
		{ActionPropertyRead, "See hotels"},
		{ActionPropertyUpdate, "Say where a hotel is and what it has"},
		{ActionVenueCreate, "Add a venue"},
		{ActionVenueRead, "See venues"},
		{ActionChannelCreate, "Add a channel of sale"},
		{ActionChannelRead, "See channels of sale"},
		{ActionChannelSuspend, "Stop and resume sales through a channel"},
		{ActionKeyCreate, "Issue a key; its secret is shown once"},
		{ActionKeyRead, "See which keys exist, without their secrets"},
		{ActionKeyRevoke, "End a key for good"},
		{ActionSessionStart, "Start a session for a guest"},
		{ActionChartImport, "Import a seating chart"},
		{ActionChartRead, "See the seating charts themselves"},
		{ActionShowCreate, "Add a show"},
		{ActionShowUpdate, "Change a show and its status"},
		{ActionShowRead, "See shows with their seat maps, pools and prices"},
		{ActionPricesSet, "Set the price levels of a show"},
		{ActionPoolCreate, "Add a general-admission pool"},
		{ActionPoolUpdate, "Change the size of a pool"},
		{ActionRoomTypeCreate, "Add a room type"},
		{ActionRoomTypeRead, "See room types"},
		{ActionNightsSet, "Set rooms, oversell and restrictions per night, and booking windows"},
		{ActionNightsRead, "See the plan of nights, oversell included"},
		{ActionRatesSet, "Set rate plans, and the rates of nights"},
		{ActionRatesRead, "See what rates are made of: guests, differences, taxes, fees and promotions"},
		{ActionChargesSet, "Set taxes, fees and how they are rounded"},
		{ActionPromotionSet, "Add, change and end promotions"},
		{ActionHouseLimitsSet, "Set the limit of a whole house per night"},
		{ActionTermsSet, "Set the terms of sale"},
		{ActionTermsRead, "See the terms of sale"},
		{ActionAvailabilityRead, "See what is free, and search it"},
		{ActionHoldPlace, "Hold seats, pool places and nights"},
		{ActionHoldRead, "See holds of one's own"},
		{ActionHoldReadAny, "See everybody's holds in the tenant"},
		{ActionHoldExtend, "Extend a hold of one's own"},
		{ActionHoldRelease, "Release a hold of one's own"},
		{ActionHoldReleaseAny, "Release anybody's hold in the tenant"},
		{ActionBookingCheckout, "Pay for a hold of one's own"},
		{ActionBookingRead, "See bookings of one's own"},
		{ActionBookingReadAny, "See everybody's bookings in the tenant"},
		{ActionBookingCancel, "Cancel bookings of one's own"},
		{ActionBookingCancelAny, "Cancel anybody's booking in the tenant"},
		{ActionBookingNoShow, "Mark a guest who did not arrive"},
		{ActionBookingChange, "Move stays of one's own bookings, as long as what is given back is free to cancel"},
		{ActionBookingChangeAny, "Move stays of anybody's booking in the tenant"},
		{ActionBookingSettle, "Settle or waive what a moved stay still costs"},
		{ActionCompensationRead, "See proposals for guests without a room, and what walking them costs"},
		{ActionCompensate, "Upgrade or walk guests for whom there is no room"},
		{ActionWalkTermsSet, "Set what walking guests costs"},
		{ActionPaymentRead, "See the payment attempts of what one may see"},
		{ActionRefundCreate, "Give money back outside a cancellation"},
		{ActionAuditRun, "Check that stock, bookings and money agree"},
		{ActionEventRead, "Follow what happens to bookings"},
		{ActionPaymentReview, "See every payment that is not settled, every repair, and each step of a payment"},
		{ActionEventReplay, "Have events sent to an endpoint again"},
		{ActionEndpointRead, "See the endpoints that are told of events, without their secrets"},
		{ActionEndpointManage, "Add, change, test and remove endpoints that are told of events"},
		{ActionCancellationRead, "See what a cancellation costs"},
		{ActionCancellationSet, "Set what a cancellation costs, and the tax that prices include"},
		{ActionPresaleRead, "See presale codes and their uses"},
		{ActionPresaleSet, "Add and end presale codes"},
		{ActionAllotmentRead, "See allotments; partners see those of their own channel"},
		{ActionAllotmentSet, "Set stock aside for a channel, and release it"},
		{ActionWaitingRoomManage, "Open, change, pause and close waiting rooms"},
		{ActionWaitingRoomRead, "See waiting rooms"},
		{ActionWaitingRoomJoin, "Join a waiting room, and see one's place in it"},
		{ActionWaitingRoomEnter, "Come in from a waiting room when called"},
		{ActionWaitingListManage, "Open, change and close waiting lists"},
		{ActionWaitingListRead, "See waiting lists and who waits in them"},
		{ActionWaitingListJoin, "Join a waiting list, see one's own entries and leave"},
		{ActionJobInspect, "See and steer background jobs"},
		{ActionAuditRead, "See what was changed, by whom and from where"},
		{ActionHoldOverride, "Hold nights against their restrictions, within what there is to sell"},
		{ActionUnitHistory, "See everything that became of a seat, a pool or a night"},
		{ActionReportRead, "See and download reports of occupancy and pick-up"},
		{ActionBlockRead, "See seat blocks: all, or those of one's own channel"},
		{ActionBlockSet, "Set seats aside for a channel or the house, move and release them"},
		{ActionBlockOverride, "Hold free seats of another channel's block, with a reason that is kept"},
		{ActionChannelSalesRead, "See what a channel may sell, and its commission"},
		{ActionChannelSalesSet, "Set what a channel may sell, and its commission"},
		{ActionMemberRead, "See who works for the tenant, and as what"},
		{ActionMemberManage, "Invite and remove members, and bind and unbind their roles"},
		{ActionCustomerSecret, "Make and end the secrets that sign references to a channel's own customers"},
		{ActionRefundLimited, "Give money back outside a cancellation, up to the binding's limit on one booking"},
		{ActionRoomRead, "See the physical rooms of hotels, and when they are out of order"},
		{ActionRoomSet, "Add and change physical rooms of hotels"},
		{ActionRoomOutOfOrder, "Put physical rooms out of order, and back"},
		{ActionDeskRead, "See who arrives, stays and leaves, and in which rooms"},
		{ActionDeskWork, "Assign rooms, and check guests in and out"},
		{ActionTradeRead, "See the codes of partners' systems and their messages, and export nights, rates and calendars"},
		{ActionTradeSet, "Set what partners' systems call hotels and room types"},
		{ActionTradeImport, "Take nights, rates and restrictions from partners' messages, calendars and files"},
	}
}

// Resource is the sort of thing that an action is about.
type Resource string

// split is an action's resource and verb, as the policy names them.
func split(action Action) (Resource, string) {
	resource, verb, _ := strings.Cut(string(action), ".")
	return Resource(resource), verb
}
