package topology

import (
	"fmt"
	"path"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateUpdate returns errors for changes of a TidbCluster that must not be made. Such a change would lose
// data, would leave objects without a manager, or would have no effect. was is nil for a cluster that is to
// be created. Validate checks the new spec by itself. Downgrades checks what depends on how far the cluster
// has come with the old spec.
func ValidateUpdate(was *Cluster, c Cluster) field.ErrorList {
	if was == nil {
		return slices.Concat(validateCreate(c), validateListening(nil, c.Written), validateCanary(was, c))
	}
	old, tc := was.Written, c.Written
	errs := append(validateInstance(was.Instance, c.Instance), validateCanary(was, c)...)
	errs = append(errs, removed(old, tc)...)
	errs = append(errs, updateParts(was, c)...)
	errs = append(errs, updateMode(old, tc)...)
	errs = append(errs, validateListening(old, tc)...)
	at := field.NewPath("spec")
	if old.Spec.Version != "" && tc.Spec.Version == "" {
		errs = append(errs, field.Required(at.Child("version"), fmt.Sprintf("it was %s, and cannot be taken away", old.Spec.Version)))
	}
	if old.Spec.ClusterDomain != tc.Spec.ClusterDomain {
		// It is part of the names by which PD's members know each other.
		errs = append(errs, field.Forbidden(at.Child("clusterDomain"),
			fmt.Sprintf("it was %q, and the members know each other by addresses with it: make a new cluster and move the data", old.Spec.ClusterDomain)))
	}
	if was.TLS.Members != c.TLS.Members && old.Status.ClusterID != "" {
		errs = append(errs, field.Forbidden(at.Child("tlsCluster", "enabled"),
			fmt.Sprintf("it was %t, and the members of PD know each other by %s:// addresses: make a new cluster and move the data", was.TLS.Members, was.Scheme())))
	}
	for _, r := range readings {
		errs = append(errs, validatePart(old, tc, r)...)
	}
	return errs
}

// validateCreate refuses what would have no effect on a new cluster, or would keep it from ever serving. A
// cluster that exists may have found a way to live with such a field. For example, a claim of a hundred bytes
// is bound to a volume that was made by hand.
func validateCreate(c Cluster) field.ErrorList {
	var errs field.ErrorList
	tc := c.Written
	for _, k := range Kinds() {
		if spec, ok := part(tc, k); ok && spec.Image != "" {
			errs = append(errs, field.Forbidden(FieldOf(tc, k).Child("image"),
				"has no effect: write the image without its tag as baseImage, and the tag as version"))
		}
	}
	if tc.Spec.TiDB != nil && tc.Spec.TiKV == nil && tc.Spec.Cluster == nil {
		errs = append(errs, field.Required(field.NewPath("spec", "tikv"), "TiDB keeps its data in TiKV, and would wait for it"))
	}
	for _, g := range c.Groups {
		for _, v := range tiny(g) {
			errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: v.Field, BadValue: v.Size.String(), Detail: tooSmall(v)})
		}
	}
	return errs
}

func validateInstance(was, is string) field.ErrorList {
	if was == is {
		return nil
	}
	// All objects are found by this label, and StatefulSets find their pods by it.
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "labels").Key(LabelInstance), is,
		fmt.Sprintf("it was %s, and all that belongs to the cluster is found by it: set it back", was))}
}

// removed refuses to remove a component from the spec. Nothing would manage its objects any more,
// and its members would still run.
func removed(old, tc *v1alpha1.TidbCluster) field.ErrorList {
	var errs field.ErrorList
	for _, r := range readings {
		_, had := r.spec(old)
		if _, has := r.spec(tc); had && !has {
			errs = append(errs, field.Forbidden(FieldOf(old, r.kind),
				"cannot be taken out: its StatefulSet, its Services and its data would stay, and nothing would manage them any more; "+r.instead))
		}
	}
	return errs
}

func validatePart(old, tc *v1alpha1.TidbCluster, r reading) field.ErrorList {
	k := r.kind
	was, had := r.spec(old)
	is, has := r.spec(tc)
	if !had || !has {
		return nil
	}
	var errs field.ErrorList
	at := FieldOf(tc, k)
	if *was.baseImage != "" && *is.baseImage == "" {
		errs = append(errs, field.Required(at.Child("baseImage"), fmt.Sprintf("it was %s, and another image would run without it", *was.baseImage)))
	}
	if settings(old, k) > 0 && settings(tc, k) < 0 {
		errs = append(errs, field.Required(at.Child("config"), "it was set, and all of it would go; to go back to the defaults write it as "+r.noConfig))
	}
	if k.Data() != None && !k.Optional() && *was.replicas > 0 && *is.replicas == 0 && old.Status.ClusterID != "" && tc.Spec.Cluster == nil {
		errs = append(errs, field.Invalid(at.Child("replicas"), 0,
			fmt.Sprintf("%s holds the cluster's data; to remove the whole cluster use kubectl tidb delete", k.Title())))
	}
	if path.Clean("/"+was.subDir) != path.Clean("/"+is.subDir) {
		// A member that starts in an empty directory has lost its data, and PD still counts on it.
		errs = append(errs, field.Forbidden(at.Child("dataSubDir"),
			fmt.Sprintf("it was %q, and the data is there: members would start without it", was.subDir)))
	}
	if r.update != nil {
		errs = append(errs, r.update(old, tc, at)...)
	}
	return errs
}
