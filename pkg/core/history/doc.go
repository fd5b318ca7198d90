// Package history is the model of what a run did and what it waited for, made of the events of
// "-o json" alone. All reports are written from it, so that they say the same whether they are made
// by the run itself or later from its events.
package history
