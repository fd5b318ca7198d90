package observe

import (
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// FindAdvanced adds the AdvancedStatefulSets of a cluster, which read returns, where there may be some. A pod of one shows
// that. Without any pod of a StatefulSet, a cluster that has claims or asks for slots may have some. A StatefulSet of
// Kubernetes made beside them would be a second controller of the same pods. Then served says whether the API server has
// such a kind, and a cluster without claims is new. Where a run was killed while it made an AdvancedStatefulSet again, the
// ledger says so. Other clusters cost no request.
func (l *Objects) FindAdvanced(c topology.Cluster, served func() (bool, error), read func() ([]*appsv1.StatefulSet, error)) error {
	of := func(advanced bool) bool {
		return slices.ContainsFunc(l.Pods, func(p *corev1.Pod) bool { return controlledBySet(p, advanced) })
	}
	hasPods, recorded := of(true), ledger.Advanced(l.Ledger) && len(l.Sets) == 0
	if !hasPods {
		if of(false) || len(l.Claims) == 0 && !asksForSlots(c) && !recorded {
			return nil
		}
		there, err := served()
		if err == nil && !there && recorded {
			// A StatefulSet of Kubernetes would adopt the pods, and delete those above a gap of their ordinals.
			err = errors.New("a run was killed while it made an AdvancedStatefulSet again, and the API server has no such kind now: install its definition again")
		}
		if err != nil || !there {
			return err
		}
	}
	found, err := read()
	if err != nil {
		return err
	}
	l.Sets = append(l.Sets, found...)
	l.Advanced = hasPods || len(found) > 0 || recorded || len(l.Claims) > 0 && asksForSlots(c)
	return nil
}

// ReadAdvanced returns the AdvancedStatefulSets of a cluster.
func ReadAdvanced(ctx context.Context, kube kubernetes.Interface, c topology.Cluster) ([]*appsv1.StatefulSet, error) {
	list, err := sets.Of(kube, c.Namespace, true).List(ctx, ownedBy(c))
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

// HasAdvanced reports whether some of the pods of a cluster are those of AdvancedStatefulSets.
func HasAdvanced(pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return controlledBySet(&p, true) })
}

func asksForSlots(c topology.Cluster) bool {
	return slices.ContainsFunc(c.Groups, func(g topology.Group) bool { return len(g.Slots) > 0 })
}

// controlledBySet reports whether a StatefulSet of a kind controls a pod.
func controlledBySet(p *corev1.Pod, advanced bool) bool {
	c := metav1.GetControllerOf(p)
	if c == nil || c.Kind != "StatefulSet" {
		return false
	}
	if advanced {
		return state.IsAdvanced(c.APIVersion)
	}
	return c.APIVersion == appsv1.SchemeGroupVersion.String()
}

// Sets returns a client for the StatefulSets of the cluster, of the kind that the cluster had when it was observed last.
func (o *Observer) Sets() sets.Client { return sets.Of(o.kube, o.of.own.Namespace, o.advanced) }

// Advanced reports whether the cluster had AdvancedStatefulSets when it was observed last.
func (o *Observer) Advanced() bool { return o.advanced }

// noteAdvanced notes which kind of StatefulSets the cluster has, and has them watched.
func (o *Observer) noteAdvanced(advanced bool) {
	o.advanced = advanced
	if advanced && o.watchAdvanced != nil {
		o.watchAdvanced()
		o.watchAdvanced = nil
	}
}
