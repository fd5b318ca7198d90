package check

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// serving returns a session with the API server of these TidbClusters.
func serving(t *testing.T, all ...*v1alpha1.TidbCluster) *target.Session {
	t.Helper()
	var objects []runtime.Object
	for _, tc := range all {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(tc)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: fields}
		u.SetAPIVersion("pingcap.com/v1alpha1")
		u.SetKind("TidbCluster")
		objects = append(objects, u)
	}
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{intent.Resource: "TidbClusterList"}, objects...)
	return &target.Session{Namespace: "db", Name: "basic", Connections: start.Connections{Intent: intent.New(dyn)}}
}

func suspended(tc *v1alpha1.TidbCluster) {
	tc.Spec.SuspendAction = &v1alpha1.SuspendAction{SuspendStatefulSet: true}
}

// part returns a part that uses the PD of basic.
func part(change func(*v1alpha1.TidbCluster)) *v1alpha1.TidbCluster {
	return basic(func(tc *v1alpha1.TidbCluster) {
		tc.Name, tc.Spec.PD, tc.Spec.TiDB = "more", nil, nil
		tc.Spec.Cluster = &v1alpha1.TidbClusterRef{Name: "basic"}
		change(tc)
	})
}

// TestNamesOfNewParts: beside a database that spans Kubernetes clusters, the stores of a new part have the cluster domain in
// their addresses.
func TestNamesOfNewParts(t *testing.T) {
	spans := basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.AcrossK8s, tc.Spec.ClusterDomain = true, "eu.example" })
	short := part(func(*v1alpha1.TidbCluster) {})
	long := part(func(tc *v1alpha1.TidbCluster) {
		tc.Spec.ClusterDomain, tc.Spec.Cluster.ClusterDomain = "eu.example", "eu.example"
	})
	for name, c := range map[string]struct {
		now, want, joined *v1alpha1.TidbCluster
		refused           bool
	}{
		"without the domain":       {nil, short, spans, true},
		"with the domain":          {nil, long, spans, false},
		"it exists":                {short, short, spans, false},
		"in one place, no domain":  {nil, short, basic(func(*v1alpha1.TidbCluster) {}), false},
		"in one place, one domain": {nil, short, basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.ClusterDomain = "eu.example" }), false},
	} {
		r := Request{Change: intent.Change{Now: c.now, Want: c.want}}
		errs, _, _, err := propose(r).compareParts(t.Context(), serving(t, c.joined))
		if refused := len(errs) > 0 && errs[0].Field == "spec.clusterDomain"; refused != c.refused || err != nil {
			t.Errorf("%s: %v, %v", name, errs, err)
		}
	}
}

// TestPartsAndSuspension: PD is suspended after the parts that use it, and resumed before them. A command that changes
// several TidbClusters is judged by what it makes of all of them.
func TestPartsAndSuspension(t *testing.T) {
	same := func(*v1alpha1.TidbCluster) {}
	onlyPD := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.PD.SuspendAction = &v1alpha1.SuspendAction{SuspendStatefulSet: true}
		tc.Spec.TiKV, tc.Spec.TiDB = nil, nil
	}
	none := func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Replicas = 0 }
	elsewhere := func(tc *v1alpha1.TidbCluster) { tc.Spec.Cluster.Name = "another" }
	change := func(now, want *v1alpha1.TidbCluster) Request {
		return Request{Change: intent.Change{Now: now, Want: want}}
	}
	beside := func(r Request, all ...*v1alpha1.TidbCluster) Request {
		r.Beside = all
		return r
	}
	const first = "the members of more use the PD of this TidbCluster"
	for _, c := range []struct {
		name string
		r    Request
		have []*v1alpha1.TidbCluster
		says string
	}{
		{"no other part", change(basic(same), basic(suspended)), nil, ""},
		{"a part of another database", change(basic(same), basic(suspended)), []*v1alpha1.TidbCluster{part(elsewhere)}, ""},
		{"a part runs", change(basic(same), basic(suspended)), []*v1alpha1.TidbCluster{part(same)}, first},
		{"a part runs, and only PD is to be suspended", change(basic(same), basic(onlyPD)), []*v1alpha1.TidbCluster{part(same)}, first},
		{"a part without members", change(basic(same), basic(suspended)), []*v1alpha1.TidbCluster{part(none)}, ""},
		{"the part is suspended", change(basic(same), basic(suspended)), []*v1alpha1.TidbCluster{part(suspended)}, ""},
		{"the part is suspended by the same command", beside(change(basic(same), basic(suspended)), part(suspended)), []*v1alpha1.TidbCluster{part(same)}, ""},
		{"the part is resumed by the same command", beside(change(basic(same), basic(suspended)), part(same)), []*v1alpha1.TidbCluster{part(suspended)}, first},
		{"it was suspended before", change(basic(suspended), basic(suspended)), []*v1alpha1.TidbCluster{part(same)}, ""},
		{"resumed", change(basic(suspended), basic(same)), []*v1alpha1.TidbCluster{part(suspended)}, ""},
		{"a part is resumed while PD is suspended", change(part(suspended), part(same)), []*v1alpha1.TidbCluster{basic(suspended)}, "its PD is suspended"},
		{"a new part while PD is suspended", change(nil, part(same)), []*v1alpha1.TidbCluster{basic(suspended)}, "its PD is suspended"},
		{"a new part that is suspended", change(nil, part(suspended)), []*v1alpha1.TidbCluster{basic(suspended)}, ""},
		{"both are resumed by the same command", beside(change(part(suspended), part(same)), basic(same)), []*v1alpha1.TidbCluster{basic(suspended)}, ""},
		{"a part that waits for PD is changed", change(part(same), part(none)), []*v1alpha1.TidbCluster{basic(suspended)}, ""},
	} {
		errs, help, notes, err := propose(c.r).compareParts(t.Context(), serving(t, c.have...))
		if err != nil || len(notes) > 0 {
			t.Errorf("%s: %v, %v", c.name, notes, err)
		}
		if said := errs.ToAggregate(); (said != nil) != (c.says != "") || said != nil && !strings.Contains(said.Error(), c.says) {
			t.Errorf("%s: %v", c.name, said)
		}
		if c.says == first && !strings.Contains(help.Line(""), "kubectl tidb sync more -n db") {
			t.Errorf("%s: %s", c.name, help.Line(""))
		}
	}
}
