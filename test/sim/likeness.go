package sim

import (
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// likeness keeps what observations of one component have in common. Labels are always as they
// should be, because upkeep is no part of the simulation. To make labels for each observation would
// take longer than to decide.
type likeness struct {
	members    [limit]labelled
	size       int
	class      int
	attributes string
	mounts     mounts
	volumes    map[string]state.ClaimTemplate
}

type labelled struct {
	cluster, id uint64
	is          state.Identity
}

// labels are those that an object of a member should have.
func (t *likeness) labels(i int, name string, cluster, id uint64) state.Identity {
	l := &t.members[i]
	if l.is.Labels == nil || l.cluster != cluster || l.id != id {
		of := map[string]string{topology.LabelPodName: name}
		l.cluster, l.id = cluster, id
		l.is = state.Identity{Annotations: of, Labels: map[string]string{
			topology.LabelPodName: name, topology.LabelClusterID: strconv.FormatUint(cluster, 10),
		}}
		if text := strconv.FormatUint(id, 10); id != 0 {
			l.is.Labels[topology.LabelMemberID], l.is.Labels[topology.LabelStoreID] = text, text
		}
	}
	return l.is
}

// knownAs is the id that the objects of a member are labelled with. A claim keeps the
// last one that PD has reported, also when PD does not list the member any more.
func (w *Model) knownAs(k kind, i int, id uint64) uint64 {
	c := w.claims[k][i]
	if c == nil {
		return id
	}
	if id != 0 {
		c.label = id
	}
	return c.label
}

// templates are a StatefulSet's claim templates.
func (t *likeness) templates(k kind, spec setSpec) map[string]state.ClaimTemplate {
	if t.size != spec.size || t.class != spec.class || t.attributes != spec.attributes || t.mounts != spec.mounts {
		t.size, t.class, t.attributes, t.mounts, t.volumes = spec.size, spec.class, spec.attributes, spec.mounts, nil
		if spec.size > 0 {
			t.volumes = map[string]state.ClaimTemplate{VolumeOf(kinds[k]): {Size: topology.Size(spec.size) * gi, Class: classNamed(spec.class), Attributes: spec.attributes}}
			mountTemplates(t.volumes, spec.mounts)
		}
	}
	return t.volumes
}

// tellsID is the id of the cluster that a snapshot has.
func (w *Model) tellsID() uint64 {
	if w.known() {
		return w.pd.id
	}
	return w.recorded
}
