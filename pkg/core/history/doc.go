// Package history is the model of what a run did and waited for. It is made of the events of
// "-o json" alone. All reports are written from this model, so the run itself and a later reader of
// its events write the same.
package history
