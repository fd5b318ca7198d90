package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// fault is something that can be broken in the world.
type fault struct {
	name, what string
	// begin breaks it, and returns what has happened and what mends it.
	begin func(w *world) (said string, mend func(), err error)
}

// faults are all that can be broken.
var faults = []fault{
	host(0), host(1), host(2),
	{"leader", "the plugin reaches PD's leader no more, and everybody else does", func(w *world) (string, func(), error) {
		name := w.leader()
		if name == "" {
			return "", nil, fmt.Errorf("PD has no leader: create a cluster first")
		}
		w.cut[name] = true
		return "requests from outside to " + name + ", which leads PD, get no answer", func() { delete(w.cut, name) }, nil
	}},
	{"tunnel", "the API server reaches no kubelet, so no member can be asked", func(w *world) (string, func(), error) {
		w.away = true
		return "the API server reaches no kubelet; all processes run", func() { w.away = false }, nil
	}},
	{"webhook", "an admission webhook refuses all StatefulSets", func(w *world) (string, func(), error) {
		w.denied = `admission webhook "policy.try.example" denied the request: change freeze`
		return "an admission webhook refuses what is written into StatefulSets", func() { w.denied = "" }, nil
	}},
	{"disk", "the disk of the third store fails", func(w *world) (string, func(), error) {
		const ordinal = 2
		name := w.cluster.PodName(topology.TiKV, ordinal)
		if uidOf(w.model, topology.TiKV, ordinal) == "" {
			return "", nil, fmt.Errorf("there is no %s: create a cluster first", name)
		}
		w.model.BreakDisk(topology.TiKV, ordinal)
		return "the disk of " + name + " fails", func() { w.model.MendDisk(topology.TiKV, ordinal) }, nil
	}},
}

func host(ordinal int) fault {
	name := fmt.Sprintf("host-%d", ordinal)
	return fault{name, fmt.Sprintf("node-%d is lost, with its members of PD, TiKV and TiDB", ordinal), func(w *world) (string, func(), error) {
		if uidOf(w.model, topology.PD, ordinal) == "" {
			return "", nil, fmt.Errorf("nothing runs on node-%d: create a cluster first", ordinal)
		}
		w.model.LoseHost(ordinal)
		return fmt.Sprintf("node-%d is lost; Kubernetes misses it after 40 seconds", ordinal), func() { w.model.RestoreHost(ordinal) }, nil
	}}
}

// breaks breaks something until it is mended, and returns what has happened.
func (w *world) breaks(name string) (string, error) {
	var names []string
	for _, f := range faults {
		names = append(names, f.name)
		if f.name != name {
			continue
		}
		if w.broken[name] != nil {
			return "", fmt.Errorf("%s is broken already; to mend it: %s mend %s", name, program(), name)
		}
		said, mend, err := f.begin(w)
		if err != nil {
			return "", err
		}
		w.broken[name] = mend
		return said, nil
	}
	return "", fmt.Errorf("%q cannot be broken; what can: %s", name, strings.Join(names, ", "))
}

// mends mends what is broken, all of it where no name is given, and returns what.
func (w *world) mends(name string) (string, error) {
	var all []string
	for _, f := range faults {
		if mend := w.broken[f.name]; mend != nil && (name == "" || name == f.name) {
			mend()
			delete(w.broken, f.name)
			all = append(all, f.name)
		}
	}
	if len(all) == 0 {
		return "", fmt.Errorf("nothing of that name is broken")
	}
	return "mended: " + strings.Join(all, ", "), nil
}
