package render

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	pumpConfigDir = "/etc/pump"
	pumpFile      = "pump.toml"
	keyPump       = "pump-config"
	pumpDataDir   = "/data"
)

func describePump(c topology.Cluster, g topology.Group, _ state.Existing) (component, error) {
	tc, pump := c.Source, c.Source.Spec.Pump
	size, ok := pump.Requests[corev1.ResourceStorage]
	if !ok {
		return component{}, fmt.Errorf("no storage is requested in spec.%s.requests", topology.Pump)
	}

	comp := base(c, g, tc.BasePumpSpec())
	comp.shared, comp.ownVolumes = pumpVolumes, true
	comp.sysctl = "" // as in tidb-operator, Kubernetes itself sets the parameters of these pods
	if pump.PodManagementPolicy == "" && tc.Spec.PodManagementPolicy == "" {
		comp.creation = appsv1.OrderedReadyPodManagement // unlike other components
	}
	comp.resources = pump.ResourceRequirements
	comp.account = firstGiven(pump.ServiceAccount, tc.Spec.ServiceAccount)
	comp.metrics.port = topology.PumpPort
	comp.claims = []corev1.PersistentVolumeClaim{
		claim(topology.Pump.DataVolume(), size, classes{pump.StorageClassName, pump.VolumeAttributesClassName}),
	}
	comp.ports = []corev1.ContainerPort{{Name: "pump", ContainerPort: topology.PumpPort}}
	comp.readiness = &corev1.Probe{ProbeHandler: tcpProbe(topology.PumpPort)}
	if pump.SetTimeZone != nil && *pump.SetTimeZone {
		comp.env = append(comp.env, value("TZ", tc.Spec.Timezone))
	}
	if comp.spec.HostNetwork() {
		comp.env = append(comp.env, fromField("HOSTNAME", "metadata.name"))
	}
	comp.mounts = []corev1.VolumeMount{
		writable(topology.Pump.DataVolume(), pumpDataDir),
		writable(volumeConfig, pumpConfigDir),
	}
	comp.mountMemberTLS(nil)
	if readsAnnotations(c) {
		comp.mounts = append(comp.mounts, readOnly(volumeAnnotations, dirInfo))
		comp.volumes = append(comp.volumes, annotationsVolume())
	}
	peer := peerService(comp, servicePort("pump", topology.PumpPort))
	delete(peer.Labels, topology.LabelUsedBy)
	comp.services = []*corev1.Service{peer}
	comp.inline = []inline{{string(topology.Pump), pumpScript(comp)}}
	var keys []setting
	if c.TLS.Members {
		keys = certificateKeys(topology.Pump.CertificateVolume(), "security.ssl-ca", "security.ssl-cert", "security.ssl-key")
	}
	config, err := withKeys(pump.Config, keys...)
	comp.documents = []document{{key: keyPump, file: pumpFile, config: config}}
	return comp, err
}

func pumpVolumes(comp component, configMap string) []corev1.Volume {
	d := comp.documents[0]
	return []corev1.Volume{configMapVolume(volumeConfig, configMap, corev1.KeyToPath{Key: d.key, Path: d.file})}
}

func pumpScript(comp component) script {
	c, level := comp.cluster, comp.cluster.Source.PumpLogLevel()
	_, service, _ := strings.Cut(c.PumpHost(0), ".")
	return newScript(topology.Pump, map[string]any{
		"Service": service, "Level": quoted(level), "Annotations": readsAnnotations(c),
		"PD": c.PDURLs(),
	}, append(clusterWords(c), word{text: "-L=" + level, quoted: "-L=" + quoted(level), or: "-L " + level})...)
}
