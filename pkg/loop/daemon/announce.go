package daemon

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// Announcer publishes what happens to a TidbCluster, for users who read that
// object. It may not block.
type Announcer interface {
	Announce(of corev1.ObjectReference, e event.Event)
}

// reporter returns what receives the events of a cluster.
func (d *Daemon) reporter(key cache.ObjectName) reconcile.Reporter {
	if d.Announcer == nil {
		return d.Reporter(key)
	}
	return reconcile.Reporters{d.Reporter(key), announced{d.Announcer, d.mirror.clusters.GetStore(), key}}
}

// announced adds to each event which TidbCluster exists at that time. One that was
// recreated under the same name has another UID.
type announced struct {
	to       Announcer
	clusters cache.KeyGetter
	key      cache.ObjectName
}

// Report implements reconcile.Reporter.
func (a announced) Report(e event.Event) {
	obj, _, _ := a.clusters.GetByKey(a.key.String())
	tc, err := meta.Accessor(obj) // also where the TidbCluster cannot be decoded
	if err != nil {
		return // deleted
	}
	a.to.Announce(corev1.ObjectReference{
		APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.TiDBClusterKind,
		Namespace: tc.GetNamespace(), Name: tc.GetName(), UID: tc.GetUID(), ResourceVersion: tc.GetResourceVersion(),
	}, e)
}
