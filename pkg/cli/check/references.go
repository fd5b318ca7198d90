package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// findings are objects that a spec names and Kubernetes does not have, as far as they may be read.
type findings struct {
	missing []topology.Reference
	// classes are the storage classes that there are, nil when they may not be
	// listed.
	classes []string
	// volumes are the storage classes of all volumes. Volumes that were created by hand have the
	// name of a class that need not exist. known is true if volumes could be read.
	volumes []string
	known   bool
}

// readers bounds how many objects are read at the same time.
const readers = 8

// look checks which of the objects that a cluster names exist.
func look(ctx context.Context, kube kubernetes.Interface, c topology.Cluster) (findings, error) {
	refs := topology.References(c)
	gone := make([]bool, len(refs))
	all, reading := errgroup.WithContext(ctx)
	all.SetLimit(readers)
	for i, r := range refs {
		all.Go(func() error {
			err := read(reading, kube, c.Namespace, r)
			gone[i] = apierrors.IsNotFound(err)
			if err == nil || gone[i] || denial.Missing(err) {
				return nil
			}
			return fmt.Errorf("read %s %s, which %s names: %w", r.Kind, r.Name, r.Field, err)
		})
	}
	if err := all.Wait(); err != nil {
		return findings{}, err
	}
	var f findings
	classless := false
	for i, r := range refs {
		if gone[i] {
			f.missing = append(f.missing, r)
			classless = classless || r.Kind == topology.StorageClass
		}
	}
	if classless {
		f.storage(ctx, kube)
	}
	return f, nil
}

func read(ctx context.Context, kube kubernetes.Interface, namespace string, r topology.Reference) (err error) {
	switch r.Kind {
	case topology.StorageClass:
		_, err = kube.StorageV1().StorageClasses().Get(ctx, r.Name, metav1.GetOptions{})
	case topology.VolumeAttributesClass:
		_, err = kube.StorageV1().VolumeAttributesClasses().Get(ctx, r.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) { // Kubernetes has this version of the API since 1.34
			_, err = kube.StorageV1beta1().VolumeAttributesClasses().Get(ctx, r.Name, metav1.GetOptions{})
		}
		if denial.Missing(err) && !mayHaveAttributes(kube) { // of what it does not have, the API server may say that nobody may read it
			err = apierrors.NewNotFound(storagev1.Resource("volumeattributesclasses"), r.Name)
		}
	case topology.ConfigMap:
		_, err = kube.CoreV1().ConfigMaps(namespace).Get(ctx, r.Name, metav1.GetOptions{})
	case topology.Secret:
		_, err = kube.CoreV1().Secrets(namespace).Get(ctx, r.Name, metav1.GetOptions{})
	}
	return err
}

// mayHaveAttributes reports whether the API server has VolumeAttributesClasses, which everybody may ask. It is true where
// that is not known.
func mayHaveAttributes(kube kubernetes.Interface) bool {
	for _, version := range []schema.GroupVersion{storagev1.SchemeGroupVersion, storagev1beta1.SchemeGroupVersion} {
		list, err := kube.Discovery().ServerResourcesForGroupVersion(version.String())
		switch {
		case apierrors.IsNotFound(err):
		case err != nil, slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "volumeattributesclasses" }):
			return true
		}
	}
	return false
}

// storage reads which classes there are. Most users may not read volumes, so no
// error of it is one of the run's.
func (f *findings) storage(ctx context.Context, kube kubernetes.Interface) {
	if list, err := kube.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{}); err == nil {
		f.classes = []string{}
		for i := range list.Items {
			f.classes = append(f.classes, list.Items[i].Name)
		}
		slices.Sort(f.classes)
	}
	if list, err := kube.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{}); err == nil {
		f.known = true
		for i := range list.Items {
			f.volumes = append(f.volumes, list.Items[i].Spec.StorageClassName)
		}
	}
}

// judge returns the findings for which a request must be refused, and the findings that the user should
// only know. A claim of a class that does not exist waits for ever; a ConfigMap or a Secret may
// come later.
func (f findings) judge(p proposal, snap state.Snapshot) (field.ErrorList, []Warning) {
	var problems field.ErrorList
	var warnings []Warning
	for _, ref := range f.missing {
		switch {
		case ref.Kind == topology.VolumeAttributesClass && !names(p.existing, ref):
			problems = append(problems, &field.Error{
				Type: field.ErrorTypeNotFound, Field: ref.Field.String(), BadValue: ref.Name,
				Detail: "the volumes would never get this class; before Kubernetes 1.34 a cluster admin must enable VolumeAttributesClasses",
			})
		case ref.Kind == topology.VolumeAttributesClass:
			warnings = append(warnings, warn("%s: there is no VolumeAttributesClass %s; volumes that have yet to get this class wait", ref.Field, ref.Name))
		case ref.Kind != topology.StorageClass:
			warnings = append(warnings, warn("%s: there is no %s %s in namespace %s; pods that need it wait until it is made",
				ref.Field, ref.Kind, ref.Name, p.wanted.Namespace))
		case slices.Contains(f.volumes, ref.Name):
		case f.known && (claims(p.wanted, snap, ref.Component) || !names(p.existing, ref)):
			problems = append(problems, &field.Error{
				Type: field.ErrorTypeNotFound, Field: ref.Field.String(), BadValue: ref.Name,
				Detail: "its claims would wait for ever: " + f.storageClasses(),
			})
		default:
			warnings = append(warnings, warn("%s: there is no StorageClass %s; new claims would wait: %s", ref.Field, ref.Name, f.storageClasses()))
		}
	}
	return problems, warnings
}

func (f findings) storageClasses() string {
	if f.classes == nil {
		return "which ones there are is not known, for storageclasses may not be listed"
	}
	if len(f.classes) == 0 {
		return "there is no StorageClass at all"
	}
	return "the storage classes are " + strings.Join(f.classes, ", ")
}

// claims reports whether claims are to be created for a component. If it has all of its claims, a
// class that does not exist any more is no reason to refuse anything.
func claims(want topology.Cluster, snap state.Snapshot, k topology.Kind) bool {
	g, ok := want.Group(k)
	set := snap.Groups[k].Set
	return ok && (!set.Exists || set.Replicas < g.Size())
}

// names reports whether a cluster has the same reference already.
func names(c *topology.Cluster, ref topology.Reference) bool {
	if c == nil {
		return false
	}
	return slices.ContainsFunc(topology.References(*c), func(r topology.Reference) bool {
		return r.Name == ref.Name && r.Field.String() == ref.Field.String()
	})
}
