package topology

import (
	"fmt"
	"path"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateUpdate says what must not become of a TidbCluster: what would lose
// data, what would leave objects behind that nobody looks after, and what the
// cluster would not follow. That there was none before is a cluster that is about to be made.
// Validate is for what is wrong with the new one by itself, and Downgrades for what
// depends on how far the cluster has followed the old one.
func ValidateUpdate(was *Cluster, c Cluster) field.ErrorList {
	if was == nil {
		return validateCreate(c.Written)
	}
	old, tc := was.Written, c.Written
	errs := validateInstance(was.Instance, c.Instance)
	errs = append(errs, removed(old, tc)...)
	at := field.NewPath("spec")
	if old.Spec.Version != "" && tc.Spec.Version == "" {
		errs = append(errs, field.Required(at.Child("version"), fmt.Sprintf("it was %s, and cannot be taken away", old.Spec.Version)))
	}
	if old.Spec.ClusterDomain != tc.Spec.ClusterDomain {
		// PD's members are named after it, and know each other by these names.
		errs = append(errs, field.Forbidden(at.Child("clusterDomain"),
			fmt.Sprintf("it was %q, and the members know each other by addresses with it: make a new cluster and move the data", old.Spec.ClusterDomain)))
	}
	for _, k := range Kinds() {
		errs = append(errs, validatePart(old, tc, k)...)
	}
	errs = append(errs, movedData(old, tc)...)
	return append(errs, validateBootstrapSQL(old.Spec.TiDB, tc.Spec.TiDB, at.Child("tidb", "bootstrapSQLConfigMapName"))...)
}

// validateCreate refuses what would have no effect on a new cluster.
func validateCreate(tc *v1alpha1.TidbCluster) field.ErrorList {
	var errs field.ErrorList
	for _, k := range Kinds() {
		if spec, ok := part(tc, k); ok && spec.Image != "" {
			errs = append(errs, field.Forbidden(field.NewPath("spec", string(k), "image"),
				"has no effect: write the image without its tag as baseImage, and the tag as version"))
		}
	}
	return errs
}

func validateInstance(was, is string) field.ErrorList {
	if was == is {
		return nil
	}
	// All objects are found by it, the StatefulSets their pods too.
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "labels").Key(LabelInstance), is,
		fmt.Sprintf("it was %s, and all that belongs to the cluster is found by it: set it back", was))}
}

// removed refuses to take a component out of the spec. Nobody would look after
// its objects any more, and its members would run on unseen.
func removed(old, tc *v1alpha1.TidbCluster) field.ErrorList {
	var errs field.ErrorList
	was, is := old.Spec, tc.Spec
	for _, c := range []struct {
		gone    bool
		name    string
		instead string
	}{
		{was.PD != nil && is.PD == nil, "pd", "to remove the whole cluster use kubectl tidb delete"},
		{was.TiKV != nil && is.TiKV == nil, "tikv", "to remove the whole cluster use kubectl tidb delete"},
		{was.TiDB != nil && is.TiDB == nil, "tidb", "to have no TiDB servers set its replicas to 0"},
		{was.TiFlash != nil && is.TiFlash == nil, "tiflash", operators},
		{was.TiCDC != nil && is.TiCDC == nil, "ticdc", operators},
		{was.TiProxy != nil && is.TiProxy == nil, "tiproxy", operators},
		{was.Pump != nil && is.Pump == nil, "pump", operators},
		{len(was.PDMS) > 0 && len(is.PDMS) == 0, "pdms", operators},
	} {
		if c.gone {
			errs = append(errs, field.Forbidden(field.NewPath("spec", c.name),
				"cannot be taken out: its StatefulSet, its Services and its data would stay, and nobody would look after them; "+c.instead))
		}
	}
	return errs
}

const operators = "scale it to 0 with tidb-operator, then delete its StatefulSet"

func validatePart(old, tc *v1alpha1.TidbCluster, k Kind) field.ErrorList {
	was, had := part(old, k)
	is, has := part(tc, k)
	if !had || !has {
		return nil
	}
	var errs field.ErrorList
	at := field.NewPath("spec", string(k))
	if was.baseImage != "" && is.baseImage == "" {
		errs = append(errs, field.Required(at.Child("baseImage"), fmt.Sprintf("it was %s, and another image would run without it", was.baseImage)))
	}
	if settings(old, k) > 0 && settings(tc, k) < 0 {
		errs = append(errs, field.Required(at.Child("config"), `it was set, and all of it would go; to go back to the defaults write it as ""`))
	}
	if k != TiDB && *was.replicas > 0 && *is.replicas == 0 && old.Status.ClusterID != "" {
		errs = append(errs, field.Invalid(at.Child("replicas"), 0,
			fmt.Sprintf("%s holds the cluster's data; to remove the whole cluster use kubectl tidb delete", k.Title())))
	}
	return errs
}

// settings is how many keys a component's configuration has, -1 where there is
// none at all.
func settings(tc *v1alpha1.TidbCluster, k Kind) int {
	switch pd, kv, db := tc.Spec.PD, tc.Spec.TiKV, tc.Spec.TiDB; {
	case k == PD && pd.Config != nil && pd.Config.GenericConfig != nil:
		return len(pd.Config.MP)
	case k == TiKV && kv.Config != nil && kv.Config.GenericConfig != nil:
		return len(kv.Config.MP)
	case k == TiDB && db.Config != nil && db.Config.GenericConfig != nil:
		return len(db.Config.MP)
	}
	return -1
}

// movedData refuses another directory for data that is there. A member that
// starts in an empty one has lost its data, and PD still counts on it.
func movedData(old, tc *v1alpha1.TidbCluster) field.ErrorList {
	var errs field.ErrorList
	check := func(was, is string, at *field.Path) {
		if path.Clean("/"+was) != path.Clean("/"+is) {
			errs = append(errs, field.Forbidden(at, fmt.Sprintf("it was %q, and the data is there: members would start without it", was)))
		}
	}
	if old.Spec.PD != nil && tc.Spec.PD != nil {
		check(old.Spec.PD.DataSubDir, tc.Spec.PD.DataSubDir, field.NewPath("spec", "pd", "dataSubDir"))
	}
	if old.Spec.TiKV != nil && tc.Spec.TiKV != nil {
		check(old.Spec.TiKV.DataSubDir, tc.Spec.TiKV.DataSubDir, field.NewPath("spec", "tikv", "dataSubDir"))
	}
	return errs
}

// validateBootstrapSQL: TiDB runs it when the cluster is born, never again.
func validateBootstrapSQL(was, is *v1alpha1.TiDBSpec, at *field.Path) field.ErrorList {
	if was == nil || is == nil || is.BootstrapSQLConfigMapName == nil {
		return nil
	}
	name := *is.BootstrapSQLConfigMapName
	if was.BootstrapSQLConfigMapName != nil && *was.BootstrapSQLConfigMapName == name {
		return nil
	}
	return field.ErrorList{field.Invalid(at, name,
		"can only be given when a cluster is made, and taken away later: TiDB would not run it; run the statements with a client")}
}
