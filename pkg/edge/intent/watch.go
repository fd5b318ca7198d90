package intent

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Undecodable stands in an Informer for a TidbCluster that is none of the types
// known here. Its name is known, and why it cannot be read.
type Undecodable struct {
	metav1.ObjectMeta
	Err error
}

// Informer is a copy of TidbClusters that the API server keeps up to date: those
// of a namespace, of all for "", that tweak leaves. Its items are
// *v1alpha1.TidbCluster, or *Undecodable. It does nothing until it runs.
func (c *Client) Informer(namespace string, tweak func(*metav1.ListOptions)) (cache.SharedIndexInformer, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(c.dyn, Resource, namespace, 0, cache.Indexers{}, tweak).Informer()
	return informer, informer.SetTransform(Typed)
}

// Typed keeps of a TidbCluster what somebody reads: as maps of maps it would take
// several times the memory. It is the transformation of an Informer, for who has
// another one to follow.
func Typed(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok { // what has been transformed before, or the name of what is gone
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
	tc.ManagedFields = nil
	return tc, nil
}
