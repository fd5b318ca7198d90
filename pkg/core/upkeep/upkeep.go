// Package upkeep corrects what is small: labels, reclaim policies of volumes, and pods that wait for a claim that does not
// exist. Nothing waits for a correction, and none takes anything away.
package upkeep

import (
	"slices"
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Steps returns the corrections. They are no part of the outcome of a plan. So a correction that cannot be made, for
// example without a permission, delays neither a repair nor the end of a run. Objects that were not read are left as
// they are.
func Steps(components []facts.Component) []step.Step {
	var steps []step.Step
	for _, c := range components {
		var own []entry
		var room [8]entry // for the object's own entries
		for _, m := range c.Got.Members {
			ids := idsOf(room[:0], c, m)
			steps = append(steps, remake(c, m)...)
			steps = append(steps, labelPod(m, ids)...)
			for _, claim := range m.Claims {
				steps = append(steps, labelClaim(c, m, claim, ids)...)
				if claim.Volume == nil {
					continue
				}
				if own == nil {
					own = volumeLabels(c.Cluster, c.Want.Kind)
				}
				steps = append(steps, tendVolume(c.Cluster, m, claim, append(ids, own...))...)
			}
			if c.Want.Kind.Data() == topology.Store {
				steps = append(steps, labelStore(c, m)...)
			}
		}
	}
	return steps
}

// remake recreates a pod whose claim was deleted while the pod was created. The pod waits for the
// claim for ever, since the StatefulSet controller creates claims only before pods.
func remake(c facts.Component, m state.Member) []step.Step {
	if m.Pod == nil || m.Pod.Node != "" || m.Pod.Terminating || !c.Got.Set.Exists || !c.Got.Set.Has(m.Ordinal) {
		return nil
	}
	var missing []string
	for _, name := range m.Pod.Claims {
		if !slices.ContainsFunc(m.Claims, func(claim state.Claim) bool { return claim.Name == name }) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []step.Step{step.RemakePod{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID, Claims: missing}}
}

// idsOf adds the labels with the ids of a member and its cluster, as far as PD reports them. A
// label whose id is unknown is left as it is. A wrong label is corrected, because tools find the
// store of a pod by the label. A member that PD does not list may have data of another cluster, and
// then only the label shows that (OfOtherCluster).
func idsOf(ids []entry, c facts.Component, m state.Member) []entry {
	known := m.Database.Presence == state.Present
	if id := c.All.PD.ClusterID; id != 0 {
		ids = append(ids, entry{key: topology.LabelClusterID, value: strconv.FormatUint(id, 10), stays: !known})
	}
	if label := m.Kind.IDLabel(); label != "" && known && m.Database.ID != 0 {
		ids = append(ids, entry{key: label, value: strconv.FormatUint(m.Database.ID, 10)})
	}
	return ids
}

// entry is a label or an annotation. A cluster has thousands, which are compared in every turn.
type entry struct {
	key, value string
	stays      bool // another value that is there already is left as it is
}

// volumeLabels returns the labels that a volume, which has no namespace, has about its claim.
func volumeLabels(c *topology.Cluster, k topology.Kind) []entry {
	own := []entry{{key: topology.LabelNamespace, value: c.Namespace}}
	for key, value := range c.Labels(k) {
		own = append(own, entry{key: key, value: value})
	}
	return own
}

func labelPod(m state.Member, ids []entry) []step.Step {
	if m.Pod == nil || m.Pod.Terminating {
		return nil
	}
	set := state.Identity{Labels: differs(m.Pod.Identity.Labels, ids)}
	if set.Labels == nil {
		return nil
	}
	return []step.Step{step.Label{Component: m.Kind, Member: m.Name, Object: step.PodObject, Name: m.Name, UID: m.Pod.UID, Set: set}}
}

func labelClaim(c facts.Component, m state.Member, claim state.Claim, ids []entry) []step.Step {
	if claim.Terminating {
		return nil
	}
	name := entry{key: topology.LabelPodName, value: m.Name}
	notes := []entry{name}
	if ran := c.Ran(m, claim); ran != "" {
		notes = append(notes, entry{key: topology.AnnotationRan, value: ran})
	}
	set := state.Identity{
		Labels:      differs(claim.Identity.Labels, append(ids, name)),
		Annotations: differs(claim.Identity.Annotations, notes),
	}
	if set.Labels == nil && set.Annotations == nil {
		return nil
	}
	return []step.Step{step.Label{Component: m.Kind, Member: m.Name, Object: step.ClaimObject, Name: claim.Name, UID: claim.UID, Set: set}}
}

func tendVolume(cluster *topology.Cluster, m state.Member, c state.Claim, labels []entry) []step.Step {
	if c.Terminating {
		return nil
	}
	policy, set := volumeChanges(cluster, m, c, labels)
	if policy == "" && set.Labels == nil && set.Annotations == nil {
		return nil
	}
	return []step.Step{step.TendVolume{
		Component: m.Kind, Member: m.Name, Name: c.Volume.Name, UID: c.Volume.UID, Version: c.Volume.Version,
		Policy: policy, Set: set,
	}}
}

// volumeChanges returns how a claim's volume differs from what is wanted. The reclaim policy of a
// volume that will be deleted is not changed: it is set when the claim is deleted.
func volumeChanges(cluster *topology.Cluster, m state.Member, c state.Claim, labels []entry) (policy string, set state.Identity) {
	if want := string(cluster.VolumePolicy); c.Volume.Policy != want && (!c.Marked || !cluster.Reclaims) {
		policy = want
	}
	return policy, state.Identity{
		Labels:      differs(c.Volume.Identity.Labels, labels),
		Annotations: differs(c.Volume.Identity.Annotations, []entry{{key: topology.LabelPodName, value: m.Name}}),
	}
}

// differs returns the entries of want that have lacks; nil if it has all.
func differs(have map[string]string, want []entry) map[string]string {
	var out map[string]string
	for _, e := range want {
		if got, ok := have[e.key]; ok && (got == e.value || e.stays) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[e.key] = e.value
	}
	return out
}

// labelStore returns the step that sets the location of a store in PD.
func labelStore(c facts.Component, m state.Member) []step.Step {
	set := c.LabelsLacking(m)
	if len(set) == 0 {
		return nil
	}
	return []step.Step{step.LabelStore{Component: m.Kind, Member: m.Name, StoreID: m.Database.ID, Labels: set}}
}
