package render

import (
	"path"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	tiproxyDir       = "/var/lib/tiproxy"
	tiproxyConfigDir = "/etc/proxy"
	tiproxyFile      = "proxy.toml"
	tiproxyStart     = "start.sh"
)

func describeTiProxy(c topology.Cluster, g topology.Group, _ state.Existing) (component, error) {
	tc, proxy := c.Source, c.Source.Spec.TiProxy
	class := classes{proxy.StorageClassName, proxy.VolumeAttributesClassName}
	claims, storage, err := storageVolumes(topology.TiProxy, proxy.StorageVolumes, class)
	if err != nil {
		return component{}, err
	}

	comp := base(c, g, tc.BaseTiProxySpec())
	comp.start, comp.shared = path.Join(tiproxyConfigDir, tiproxyStart), tiproxyVolumes
	comp.sysctl = "" // as in tidb-operator, Kubernetes itself sets the parameters of these pods
	comp.resources = proxy.ResourceRequirements
	comp.account = firstGiven(proxy.ServiceAccount, tc.Spec.ServiceAccount)
	comp.metrics = metrics{topology.TiProxyStatusPort, "/api/metrics"}
	comp.claims = claims
	comp.ports = []corev1.ContainerPort{
		port("tiproxy", topology.TiProxyServerPort),
		port("tiproxy-api", topology.TiProxyStatusPort),
		port("tiproxy-peer", topology.TiProxyPeerPort),
	}
	comp.env = []corev1.EnvVar{
		fromField("POD_NAME", "metadata.name"),
		fromField("NAMESPACE", "metadata.namespace"),
		value("HEADLESS_SERVICE_NAME", c.PeerService(topology.TiProxy)),
	}
	comp.mounts = []corev1.VolumeMount{
		readOnly(volumeConfig, tiproxyConfigDir),
		readOnly(volumeAnnotations, dirInfo),
	}
	tls := tiproxyTLS(c, proxy)
	for _, t := range tls {
		if t.secret != "" {
			comp.mountCertificateAt(t.dir, t.volume, t.secret)
		}
	}
	comp.mounts = append(comp.mounts, storage...)
	comp.mounts = append(comp.mounts, comp.spec.AdditionalVolumeMounts()...)
	comp.services = tiproxyServices(comp)
	comp.script = newScript(topology.TiProxy, map[string]any{"Peers": peers(c, topology.TiProxy)}, domainWords(c)...)
	config, err := withKeys(proxy.Config.GenericConfig, tiproxyKeys(c, proxy, tls)...)
	comp.documents = []document{{key: keyConfig, file: tiproxyFile, config: config}}
	return comp, err
}

// tiproxyVolumes are the first volumes of TiProxy, which has the configuration and the start script
// in the same directory.
func tiproxyVolumes(comp component, configMap string) []corev1.Volume {
	config := configMapVolume(volumeConfig, configMap,
		corev1.KeyToPath{Key: comp.documents[0].key, Path: comp.documents[0].file},
		corev1.KeyToPath{Key: keyScript, Path: path.Base(comp.start)})
	return []corev1.Volume{config, annotationsVolume()}
}

// tiproxyServices returns the Service that SQL clients use, and the one that gives pods their DNS
// names. Both have the addresses of pods that are not Ready too, because a TiProxy that drains its
// connections still serves them.
func tiproxyServices(comp component) []*corev1.Service {
	api := servicePort("tiproxy-api", topology.TiProxyStatusPort)
	clients := service(comp, comp.cluster.SetName(topology.TiProxy), usedByUser, api, servicePort("tiproxy-sql", topology.TiProxyServerPort))
	clients.Spec.Type = corev1.ServiceTypeNodePort
	clients.Spec.PublishNotReadyAddresses = true
	peer := peerService(comp, api, servicePort("tiproxy-peer", topology.TiProxyPeerPort))
	peer.Spec.Type = corev1.ServiceTypeClusterIP
	return []*corev1.Service{clients, peer}
}

func tiproxyKeys(c topology.Cluster, proxy *v1alpha1.TiProxySpec, tls []sectionTLS) []setting {
	keys := []setting{
		{"workdir", path.Join(tiproxyDir, "work")},
		{"proxy.pd-addrs", c.PDEndpoints()},
	}
	unset := func(key string) bool { return proxy.Config.Get(key) == nil }
	if unset("proxy.require-backend-tls") {
		keys = append(keys, setting{"proxy.require-backend-tls", false})
	}
	for _, t := range tls {
		for _, s := range t.sections {
			keys = append(keys, s.keys(t.dir, unset)...)
		}
	}
	return keys
}
