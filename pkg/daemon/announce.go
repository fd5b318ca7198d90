package daemon

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/reconcile"
)

// Announcer tells those who look at a TidbCluster what happens to it. It may not
// block.
type Announcer interface {
	Announce(of corev1.ObjectReference, e event.Event)
}

// reporter is who is told of a cluster.
func (d *Daemon) reporter(key cache.ObjectName) reconcile.Reporter {
	if d.Announcer == nil {
		return d.Reporter(key)
	}
	return reconcile.Reporters{d.Reporter(key), announced{d.Announcer, d.mirror.clusters.GetStore(), key}}
}

// announced names the TidbCluster to an Announcer as it is at that time: one that
// was recreated under the same name has another UID.
type announced struct {
	to       Announcer
	clusters cache.KeyGetter
	key      cache.ObjectName
}

// Report implements reconcile.Reporter.
func (a announced) Report(e event.Event) {
	obj, _, _ := a.clusters.GetByKey(a.key.String())
	tc, err := meta.Accessor(obj) // also of one that cannot be read
	if err != nil {
		return // gone
	}
	a.to.Announce(corev1.ObjectReference{
		APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.TiDBClusterKind,
		Namespace: tc.GetNamespace(), Name: tc.GetName(), UID: tc.GetUID(), ResourceVersion: tc.GetResourceVersion(),
	}, e)
}
