package inventory

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"
)

// RefusalCode says which rule spoke. Codes are part of the API: they are added, never renamed.
type RefusalCode string

// The rules that refuse a hold, an extension, a release or a checkout.
const (
	// RefusalSoldOut: the pool or night has fewer units left than asked for.
	RefusalSoldOut RefusalCode = "SOLD_OUT"
	// RefusalHeldByOther: the seat is held or booked by somebody else.
	RefusalHeldByOther RefusalCode = "HELD_BY_OTHER"
	// RefusalHeldByYou: a live or confirmed hold of the same buyer has the unit; its id is in the line.
	RefusalHeldByYou RefusalCode = "HELD_BY_YOU"
	// RefusalInOtherBlock: the seat belongs to another channel's block, or to the house.
	RefusalInOtherBlock RefusalCode = "IN_OTHER_BLOCK"
	// RefusalNoSuchSeat: the show has no such seat.
	RefusalNoSuchSeat RefusalCode = "NO_SUCH_SEAT"
	// RefusalOrphanSeat: the selection would leave this one seat alone between others that are taken.
	RefusalOrphanSeat RefusalCode = "ORPHAN_SEAT"
	// RefusalCompanionSeat: the companion's seat is only sold together with its wheelchair place.
	RefusalCompanionSeat RefusalCode = "COMPANION_SEAT"
	// RefusalNotTogether: enough seats are left, but not so many beside each other.
	RefusalNotTogether RefusalCode = "NOT_TOGETHER"
	// RefusalNoSuchNight: the night has no plan or no rate, so it is not sellable.
	RefusalNoSuchNight RefusalCode = "NO_SUCH_NIGHT"
	// RefusalStopSell: the night is closed for sale.
	RefusalStopSell RefusalCode = "STOP_SELL"
	// RefusalClosedToArrival: no stay may begin on the check-in date.
	RefusalClosedToArrival RefusalCode = "CLOSED_TO_ARRIVAL"
	// RefusalClosedToDeparture: no stay may end on the check-out date.
	RefusalClosedToDeparture RefusalCode = "CLOSED_TO_DEPARTURE"
	// RefusalMinStayArrival: stays that begin on this date must be longer.
	RefusalMinStayArrival RefusalCode = "MIN_STAY_ARRIVAL"
	// RefusalMaxStayArrival: stays that begin on this date must be shorter.
	RefusalMaxStayArrival RefusalCode = "MAX_STAY_ARRIVAL"
	// RefusalMinStayThrough: stays that include this night must be longer.
	RefusalMinStayThrough RefusalCode = "MIN_STAY_THROUGH"
	// RefusalMaxStayThrough: stays that include this night must be shorter.
	RefusalMaxStayThrough RefusalCode = "MAX_STAY_THROUGH"
	// RefusalTooEarlyToBook: the arrival is further ahead than the hotel or the rate plan sells.
	RefusalTooEarlyToBook RefusalCode = "TOO_EARLY_TO_BOOK"
	// RefusalTooLateToBook: the last moment to book an arrival on this date has passed.
	RefusalTooLateToBook RefusalCode = "TOO_LATE_TO_BOOK"
	// RefusalRatePlanClosed: the rate plan is not sold any more.
	RefusalRatePlanClosed RefusalCode = "RATE_PLAN_CLOSED"
	// RefusalTooManyGuests: a room of the stay has more guests than its type takes.
	RefusalTooManyGuests RefusalCode = "TOO_MANY_GUESTS"
	// RefusalHouseFull: the property's house limit of the night is reached.
	RefusalHouseFull RefusalCode = "HOUSE_FULL"
	// RefusalSaleNotOpen: the show's sale has not begun.
	RefusalSaleNotOpen RefusalCode = "SALE_NOT_OPEN"
	// RefusalSaleClosed: the show's sale has ended, or the show is not on sale.
	RefusalSaleClosed RefusalCode = "SALE_CLOSED"
	// RefusalChannelSuspended: the channel may not sell at present.
	RefusalChannelSuspended RefusalCode = "CHANNEL_SUSPENDED"
	// RefusalNotSoldByChannel: the channel does not sell this show or property.
	RefusalNotSoldByChannel RefusalCode = "NOT_SOLD_BY_CHANNEL"
	// RefusalNotInBlock: the seat is not in the block from which it was to be taken.
	RefusalNotInBlock RefusalCode = "NOT_IN_BLOCK"
	// RefusalBlockReleased: the block was released, or its moment has come.
	RefusalBlockReleased RefusalCode = "BLOCK_RELEASED"
	// RefusalLimitPerHold: the hold asks for more units than the terms allow in one hold.
	RefusalLimitPerHold RefusalCode = "LIMIT_PER_HOLD"
	// RefusalLimitPerBuyer: the buyer has as many live holds as the terms allow.
	RefusalLimitPerBuyer RefusalCode = "LIMIT_PER_BUYER"
	// RefusalLimitPerInstrument: the card or account has as many live holds as the terms allow.
	RefusalLimitPerInstrument RefusalCode = "LIMIT_PER_INSTRUMENT"
	// RefusalStayTooLong: the stay has more nights than the terms allow.
	RefusalStayTooLong RefusalCode = "STAY_TOO_LONG"
	// RefusalPriceChanged: the total differs from the one the buyer expected.
	RefusalPriceChanged RefusalCode = "PRICE_CHANGED"
	// RefusalHoldExpired: the hold's deadline has passed.
	RefusalHoldExpired RefusalCode = "HOLD_EXPIRED"
	// RefusalHoldEnded: the hold was released, confirmed or expired before.
	RefusalHoldEnded RefusalCode = "HOLD_ENDED"
	// RefusalPaymentInProgress: the hold is being paid for.
	RefusalPaymentInProgress RefusalCode = "PAYMENT_IN_PROGRESS"
	// RefusalNoExtensionLeft: the hold was extended as often or as far as its terms allow.
	RefusalNoExtensionLeft RefusalCode = "NO_EXTENSION_LEFT"
	// RefusalRequestKeyReused: the request key was used before with other content.
	RefusalRequestKeyReused RefusalCode = "REQUEST_KEY_REUSED"
	// RefusalNotBooked: the line of the booking was cancelled or marked before, so it cannot be now.
	RefusalNotBooked RefusalCode = "NOT_BOOKED"
	// RefusalPresaleCode: the presale code is not one of this show, or not good at this time.
	RefusalPresaleCode RefusalCode = "PRESALE_CODE_INVALID"
	// RefusalPresaleUsedUp: every use of the presale code is taken.
	RefusalPresaleUsedUp RefusalCode = "PRESALE_CODE_USED_UP"
	// RefusalPromotionCode: the code is of no promotion that is for one of the stays at this time.
	RefusalPromotionCode RefusalCode = "PROMOTION_CODE_INVALID"
	// RefusalPromotionUsedUp: every use of the promotion is taken.
	RefusalPromotionUsedUp RefusalCode = "PROMOTION_USED_UP"
	// RefusalCancellationClosed: the show has begun, the guests were due or did not come: only the
	// seller cancels it now.
	RefusalCancellationClosed RefusalCode = "CANCELLATION_CLOSED"
	// RefusalFeeChanged: the cancellation would cost or give back something else than was expected.
	RefusalFeeChanged RefusalCode = "FEE_CHANGED"
	// RefusalRefundTooHigh: less than that is left of what was paid.
	RefusalRefundTooHigh RefusalCode = "REFUND_TOO_HIGH"
	// RefusalRefundNotFailed: the refund is under way, paid, or tried again already.
	RefusalRefundNotFailed RefusalCode = "REFUND_NOT_FAILED"
	// RefusalAllotmentSold: more is sold from the allotment on the night than its new size.
	RefusalAllotmentSold RefusalCode = "ALLOTMENT_SOLD"
	// RefusalAllotmentEnded: the allotment was released or cancelled before.
	RefusalAllotmentEnded RefusalCode = "ALLOTMENT_ENDED"
	// RefusalAllotmentTentative: nothing is set aside yet, so there is nothing to release.
	RefusalAllotmentTentative RefusalCode = "ALLOTMENT_TENTATIVE"
	// RefusalAdmissionRequired: guests hold units of this show with a grant of its waiting room, and the
	// request has none that is good.
	RefusalAdmissionRequired RefusalCode = "ADMISSION_REQUIRED"
	// RefusalAdmissionToken: the token of the waiting room is none of this room, or not this buyer's.
	RefusalAdmissionToken RefusalCode = "ADMISSION_TOKEN_INVALID"
	// RefusalAdmissionUsed: the token was exchanged before, and what it gave is used up, over, or another
	// session's.
	RefusalAdmissionUsed RefusalCode = "ADMISSION_USED"
	// RefusalNotYourTurn: others are before this visitor.
	RefusalNotYourTurn RefusalCode = "NOT_YOUR_TURN"
	// RefusalRoomNotOpen: the waiting room has not opened.
	RefusalRoomNotOpen RefusalCode = "WAITING_ROOM_NOT_OPEN"
	// RefusalRoomPaused: the waiting room lets nobody in at present.
	RefusalRoomPaused RefusalCode = "WAITING_ROOM_PAUSED"
	// RefusalRoomClosed: the waiting room has closed.
	RefusalRoomClosed RefusalCode = "WAITING_ROOM_CLOSED"
	// RefusalVerification: the waiting room asks for a proof, and the request has none that is good.
	RefusalVerification RefusalCode = "VERIFICATION_REQUIRED"
	// RefusalRoomTaken: the room is another guest's on one of the nights.
	RefusalRoomTaken RefusalCode = "ROOM_TAKEN"
	// RefusalRoomOutOfOrder: the room has a period out of order on one of the nights.
	RefusalRoomOutOfOrder RefusalCode = "ROOM_OUT_OF_ORDER"
	// RefusalRoomRetired: the room is not used any more.
	RefusalRoomRetired RefusalCode = "ROOM_RETIRED"
	// RefusalRoomOtherType: the room is not of the type that was booked, and no upgrade was asked for.
	RefusalRoomOtherType RefusalCode = "ROOM_OF_OTHER_TYPE"
	// RefusalNoSingleRoom: no room of the type is free on all the nights.
	RefusalNoSingleRoom RefusalCode = "NO_SINGLE_ROOM"
	// RefusalNoRoom: on one of the nights no room of the type is free.
	RefusalNoRoom RefusalCode = "NO_ROOM"
	// RefusalNoRoomAssigned: the guests have no room yet.
	RefusalNoRoomAssigned RefusalCode = "NO_ROOM_ASSIGNED"
	// RefusalOutOfOrderOverlap: the room has another period out of order on one of the nights.
	RefusalOutOfOrderOverlap RefusalCode = "OUT_OF_ORDER_OVERLAP"
	// RefusalOutOfOrderEnded: the period was ended before, or has passed.
	RefusalOutOfOrderEnded RefusalCode = "OUT_OF_ORDER_ENDED"
	// RefusalNotDue: at the hotel the date has not come yet, or has passed.
	RefusalNotDue RefusalCode = "NOT_DUE"
	// RefusalCheckedIn: the guests have come.
	RefusalCheckedIn RefusalCode = "CHECKED_IN"
	// RefusalNotCheckedIn: the guests have not come, or have gone.
	RefusalNotCheckedIn RefusalCode = "NOT_CHECKED_IN"
	// RefusalNightsLeft: nights of the stay are left that would stay sold.
	RefusalNightsLeft RefusalCode = "NIGHTS_LEFT"
	// RefusalNotNoShow: the guests are not marked as a no-show, or its end was settled before.
	RefusalNotNoShow RefusalCode = "NOT_NO_SHOW"
	// RefusalChangeClosed: the stay is over, or only the seller changes it now.
	RefusalChangeClosed RefusalCode = "CHANGE_CLOSED"
	// RefusalAmountNotDue: the amount was settled or waived before.
	RefusalAmountNotDue RefusalCode = "AMOUNT_NOT_DUE"
	// RefusalProposalStale: the night has room again, or the proposal would cost something else now.
	RefusalProposalStale RefusalCode = "PROPOSAL_STALE"
	// RefusalWaitingListClosed: nobody may join the waiting list at present.
	RefusalWaitingListClosed RefusalCode = "WAITING_LIST_CLOSED"
	// RefusalWaitingListFull: as many wait in the list as it takes.
	RefusalWaitingListFull RefusalCode = "WAITING_LIST_FULL"
	// RefusalWaitingListLimit: the buyer waits for as much as one buyer may.
	RefusalWaitingListLimit RefusalCode = "WAITING_LIST_LIMIT"
	// RefusalBusy: too many want the same units at this moment; try again after RetryAfter.
	RefusalBusy RefusalCode = "BUSY"
)

// Refusal is an expected no: data for the caller, not a fault. It implements error so that it ends
// the transaction; nothing was changed.
type Refusal struct {
	Code    RefusalCode
	Message string
	// Lines names every unit that was refused and why, in the order of the request.
	Lines []RefusedLine
	// Quote is what the stays of the request cost now, when the code is RefusalPriceChanged; else nil.
	Quote *Quote
	// RetryAfter is how long to wait before trying again; 0 when waiting does not help.
	RetryAfter time.Duration
}

// RefusedLine is one unit that could not be had.
type RefusedLine struct {
	// Line is the position of the line in the request, from 0.
	Line int
	Code RefusalCode
	// Level says whose rule spoke against a stay; "" where the code is no rule of stays.
	Level RuleLevel
	// Exactly what the code speaks about is set.
	Seat  *SeatID
	Pool  *PoolID
	Night *civil.Date
	// Available is how many units are left of a pool or night that has too few.
	Available *int64
	// Limit is the bound that was exceeded, in seats, units, nights or holds.
	Limit *int64
	// HeldByYou is the buyer's own live hold that has the unit.
	HeldByYou *HoldID
}

// Error is the message for people.
func (r *Refusal) Error() string { return r.Message }

// Refuse makes a refusal without lines.
func Refuse(code RefusalCode, message string) *Refusal {
	return &Refusal{Code: code, Message: message}
}

// refuseLines makes a refusal of its lines, in the order of the request; the first one's code is the
// refusal's.
func refuseLines(lines []RefusedLine) *Refusal {
	slices.SortStableFunc(lines, func(a, b RefusedLine) int { return a.Line - b.Line })
	code := lines[0].Code
	return &Refusal{Code: code, Message: messageOf(code), Lines: lines}
}

// messageOf is what a person is told about a code.
func messageOf(code RefusalCode) string {
	switch code {
	case RefusalSoldOut:
		return "not enough units are left"
	case RefusalHeldByOther:
		return "somebody else has just taken this"
	case RefusalHeldByYou:
		return "you already have this"
	case RefusalInOtherBlock:
		return "this seat is not sold through this channel"
	case RefusalNoSuchSeat:
		return "the show has no such seat"
	case RefusalOrphanSeat:
		return "this selection would leave a single seat alone"
	case RefusalCompanionSeat:
		return "this seat is only sold together with the wheelchair place beside it"
	case RefusalNotTogether:
		return "so many seats beside each other are not left"
	case RefusalNoSuchNight:
		return "this night is not on sale"
	case RefusalStopSell:
		return "this night is closed for sale"
	case RefusalClosedToArrival:
		return "no stay can begin on this date"
	case RefusalClosedToDeparture:
		return "no stay can end on this date"
	case RefusalMinStayArrival, RefusalMinStayThrough:
		return "the stay is shorter than allowed"
	case RefusalMaxStayArrival, RefusalMaxStayThrough, RefusalStayTooLong:
		return "the stay is longer than allowed"
	case RefusalTooEarlyToBook:
		return "stays are not sold so long before the arrival"
	case RefusalTooLateToBook:
		return "it is too late to book an arrival on this date"
	case RefusalRatePlanClosed:
		return "this rate plan is not sold any more"
	case RefusalTooManyGuests:
		return "the room does not take so many guests"
	case RefusalHouseFull:
		return "the house is full on this night"
	case RefusalSaleNotOpen:
		return "the sale has not begun"
	case RefusalSaleClosed:
		return "the show is not on sale"
	case RefusalChannelSuspended:
		return "this channel may not sell at present"
	case RefusalNotSoldByChannel:
		return "this channel does not sell this"
	case RefusalNotInBlock:
		return "the seat is not in that block"
	case RefusalBlockReleased:
		return "the block is released"
	case RefusalLimitPerHold:
		return "the hold asks for more than one hold may have"
	case RefusalLimitPerBuyer:
		return "this buyer has as many live holds as allowed"
	case RefusalLimitPerInstrument:
		return "this payment method has as many live holds as allowed"
	case RefusalPriceChanged:
		return "the price is not the one that was expected"
	case RefusalHoldExpired:
		return "the hold's deadline has passed"
	case RefusalHoldEnded:
		return "the hold has ended"
	case RefusalPaymentInProgress:
		return "the hold is being paid for"
	case RefusalNoExtensionLeft:
		return "the hold cannot be extended any further"
	case RefusalRequestKeyReused:
		return "this request key was used before with other content"
	case RefusalNotBooked:
		return "the line of the booking is not booked any more"
	case RefusalPresaleCode:
		return "this presale code is not good for this show at this time"
	case RefusalPresaleUsedUp:
		return "this presale code has been used as often as it can be"
	case RefusalPromotionCode:
		return "this code is good for none of these stays at this time"
	case RefusalPromotionUsedUp:
		return "this promotion has been used as often as it can be"
	case RefusalCancellationClosed:
		return "only the seller can cancel this now"
	case RefusalFeeChanged:
		return "the cancellation costs something else than was expected"
	case RefusalRefundTooHigh:
		return "less than that is left of what was paid"
	case RefusalRefundNotFailed:
		return "the refund has not failed for good"
	case RefusalAllotmentSold:
		return "more is sold from the allotment than its new size"
	case RefusalAllotmentEnded:
		return "the allotment has ended"
	case RefusalAllotmentTentative:
		return "the allotment is tentative: it has set nothing aside"
	case RefusalAdmissionRequired:
		return "this show is held with an admission from its waiting room"
	case RefusalAdmissionToken:
		return "this is no token of this waiting room for this session"
	case RefusalAdmissionUsed:
		return "this token was used before; join again"
	case RefusalNotYourTurn:
		return "others are before you in the waiting room"
	case RefusalRoomNotOpen:
		return "the waiting room has not opened"
	case RefusalRoomPaused:
		return "the waiting room lets nobody in at present"
	case RefusalRoomClosed:
		return "the waiting room has closed"
	case RefusalVerification:
		return "the waiting room asks for a proof"
	case RefusalRoomTaken, RefusalRoomOutOfOrder, RefusalRoomRetired, RefusalRoomOtherType, RefusalNoSingleRoom, RefusalNoRoom, RefusalNoRoomAssigned:
		return "the physical room cannot be had"
	case RefusalOutOfOrderOverlap, RefusalOutOfOrderEnded:
		return "the period out of order cannot be made or changed so"
	case RefusalNotDue, RefusalCheckedIn, RefusalNotCheckedIn, RefusalNightsLeft, RefusalNotNoShow:
		return "the stay is not where this can be done"
	case RefusalChangeClosed:
		return "only the seller can change this now"
	case RefusalAmountNotDue:
		return "the amount is not due any more"
	case RefusalProposalStale:
		return "the proposal is not good any more"
	case RefusalWaitingListClosed:
		return "nobody may join this waiting list at present"
	case RefusalWaitingListFull:
		return "the waiting list is full"
	case RefusalWaitingListLimit:
		return "this buyer waits for as much as allowed"
	case RefusalBusy:
		return "too many requests want the same units at this moment"
	}
	return "this cannot be sold"
}
