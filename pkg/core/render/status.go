package render

import (
	"slices"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Status returns the TidbCluster's status for an observation. What was not observed this time stays
// as it was. Times stay as long as the state that they are about, so that an unchanged cluster has
// an unchanged status.
func Status(o state.Observation, w desired.State, p plan.Plan, old v1alpha1.TidbClusterStatus) v1alpha1.TidbClusterStatus {
	s := o.Snapshot
	r := projection{wanted: w, have: o.Existing, snap: s, at: metav1.NewTime(s.At).Rfc3339Copy()}
	status := *old.DeepCopy()
	if s.PD.ClusterID != 0 {
		status.ClusterID = strconv.FormatUint(s.PD.ClusterID, 10)
	}
	for i, d := range descriptions {
		r.component(d, descriptions[:i], &status)
	}
	status.Conditions = r.conditions(status, p)
	if !equality.Semantic.DeepEqual(status, old) {
		for _, d := range descriptions {
			if d.status.counts != nil {
				d.status.counts(r, &status)
			}
		}
	}
	return status
}

type projection struct {
	wanted desired.State
	have   state.Existing
	snap   state.Snapshot
	at     metav1.Time
}

// component writes the part of one component, after those of the earlier ones.
func (r projection) component(d description, earlier []description, status *v1alpha1.TidbClusterStatus) {
	phase := r.phase(d.kind)
	if phase == "" {
		return
	}
	if d.status.begin != nil {
		d.status.begin(status)
	}
	part := d.kind.Status(status)
	upgrading := func(e description) bool { return e.kind.Status(status).GetPhase() == v1alpha1.UpgradePhase }
	if phase == v1alpha1.UpgradePhase && slices.ContainsFunc(earlier, upgrading) {
		phase = v1alpha1.NormalPhase // an earlier component is not finished
	}
	part.SetPhase(phase)
	set := r.have.Sets[d.kind]
	if set == nil { // it is suspended
		part.SetSynced(false)
		part.SetStatefulSet(nil)
		d.status.clear(status)
		return
	}
	part.SetStatefulSet(set.Status.DeepCopy())
	d.status.members(r, status)
	part.SetVolumes(r.volumes(d.kind))
	if want, _ := r.wanted.Group(d.kind); phase == v1alpha1.NormalPhase && !want.ReplacesAny(r.snap.Groups[d.kind]) {
		part.SetVolReplaceInProgress(false) // an operator that comes back is not to begin again
	}
}

// phase returns "" for a component that is not wanted or does not exist yet. Then the component's
// status stays as it is.
func (r projection) phase(k topology.Kind) v1alpha1.MemberPhase {
	want, ok := r.wanted.Group(k)
	set := r.have.Sets[k]
	switch {
	case ok && want.Suspend && (set == nil || set.DeletionTimestamp != nil):
		return v1alpha1.SuspendPhase
	case !ok || set == nil:
		return ""
	}
	if !state.OrdinalsOf(set).Same(want.Ordinals()) {
		return v1alpha1.ScalePhase
	}
	if Template(set) != want.Template || set.Status.CurrentRevision != set.Status.UpdateRevision {
		return v1alpha1.UpgradePhase
	}
	group := r.snap.Groups[k]
	for _, m := range group.InSet() {
		if group.Outdated(m) {
			return v1alpha1.UpgradePhase
		}
	}
	return v1alpha1.NormalPhase
}

// image returns the image in the StatefulSet's template, not the image of running pods.
func (r projection) image(k topology.Kind) string {
	for _, c := range r.have.Sets[k].Spec.Template.Spec.Containers {
		if c.Name == string(k) {
			return c.Image
		}
	}
	return ""
}

// filled returns nil for an empty map, as it is read from the cluster.
func filled[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return m
}
