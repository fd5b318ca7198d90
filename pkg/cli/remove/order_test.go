package remove

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// serversSet returns TiDB's StatefulSet with this owner.
func serversSet(owner string) *appsv1.StatefulSet {
	set, yes := &appsv1.StatefulSet{ObjectMeta: own("basic-tidb")}, true
	set.UID = "set"
	set.OwnerReferences = []metav1.OwnerReference{{Kind: "TidbCluster", Name: "basic", UID: "tc", Controller: &yes}}
	if owner != "" {
		set.OwnerReferences[0].Name, set.OwnerReferences[0].UID = owner, "other"
	}
	return set
}

func podOf(k topology.Kind, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: own(name)}
	p.Labels[topology.LabelComponent] = string(k)
	return p
}

// The servers end before the TidbCluster is deleted, and if there is another driver its lease is
// not changed.
func TestServersFirst(t *testing.T) {
	now := metav1.NowMicro()
	holder := "tidb-controller-manager-0"
	operator := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tidb-admin", Name: "tidb-controller-manager", UID: "operator"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &now},
	}
	for name, tt := range map[string]struct {
		objects []runtime.Object
		want    bool
	}{
		"no driver":            {[]runtime.Object{serversSet("")}, true},
		"there are no servers": {nil, false},
		"another's":            {[]runtime.Object{serversSet("x")}, false},
		"an operator drives":   {[]runtime.Object{serversSet(""), operator}, false},
	} {
		r := left(append(tt.objects, podOf(topology.TiDB, "basic-tidb-0"), podOf(topology.PD, "basic-pd-0"))...)
		r.cluster.UID = "tc"
		kube, deleted := r.kube.(*fake.Clientset), false
		kube.PrependReactor("delete", "statefulsets", func(a clienttesting.Action) (bool, runtime.Object, error) {
			opts := a.(clienttesting.DeleteActionImpl).DeleteOptions
			deleted = opts.Preconditions != nil && *opts.Preconditions.UID == "set" && *opts.PropagationPolicy == metav1.DeletePropagationBackground
			return false, nil, kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "db", "basic-tidb-0")
		})
		release := r.serversFirst(t.Context())
		if pods, err := r.pods(t.Context()); deleted != tt.want || err != nil || (len(pods) == 1) != tt.want {
			t.Errorf("%s: deleted %t, %d pods left, %v", name, deleted, len(pods), err)
		}
		release()
		held, err := r.kube.CoordinationV1().Leases("db").Get(t.Context(), r.cluster.LeaseName(), metav1.GetOptions{})
		if err == nil && held.Spec.HolderIdentity != nil {
			t.Errorf("%s: the lease is held by %s", name, *held.Spec.HolderIdentity)
		}
	}
}

// The wait does not include a server whose host is gone, and it ends when it is cancelled.
func TestServersThatHang(t *testing.T) {
	begun := time.Now()
	at := func(ago time.Duration) *metav1.Time { return &metav1.Time{Time: begun.Add(-ago)} }
	for name, tt := range map[string]struct {
		kind    topology.Kind
		deleted *metav1.Time // its deletion timestamp
		want    bool
	}{
		"being deleted":      {topology.TiDB, at(-time.Hour), true},
		"just over its time": {topology.TiDB, at(hanging - time.Second), true},
		"long over its time": {topology.TiDB, at(hanging), false},
		"not deleted yet":    {topology.TiDB, nil, true},
		"no server":          {topology.PD, at(0), false},
		"never deleted":      {topology.TiDB, nil, false},
	} {
		p, now := podOf(tt.kind, "x"), begun
		if p.DeletionTimestamp = tt.deleted; name == "never deleted" {
			now = begun.Add(hanging)
		}
		if got := ending([]corev1.Pod{*p}, begun, now); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	r := left(serversSet(""), podOf(topology.TiDB, "basic-tidb-0"))
	r.cluster.UID = "tc"
	r.kube.(*fake.Clientset).PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel(exit.ErrInterrupted) // while it looks
		return false, nil, nil
	})
	r.serversFirst(ctx)()
	if err := undeleted(ctx, r.cluster); exit.Of(err) != exit.Interrupted {
		t.Error(err)
	}
}
