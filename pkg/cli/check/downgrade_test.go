package check

import (
	"errors"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// half returns a cluster in an upgrade from v8.1.0 to v8.1.9 that has restarted the last member of
// PD, of TiKV and of TiDB; none of them has run with it.
func half(change func(*plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 3, 2)
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		members := c.Seen.Groups[k].Members
		for i := range members {
			members[i].Pod.Version = "v8.1.0"
			if k != topology.TiDB {
				members[i].Database.Version = "8.1.0"
			}
		}
		if len(members) > 0 {
			last := members[len(members)-1].Pod
			last.Version, last.Ran, last.Ready = "v8.1.9", false, false
		}
	}
	change(c)
	return c
}

func TestRetreat(t *testing.T) {
	ran := func(name string) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Member(name).Pod.Ran = true }
	}
	for _, tt := range []struct {
		name   string
		kind   topology.Kind
		to     string
		before string
		change func(*plantest.Cluster)
		says   string // "" when it is allowed
	}{
		{"an image that does not exist", topology.PD, "v8.1.0", "", func(*plantest.Cluster) {}, ""},
		{"stores that find no node", topology.TiKV, "v8.1.0", "", func(*plantest.Cluster) {}, ""},
		{"TiDB", topology.TiDB, "v8.1.0", "", func(*plantest.Cluster) {}, ""},
		{"a component whose turn never came", topology.TiKV, "v8.1.0", "v8.1.0", func(c *plantest.Cluster) {
			last := c.Member("t-tikv-2").Pod
			last.Version, last.Ran = "v8.1.0", true
		}, ""},
		{"PD has run", topology.PD, "v8.1.0", "v8.1.0", ran("t-pd-2"), "t-pd-2 has run with v8.1.9"},
		{"a store has run", topology.TiKV, "v8.1.0", "v8.1.0", ran("t-tikv-2"), "t-tikv-2 has run with v8.1.9"},
		{"TiDB has run, and may have changed its tables", topology.TiDB, "v8.1.0", "v8.1.0", ran("t-tidb-1"), "t-tidb-1 has run with v8.1.9"},
		{"it has run before its pod was recreated", topology.TiKV, "v8.1.0", "v8.1.0", func(c *plantest.Cluster) {
			c.Member("t-tikv-2").Database.Version = "8.1.9"
		}, "t-tikv-2 was 8.1.9 when it served last"},
		{"no pod", topology.PD, "v8.1.0", "v8.1.0", func(c *plantest.Cluster) { c.Member("t-pd-2").Pod = nil }, "t-pd-2 has no pod at the moment"},
		{"a member that was removed", topology.TiKV, "v8.1.0", "v8.1.0", func(c *plantest.Cluster) { c.Add(topology.TiKV) }, ""},
		{"a version that is no release has run", topology.PD, "v8.1.0", "v8.1.0", func(c *plantest.Cluster) {
			p := c.Member("t-pd-2").Pod
			p.Ran, p.Version = true, "nightly"
		}, "t-pd-2 has run with nightly"},
		{"another version than it was", topology.PD, "v8.0.0", "v8.1.0", func(*plantest.Cluster) {}, "t-pd-0 has run with v8.1.0"},
		{"never was that, though higher than what it was", topology.PD, "v8.1.5", "v8.1.0", func(*plantest.Cluster) {}, "it is not recorded that it was v8.1.5 before"},
		{"no pod of the old version is left", topology.TiDB, "v8.1.0", "v8.1.0", func(c *plantest.Cluster) {
			p := c.Member("t-tidb-0").Pod
			p.Ran, p.Version = false, "v8.1.9"
		}, ""},
		{"no pod of the old version is left, and nothing records it", topology.TiDB, "v8.1.0", "", func(c *plantest.Cluster) {
			p := c.Member("t-tidb-0").Pod
			p.Ran, p.Version = false, "v8.1.9"
		}, "it is not recorded that it was v8.1.0 before"},
		{"an upgrade that is over", topology.PD, "v8.1.0", "v8.1.9", func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[topology.PD].Members {
				p := c.Seen.Groups[topology.PD].Members[i].Pod
				p.Ran, p.Version = true, "v8.1.9"
			}
		}, "t-pd-0 has run with v8.1.9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, want := basic(func(*v1alpha1.TidbCluster) {}), basic(func(*v1alpha1.TidbCluster) {})
			now.Spec.Version, want.Spec.Version = "v8.1.9", tt.to
			p := propose(Request{Change: intent.Change{Now: now, Want: want}})
			for _, d := range topology.Downgrades(p.existing, p.wanted) {
				if d.Kind != tt.kind {
					continue
				}
				errs := refusals([]retreat{{d, tt.before}}, half(tt.change).Seen)
				switch {
				case tt.says == "" && len(errs) > 0:
					t.Errorf("refused: %v", errs)
				case tt.says != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.says) || !strings.Contains(errs[0].Error(), "lower")):
					t.Errorf("does not say %q: %v", tt.says, errs)
				}
				return
			}
			t.Error("no downgrade")
		})
	}
}

// TestRetreatsOfOneField: components whose version one field sets are refused by one error.
func TestRetreatsOfOneField(t *testing.T) {
	now, want := basic(func(*v1alpha1.TidbCluster) {}), basic(func(*v1alpha1.TidbCluster) {})
	now.Spec.Version, want.Spec.Version = "v8.1.9", "v8.0.0"
	p := propose(Request{Change: intent.Change{Now: now, Want: want}})
	var all []retreat
	for _, d := range topology.Downgrades(p.existing, p.wanted) {
		all = append(all, retreat{d, ""})
	}
	errs := refusals(all, half(func(*plantest.Cluster) {}).Seen)
	if len(all) != 3 || len(errs) != 1 || errs[0].Field != "spec.version" || strings.Count(errs[0].Detail, "is v8.1.9, and") != 3 || strings.Count(errs[0].Detail, "a lower version") != 1 {
		t.Errorf("%d components, %v", len(all), errs)
	}
}

// TestRetreats: the former version is known from the former revision, unless that may not be read.
func TestRetreats(t *testing.T) {
	revision := func(name, container string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name},
			Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"$patch":"replace","spec":{"containers":[
				{"name":"sidecar","image":"a:v1"},{"name":"` + container + `","image":"r:5000/a:v8.1.0"}]}}}}`)},
		}
	}
	now, want := basic(func(*v1alpha1.TidbCluster) {}), basic(func(*v1alpha1.TidbCluster) {})
	now.Spec.Version = "v8.1.9"
	c := half(func(c *plantest.Cluster) {
		for k, g := range c.Seen.Groups {
			g.Set.CurrentRevision = string(k) + "-1"
			c.Seen.Groups[k] = g
		}
	})
	fails := func(err error) *fake.Clientset {
		kube := fake.NewClientset()
		kube.PrependReactor("get", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		return kube
	}
	for name, tt := range map[string]struct {
		kube *fake.Clientset
		want string
		fail bool
	}{
		"there":     {fake.NewClientset(revision("pd-1", "pd"), revision("tikv-1", "tikv"), revision("tidb-1", "other")), "v8.1.0 v8.1.0 ", false},
		"gone":      {fake.NewClientset(), "  ", false},
		"forbidden": {fails(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))), "  ", false},
		"broken":    {fails(errors.New("broken")), "", true},
	} {
		got, err := retreats(t.Context(), tt.kube, propose(Request{Change: intent.Change{Now: now, Want: want}}), c.Seen)
		if (err != nil) != tt.fail {
			t.Errorf("%s: %v", name, err)
		}
		var versions []string
		for _, r := range got {
			versions = append(versions, r.before)
		}
		if strings.Join(versions, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", name, versions, tt.want)
		}
	}
	kube := fails(errors.New("nothing is to be read"))
	if got, err := retreats(t.Context(), kube, propose(Request{Change: intent.Change{Now: now, Want: now}}), c.Seen); err != nil || len(got) > 0 {
		t.Errorf("without a downgrade: %v, %v", got, err)
	}
}
