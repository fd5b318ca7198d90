package check

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestSetBack: a change of fields that a tool of GitOps owns says before it is made that the tool will
// set it back, and which fields those are.
func TestSetBack(t *testing.T) {
	now := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{Version: "v8.1.0", TiKV: &v1alpha1.TiKVSpec{Replicas: 3}}}
	own := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const version, replicas, whole = `{"f:spec":{"f:version":{}}}`, `{"f:spec":{"f:tikv":{".":{},"f:replicas":{}}}}`, `{"f:spec":{"f:tikv":{}}}`
	upgrade := func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8.1.1" }
	scale := func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Replicas = 4 }
	for name, c := range map[string]struct {
		owner  metav1.ManagedFieldsEntry
		change func(*v1alpha1.TidbCluster)
		says   string
	}{
		"Argo CD":         {own("argocd-controller", version), upgrade, "argocd-controller owns spec.version, and will set that back"},
		"Flux":            {own("kustomize-controller", replicas), scale, "kustomize-controller owns spec.tikv.replicas, and"},
		"Helm":            {own("helm", whole), scale, "helm owns spec.tikv.replicas, and"},
		"another field":   {own("argocd-controller", replicas), upgrade, ""},
		"a person":        {own("kubectl", version), upgrade, ""},
		"this plugin":     {own("kubectl-tidb", version), upgrade, ""},
		"nothing changes": {own("argocd-controller", version), func(*v1alpha1.TidbCluster) {}, ""},
		"unreadable":      {own("argocd-controller", "{"), upgrade, ""},
	} {
		was := now.DeepCopy()
		was.ManagedFields = []metav1.ManagedFieldsEntry{c.owner}
		want := was.DeepCopy()
		c.change(want)
		var said []string
		for _, w := range propose(Request{Change: intent.Change{Now: was, Want: want}}).warnings() {
			if strings.Contains(w.Text, "set that back") {
				said = append(said, w.Text)
			}
		}
		if text := strings.Join(said, "\n"); !strings.HasPrefix(text, c.says) || c.says == "" && text != "" {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestCramped: before stores run another version, those with too little space are named, and nothing
// is said about a cluster whose stores run the wanted one.
func TestCramped(t *testing.T) {
	for name, tt := range map[string]struct {
		runs, wanted string
		free         topology.Size
		says         string
	}{
		"nearly full":     {"v8.1.0", "v8.1.1", 15, "TiKV: t-tikv-1: 15.0% of the disk of store 2 is free, 15.0Gi of 100.0Gi: PD moves no regions to it"},
		"full":            {"v8.1.0", "v8.1.1", 4, "TiKV: t-tikv-1: 4.0% of the disk of store 2 is free, 4.0Gi of 100.0Gi: TiKV refuses writes"},
		"enough":          {"v8.1.0", "v8.1.1", 20, ""},
		"no upgrade":      {"v8.1.1", "v8.1.1", 4, ""},
		"unknown version": {"", "v8.1.1", 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.New(3, 3, 2)
			c.Want(topology.TiKV).Version = tt.wanted
			m := c.Member("t-tikv-1")
			m.Pod.Version, m.Database.Capacity, m.Database.Available = tt.runs, 100<<30, tt.free<<30
			got := cramped(c.Wanted, c.Seen)
			if tt.says == "" {
				if len(got) > 0 {
					t.Errorf("%q", got)
				}
				return
			}
			if len(got) != 1 || !strings.HasPrefix(got[0].Text, tt.says) || !strings.Contains(got[0].line(""), "; add members: kubectl tidb scale t tikv=4") {
				t.Errorf("%q", got)
			}
		})
	}
}

// There is a warning with the name of a field of a later version of TidbCluster.
func TestUnknownFields(t *testing.T) {
	tc := &v1alpha1.TidbCluster{}
	if got := (Request{Change: intent.Change{Now: tc}}).unknownFields(); got != nil {
		t.Errorf("all are known: %q", got)
	}
	topology.SetUnknown(tc, []string{"spec.tikv.later"})
	if got := (Request{Change: intent.Change{Now: tc}}).unknownFields(); len(got) != 1 || !strings.Contains(got[0].Text, "does not know spec.tikv.later:") {
		t.Errorf("got %q", got)
	}
	if got := (Request{}).unknownFields(); got != nil {
		t.Errorf("for a cluster that is to be created: %q", got)
	}
}
