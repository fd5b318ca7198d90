// Package ownpod says how this plugin runs in a pod: as a daemon, or as a Job.
package ownpod

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

const (
	// Repository is where the images of releases are.
	Repository = "ghcr.io/kubectl-tidb/kubectl-tidb"
	// user is the user of the image. It is set here too, so that an image that runs as root is
	// refused.
	user = 65532
)

// reference matches the name of an image, as a container runtime takes it. The parts of a name are a registry, a
// path, a tag or a digest.
var reference = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*(:[0-9]{1,5})?/)?` +
	`[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// CheckImage refuses what is no name of an image. The flag is named in the error.
func CheckImage(flag, image string) error {
	if image != "" && !reference.MatchString(image) {
		return exit.Usagef("%s %q is no name of an image, such as registry.example/kubectl-tidb:v1.2.3", flag, image)
	}
	return nil
}

// released matches versions that have an image: a build between releases has none.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// Image returns the image of this plugin: the one that a flag names, or that of its release.
func Image(flag, image, version string) (string, error) {
	switch {
	case image != "":
		return image, nil
	case !released.MatchString(version):
		return "", exit.Usagef("this plugin is %s, a build for which no image was released: name one with %s", version, flag)
	}
	return Repository + ":" + version, nil
}

// Spec returns the spec of a pod that runs the plugin with the rights of a ServiceAccount.
func Spec(account string) corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName: account, EnableServiceLinks: new(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(user)), RunAsGroup: new(int64(user)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
}

// Container returns a container that runs the plugin with arguments.
func Container(name, image string, args ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, Args: args,
		// These name the process for another process that wants to drive a cluster of this one.
		Env: []corev1.EnvVar{
			{Name: "USER", Value: "kubectl-tidb"}, {Name: "HOME", Value: "/"},
			{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		},
		// There is no CPU limit: a process that is throttled while it holds a lease delays the
		// clusters.
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}
