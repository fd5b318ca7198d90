package render

import (
	"path"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	ticdcConfigDir = "/etc/ticdc"
	ticdcFile      = "ticdc.toml"
	sinkDir        = "/var/lib/sink-tls"
)

func describeTiCDC(c topology.Cluster, g topology.Group, _ state.Existing) (component, error) {
	tc, cdc := c.Source, c.Source.Spec.TiCDC
	class := classes{cdc.StorageClassName, cdc.VolumeAttributesClassName}
	claims, storage, err := storageVolumes(topology.TiCDC, cdc.StorageVolumes, class)
	if err != nil {
		return component{}, err
	}

	comp := base(c, g, tc.BaseTiCDCSpec())
	comp.shared, comp.last = ticdcVolumes, ticdcLastVolumes
	comp.sysctl = "" // as in tidb-operator, Kubernetes itself sets the parameters of these pods
	comp.resources = cdc.ResourceRequirements
	comp.account = firstGiven(cdc.ServiceAccount, tc.Spec.ServiceAccount)
	comp.metrics.port = topology.TiCDCPort
	comp.claims = claims
	comp.ports = []corev1.ContainerPort{port("ticdc", topology.TiCDCPort)}
	comp.env = []corev1.EnvVar{
		fromField("POD_NAME", "metadata.name"),
		fromField("NAMESPACE", "metadata.namespace"),
		value("HEADLESS_SERVICE_NAME", c.PeerService(topology.TiCDC)),
		value("TZ", tc.TiCDCTimezone()),
	}
	if readsAnnotations(c) {
		comp.mounts = []corev1.VolumeMount{readOnly(volumeAnnotations, dirInfo)}
	}
	always := true
	comp.mountMemberTLS(&always)
	comp.mounts = append(comp.mounts, storage...)
	comp.mounts = append(comp.mounts, comp.spec.AdditionalVolumeMounts()...)
	if !cdc.Config.OnlyOldItems() {
		comp.documents = []document{{key: keyConfig, file: ticdcFile, config: cdc.Config.GenericConfig}}
		comp.mounts = append(comp.mounts, readOnly(volumeConfig, ticdcConfigDir))
	}
	for _, name := range cdc.TLSClientSecretNames {
		comp.mounts = append(comp.mounts, readOnly(name, path.Join(sinkDir, name)))
	}
	peer := peerService(comp, servicePort("ticdc", topology.TiCDCPort))
	delete(peer.Labels, topology.LabelUsedBy)
	comp.services = []*corev1.Service{peer}
	comp.inline = []inline{{string(topology.TiCDC), ticdcScript(comp)}}
	return comp, nil
}

// readsAnnotations reports whether pods of TiCDC mount their annotations, with which a user can
// have a pod start nothing. The first generation of tidb-operator's start scripts does not read
// them.
func readsAnnotations(c topology.Cluster) bool {
	return c.Source.StartScriptVersion() != v1alpha1.StartScriptV1
}

func ticdcVolumes(comp component, _ string) []corev1.Volume {
	if readsAnnotations(comp.cluster) {
		return []corev1.Volume{annotationsVolume()}
	}
	return nil
}

// ticdcLastVolumes are its configuration, and the certificates with which it connects to sinks.
func ticdcLastVolumes(comp component, configMap string) []corev1.Volume {
	var volumes []corev1.Volume
	for _, d := range comp.documents {
		volumes = append(volumes, configMapVolume(volumeConfig, configMap, corev1.KeyToPath{Key: d.key, Path: d.file}))
	}
	for _, name := range comp.cluster.Source.Spec.TiCDC.TLSClientSecretNames {
		volumes = append(volumes, corev1.Volume{
			Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}},
		})
	}
	return volumes
}

func ticdcScript(comp component) script {
	c, tc := comp.cluster, comp.cluster.Source
	var options []string
	words := clusterWords(c)
	option := func(name, value string) {
		options = append(options, name+quoted(value))
		words = append(words, word{text: name + value, quoted: name + quoted(value)})
	}
	option("--gc-ttl=", strconv.Itoa(int(tc.TiCDCGCTTL())))
	option("--log-file=", tc.TiCDCLogFile())
	option("--log-level=", tc.TiCDCLogLevel())
	optional := func(given bool, name, value string) {
		if given {
			options = append(options, name+value)
		}
		words = append(words, word{text: name + value, absent: !given})
	}
	tls := topology.CertificateDir(topology.TiCDC.CertificateVolume())
	optional(c.TLS.Members, "--ca=", path.Join(tls, topology.KeyCA))
	optional(c.TLS.Members, "--cert=", path.Join(tls, topology.KeyCertificate))
	optional(c.TLS.Members, "--key=", path.Join(tls, topology.KeyPrivate))
	optional(len(comp.documents) > 0, "--config=", path.Join(ticdcConfigDir, ticdcFile))
	return newScript(topology.TiCDC, map[string]any{
		"Peers": peers(c, topology.TiCDC), "Options": options, "Annotations": readsAnnotations(c),
		"PD": c.PDURLs(),
	}, words...)
}

// quoted is quote for a value that may be empty.
func quoted(value string) string {
	if value == "" {
		return ""
	}
	return quote(value)
}
