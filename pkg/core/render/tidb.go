package render

import (
	"path"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	tidbConfigDir = "/etc/tidb"
	slowLogDir    = "/var/log/tidb"
	slowLog       = "slowlog"
	tokenDir      = "/var/lib/tidb-auth-token"
	bootstrapSQL  = "/etc/tidb-bootstrap"
	probeDir      = "/var/lib/customized-startup-probe"
)

func describeTiDB(c topology.Cluster, g topology.Group, _ state.Existing) (component, error) {
	tc, db := c.Source, c.Source.Spec.TiDB
	class := classes{db.StorageClassName, db.VolumeAttributesClassName}
	claims, storage, err := storageVolumes(topology.TiDB, db.StorageVolumes, class)
	if err != nil {
		return component{}, err
	}

	comp := base(c, g, tc.BaseTiDBSpec())
	comp.resources = db.ResourceRequirements
	comp.account = firstGiven(db.ServiceAccount, tc.Spec.ServiceAccount)
	comp.metrics.port = topology.TiDBStatusPort
	comp.claims = claims
	comp.ports = []corev1.ContainerPort{port("server", topology.TiDBServerPort), port("status", topology.TiDBStatusPort)}
	comp.readiness = tidbReadiness(c, db.ReadinessProbe)
	comp.lifecycle = db.Lifecycle

	slow, err := slowLogFile(comp, storage)
	if err != nil {
		return component{}, err
	}
	if slow.path != "" {
		spec := db.GetSlowLogTailerSpec()
		own := v1alpha1.LogTailerSpec{ResourceRequirements: spec.ResourceRequirements, SecurityContext: spec.SecurityContext}
		comp.logs = []tailer{logTailer(comp, slowLog, slow.path, slow.mount, own)}
	}
	comp.env = []corev1.EnvVar{
		value("CLUSTER_NAME", c.Name),
		value("TZ", tc.Spec.Timezone),
		value(topology.EnvBinlog, strconv.FormatBool(tc.IsTiDBBinlogEnabled())),
		value("SLOW_LOG_FILE", slow.path),
		fromField("POD_NAME", "metadata.name"),
		fromField("NAMESPACE", "metadata.namespace"),
		value("HEADLESS_SERVICE_NAME", c.PeerService(topology.TiDB)),
	}
	mountTiDB(&comp, db, storage, slow)
	comp.services = []*corev1.Service{peerService(comp, servicePort("status", topology.TiDBStatusPort))}
	if s := tidbService(comp); s != nil {
		comp.services = append(comp.services, s)
	}
	comp.script = tidbScript(c, db)
	config, err := withKeys(db.Config.GenericConfig, append(tidbKeys(db), tidbTLS(c)...)...)
	comp.configure(config)
	return comp, err
}

func tidbScript(c topology.Cluster, db *v1alpha1.TiDBSpec) script {
	plugins, words := strings.Join(db.Plugins, ","), strings.Join(db.Arguments, " ")
	need := append(clusterWords(c), word{text: "--plugin-load", absent: plugins == ""},
		word{text: "--enable-binlog=true", absent: !c.Source.IsTiDBBinlogEnabled(), read: topology.EnvBinlog})
	if plugins != "" {
		need = append(need, word{text: plugins, quoted: quote(plugins)})
		plugins = quote(plugins)
	}
	if words != "" {
		// The operator's second generation of scripts does not have them. To add them would restart
		// every server.
		ours := c.Source.StartScriptVersion() == v1alpha1.StartScriptV2
		need = append(need, word{text: words, quoted: arguments(db.Arguments), ours: ours})
	}
	made := newScript(topology.TiDB, map[string]any{
		"Peers":     peers(c, topology.TiDB),
		"PD":        c.PDEndpoints(),
		"Plugins":   plugins,
		"Arguments": arguments(db.Arguments),
	}, need...)
	if c.Source.StartScriptVersion() != v1alpha1.StartScriptV2 {
		made.program, made.arguments = "/tidb-server", strings.Fields(words)
	}
	return made
}

// mountTiDB adds the volumes that only some TiDB servers have, in the order of existing pods.
func mountTiDB(comp *component, db *v1alpha1.TiDBSpec, storage []corev1.VolumeMount, slow slowLogPlace) {
	comp.mounts = []corev1.VolumeMount{
		readOnly(volumeAnnotations, dirInfo),
		readOnly(volumeConfig, tidbConfigDir),
		readOnly(volumeScript, dirScript),
	}
	if db.TokenBasedAuthEnabled != nil && *db.TokenBasedAuthEnabled {
		comp.mounts = append(comp.mounts, readOnly("tidb-auth-token", tokenDir))
		comp.volumes = append(comp.volumes, corev1.Volume{
			Name: "tidb-auth-token",
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: comp.cluster.AuthTokenSecret(),
			}},
		})
	}
	if db.IsBootstrapSQLEnabled() { // this volume comes before those of the certificates, and its mount after theirs
		comp.volumes = append(comp.volumes,
			configMapVolume("tidb-bootstrap-sql", *db.BootstrapSQLConfigMapName, corev1.KeyToPath{Key: "bootstrap-sql", Path: "bootstrap.sql"}))
	}
	comp.mountMemberTLS(nil)
	if comp.cluster.TLS.SQL {
		comp.mountCertificate(sqlServerTLS, comp.cluster.SQLServerSecret())
	}
	if db.IsBootstrapSQLEnabled() {
		comp.mounts = append(comp.mounts, readOnly("tidb-bootstrap-sql", bootstrapSQL))
	}
	comp.mounts = append(comp.mounts, storage...)
	comp.mounts = append(comp.mounts, comp.spec.AdditionalVolumeMounts()...)
	if slow.volume != nil {
		comp.mounts = append(comp.mounts, slow.mount)
		comp.volumes = append(comp.volumes, *slow.volume)
	}
	if probe := db.CustomizedStartupProbe; probe != nil {
		mount := writable(probe.BinaryName, probeDir)
		comp.mounts = append(comp.mounts, mount)
		comp.volumes = append(comp.volumes, emptyDir(probe.BinaryName))
		comp.startup = startupProbe(probe)
		comp.init = []corev1.Container{probeCopy(probe, mount)}
		comp.init[0].SecurityContext = comp.security
	}
}

// slowLogPlace is where TiDB writes its slow log; the zero value if it is not separated from the
// log.
type slowLogPlace struct {
	path   string
	mount  corev1.VolumeMount
	volume *corev1.Volume // created for it, if the user has named none
}

func slowLogFile(comp component, storage []corev1.VolumeMount) (slowLogPlace, error) {
	db := comp.cluster.Source.Spec.TiDB
	if !db.ShouldSeparateSlowLog() {
		return slowLogPlace{}, nil
	}
	if name := db.SlowLogVolumeName; name != "" {
		mount, err := logMount(comp, name, storage)
		return slowLogPlace{path: path.Join(mount.MountPath, name), mount: mount}, err
	}
	volume := emptyDir(slowLog)
	return slowLogPlace{
		path:   path.Join(slowLogDir, slowLog),
		mount:  writable(slowLog, slowLogDir),
		volume: &volume,
	}, nil
}

func tidbKeys(db *v1alpha1.TiDBSpec) []setting {
	var keys []setting
	if db.TokenBasedAuthEnabled != nil && *db.TokenBasedAuthEnabled {
		keys = append(keys, setting{"security.auth-token-jwks", path.Join(tokenDir, "tidb_auth_token_jwks.json")})
	}
	if db.IsBootstrapSQLEnabled() {
		keys = append(keys, setting{"initialize-sql-file", path.Join(bootstrapSQL, "bootstrap.sql")})
	}
	return keys
}

// tidbReadiness returns the readiness probe, which is never nil. A TiDB server that is starting
// must not get connections from the Service.
func tidbReadiness(c topology.Cluster, spec *v1alpha1.Probe) *corev1.Probe {
	probe := &corev1.Probe{ProbeHandler: tcpProbe(topology.TiDBServerPort), InitialDelaySeconds: readinessDelay}
	if spec == nil {
		return probe
	}
	if spec.Type != nil && *spec.Type == v1alpha1.CommandProbeType {
		probe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: statusCheck(c)}}
	}
	return timed(probe, spec)
}

func startupProbe(spec *v1alpha1.CustomizedProbe) *corev1.Probe {
	probe := &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
			Command: append([]string{path.Join(probeDir, spec.BinaryName)}, spec.Args...),
		}},
		SuccessThreshold: 1,
	}
	for field, from := range map[*int32]*int32{
		&probe.TimeoutSeconds:   spec.TimeoutSeconds,
		&probe.PeriodSeconds:    spec.PeriodSeconds,
		&probe.FailureThreshold: spec.FailureThreshold,
	} {
		if from != nil && *from >= 1 {
			*field = *from
		}
	}
	return probe
}

// probeCopy returns the container that copies the probe's binary into the pod.
func probeCopy(spec *v1alpha1.CustomizedProbe, mount corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name:            spec.BinaryName,
		Image:           spec.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/bin/sh", "-c"},
		Args:            []string{"cp /" + spec.BinaryName + " " + path.Join(probeDir, spec.BinaryName) + "; echo '" + spec.BinaryName + " copy finished'"},
		VolumeMounts:    []corev1.VolumeMount{mount},
	}
}

// tidbService returns the Service that SQL clients use, nil unless the user asks for one.
func tidbService(comp component) *corev1.Service {
	spec := comp.cluster.Source.Spec.TiDB.Service
	if spec == nil {
		return nil
	}
	sql := servicePort(spec.GetPortName(), topology.TiDBServerPort)
	sql.Port, sql.NodePort = comp.cluster.Source.Spec.TiDB.GetServicePort(), spec.GetMySQLNodePort()
	sql.TargetPort = intstr.FromInt32(topology.TiDBServerPort)
	ports := append([]corev1.ServicePort{sql}, spec.AdditionalPorts...)
	if spec.ShouldExposeStatus() {
		status := servicePort("status", topology.TiDBStatusPort)
		status.NodePort = spec.GetStatusNodePort()
		ports = append(ports, status)
	}
	s := service(comp, comp.cluster.SetName(topology.TiDB), usedByUser, ports...)
	applyServiceSpec(s, spec.ServiceSpec)
	s.Spec.Ports[0].Name = spec.GetPortName()
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		if spec.LoadBalancerIP != nil {
			s.Spec.LoadBalancerIP = *spec.LoadBalancerIP
		}
		s.Spec.LoadBalancerSourceRanges = spec.LoadBalancerSourceRanges
		s.Spec.LoadBalancerClass = spec.LoadBalancerClass
	}
	if spec.ExternalTrafficPolicy != nil {
		s.Spec.ExternalTrafficPolicy = *spec.ExternalTrafficPolicy
	}
	return s
}
