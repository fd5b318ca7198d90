package intent

import (
	"context"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Watch calls changed with each state of a TidbCluster from now on, with nil
// when it is deleted, until ctx ends. Broken connections are made again. A state
// that cannot be decoded is left out: Load tells what is wrong with it.
func (c *Client) Watch(ctx context.Context, namespace, name string, changed func(*v1alpha1.TidbCluster)) error {
	informer := dynamicinformer.NewFilteredDynamicInformer(c.dyn, Resource, namespace, 0, nil,
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		}).Informer()
	tell := func(obj any) {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			if tc, err := decode(u); err == nil {
				changed(tc)
			}
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    tell,
		UpdateFunc: func(_, obj any) { tell(obj) },
		DeleteFunc: func(any) { changed(nil) },
	})
	if err != nil {
		return fmt.Errorf("watch tidbcluster %s/%s: %w", namespace, name, err)
	}
	informer.RunWithContext(ctx)
	return nil
}
