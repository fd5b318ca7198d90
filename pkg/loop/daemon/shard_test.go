package daemon

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"": {}, "0/1": {0, 1}, "0/3": {0, 3}, "2/3": {2, 3}} {
		if got, err := ParseShard(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"3/3", "-1/3", "1", "1/", "/3", "a/3", "0/0", "0/-1", "1/3/5"} {
		if got, err := ParseShard(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestShards: each cluster is in one shard, and the shards have about the same size.
func TestShards(t *testing.T) {
	const clusters, of = 3000, 3
	var sizes [of]int
	for n := range clusters {
		in := 0
		for i := range of {
			if (Shard{i, of}).has("db", fmt.Sprint("c", n)) {
				sizes[i]++
				in++
			}
		}
		if in != 1 || !(Shard{}).has("db", fmt.Sprint("c", n)) || !(Shard{0, 1}).has("db", fmt.Sprint("c", n)) {
			t.Fatalf("cluster %d is in %d shards", n, in)
		}
	}
	for i, n := range sizes {
		if n < clusters/of*9/10 || n > clusters/of*11/10 {
			t.Errorf("shard %d has %d clusters", i, n)
		}
	}
}

// shards returns the shard of three that has a cluster, and one that has not.
func shards(namespace, of string) (has, other Shard) {
	for i := range 3 {
		if s := (Shard{i, 3}); s.has(namespace, of) {
			has = s
		} else {
			other = s
		}
	}
	return has, other
}

// TestMirrorOfShard: the mirror has the objects of its own clusters, and of others only the names; a
// TidbCluster and its objects are in the same shard, whether or not it has a label of its own.
func TestMirrorOfShard(t *testing.T) {
	for name, label := range map[string]string{"by its name": "", "by its label": "another"} {
		t.Run(name, func(t *testing.T) {
			s := setup(t, func(u *unstructured.Unstructured) {
				if label != "" {
					u.SetLabels(map[string]string{topology.LabelInstance: label})
				}
			})
			tc, all := belongings(t, "basic")
			c := topology.New(tc)
			if label != "" {
				c.Instance = label
			}
			for _, o := range all {
				o.(metav1.Object).SetLabels(c.Labels(topology.PD))
				if err := s.kube.Tracker().Add(o.(runtime.Object)); err != nil {
					t.Fatal(err)
				}
			}
			mine, other := shards("db", c.Instance)
			for shard, has := range map[Shard]bool{mine: true, other: false} {
				m, err := newMirror(s.kube, intent.New(s.dyn), Scope{Namespace: "db", Shard: shard})
				if err != nil {
					t.Fatal(err)
				}
				if err := m.start(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, err = m.sourceOf(basic).Intent(t.Context())
				if missing := errors.As(err, new(*intent.NotFoundError)); missing == has {
					t.Errorf("shard %s: %v", shard, err)
				}
				got, err := m.sourceOf(basic).Objects(t.Context(), c)
				if n := len(got.Services) + len(got.ConfigMaps) + len(got.Sets) + len(got.Pods) + len(got.Claims); err != nil || (n == len(all)) != has || !has && n > 0 {
					t.Errorf("shard %s: %d of %d objects, %v", shard, n, len(all), err)
				}
				for _, i := range append(m.objects(), m.clusters) {
					for _, key := range i.GetStore().ListKeys() {
						if obj, _, _ := i.GetStore().GetByKey(key); isForeign(obj) == has {
							t.Errorf("shard %s: %s is kept as %T", shard, key, obj)
						}
					}
				}
			}
		})
	}
}

// TestForeignIsNotWanted: changes of clusters in other shards need no turn, but a cluster that has moved to
// another shard is dropped.
func TestForeignIsNotWanted(t *testing.T) {
	s := setup(t, nil)
	_, other := shards("db", "basic")
	d, err := New(Config{Connections: start.Connections{Kube: s.kube, Intent: intent.New(s.dyn)}, Scope: Scope{Shard: other}, Meter: meter{s, "a"}})
	if err != nil {
		t.Fatal(err)
	}
	moved, err := other.keepOwn(keepWanted)(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}})
	if err != nil || !isForeign(moved) {
		t.Fatalf("%T, %v", moved, err)
	}
	d.queueAtOnce(moved)
	d.queueForTurn(moved)
	d.queueForTurn(cache.DeletedFinalStateUnknown{Key: "db/basic-pd-0", Obj: moved})
	if n := d.queue.Len(); n != 0 {
		t.Errorf("%d clusters are on the queue", n)
	}
	d.drivers[basic] = &driver{}
	if d.queueAtOnce(moved); d.queue.Len() != 1 {
		t.Error("a cluster that has moved is not dropped")
	}
}

// TestOwnKeepsStubs: what was transformed before, and deletions, stay as they are.
func TestOwnKeepsStubs(t *testing.T) {
	mine, other := shards("db", "basic")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic-pd-0", Labels: map[string]string{topology.LabelInstance: "basic"}}}
	kept, err := mine.keepOwn(trim)(pod)
	if _, ok := kept.(*packed); !ok || err != nil {
		t.Fatalf("%T, %v", kept, err)
	}
	for _, obj := range []any{kept, &foreign{}, cache.DeletedFinalStateUnknown{Key: "db/basic-pd-0", Obj: kept}} {
		if again, err := other.keepOwn(trim)(obj); err != nil || again != obj {
			t.Errorf("%T becomes %T, %v", obj, again, err)
		}
	}
}
