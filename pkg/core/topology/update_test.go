package topology

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// before returns the cluster of the former TidbCluster, nil for none.
func before(tc *v1alpha1.TidbCluster) *Cluster {
	if tc == nil {
		return nil
	}
	c := New(tc)
	return &c
}

func TestValidateUpdate(t *testing.T) {
	const (
		inv = field.ErrorTypeInvalid
		req = field.ErrorTypeRequired
		not = field.ErrorTypeForbidden
	)
	born := func(tc *v1alpha1.TidbCluster) { tc.Status.ClusterID = "7" }
	for name, tt := range map[string]struct {
		old  string // addition to the spec of a valid TidbCluster
		edit func(old, tc *v1alpha1.TidbCluster)
		// the error; "" for none
		kind       field.ErrorType
		path, says string
	}{
		"nothing changes":   {edit: func(_, _ *v1alpha1.TidbCluster) {}},
		"a version":         {edit: func(_, tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8.1.1" }},
		"another component": {edit: func(old, _ *v1alpha1.TidbCluster) { old.Spec.TiDB = nil }},
		"pd-A7: instance": {"", func(_, tc *v1alpha1.TidbCluster) {
			tc.Labels = map[string]string{LabelInstance: "other"}
		}, inv, "metadata.labels[app.kubernetes.io/instance]", "set it back"},
		"the instance that it has anyway": {edit: func(_, tc *v1alpha1.TidbCluster) {
			tc.Labels = map[string]string{LabelInstance: "basic"}
		}},
		"version is taken away": {"", func(_, tc *v1alpha1.TidbCluster) {
			tc.Spec.Version = ""
			tc.Spec.PD.Version, tc.Spec.TiKV.Version, tc.Spec.TiDB.Version = text("v8.1.0"), text("v8.1.0"), text("v8.1.0")
		}, req, "spec.version", "v8.1.0"},
		"image is taken away": {`tikv: {baseImage: r.example.com/tikv}`, func(_, tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.BaseImage = ""
		}, req, "spec.tikv.baseImage", "r.example.com/tikv"},
		"config is taken away":            {`pd: {config: "a = 1"}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.PD.Config = nil }, req, "spec.pd.config", `""`},
		"config of TiDB is taken away":    {`tidb: {config: "a = 1"}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Config = nil }, req, "spec.tidb.config", `""`},
		"config is emptied":               {`pd: {config: "a = 1"}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.PD.Config = v1alpha1.NewPDConfig() }, "", "", ""},
		"an empty config is taken away":   {`pd: {config: ""}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.PD.Config = nil }, "", "", ""},
		"SQL for a cluster that is there": {"", func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.BootstrapSQLConfigMapName = text("a") }, inv, "spec.tidb.bootstrapSQLConfigMapName", "client"},
		"other SQL":                       {`tidb: {bootstrapSQLConfigMapName: b}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.BootstrapSQLConfigMapName = text("a") }, inv, "spec.tidb.bootstrapSQLConfigMapName", "client"},
		"the same SQL":                    {`tidb: {bootstrapSQLConfigMapName: a}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.BootstrapSQLConfigMapName = text("a") }, "", "", ""},
		"SQL is taken away":               {`tidb: {bootstrapSQLConfigMapName: a}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.BootstrapSQLConfigMapName = nil }, "", "", ""},
		"pd-B28: directory of PD":         {`pd: {dataSubDir: a}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.PD.DataSubDir = "b" }, not, "spec.pd.dataSubDir", "the data is there"},
		"directory of TiKV":               {"", func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.DataSubDir = "b" }, not, "spec.tikv.dataSubDir", "the data is there"},
		"the same directory":              {`pd: {dataSubDir: a/}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.PD.DataSubDir = "./a" }, "", "", ""},
		"domain":                          {"", func(_, tc *v1alpha1.TidbCluster) { tc.Spec.ClusterDomain = "example.com" }, not, "spec.clusterDomain", "addresses"},
		"tikv-11-10: TiKV to nothing": {"", func(old, tc *v1alpha1.TidbCluster) {
			born(old)
			tc.Spec.TiKV.Replicas = 0
		}, inv, "spec.tikv.replicas", "kubectl tidb delete"},
		"pd-B6: PD to nothing": {"", func(old, tc *v1alpha1.TidbCluster) {
			born(old)
			tc.Spec.PD.Replicas = 0
		}, inv, "spec.pd.replicas", "kubectl tidb delete"},
		"TiDB to nothing": {edit: func(old, tc *v1alpha1.TidbCluster) {
			born(old)
			tc.Spec.TiDB.Replicas = 0
		}},
		"TiKV to nothing, without data": {edit: func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Replicas = 0 }},

		"pd-A18: PD":      {"", func(_, tc *v1alpha1.TidbCluster) { tc.Spec.PD = nil }, not, "spec.pd", "kubectl tidb delete"},
		"pd-A18: TiKV":    {"", func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiKV = nil }, not, "spec.tikv", "kubectl tidb delete"},
		"pd-A18: TiDB":    {"", func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiDB = nil }, not, "spec.tidb", "replicas to 0"},
		"pd-A18: TiFlash": {`tiflash: {replicas: 1, storageClaims: []}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiFlash = nil }, not, "spec.tiflash", "replicas to 0"},
		"pd-A18: TiCDC":   {`ticdc: {replicas: 1}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiCDC = nil }, not, "spec.ticdc", "replicas to 0"},
		"pd-A18: TiProxy": {`tiproxy: {replicas: 1}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.TiProxy = nil }, not, "spec.tiproxy", "replicas to 0"},
		"pd-A18: Pump":    {`pump: {replicas: 1}`, func(_, tc *v1alpha1.TidbCluster) { tc.Spec.Pump = nil }, not, "spec.pump", "replicas to 0"},
		"pd-A18: a service of PD": {`{pd: {mode: ms}, pdms: [{name: tso, replicas: 1}, {name: scheduling, replicas: 1}]}`,
			func(_, tc *v1alpha1.TidbCluster) { tc.Spec.PDMS = tc.Spec.PDMS[:1] }, not, "spec.pdms[1]", "replicas to 0"},
		"a service of PD more": {edit: func(old, tc *v1alpha1.TidbCluster) {
			withServices(old, "tso")
			born(old)
			withServices(tc, "tso", "scheduling")
		}},
		"services for a PD that gives timestamps": {"", func(old, tc *v1alpha1.TidbCluster) {
			born(old)
			withServices(tc, "tso")
		}, not, "spec.pd.mode", "could stop"},
		"services for a PD that was never started": {edit: func(_, tc *v1alpha1.TidbCluster) { withServices(tc, "tso") }},
		"timestamps by PD instead of services": {`{pd: {mode: ms}, pdms: [{name: tso, replicas: 1}]}`, func(old, tc *v1alpha1.TidbCluster) {
			born(old)
			tc.Spec.PD.Mode = ""
		}, not, "spec.pd.mode", "set the mode back to ms"},
		"a mode without services, which has no effect": {`pd: {mode: ms}`, func(old, tc *v1alpha1.TidbCluster) {
			born(old)
			tc.Spec.PD.Mode = ""
		}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			old := written(t, tt.old)
			tc := old.DeepCopy()
			tt.edit(old, tc)
			errs := ValidateUpdate(before(old), New(tc))
			if tt.path == "" && len(errs) > 0 {
				t.Errorf("refused: %v", errs)
			}
			if tt.path != "" && (len(errs) != 1 || !has(errs, tt.kind, tt.path, tt.says)) {
				t.Errorf("not one %s at %s with %q: %v", tt.kind, tt.path, tt.says, errs)
			}
		})
	}
}

func TestValidateCreate(t *testing.T) {
	if errs := ValidateUpdate(nil, New(valid())); len(errs) > 0 {
		t.Errorf("a valid one is refused: %v", errs)
	}
	for _, k := range Kinds() {
		spec := string(k) + ": {image: a:v1}"
		if _, is := k.Serves(); is {
			spec = "pdms: [{name: " + string(k) + ", image: a:v1}]"
		}
		c := New(written(t, spec))
		if !has(ValidateUpdate(nil, c), field.ErrorTypeForbidden, FieldOf(c.Source, k).Child("image").String(), "baseImage") {
			t.Errorf("tidb-B27: image of %s, which has no effect, is not refused", k)
		}
	}
}

// withServices has PD leave work to services.
func withServices(tc *v1alpha1.TidbCluster, names ...string) {
	tc.Spec.PD.Mode, tc.Spec.PDMS = "ms", nil
	for _, name := range names {
		tc.Spec.PDMS = append(tc.Spec.PDMS, &v1alpha1.PDMSSpec{Name: name, Replicas: 1})
	}
}

const asleepSpec = `suspendAction: {suspendStatefulSet: true}`

func TestWarnings(t *testing.T) {
	born := valid()
	born.Status.ClusterID = "7"
	for name, tt := range map[string]struct {
		old  *v1alpha1.TidbCluster
		spec string
		want []string // the beginnings of the warnings
		says string
	}{
		"nothing odd":                     {born, ``, nil, ""},
		"tidb-B27: image":                 {born, `tikv: {image: a:v1}`, []string{"spec.tikv.image has no effect"}, "baseImage"},
		"tidb-B31: IPv6":                  {born, `preferIPv6: true`, []string{"spec.preferIPv6 "}, "TiDB listen on IPv4"},
		"tidb-B10: arguments, old script": {born, `{startScriptVersion: v2, tidb: {arguments: [--a]}}`, []string{"spec.tidb.arguments may have no effect"}, "kept"},
		"flag of another generation of scripts": {nil, `{startScriptV2FeatureFlags: [WaitForDnsNameIpMatch]}`,
			[]string{"spec.startScriptV2FeatureFlags has no effect"}, "not v2"},
		"tidb-B11: flag about addresses of PD": {nil, `{startScriptVersion: v2, startScriptV2FeatureFlags: [PreferPDAddressesOverDiscovery]}`,
			[]string{"spec.startScriptV2FeatureFlags PreferPDAddressesOverDiscovery has no effect"}, "without pdAddresses"},
		"flag of scripts, new cluster": {nil, `{startScriptVersion: v2, startScriptV2FeatureFlags: [WaitForDnsNameIpMatch]}`, nil, ""},
		"flag of scripts, old scripts": {born, `{startScriptVersion: v2, startScriptV2FeatureFlags: [WaitForDnsNameIpMatch]}`,
			[]string{"spec.startScriptV2FeatureFlags WaitForDnsNameIpMatch may have no effect"}, "kept"},
		"flag against the wait, old scripts": {born, `{startScriptVersion: v2, startScriptV2FeatureFlags: [NoWaitDNS]}`,
			[]string{"spec.startScriptV2FeatureFlags NoWaitDNS may have no effect"}, "kept"},
		"flag of the shell": {nil, `{startScriptVersion: v2, startScriptV2FeatureFlags: [BashShebang]}`,
			[]string{"spec.startScriptV2FeatureFlags BashShebang has no effect on how PD starts"}, "/bin/sh"},
		"TLS of discovery": {born, `{tlsCluster: {enabled: true, enableDiscoveryMTLS: true}}`,
			[]string{"spec.tlsCluster.enableDiscoveryMTLS has no effect"}, "stays as it is"},
		"TLS of discovery, without TLS":    {born, `{tlsCluster: {enableDiscoveryMTLS: true}}`, nil, ""},
		"tidb-B10: arguments, new cluster": {nil, `{startScriptVersion: v2, tidb: {arguments: [--a]}}`, nil, ""},
		"tidb-B16: probe": {born, `tidb: {customizedStartupProbe: {image: a, binaryName: b, initialDelaySeconds: 3, successThreshold: 2}}`,
			[]string{"spec.tidb.customizedStartupProbe.initialDelaySeconds", "spec.tidb.customizedStartupProbe.successThreshold"}, "no effect"},
		"PD's Service": {nil, `pd: {service: {port: 2379, loadBalancerClass: x, loadBalancerSourceRanges: [10.0.0.0/8]}}`,
			[]string{"spec.pd.service.port has no effect", "spec.pd.service.loadBalancerSourceRanges has no effect", "spec.pd.service.loadBalancerClass has no effect"}, ""},
		"pods that wait for a person":            {born, `{annotations: {runmode: debug}, tidb: {annotations: {runmode: debug}}}`, []string{"spec.annotations[runmode]", "spec.tidb.annotations[runmode]"}, "start nothing"},
		"suspended, scaled":                      {written(t, asleepSpec), `{suspendAction: {suspendStatefulSet: true}, tikv: {replicas: 4}}`, []string{"spec.suspendAction keeps TiKV suspended"}, "takes effect when"},
		"suspended, upgraded":                    {written(t, asleepSpec), `{suspendAction: {suspendStatefulSet: true}, version: v8.1.1}`, []string{"spec.suspendAction keeps PD, TiKV, TiDB suspended"}, ""},
		"suspended, as it was":                   {written(t, asleepSpec), asleepSpec, nil, ""},
		"suspended by the change":                {valid(), `{suspendAction: {suspendStatefulSet: true}, tikv: {replicas: 4}}`, nil, ""},
		"resumed by the change":                  {written(t, asleepSpec), `{tikv: {replicas: 4}}`, nil, ""},
		"pd-B27: what PD keeps":                  {born, `pd: {config: "[replication]\nmax-replicas = 5\nlocation-labels = [\"zone\", \"host\"]"}`, []string{"spec.pd.config[replication.location-labels]", "spec.pd.config[replication.max-replicas]"}, "kubectl exec basic-pd-0 -c pd -n db -- /pd-ctl config set "},
		"pd-B27: the list as pd-ctl takes it":    {born, `pd: {config: "[replication]\nlocation-labels = [\"zone\", \"host\"]"}`, []string{"spec.pd.config"}, "set location-labels zone,host"},
		"pd-B27: before the cluster is born":     {valid(), `pd: {config: "[replication]\nmax-replicas = 5"}`, nil, ""},
		"pd-B27: in a new cluster":               {nil, `pd: {config: "[schedule]\nmax-merge-region-size = 5"}`, nil, ""},
		"pd-B27: what PD reads each time":        {born, `pd: {config: "[log]\nlevel = \"info\""}`, nil, ""},
		"pd-B23, pd-B27: a config, and none yet": {born, `pd: {config: "[schedule]\nmax-merge-region-size = 5"}`, []string{"spec.pd.config[schedule.max-merge-region-size]"}, "config set max-merge-region-size 5"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Warnings(before(tt.old), New(written(t, tt.spec)))
			ok := slices.EqualFunc(got, tt.want, func(w Warning, begins string) bool {
				return strings.HasPrefix(w.String(), begins) && strings.Contains(w.String()+w.Remedy.Line(""), tt.says)
			})
			if !ok {
				t.Errorf("%v, want %v with %q", got, tt.want, tt.says)
			}
		})
	}
	tc := valid()
	annotate(annForceUpgrade, "true")(tc)
	if got := Warnings(before(tc), New(tc)); len(got) != 1 || !strings.Contains(got[0].String(), "--force") {
		t.Errorf("%v", got)
	}
	tc = written(t, `pd: {config: "[schedule]\na = 5"}`)
	tc.Status.ClusterID = "7"
	if got := Warnings(before(tc), New(tc)); len(got) > 0 {
		t.Errorf("a setting that does not change: %v", got)
	}
}

// TestDefaults holds New to each row of the operator's and the schema's defaults.
func TestDefaults(t *testing.T) {
	tc := written(t, `{cluster: {name: other}, pdms: [{name: tso, baseImage: ""}], pump: {replicas: 1}, tiflash: {replicas: 1, storageClaims: []}, ticdc: {replicas: 1}, tiproxy: {replicas: 1}}`)
	s := New(tc).Source.Spec
	for row, holds := range map[string]bool{
		"imagePullPolicy":                 s.ImagePullPolicy == "IfNotPresent",
		"tlsCluster":                      s.TLSCluster != nil && !s.TLSCluster.Enabled,
		"enablePVReclaim":                 s.EnablePVReclaim != nil && !*s.EnablePVReclaim,
		"pvReclaimPolicy":                 s.PVReclaimPolicy != nil && *s.PVReclaimPolicy == "Retain",
		"cluster.namespace":               s.Cluster.Namespace == "db",
		"pd.baseImage":                    s.PD.BaseImage == "pingcap/pd",
		"tikv.baseImage":                  s.TiKV.BaseImage == "pingcap/tikv",
		"tidb.baseImage":                  s.TiDB.BaseImage == "pingcap/tidb",
		"tiflash.baseImage":               s.TiFlash.BaseImage == "pingcap/tiflash",
		"ticdc.baseImage":                 s.TiCDC.BaseImage == "pingcap/ticdc",
		"tiproxy.baseImage":               s.TiProxy.BaseImage == "pingcap/tiproxy",
		"pump.baseImage":                  s.Pump.BaseImage == "pingcap/tidb-binlog",
		"tidb-B4: pdms[].baseImage":       *s.PDMS[0].BaseImage == "pingcap/pd",
		"pd.maxFailoverCount":             *s.PD.MaxFailoverCount == 3,
		"tikv.maxFailoverCount":           *s.TiKV.MaxFailoverCount == 3,
		"tidb.maxFailoverCount":           *s.TiDB.MaxFailoverCount == 3,
		"tiflash.maxFailoverCount":        *s.TiFlash.MaxFailoverCount == 3,
		"pd.spareVolReplaceReplicas":      *s.PD.SpareVolReplaceReplicas == 1,
		"tikv.spareVolReplaceReplicas":    *s.TiKV.SpareVolReplaceReplicas == 1,
		"tidb.config":                     s.TiDB.Config.Get("log.file.max-backups").MustInt() == 3,
		"pd.startTimeout":                 s.PD.StartTimeout == 30,
		"pd-B23: pd.config is never none": s.PD.Config != nil && s.PD.Config.MP != nil,
	} {
		if !holds {
			t.Errorf("%s is not defaulted", row)
		}
	}
	zero := int32(0)
	tc.Spec.PD.MaxFailoverCount = &zero
	if got := *New(tc).Source.Spec.PD.MaxFailoverCount; got != 0 {
		t.Errorf("pd.maxFailoverCount 0 became %d", got)
	}
	c := New(tc)
	again := New(c.Source)
	if a, b := c.Source.Spec.TiDB.Config.MP, again.Source.Spec.TiDB.Config.MP; len(a) != len(b) {
		t.Errorf("defaulted twice: %v, then %v", a, b)
	}
}
