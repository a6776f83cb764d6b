// Package trade owns what Holdfast says to and hears from the other systems of the hotel trade: messages
// of the OpenTravel Alliance as AlpineBits and channel managers send them, calendars of RFC 5545, and
// files of nights.
//
// What always holds:
//   - a message is applied whole, in one transaction, or not at all, and the answer is the standard's own;
//   - the same message again, by its EchoToken and TimeStamp, changes nothing and is answered the same;
//   - what a message says and Holdfast cannot hold is named by a warning of the answer;
//   - dates of messages are nights, the last included; a calendar's end is the day after. Only here are
//     they converted;
//   - what is exported and imported again changes nothing;
//   - an imported calendar opens only what it has closed.
package trade
