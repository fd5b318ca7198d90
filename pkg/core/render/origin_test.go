package render

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestOrigin: a field of a rendered object is named as the user has written it.
func TestOrigin(t *testing.T) {
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.Tolerations = []corev1.Toleration{{Key: "all"}}
		tc.Spec.Annotations = map[string]string{"a": "b"}
		kv := tc.Spec.TiKV
		kv.Tolerations = []corev1.Toleration{{Key: "x"}, {Key: "y"}}
		kv.Env = []corev1.EnvVar{{Name: "MINE", Value: "1"}}
		kv.AdditionalVolumes = []corev1.Volume{emptyDir("mine")}
		kv.AdditionalVolumeMounts = []corev1.VolumeMount{{Name: "mine", MountPath: "/mine"}}
		kv.AdditionalContainers = []corev1.Container{{Name: "beside", Image: "i"}, {Name: "tikv", TTY: true}}
		kv.StorageVolumes = []v1alpha1.StorageVolume{{Name: "wal", StorageSize: "1Gi", MountPath: "/wal"}}
	})
	w := want(t, c, nothing(), state.Snapshot{})
	set := func(k topology.Kind) runtime.Object { g, _ := w.Group(k); return g.Set.Manifest }
	kv := groupOf(t, w, topology.TiKV).Set.Manifest
	pod := asJSON(kv).(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	index := func(list, name string) string {
		for i, e := range pod[list].([]any) {
			if entryName(e) == name {
				return list + "[" + string(rune('0'+i)) + "]"
			}
		}
		t.Fatalf("no %s in %s", name, list)
		return ""
	}
	main := "spec.template.spec." + index("containers", "tikv")
	var env string
	for i, e := range asJSON(kv).(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any) {
		if entryName(e) == "tikv" {
			list := e.(map[string]any)["env"].([]any)
			env = "spec.template.spec.containers[" + string(rune('0'+i)) + "].env[" + string(rune('0'+len(list)-1)) + "].name"
		}
	}
	for path, want := range map[string]string{
		"spec.template.spec.tolerations[1].effect":                       "spec.tikv.tolerations[1].effect",
		"spec.template.spec.priorityClassName":                           "spec.tikv.priorityClassName",
		"spec.template.annotations":                                      "spec.annotations",
		"spec.template.labels":                                           "spec.tikv.labels",
		"spec.template.spec.securityContext.fsGroup":                     "spec.tikv.podSecurityContext.fsGroup",
		"spec.template.spec." + index("volumes", "mine") + ".name":       "spec.tikv.additionalVolumes[0].name",
		"spec.template.spec." + index("containers", "beside") + ".image": "spec.tikv.additionalContainers[0].image",
		"spec.template.spec.automountServiceAccountToken":                "spec.tikv.automountServiceAccountToken",
		main + ".securityContext.capabilities.add[0]":                    "spec.tikv.securityContext.capabilities.add[0]",
		main + ".tty":                   "spec.tikv.additionalContainers[1].tty",
		main + ".resources.limits[cpu]": "spec.tikv.limits[cpu]",
		main + ".image":                 "spec.tikv.baseImage",
		env:                             "spec.tikv.env[0].name",
		"spec.volumeClaimTemplates[0].spec.resources[storage]": "spec.tikv.requests.storage",
		"spec.volumeClaimTemplates[1].spec.resources[storage]": "spec.tikv.storageVolumes[0]",
		"spec.selector": "spec.tikv",
		"":              "spec.tikv",
	} {
		if got := Origin(c, topology.TiKV, kv, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := Origin(c, topology.PD, set(topology.PD), "spec.template.spec.tolerations[0].effect"); got != "spec.tolerations[0].effect" {
		t.Errorf("a toleration of the whole cluster: %s", got)
	}
}
