// Package graph owns the GraphQL API: its schema (schema/*.graphqls), how requests arrive over HTTP,
// who they act as, what they may cost, how their parts are decoded and the answers encoded, and how
// faults become errors. It owns no rule of the business: a resolver decodes, calls one method of a
// service, and encodes. Services authorise; resolvers do not.
//
// cmd mounts it:
//
//	handler, err := graph.NewHandler(graph.Config{
//		Tenants: tenantService, Inventory: inventoryService, Bookings: bookingService,
//		Advisor: advisor, Events: eventService, Admission: rooms, Introspection: explorer, Logger: logger, Metrics: registry,
//	})
//	mux.Handle("/graphql", handler)
//	mux.Handle("GET /waiting-rooms/{address}", graph.NewWaitingRoomHandler(rooms))
//
// Invariants:
//   - An id of another kind is refused before anything is looked up; an id of another tenant and an
//     id that never existed are answered byte for byte alike.
//   - An expected refusal is data of the mutation's result; only what the client did wrong in form, or
//     what went wrong here, is an error.
//   - No error shows a cause, a statement or a stack: they go to the log under the error's id.
//   - The number of statements of an operation does not grow with the length of its lists.
//   - Geometry is immutable and kept in memory. Whole answers to public queries over GET are kept for
//     two seconds at most; all else of status and stock is read when it is asked for.
package graph
