package render

import (
	"path"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	pdDir        = "/var/lib/pd"
	pdConfigDir  = "/etc/pd"
	bootstrapDir = "/etc/pd-bootstrap"
	// volumeBootstrap is not called "pd-…": that is how the user's own storage
	// volumes are named.
	volumeBootstrap = "bootstrap"
)

func describePD(c topology.Cluster, g topology.Group, have state.Existing) (component, error) {
	tc, pd := c.Source, c.Source.Spec.PD
	class := classes{pd.StorageClassName, pd.VolumeAttributesClassName}
	data, err := dataClaim(topology.PD, pd.ResourceRequirements, class)
	if err != nil {
		return component{}, err
	}
	claims, storage, err := storageVolumes(topology.PD, pd.StorageVolumes, class)
	if err != nil {
		return component{}, err
	}

	comp := base(c, g, tc.BasePDSpec())
	comp.resources = pd.ResourceRequirements
	comp.account = firstGiven(pd.ServiceAccount, tc.Spec.ServiceAccount)
	comp.metrics.port = topology.PDClientPort
	comp.claims = append([]corev1.PersistentVolumeClaim{data}, claims...)
	comp.ports = []corev1.ContainerPort{port("server", topology.PDPeerPort), port("client", topology.PDClientPort)}
	comp.readiness = readinessProbe(pd.ReadinessProbe, topology.PDClientPort)
	comp.env = []corev1.EnvVar{
		fromField("NAMESPACE", "metadata.namespace"),
		value("PEER_SERVICE_NAME", c.PeerService(topology.PD)),
		value("SERVICE_NAME", c.SetName(topology.PD)),
		value("SET_NAME", c.SetName(topology.PD)),
		value("TZ", tc.Spec.Timezone),
	}
	if comp.spec.HostNetwork() {
		comp.env = append(comp.env, fromField("POD_NAME", "metadata.name"))
	}
	comp.mounts = []corev1.VolumeMount{
		readOnly(volumeAnnotations, dirInfo),
		readOnly(volumeConfig, pdConfigDir),
		readOnly(volumeScript, dirScript),
		writable(string(topology.PD), pdDir),
	}
	comp.mountMemberTLS(pd.MountClusterClientSecret)
	if c.DashboardTLS() {
		comp.mountCertificate(sqlClientTLS, c.SQLClientSecret(pd.TLSClientSecretName))
	}
	comp.mounts = append(comp.mounts, storage...)
	comp.mounts = append(comp.mounts, comp.spec.AdditionalVolumeMounts()...)
	comp.founding = byDiscoveryServer
	if bootstraps(c, have) {
		comp.founding = byBootstrapMap
		comp.mounts = append(comp.mounts, readOnly(volumeBootstrap, bootstrapDir))
		comp.volumes = append(comp.volumes, bootstrapVolume(c))
	}
	comp.services = []*corev1.Service{clientService(comp, pd.Service), pdPeerService(comp)}
	comp.refused = modeFixed(c, have)
	comp.script = pdScript(c, path.Join(pdDir, pd.DataSubDir))
	config, err := withKeys(pd.Config.GenericConfig, pdKeys(comp)...)
	comp.configure(config)
	return comp, err
}

func pdScript(c topology.Cluster, dataDir string) script {
	shell, timeout := "/bin/sh", startTimeout(c, c.PDWaitsForOwnAddress())
	if c.PDStartsWithBash() {
		shell = "/bin/bash"
	}
	words := slices.Concat(clusterWords(c), startWords(timeout), []word{{text: dataDir, quoted: quote(dataDir)}})
	mode := ""
	if topology.Microservices(c.Source) {
		mode = apiService + " "
		words = append(words, word{text: apiService})
	}
	return newScript(topology.PD, map[string]any{
		"Shell":     shell,
		"Scheme":    c.Scheme(),
		"Bootstrap": bootstrapDir,
		"Peers":     peers(c, topology.PD),
		"LongNames": c.PDName(0) != c.PodName(topology.PD, 0),
		"Mode":      mode,
		"DataDir":   quote(dataDir),
		"InText":    inText(dataDir),

		"StartTimeout": timeout,
		"Dot":          rootDot(c),
	}, words...)
}

func pdKeys(comp component) []setting {
	var keys []setting
	c := comp.cluster
	if proxy := c.Source.Spec.PD.EnableDashboardInternalProxy; proxy != nil {
		keys = append(keys, setting{"dashboard.internal-proxy", *proxy})
	}
	if c.TLS.Members {
		keys = append(keys, pdCertificateKeys(topology.PD)...)
	}
	if c.DashboardTLS() {
		ca := "dashboard.tidb-cacert-path"
		if c.Source.Spec.TiDB.TLSClient.SkipInternalClientCA {
			ca = ""
		}
		keys = append(keys, certificateKeys(sqlClientTLS, ca, "dashboard.tidb-cert-path", "dashboard.tidb-key-path")...)
	}
	return keys
}

// pdCertificateKeys are the settings with which PD's program finds the certificate of a component's members.
func pdCertificateKeys(k topology.Kind) []setting {
	return certificateKeys(k.CertificateVolume(), "security.cacert-path", "security.cert-path", "security.key-path")
}

func bootstrapVolume(c topology.Cluster) corev1.Volume {
	optional := true
	return corev1.Volume{Name: volumeBootstrap, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: c.BootstrapMap()},
			Optional:             &optional,
		},
	}}
}

// pdPeerService gives pods of PD's program their DNS names.
func pdPeerService(comp component) *corev1.Service {
	return peerService(comp, servicePort("tcp-peer-2380", topology.PDPeerPort), servicePort("tcp-peer-2379", topology.PDClientPort))
}

// clientService is the Service that clients of PD, or of one of its services, use.
func clientService(comp component, spec *v1alpha1.ServiceSpec) *corev1.Service {
	c := comp.cluster
	s := service(comp, c.SetName(comp.Kind), usedByUser, servicePort("client", topology.PDClientPort))
	s.Spec.Type = corev1.ServiceTypeClusterIP
	for _, old := range c.Source.Spec.Services { // as older TidbClusters have it
		if old.Name != string(comp.Kind) {
			continue
		}
		if t := corev1.ServiceType(old.Type); t == corev1.ServiceTypeNodePort || t == corev1.ServiceTypeLoadBalancer {
			s.Spec.Type = t
		}
		break // only the first of several counts, as with tidb-operator
	}
	if spec == nil {
		return s
	}
	applyServiceSpec(s, *spec)
	if spec.LoadBalancerIP != nil {
		s.Spec.LoadBalancerIP = *spec.LoadBalancerIP
	}
	return s
}
