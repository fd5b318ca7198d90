package topology

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// written returns a valid TidbCluster with additions of a test to its spec.
func written(t *testing.T, spec string) *v1alpha1.TidbCluster {
	t.Helper()
	tc := valid()
	if err := yaml.UnmarshalStrict([]byte(spec), &tc.Spec); err != nil {
		t.Fatal(err)
	}
	return tc
}

// has reports whether an error of a type is at a path, and says what to do.
func has(errs field.ErrorList, kind field.ErrorType, path, says string) bool {
	return slices.ContainsFunc(errs, func(e *field.Error) bool {
		return e.Type == kind && e.Field == path && e.Detail != "" && strings.Contains(e.Error(), says)
	})
}

// TestRules holds Validate to each rule of the operator's validation, and to
// those that it lacks.
func TestRules(t *testing.T) {
	const (
		inv = field.ErrorTypeInvalid
		req = field.ErrorTypeRequired
		dup = field.ErrorTypeDuplicate
		not = field.ErrorTypeForbidden
		sup = field.ErrorTypeNotSupported
	)
	for name, tt := range map[string]struct {
		spec       string
		kind       field.ErrorType
		path, says string
	}{
		"env without a name":             {`pd: {env: [{value: a}]}`, req, "spec.pd.env[0].name", "must have a name"},
		"env with a malformed name":      {`tikv: {env: [{name: "a b"}]}`, inv, "spec.tikv.env[0].name", "alphabetic"},
		"env of the discovery server":    {`discovery: {env: [{name: "a b"}]}`, inv, "spec.discovery.env[0].name", "alphabetic"},
		"env from a field":               {`tidb: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: a}}}]}`, inv, "spec.tidb.env[0].valueFrom.fieldRef", "not supported"},
		"env from a resource":            {`tidb: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: a}}}]}`, inv, "spec.tidb.env[0].valueFrom.resourceFieldRef", "not supported"},
		"env from nothing":               {`pd: {env: [{name: A, valueFrom: {}}]}`, inv, "spec.pd.env[0].valueFrom", "configMapKeyRef"},
		"env from two":                   {`pd: {env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}, configMapKeyRef: {name: a, key: b}}}]}`, inv, "spec.pd.env[0].valueFrom", "more than one"},
		"env with a value and a source":  {`pd: {env: [{name: A, value: b, valueFrom: {secretKeyRef: {name: a, key: b}}}]}`, inv, "spec.pd.env[0].valueFrom", "`value`"},
		"env from a malformed name":      {`pd: {env: [{name: A, valueFrom: {secretKeyRef: {name: "a b", key: b}}}]}`, inv, "spec.pd.env[0].valueFrom.secretKeyRef.name", "RFC 1123"},
		"env without a key":              {`pd: {env: [{name: A, valueFrom: {configMapKeyRef: {name: a}}}]}`, req, "spec.pd.env[0].valueFrom.configMapKeyRef.key", "name a key"},
		"env with a malformed key":       {`pd: {env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: "b c"}}}]}`, inv, "spec.pd.env[0].valueFrom.configMapKeyRef.key", "alphanumeric"},
		"policy of volumes":              {`pvReclaimPolicy: Keep`, sup, "spec.pvReclaimPolicy", `"Retain"`},
		"type of a Service":              {`tidb: {service: {type: Loadbalancer}}`, sup, "spec.tidb.service.type", `"LoadBalancer"`},
		"effect of a toleration":         {`tikv: {tolerations: [{key: a}, {key: b, effect: NoSchedul}]}`, sup, "spec.tikv.tolerations[1].effect", `"NoSchedule"`},
		"policy of pulls":                {`imagePullPolicy: always`, sup, "spec.imagePullPolicy", `"Always"`},
		"policy of pulls of a container": {`pd: {additionalContainers: [{name: a, image: b, imagePullPolicy: Allways}]}`, sup, "spec.pd.additionalContainers[0].imagePullPolicy", `"Always"`},
		"no storage":                     {`pd: {requests: null}`, req, "spec.pd.requests.storage", "10Gi"},
		"no storage to speak of":         {`tikv: {requests: {storage: "0"}}`, inv, "spec.tikv.requests.storage", "10Gi"},
		"negative storage":               {`pd: {requests: {storage: "-1Gi"}}`, inv, "spec.pd.requests.storage", "10Gi"},
		"volume without a name":          {`tikv: {storageVolumes: [{storageSize: 1Gi}]}`, req, "spec.tikv.storageVolumes[0].name", "name"},
		"volume with a malformed name":   {`tikv: {storageVolumes: [{name: A_b, storageSize: 1Gi}]}`, inv, "spec.tikv.storageVolumes[0].name", "claims are named after it"},
		"volumes with the same name":     {`tikv: {storageVolumes: [{name: a, storageSize: 1Gi}, {name: a, storageSize: 1Gi}]}`, dup, "spec.tikv.storageVolumes[1].name", ""},
		"volume without a size":          {`tidb: {storageVolumes: [{name: a}]}`, inv, "spec.tidb.storageVolumes[0].storageSize", "10Gi"},
		"volume with a malformed size":   {`pd: {storageVolumes: [{name: a, storageSize: 1 Gi}]}`, inv, "spec.pd.storageVolumes[0].storageSize", "10Gi"},
		"volume with a negative size":    {`pd: {storageVolumes: [{name: a, storageSize: "-1"}]}`, inv, "spec.pd.storageVolumes[0].storageSize", "10Gi"},
		"volume at a relative path":      {`pd: {storageVolumes: [{name: a, storageSize: 1Gi, mountPath: b}]}`, inv, "spec.pd.storageVolumes[0].mountPath", "absolute"},
		"volumes at the same path":       {`pd: {storageVolumes: [{name: a, storageSize: 1Gi, mountPath: /a}, {name: b, storageSize: 1Gi, mountPath: /a/}]}`, dup, "spec.pd.storageVolumes[1].mountPath", ""},
		"PD's ranges":                    {`pd: {service: {loadBalancerSourceRanges: [a]}}`, inv, "spec.pd.service.loadBalancerSourceRanges", "10.0.0.0/24"},
		"TiDB's ranges":                  {`tidb: {service: {loadBalancerSourceRanges: [a]}}`, inv, "spec.tidb.service.loadBalancerSourceRanges", "10.0.0.0/24"},
		"absolute directory":             {`tikv: {dataSubDir: /a}`, inv, "spec.tikv.dataSubDir", "relative"},
		"directory outside":              {`tikv: {dataSubDir: a/../b}`, inv, "spec.tikv.dataSubDir", ".."},
		"pd-B28: directory of PD":        {`pd: {dataSubDir: ../a}`, inv, "spec.pd.dataSubDir", "inside the volume"},
		"pd-B28: absolute, of PD":        {`pd: {dataSubDir: /a}`, inv, "spec.pd.dataSubDir", "inside the volume"},
		"volume of the raft log":         {`tikv: {separateRaftLog: true, raftLogVolumeName: a}`, inv, "spec.tikv.raftLogVolumeName", "storageVolumes"},
		"volume of RocksDB's log":        {`tikv: {separateRocksDBLog: true, rocksDBLogVolumeName: a, additionalVolumes: [{name: a}]}`, inv, "spec.tikv.rocksDBLogVolumeName", "additionalVolumeMounts"},
		"volume of the slow log":         {`tidb: {slowLogVolumeName: a, additionalVolumeMounts: [{name: a, mountPath: /a}]}`, inv, "spec.tidb.slowLogVolumeName", "additionalVolumes"},
		"tidb-S18: slow log nowhere":     {`tidb: {slowLogVolumeName: a, storageVolumes: [{name: a, storageSize: 1Gi}]}`, inv, "spec.tidb.slowLogVolumeName", "mountPath"},
		"tidb-S18: raft log nowhere":     {`tikv: {separateRaftLog: true, raftLogVolumeName: a, storageVolumes: [{name: a, storageSize: 1Gi}]}`, inv, "spec.tikv.raftLogVolumeName", "mountPath"},
		"timeout":                        {`tikv: {evictLeaderTimeout: soon}`, inv, "spec.tikv.evictLeaderTimeout", "25m"},
		"timeout of nothing":             {`tikv: {evictLeaderTimeout: 0s}`, inv, "spec.tikv.evictLeaderTimeout", "positive"},
		"scale-in of TiKV":               {`tikv: {scalePolicy: {scaleInParallelism: 0}}`, inv, "spec.tikv.scalePolicy.scaleInParallelism", "1 or more"},
		"scale-out of TiDB":              {`tidb: {scalePolicy: {scaleOutParallelism: -1}}`, inv, "spec.tidb.scalePolicy.scaleOutParallelism", "1 or more"},
		"address of PD":                  {`pdAddresses: ["tcp://a"]`, inv, "spec.pdAddresses[0]", "http"},
		"start script flag":              {`startScriptV2FeatureFlags: [A]`, inv, "spec.startScriptV2FeatureFlags[0]", "flag"},
		"names of clients":               {`pd: {config: "[security]\ncert-allowed-cn = [\"a\", \"b\"]"}`, inv, "spec.pd.config[security.cert-allowed-cn]", "one name"},
		"domain":                         {`clusterDomain: "a b"`, inv, "spec.clusterDomain", "RFC 1123"},
		"pd-B6: PD of no members":        {`pd: {replicas: 0}`, inv, "spec.pd.replicas", "need PD"},
		"tidb-B27: no version at all":    {`version: ""`, req, "spec.version", "newest"},
		"tidb-B27: image with a tag":     {`tikv: {baseImage: "a:v1"}`, inv, "spec.tikv.baseImage", "tag"},

		"Pump without storage":                       {`pump: {replicas: 1}`, inv, "spec.pump.requests.storage", "10Gi"},
		"Pump's tables":                              {`pump: {replicas: 1, requests: {storage: 1Gi}, config: "security = 1"}`, inv, "spec.pump.config[security]", "table"},
		"Pump's log":                                 {`pump: {replicas: 1, requests: {storage: 1Gi}, config: "log-level = 1"}`, inv, "spec.pump.config[log-level]", "text"},
		"Pump without PD":                            {`{pd: null, pump: {replicas: 1, requests: {storage: 1Gi}}}`, req, "spec.pd", "need PD"},
		"Pump of less than none":                     {`pump: {replicas: -1, requests: {storage: 1Gi}}`, inv, "spec.pump.replicas", "negative"},
		"TiFlash without TiKV":                       {`{tikv: null, tiflash: {replicas: 1, storageClaims: [{resources: {requests: {storage: 1Gi}}}]}}`, req, "spec.tikv", "copies"},
		"TiFlash without stores of TiKV":             {`{tikv: {replicas: 0}, tiflash: {replicas: 1, storageClaims: [{resources: {requests: {storage: 1Gi}}}]}}`, inv, "spec.tikv.replicas", "copies"},
		"TiFlash's config":                           {`tiflash: {replicas: 1, storageClaims: [{}], config: {config: "logger = 1"}}`, inv, "spec.tiflash.config[logger]", "table"},
		"TiFlash's proxy":                            {`tiflash: {replicas: 1, storageClaims: [{}], config: {proxy: "server = 1"}}`, inv, "spec.tiflash.config.proxy[server]", "table"},
		"TiFlash's start":                            {`tiflash: {replicas: 1, storageClaims: [{}], annotations: {tiflash.tidb.pingcap.com/mount-cm-in-tiflash-container: "yes"}}`, field.ErrorTypeNotSupported, "spec.tiflash.annotations[tiflash.tidb.pingcap.com/mount-cm-in-tiflash-container]", "true"},
		"TiFlash without claims":                     {`tiflash: {replicas: 1, storageClaims: []}`, inv, "spec.tiflash.storageClaims", "one entry"},
		"TiFlash's claims without a size":            {`tiflash: {replicas: 1, storageClaims: [{}]}`, inv, "spec.tiflash.storageClaims", "storage request"},
		"TiFlash's threshold":                        {`tiflash: {replicas: 1, storageClaims: [{}], config: {config: "[flash]\noverlap_threshold = 2.0"}}`, inv, "spec.tiflash.config[flash.overlap_threshold]", "[0,1]"},
		"TiFlash that keeps data in an object store": {`tiflash: {replicas: 1, storageClaims: [{}], config: {config: "[flash]\ndisaggregated_mode = \"tiflash_write\""}}`, not, "spec.tiflash.config", "not supported yet: flash.disaggregated_mode"},
		"TiFlash that keeps no data":                 {`tiflash: {replicas: 1, storageClaims: [{}], config: {config: "[flash]\ndisaggregated_mode = \"tiflash_compute\""}}`, not, "spec.tiflash.config", "compute nodes"},
		"TiFlash's log":                              {`tiflash: {replicas: 1, storageClaims: [{}], config: {config: "[logger]\nlog = \"a\""}}`, inv, "spec.tiflash.config[logger.log]", ""},
		"TiCDC's volumes":                            {`ticdc: {replicas: 1, storageVolumes: [{storageSize: 1Gi}]}`, req, "spec.ticdc.storageVolumes[0].name", "name"},
		"TiCDC's time for tables":                    {`ticdc: {replicas: 1, gracefulShutdownTimeout: -1s}`, inv, "spec.ticdc.gracefulShutdownTimeout", "negative"},
		"TiCDC's log":                                {`ticdc: {replicas: 1, config: "log-level = 1"}`, inv, "spec.ticdc.config[log-level]", "text"},
		"TiCDC's gc-ttl":                             {`ticdc: {replicas: 1, config: "gc-ttl = \"1h\""}`, inv, "spec.ticdc.config[gc-ttl]", "seconds"},
		"TiCDC's sinks":                              {`ticdc: {replicas: 1, tlsClientSecretNames: [a.b]}`, inv, "spec.ticdc.tlsClientSecretNames[0]", "volume"},
		"TiCDC's sinks twice":                        {`ticdc: {replicas: 1, tlsClientSecretNames: [a, a]}`, dup, "spec.ticdc.tlsClientSecretNames[1]", ""},
		"TiCDC without PD":                           {`{pd: null, ticdc: {replicas: 1}}`, req, "spec.pd", "need PD"},
		"TiProxy's layout of certificates":           {`tiproxy: {replicas: 1, certLayout: v2}`, field.ErrorTypeNotSupported, "spec.tiproxy.certLayout", "v1"},
		"TiProxy's tables":                           {`tiproxy: {replicas: 1, config: "proxy = 1"}`, inv, "spec.tiproxy.config[proxy]", "table"},
		"TiProxy of less than none":                  {`tiproxy: {replicas: -1}`, inv, "spec.tiproxy.replicas", "negative"},
		"tidb-B4: PD microservices without the mode": {`pdms: [{name: tso, replicas: 1}]`, not, "spec.pdms", "mode is not ms"},
		"tidb-B4: PD microservices that are empty":   {`pdms: [null]`, req, "spec.pdms[0].name", "tso and scheduling"},
		"PD's mode without services":                 {`pd: {mode: ms}`, req, "spec.pdms", "no timestamps"},
		"PD's mode without tso":                      {`{pd: {mode: ms}, pdms: [{name: scheduling, replicas: 1}]}`, req, "spec.pdms", "add the service tso"},
		"PD's mode without a member of tso":          {`{pd: {mode: ms}, pdms: [{name: tso, replicas: 0}]}`, inv, "spec.pdms[0].replicas", "no timestamps"},
		"PD's unknown mode":                          {`pd: {mode: micro}`, field.ErrorTypeNotSupported, "spec.pd.mode", "ms"},
		"services without PD":                        {`{pd: null, pdms: [{name: tso, replicas: 1}]}`, not, "spec.pdms", "mode is not ms"},
		"an unknown service of PD":                   {`{pd: {mode: ms}, pdms: [{name: router, replicas: 1}]}`, field.ErrorTypeNotSupported, "spec.pdms[0].name", "scheduling"},
		"a service of PD twice":                      {`{pd: {mode: ms}, pdms: [{name: tso, replicas: 1}, {name: tso, replicas: 2}]}`, dup, "spec.pdms[1].name", ""},
		"a service of PD, negative":                  {`{pd: {mode: ms}, pdms: [{name: tso, replicas: -1}]}`, inv, "spec.pdms[0].replicas", "negative"},
		"an old service of PD":                       {`{pd: {mode: ms}, pdms: [{name: tso, replicas: 1, version: v7.5.0}]}`, inv, "spec.pdms[0].version", "from v8.0.0 on"},
		"a service that is newer than PD":            {`{pd: {mode: ms, version: v8.1.0}, pdms: [{name: tso, replicas: 1, version: v8.5.0}]}`, inv, "spec.pdms[0].version", "newer than PD"},
		"a volume of a service of PD":                {`{pd: {mode: ms}, pdms: [{name: tso, replicas: 1, storageVolumes: [{name: log, storageSize: 1Gi}]}]}`, not, "spec.pdms[0].storageVolumes", "not supported yet"},
		"PD microservices' volumes":                  {`pdms: [{name: tso}, {name: scheduling, storageVolumes: [{storageSize: 1Gi}]}]`, req, "spec.pdms[1].storageVolumes[0].name", "name"},
		"tidb-B11: addresses before discovery":       {`{pdAddresses: ["http://a:2379"], startScriptVersion: v2, startScriptV2FeatureFlags: [PreferPDAddressesOverDiscovery]}`, not, "spec.startScriptV2FeatureFlags", "not supported yet"},
		"an address of PD without a port":            {`pdAddresses: ["http://a"]`, inv, "spec.pdAddresses[0]", "http://pd.example.com:2379"},
		"two addresses of PD in one":                 {`pdAddresses: ["http://a,http://b:2379"]`, inv, "spec.pdAddresses[0]", "one member"},
		"an address of PD with TLS":                  {`pdAddresses: ["https://a:2379"]`, inv, "spec.pdAddresses[0]", "spec.tlsCluster.enabled is false"},
		"addresses of PD that nothing uses":          {`{pdAddresses: ["http://a:2379"], pd: null}`, req, "spec.pd", "at least one member"},
		"two places to join":                         {`{pdAddresses: ["http://a:2379"], cluster: {name: a}}`, field.ErrorTypeForbidden, "spec.pdAddresses", "one of both"},
		"pd-B21: a part of itself":                   {`cluster: {name: basic}`, inv, "spec.cluster.name", "itself"},
		"a part of another Kubernetes cluster":       {`{cluster: {name: a, clusterDomain: b.example}, pd: null}`, req, "spec.pd", "at least one member"},
		"a part of the same name":                    {`cluster: {name: basic, namespace: prod}`, inv, "spec.cluster.name", "basic-pd-0"},
		"a part of nothing":                          {`cluster: {namespace: db}`, field.ErrorTypeRequired, "spec.cluster.name", "whose PD"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := Validate(New(written(t, tt.spec)))
			if tt.kind == dup && slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Type == dup && e.Field == tt.path }) {
				return
			}
			if !has(errs, tt.kind, tt.path, tt.says) {
				t.Errorf("no %s at %s with %q among %v", tt.kind, tt.path, tt.says, errs)
			}
		})
	}
}

// TestAnnotations: a value that would have to be ignored is refused.
func TestAnnotations(t *testing.T) {
	for _, tt := range []struct{ key, value, says string }{
		{"tidb.pingcap.com/pd-min-ready-seconds", "30", ""},
		{"tidb.pingcap.com/pd-min-ready-seconds", "", "seconds"},
		{"tidb.pingcap.com/pd-min-ready-seconds", "30s", "seconds"},
		{"tidb.pingcap.com/tidb-min-ready-seconds", "9223372036854775807", "seconds"},
		{"tidb.pingcap.com/force-upgrade", "true", ""},
		{"tidb.pingcap.com/force-upgrade", "false", ""},
		{"tidb.pingcap.com/force-upgrade", "yes", `"true"`},
		{"tidb.pingcap.com/pd-check-quorum-before-upgrade", "1", `"true"`},
		{"app.kubernetes.io/auto-failure-recovery", "True", `"true"`},
		{"tidb.pingcap.com/configmap-name-before-delete-pd", "basic-pd-3731616", ""},
		{"tidb.pingcap.com/configmap-name-before-delete-pd", "", "ConfigMap"},
		{"tidb.pingcap.com/tikv-partition", "2", "not supported yet"},
		{"pd.tidb.pingcap.com/delete-slots", "[", "list"},
		{"tso.tidb.pingcap.com/delete-slots", "1", "[1]"},
		{"tikv.tidb.pingcap.com/delete-slots", "[4294967296]", "list"},
		{"not a key", "", "name part"},
	} {
		tc := valid()
		annotate(tt.key, tt.value)(tc)
		errs := Validate(New(tc))
		if tt.says == "" && len(errs) > 0 {
			t.Errorf("%s=%s: %v", tt.key, tt.value, errs)
		}
		if tt.says != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Field, "metadata.annotations") || !strings.Contains(errs[0].Error(), tt.says)) {
			t.Errorf("%s=%s: not one error with %q: %v", tt.key, tt.value, tt.says, errs)
		}
	}
	for path, spec := range map[string]string{
		"spec.annotations[tidb.pingcap.com/sysctl-init]":      `annotations: {tidb.pingcap.com/sysctl-init: "on"}`,
		"spec.tikv.annotations[tidb.pingcap.com/sysctl-init]": `tikv: {annotations: {tidb.pingcap.com/sysctl-init: "on"}}`,
	} {
		if errs := Validate(New(written(t, spec))); !has(errs, field.ErrorTypeNotSupported, path, `"true"`) {
			t.Errorf("%s: %v", path, errs)
		}
	}
}

// TestValidVolumes: what looks odd and works stays valid.
func TestValidVolumes(t *testing.T) {
	for _, spec := range []string{
		`tidb: {slowLogVolumeName: a, storageVolumes: [{name: a, storageSize: 1Gi, mountPath: /a}]}`,
		`tidb: {slowLogVolumeName: a, additionalVolumes: [{name: a, emptyDir: {}}], additionalVolumeMounts: [{name: a, mountPath: /a}]}`,
		`tidb: {separateSlowLog: false, slowLogVolumeName: a}`,
		`tikv: {raftLogVolumeName: a}`,
		`tikv: {storageVolumes: [{name: a, storageSize: 1Gi}, {name: b, storageSize: 1.5Gi}]}`,
		`tidb: {requests: {storage: "0"}}`,
		`pd: {config: ""}`,
		`pd: {dataSubDir: a/..b}`,
		`pdAddresses: ["http://a:2379", "http://b.example:12379/"]`,
		`cluster: {name: a}`,
		`{acrossK8s: true, clusterDomain: a.example}`,
		`{acrossK8s: true, clusterDomain: a.example, cluster: {name: basic, clusterDomain: b.example}}`,
	} {
		if errs := Validate(New(written(t, spec))); len(errs) > 0 {
			t.Errorf("%s: %v", spec, errs)
		}
	}
}

// TestAllErrorsAtOnce: three mistakes are reported together.
func TestAllErrorsAtOnce(t *testing.T) {
	tc := written(t, `{version: "", pd: {replicas: 0}, tikv: {evictLeaderTimeout: soon}, recoveryMode: true}`)
	errs := Validate(New(tc))
	for _, path := range []string{"spec.version", "spec.pd.replicas", "spec.tikv.evictLeaderTimeout", "spec.recoveryMode"} {
		if !slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Field == path }) {
			t.Errorf("nothing at %s: %v", path, errs)
		}
	}
}
