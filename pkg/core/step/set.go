package step

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Apply creates or updates a Kubernetes object. For a StatefulSet it closes the partition, so that
// no pod restarts by the change, and never changes the replicas. A StatefulSet that exists must
// have the generation in Object.
type Apply struct {
	Component topology.Kind
	Object    desired.Object
	// Replicas is how many replicas a StatefulSet that is created has. It covers all pods and members
	// with data, which can differ from the wanted number, because Kubernetes would delete pods above
	// that number at once.
	Replicas int
	// Slots are the slots of a StatefulSet that is created.
	Slots []int
}

func (Apply) Action() string { return "Apply" }

func (s Apply) Target() (topology.Kind, string) { return s.Component, "" }

func (Apply) Disruptive() bool { return false }

func (Apply) Quiet() bool { return false }

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

// Resize sets a StatefulSet's replicas, and its slots together with the replicas. Two writes would remove other
// members. An open partition stays as it is; a closed one stays closed.
type Resize struct {
	Component topology.Kind
	Basis     Basis
	From, To  int
	// SlotsFrom and SlotsTo are the slots before and after. A StatefulSet of Kubernetes has none.
	SlotsFrom, SlotsTo []int
	// Leaving are the pods of the members that leave. Another pod may have what the former pod had given away, as a
	// capture has tables.
	Leaving []PodRef
	// Without is as in Restart: goals for members that leave while they serve.
	Without string
}

// PodRef is a pod by its name and UID. The UID is "" where there is no pod of that name.
type PodRef struct{ Name, UID string }

func (Resize) Action() string { return "Resize" }

func (s Resize) Target() (topology.Kind, string) { return s.Component, "" }

func (s Resize) Disruptive() bool { return s.To < s.From }

func (Resize) Quiet() bool { return false }

func (s Resize) String() string {
	text := fmt.Sprintf("scale %s from %d to %d", s.Component.Title(), s.From, s.To)
	if s.Without != "" {
		text += " without: " + s.Without
	}
	return text
}

// Restart lets a member's pod be replaced by a pod of the update revision. It lowers the partition
// to the member's ordinal. The pod of a member that a user has named, or of a batch, is deleted instead.
type Restart struct {
	Component topology.Kind
	Member    string
	Ordinal   int
	Basis     Basis
	From      int // the partition before
	PodUID    string
	// Stuck: the pod is not up, so it is deleted as well. From Kubernetes 1.35 on, the controller
	// of a Parallel StatefulSet does not replace a pod that is not Ready. A bad revision would stay
	// for ever.
	Stuck bool
	// Ready: the pod was Ready when this was decided. A Stuck one that has become
	// Ready since is not deleted: it may serve now.
	Ready bool
	// StoreID is the store whose leaders were evicted for this restart; 0 where none were.
	// The eviction must not have ended since: the store would be restarted with its leaders.
	StoreID uint64
	// NotUp is as in RemoveStore, where leaders were evicted.
	NotUp []uint64
	// Revision is set where the pod is deleted instead of the partition being lowered: the revision that Kubernetes
	// gives the next pod. That is so for a member that a user has named, and in a rollout in batches.
	Revision string
	// Leaderless: PD has no leader, or the member of PD follows none, so that its restart takes nothing away. Otherwise
	// PD must have a quorum without the member. Committed is how far PD's log was committed then. If the log has
	// grown since, PD had a leader, and elects another leader now.
	Leaderless bool
	Committed  uint64
	// Unlisted: the next pod may have other volumes, which takes nothing away from a member that the database does not
	// list. A member that has joined since would look for its data on volumes that have none.
	Unlisted bool
	// FlushLog: the store flushes its log backup first, if there is one.
	FlushLog bool
	// Without names goals that should hold before but do not, with the reason; "" when all hold.
	Without string
}

func (Restart) Action() string { return "Restart" }

func (s Restart) Target() (topology.Kind, string) { return s.Component, s.Member }

func (Restart) Disruptive() bool { return true }

func (Restart) Quiet() bool { return false }

func (s Restart) String() string {
	if s.Without != "" {
		return "restart " + s.Member + " without: " + s.Without
	}
	return "restart " + s.Member
}

// BeginBatches has Kubernetes leave the order of restarts to the run (OnDelete), so that members of one failure domain
// restart together. A new pod has the update revision, whichever its ordinal is.
type BeginBatches struct {
	Component topology.Kind
	Basis     Basis
}

func (BeginBatches) Action() string { return "BeginBatches" }

func (s BeginBatches) Target() (topology.Kind, string) { return s.Component, "" }

func (BeginBatches) Disruptive() bool { return false }

func (BeginBatches) Quiet() bool { return false }

func (s BeginBatches) String() string {
	return fmt.Sprintf("restart members of %s in batches (OnDelete)", s.Component.Title())
}

// EndBatches gives the StatefulSet back the update strategy RollingUpdate when all pods have the update revision. The
// partition is open, so that a pod that is lost now comes back with that revision. Close comes next.
type EndBatches struct {
	Component topology.Kind
	Basis     Basis
}

func (EndBatches) Action() string { return "EndBatches" }

func (s EndBatches) Target() (topology.Kind, string) { return s.Component, "" }

func (EndBatches) Disruptive() bool { return false }

func (EndBatches) Quiet() bool { return false }

func (s EndBatches) String() string {
	return fmt.Sprintf("finish the batches of %s (RollingUpdate)", s.Component.Title())
}

// Close ends a rollout. The partition goes back to Partition, so that the next change of the
// template restarts nothing by itself.
type Close struct {
	Component topology.Kind
	Basis     Basis
	Partition int
}

func (Close) Action() string { return "Close" }

func (s Close) Target() (topology.Kind, string) { return s.Component, "" }

func (Close) Disruptive() bool { return false }

func (Close) Quiet() bool { return false }

func (s Close) String() string {
	return fmt.Sprintf("finish the rollout of %s", s.Component.Title())
}

// DeleteSet deletes a component's StatefulSet and, with it, all of its pods. The
// members' data, their Services and their ConfigMaps stay.
type DeleteSet struct {
	Component topology.Kind
	Name      string
	Basis     Basis
}

func (DeleteSet) Action() string { return "DeleteSet" }

func (s DeleteSet) Target() (topology.Kind, string) { return s.Component, "" }

func (DeleteSet) Disruptive() bool { return true }

func (DeleteSet) Quiet() bool { return false }

func (s DeleteSet) String() string {
	return fmt.Sprintf("delete StatefulSet %s and its pods, their data stays", s.Name)
}

// RecreateSet deletes a StatefulSet, but not its pods, and creates it again with other claim
// templates. Claim templates cannot be changed in place. The rest stays as it is, so that the new
// StatefulSet adopts the pods and restarts none. Where volumes are removed or mounted at another path, the pod
// template changes as well. The pods that are there keep the old one, because the partition is closed.
type RecreateSet struct {
	Component topology.Kind
	Name      string
	Basis     Basis
	Replicas  int // the live ones
	Object    desired.Object
	// OtherVolumes: volumes are removed or mounted at another path.
	OtherVolumes bool
	// Replaced are the UIDs of claims in whose place new ones are made. Only with such claims, templates get smaller.
	Replaced []string
}

func (RecreateSet) Action() string { return "RecreateSet" }

func (s RecreateSet) Target() (topology.Kind, string) { return s.Component, "" }

func (RecreateSet) Disruptive() bool { return true }

func (RecreateSet) Quiet() bool { return false }

func (s RecreateSet) String() string {
	if s.OtherVolumes {
		return fmt.Sprintf("recreate StatefulSet %s with other volumes and their mounts, keeping its pods", s.Name)
	}
	return fmt.Sprintf("recreate StatefulSet %s with other claim templates, keeping its pods", s.Name)
}
