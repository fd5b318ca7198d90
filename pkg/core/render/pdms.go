package render

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	servicesScript = "pdms"
	pdFile         = "pd.toml"
	// apiService are the words with which PD starts where services give timestamps and move regions.
	apiService = "services api"
)

// describeService describes a service of PD. Its pods are those of PD without data, and run the same program.
func describeService(c topology.Cluster, g topology.Group, _ state.Existing) (component, error) {
	k, tc, ms := g.Kind, c.Source, c.PDService(g.Kind)
	comp := base(c, g, tc.BasePDMSSpec(ms))
	comp.start = dirScript + "/" + servicesScript + "_start_script.sh"
	comp.resources = ms.ResourceRequirements
	comp.account = ms.ServiceAccount // as with tidb-operator, the account of the cluster does not count
	comp.metrics.port = topology.PDClientPort
	comp.ports = []corev1.ContainerPort{port("server", topology.PDClientPort)}
	comp.env = []corev1.EnvVar{
		fromField("NAMESPACE", "metadata.namespace"),
		value("PEER_SERVICE_NAME", c.PeerService(k)),
		value("SERVICE_NAME", c.SetName(k)),
		value("SET_NAME", c.SetName(k)),
		value("TZ", tc.Spec.Timezone),
		value("CLUSTER_NAME", c.Name),
		value("HEADLESS_SERVICE_NAME", c.PeerService(k)),
	}
	if comp.spec.HostNetwork() {
		comp.env = append(comp.env, fromField("POD_NAME", "metadata.name"))
	}
	comp.mounts = []corev1.VolumeMount{
		readOnly(volumeAnnotations, dirInfo),
		readOnly(volumeConfig, pdConfigDir),
		readOnly(volumeScript, dirScript),
	}
	comp.mountMemberTLS(ms.MountClusterClientSecret)
	comp.services = []*corev1.Service{clientService(comp, ms.Service), pdPeerService(comp)}
	comp.script = serviceScript(c, k)
	var keys []setting
	if c.TLS.Members {
		keys = pdCertificateKeys(k)
	}
	config, err := withKeys(ms.Config.GenericConfig, keys...)
	comp.documents = []document{{key: keyConfig, file: pdFile, config: config}}
	return comp, err
}

func serviceScript(c topology.Cluster, k topology.Kind) script {
	timeout := startTimeout(c, c.WaitsForOwnAddress())
	backend := c.PDURLs()
	s := newScript(k, map[string]any{
		"Title":     k.Title(),
		"Service":   string(k),
		"Scheme":    c.Scheme(),
		"Peers":     peers(c, k),
		"LongNames": c.PDName(0) != c.PodName(topology.PD, 0),
		"PD":        backend,

		"StartTimeout": timeout,
		"Dot":          rootDot(c),
	}, slices.Concat(clusterWords(c), startWords(timeout), []word{{text: "services " + string(k)}, {text: backend}})...)
	s.name = servicesScript
	return s
}

// modeFixed refuses to start PD in another mode than its pods have. While the pods are replaced, nobody may give
// timestamps, or PD and a service may both give them. A cluster in which PD has never served can still be corrected.
func modeFixed(c topology.Cluster, have state.Existing) field.ErrorList {
	used := inUse(c, topology.PD, have).found
	if used == nil || used.Data[keyScript] == "" || c.Source.Status.ClusterID == "" {
		return nil
	}
	if started := hasWord(used.Data[keyScript], apiService); started != topology.Microservices(c.Source) {
		return field.ErrorList{topology.ModeFixed(started)}
	}
	return nil
}

// servicesStatus is the part of a service of PD in the status.
func servicesStatus(k topology.Kind) statusPart {
	return statusPart{
		begin: func(s *v1alpha1.TidbClusterStatus) {
			if s.PDMS == nil {
				s.PDMS = map[string]*v1alpha1.PDMSStatus{}
			}
			if s.PDMS[string(k)] == nil {
				s.PDMS[string(k)] = &v1alpha1.PDMSStatus{Name: string(k)}
			}
		},
		members: func(r projection, s *v1alpha1.TidbClusterStatus) { r.service(k, s.PDMS[string(k)]) },
		clear:   func(s *v1alpha1.TidbClusterStatus) { s.PDMS[string(k)].Members = nil },
		health:  func(*v1alpha1.TidbClusterStatus) []bool { return nil },
	}
}

// service writes the addresses of the members that PD lists. They stay as they were where PD lists no services.
func (r projection) service(k topology.Kind, status *v1alpha1.PDMSStatus) {
	var members []string
	for _, m := range r.snap.Groups[k].InSet() {
		switch m.Database.Presence {
		case state.Unknown:
			return
		case state.Present:
			members = append(members, r.wanted.Cluster.MemberURL(k, m.Ordinal, topology.PDClientPort))
		}
	}
	status.Synced, status.Members = true, members
}
