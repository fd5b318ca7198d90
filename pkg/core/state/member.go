package state

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Member is an ordinal of a component: its pod, its claims, and what the database knows of the member.
type Member struct {
	Kind    topology.Kind
	Ordinal int
	Name    string // the pod's name, whether the pod exists or not
	Pod     *Pod   // nil when there is no such pod
	// Gone is since when this process has observed that a wanted pod is missing; zero when it is
	// not.
	Gone time.Time
	// Refusal says why Kubernetes has not made the pod that is missing. It is "" when the pod is not missing, or the
	// reason is not known.
	Refusal string
	// Lacks is what the missing pod names and what does not exist. It is set where that is why there is no pod.
	Lacks Lacking
	// LostVolume is a volume of the member that no node can use, where the pod waits for a node.
	LostVolume LostVolume
	// NotServing is since when this process has observed that the member does not serve; zero while
	// it serves. It differs between processes: it bounds a wait, and is no evidence of how long the
	// member is down.
	NotServing time.Time
	// ReportedDown is since when the database has said in every observation of this process that
	// the member does not serve. An observation in which the database did not answer starts it
	// again: unknown is not down.
	ReportedDown time.Time
	// Refusing is since when the member's own port has refused connections in every observation of
	// this process.
	Refusing time.Time
	// Silent is since when the member's own port has given no answer in every observation of this process. One
	// request that fails says nothing: the member may have answered the one before.
	Silent time.Time
	// Ended is since when the pod has been in a final phase in every observation of this process.
	Ended    time.Time
	Claims   []Claim
	Database Database
	// StoreLabels say where a store is, so that PD can spread replicas.
	StoreLabels map[string]string
}

// Pod is the Kubernetes half of a member.
type Pod struct {
	UID         string
	Revision    string
	Ready       bool
	Terminating bool
	// Overdue is true if the pod is Terminating, and the time that it was given for that is over.
	Overdue bool
	// Finalizers keep a pod that is Terminating after all of its containers have ended.
	Finalizers []string
	// Ended is true in a final phase, Succeeded or Failed. No container of the pod is started again.
	Ended bool
	// Since is when the pod's state began. For a pod that is Terminating, this is when its deletion was requested; else
	// when Ready last changed or the pod was created.
	Since time.Time
	// Started is when the component's container last started; zero while it
	// does not run.
	Started time.Time
	// Addressed is true while a process of the pod can be asked. The pod has an address, and its phase is not final.
	Addressed bool
	// Ran is true if the component's container has started at least once. So the image is there and the pod has a node.
	Ran bool
	// Version is the tag of the component's image, "" without one.
	Version string
	// Binlog: a TiDB server that writes its binlog to Pump.
	Binlog bool
	// Made is when the pod was created.
	Made time.Time
	// Restarts counts how often the component's container was started again.
	Restarts int
	// Last is the container's last run that has ended; zero when there was none.
	Last Run
	// Problem says why the pod is not Ready according to Kubernetes, e.g. "Unschedulable: 0/3 nodes
	// are available" or "ImagePullBackOff".
	Problem string
	// Node is where the pod runs, "" while it is not scheduled.
	Node string
	// NodeState is what Kubernetes says of that node. It is read only where Ended or Overdue is true, or
	// where the pod is not Ready although its process runs.
	NodeState NodeState
	// Controller is what controls the pod where that is no StatefulSet of apps/v1,
	// e.g. "StatefulSet basic-tikv of apps.pingcap.com/v1"; else "".
	Controller string
	// Behind is how far the clock of its host is known to be behind the clock of the API
	// server, which gives the times above.
	Behind time.Duration
	// EvictionBegun is when tidb-operator began to evict region leaders from the store of this pod. The pod's
	// annotation evictLeaderBeginTime says so; zero when the pod has none.
	EvictionBegun time.Time
	// DrainBegun is when tidb-operator began to drain the capture of this pod, as an annotation of the pod says. It is
	// LongAgo where the annotation cannot be read, zero when the pod has none.
	DrainBegun time.Time
	// Closing reports whether the process of a Pump that runs now was asked to close.
	Closing bool
	// VolumesReplaced: tidb-operator has begun to replace the member for new volumes, as an annotation of the pod says.
	VolumesReplaced bool
	// Claims are the names of the claims that its StatefulSet makes for it.
	Claims []string
	// Mounts says where the component's container mounts the volumes of these claims, by the names of the claim
	// templates. The path is "" where the container does not mount the volume. Mounts is nil where that is not known.
	Mounts   map[string]string
	Identity Identity
	// Config says whether it runs with the configuration that was written last.
	Config Config
}

// Lacking is an object that a pod names and that does not exist.
type Lacking struct {
	Resource string // as kubectl names it, such as priorityclasses
	Kind     string
	Name     string
	Field    string // of the TidbCluster, where the object is named
}

// Run is one run of a container.
type Run struct{ Started, Ended time.Time }

// Claim is a PersistentVolumeClaim of a member.
type Claim struct {
	Name        string
	UID         string
	Version     string // its resourceVersion
	Marked      bool   // a scale-in left it behind, see AnnotationDeferDeleting
	Terminating bool
	Identity    Identity
	// Volume is nil while the claim has none, and where it was not read.
	Volume *Volume
	// Template is the name of the claim template, e.g. "tikv".
	Template string
	// Class is the storage class, "" for a volume without any. Growth says whether the class lets
	// volumes grow.
	Class  string
	Growth Growth
	Bound  bool
	// Requested is the requested size, Capacity the actual one, 0 while it is unknown.
	Requested, Capacity topology.Size
	// Attributes is the VolumeAttributesClass that the claim asks for, and Modified the one that its volume has. Both are
	// "" for none.
	Attributes, Modified string
	// Modifying says what Kubernetes reports of a volume that has yet to get its VolumeAttributesClass, "" for nothing.
	Modifying string
	// Infeasible: the storage has refused that class.
	Infeasible bool
	// Resizing says what a growing volume waits for according to Kubernetes, and Since since when;
	// empty where Kubernetes says nothing.
	Resizing string
	Since    time.Time
}

// Growth says whether a volume can be made larger.
type Growth int

// GrowthUnknown: the storage class could not be read, or was not read yet.
const (
	GrowthUnknown Growth = iota
	Growable
	NotGrowable
)

// Holds reports whether a claim is at least as large as wanted: a static volume can be larger than
// requested.
func (c Claim) Holds(size topology.Size) bool { return max(c.Requested, c.Capacity) >= size }

// Presence says whether the database lists a member.
type Presence int

// Unknown is the zero value on purpose: a member that was not read is not absent.
const (
	Unknown Presence = iota
	Absent
	Present
)

// Answer is what a member's own port answers when it is asked directly.
type Answer int

// A connection that is refused proves that no process listens. One that times out, or whose tunnel
// through the API server fails, proves nothing.
const (
	NotAsked Answer = iota
	Answered        // the process answers and says that it serves
	Refused         // nothing listens, or the process says that it does not serve
	NoAnswer        // nothing is known: a timeout, a failed tunnel, a proxy's error
)

// StoreState is a store's state in PD.
type StoreState string

// The states of a store, as PD names them.
const (
	StoreUp           StoreState = "Up"
	StoreDisconnected StoreState = "Disconnected"
	StoreDown         StoreState = "Down"
	StoreOffline      StoreState = "Offline"
	StoreTombstone    StoreState = "Tombstone"
)

// Database is the database half of a member: a PD member, a store, or a TiDB server. PD or the server itself reports
// it. Fields that do not apply to a component are zero.
type Database struct {
	Presence Presence
	// ID is PD's member id or store id. A tombstone is reported only for the data of the removed store. A member that
	// starts at the same address with an empty claim is Absent until it registers.
	ID   uint64
	Name string // PD's member name
	// Unstarted is true if PD lists the member, but it has never started. The member is one of the first members, or
	// was about to join. Only a first member has a name already.
	Unstarted bool
	// Unasked is true for a member of PD if PD did not say in time whether it reaches the member.
	Unasked bool
	// Healthy is true for a member of PD that passes PD's health check. It is true for a member of a service of PD whose
	// process has registered in PD. It is true for a TiDB server whose status port
	// answers. It is true for a store that is Up and has sent a heartbeat since its container started, or that is new
	// and answers itself. It is true for a Pump that is online and has written to PD's etcd since its container
	// started.
	Healthy bool
	// New is true for a store that the process in its pod has registered in PD. There are no regions to open. PD has
	// not got the first heartbeat of such a store yet. PD calls the store Down.
	New     bool
	Problem string // why it is not healthy, according to the database
	// Draining: the member serves its present clients until it ends, and takes no new clients.
	Draining bool
	// Answer is what the member itself says, where it was asked. What PD says may be minutes old
	// just after PD's leader has changed.
	Answer Answer
	// Listening is true where the process has answered that it does not serve, so that it runs.
	Listening bool
	// Since is when a member that is not healthy was healthy last, for example a store's last heartbeat. The database
	// or a record in the cluster says so. Zero when it is unknown.
	Since  time.Time
	Leader bool // it leads PD
	// Primary is true for the member of a service of PD that does the work, as PD says.
	Primary bool
	State   StoreState
	// Evicting is true if PD has an evict-leader scheduler for the store, ours or not.
	Evicting bool
	// Leaders is the number of region leaders on the store. While the store is being evicted, the number is read from
	// the store itself, because PD's number is as old as the last heartbeat. Otherwise it is PD's number. It is -1 when
	// it could not be read.
	Leaders int
	Regions int
	// RegionWeight says how many regions a store is to have compared with others; 1 by default, 0 where it is unknown.
	RegionWeight float64
	// NoRegions is true if somebody has set that weight to 0, so that the store is to have no regions.
	NoRegions bool
	// Capacity is the size of a store's disk, and Available what is free of it. Both are as the store last reported to
	// PD. With a Capacity of 0 both are unknown.
	Capacity, Available topology.Size
	// Used is the size of the store's own data, 0 where it is unknown.
	Used    topology.Size
	Version string
	Capture Capture // of TiCDC
	Pump    Pump
}

// LongAgo is the time of what began at a time that cannot be read.
var LongAgo = time.Unix(0, 0).UTC()

// HandledByOperator reports whether the pod has a mark of a tidb-operator that moves away what its member
// has.
func (p *Pod) HandledByOperator() bool {
	return p != nil && (!p.EvictionBegun.IsZero() || !p.DrainBegun.IsZero())
}

// Up reports whether a member serves: its pod is Ready and the database says so too.
func (m Member) Up() bool {
	return m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating &&
		m.Database.Presence == Present && m.Database.Healthy
}

// Reported returns the release that the member's process reports, such as v8.5.2, "" where that is not
// known. A member that does not serve may have been another one when it reported.
func (m Member) Reported() string {
	if m.Database.Presence != Present {
		return ""
	}
	return topology.Released(m.Database.Version)
}

// ReportsOther reports whether the member's process reports another release than a version. The image may have another
// release than its tag says.
func (m Member) ReportsOther(version string) bool {
	has := m.Reported()
	return has != "" && topology.Released(version) != "" && !topology.SameRelease(has, version)
}

// Version returns the version that a member runs, "" where it is not known. It is the release that the process reports,
// else the tag of the image. An image may have no tag, or a tag that names no release.
func (m Member) Version() string {
	tag := ""
	if m.Pod != nil {
		tag = m.Pod.Version
	}
	reported := m.Reported()
	if reported == "" || topology.SameRelease(reported, tag) {
		return tag // a tag also says which build it is
	}
	return reported
}

// Unknown reports whether the member may serve, and could not be asked: it counts neither as up nor as down.
func (m Member) Unknown() bool {
	return m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating && m.Database.Presence == Unknown
}

// TakesLeaders reports whether region leaders can move to a store of TiKV. PD moves none to one that
// is new, that leaves, or that has an evict-leader scheduler.
func (m Member) TakesLeaders() bool {
	return m.Up() && !m.Database.New && m.Database.State != StoreOffline && !m.Database.Evicting
}

// DownSince returns since when there is evidence that the member does not serve. The evidence is from Kubernetes about
// its pod and from the database about its last heartbeat. It is never from the time of our first observation. DownSince
// is zero for a member that serves, and where the time is unknown.
func (m Member) DownSince() time.Time {
	if m.Up() {
		return time.Time{}
	}
	since := m.Database.Since
	if m.Pod == nil {
		return since
	}
	if !m.Pod.Ready && (since.IsZero() || m.Pod.Since.Before(since)) {
		since = m.Pod.Since
	}
	// A new pod is a new attempt, and the time starts again. After hours of suspension every store is Down in PD, and
	// all of them are about to start.
	if !since.IsZero() && since.Before(m.Pod.Made) {
		return m.Pod.Made
	}
	return since
}

// Stopped reports whether the process of a member is known not to run, by two kinds of evidence. The first kind is the
// status of the pod. The second kind is a port on which nothing listens, or a pod without an address. A restart of such
// a member takes nothing away. The status alone proves nothing: a kubelet that the API server does not hear may have
// started the process since. That the database has not heard of the member proves nothing at once either, because one
// broken network can hide a host from both.
func (m Member) Stopped() bool {
	switch {
	case m.Pod == nil:
		return true
	case !m.Pod.Started.IsZero() || m.Database.Healthy || m.Database.Answer == Answered:
		return false
	}
	return !m.Pod.Addressed || m.Database.Answer == Refused && !m.Database.Listening
}

// Denied reports whether the database says that the member does not serve.
func (m Member) Denied() bool {
	d := m.Database
	return d.Presence != Unknown && !d.Unasked && !d.Healthy && d.Answer != Answered
}

// Marked reports whether a scale-in has marked every claim of the member.
func (m Member) Marked() bool {
	for _, c := range m.Claims {
		if !c.Marked {
			return false
		}
	}
	return len(m.Claims) > 0
}

// NodeLost reports whether a pod is not Ready because Kubernetes does not hear of its node.
func (p *Pod) NodeLost() bool {
	return !p.Ready && p.Node != "" && (p.NodeState == NodeNotReady || p.NodeState == NodeMissing)
}

// heldBy returns why a pod does not end within the time that it was given for that.
func (p *Pod) heldBy() string {
	switch {
	case p.Node == "" && len(p.Finalizers) == 0:
		return "it has no node"
	case p.NodeState == NodeNotReady:
		return "node " + p.Node + " is not Ready"
	case p.NodeState == NodeMissing:
		return "node " + p.Node + " does not exist"
	case len(p.Finalizers) == 1:
		return "finalizer " + p.Finalizers[0] + " holds it"
	case len(p.Finalizers) > 1:
		return "finalizers " + strings.Join(p.Finalizers, ", ") + " hold it"
	case p.NodeState == NodeReady:
		return "node " + p.Node + " is Ready, and its kubelet has not ended the pod"
	}
	return "its kubelet on node " + p.Node + " has not ended it"
}

// Trouble returns why a member does not serve, in words for a user, and "" when it serves.
func (m Member) Trouble() string {
	switch {
	case m.Up():
		return ""
	case m.Pod == nil:
		return cmp.Or(m.Refusal, "no pod")
	case m.Pod.Terminating && m.Database.Draining:
		return "pod is terminating, and keeps its connections for a while"
	case m.Pod.Overdue:
		return "pod stays terminating: " + m.Pod.heldBy()
	case m.Pod.Terminating:
		return "pod is terminating"
	case m.Pod.Problem != "":
		return m.Pod.Problem
	case m.Database.Pump.State != "" && m.Database.Pump.State != PumpOnline:
		return fmt.Sprintf("Pump is %s", m.Database.Pump.State)
	case m.Pod.NodeLost():
		return m.Pod.heldBy()
	case !m.Pod.Ready:
		return "pod is not ready"
	case m.Database.Presence == Absent:
		return "has not joined"
	case m.Database.Problem != "":
		return m.Database.Problem
	case m.Database.Presence == Unknown:
		return "unknown, not asked"
	case m.Database.State != "" && m.Database.State != StoreUp:
		return fmt.Sprintf("store is %s", m.Database.State)
	}
	return "not healthy"
}
