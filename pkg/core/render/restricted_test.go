package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// tenants returns what is observed of a cluster whose TiKV has these fields besides.
func tenants(t *testing.T, tikv string) state.Observation {
	t.Helper()
	tc := &v1alpha1.TidbCluster{}
	text := `
apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {name: basic, namespace: tenant}
spec:
  version: v8.1.0
  pd: {replicas: 1, baseImage: pingcap/pd, requests: {storage: 1Gi}}
  tidb: {replicas: 1, baseImage: pingcap/tidb}
  tikv: {replicas: 1, baseImage: pingcap/tikv, requests: {storage: 1Gi}` + tikv + `}`
	if err := yaml.UnmarshalStrict([]byte(text), tc); err != nil {
		t.Fatal(err)
	}
	return state.Observation{Cluster: topology.New(tc)}
}

// TestRestricted: with --restricted, a cluster whose pods could do more than those of a user without rights on the host
// is refused, with the field. Without it, the same cluster is made as its user has written it.
func TestRestricted(t *testing.T) {
	for tikv, path := range map[string]string{
		"":                                      "",
		", hostNetwork: true":                   "spec.tikv.hostNetwork",
		", serviceAccount: cluster-admin-robot": "spec.tikv.serviceAccount",
		", serviceAccount: default":             "",
		", additionalVolumes: [{name: host, hostPath: {path: /}}]":                                                             "spec.tikv.additionalVolumes[host].hostPath",
		", additionalVolumes: [{name: own, emptyDir: {}}]":                                                                     "",
		", annotations: {tidb.pingcap.com/sysctl-init: \"true\"}, podSecurityContext: {sysctls: [{name: vm.a, value: \"1\"}]}": "spec.tikv.initContainers[init].securityContext.privileged",
		", podSecurityContext: {sysctls: [{name: net.ipv4.tcp_syncookies, value: \"1\"}], runAsUser: 1000}":                    "",
		", additionalContainers: [{name: p, image: busybox, securityContext: {privileged: true}}]":                             "spec.tikv.containers[p].securityContext.privileged",
		", additionalContainers: [{name: p, image: busybox, securityContext: {privileged: false}}]":                            "",
		", initContainers: [{name: p, image: busybox, securityContext: {privileged: true}}]":                                   "spec.tikv.initContainers[p].securityContext.privileged",
		", additionalContainers: [{name: p, image: busybox, securityContext: {procMount: Unmasked}}]":                          "spec.tikv.containers[p].securityContext.procMount",
		", additionalContainers: [{name: p, image: busybox, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]":             "spec.tikv.containers[p].securityContext.capabilities.add",
		", additionalContainers: [{name: p, image: busybox, securityContext: {capabilities: {add: [CHOWN], drop: [ALL]}}}]":    "",
		", additionalContainers: [{name: p, image: busybox, ports: [{name: x, containerPort: 22, hostPort: 22}]}]":             "spec.tikv.containers[p].ports[x].hostPort",
		", additionalContainers: [{name: p, image: busybox, securityContext: {windowsOptions: {hostProcess: true}}}]":          "spec.tikv.containers[p].securityContext.windowsOptions",
		", additionalContainers: [{name: p, image: busybox, command: [sh, -c, 'echo $(PATH)'], ports: [{containerPort: 22}]}]": "",
		", securityContext: {privileged: true}":                                                                                "spec.tikv.containers[tikv].securityContext.privileged",
		", securityContext: {capabilities: {add: [NET_ADMIN]}}":                                                                "spec.tikv.containers[tikv].securityContext.capabilities.add",
		", securityContext: {privileged: false, capabilities: {drop: [ALL]}}":                                                  "",
		", securityContext: {seccompProfile: {type: Unconfined}}":                                                              "spec.tikv.containers[tikv].securityContext.seccompProfile",
		", securityContext: {seccompProfile: {type: RuntimeDefault}}":                                                          "",
		", securityContext: {appArmorProfile: {type: Unconfined}}":                                                             "spec.tikv.containers[tikv].securityContext.appArmorProfile",
		", securityContext: {seLinuxOptions: {type: spc_t}}":                                                                   "spec.tikv.containers[tikv].securityContext.seLinuxOptions",
		", securityContext: {seLinuxOptions: {type: container_t, level: \"s0\"}}":                                              "",
		", separateRaftLog: true, logTailer: {securityContext: {privileged: true}}":                                            "spec.tikv.containers[raftlog].securityContext.privileged",
		", podSecurityContext: {seccompProfile: {type: Unconfined}}":                                                           "spec.tikv.podSecurityContext.seccompProfile",
		", automountServiceAccountToken: false":                                                                                "",
		", podSecurityContext: {windowsOptions: {hostProcess: true}}":                                                          "spec.tikv.podSecurityContext",
	} {
		seen := tenants(t, tikv)
		if _, err := Want(seen); err != nil {
			t.Errorf("%s: refused without --restricted: %v", tikv, err)
		}
		_, err := Restricted(seen)
		refused, ok := errors.AsType[*RefusedError](err)
		switch {
		case path == "" && err != nil:
			t.Errorf("%s: %v", tikv, err)
		case path != "" && (!ok || refused.Fields[0].Field != path || !strings.Contains(err.Error(), "--restricted") || !refused.Final()):
			t.Errorf("%s: %v", tikv, err)
		}
	}
}

// TestRestrictedNamesAll: everything that is refused is named at once.
func TestRestrictedNamesAll(t *testing.T) {
	_, err := Restricted(tenants(t, ", hostNetwork: true, serviceAccount: robot, additionalVolumes: [{name: host, hostPath: {path: /}}]"))
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || len(refused.Fields) != 3 {
		t.Errorf("%v", err)
	}
}

// TestSysctlIsNoCommand: what a daemon renders, it validates: the TidbCluster may have been written by any other tool.
func TestSysctlIsNoCommand(t *testing.T) {
	const init = ", annotations: {tidb.pingcap.com/sysctl-init: \"true\"}, podSecurityContext: {sysctls: [{name: net.core.somaxconn, value: "
	_, err := Want(tenants(t, init+`"1; nsenter -t 1 -m sh -c id #"}]}`))
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || refused.Fields[0].Field != "spec.tikv.podSecurityContext.sysctls[0].value" {
		t.Errorf("%v", err)
	}
	w, err := Want(tenants(t, init+`"4096 87380"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	g, _ := w.Group(topology.TiKV)
	set, err := yaml.Marshal(g.Set.Manifest)
	if err != nil || !strings.Contains(string(set), "sysctl -w net.core.somaxconn=4096 87380") {
		t.Errorf("the command is another one than before: %v", err)
	}
}
