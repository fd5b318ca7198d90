// Package report shows what a driving command does. The package takes events in, makes a single view of them and
// writes the view in three ways. They are a live screen on a terminal, plain lines in a log, and the events
// themselves as JSON.
//
// Reporting can neither delay nor fail a change, because Report only puts an event into a queue. A slow terminal
// costs intermediate numbers and nothing else. After a closed pipe nothing more is written.
//
// It also renders the tables of the commands that change nothing.
package report
