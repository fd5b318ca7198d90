package render

import (
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	tikvDir       = "/var/lib/tikv"
	tikvConfigDir = "/etc/tikv"
)

func describeTiKV(c topology.Cluster, g topology.Group, _ state.Existing) (component, error) {
	tc, kv := c.Source, c.Source.Spec.TiKV
	class := classes{kv.StorageClassName, kv.VolumeAttributesClassName}
	data, err := dataClaim(topology.TiKV, kv.ResourceRequirements, class)
	if err != nil {
		return component{}, err
	}
	claims, storage, err := storageVolumes(topology.TiKV, kv.StorageVolumes, class)
	if err != nil {
		return component{}, err
	}

	comp := base(c, g, tc.BaseTiKVSpec())
	comp.resources = kv.ResourceRequirements
	comp.account = firstGiven(kv.ServiceAccount, tc.Spec.ServiceAccount)
	comp.metrics.port = topology.TiKVStatusPort
	comp.claims = append([]corev1.PersistentVolumeClaim{data}, claims...)
	comp.privilege(tc.TiKVContainerPrivilege())
	comp.ports = []corev1.ContainerPort{port("server", topology.TiKVServerPort)}
	if kv.EnableNamedStatusPort {
		comp.ports = append(comp.ports, port("status", topology.TiKVStatusPort))
	}
	comp.readiness = readinessProbe(kv.ReadinessProbe, topology.TiKVServerPort)
	comp.env = []corev1.EnvVar{
		fromField("NAMESPACE", "metadata.namespace"),
		value("CLUSTER_NAME", c.Name),
		value("HEADLESS_SERVICE_NAME", c.PeerService(topology.TiKV)),
		value("CAPACITY", capacity(kv.Limits)),
		value("TZ", tc.Spec.Timezone),
	}
	if comp.spec.HostNetwork() {
		comp.env = append(comp.env, fromField("POD_NAME", "metadata.name"))
	}
	comp.mounts = []corev1.VolumeMount{
		readOnly(volumeAnnotations, dirInfo),
		writable(string(topology.TiKV), tikvDir),
		readOnly(volumeConfig, tikvConfigDir),
		readOnly(volumeScript, dirScript),
	}
	comp.mounts = append(comp.mounts, comp.spec.AdditionalVolumeMounts()...)
	comp.mountMemberTLS(kv.MountClusterClientSecret)
	comp.mounts = append(comp.mounts, storage...)
	if comp.logs, err = tikvLogs(comp, storage); err != nil {
		return component{}, err
	}
	comp.services = []*corev1.Service{peerService(comp, servicePort("peer", topology.TiKVServerPort))}
	comp.script = tikvScript(c, path.Join(tikvDir, kv.DataSubDir))
	var keys []setting
	if c.TLS.Members {
		keys = certificateKeys(topology.TiKV.CertificateVolume(), "security.ca-path", "security.cert-path", "security.key-path")
	}
	config, err := withKeys(bareNumbers(kv.Config.GenericConfig), keys...)
	comp.configure(config)
	return comp, err
}

func tikvScript(c topology.Cluster, dataDir string) script {
	spec := c.Source.Spec
	anyAddress := "0.0.0.0"
	if spec.PreferIPv6 {
		anyAddress = "[::]"
	}
	timeout := startTimeout(c, c.WaitsForOwnAddress())
	advertise := spec.EnableDynamicConfiguration != nil && *spec.EnableDynamicConfiguration
	return newScript(topology.TiKV, map[string]any{
		"Peers":           peers(c, topology.TiKV),
		"PD":              c.PDURLs(),
		"Any":             anyAddress,
		"AdvertiseStatus": advertise,
		"DataDir":         quote(dataDir),
		"StartTimeout":    timeout,
		"Dot":             rootDot(c),
	}, slices.Concat(clusterWords(c), startWords(timeout), []word{
		{text: dataDir, quoted: quote(dataDir)},
		{text: "--addr=" + anyAddress + ":20160"},
		{text: "--advertise-status-addr", absent: !advertise},
	})...)
}

// capacity returns how much of its volume it may use, "0" for all. A size such as 1.5Gi is written
// as 1536Mi by the API server; both must give the same result.
func capacity(limits corev1.ResourceList) string {
	written, ok := limits[corev1.ResourceStorage]
	if !ok {
		return "0"
	}
	size, err := resource.ParseQuantity(written.String())
	if err != nil {
		return "0"
	}
	bytes, ok := size.AsInt64()
	if !ok {
		return "0"
	}
	const mi, gi = 1 << 20, 1 << 30
	if bytes%gi == 0 {
		return strconv.FormatInt(bytes/gi, 10) + "GB"
	}
	return strconv.FormatInt(bytes/mi, 10) + "MB"
}

// tikvLogs returns the containers that print the logs of TiKV's storage engines.
func tikvLogs(comp component, storage []corev1.VolumeMount) ([]tailer, error) {
	kv := comp.cluster.Source.Spec.TiKV
	rocks, raft := "rocksdb.info", "raftdb.info"
	if topology.BeforeMajor(comp.Version, 5) {
		rocks, raft = "db/LOG", "raft/LOG"
	}
	var logs []tailer
	for _, l := range []struct {
		wanted             bool
		name, file, volume string
	}{
		{kv.ShouldSeparateRocksDBLog(), "rocksdblog", rocks, kv.RocksDBLogVolumeName},
		{kv.ShouldSeparateRaftLog(), "raftlog", raft, kv.RaftLogVolumeName},
	} {
		if !l.wanted {
			continue
		}
		mount := writable(string(topology.TiKV), tikvDir)
		if l.volume != "" {
			var err error
			if mount, err = logMount(comp, l.volume, storage); err != nil {
				return nil, err
			}
		}
		logs = append(logs, logTailer(comp, l.name, path.Join(mount.MountPath, l.file), mount, kv.GetLogTailerSpec()))
	}
	return logs, nil
}
