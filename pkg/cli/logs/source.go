package logs

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// source is a container whose log is printed.
type source struct {
	pod, container string
}

func (s source) String() string { return s.pod + "/" + s.container }

// sources returns the containers of members. That is the component's own container without -c, or the container with
// that name where a member has it.
func (o options) sources(members []member) ([]source, error) {
	var all []source
	var there []string
	for _, m := range members {
		has := names(m.pod)
		there = append(there, has...)
		switch {
		case o.AllContainers:
			for _, name := range has {
				all = append(all, source{m.pod.Name, name})
			}
		case o.Container == "":
			all = append(all, source{m.pod.Name, ownContainer(m, has)})
		case slices.Contains(has, o.Container):
			all = append(all, source{m.pod.Name, o.Container})
		}
	}
	if len(all) == 0 {
		slices.Sort(there)
		return nil, exit.Usagef("no chosen member has a container %q; there are %s", o.Container, strings.Join(slices.Compact(there), ", "))
	}
	if o.Follow && len(all) > o.MaxFollowConcurrency {
		return nil, exit.Usagef("%d containers are to be followed, and at most %d at the same time: choose fewer, or give --max-log-requests", len(all), o.MaxFollowConcurrency)
	}
	return all, nil
}

// ownContainer returns the container of the component itself, which has its name. In pods that are not ours, such as
// of an operator of a later version, the container may have another name, and comes first.
func ownContainer(m member, has []string) string {
	if slices.Contains(has, string(m.kind)) {
		return string(m.kind)
	}
	return m.pod.Spec.Containers[0].Name
}

// names returns the containers of a pod in the order in which they start.
func names(p corev1.Pod) []string {
	var all []string
	for _, c := range p.Spec.InitContainers {
		all = append(all, c.Name)
	}
	for _, c := range p.Spec.Containers {
		all = append(all, c.Name)
	}
	for _, c := range p.Spec.EphemeralContainers {
		all = append(all, c.Name)
	}
	return all
}
