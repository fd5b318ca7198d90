package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// annSysctl on a pod asks for an init container that sets the kernel
// parameters which the pod's security context names.
const annSysctl = "tidb.pingcap.com/sysctl-init"

// readinessDelay is the default number of seconds before the first readiness probe.
const readinessDelay = 10

// computeResources returns resources without storage, which is for claims.
func computeResources(r corev1.ResourceRequirements) corev1.ResourceRequirements {
	r = *r.DeepCopy()
	delete(r.Limits, corev1.ResourceStorage)
	delete(r.Requests, corev1.ResourceStorage)
	return r
}

// readinessProbe returns a TCP probe if the user has asked for one, nil otherwise.
func readinessProbe(spec *v1alpha1.Probe, port int32) *corev1.Probe {
	if spec == nil {
		return nil
	}
	probe := &corev1.Probe{ProbeHandler: tcpProbe(port), InitialDelaySeconds: readinessDelay}
	return timed(probe, spec)
}

func timed(probe *corev1.Probe, spec *v1alpha1.Probe) *corev1.Probe {
	if spec.InitialDelaySeconds != nil {
		probe.InitialDelaySeconds = *spec.InitialDelaySeconds
	}
	if spec.PeriodSeconds != nil {
		probe.PeriodSeconds = *spec.PeriodSeconds
	}
	return probe
}

// sysctlInit returns nil unless it is asked for and there is something to set.
func sysctlInit(comp component) *corev1.Container {
	security := comp.spec.PodSecurityContext()
	if comp.sysctl == "" || comp.spec.Annotations()[annSysctl] != "true" || security == nil || len(security.Sysctls) == 0 {
		return nil
	}
	command := "sysctl -w"
	for _, s := range security.Sysctls {
		command += " " + s.Name + "=" + s.Value
	}
	privileged := true
	return &corev1.Container{
		Name:            comp.sysctl,
		Image:           comp.cluster.Source.HelperImage(),
		Command:         []string{"sh", "-c", command},
		Resources:       computeResources(comp.resources),
		SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
	}
}

// tailer is a container that prints a log file of the main container.
type tailer struct {
	corev1.Container
	file string
}

// logTailer returns a tailer. It ends on SIGTERM. A shell that is the first process of a container ignores
// SIGTERM by default. Then every restart of the pod would take the whole grace period.
func logTailer(comp component, name, file string, mount corev1.VolumeMount, own v1alpha1.LogTailerSpec) tailer {
	tc := comp.cluster.Source
	return tailer{file: file, Container: corev1.Container{
		Name:            name,
		Image:           tc.HelperImage(),
		ImagePullPolicy: tc.HelperImagePullPolicy(),
		Command:         []string{"sh", "-c", fmt.Sprintf("trap 'exit 0' TERM; touch %[1]s; tail -n0 -F %[1]s & wait", file)},
		Resources:       computeResources(own.ResourceRequirements),
		VolumeMounts:    []corev1.VolumeMount{mount},
		SecurityContext: own.SecurityContext,
	}}
}

// appliedSpec returns the specification of a StatefulSet as it was written last, an empty one where
// that is not known.
func appliedSpec(live *appsv1.StatefulSet) appsv1.StatefulSetSpec {
	if live == nil {
		return appsv1.StatefulSetSpec{}
	}
	applied, _ := lastApplied[appsv1.StatefulSetSpec](live.ObjectMeta)
	return applied
}

// keepTailers keeps the commands of running tailers for the same file. The commands must be of this
// version, an earlier version or tidb-operator. The reason is that an existing cluster does not restart
// for another command. Other commands are the user's patch, which withAdditional applies again if it is
// still in the spec.
func keepTailers(logs []tailer, applied appsv1.StatefulSetSpec) []corev1.Container {
	var containers []corev1.Container
	for _, l := range logs {
		for _, c := range applied.Template.Spec.Containers {
			if c.Name == l.Name && tails(c.Command, l.file) {
				l.Command = c.Command
			}
		}
		containers = append(containers, l.Container)
	}
	return containers
}

// tails reports whether a command is a command that generated tailers have. Such a command creates
// a missing file and prints what is added to the file.
func tails(command []string, file string) bool {
	if len(command) != 3 || command[0] != "sh" || command[1] != "-c" {
		return false
	}
	text := strings.TrimPrefix(command[2], "trap 'exit 0' TERM; ")
	rest, ok := strings.CutPrefix(text, fmt.Sprintf("touch %[1]s; tail -n0 -F %[1]s", file))
	return ok && (rest == ";" || rest == "" || rest == " & wait")
}

// logMount returns the mount of the volume that the user has named for a log. It is a storage
// volume of the component, or else a volume mount of the user's own.
func logMount(comp component, name string, storage []corev1.VolumeMount) (corev1.VolumeMount, error) {
	for _, m := range storage {
		if m.Name == string(comp.Kind)+"-"+name {
			return m, nil
		}
	}
	for _, m := range comp.spec.AdditionalVolumeMounts() {
		if m.Name == name {
			return m, nil
		}
	}
	return corev1.VolumeMount{}, fmt.Errorf("no volume %q is mounted to hold a log", name)
}

// withAdditional adds the user's containers. A container with the name of a generated container is
// a strategic merge patch for that container. Of several with the same name, the last is used, as
// tidb-operator does.
func withAdditional(containers, additional []corev1.Container) ([]corev1.Container, error) {
	generated := slices.Clone(containers)
	for _, extra := range additional {
		i := index(generated, extra.Name)
		if i < 0 {
			containers = append(containers, extra)
			continue
		}
		patched, err := patch(generated[i], extra)
		if err != nil {
			return nil, fmt.Errorf("merge additional container %s: %w", extra.Name, err)
		}
		containers[i] = patched
	}
	return containers, nil
}

func index(containers []corev1.Container, name string) int {
	for i := range containers {
		if containers[i].Name == name {
			return i
		}
	}
	return -1
}

func patch(container, with corev1.Container) (corev1.Container, error) {
	original, err := json.Marshal(container)
	if err != nil {
		return container, err
	}
	change, err := json.Marshal(with)
	if err != nil {
		return container, err
	}
	merged, err := strategicpatch.StrategicMergePatch(original, change, corev1.Container{})
	if err != nil {
		return container, err
	}
	var result corev1.Container
	if err := json.Unmarshal(merged, &result); err != nil {
		return container, err
	}
	return result, nil
}
