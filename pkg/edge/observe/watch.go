package observe

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// watched are the resources whose changes lead to another observation.
var watched = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "persistentvolumeclaims"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
}

// Watch sends a value whenever an object of the cluster changes in Kubernetes, until ctx ends. It watches metadata
// only, since the value has no content; several changes at the same time are one value. An object that is shown once
// more, as when a watch begins again, has not changed. Without that rule a wait of hours would read everything each
// time that the API server ends a watch. The API server does that every few minutes.
func Watch(ctx context.Context, client metadata.Interface, c topology.Cluster) <-chan struct{} {
	nudges, _ := watchCluster(ctx, client, c)
	return nudges
}

// Watch is as Watch above. It also watches AdvancedStatefulSets as soon as the cluster has been observed to have some.
func (o *Observer) Watch(ctx context.Context, client metadata.Interface, c topology.Cluster) <-chan struct{} {
	nudges, also := watchCluster(ctx, client, c)
	o.watchAdvanced = func() { also(sets.Resource) }
	o.noteAdvanced(o.advanced)
	return nudges
}

// watchCluster returns also a function that watches one more resource.
func watchCluster(ctx context.Context, client metadata.Interface, c topology.Cluster) (changes <-chan struct{}, also func(schema.GroupVersionResource)) {
	nudges := make(chan struct{}, 1)
	nudge := func() {
		select {
		case nudges <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { nudge() },
		UpdateFunc: func(before, after any) {
			if before.(*metav1.PartialObjectMetadata).ResourceVersion != after.(*metav1.PartialObjectMetadata).ResourceVersion {
				nudge()
			}
		},
		DeleteFunc: func(any) { nudge() },
	}
	start := func(r schema.GroupVersionResource, tweak func(*metav1.ListOptions)) {
		factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, c.Namespace, tweak)
		// It fails only for an informer that has stopped.
		_, _ = factory.ForResource(r).Informer().AddEventHandler(handler)
		factory.Start(ctx.Done())
	}
	own := labels.SelectorFromSet(c.Selector()).String()
	also = func(r schema.GroupVersionResource) { start(r, func(o *metav1.ListOptions) { o.LabelSelector = own }) }
	for _, r := range watched {
		also(r)
	}
	start(intent.Resource, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", c.Name).String()
	})
	return nudges, also
}
