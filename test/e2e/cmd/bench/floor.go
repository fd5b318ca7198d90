package main

import (
	"context"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// floors are what was measured without the plugin.
type floors struct {
	restarts []restarts   // by run
	moves    [][]bareMove // by run
	removals times
}

// component is one whose pods are restarted for the floor, in the order of rollouts.
type component struct {
	name, title string
	// next returns the pod to restart next; nil for the first one.
	next func(ctx context.Context, client pd.Client, left []string) (string, error)
	// serves returns an error unless a pod that is Ready serves; nil where Ready says so.
	serves func(ctx context.Context, client pd.Client, pod string) error
}

var components = []component{
	{name: "pd", title: "PD", next: nextOfPD, serves: healthy},
	{name: "tikv", title: "TiKV"},
	{name: "tidb", title: "TiDB"},
}

// restart is the time from the deletion of a pod until its successor serves.
type restart struct {
	component string
	took      time.Duration
}

// restarts are those of all pods of a cluster, one after the other.
type restarts []restart

// of are the times of a component's pods, of all components for "".
func (r restarts) of(component string) (all times) {
	for _, one := range r {
		if component == "" || one.component == component {
			all = append(all, one.took)
		}
	}
	return all
}

// sums are the sums of a component's restarts, or of all for "", one for each run.
func sums(runs []restarts, component string) (all times) {
	for _, r := range runs {
		var sum time.Duration
		for _, took := range r.of(component) {
			sum += took
		}
		all = append(all, sum)
	}
	return all
}

// allPods is the floor of an upgrade: each pod restarts once, one at a time.
func allPods(f floors) time.Duration { return sums(f.restarts, "").median() }

// oneStore is the floor of a new store: it starts at least as a store does that restarts.
func oneStore(f floors) time.Duration {
	var all times
	for _, r := range f.restarts {
		all = append(all, r.of("tikv")...)
	}
	return all.median()
}

// removedStore is the floor of a scale-in.
func removedStore(f floors) time.Duration { return f.removals.median() }
