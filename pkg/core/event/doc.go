// Package event has the words with which a driving command reports what it does. They are the
// contract of its JSON output. With "-o json" every event is one line on stdout. The lines are in
// the order in which things happened, and the last line is of type "done".
//
// A consumer must ignore fields and types that it does not know. Times are
// RFC 3339 in UTC, durations are seconds. docs/events.md lists every field with
// an example of each type.
package event
