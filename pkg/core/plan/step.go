package plan

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Step is one thing to do. The set is closed: package act has one case for each. A step
// names what it acts on by identity (UID, store id, member id). If that has changed
// since, the step fails, and does not hit another object.
type Step interface {
	fmt.Stringer
	// Target is the component and the member acted on; the member is "" for
	// the component as a whole.
	Target() (topology.Kind, string)
	step()
}

// Basis is a component's StatefulSet as it was when a step was decided. Each change of its spec, such as
// its template, its partition or its replicas, gives it another generation. A process that stops before
// its request, for example on a laptop that sleeps, may send it hours later, in the middle of another
// driver's rollout. Such a request must change nothing.
type Basis struct {
	UID        string
	Generation int64
}

// basis returns the StatefulSet that is decided on now.
func (sc Scope) basis() Basis {
	return Basis{UID: sc.Got.Set.UID, Generation: sc.Got.Set.Generation}
}

// Apply creates or updates a Kubernetes object. For a StatefulSet it closes the
// partition, so that no pod restarts by it, and never changes its replicas. One that exists
// must have the generation in Object.
type Apply struct {
	Component topology.Kind
	Object    desired.Object
	// Replicas are those of a StatefulSet that is created: as many as there are pods and members
	// with data, which can differ from the wanted number. Kubernetes would delete pods above them
	// at once.
	Replicas int
}

// Resize sets a StatefulSet's replicas. An open partition stays as it is; a
// closed one stays closed.
type Resize struct {
	Component topology.Kind
	Basis     Basis
	From, To  int
	// Without is as in Restart: goals for members that leave while they serve.
	Without string
}

// Restart lets a member's pod be replaced by one of the update revision, by
// lowering the partition to its ordinal, or for a member that a user has named by deleting its pod.
type Restart struct {
	Component topology.Kind
	Member    string
	Ordinal   int
	Basis     Basis
	From      int // the partition before
	PodUID    string
	// Stuck: the pod is not up, so it is deleted as well. From Kubernetes 1.35
	// on, the controller of a Parallel StatefulSet does not replace a pod that
	// is not Ready, and a bad revision would stay for ever.
	Stuck bool
	// Ready: the pod was Ready when this was decided. A Stuck one that has become
	// Ready since is not deleted: it may serve by now.
	Ready bool
	// StoreID is the store whose leaders were evicted for this restart; 0 where none were.
	// The eviction must not have ended since: the store would be restarted with its leaders.
	StoreID uint64
	// Revision is set for a member that a user has named: the revision that Kubernetes gives its next
	// pod. The partition stays as it is.
	Revision string
	// Leaderless: PD has no leader, or the member of PD follows none, so that its restart takes nothing away. Otherwise
	// PD must have a quorum without the member.
	Leaderless bool
	// FlushLog: the store flushes its log backup first, if there is one.
	FlushLog bool
	// Without names goals that should hold before but do not, with the reason; "" when all hold.
	Without string
}

// Close ends a rollout: the partition goes back to Partition, so that the next
// change of the template restarts nothing by itself.
type Close struct {
	Component topology.Kind
	Basis     Basis
	Partition int
}

// MoveLeader moves PD's leadership to another member.
type MoveLeader struct {
	From, To         string // pods
	FromName, ToName string // names in PD
}

// RemoveMember removes a member from PD.
type RemoveMember struct {
	Member string
	ID     uint64
	// Down: PD did not call the member healthy when this was decided. The member may be back when the request is sent, and
	// a voter that serves is removed only where that was decided.
	Down bool
}

// EvictLeaders records and makes an evict-leader scheduler for a store.
type EvictLeaders struct {
	Member  string
	StoreID uint64
	// PodUID is the store's pod when this was decided; "" for none. Another pod may need no eviction:
	// a daemon whose copies of objects are minutes old would evict the leaders of a store that is
	// restarted already.
	PodUID  string
	Leaders int // how many there are to move
}

// AdoptEviction records an evict-leader scheduler that tidb-operator made as ours, and removes
// tidb-operator's mark from the pod.
type AdoptEviction struct {
	Member  string
	StoreID uint64
	PodUID  string
	Since   time.Time // when tidb-operator began
	Leaders int       // how many there are to move
	// Ended: PD has no such scheduler, or it is ours, and only the mark is left.
	Ended bool
}

// AllowLeaders removes the evict-leader scheduler of a store that we made, and
// then its record.
type AllowLeaders struct {
	Member  string
	StoreID uint64
	// Returning: the record stays, with the time at which the eviction ended, until the store has
	// its leaders again.
	Returning bool
}

// RemoveStore records that we take a store offline, and does so: PD moves its regions away and then calls
// it a tombstone.
type RemoveStore struct {
	Component topology.Kind
	Member    string
	StoreID   uint64
	// Down: PD did not call the store Up when this was decided, as in RemoveMember.
	Down bool
}

// RestoreStore cancels the removal of a store that we took offline and that is wanted
// again, and then deletes the record of it.
type RestoreStore struct {
	Component topology.Kind
	Member    string
	StoreID   uint64
}

// ForgetRecord deletes a record in the ledger of something that is over in PD.
type ForgetRecord struct {
	Component topology.Kind
	Member    string
	StoreID   uint64
	Record    state.Record
}

// Claim names a claim by identity: a name alone may have been given to another
// one since.
type Claim struct {
	Name, UID string
}

// MarkClaims marks a member's claims as left behind by a scale-in.
type MarkClaims struct {
	Component topology.Kind
	Member    string
	Claims    []Claim
}

// UnmarkClaims removes the mark from claims of a member that is wanted again. With the mark, data
// in use could be deleted as left over.
type UnmarkClaims struct {
	Component topology.Kind
	Member    string
	Claims    []Claim
}

// DeleteClaim deletes a marked claim, with its data.
type DeleteClaim struct {
	Component topology.Kind
	Member    string
	Name, UID string
	// Reclaim: the member is not wanted any more, and its volume is deleted with the claim,
	// whatever its reclaim policy was.
	Reclaim bool
	// PodUID is the one pod that may still have the claim mounted, the member's own, which
	// is deleted next: until then Kubernetes keeps the claim, but gives it to no other pod.
	// Empty when there must be no pod.
	PodUID string
}

// DeletePod deletes the pod of a member that the database has removed, so that its StatefulSet
// recreates it. Its claims must be deleted before, otherwise the new pod would get the old data.
type DeletePod struct {
	Component topology.Kind
	Member    string
	UID       string
	// Again: its claims are new and stay. The reason for its crashes is gone, but the kubelet waits
	// longer and longer before it starts the container again; a new pod starts at once.
	Again bool
}

// DeleteSet deletes a component's StatefulSet and, with it, all of its pods. The
// members' data, their Services and their ConfigMaps stay.
type DeleteSet struct {
	Component topology.Kind
	Name      string
	Basis     Basis
}

// ResizeClaim requests a larger volume, in place, and never a smaller one than was requested
// before.
type ResizeClaim struct {
	Component topology.Kind
	Member    string
	Name, UID string
	From      topology.Size // requested before
	Size      topology.Size
}

// RecreateSet deletes a StatefulSet, but not its pods, and creates it again with larger claim
// templates, which cannot be changed in place. The rest stays as it is, so that the new one adopts
// the pods and restarts none.
type RecreateSet struct {
	Component topology.Kind
	Name      string
	Basis     Basis
	Replicas  int // the live ones
	Object    desired.Object
}

// Action returns the kind of a step as one word, such as "EvictLeaders". Events and metrics contain
// it, so the words may not change.
func Action(s Step) string { return reflect.TypeOf(s).Name() }

// Disruptive reports whether a step takes redundancy away or cannot be taken back, so
// that it must not follow from an old observation.
func Disruptive(s Step) bool {
	switch s := s.(type) {
	case Resize:
		return s.To < s.From
	case Restart, MoveLeader, RemoveMember, RemoveStore, ClosePump, DeleteClaim, DeletePod, DeleteSet, RecreateSet, RecordFailure, EndPause, ReplaceEnded:
		return true
	}
	return false
}

func (Apply) step()         {}
func (Resize) step()        {}
func (Restart) step()       {}
func (Close) step()         {}
func (MoveLeader) step()    {}
func (RemoveMember) step()  {}
func (EvictLeaders) step()  {}
func (AllowLeaders) step()  {}
func (AdoptEviction) step() {}
func (RemoveStore) step()   {}
func (RestoreStore) step()  {}
func (ForgetRecord) step()  {}
func (MarkClaims) step()    {}
func (UnmarkClaims) step()  {}
func (DeleteClaim) step()   {}
func (DeletePod) step()     {}
func (DeleteSet) step()     {}

func (ResizeClaim) step() {}
func (RecreateSet) step() {}

func (s Apply) Target() (topology.Kind, string)         { return s.Component, "" }
func (s Resize) Target() (topology.Kind, string)        { return s.Component, "" }
func (s Restart) Target() (topology.Kind, string)       { return s.Component, s.Member }
func (s Close) Target() (topology.Kind, string)         { return s.Component, "" }
func (s MoveLeader) Target() (topology.Kind, string)    { return topology.PD, s.From }
func (s RemoveMember) Target() (topology.Kind, string)  { return topology.PD, s.Member }
func (s EvictLeaders) Target() (topology.Kind, string)  { return topology.TiKV, s.Member }
func (s AllowLeaders) Target() (topology.Kind, string)  { return topology.TiKV, s.Member }
func (s AdoptEviction) Target() (topology.Kind, string) { return topology.TiKV, s.Member }
func (s RemoveStore) Target() (topology.Kind, string)   { return s.Component, s.Member }
func (s RestoreStore) Target() (topology.Kind, string)  { return s.Component, s.Member }
func (s ForgetRecord) Target() (topology.Kind, string)  { return s.Component, s.Member }
func (s MarkClaims) Target() (topology.Kind, string)    { return s.Component, s.Member }
func (s UnmarkClaims) Target() (topology.Kind, string)  { return s.Component, s.Member }
func (s DeleteClaim) Target() (topology.Kind, string)   { return s.Component, s.Member }
func (s DeletePod) Target() (topology.Kind, string)     { return s.Component, s.Member }
func (s DeleteSet) Target() (topology.Kind, string)     { return s.Component, "" }

func (s ResizeClaim) Target() (topology.Kind, string) { return s.Component, s.Member }
func (s RecreateSet) Target() (topology.Kind, string) { return s.Component, "" }

func (s Apply) String() string {
	verb := "update"
	if s.Object.Drift == desired.Missing {
		verb = "create"
	}
	if n := len(s.Object.Edits); n > 0 {
		text := fmt.Sprintf("put %s %s back: %s", s.Object.Kind, s.Object.Name, s.Object.Edits[0])
		if n > 1 {
			text += "; and " + remedy.Count(n-1, "other field", "other fields")
		}
		return text
	}
	text := fmt.Sprintf("%s %s %s", verb, s.Object.Kind, s.Object.Name)
	if s.Replicas > 0 {
		text += " with " + remedy.Count(s.Replicas, "replica", "replicas")
	}
	return text
}

func (s Resize) String() string {
	text := fmt.Sprintf("scale %s from %d to %d", s.Component.Title(), s.From, s.To)
	if s.Without != "" {
		text += " without: " + s.Without
	}
	return text
}
func (s Restart) String() string {
	if s.Without != "" {
		return "restart " + s.Member + " without: " + s.Without
	}
	return "restart " + s.Member
}
func (s Close) String() string {
	return fmt.Sprintf("finish the rollout of %s", s.Component.Title())
}

func (s MoveLeader) String() string {
	return fmt.Sprintf("move PD leader from %s to %s", s.From, s.To)
}
func (s RemoveMember) String() string { return fmt.Sprintf("remove PD member %s", s.Member) }
func (s EvictLeaders) String() string { return "evict region leaders from " + s.Member }
func (s AllowLeaders) String() string { return "allow region leaders on " + s.Member }

func (s AdoptEviction) String() string {
	if s.Ended {
		return "take tidb-operator's mark of an eviction off pod " + s.Member
	}
	return "take over tidb-operator's eviction of region leaders from " + s.Member
}

func (s RemoveStore) String() string {
	return fmt.Sprintf("take store %d of %s offline", s.StoreID, s.Member)
}

func (s RestoreStore) String() string {
	return fmt.Sprintf("bring store %d of %s back up", s.StoreID, s.Member)
}
func (s ForgetRecord) String() string {
	if s.Record == state.RecordEviction {
		return "conclude the eviction of region leaders from " + s.Member
	}
	return fmt.Sprintf("conclude the removal of store %d of %s", s.StoreID, s.Member)
}
func (s MarkClaims) String() string   { return "mark " + names(s.Claims) + " as left over" }
func (s UnmarkClaims) String() string { return "take the mark off " + names(s.Claims) }
func (s DeletePod) String() string    { return fmt.Sprintf("recreate pod %s", s.Member) }

func names(claims []Claim) string {
	var all []string
	for _, c := range claims {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}
func (s DeleteClaim) String() string {
	if s.Reclaim {
		return "delete left-over claim " + s.Name + " and its volume"
	}
	return "delete left-over claim " + s.Name
}
func (s DeleteSet) String() string {
	return fmt.Sprintf("delete StatefulSet %s and its pods, their data stays", s.Name)
}

func (s ResizeClaim) String() string {
	return fmt.Sprintf("grow volume %s from %s to %s", s.Name, s.From, s.Size)
}

func (s RecreateSet) String() string {
	return fmt.Sprintf("recreate StatefulSet %s with larger volumes, keeping its pods", s.Name)
}
