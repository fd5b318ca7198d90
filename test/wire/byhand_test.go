package wire

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

var tidbClusters = schema.GroupResource{Group: "pingcap.com", Resource: "tidbclusters"}

// changeSet is a person who changes the StatefulSet of a component with kubectl.
func (w *World) changeSet(k topology.Kind, change func(*appsv1.StatefulSet)) {
	have := w.set(k)
	if next := w.editSet(k, change); !equality.Semantic.DeepEqual(have.Spec.Template, next.Spec.Template) {
		w.kube.ChangedByHand(k)
	}
	w.written()
}

// editSet writes a StatefulSet as kubectl does.
func (w *World) editSet(k topology.Kind, change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	next := w.set(k).DeepCopy()
	change(next)
	next.Generation++
	w.kube.PutSet("kubectl-edit", next)
	return next
}

// changeCluster is a person who changes the TidbCluster with kubectl.
func (w *World) changeCluster(change func(*unstructured.Unstructured)) {
	next := w.api.Get(tidbClusters, kubernetes.Namespace, kubernetes.Name).DeepCopyObject().(*unstructured.Unstructured)
	change(next)
	next.SetGeneration(next.GetGeneration() + 1)
	w.api.PutBy("kubectl-edit", tidbClusters, next)
	w.written()
}

// deleteCluster is a person who deletes the TidbCluster with kubectl.
func (w *World) deleteCluster() {
	w.api.Remove(tidbClusters, kubernetes.Namespace, kubernetes.Name)
	w.written()
}

// during runs a command, and does something in the second in which something holds.
func (w *World) during(ctx context.Context, when func() bool, do func(), args ...string) Result {
	ended := make(chan Result)
	go func() { ended <- w.run(ctx, w.network.DialContext, args...) }()
	for done := false; ; {
		if r := w.waitFor(ended); r != nil {
			return w.said(*r)
		}
		if !done && when() {
			done = true
			do()
		}
	}
}

// written tells the model what a person has written.
func (w *World) written() {
	w.kube.Written()
	w.kube.Show()
}

// set returns the StatefulSet of a component.
func (w *World) set(k topology.Kind) *appsv1.StatefulSet {
	set, _ := w.kube.Set(k)
	return set
}
