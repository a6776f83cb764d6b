package inventory

import "time"

// Everything has a limit. What a tenant may tune stands in the sales terms; these bound the work
// that one request or one batch can cause.
const (
	// maxLines bounds the lines of one hold request.
	maxLines = 20
	// maxHoldUnits bounds the unit rows of one hold: seats, counters and nights together.
	maxHoldUnits = 1000
	// maxStayDays bounds check-in to check-out before the terms are even read.
	maxStayDays = 366
	// maxRooms bounds the rooms of one stay line.
	maxRooms = 100
	// maxRoomGuests bounds the guests of one room, maxChildAge the age of a child in years.
	maxRoomGuests = 100
	maxChildAge   = 17
	// maxRatePlans bounds the rate plans of a hotel, maxAdvanceDays the edges of a booking window.
	maxRatePlans   = 200
	maxAdvanceDays = 730
	// maxPoolQuantity bounds the quantity of one pool line.
	maxPoolQuantity = 1000
	// maxReap is how many due holds one claim gives back in its transaction.
	maxReap = 100
	// sweepBatch is how many due holds one transaction of the sweeper ends.
	sweepBatch = 50
	// archiveBatch is how many seats or pool counters one transaction moves to the past tables.
	archiveBatch = 1000
	// maxShowsToArchive is how many shows one run of the archiver looks at.
	maxShowsToArchive = 1000
	// maxRounds bounds how often a claim starts over after due holds or full counters.
	maxRounds = 20
	// busyRetryAfter is what a refused BUSY request is told to wait.
	busyRetryAfter = 500 * time.Millisecond
	// maxSeatsPerShow bounds a show's inventory.
	maxSeatsPerShow = 100_000
	// maxPriceLevels and maxPools bound a show's structure.
	maxPriceLevels = 50
	maxPools       = 50
	// longestQueue is how many claims of one show or property may wait in a process; at a thousand claims
	// a second the last of them waits two seconds.
	longestQueue = 2000
	// maxBatch and maxBatchUnits bound the claims, and about their unit rows, of one transaction.
	maxBatch      = 256
	maxBatchUnits = 1000
	// maxKnownOwners bounds the pools and room types whose show or property is remembered.
	maxKnownOwners = 10_000
	// maxBestQuantity bounds the seats that one line has chosen for it, maxSections the sections it names.
	maxBestQuantity = 100
	maxSections     = 100
	// maxChoices is how often seats are chosen anew for a request that others were quicker than.
	maxChoices = 8
	// topCandidates is among how many of the best sets of seats a choice is made at random, and
	// maxAlternatives how many sets one claim locks at most to take one of them.
	topCandidates   = 8
	maxAlternatives = 8
	// choiceRefreshAge and choiceMaxAge are how old a map may be that seats are chosen from: past the first
	// it is read again in the background, past the second before anybody chooses.
	choiceRefreshAge = 500 * time.Millisecond
	choiceMaxAge     = 2 * time.Second
	// maxChoiceMaps bounds the shows whose seats are kept to choose from, about 16 bytes a seat, and
	// maxKnownHalls the halls, about 200. maxWindowSizes is for how many sizes of groups a hall keeps its
	// seats in order.
	maxChoiceMaps  = 64
	maxKnownHalls  = 32
	maxWindowSizes = 16
	// minCodeLength and maxCodeLength bound a presale code; shorter ones could be guessed.
	minCodeLength = 4
	maxCodeLength = 64
	// maxCodesPerCall bounds the presale codes of one command, maxCodeUses the uses of each.
	maxCodesPerCall = 1000
	maxCodeUses     = 1_000_000
	// shardsKnownFor is how long it is believed what was left of the rows of a pool's counter.
	shardsKnownFor = time.Second
	// usualOccupancy is for how many adults a room's price is where nothing is said about guests.
	usualOccupancy = 2
	// maxBaseOccupancy bounds for how many adults a price is.
	maxBaseOccupancy = 50
	// maxChargeName bounds the name of a tax or fee, and of a promotion, in characters.
	maxChargeName = 100
	// maxAgeBands bounds the bands of children of a room type, maxAdjustments the differences of a rate
	// plan, and maxCharges the taxes and fees of a hotel.
	maxAgeBands    = 10
	maxAdjustments = 30
	maxCharges     = 20
	// maxOpenPromotions bounds the promotions of a hotel that apply by themselves at one time: each of
	// them is tried on each price. maxPromotionsRead bounds those of all hotels of one request.
	maxOpenPromotions = 50
	maxPromotionsRead = 1000
	// maxPromotionScopes bounds the room types and rate plans that a promotion names.
	maxPromotionScopes = 100
	// maxOverrideReason bounds, in characters, why restrictions are overridden.
	maxOverrideReason = 500
	// maxSeatsPerEdit bounds the seats of one change of a block: one transaction locks and writes them.
	maxSeatsPerEdit = 20_000
	// maxNamesPerEdit bounds the rows and the zones that one change names.
	maxNamesPerEdit = 1000
	// maxBlocksPerShow bounds the blocks of a show that stand at one time.
	maxBlocksPerShow = 500
	// maxBlocksEver bounds those that were ever made of a show: each map knows them all.
	maxBlocksEver = 5_000
	// maxBlockReason and maxBlockNote bound what is said of a block, in characters.
	maxBlockReason = 200
	maxBlockNote   = 1000
	// maxSeatsNamed bounds the seats that an answer about a block names; it counts the others.
	maxSeatsNamed = 1000
	// unblockBatch is how many seats of a released block one transaction lets go.
	unblockBatch = 1000
	// maxOffers bounds the shows and the properties that a channel may be limited to.
	maxOffers = 1000
	// maxShards bounds how finely a pool's counter is split.
	maxShards = 256
	// listStaleness is how old lists and calendars may be: enough that the nearest replica answers.
	listStaleness = 5 * time.Second
	// mapStaleness is how old the map of a show and what is left of its pools may be.
	mapStaleness = 2 * time.Second
	// maxAllotted bounds what an allotment has of one pool or night.
	maxAllotted = 1_000_000
	// maxReleaseDays bounds how long before a night its allotments are released.
	maxReleaseDays = 730
	// MaxNightsPerEdit bounds the nights that one transaction writes, counted for each room type and for
	// the house; longer edits are jobs.
	MaxNightsPerEdit = 731
	// MaxNightRange bounds the range of an edit: five years.
	MaxNightRange = 1827
	// maxNightsPerJob bounds what one job writes, as MaxNightsPerEdit counts it.
	maxNightsPerJob = 200_000
	// nightsPerChunk is how many nights of a room type a job writes in one transaction.
	nightsPerChunk = 366
	// maxJobsAtOnce is how many jobs one run of the worker writes at.
	maxJobsAtOnce = 100
	// MaxStayRule bounds the nights that a rule of the length of stay names.
	MaxStayRule = maxStayDays
	// MaxCalendarDays bounds one calendar read.
	MaxCalendarDays = 731
	// MaxSearchHotels bounds the hotels of one search, and maxSearchNights the nights of room types that it
	// reads: forty hotels with ten room types for a year.
	MaxSearchHotels = 500
	maxSearchNights = 150_000
	// maxShiftDays bounds how many days around the dates asked for a search looks.
	maxShiftDays = 7
	// maxMonthNights bounds a stay that may begin on any day of a month.
	maxMonthNights = 31
	// maxAlternativeStays is how many other arrivals a hotel offers that has nothing.
	maxAlternativeStays = 3
	maxCircleKilometres = 500
	// MaxPage bounds a page of any list.
	MaxPage = 100
)
