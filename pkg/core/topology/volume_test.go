package topology

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]string{
		"10Gi": "10Gi", "10240Mi": "10Gi", "1.5Gi": "1536Mi", "500G": "500G", "1000": "1k", "0": "0", "0.5": "1",
	} {
		if got := SizeOf(resource.MustParse(text)); got.String() != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestVolumes(t *testing.T) {
	requests := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	class, own, none := new("disk"), "fast", ""
	g := Group{Volumes: volumes(TiKV, component{
		class: &class,
		disks: []disk{{volume: "tikv", requests: requests, at: field.NewPath("spec", "tikv")}},
		volumes: []v1alpha1.StorageVolume{
			{Name: "bad", StorageSize: "much"}, {Name: "wal", StorageSize: "2Gi", StorageClassName: &none},
			{Name: "raft", StorageSize: "2Gi", StorageClassName: &own}, {Name: "modified", StorageSize: "2Gi", VolumeAttributesClassName: &own},
		},
	})}
	for name, want := range map[string]string{"tikv": *class, "tikv-wal": *class, "tikv-raft": own, "tikv-modified": ""} {
		if v, _ := g.Volume(name); v.Class != want {
			t.Errorf("%s has class %q, want %q", name, v.Class, want)
		}
	}
	if v, ok := g.Volume("tikv"); !ok || v.Size != 10<<30 || v.Field != "spec.tikv.requests.storage" {
		t.Errorf("got %+v", v)
	}
	if v, ok := g.Volume("tikv-wal"); !ok || v.Size != 2<<30 || v.Field != "spec.tikv.storageVolumes[1].storageSize" {
		t.Errorf("got %+v", v)
	}
	if _, ok := g.Volume("tikv-bad"); ok {
		t.Error("a size that cannot be read")
	}
	tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{TiDB: &v1alpha1.TiDBSpec{
		ResourceRequirements: corev1.ResourceRequirements{Requests: requests},
	}}}
	if got := New(tc).Groups[0].Volumes; got != nil {
		t.Errorf("TiDB keeps no data, and has %+v", got)
	}
}
