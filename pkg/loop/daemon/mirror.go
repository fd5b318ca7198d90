package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// byCluster is the index of objects by the cluster that their labels name.
const byCluster = "cluster"

// mirror is a copy of all Kubernetes objects of the clusters, kept up to date by
// watches. Reading it costs the API server nothing.
type mirror struct {
	clusters cache.SharedIndexInformer
	services, configs, sets,
	pods, claims, discovery cache.SharedIndexInformer
	// advanced are the AdvancedStatefulSets. They are copied if the API server has such a kind when the copies begin.
	advanced    cache.SharedIndexInformer
	hasAdvanced bool
	kube        kubernetes.Interface
	tcs         *intent.Client
	scope       Scope
}

// Scope is which clusters are kept converged.
type Scope struct {
	Namespace string // "" for all
	Name      string // "" for all
	Selector  labels.Selector
	Shard     Shard
}

func (s Scope) String() string {
	switch {
	case s.Name != "":
		return s.Namespace + "/" + s.Name
	case s.Namespace == "":
		return "all namespaces"
	}
	return "namespace " + s.Namespace
}

func newMirror(kube kubernetes.Interface, tcs *intent.Client, scope Scope) (*mirror, error) {
	clusters, err := tcs.Informer(scope.Namespace, func(o *metav1.ListOptions) {
		if scope.Name != "" {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", scope.Name).String()
		}
		if scope.Selector != nil {
			o.LabelSelector = scope.Selector.String()
		}
	})
	if err != nil {
		return nil, err
	}
	if err := clusters.SetTransform(scope.Shard.keepOwn(keepWanted)); err != nil {
		return nil, err
	}
	if err := clusters.AddIndexers(cache.Indexers{byCluster: clusterOf}); err != nil {
		return nil, err
	}
	core, apps, namespace := kube.CoreV1(), kube.AppsV1(), scope.Namespace
	m := &mirror{
		clusters: clusters,
		services: copied(core.Services(namespace), &corev1.Service{}, kube),
		configs:  copied(core.ConfigMaps(namespace), &corev1.ConfigMap{}, kube),
		sets:     copied(apps.StatefulSets(namespace), &appsv1.StatefulSet{}, kube),
		pods:     copied(core.Pods(namespace), &corev1.Pod{}, kube),
		claims:   copied(core.PersistentVolumeClaims(namespace), &corev1.PersistentVolumeClaim{}, kube),
		// Of Deployments a daemon keeps only the names.
		discovery: copied(apps.Deployments(namespace), &appsv1.Deployment{}, kube),
		advanced:  copied(sets.Of(kube, namespace, true), &appsv1.StatefulSet{}, kube),
		kube:      kube,
		tcs:       tcs,
		scope:     scope,
	}
	for _, i := range m.objects() {
		if err := i.SetTransform(scope.Shard.keepOwn(trim)); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// objects returns the informers of the objects that belong to clusters.
func (m *mirror) objects() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{m.services, m.configs, m.sets, m.pods, m.claims, m.discovery, m.advanced}
}

// start watches until ctx ends, and waits for the first copy of all objects.
func (m *mirror) start(ctx context.Context) error {
	var err error
	if m.hasAdvanced, err = m.readsAdvanced(ctx); err != nil {
		return err
	}
	all := slices.DeleteFunc(append(m.objects(), m.clusters), func(i cache.SharedIndexInformer) bool { return i == m.advanced && !m.hasAdvanced })
	synced := make([]cache.InformerSynced, 0, len(all))
	for _, i := range all {
		go i.RunWithContext(ctx)
		synced = append(synced, i.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	return nil
}

// readsAdvanced reports whether the API server has AdvancedStatefulSets that may be read. A copy of what may not be read
// would never be complete, and clusters of StatefulSets of Kubernetes would wait for it.
func (m *mirror) readsAdvanced(ctx context.Context) (bool, error) {
	may, err := sets.Served(m.kube)
	for _, verb := range []string{"list", "watch"} {
		if may && err == nil {
			may, err = allowed(ctx, m.kube, m.scope, rbac.Right{Group: sets.Resource.Group, Resource: sets.Resource.Resource}, verb)
		}
	}
	return may && err == nil, err
}

// clusterOf indexes an object by the cluster that it belongs to.
func clusterOf(obj any) ([]string, error) {
	switch o := obj.(type) {
	case *foreign:
		return nil, nil
	case *wanted:
		return []string{instance(o.namespace.Value(), o.instance)}, nil
	case *intent.Undecodable:
		return []string{instance(o.Namespace, o.Name)}, nil
	case *packed:
		return []string{instance(o.namespace.Value(), o.instance)}, nil
	case metav1.Object:
		return []string{instance(o.GetNamespace(), o.GetLabels()[topology.LabelInstance])}, nil
	}
	return nil, fmt.Errorf("%T is no object", obj)
}

func instance(namespace, name string) string { return namespace + "/" + name }

// sourceOf returns what the mirror has of one cluster.
func (m *mirror) sourceOf(key cache.ObjectName) observe.Source { return view{m, key} }

// view implements observe.Source.
type view struct {
	mirror *mirror
	key    cache.ObjectName
}

// Intent implements observe.Source. A part that may not use the PD of another namespace is refused here, before anything
// of that namespace is read.
func (v view) Intent(ctx context.Context) (*v1alpha1.TidbCluster, error) {
	tc, err := v.cluster()
	if err != nil {
		return nil, err
	}
	return tc, v.mirror.allowsPart(ctx, topology.New(tc))
}

// cluster returns the TidbCluster.
func (v view) cluster() (*v1alpha1.TidbCluster, error) {
	obj, ok, err := v.mirror.clusters.GetStore().GetByKey(v.key.String())
	switch kept := obj.(type) {
	case *wanted:
		return kept.cluster()
	case *intent.Undecodable:
		return nil, kept.Err
	}
	if err == nil && (!ok || isForeign(obj)) {
		err = &intent.NotFoundError{Namespace: v.key.Namespace, Name: v.key.Name}
	}
	return nil, err
}

// Objects implements observe.Source.
func (v view) Objects(ctx context.Context, c topology.Cluster) (observe.Objects, error) {
	of := instance(c.Namespace, c.Instance)
	var got observe.Objects
	var errs [5]error
	got.Services, errs[0] = list[corev1.Service](v.mirror.services, of)
	got.ConfigMaps, errs[1] = list[corev1.ConfigMap](v.mirror.configs, of)
	got.Sets, errs[2] = list[appsv1.StatefulSet](v.mirror.sets, of)
	got.Pods, errs[3] = list[corev1.Pod](v.mirror.pods, of)
	got.Claims, errs[4] = list[corev1.PersistentVolumeClaim](v.mirror.claims, of)
	for _, m := range got.ConfigMaps {
		if m.Name == c.LedgerMap() {
			got.Ledger = m
		}
	}
	for _, d := range objectsOf(v.mirror.discovery, of) {
		got.Discovery = got.Discovery || d.name == c.BootstrapMap()
	}
	if err := errors.Join(errs[:]...); err != nil {
		return got, err
	}
	// Pods of another cluster may be in a namespace or a shard of which there is no copy.
	var err error
	if got.PD, err = observe.OtherPD(ctx, v.mirror.kube, c); err != nil {
		return got, fmt.Errorf("read pods of PD: %w", err)
	}
	served := func() (bool, error) { return sets.Served(v.mirror.kube) }
	return got, got.FindAdvanced(c, served, func() ([]*appsv1.StatefulSet, error) { return v.mirror.advancedOf(ctx, c) })
}

// advancedOf returns the AdvancedStatefulSets of a cluster. Where they are not copied, as their kind was made later, or
// may not be read, the API server is asked.
func (m *mirror) advancedOf(ctx context.Context, c topology.Cluster) ([]*appsv1.StatefulSet, error) {
	if !m.hasAdvanced {
		return observe.ReadAdvanced(ctx, m.kube, c)
	}
	all, err := list[appsv1.StatefulSet](m.advanced, instance(c.Namespace, c.Instance))
	for _, set := range all {
		sets.Mark(set) // the copy does not have that
	}
	return all, err
}

// pod returns a pod, for dial.Direct.
func (m *mirror) pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	obj, _, err := m.pods.GetStore().GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	if p, ok := obj.(*packed); ok {
		return unpack[corev1.Pod](p)
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

// list returns the objects of one kind that a cluster has. One that cannot be
// decoded is an error: it exists, and must not be taken for deleted.
func list[T any, P decodable[T]](from cache.SharedIndexInformer, cluster string) ([]*T, error) {
	all := objectsOf(from, cluster)
	out := make([]*T, 0, len(all))
	for _, p := range all {
		o, err := unpack[T, P](p)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func objectsOf(from cache.SharedIndexInformer, cluster string) []*packed {
	// The only error is an index that does not exist.
	all, _ := from.GetIndexer().ByIndex(byCluster, cluster)
	out := make([]*packed, 0, len(all))
	for _, obj := range all {
		if p, ok := obj.(*packed); ok {
			out = append(out, p)
		}
	}
	return out
}
