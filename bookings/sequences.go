package bookings

// Remedy is how a sequence is mended.
type Remedy string

// The remedies.
const (
	// RemedyConfirm: the booking is made after all.
	RemedyConfirm Remedy = "confirm"
	// RemedyRefund: the money goes back, once.
	RemedyRefund Remedy = "refund"
	// RemedyRelease: nothing was taken; the units go back on sale.
	RemedyRelease Remedy = "release"
	// RemedyPerson: nobody can know by rule; it is listed, and nothing is changed.
	RemedyPerson Remedy = "a person decides"
)

// Sequence is one course of events that could end in a charge without a unit, with what finds it,
// what mends it, under which kind that is counted, and the tests that play it. docs/money.md is made
// of these.
type Sequence struct {
	// Name is short and does not change.
	Name string
	// Events is what happens, in order.
	Events string
	// Queries are the statements that find it, by their names in queries; Checks those of the audit, and
	// Metrics those that move.
	Queries []string
	Checks  []string
	Metrics []string
	// Remedies are those that apply; which of them is the saga's to decide, by the state of the hold.
	Remedies []Remedy
	// Counted is the kinds of repair; none where nothing is mended by itself.
	Counted []RepairKind
	// Tests are Go tests of this package.
	Tests []string
}

// Names that several sequences share.
const (
	queryDueAttempts = "AttemptsDue"
	queryDueRefunds  = "RefundsDue"
	queryAllOpen     = "OpenAttemptsPage"
	queryAccounts    = "AccountsDue"
	queryUnresolved  = "UnresolvedPage"
	checkCaptured    = "every captured payment has a booking or a refund"
	checkPaid        = "every booking with a price was paid"
	checkRefunds     = "refunds add up and stay within what was captured"
	metricOldest     = "holdfast_payment_oldest_unresolved_seconds"
	metricOpen       = "holdfast_payment_attempts_open"
	metricReview     = "holdfast_payment_review_waiting"
	metricMessages   = "holdfast_webhook_messages_total"
)

// Sequences are all that are known. A new one that is found belongs here with its test.
func Sequences() []Sequence {
	return []Sequence{
		{
			Name:     "died before the charge",
			Events:   "checkout commits; its process dies before the provider is called; in time, the job charges and confirms; too late, nothing is sent",
			Queries:  []string{queryDueAttempts, queryAllOpen},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricOldest, metricOpen},
			Remedies: []Remedy{RemedyConfirm, RemedyRelease}, Counted: []RepairKind{RepairConfirmed, RepairReleased},
			Tests: []string{"TestACrashAtEveryStepIsMadeGood", "TestAHoldThatEndedIsNotCharged", "TestEachRepairIsCountedOnce"},
		},
		{
			Name:     "died between charge and confirm",
			Events:   "the provider approves; the process dies before it writes that down",
			Queries:  []string{queryDueAttempts, queryAllOpen},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricOldest, metricOpen},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund}, Counted: []RepairKind{RepairConfirmed, RepairOrphanRefunded},
			Tests: []string{"TestACrashAtEveryStepIsMadeGood", "TestEachRepairIsCountedOnce"},
		},
		{
			Name:     "the answer is lost",
			Events:   "the provider approves, and the call times out, breaks off or answers 500; the outcome is unknown and asked about",
			Queries:  []string{queryDueAttempts, queryAllOpen},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricOldest, metricOpen},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund, RemedyRelease}, Counted: []RepairKind{RepairConfirmed, RepairOrphanRefunded, RepairReleased},
			Tests: []string{"TestEveryOutcomeOfAProvider", "TestAnUnknownOutcomeIsShownAsProcessing"},
		},
		{
			Name:     "the request is lost",
			Events:   "the provider never receives the charge; it is sent again under its key while the hold lasts, then given up",
			Queries:  []string{queryDueAttempts, queryAllOpen},
			Metrics:  []string{metricOldest, metricOpen},
			Remedies: []Remedy{RemedyConfirm, RemedyRelease}, Counted: []RepairKind{RepairConfirmed, RepairReleased},
			Tests: []string{"TestAChargeThatTheProviderNeverSawIsGivenUp", "TestEveryOutcomeOfAProvider"},
		},
		{
			Name:     "the commit's answer is lost",
			Events:   "the database commits a step of the sale, and its answer does not arrive; the step is run again and finds itself done",
			Checks:   []string{checkCaptured, checkPaid},
			Remedies: []Remedy{RemedyConfirm},
			Tests:    []string{"TestALostCommitOfASaleIsMadeGood", "TestALostCommitOfAnEventIsMadeGood"},
		},
		{
			Name:     "late message",
			Events:   "only the provider's message tells of the success, after the checkout's own process has given up",
			Queries:  []string{"EventsOfAttempts"},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricMessages, "holdfast_webhook_lag_seconds"},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund}, Counted: []RepairKind{RepairConfirmed, RepairOrphanRefunded},
			Tests: []string{"TestAWebhookAloneEndsASale", "TestALateMessageIsARepair"},
		},
		{
			Name:     "no message",
			Events:   "the provider never sends its message; the payment is asked about",
			Queries:  []string{queryDueAttempts},
			Metrics:  []string{metricOldest},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund}, Counted: []RepairKind{RepairConfirmed, RepairOrphanRefunded},
			Tests: []string{"TestEveryOutcomeOfAProvider"},
		},
		{
			Name:     "messages doubled, early or out of order",
			Events:   "success and failure of one payment arrive in any order, twice, or before the call is answered; the success is final",
			Queries:  []string{"EventsOfAttempts"},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricMessages},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund}, Counted: []RepairKind{RepairConfirmed, RepairOrphanRefunded},
			Tests: []string{"TestASuccessIsFinalInAnyOrder", "TestAnEventIsAppliedOnce", "TestAnEventAndTheDriverAtOnce"},
		},
		{
			Name:     "a message before its payment",
			Events:   "a message names a payment that is not there yet, such as after a restore; it is kept, tried again for a week, and matched when the payment is there",
			Queries:  []string{"ProviderEventsToRetry", queryUnresolved},
			Metrics:  []string{metricReview},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund}, Counted: []RepairKind{RepairEventMatched},
			Tests: []string{"TestAnEventThatCameTooEarlyIsMatched"},
		},
		{
			Name:     "hold over, units still there",
			Events:   "the success comes after the deadline, nobody has taken the units: policy HONOUR sells, policy REFUND gives the money back",
			Queries:  []string{queryDueAttempts},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricOldest},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund}, Counted: []RepairKind{RepairConfirmed, RepairOrphanRefunded},
			Tests: []string{"TestALatePaymentIsHonoured", "TestALatePaymentIsHonouredWithoutASweeper", "TestUnderPolicyRefundALatePaymentGoesBack"},
		},
		{
			Name:     "hold over and reclaimed",
			Events:   "the success comes after the deadline, and somebody else has bought the units; the newer owner keeps them",
			Queries:  []string{queryDueAttempts, queryUnresolved},
			Checks:   []string{checkCaptured, "no seat with two owners"},
			Metrics:  []string{metricOldest},
			Remedies: []Remedy{RemedyRefund}, Counted: []RepairKind{RepairOrphanRefunded},
			Tests: []string{"TestALatePaymentForASoldUnitIsRefundedOnce", "TestExpiryAndSuccessAtTheSameMoment"},
		},
		{
			Name:     "partly reclaimed",
			Events:   "somebody else has taken one of several units of the hold; no part of it is sold, all of the money goes back",
			Queries:  []string{queryDueAttempts, queryUnresolved},
			Checks:   []string{checkCaptured, "every live hold owns all its seats"},
			Metrics:  []string{metricOldest},
			Remedies: []Remedy{RemedyRefund}, Counted: []RepairKind{RepairOrphanRefunded},
			Tests: []string{"TestALatePaymentForASoldUnitIsRefundedOnce"},
		},
		{
			Name:     "wrong amount",
			Events:   "the provider captures another amount than the price; nothing is sold for it",
			Queries:  []string{queryUnresolved},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricOldest},
			Remedies: []Remedy{RemedyRefund}, Counted: []RepairKind{RepairOrphanRefunded},
			Tests: []string{"TestAWrongAmountLeavesTheHoldToAnotherCard", "TestAnOrphanLeavesTheNextCardAlone"},
		},
		{
			Name:     "wrong account",
			Events:   "a message or an answer says that the money went to another account; it changes nothing",
			Queries:  []string{queryUnresolved},
			Metrics:  []string{metricReview, metricMessages},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestEventsThatDoNotFitChangeNothing", "TestAnAnswerThatDoesNotFitAChargeSettlesNothing", "TestEachWayInWhichAChargeCanDiffer"},
		},
		{
			Name:     "wrong currency",
			Events:   "a message or an answer is in another currency than the payment; it changes nothing",
			Queries:  []string{queryUnresolved},
			Metrics:  []string{metricReview, metricMessages},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestEventsThatDoNotFitChangeNothing", "TestAnAnswerThatDoesNotFitAChargeSettlesNothing", "TestEachWayInWhichAChargeCanDiffer"},
		},
		{
			Name:     "another provider's word",
			Events:   "a provider's signed message is about a payment through another one; it changes nothing",
			Queries:  []string{queryUnresolved},
			Metrics:  []string{metricReview},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestAnotherProvidersEventChangesNothing"},
		},
		{
			Name:     "declined, then approved",
			Events:   "we were told of a decline, and the money was taken all the same; a message or the provider's list tells",
			Queries:  []string{queryAccounts},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricMessages},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund}, Counted: []RepairKind{RepairConfirmed, RepairOrphanRefunded},
			Tests: []string{"TestADeclinedCardThatPaidAfterAllIsRefunded", "TestAnOverturnedDeclineIsARepair", "TestTheProvidersListFindsWhatNoLookUpCan"},
		},
		{
			Name:     "two payments for one hold",
			Events:   "the first card is given up, a second one pays, and the first turns out to have paid too: one buys, the other goes back",
			Queries:  []string{queryAccounts, queryUnresolved},
			Checks:   []string{checkCaptured, checkPaid},
			Metrics:  []string{metricOldest},
			Remedies: []Remedy{RemedyRefund}, Counted: []RepairKind{RepairOrphanRefunded},
			Tests: []string{"TestTwoCardsThatBothPay", "TestADeclinedCardThatPaidAfterAllIsRefunded"},
		},
		{
			Name:     "pressed twice",
			Events:   "a buyer checks out again, or at once in two windows; a hold has one open payment, and no second one is made",
			Checks:   []string{checkPaid},
			Remedies: []Remedy{RemedyConfirm},
			Tests:    []string{"TestTheSameRequestPaysOnce", "TestCheckoutsAtOnceMakeOneAttempt", "TestAnUnknownOutcomeIsShownAsProcessing"},
		},
		{
			Name:     "two charges for one payment",
			Events:   "the provider has a second charge for a payment that succeeded",
			Queries:  []string{queryAccounts, queryUnresolved},
			Metrics:  []string{metricReview},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestEachWayInWhichAChargeCanDiffer"},
		},
		{
			Name:     "a charge that nobody asked for",
			Events:   "the provider's list or an exported file has a captured charge that no payment of ours asked for",
			Queries:  []string{queryAccounts, queryUnresolved},
			Metrics:  []string{metricReview},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestTheProvidersListFindsWhatNoLookUpCan", "TestADryRunSaysWhatTheRealOneDoes"},
		},
		{
			Name:     "the provider's amount is not ours",
			Events:   "a charge was captured, or given back, for another amount than our rows say; or the provider denies a success",
			Queries:  []string{queryAccounts, queryUnresolved},
			Metrics:  []string{metricReview},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestEachWayInWhichAChargeCanDiffer", "TestTheProvidersWordGoesBeforeAFiles"},
		},
		{
			Name:     "a refund is lost",
			Events:   "the provider pays a refund, and its answer is lost; or the process dies around it; it is asked for again under its key",
			Queries:  []string{queryDueRefunds, "OpenRefundsPage"},
			Checks:   []string{checkRefunds},
			Metrics:  []string{metricOldest},
			Remedies: []Remedy{RemedyRefund}, Counted: []RepairKind{RepairRefundCompleted},
			Tests: []string{"TestACrashAroundARefundPaysOnce", "TestARefundDrivenTwiceIsPaidOnce", "TestALostCommitOfARefundIsMadeGood", "TestRefundsThatWereMendedAreCounted"},
		},
		{
			Name:     "a refund fails",
			Events:   "the provider fails a refund; a further action asks again, later each time",
			Queries:  []string{queryDueRefunds},
			Checks:   []string{checkCaptured, checkRefunds},
			Metrics:  []string{metricOldest},
			Remedies: []Remedy{RemedyRefund}, Counted: []RepairKind{RepairRefundRetried},
			Tests: []string{"TestAFailedRefundIsAskedForAgain", "TestRefundsThatWereMendedAreCounted"},
		},
		{
			Name:     "a refund comes back",
			Events:   "the provider says that a refund was paid, and later that it failed: the buyer's bank returned it",
			Queries:  []string{"ProviderEventsToReview"},
			Metrics:  []string{metricReview, metricMessages},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestARefundThatComesBackIsForAPerson"},
		},
		{
			Name:     "a refund fails for good",
			Events:   "the provider fails every action of a refund",
			Queries:  []string{queryUnresolved},
			Checks:   []string{checkCaptured},
			Metrics:  []string{metricReview},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestARefundThatAlwaysFailsIsGivenUp", "TestARefundThatIsGivenUpWaitsForAPerson"},
		},
		{
			Name:     "the provider is down",
			Events:   "open payments cannot be asked about; nothing is guessed, nothing released, and it is asked again",
			Queries:  []string{queryDueAttempts, queryUnresolved},
			Metrics:  []string{metricOldest, metricOpen},
			Remedies: []Remedy{RemedyConfirm, RemedyRefund, RemedyRelease}, Counted: []RepairKind{RepairConfirmed, RepairOrphanRefunded, RepairReleased},
			Tests: []string{"TestAnUnknownOutcomeIsShownAsProcessing", "TestAPaymentOfAnUnknownProviderIsLeftAlone"},
		},
		{
			Name:     "money without a booking, in our own rows",
			Events:   "should be impossible: a success whose booking and refund are both missing",
			Queries:  []string{"PaidUnconfirmed"},
			Checks:   []string{checkCaptured},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestWhatShouldBeImpossibleIsNamed", "TestTheAuditFindsDamage"},
		},
		{
			Name:     "a booking without money, in our own rows",
			Events:   "should be impossible: a booking with a price that no payment bought",
			Queries:  []string{"ConfirmedUnpaid"},
			Checks:   []string{checkPaid},
			Remedies: []Remedy{RemedyPerson},
			Tests:    []string{"TestWhatShouldBeImpossibleIsNamed", "TestTheAuditFindsDamage"},
		},
	}
}
