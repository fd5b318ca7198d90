package daemon

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// source is the part of a typed client that an informer needs.
type source[List runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (List, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// copied returns an informer of the objects of one kind that have the labels of a
// cluster's objects. The packages of client-go/informers would add an informer
// and a lister for each of 60 kinds to the program.
func copied[List runtime.Object](from source[List], kind runtime.Object, kube kubernetes.Interface) cache.SharedIndexInformer {
	own := labels.Set(topology.Cluster{}.Selector())
	delete(own, topology.LabelInstance)
	selector := own.String()
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = selector
			return from.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = selector
			return from.Watch(ctx, opts)
		},
	}, kube), kind, 0, cache.Indexers{byCluster: clusterOf})
}
