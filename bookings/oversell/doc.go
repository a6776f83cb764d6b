// Package oversell says how many rooms a hotel should sell beyond those that it has, from how many of
// its own guests came in the past. It is arithmetic alone: it knows no database, and who reads history
// and writes limits uses it.
//
// A model is fitted to past stays (Fit). For a night it gives the distribution of how many of the
// bookings on the books will come (ShowUps), and from that the limit at which one sale more would
// cost as much as it brings (Advise): the newsvendor's rule on the show-up distribution. Replay tells
// what a policy would have earned, and how many guests it would have walked, on stays that the model
// has not seen.
//
// Words: a stay shows up when its guests come. Lead time is the days between booking and arrival;
// days out is the days that are still left. To walk a guest is to lodge the guest elsewhere.
package oversell
