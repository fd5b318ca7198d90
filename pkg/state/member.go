package state

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Member is one ordinal of a component: its pod, its claims, and what the
// database says of it.
type Member struct {
	Kind    topology.Kind
	Ordinal int
	Name    string // the pod's name, whether the pod exists or not
	Pod     *Pod   // nil when there is no such pod
	// Gone is since when a pod that the StatefulSet is asked for has been
	// missing, as far as this process has seen; zero when it is not.
	Gone time.Time
	// NotServing is since when this process has not seen the member serve; zero
	// while it serves. Another process has another one: it bounds a wait, and is
	// no evidence of how long the member is down.
	NotServing time.Time
	// ReportedDown is since when the database has told this process, without a break,
	// that the member does not serve. A moment in which nobody could be asked is a
	// break: unknown is not down.
	ReportedDown time.Time
	// Refusing is since when the member's own port has refused without a break, as far
	// as this process has seen.
	Refusing time.Time
	Claims   []Claim
	Database Database
	// StoreLabels say where a store is, for PD to spread replicas by.
	StoreLabels map[string]string
}

// Pod is the Kubernetes half of a member.
type Pod struct {
	UID         string
	Revision    string
	Ready       bool
	Terminating bool
	// Since is when the pod came into this state: when it was asked to go if it
	// is Terminating, else when Ready last changed or the pod was made.
	Since time.Time
	// Started is when the component's container last started; zero while it
	// does not run.
	Started time.Time
	// Ran: the component's container has started at least once, so the image is
	// there and the pod has a place.
	Ran bool
	// Version is the tag of the component's image.
	Version string
	// Made is when the pod was created.
	Made time.Time
	// Restarts counts how often the component's container was started again.
	Restarts int
	// Last is the container's run before the one of now, or its last one while
	// it does not run; zero when there was none.
	Last Run
	// Problem says why the pod is not Ready as far as Kubernetes knows, e.g.
	// "Unschedulable: 0/3 nodes are available" or "ImagePullBackOff".
	Problem string
	// Node is where the pod runs, "" while it has no place.
	Node string
	// Controller is what controls the pod where that is no StatefulSet of apps/v1,
	// e.g. "StatefulSet basic-tikv of apps.pingcap.com/v1"; else "".
	Controller string
	// Behind is how far the clock of its host is known to be behind that of the API
	// server. The times above are by the latter.
	Behind time.Duration
	// EvictionBegun is when tidb-operator began to evict region leaders from the
	// store of this pod, as its annotation evictLeaderBeginTime says; zero when the
	// pod has none.
	EvictionBegun time.Time
	// Claims are the names of the claims that its StatefulSet makes for it.
	Claims   []string
	Identity Identity
	// Config tells whether it runs with the configuration that was written last.
	Config Config
}

// Run is one life of a container.
type Run struct{ Started, Ended time.Time }

// Claim is a PersistentVolumeClaim of a member.
type Claim struct {
	Name        string
	UID         string
	Marked      bool // a scale-in left it behind, see AnnotationDeferDeleting
	Terminating bool
	Identity    Identity
	// Volume is nil while the claim has none, and where nobody looked.
	Volume *Volume
	// Template is the name of the claim template, e.g. "tikv".
	Template string
	// Class is the storage class, "" for a volume without any. Growth tells
	// whether the class lets volumes grow.
	Class  string
	Growth Growth
	Bound  bool
	// Requested is what was asked for, Capacity what there is, 0 while nobody
	// has said so.
	Requested, Capacity topology.Size
	// Resizing says what a growing volume waits for, as Kubernetes tells, and
	// Since when; empty where it says nothing.
	Resizing string
	Since    time.Time
}

// Growth tells whether a volume can be made larger.
type Growth int

// GrowthUnknown: the storage class could not be read, or nobody has asked yet.
const (
	GrowthUnknown Growth = iota
	Growable
	NotGrowable
)

// Holds tells whether a claim is as large as wanted, or larger: a static volume
// can be larger than what was asked for.
func (c Claim) Holds(size topology.Size) bool { return max(c.Requested, c.Capacity) >= size }

// Presence tells what is known of a member in the database.
type Presence int

// Unknown is the zero value on purpose: what nobody looked at is not absent.
const (
	Unknown Presence = iota
	Absent
	Present
)

// Answer is what a member's own port says when it is asked without PD.
type Answer int

// A connection that is refused shows that no process listens. One that times out,
// or whose tunnel through the API server fails, shows nothing.
const (
	NotAsked Answer = iota
	Answered        // the process answers, and serves as far as it can tell
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

// Database is the database half of a member: a PD member, a store, or a TiDB
// server, as PD or the server itself tells. Fields that make no sense for a
// component are zero.
type Database struct {
	Presence Presence
	// ID is PD's member id or store id. A tombstone is reported only for the
	// data that was buried: a member that starts anew at the same address, with
	// an empty claim, is Absent until it registers.
	ID   uint64
	Name string // PD's member name
	// Unstarted: PD lists the member, but it has never been there. It is a first
	// member that the others did not wait for, or was about to join; only the
	// former has a name already.
	Unstarted bool
	// Healthy: PD's own check of a member; a store that is Up and has sent a
	// heartbeat since its container started; a TiDB status port that answers.
	Healthy bool
	Problem string // why it is not healthy, as the database tells
	// Answer is what the member itself says, where it was asked. PD's word may be
	// minutes old just after PD's leader has changed.
	Answer Answer
	// Since is when a member that is not healthy was healthy last, as the
	// database or a record in the cluster tells: a store's last heartbeat. Zero
	// when nothing tells.
	Since  time.Time
	Leader bool // it leads PD
	State  StoreState
	// Evicting: PD has an evict-leader scheduler for the store, whoever made it.
	Evicting bool
	// Leaders is the number of region leaders on the store, read from the
	// store itself while it is being evicted, since PD's number lags by a
	// heartbeat; else PD's. -1 when it could not be read.
	Leaders int
	Regions int
	Version string
}

// Up tells whether a member serves: its pod is Ready and the database agrees.
func (m Member) Up() bool {
	return m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating &&
		m.Database.Presence == Present && m.Database.Healthy
}

// DownSince is the earliest moment from which on there is evidence that the
// member has not served: what Kubernetes says of its pod and the database of its
// last sign of life, never when somebody first looked. It is zero for a member
// that serves, and where nothing tells.
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
	// A new pod is a new attempt, whatever became of the last one: after hours of
	// suspension every store is Down, and all of them are about to come up.
	if !since.IsZero() && since.Before(m.Pod.Made) {
		return m.Pod.Made
	}
	return since
}

// Denied reports whether the database says that the member does not serve.
func (m Member) Denied() bool {
	return m.Database.Presence != Unknown && !m.Database.Healthy && m.Database.Answer != Answered
}

// Marked tells whether a scale-in has marked every claim of the member.
func (m Member) Marked() bool {
	for _, c := range m.Claims {
		if !c.Marked {
			return false
		}
	}
	return len(m.Claims) > 0
}

// Trouble says in a user's words why a member does not serve, and "" when it
// does.
func (m Member) Trouble() string {
	switch {
	case m.Up():
		return ""
	case m.Pod == nil:
		return "no pod"
	case m.Pod.Terminating:
		return "pod is terminating"
	case m.Pod.Problem != "":
		return m.Pod.Problem
	case !m.Pod.Ready:
		return "pod is not ready"
	case m.Database.Presence == Absent:
		return "has not joined"
	case m.Database.Problem != "":
		return m.Database.Problem
	case m.Database.Presence == Unknown:
		return "unknown: not asked"
	case m.Database.State != "" && m.Database.State != StoreUp:
		return fmt.Sprintf("store is %s", m.Database.State)
	}
	return "not healthy"
}
