package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Restricted is Want for clusters of users whom the driver does not trust. It refuses a cluster whose pods could do
// more than the pods of a user without rights on the host. The reason is that the pods are made with the rights of the
// driver. A user who may write a TidbCluster need not have the right to run such a pod.
//
// It looks at the pods as they are rendered, so that no field of the TidbCluster is forgotten.
func Restricted(o state.Observation) (desired.State, error) {
	w, err := Want(o)
	if err != nil {
		return w, err
	}
	var refused RefusedError
	for _, g := range w.Groups {
		if set, ok := g.Set.Manifest.(*appsv1.StatefulSet); ok {
			refused.Fields = append(refused.Fields, excess(set.Spec.Template.Spec, topology.FieldOf(o.Cluster.Source, g.Kind))...)
		}
	}
	if len(refused.Fields) > 0 {
		return desired.State{}, &refused
	}
	return w, nil
}

// excess returns what a pod has that is refused under --restricted.
func excess(pod corev1.PodSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	refuse := func(is bool, path *field.Path, what string) {
		if is {
			errs = append(errs, field.Forbidden(path, what+" is refused by a driver with --restricted"))
		}
	}
	refuse(pod.HostNetwork, at.Child("hostNetwork"), "the network of the host")
	refuse(pod.HostPID, at.Child("hostPID"), "the process table of the host")
	refuse(pod.HostIPC, at.Child("hostIPC"), "shared memory of the host")
	account := pod.ServiceAccountName
	refuse(account != "" && account != "default", at.Child("serviceAccount"), fmt.Sprintf("service account %q, which has rights of its own,", account))
	if s := pod.SecurityContext; s != nil {
		own := at.Child("podSecurityContext")
		refuse(s.WindowsOptions != nil && isTrue(s.WindowsOptions.HostProcess), own, "a process of the host")
		errs = append(errs, unconfined(own, s.SeccompProfile, s.AppArmorProfile, s.SELinuxOptions)...)
	}
	for _, v := range pod.Volumes {
		refuse(v.HostPath != nil, at.Child("additionalVolumes").Key(v.Name).Child("hostPath"), "a folder of the host")
	}
	for _, c := range pod.InitContainers {
		errs = append(errs, excessOf(c, at.Child("initContainers").Key(c.Name))...)
	}
	for _, c := range pod.Containers {
		errs = append(errs, excessOf(c, at.Child("containers").Key(c.Name))...)
	}
	return errs
}

// harmless are the capabilities that Pod Security Standard "baseline" lets a container add.
var harmless = map[corev1.Capability]bool{
	"AUDIT_WRITE": true, "CHOWN": true, "DAC_OVERRIDE": true, "FOWNER": true, "FSETID": true, "KILL": true, "MKNOD": true,
	"NET_BIND_SERVICE": true, "SETFCAP": true, "SETGID": true, "SETPCAP": true, "SETUID": true, "SYS_CHROOT": true,
}

// excessOf returns what a container has that is refused under --restricted. A privileged container is mostly that of
// annotation tidb.pingcap.com/sysctl-init.
func excessOf(c corev1.Container, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	refuse := func(is bool, path *field.Path, what string) {
		if is {
			errs = append(errs, field.Forbidden(path, what+" is refused by a driver with --restricted"))
		}
	}
	for _, p := range c.Ports {
		refuse(p.HostPort != 0, at.Child("ports").Key(p.Name).Child("hostPort"), "a port of the host")
	}
	s, own := c.SecurityContext, at.Child("securityContext")
	if s == nil {
		return errs
	}
	refuse(isTrue(s.Privileged), own.Child("privileged"), "a privileged container (by a field securityContext or privileged, or by annotation "+annSysctl+")")
	refuse(s.ProcMount != nil && *s.ProcMount != corev1.DefaultProcMount, own.Child("procMount"), "an unmasked /proc")
	refuse(s.WindowsOptions != nil && isTrue(s.WindowsOptions.HostProcess), own.Child("windowsOptions"), "a process of the host")
	errs = append(errs, unconfined(own, s.SeccompProfile, s.AppArmorProfile, s.SELinuxOptions)...)
	if s.Capabilities != nil {
		for _, add := range s.Capabilities.Add {
			refuse(!harmless[add], own.Child("capabilities", "add"), "capability "+string(add))
		}
	}
	return errs
}

// confinedTypes are the SELinux types that Pod Security Standard "baseline" accepts, "" for that of the container
// runtime.
var confinedTypes = map[string]bool{"": true, "container_t": true, "container_init_t": true, "container_kvm_t": true, "container_engine_t": true}

// unconfined returns what takes a process of a pod or a container out of the limits of the container runtime.
func unconfined(at *field.Path, seccomp *corev1.SeccompProfile, armor *corev1.AppArmorProfile, linux *corev1.SELinuxOptions) field.ErrorList {
	var errs field.ErrorList
	refuse := func(is bool, path, what string) {
		if is {
			errs = append(errs, field.Forbidden(at.Child(path), what+" is refused by a driver with --restricted"))
		}
	}
	refuse(seccomp != nil && seccomp.Type == corev1.SeccompProfileTypeUnconfined, "seccompProfile", "a process that may make every system call")
	refuse(armor != nil && armor.Type == corev1.AppArmorProfileTypeUnconfined, "appArmorProfile", "a process without the rules of AppArmor")
	if linux != nil {
		refuse(!confinedTypes[linux.Type] || linux.User != "" || linux.Role != "", "seLinuxOptions", "a process without the rules of SELinux for containers")
	}
	return errs
}

func isTrue(b *bool) bool { return b != nil && *b }
