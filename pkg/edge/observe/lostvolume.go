package observe

import (
	"context"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// A local volume can be used only on its node. When the Node object is deleted, the next pod of the member waits for a
// node without an end. Kubernetes says only that no node fits. So the volumes of such pods are read, and it is looked up
// whether their nodes exist.

// scheduledWithin is how long Kubernetes usually takes to give a new pod a node.
const scheduledWithin = 5 * time.Second

// waitsForNode reports whether a pod waits for a node for longer than usual.
func waitsForNode(p *state.Pod, now time.Time) bool {
	return p != nil && p.Node == "" && !p.Terminating && !p.Ended && now.Sub(p.Made) >= scheduledWithin
}

// readLostVolumes notes which volumes no node can use, of members whose pods wait for a node. bound are the volumes of
// claims, by the claim's UID. It returns what may not be read.
func (o *Observer) readLostVolumes(ctx context.Context, bound map[string]string, s *state.Snapshot) []state.Gap {
	var all errgroup.Group
	all.SetLimit(atOnce)
	waits := false
	for _, g := range s.Groups {
		for i := range g.Members {
			m := &g.Members[i]
			if !waitsForNode(m.Pod, o.now()) || len(m.Claims) == 0 {
				continue
			}
			waits = true
			all.Go(func() error { o.noteLostVolume(ctx, bound, m); return nil })
		}
	}
	_ = all.Wait()
	o.lost.keep(func(uid string, _ state.LostVolume) bool { return bound[uid] != "" })
	if !waits {
		return nil
	}
	return o.lost.gaps()
}

// noteLostVolume notes the first volume of a member that no node can use, and says so where the pod's problem is shown.
func (o *Observer) noteLostVolume(ctx context.Context, bound map[string]string, m *state.Member) {
	for _, c := range m.Claims {
		name, ok := bound[c.UID]
		if !ok {
			continue
		}
		lost := o.lost.readOnce(o.now(), c.UID, func() (state.LostVolume, *state.Gap, error) { return o.readLostVolume(ctx, name, c.Name) })
		if lost.Name != "" {
			m.LostVolume, m.Pod.Problem = lost, m.Pod.Problem+"; "+lost.String()
			return
		}
	}
}

const lostUnread = "not permitted, so it is not known whether a node exists that can use them"

// readLostVolume returns a volume if no node can use it, and the zero value otherwise.
func (o *Observer) readLostVolume(ctx context.Context, name, claim string) (state.LostVolume, *state.Gap, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	v, err := o.kube.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case denial.Missing(err):
		return state.LostVolume{}, &state.Gap{What: "volumes of pods that wait for a node", Problem: lostUnread}, err
	case apierrors.IsNotFound(err):
		return state.LostVolume{Name: name, Claim: claim}, nil, nil
	case err != nil:
		return state.LostVolume{}, nil, err
	}
	lost := state.LostVolume{Name: name, Claim: claim}
	places, bound := nodesOf(v)
	if !bound {
		return state.LostVolume{}, nil, nil
	}
	for _, p := range places {
		there, err := o.anyNode(ctx, p)
		switch {
		case denial.Missing(err):
			return state.LostVolume{}, &state.Gap{What: "nodes of volumes of pods that wait for a node", Problem: lostUnread}, err
		case err != nil || there:
			return state.LostVolume{}, nil, err
		}
		lost.Nodes = append(lost.Nodes, p.values...)
	}
	return lost, nil, nil
}

// place is where a volume can be used. These are the nodes that have one of some values of a label. Where the label is "",
// these are the nodes with one of some names.
type place struct {
	label  string
	values []string
}

// nodesOf returns the nodes on which alone a volume can be used, and reports whether the volume names such nodes. A volume
// of a zone names none: a new node of that zone can use it.
func nodesOf(v *corev1.PersistentVolume) (all []place, named bool) {
	if a := v.Spec.NodeAffinity; a == nil || a.Required == nil || len(a.Required.NodeSelectorTerms) == 0 {
		return nil, false
	}
	for _, t := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		p, ok := placeOf(t)
		if !ok {
			return nil, false
		}
		all = append(all, p)
	}
	return all, true
}

// placeOf returns the nodes that a term of a volume's affinity names. A term may ask for more, which makes the nodes fewer.
func placeOf(t corev1.NodeSelectorTerm) (place, bool) {
	for _, r := range t.MatchFields {
		if r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn {
			return place{values: r.Values}, true
		}
	}
	for _, r := range t.MatchExpressions {
		if namesNode(r.Key) && r.Operator == corev1.NodeSelectorOpIn {
			return place{label: r.Key, values: r.Values}, true
		}
	}
	return place{}, false
}

// namesNode reports whether each node has its own value of a label. These are kubernetes.io/hostname and the labels of
// drivers of local volumes, such as topology.topolvm.io/node and openebs.io/nodename.
func namesNode(label string) bool {
	return slices.Contains([]string{"hostname", "node", "nodename"}, path.Base(label))
}

// anyNode reports whether a node of a place exists. The label of a node need not be its name, so nodes are looked up by
// the label.
func (o *Observer) anyNode(ctx context.Context, p place) (bool, error) {
	for _, by := range p.selectors() {
		list, err := o.kube.CoreV1().Nodes().List(ctx, by)
		if err != nil || len(list.Items) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// selectors select the nodes of a place.
func (p place) selectors() (all []metav1.ListOptions) {
	for _, v := range p.values {
		if p.label == "" {
			all = append(all, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, v).String(), Limit: 1})
			continue
		}
		all = append(all, metav1.ListOptions{LabelSelector: labels.Set{p.label: v}.String(), Limit: 1})
	}
	return all
}
