package render

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// setVersion returns the API version of the StatefulSets of a cluster.
func setVersion(c topology.Cluster) string {
	if c.Advanced {
		return topology.AdvancedGroup + "/v1"
	}
	return appsv1.SchemeGroupVersion.String()
}

func setSlots(set *appsv1.StatefulSet, slots []int) {
	if text := topology.SlotsText(slots); text != "" {
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, topology.AnnotationSlots, text)
		return
	}
	delete(set.Annotations, topology.AnnotationSlots)
}

// unusableSlots refuses slots where the StatefulSets of a cluster cannot have slots, also where they do not exist yet. Where
// they can, initial members of PD stay out of slots.
func unusableSlots(c topology.Cluster, g topology.Group, founding *corev1.ConfigMap, live *appsv1.StatefulSet) (field.ErrorList, remedy.Remedy) {
	switch {
	case c.Source == nil:
		return nil, nil
	case c.Advanced:
		return initialMembersGone(c, g, founding, live)
	}
	k := g.Kind
	slots := topology.SlotsAsked(c.Source, k)
	if len(slots) == 0 {
		return nil, nil
	}
	key := topology.SlotsAnnotation(k)
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations").Key(key),
			"a StatefulSet of Kubernetes always removes its last pod: with slots, the data of one member and the pod of another would go")},
		withoutSlots(c, g, key, slots)
}

// initialMembersGone refuses slots that remove initial members of PD before PD has ever served. Each initial member reads
// the list of all initial members once, when its data is made. Without a majority of the listed members, PD never serves.
func initialMembersGone(c topology.Cluster, g topology.Group, founding *corev1.ConfigMap, live *appsv1.StatefulSet) (field.ErrorList, remedy.Remedy) {
	first := firstMembers(founding)
	if first == 0 {
		return nil, nil
	}
	var gone []string
	wanted := g.Ordinals().Resized(max(g.Replicas, first))
	for entry := range strings.SplitSeq(founding.Data[keyInitial], ",") {
		name, _, _ := strings.Cut(entry, "=")
		if i, is := c.Ordinal(g.Kind, name); is && !wanted.Has(i) {
			gone = append(gone, c.PodName(g.Kind, i))
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	key := topology.SlotsAnnotation(g.Kind)
	change := key + "-"
	if live != nil && live.Annotations[topology.AnnotationSlots] != "" {
		change = key + "=" + live.Annotations[topology.AnnotationSlots]
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations").Key(key),
			fmt.Sprintf("PD has never served, and starts with %s: change the slots when PD serves", strings.Join(gone, ", ")))},
		remedy.Remedy{remedy.Run("take the change back", c.Kubectl("annotate", "tidbcluster", c.Name, "--overwrite", change))}
}

// withoutSlots returns what a user can do in place of slots. A cluster that does not exist yet has only its manifest.
func withoutSlots(c topology.Cluster, g topology.Group, key string, slots []int) remedy.Remedy {
	if c.UID == "" {
		return remedy.Remedy{remedy.Say("remove the annotation from the manifest")}
	}
	help := remedy.Remedy{remedy.Run("remove the annotation", c.Kubectl("annotate", "tidbcluster", c.Name, key+"-"))}
	i := slices.IndexFunc(slots, g.InSpec)
	if i < 0 {
		return help
	}
	member := c.PodName(g.Kind, slots[i])
	if g.Kind.Data() == topology.None {
		return append(help, remedy.Run("restart a member instead", c.Plugin("restart", member)))
	}
	return append(help, remedy.Run("give a member a new volume instead", c.Plugin("replace", member)))
}
