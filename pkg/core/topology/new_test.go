package topology

import (
	"reflect"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestNew(t *testing.T) {
	tc := valid()
	tc.UID = "u"
	tc.Labels = map[string]string{LabelInstance: "release-7"}
	tc.Annotations = map[string]string{"tidb.pingcap.com/tikv-min-ready-seconds": "30"}
	tc.Spec.TiKV.EvictLeaderTimeout = text("10m")
	tc.Spec.TiKV.ScalePolicy = v1alpha1.ScalePolicy{ScaleOutParallelism: number(3), ScaleInParallelism: number(2)}
	tc.Spec.TiDB.ScalePolicy = v1alpha1.ScalePolicy{ScaleOutParallelism: number(0)}
	tc.Spec.TiKV.BaseImage = "r.example.com:5000/tikv"
	tc.Spec.TiDB.StatefulSetUpdateStrategy = appsv1.OnDeleteStatefulSetStrategyType
	rolling := v1alpha1.ConfigUpdateStrategyRollingUpdate
	tc.Spec.TiDB.ConfigUpdateStrategy = &rolling
	c := New(tc)
	if c.Written != tc || tc.Spec.PD.StartTimeout != 0 {
		t.Error("what is written is lost, or has got defaults")
	}
	c.Source, c.Written = nil, nil
	want := Cluster{
		Namespace: "db", Name: "basic", UID: "u", Instance: "release-7", VolumePolicy: "Retain",
		Groups: []Group{
			{
				Kind: PD, InPlace: true, Replicas: 3, MaxFailures: 3, Image: "pingcap/pd:v8.1.0", Version: "v8.1.0", ScaleOut: 1, ScaleIn: 1,
				Volumes: []Volume{{Name: "pd", Size: 1 << 30, Field: "spec.pd.requests.storage"}},
			},
			{
				Kind: TiKV, InPlace: true, Replicas: 3, MaxFailures: 3, Image: "r.example.com:5000/tikv:v8.1.0", Version: "v8.1.0",
				EvictTimeout: new(10 * time.Minute), FlushesLog: true, VolumeSpare: true, MinReady: 30 * time.Second, ScaleOut: 3, ScaleIn: 2,
				Volumes: []Volume{{Name: "tikv", Size: 1 << 30, Field: "spec.tikv.requests.storage"}},
			},
			{Kind: TiDB, Replicas: 2, MaxFailures: 3, Image: "pingcap/tidb:v8.1.0", Version: "v8.1.0", Manual: true, PausesDDL: true, MinReady: 3 * time.Second, ScaleOut: 1, ScaleIn: 1},
		},
	}
	for i := range c.Groups {
		if c.Groups[i].Asked == "" {
			t.Errorf("%s: what the spec asks is not known", c.Groups[i].Kind)
		}
		c.Groups[i].Asked = ""
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\nwant\n%+v", c, want)
	}
}

func TestNewUpkeep(t *testing.T) {
	tc, remove := valid(), corev1.PersistentVolumeReclaimDelete
	tc.Spec.PVReclaimPolicy, tc.Spec.TiKV.StoreLabels, tc.Spec.EnablePVReclaim = &remove, []string{"disk"}, yes()
	c := New(tc)
	if kv, _ := c.Group(TiKV); !c.Reclaims || c.VolumePolicy != remove || !reflect.DeepEqual(kv.StoreLabels, []string{"disk"}) {
		t.Errorf("got %s, %v", c.VolumePolicy, kv.StoreLabels)
	}
}

func number(n int32) *int32 { return &n }

// A TiDB server that is restarted has to be known before the next one goes.
func TestMinReady(t *testing.T) {
	for name, c := range map[string]struct {
		replicas int32
		seconds  string
		want     time.Duration
	}{
		"several":          {2, "", 3 * time.Second},
		"one":              {1, "", 0},
		"the user's":       {2, "20", 20 * time.Second},
		"the user's, none": {2, "0", 0},
	} {
		tc := valid()
		tc.Spec.TiDB.Replicas = c.replicas
		if c.seconds != "" {
			tc.Annotations = map[string]string{"tidb.pingcap.com/tidb-min-ready-seconds": c.seconds}
		}
		if g, _ := New(tc).Group(TiDB); g.MinReady != c.want {
			t.Errorf("%s: %s, want %s", name, g.MinReady, c.want)
		}
	}
	if g, _ := New(valid()).Group(TiKV); g.MinReady != 0 {
		t.Errorf("TiKV: %s", g.MinReady)
	}
}

// An API server has applied the schema's defaults to what it hands out. A
// manifest from a file must come to the same.
func TestSchemaDefaults(t *testing.T) {
	tc := valid()
	tc.Spec.Version = ""
	tc.Spec.PDMS = []*v1alpha1.PDMSSpec{{Name: "tso"}}
	tc.Spec.TiKV.InitContainers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 1}}}}
	tc.Spec.TiKV.AdditionalContainers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 1, Protocol: corev1.ProtocolUDP}}}}
	tc.Spec.TiDB.Service.AdditionalPorts = []corev1.ServicePort{{Port: 1}}
	spec := New(tc).Source.Spec
	for got, want := range map[string]string{
		spec.PD.BaseImage: "pingcap/pd", spec.TiKV.BaseImage: "pingcap/tikv", spec.TiDB.BaseImage: "pingcap/tidb",
		*spec.PDMS[0].BaseImage:      "pingcap/pd",
		string(spec.ImagePullPolicy): "IfNotPresent", string(*spec.PVReclaimPolicy): "Retain",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if spec.PD.StartTimeout != 30 {
		t.Errorf("start timeout of PD is %d", spec.PD.StartTimeout)
	}
	if p := spec.TiKV.InitContainers[0].Ports[0].Protocol; p != corev1.ProtocolTCP {
		t.Errorf("protocol of an init container is %q", p)
	}
	if p := spec.TiKV.AdditionalContainers[0].Ports[0].Protocol; p != corev1.ProtocolUDP {
		t.Errorf("the user's protocol became %q", p)
	}
	if p := spec.TiDB.Service.AdditionalPorts[0].Protocol; p != corev1.ProtocolTCP {
		t.Errorf("protocol of a Service is %q", p)
	}
}

func TestConfigDefaults(t *testing.T) {
	of := func(c map[string]any) *v1alpha1.TiDBConfigWraper {
		return &v1alpha1.TiDBConfigWraper{GenericConfig: config.New(c)}
	}
	for name, tt := range map[string]struct {
		config *v1alpha1.TiDBConfigWraper
		want   map[string]any
	}{
		"none":        {nil, map[string]any{"log": map[string]any{"file": map[string]any{"max-backups": int64(3)}}}},
		"nothing":     {&v1alpha1.TiDBConfigWraper{}, map[string]any{"log": map[string]any{"file": map[string]any{"max-backups": int64(3)}}}},
		"empty":       {of(nil), map[string]any{"log": map[string]any{"file": map[string]any{"max-backups": int64(3)}}}},
		"the user's":  {of(map[string]any{"log": map[string]any{"file": map[string]any{"max-backups": int64(9)}}}), map[string]any{"log": map[string]any{"file": map[string]any{"max-backups": int64(9)}}}},
		"not a table": {of(map[string]any{"log": "info"}), map[string]any{"log": "info"}},
	} {
		tc := valid()
		tc.Spec.TiDB.Config = tt.config
		c := New(tc)
		if got := c.Source.Spec.TiDB.Config.MP; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
		if c.Source.Spec.PD.Config.MP == nil || c.Source.Spec.TiKV.Config.MP == nil {
			t.Errorf("%s: another component has no config", name)
		}
	}
}

func TestTag(t *testing.T) {
	for image, want := range map[string]string{
		"pingcap/pd:v8.1.0":                "v8.1.0",
		"pingcap/pd":                       "",
		"r.example.com:5000/pd":            "",
		"r.example.com:5000/pd:nightly":    "nightly",
		"r.example.com:5000/pd@sha256:ab":  "",
		"pingcap/pd:v8.1.0@sha256:abcdef0": "v8.1.0",
	} {
		if got := Tag(image); got != want {
			t.Errorf("tag of %s is %s, want %s", image, got, want)
		}
	}
}

// TestInstance: an empty label is the instance, as it is for an operator, whose
// objects have it.
func TestInstance(t *testing.T) {
	for name, tt := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"no label":     {map[string]string{"a": "b"}, "basic"},
		"a label":      {map[string]string{LabelInstance: "x"}, "x"},
		"an empty one": {map[string]string{LabelInstance: ""}, ""},
	} {
		tc := valid()
		tc.Labels = tt.labels
		if got := New(tc).Instance; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestConfigured: an empty configuration is one that the user gives.
func TestConfigured(t *testing.T) {
	tc := valid()
	tc.Spec.TiKV.Config = v1alpha1.NewTiKVConfig()
	for _, g := range New(tc).Groups {
		if want := g.Kind == TiKV; g.Configured != want {
			t.Errorf("%s: %t", g.Kind, g.Configured)
		}
	}
}
