package render

import (
	"path"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Names and paths that every component's pod has.
const (
	volumeAnnotations = "annotations"
	volumeConfig      = "config"
	volumeScript      = "startup-script"

	keyConfig = "config-file"
	keyScript = "startup-script"

	dirScript = "/usr/local/bin"
	dirInfo   = "/etc/podinfo"
)

// podTemplate assembles the pods of a component. The order of every list is
// part of the contract: list order is compared, and another order would restart
// all pods of an existing cluster.
func podTemplate(comp component, configMap string) (corev1.PodTemplateSpec, error) {
	applied := appliedSpec(comp.live)
	own, err := mainContainer(comp, applied)
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	containers := append(keepTailers(comp.logs, applied), own)
	if comp.logsLast {
		containers = slices.Insert(containers[:len(containers)-1], 0, own)
	}
	containers, err = withAdditional(containers, comp.spec.AdditionalContainers())
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	pod := comp.spec.BuildPodSpec()
	pod.ServiceAccountName = comp.account
	if pod.InitContainers, err = comp.initContainers(applied); err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	pod.Containers = containers
	pod.Volumes = append(comp.shared(comp, configMap), comp.volumes...)
	if !comp.ownVolumes {
		pod.Volumes = append(pod.Volumes, comp.spec.AdditionalVolumes()...)
	}
	if comp.last != nil {
		pod.Volumes = append(pod.Volumes, comp.last(comp, configMap)...)
	}
	if init := sysctlInit(comp); init != nil {
		pod.InitContainers = append([]corev1.Container{*init}, pod.InitContainers...)
		pod.SecurityContext = pod.SecurityContext.DeepCopy()
		pod.SecurityContext.Sysctls = nil
	}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      union(comp.spec.Labels(), comp.cluster.Labels(comp.Kind)),
			Annotations: union(scraping(comp.metrics), comp.annotations, comp.spec.Annotations()),
		},
		Spec: pod,
	}
	// The parts come from the TidbCluster: a caller that changes the template
	// must not change the user's spec.
	return *template.DeepCopy(), nil
}

func mainContainer(comp component, applied appsv1.StatefulSetSpec) (corev1.Container, error) {
	command, err := comp.command(string(comp.Kind), applied.Template.Spec.Containers)
	if command == nil {
		command = []string{"/bin/sh", comp.start}
	}
	return corev1.Container{
		Name:            string(comp.Kind),
		Image:           comp.Image,
		ImagePullPolicy: comp.spec.ImagePullPolicy(),
		Command:         command,
		Ports:           comp.ports,
		EnvFrom:         comp.spec.EnvFrom(),
		Env:             withUserEnv(comp.env, comp.spec.Env()),
		Resources:       computeResources(comp.resources),
		VolumeMounts:    comp.mounts,
		ReadinessProbe:  comp.readiness,
		StartupProbe:    comp.startup,
		Lifecycle:       comp.lifecycle,
		SecurityContext: comp.security,
	}, err
}

// initContainers returns the component's own, and then the user's.
func (comp component) initContainers(applied appsv1.StatefulSetSpec) ([]corev1.Container, error) {
	var all []corev1.Container
	for _, c := range comp.init {
		command, err := comp.command(c.Name, applied.Template.Spec.InitContainers)
		if err != nil {
			return nil, err
		}
		if command != nil {
			c.Command = command
		}
		all = append(all, c)
	}
	return append(all, comp.spec.InitContainers()...), nil
}

// scraping returns the annotations by which Prometheus finds the metrics. The user's own
// annotations override these.
func scraping(m metrics) map[string]string {
	return map[string]string{
		"prometheus.io/scrape": "true",
		"prometheus.io/path":   firstGiven(m.path, "/metrics"),
		"prometheus.io/port":   strconv.Itoa(int(m.port)),
	}
}

// sharedVolumes come first in the pods of most components.
func sharedVolumes(comp component, configMap string) []corev1.Volume {
	volumes := []corev1.Volume{annotationsVolume()}
	if len(comp.inline) > 0 {
		return append(volumes, configMapVolume(volumeConfig, configMap))
	}
	return append(volumes,
		configMapVolume(volumeConfig, configMap, corev1.KeyToPath{Key: comp.documents[0].key, Path: comp.documents[0].file}),
		configMapVolume(volumeScript, configMap, corev1.KeyToPath{Key: keyScript, Path: path.Base(comp.start)}))
}

// annotationsVolume has the annotations of the pod itself.
func annotationsVolume() corev1.Volume {
	return corev1.Volume{Name: volumeAnnotations, VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{
			Path:     "annotations",
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations"},
		}},
	}}}
}

// configMapVolume returns a volume with some of the keys of a ConfigMap, or with all of them.
func configMapVolume(name, configMap string, items ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap},
		Items:                items,
	}}}
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func readOnly(volume, path string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, ReadOnly: true, MountPath: path}
}

func writable(volume, path string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: path}
}

func port(name string, number int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
}

func value(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: path},
	}}
}

// withUserEnv appends the user's variables. A built-in one cannot be replaced, since the start
// script needs it.
func withUserEnv(builtin, user []corev1.EnvVar) []corev1.EnvVar {
	taken := map[string]bool{}
	for _, e := range builtin {
		taken[e.Name] = true
	}
	all := builtin
	for _, e := range user {
		if !taken[e.Name] {
			all = append(all, e)
		}
	}
	return all
}

func tcpProbe(port int32) corev1.ProbeHandler {
	return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}
}
