// Package claim says of each PersistentVolumeClaim of a cluster whose data it holds and what keeps
// it. A claim that nothing keeps may be deleted; one that is kept must not be, since the data in it
// may be the last copy.
//
// It is pure. What PD could not be asked about counts as kept.
package claim

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// State says in a word what becomes of a claim.
type State string

// The states of a claim.
const (
	Used     State = "Used"     // a pod mounts it
	Kept     State = "Kept"     // no pod mounts it, and something still counts on it
	InPD     State = "InPD"     // its member is not wanted, but PD still has it, or could not be asked
	Left     State = "Left"     // its member was removed
	Gone     State = "Gone"     // its whole cluster is gone
	Deleting State = "Deleting" // Kubernetes deletes it when no pod uses it any more
)

// Claim is one claim of a cluster.
type Claim struct {
	Namespace, Cluster, Name, UID string
	// Version is the resourceVersion that was read.
	Version   string
	Component topology.Kind
	Member    string // the pod's name
	Ordinal   int
	Volume    string
	Class     string
	Phase     string
	// Requested is the requested size, Capacity the actual one, 0 while it is unknown.
	Requested, Capacity topology.Size
	// Pod is the one that mounts it, "" for none.
	Pod string
	// Marked is when a scale-in marked it as left over, as the mark says; "" without a mark.
	Marked string
	State  State
	// Why says what keeps it, or by what it was left.
	Why string
}

// Prunable reports whether nothing counts on the claim. Where despitePD, PD's word does not count.
func (c Claim) Prunable(despitePD bool) bool {
	return c.State == Left || c.State == Gone || despitePD && c.State == InPD
}

// Of returns the claims of a cluster that exists, by component and ordinal. Pods are all of the
// namespace: a claim may be mounted by a pod that is not the cluster's.
func Of(w desired.State, s state.Snapshot, claims []corev1.PersistentVolumeClaim, pods []corev1.Pod) []Claim {
	var all []Claim
	for i := range claims {
		c, ok := read(w.Cluster, &claims[i], pods)
		if !ok {
			continue
		}
		if c.State == "" {
			c.State, c.Why = judge(w, s, c, claims[i].Labels)
		}
		all = append(all, c)
	}
	inOrder(all)
	return all
}

// OfGone returns the claims of a cluster whose TidbCluster is gone. Sets are the StatefulSets that
// still exist: a StatefulSet that was left behind makes its pods again, and the pods need their data.
func OfGone(c topology.Cluster, sets []appsv1.StatefulSet, claims []corev1.PersistentVolumeClaim, pods []corev1.Pod) []Claim {
	var all []Claim
	for i := range claims {
		got, ok := read(c, &claims[i], pods)
		if !ok {
			continue
		}
		if got.State == "" {
			got.State, got.Why = Gone, fmt.Sprintf("TidbCluster %s is deleted", c.Name)
			if set := c.SetName(got.Component); makes(sets, c.Namespace, set, got.Ordinal) {
				got.State, got.Why = Kept, fmt.Sprintf("StatefulSet %s still exists, and makes %s again", set, got.Member)
			}
		}
		all = append(all, got)
	}
	inOrder(all)
	return all
}

// makes reports whether one of the StatefulSets has a pod with an ordinal.
func makes(sets []appsv1.StatefulSet, namespace, name string, ordinal int) bool {
	return slices.ContainsFunc(sets, func(s appsv1.StatefulSet) bool {
		return s.Namespace == namespace && s.Name == name && state.OrdinalsOf(&s).Has(ordinal)
	})
}

func inOrder(all []Claim) {
	place := func(k topology.Kind) int { return slices.Index(topology.Kinds(), k) }
	slices.SortFunc(all, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(place(a.Component), place(b.Component)), cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Name, b.Name))
	})
}

// read returns what a claim itself says, with a state only where that decides.
func read(c topology.Cluster, live *corev1.PersistentVolumeClaim, pods []corev1.Pod) (Claim, bool) {
	k, ordinal, ok := member(c, live)
	if !ok {
		return Claim{}, false
	}
	got := Claim{
		Namespace: live.Namespace, Cluster: c.Name, Name: live.Name, UID: string(live.UID), Version: live.ResourceVersion,
		Component: k, Member: c.PodName(k, ordinal), Ordinal: ordinal,
		Volume: live.Spec.VolumeName, Phase: string(live.Status.Phase),
		Requested: topology.SizeOf(*live.Spec.Resources.Requests.Storage()), Capacity: topology.SizeOf(*live.Status.Capacity.Storage()),
		Marked: live.Annotations[topology.AnnotationDeferDeleting],
	}
	if live.Spec.StorageClassName != nil {
		got.Class = *live.Spec.StorageClassName
	}
	for i := range pods {
		if mounts(&pods[i], live.Name) && pods[i].Namespace == live.Namespace {
			got.Pod = pods[i].Name
		}
	}
	switch {
	case live.DeletionTimestamp != nil && got.Pod != "":
		got.State, got.Why = Deleting, "it is deleted when pod "+got.Pod+" has ended"
	case live.DeletionTimestamp != nil:
		got.State, got.Why = Deleting, "it is being deleted"
	case got.Pod != "":
		got.State = Used
	}
	return got, true
}

// member returns the component and the ordinal that a claim was made for. It reads them from the name,
// <template>-<pod>, because labels with the pod's name are set only later, or never.
func member(c topology.Cluster, live *corev1.PersistentVolumeClaim) (topology.Kind, int, bool) {
	k, known := topology.ParseKind(live.Labels[topology.LabelComponent])
	if !known || live.Labels[topology.LabelInstance] != c.Instance {
		return "", 0, false
	}
	_, n, ok := c.ClaimOrdinal(k, live.Name)
	return k, n, ok
}

// mounts reports whether a pod mounts a claim, or will when it starts. A pod that has ended keeps none.
func mounts(pod *corev1.Pod, name string) bool {
	return pod.Status.Phase != corev1.PodSucceeded && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
	})
}

// judge says what keeps a claim that no pod mounts, and that has some labels.
func judge(w desired.State, s state.Snapshot, c Claim, labels map[string]string) (State, string) {
	g, wanted := w.Group(c.Component)
	got := s.Groups[c.Component]
	m, known := got.Member(c.Member)
	switch _, failed := g.Failure(c.Member); {
	case failed:
		return Kept, "a failover has given " + c.Member + " up, and may still need its data"
	case wanted && g.Has(c.Ordinal) && g.Suspend:
		return Kept, g.Kind.Title() + " is suspended"
	case wanted && g.Has(c.Ordinal):
		return Kept, c.Member + " is wanted, and has no pod now"
	case got.Set.Has(c.Ordinal) || m.Pod != nil:
		return Kept, c.Member + " has not left yet"
	case c.Component.Data() == topology.None:
		return whenLeft(c)
	case s.PD.OfOtherCluster(labels):
		return Kept, fmt.Sprintf("its data is of the cluster with the id %s, and PD's is %d, so PD cannot say whether it is needed",
			labels[topology.LabelClusterID], s.PD.ClusterID)
	case !listed(s.PD, c.Component):
		return InPD, "PD could not be asked whether it still needs " + c.Member
	case known && m.Database.Presence == state.Unknown:
		return InPD, "it is not known whether PD still has " + c.Member
	case known && m.Database.Presence == state.Present && !m.Database.Removed():
		return InPD, fmt.Sprintf("PD still has %s%s", c.Member, asStore(m.Database))
	}
	return whenLeft(c)
}

// whenLeft says when a member left, as far as the mark on its claim tells.
func whenLeft(c Claim) (State, string) {
	if c.Marked == "" {
		return Left, c.Member + " is not wanted any more"
	}
	return Left, fmt.Sprintf("%s was removed, marked %s", c.Member, c.Marked)
}

// listed reports whether PD has said which members of a component it has.
func listed(pd state.PD, k topology.Kind) bool {
	return pd.Known() && (k.Data() != topology.Store || pd.Bootstrapped) && (k.Data() != topology.Binlog || pd.PumpsKnown)
}

func asStore(d state.Database) string {
	if d.State == "" {
		return ""
	}
	return fmt.Sprintf(" as store %d, which is %s", d.ID, d.State)
}
