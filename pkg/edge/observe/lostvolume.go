package observe

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

const (
	nodesOfVolumes = "nodes of volumes of pods that wait for a node"
	lostUnread     = "not permitted, so it is not known whether a node exists that can use them"
)

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
	var gap *state.Gap
	for _, p := range places {
		node, err := o.presenceOf(ctx, p)
		switch {
		case denial.Missing(err):
			return state.LostVolume{}, &state.Gap{What: nodesOfVolumes, Problem: lostUnread}, err
		case err != nil || node == present:
			return state.LostVolume{}, nil, err
		case node == presenceUnknown:
			gap = &state.Gap{What: nodesOfVolumes, Problem: p.unknownPresence()}
		}
		lost.Nodes = append(lost.Nodes, p.values...)
	}
	if gap != nil {
		return state.LostVolume{}, gap, nil
	}
	return lost, nil, nil
}
