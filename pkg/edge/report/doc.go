// Package report shows what a driving command does. It takes events in, folds
// them into one view and writes that view in one of three ways: a live screen
// on a terminal, plain lines in a log, or the events themselves as JSON.
//
// Reporting can neither delay nor fail a change: Report only puts an event into
// a queue, a slow terminal costs intermediate numbers and nothing else, and after
// a closed pipe nothing more is written.
//
// It also renders the tables of the commands that change nothing.
package report
