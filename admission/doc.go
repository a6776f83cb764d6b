// Package admission is the waiting room in front of a show: it lets people in at the rate that the
// sale sustains, fairly, and without a row in the database for each of those who wait.
//
// A visitor joins and is given a signed ticket with an order: a place in the line. Who joins in the
// opening window draws a random one; who comes later is ordered by arrival. Orders are microseconds
// since the room opened, so a place is a moment. Each process counts who joined, by where in the
// line, and writes its sums now and then; the sums say how far the watermark may move to call as many
// as the rate allows. Visitors read one small public document, the same bytes for all, and compare
// the watermark with their own order. Who was called exchanges the ticket for a grant of package
// inventory, and placeHold uses the grant in the hold's own transaction.
//
// Nothing depends on a process that drives: whoever is asked looks whether the watermark is due and
// moves it with a guarded statement, judged by the database's clock. A process that dies loses the
// counts of its last seconds: those visitors are called all the same, a little early.
package admission
