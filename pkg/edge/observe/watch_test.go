package observe

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// resources are those that have to be watched.
var resources = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "persistentvolumeclaims"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "pingcap.com", Version: "v1alpha1", Resource: "tidbclusters"},
}

// opened is a watch that was requested.
type opened struct {
	by     clienttesting.WatchRestrictions
	events *apiwatch.FakeWatcher
}

// watching starts the watches, and returns the channel of changes and the watches by resource.
func watching(ctx context.Context, t *testing.T, c topology.Cluster) (nudges <-chan struct{}, watches map[schema.GroupVersionResource]opened) {
	t.Helper()
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleMetadataClient(scheme)
	type asked struct {
		resource schema.GroupVersionResource
		opened   opened
	}
	all := make(chan asked, 10)
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, apiwatch.Interface, error) {
		w := apiwatch.NewFake()
		all <- asked{action.GetResource(), opened{action.(clienttesting.WatchAction).GetWatchRestrictions(), w}}
		if ns := action.GetNamespace(); ns != c.Namespace {
			t.Errorf("%s are watched in namespace %q", action.GetResource().Resource, ns)
		}
		return true, w, nil
	})
	nudges = Watch(ctx, client, c)
	watches = map[schema.GroupVersionResource]opened{}
	for range resources {
		select {
		case a := <-all:
			watches[a.resource] = a.opened
		case <-time.After(30 * time.Second):
			t.Fatalf("watched are only %v", watches)
		}
	}
	return nudges, watches
}

// TestWatch: each change of the cluster's objects, and of the TidbCluster itself, is reported, and
// no other objects are watched.
func TestWatch(t *testing.T) {
	c := topology.Cluster{Namespace: "ns", Name: "basic", Instance: "release"}
	nudges, watches := watching(t.Context(), t, c)
	nudged := func(what string) {
		t.Helper()
		select {
		case <-nudges:
		case <-time.After(30 * time.Second):
			t.Errorf("no nudge: %s", what)
		}
	}
	for _, r := range resources {
		w, ok := watches[r]
		if !ok {
			t.Errorf("%s are not watched", r.Resource)
			continue
		}
		labels, fields := "app.kubernetes.io/instance=release,app.kubernetes.io/managed-by=tidb-operator,app.kubernetes.io/name=tidb-cluster", ""
		if r == intent.Resource {
			labels, fields = "", "metadata.name=basic"
		}
		if w.by.Labels.String() != labels || w.by.Fields.String() != fields {
			t.Errorf("%s are watched by labels %q and fields %q", r.Resource, w.by.Labels, w.by.Fields)
		}
		for version, change := range []struct {
			what string
			send func(runtime.Object)
		}{{"made", w.events.Add}, {"changed", w.events.Modify}, {"deleted", w.events.Delete}} {
			change.send(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "x", ResourceVersion: string(rune('1' + version)),
			}})
			nudged(r.Resource + " " + change.what)
		}
	}
}

// TestWatchSeldomRead: changes that come while the channel is not read are one value.
func TestWatchSeldomRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nudges, watches := watching(t.Context(), t, topology.Cluster{Namespace: "ns", Name: "basic", Instance: "basic"})
		for i := range 10 {
			watches[resources[0]].events.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: string(rune('a' + i))}})
		}
		for want := 1; want >= 0; want-- {
			synctest.Wait()
			select {
			case <-nudges:
				if want == 0 {
					t.Error("a change is reported twice")
				}
			default:
				if want == 1 {
					t.Error("no nudge")
				}
			}
		}
	})
}
