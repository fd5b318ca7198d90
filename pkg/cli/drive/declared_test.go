package drive

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
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
			if strings.Contains(w.text, "set that back") {
				said = append(said, w.text)
			}
		}
		if text := strings.Join(said, "\n"); !strings.HasPrefix(text, c.says) || c.says == "" && text != "" {
			t.Errorf("%s: %q", name, text)
		}
	}
}
