package intent

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Undecodable is in an Informer for a TidbCluster that cannot be decoded. It has its name, and the
// reason.
type Undecodable struct {
	metav1.ObjectMeta
	Err error
}

// Informer returns a copy of the TidbClusters that tweak selects, in a namespace, or in all for "". A watch keeps
// the copy up to date. Its items are *v1alpha1.TidbCluster, or *Undecodable. It does nothing until it runs.
func (c *Client) Informer(namespace string, tweak func(*metav1.ListOptions)) (cache.SharedIndexInformer, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(c.dyn, Resource, namespace, 0, cache.Indexers{}, tweak).Informer()
	return informer, informer.SetTransform(Typed)
}

// Watch sends a value whenever a TidbCluster with the labels changes, until ctx ends. The TidbCluster is in the
// namespace, or in any for "". Several changes at the same time are one value.
func (c *Client) Watch(ctx context.Context, namespace, selector string) (<-chan struct{}, error) {
	informer, err := c.Informer(namespace, func(o *metav1.ListOptions) { o.LabelSelector = selector })
	if err != nil {
		return nil, err
	}
	nudges := make(chan struct{}, 1)
	nudge := func() {
		select {
		case nudges <- struct{}{}:
		default:
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { nudge() }, UpdateFunc: func(any, any) { nudge() }, DeleteFunc: func(any) { nudge() },
	})
	go informer.RunWithContext(ctx)
	return nudges, err
}

// Typed decodes a TidbCluster: as maps of maps it would take several times the memory. It is the
// transformation of an Informer, for callers that add another one.
func Typed(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok { // transformed before, or the name of a deleted object
		return obj, nil
	}
	tc, err := decode(u)
	if err != nil {
		return &Undecodable{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
			},
			Err: err,
		}, nil
	}
	tc.ManagedFields = topology.PauseOwners(tc) // the others are many, and are not read
	return tc, nil
}
