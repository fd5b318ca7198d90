package cluster

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/pki"
)

const pauseImage = "registry.k8s.io/pause:3.10"

// kubeletConfig is what lets a kubelet start on machines that restrict root, as build machines do.
func (h Host) kubeletConfig() map[string]any {
	type object = map[string]any
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": h.address(), "healthzBindAddress": "127.0.0.1",
		"containerRuntimeEndpoint": "unix://" + h.runtimeSocket(),
		"clusterDNS":               []string{h.layout.apiIP()},
		"clusterDomain":            "cluster.local",
		"resolvConf":               h.config("resolv.conf"),
		// Soon after an outage of the API server the node is Ready again.
		"nodeStatusReportFrequency": "10s",
		"authentication": object{
			"anonymous": object{"enabled": false},
			"webhook":   object{"enabled": false},
			"x509":      object{"clientCAFile": pki.Certificate(h.layout.PKI(), pki.AuthorityName)},
		},
		"authorization":     object{"mode": "AlwaysAllow"},
		"tlsCertFile":       pki.Certificate(h.layout.PKI(), h.kubeletUser()),
		"tlsPrivateKeyFile": pki.Key(h.layout.PKI(), h.kubeletUser()),
		"failCgroupV1":      false, "failSwapOn": false,
		"cgroupDriver": "cgroupfs",
		// Reserving resources of the machine for pods needs rights that a container or a small virtual machine lacks.
		"cgroupsPerQOS": false, "enforceNodeAllocatable": []string{},
		"localStorageCapacityIsolation": false,
		// Errors about kernel settings that may not be changed become warnings.
		"featureGates": object{"KubeletInUserNamespace": true},
		"evictionHard": object{},
		// Without a registry an image that was collected as garbage is gone for good.
		"imageGCHighThresholdPercent": 100,
		"maxPods":                     200,
		"serializeImagePulls":         false,
		"podLogsDir":                  h.path("pod-logs"),
		"volumePluginDir":             h.path("volume-plugins"),
		"staticPodPath":               "",
	}
}

// containerdConfig keeps every file of the runtime under the state folder, so that removing that folder removes them.
func (h Host) containerdConfig() string {
	return fmt.Sprintf(`version = 2
root = %q
state = %q
oom_score = 0
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
  address = %q

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  # Lowering a score needs a right that root lacks on many build machines.
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = %q

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = %q

[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
  default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  Root = %q
`, h.path("containerd", "root"), h.path("containerd", "state"), h.runtimeSocket(), pauseImage,
		h.path("config", "cni"), h.path("config", "registries"), h.path("containerd", "runc"))
}

// corefile is the configuration of the DNS server. Names that end in "svc" are those of the node, because start scripts
// of TiDB's operator leave the cluster's domain out. Names of other nodes are asked of their DNS servers. These answer
// when the nodes are joined.
func (l Layout) corefile() string {
	var others strings.Builder
	for network := range MaxNetworks {
		if other := (Layout{Network: network}); network != l.Network {
			fmt.Fprintf(&others, "    forward %s %s\n", other.domain(), other.apiIP())
		}
	}
	return fmt.Sprintf(`.:53 {
    bind %s
    ready 127.0.0.1:%s
    errors
    rewrite stop {
        name suffix .svc. .svc.cluster.local. answer auto
    }
    kubernetes cluster.local %s {
        kubeconfig %s
        ttl 1
    }
%s}
`, l.apiIP(), dnsReadyPort, l.domain(), l.config(dnsUser+".kubeconfig"), others.String())
}
