// Package events owns what others are told of: the outbox of events, the webhook endpoints that
// tenants and their partners register, and the deliveries of events to them. How a delivery travels
// is package webhooks' matter; what an event is about belongs to the package that emits it.
//
// What always holds:
//   - an event exists exactly if the change that it tells of does: EmitTx joins that transaction;
//   - an event is thin: it names what changed, in which version, and never says anything personal;
//   - each enabled endpoint that wants an event has exactly one delivery of it, however often the
//     event is fanned out;
//   - the rows are the truth: jobs only drive them. A delivery is sent at least once, always under
//     the event's own id, so that a receiver can tell a repetition;
//   - nothing is sent while a transaction is open, and a receiver that is slow or dead delays no other;
//   - a partner is told of the sales of its own channel and of no others.
package events
