package topology

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// valid returns a TidbCluster that may be driven.
func valid() *v1alpha1.TidbCluster {
	storage := corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceStorage: resource.MustParse("1Gi"),
	}}
	return &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "basic", Namespace: "db"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0",
			PD:      &v1alpha1.PDSpec{Replicas: 3, ResourceRequirements: *storage.DeepCopy()},
			TiKV:    &v1alpha1.TiKVSpec{Replicas: 3, ResourceRequirements: *storage.DeepCopy()},
			TiDB:    &v1alpha1.TiDBSpec{Replicas: 2, Service: &v1alpha1.TiDBServiceSpec{}},
		},
	}
}

func annotate(key, value string) func(*v1alpha1.TidbCluster) {
	return func(tc *v1alpha1.TidbCluster) { tc.Annotations = map[string]string{key: value} }
}

func text(s string) *string { return &s }

func yes() *bool { b := true; return &b }

func TestValid(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.TidbCluster){
		"plain": func(*v1alpha1.TidbCluster) {},
		"a version of its own, none of the cluster": func(tc *v1alpha1.TidbCluster) {
			tc.Spec.Version = ""
			tc.Spec.PD.Version, tc.Spec.TiKV.Version, tc.Spec.TiDB.Version = text("v8.1.0"), text("v8.1.0"), text("nightly")
		},
		"registry with a port": func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.BaseImage = "r.example.com:5000/pd" },
		"no TiDB":              func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Replicas = 0 },
		"only PD":              func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV, tc.Spec.TiDB = nil, nil },
		"empty slots":          annotate("tikv.tidb.pingcap.com/delete-slots", "[]"),
		"slots":                annotate("pd.tidb.pingcap.com/delete-slots", "[1,2]"), // the StatefulSets say whether there can be any
		"minimal readiness":    annotate("tidb.pingcap.com/pd-min-ready-seconds", "30"),
		"switched off": func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TLSCluster = &v1alpha1.TLSCluster{}
			tc.Spec.TiDB.TLSClient = &v1alpha1.TiDBTLSClient{}
			tc.Spec.SuspendAction = &v1alpha1.SuspendAction{}
			tc.Spec.TiDB.BinlogEnabled = new(bool)
		},
		"claims are reclaimed":         func(tc *v1alpha1.TidbCluster) { tc.Spec.EnablePVReclaim = yes() },
		"second generation of scripts": func(tc *v1alpha1.TidbCluster) { tc.Spec.StartScriptVersion = "v2" },
		"its flags": func(tc *v1alpha1.TidbCluster) {
			tc.Spec.StartScriptV2FeatureFlags = []v1alpha1.StartScriptV2FeatureFlag{v1alpha1.StartScriptV2FeatureFlagWaitForDnsNameIpMatch}
		},
	} {
		tc := valid()
		edit(tc)
		if errs := Validate(New(tc)); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

func TestInvalid(t *testing.T) {
	tests := map[string]struct {
		edit func(*v1alpha1.TidbCluster)
		// field and a part of the message
		field, says string
	}{
		"name for Services":   {func(tc *v1alpha1.TidbCluster) { tc.Name = "1.basic" }, "metadata.name", "Services"},
		"name too long":       {func(tc *v1alpha1.TidbCluster) { tc.Name = strings.Repeat("a", 48) }, "metadata.name", "47"},
		"no version":          {func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "" }, "spec.version", "newest"},
		"empty version":       {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Version = text("") }, "spec.tikv.version", "newest"},
		"no tag":              {func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8 1" }, "spec.version", "tag"},
		"no tag of its own":   {func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.Version = text("pingcap/pd:v8") }, "spec.pd.version", "tag"},
		"image with a tag":    {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.BaseImage = "pingcap/tidb:v8" }, "spec.tidb.baseImage", "tag"},
		"image with a digest": {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.BaseImage = "pingcap/tidb@sha256:0" }, "spec.tidb.baseImage", "digest"},
		"negative replicas":   {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Replicas = -1 }, "spec.tidb.replicas", "negative"},
		"no members of PD":    {func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.Replicas = 0 }, "spec.pd.replicas", "need PD"},
		"no PD":               {func(tc *v1alpha1.TidbCluster) { tc.Spec.PD = nil }, "spec.pd", "need PD"},
		"nothing":             {func(tc *v1alpha1.TidbCluster) { tc.Spec.PD, tc.Spec.TiKV, tc.Spec.TiDB = nil, nil, nil }, "spec.pd", "no component"},
		"no storage":          {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Requests = nil }, "spec.tikv.requests.storage", "10Gi"},
		"config strategy":     {func(tc *v1alpha1.TidbCluster) { tc.Spec.ConfigUpdateStrategy = "Later" }, "spec.pd.configUpdateStrategy", "InPlace"},
		"update strategy":     {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.StatefulSetUpdateStrategy = "Later" }, "spec.tikv.statefulSetUpdateStrategy", "OnDelete"},
		"directory outside":   {func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.DataSubDir = "a/../../b" }, "spec.pd.dataSubDir", "inside"},
		"absolute directory":  {func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.DataSubDir = "/data" }, "spec.pd.dataSubDir", "inside"},
		"log is no table": {func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiDB.Config = &v1alpha1.TiDBConfigWraper{GenericConfig: config.New(map[string]any{"log": "info"})}
		}, "spec.tidb.config[log]", "table"},
		"log file is no table": {func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiDB.Config = &v1alpha1.TiDBConfigWraper{GenericConfig: config.New(map[string]any{"log": map[string]any{"file": 1}})}
		}, "spec.tidb.config[log.file]", "table"},

		"malformed slots, which the API module takes": {annotate("tso.tidb.pingcap.com/delete-slots", "1"), "metadata.annotations[tso.tidb.pingcap.com/delete-slots]", "list"},
		"negative slots of a service of PD":           {annotate("scheduling.tidb.pingcap.com/delete-slots", "[-1]"), "metadata.annotations[scheduling.tidb.pingcap.com/delete-slots]", "negative"},
		"a negative slot":                             {annotate("tikv.tidb.pingcap.com/delete-slots", "[-1]"), "metadata.annotations[tikv.tidb.pingcap.com/delete-slots]", "negative"},
		"malformed slots":                             {annotate("tikv.tidb.pingcap.com/delete-slots", "1"), "metadata.annotations[tikv.tidb.pingcap.com/delete-slots]", "list"},
		"malformed seconds":                           {annotate("tidb.pingcap.com/tikv-min-ready-seconds", "1m"), "metadata.annotations[tidb.pingcap.com/tikv-min-ready-seconds]", "seconds"},
		"negative seconds":                            {annotate("tidb.pingcap.com/tikv-min-ready-seconds", "-1"), "metadata.annotations[tidb.pingcap.com/tikv-min-ready-seconds]", "seconds"},
	}
	for name, tt := range tests {
		tc := valid()
		tt.edit(tc)
		expectError(t, name, tc, tt.field, tt.says)
	}
}

// What is not rendered is refused, with the place where the user has written it.
func TestNotSupportedYet(t *testing.T) {
	for at, edit := range map[string]func(*v1alpha1.TidbCluster){
		"spec.recoveryMode": func(tc *v1alpha1.TidbCluster) { tc.Spec.RecoveryMode = true },
	} {
		tc := valid()
		edit(tc)
		expectError(t, at, tc, at, "not supported yet")
	}
}

func expectError(t *testing.T, name string, tc *v1alpha1.TidbCluster, field, says string) {
	t.Helper()
	errs := Validate(New(tc))
	for _, e := range errs {
		if e.Field == field && strings.Contains(e.Error(), says) {
			return
		}
	}
	t.Errorf("%s: no error at %s with %q among %v", name, field, says, errs)
}

func TestValidateKeepsItsArgument(t *testing.T) {
	tc := valid()
	Validate(New(tc))
	if tc.Spec.PD.BaseImage != "" || tc.Spec.TiDB.Config != nil {
		t.Error("defaults were written into the TidbCluster")
	}
}
