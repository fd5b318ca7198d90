package topology

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// seeds are specs with many fields and unusual values.
var seeds = []string{
	`{}`,
	`version: v8.1.0
pd: {replicas: 3, requests: {storage: 1Gi}, config: "[log]\nlevel = \"info\"\n"}
tikv: {replicas: 3, requests: {storage: 1Gi}, config: {log-level: info}, evictLeaderTimeout: 3m}
tidb: {replicas: 2, config: {log: {level: info}}, service: {type: NodePort}}`,
	`version: v8.1.0
pdms: [null, {name: tso}, {name: scheduling, baseImage: "", storageVolumes: [{name: a}]}]`,
	`tidb: {replicas: 1, config: "log = 1", separateSlowLog: true, slowLogVolumeName: a, storageVolumes: [{name: a, storageSize: 1Gi}]}`,
	`tidb: {replicas: 1, config: "log = []"}`,
	`tidb: {replicas: 1, config: "[[log]]\na = 1"}`,
	`pd: {config: "dashboard = 2"}
tiflash: {storageClaims: [{}], config: {config: "[flash]\noverlap_threshold = \"a\"\n[logger]\nlog = 1"}}`,
	`ticdc: {config: {}}
pump: {}
tiproxy: {config: {}}
discovery: {env: [{name: a, valueFrom: {}}]}`,
	`tikv: {separateRaftLog: true, raftLogVolumeName: x, env: [{name: A, valueFrom: {fieldRef: {fieldPath: a}, secretKeyRef: {}}}], scalePolicy: {scaleInParallelism: 0}}`,
	`pd: null
cluster: {name: other}
pdAddresses: ["::"]
startScriptV2FeatureFlags: [a]
tlsCluster: {}
suspendAction: {}`,
}

// FuzzValidate: every spec gives errors or none, and never a panic. Text that is no TidbCluster is
// refused when it is read.
func FuzzValidate(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "tikv.tidb.pingcap.com/delete-slots", "[1]")
	}
	files, err := filepath.Glob("../render/testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		var doc struct {
			Spec any `json:"spec"`
		}
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if yaml.Unmarshal(data, &doc) != nil || doc.Spec == nil {
			continue
		}
		spec, err := yaml.Marshal(doc.Spec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(spec), "tidb.pingcap.com/tikv-min-ready-seconds", "30")
	}
	f.Fuzz(func(t *testing.T, spec, key, value string) {
		tc := valid()
		tc.Annotations = map[string]string{key: value}
		tc.Spec = v1alpha1.TidbClusterSpec{}
		if yaml.Unmarshal([]byte(spec), &tc.Spec) != nil {
			return
		}
		errs := Validate(New(tc))
		errs = append(errs, ValidateUpdate(nil, New(tc))...)
		errs = append(errs, ValidateUpdate(before(valid()), New(tc))...)
		errs = append(errs, ValidateUpdate(before(tc), New(valid()))...)
		for _, e := range errs {
			if e.Field == "" || e.Detail == "" && e.Type != field.ErrorTypeDuplicate {
				t.Errorf("%v has no field, or does not say what to do", e)
			}
		}
		for _, w := range append(Warnings(nil, New(tc)), Warnings(before(valid()), New(tc))...) {
			if w.Text == "" {
				t.Errorf("%v says nothing", w)
			}
		}
		References(New(tc))
	})
}
