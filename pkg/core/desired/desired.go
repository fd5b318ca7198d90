// Package desired is what the user wants of a cluster, worked out to the last object and
// compared with what exists. Package render makes it, and package plan decides by it; the
// simulator makes its own, without manifests.
package desired

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// State is all that is wanted of a cluster.
type State struct {
	Cluster topology.Cluster
	Objects []Object // what the cluster needs as a whole
	Groups  []Group  // in dependency order
}

// Group is what is wanted of one component.
type Group struct {
	topology.Group
	Services []Object
	Config   []Object // ConfigMaps, named by the pod template of Set; none where it is left as it is
	Set      Object   // the StatefulSet, its partition closed
	// Lacks is what the component's pods need and only a person can give back. Until then
	// none of them is restarted or removed: it would not start.
	Lacks []Lack
	// Findings are what somebody else has made of the component's objects.
	Findings []Finding
	// Template is the fingerprint of the pod template. Two templates of one
	// fingerprint mean the same to the components, so a difference is what
	// makes a rollout.
	Template string
	// Founders is how many members are to found PD's cluster together, 0 when there is a
	// cluster. With fewer than most of them none does.
	Founders int
}

// Drift is how an object that exists differs from the wanted one.
type Drift int

// An object is as wanted, or is to be created or updated.
const (
	None Drift = iota
	Missing
	Differs
)

// Object is a Kubernetes object that the cluster needs.
type Object struct {
	Kind, Name string
	Drift      Drift
	Manifest   runtime.Object
	// Mounted: pods use it already, so one that is missing is made at once.
	Mounted bool
	// Record is what the ledger has to say of the pod template before the object is
	// written; its zero value where there is nothing to say.
	Record state.Template
}

// Group finds the wanted group of a component.
func (w State) Group(k topology.Kind) (Group, bool) {
	for _, g := range w.Groups {
		if g.Kind == k {
			return g, true
		}
	}
	return Group{}, false
}

// Lack is something that the pods of a component need and only a person can give back.
type Lack struct {
	Need Need
	// Want says what that is, and Observed what is there instead.
	Want, Observed string
	Remedy         remedy.Remedy // what a person can do
}

// Need is what pods can lack.
type Need int

// What pods can lack: the ConfigMap that they mount, and a version of this plugin that
// knows the whole of their spec.
const (
	MountedConfigMap Need = iota
	KnownSpec
)

// Finding is something that somebody else did in the database, or another version of
// this plugin in the cluster. Status and runs report it.
type Finding struct {
	Reason    event.NoticeReason
	Component topology.Kind
	Member    string // the pod's name; "" for the component as a whole
	Text      string
	Remedy    remedy.Remedy // what a person can do
}
