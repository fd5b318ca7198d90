package render

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	tiflashData      = "/data0" // the first disk
	tiflashConfigDir = "/etc/tiflash"
	// The keys of the ConfigMap: the configuration of TiFlash, and the configuration of its part that copies
	// regions. Both have the ordinal's place as POD_NUM.
	keyTiFlash      = "config_templ.toml"
	keyTiFlashProxy = "proxy_templ.toml"
)

func describeTiFlash(c topology.Cluster, g topology.Group, _ state.Existing) (component, error) {
	tc, fl := c.Source, c.Source.Spec.TiFlash
	comp := base(c, g, tc.BaseTiFlashSpec())
	comp.resources = fl.ResourceRequirements
	comp.account = firstGiven(fl.ServiceAccount, tc.Spec.ServiceAccount)
	comp.metrics.port = topology.TiFlashMetricsPort
	comp.annotations = map[string]string{"tiflash.proxy.prometheus.io/port": strconv.Itoa(topology.TiFlashProxyStatusPort)}
	comp.privilege(tc.TiFlashContainerPrivilege())
	comp.sysctl, comp.claimsAt = "sysctl", "storageClaims"
	comp.ports = []corev1.ContainerPort{
		port("tiflash", topology.TiFlashServicePort), port("proxy", topology.TiFlashProxyPort),
		port("tcp", topology.TiFlashTCPPort), port("http", topology.TiFlashHTTPPort),
		port("internal", topology.TiFlashInternalPort), port("metrics", topology.TiFlashMetricsPort),
	}
	comp.env = []corev1.EnvVar{
		fromField("NAMESPACE", "metadata.namespace"),
		value("CLUSTER_NAME", c.Name),
		value("HEADLESS_SERVICE_NAME", c.PeerService(topology.TiFlash)),
		value("CAPACITY", capacity(fl.Limits)),
		value("TZ", tc.Timezone()),
	}
	if comp.spec.HostNetwork() {
		comp.env = append(comp.env, fromField("POD_NAME", "metadata.name"))
	}
	comp.mounts = []corev1.VolumeMount{readOnly(volumeAnnotations, dirInfo)}
	for i, s := range fl.StorageClaims {
		name := topology.TiFlashVolume(i)
		size, ok := s.Resources.Requests[corev1.ResourceStorage]
		if !ok {
			return component{}, fmt.Errorf("no storage is requested in spec.tiflash.storageClaims[%d]", i)
		}
		comp.claims = append(comp.claims, claim(name, size, classes{s.StorageClassName, s.VolumeAttributesClassName}))
		comp.mounts = append(comp.mounts, writable(name, "/"+name))
	}
	comp.mounts = append(comp.mounts, comp.spec.AdditionalVolumeMounts()...)
	comp.mountMemberTLS(nil)
	peer := peerService(comp,
		servicePort("tiflash", topology.TiFlashServicePort), servicePort("proxy", topology.TiFlashProxyPort),
		servicePort("metrics", topology.TiFlashMetricsPort), servicePort("proxy-metrics", topology.TiFlashProxyStatusPort))
	delete(peer.Labels, topology.LabelUsedBy)
	comp.services = []*corev1.Service{peer}
	comp.tiflashStart()
	return comp, comp.tiflashConfigure()
}

// mountsTiFlashConfig reports whether the main container reads the ConfigMap itself. Else an init
// container writes config files for its member.
func mountsTiFlashConfig(comp component) bool {
	return comp.spec.Annotations()[topology.AnnotationMountConfig] == "true"
}

// tiflashStart sets what starts a member. Both scripts are in the pod template.
func (comp *component) tiflashStart() {
	c := comp.cluster
	template, written := tiflashConfigDir+"/"+keyTiFlash, tiflashData+"/config.toml"
	if mountsTiFlashConfig(*comp) {
		comp.mounts = append(comp.mounts, readOnly(volumeConfig, tiflashConfigDir))
		advertise := c.Source.Spec.EnableDynamicConfiguration != nil && *c.Source.Spec.EnableDynamicConfiguration
		comp.inline = []inline{{string(topology.TiFlash), newScript(topology.TiFlash, map[string]any{
			"Config": template, "Peers": peers(c, topology.TiFlash), "AdvertiseStatus": advertise,
			"PD": c.PDEndpoints(),
		}, slices.Concat(domainWords(c), partWords(c), []word{
			{text: template},
			{text: "--flash.proxy.advertise-status-addr", absent: !advertise},
		})...)}}
		return
	}
	init := newScript(topology.TiFlash, map[string]any{"Dir": tiflashData},
		word{text: written}, word{text: tiflashData + "/proxy.toml"})
	init.name = "tiflash-init"
	comp.inline = []inline{
		{string(topology.TiFlash), newScript(topology.TiFlash, map[string]any{"Config": written}, word{text: written})},
		{"init", init},
	}
	container := corev1.Container{
		Name:  "init",
		Image: c.Source.HelperImage(),
		Env:   []corev1.EnvVar{fromField("POD_NAME", "metadata.name")},
		VolumeMounts: []corev1.VolumeMount{
			writable(topology.TiFlashVolume(0), tiflashData), readOnly(volumeConfig, tiflashConfigDir),
		},
	}
	if own := c.Source.Spec.TiFlash.Initializer; own != nil {
		container.Resources, container.SecurityContext = computeResources(own.ResourceRequirements), own.SecurityContext
	}
	comp.init = []corev1.Container{container}
}

// tiflashConfigure sets the config files, and the containers that print the logs which they name.
func (comp *component) tiflashConfigure() error {
	common, proxy, err := tiflashConfig(*comp)
	if err != nil {
		return err
	}
	operators, err := withoutPDAddress(*comp, common)
	if err != nil {
		return err
	}
	comp.documents = []document{
		{key: keyTiFlash, file: keyTiFlash, config: common, operators: operators},
		{key: keyTiFlashProxy, file: keyTiFlashProxy, config: proxy},
	}
	var own v1alpha1.LogTailerSpec
	if spec := comp.cluster.Source.Spec.TiFlash.LogTailer; spec != nil {
		own = *spec
	}
	comp.logsLast = true
	for _, l := range []struct{ name, key string }{
		{"serverlog", "logger.log"}, {"errorlog", "logger.errorlog"}, {"clusterlog", "flash.flash_cluster.log"},
	} {
		v := common.Get(l.key)
		if v == nil {
			continue
		}
		file, err := v.AsString()
		if err != nil {
			return fmt.Errorf("config key %s: %w", l.key, err)
		}
		volume, _, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+file), "/"), "/")
		comp.logs = append(comp.logs, logTailer(*comp, l.name, file, writable(volume, "/"+volume), own))
	}
	return nil
}
