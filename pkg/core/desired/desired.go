// Package desired has what the user wants of a cluster, as objects that are compared with what exists. Package render
// makes these objects, and package plan decides by them. The simulation makes its own objects, without manifests.
package desired

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// State is everything that is wanted of a cluster.
type State struct {
	Cluster topology.Cluster
	Objects []Object // what the cluster needs as a whole
	Groups  []Group  // in dependency order
}

// Group is what is wanted of one component.
type Group struct {
	topology.Group
	Services []Object
	Config   []Object // ConfigMaps that the pod template of Set names; none if they are left as they are
	Set      Object   // the StatefulSet, its partition closed
	// PutBack is the StatefulSet as it was applied last. It differs where others have changed fields of the live pod
	// template. PutBack is written before any other step of the component. Otherwise pods that restart or are added
	// would run what nobody has asked for in the TidbCluster.
	PutBack Object
	// OtherVolumes: volumes are removed or mounted at another path. The StatefulSet is then made again with its
	// new pod template, because a pod of that template needs the new claims. So Set is not written before.
	OtherVolumes bool
	// Lacks are objects that the component's pods need and only a person can provide. Until then no
	// pod is restarted or removed: it would not start.
	Lacks []Lack
	// Notices are changes of the component's objects by others.
	Notices []Notice
	// Template is the fingerprint of the pod template. Two templates with the same fingerprint mean
	// the same, so another fingerprint leads to a rollout.
	Template string
	// Founders is how many members bootstrap PD together, 0 when there is a cluster. More than half
	// of them are needed.
	Founders int
	// Spare is how many members the component has more until other members have new volumes.
	Spare int
}

// Replaces reports whether a member that a user has named is still to get new volumes. Its claims are then the same as
// when it was named. A member that the user does not ask for any more leaves for good.
func (g Group) Replaces(m state.Member) bool {
	r, named := g.Replacements[m.Name]
	return named && g.InSpec(m.Ordinal) && m.HasClaimOf(r.Claims)
}

// ReplacesAny reports whether a user has asked for new volumes of a member that has its old ones.
func (g Group) ReplacesAny(got state.Group) bool { return slices.ContainsFunc(got.Members, g.Replaces) }

// Size returns how many members the component is to have now. While there is no PD cluster, these are all members
// that bootstrap PD, wanted or not. The reason is that PD needs more than half of them.
func (g Group) Size() int { return max(g.Group.Size()+g.Spare, g.Founders) }

// Active returns how many members are to run now, 0 for a suspended component.
func (g Group) Active() int {
	if g.Suspend {
		return 0
	}
	return g.Group.Active() + g.Spare
}

// Ordinals returns the ordinals of the members that the component is to have now.
func (g Group) Ordinals() topology.Ordinals { return g.Group.Ordinals().Resized(g.Size()) }

// Has reports whether the component is to have a member of an ordinal now.
func (g Group) Has(ordinal int) bool { return g.Ordinals().Has(ordinal) }

// Named reports whether a member that a user has named is still to be restarted. Its pod is then the same as when it
// was named.
func (g Group) Named(m state.Member) bool {
	r, named := g.Restarts[m.Name]
	return named && m.Pod != nil && m.Pod.UID == r.Pod
}

// Current reports whether a member has the pod that is wanted, so that it is not restarted.
func (g Group) Current(got state.Group, m state.Member) bool {
	return m.Pod != nil && !got.Outdated(m) && g.Set.Drift == None && !g.Named(m)
}

// Drift is how an object that exists differs from the wanted one.
type Drift int

// The values of Drift. An object equals what is wanted, does not exist, differs, or is unknown because what is wanted
// cannot be rendered.
const (
	None Drift = iota
	Missing
	Differs
	Unrendered
)

// Object is a Kubernetes object that the cluster needs.
type Object struct {
	Kind, Name string
	Drift      Drift
	Manifest   runtime.Object
	// Mounted: pods use the object already, so a missing one is created at once.
	Mounted bool
	// Record is the record of the pod template that must be in the ledger before the object is written. It is zero
	// for no record.
	Record state.Template
	// Recorded is the record that was observed. With another record the object is not written, because a newer version
	// of this program may have written that record.
	Recorded state.Template
	// Generation is the generation of the StatefulSet that was observed, 0 for none. With another generation, another
	// process has changed the StatefulSet, and neither the record nor the StatefulSet is written.
	Generation int64
	// Version is the resourceVersion of the Service or the ConfigMap that was observed, "" for none. With another
	// version the object is not written, because another process may have written newer content.
	Version string
	// Edits are the fields of the live pod template that are put back with the object.
	Edits []Edit
}

// Group returns the wanted group of a component.
func (w State) Group(k topology.Kind) (Group, bool) {
	for _, g := range w.Groups {
		if g.Kind == k {
			return g, true
		}
	}
	return Group{}, false
}

// Lack is something that the pods of a component need and only a person can provide.
type Lack struct {
	Need Need
	// Object is the name of the object that is missing or not as it must be. It is "" where the reason says enough.
	Object string
	// Whole: the whole cluster lacks it, so that it is reported once.
	Whole bool
	// Want says what that is, and Observed what is there instead.
	Want, Observed string
	Remedy         remedy.Remedy // what a person can do
}

// Need is what pods can lack.
type Need int

// What pods can lack: a ConfigMap that they mount, or a certificate that others accept. Also a version of this plugin
// that knows their whole spec, or a pod template with the version that is asked for.
const (
	MountedConfigMap Need = iota
	KnownSpec
	ValidCertificate
	AskedVersion
)

// Notice is a change by another user or tool in the database. Or another version of this plugin has made a change in
// the cluster. Status and runs report it.
type Notice struct {
	Reason    event.NoticeReason
	Component topology.Kind
	Member    string // the pod's name; "" for the component as a whole
	Object    string // the name of what else it is about; "" for most
	Text      string
	Remedy    remedy.Remedy // what a person can do
}
