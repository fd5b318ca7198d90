package topology

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Warning is what a user should know about a field that is no reason to refuse.
type Warning struct {
	Field *field.Path
	Text  string // continues the field's name, e.g. "is not followed: …"
}

func (w Warning) String() string { return w.Field.String() + " " + w.Text }

// Warnings tells of fields of a valid TidbCluster that will not have the effect
// that they seem to have. old is the cluster before the change, nil where it is a new
// one.
func Warnings(old *Cluster, c Cluster) []Warning {
	tc := c.Written
	warnings := annotationWarnings(tc)
	at := field.NewPath("spec")
	for _, k := range Kinds() {
		if spec, ok := part(tc, k); ok && spec.Image != "" {
			warnings = append(warnings, Warning{at.Child(string(k), "image"), "has no effect: baseImage and version come before it"})
		}
	}
	if tc.Spec.PreferIPv6 {
		warnings = append(warnings, Warning{at.Child("preferIPv6"), "has an effect on TiKV and the Services only: PD and TiDB listen on IPv4"})
	}
	warnings = append(warnings, ofPDService(tc)...)
	if db := tc.Spec.TiDB; db != nil {
		at := at.Child("tidb")
		if old != nil && len(db.Arguments) > 0 && tc.Spec.StartScriptVersion == v1alpha1.StartScriptV2 {
			warnings = append(warnings, Warning{at.Child("arguments"),
				"may have no effect: the second generation of tidb-operator's start scripts leaves them out, and one that is in use is kept"})
		}
		if probe := db.CustomizedStartupProbe; probe != nil {
			if probe.InitialDelaySeconds != nil {
				warnings = append(warnings, Warning{at.Child("customizedStartupProbe", "initialDelaySeconds"), "has no effect"})
			}
			if probe.SuccessThreshold != nil && *probe.SuccessThreshold != 1 {
				warnings = append(warnings, Warning{at.Child("customizedStartupProbe", "successThreshold"), "has no effect: Kubernetes takes 1 only"})
			}
		}
	}
	warnings = append(warnings, asleep(old, c)...)
	return append(warnings, persisted(old, c)...)
}

// ofPDService tells of what PD's Service does not follow, neither here nor under
// tidb-operator, so that clusters which have it run today.
func ofPDService(tc *v1alpha1.TidbCluster) []Warning {
	if tc.Spec.PD == nil || tc.Spec.PD.Service == nil {
		return nil
	}
	spec, at := tc.Spec.PD.Service, field.NewPath("spec", "pd", "service")
	var warnings []Warning
	if spec.Port != nil {
		warnings = append(warnings, Warning{at.Child("port"), fmt.Sprintf("has no effect: PD's Service has port %d", PDClientPort)})
	}
	if len(spec.LoadBalancerSourceRanges) > 0 {
		warnings = append(warnings, Warning{at.Child("loadBalancerSourceRanges"), "has no effect: PD's Service takes no restrictions; use a NetworkPolicy"})
	}
	if spec.LoadBalancerClass != nil {
		warnings = append(warnings, Warning{at.Child("loadBalancerClass"), "has no effect: PD's Service has the cluster's default class of load balancers"})
	}
	return warnings
}

// asleep tells of a change of components that are suspended: it is done as soon
// as it is written, and nothing is to be seen of it.
func asleep(was *Cluster, is Cluster) []Warning {
	if was == nil {
		return nil
	}
	var changed []string
	for _, k := range was.Suspended() {
		if slices.Contains(is.Suspended(), k) && !reflect.DeepEqual(said(was.Source, k), said(is.Source, k)) {
			changed = append(changed, k.Title())
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return []Warning{{field.NewPath("spec", "suspendAction"),
		"keeps " + strings.Join(changed, ", ") + " suspended: the change takes effect when that ends"}}
}

// said is all that a TidbCluster says of one component.
func said(tc *v1alpha1.TidbCluster, k Kind) any {
	switch k {
	case PD:
		return []any{tc.Spec.PD, tc.PDImage()}
	case TiKV:
		return []any{tc.Spec.TiKV, tc.TiKVImage()}
	}
	return []any{tc.Spec.TiDB, tc.TiDBImage()}
}

// persisted tells of settings that PD has taken from its file when the cluster
// was made, and since then keeps by itself.
func persisted(old *Cluster, c Cluster) []Warning {
	if old == nil || old.Source.Status.ClusterID == "" || old.Source.Spec.PD == nil || c.Source.Spec.PD == nil {
		return nil
	}
	was, is := flat(old.Source.Spec.PD.Config.MP), flat(c.Source.Spec.PD.Config.MP)
	var warnings []Warning
	for _, key := range slices.Sorted(maps.Keys(is)) {
		section, name, _ := strings.Cut(key, ".")
		if (section != "schedule" && section != "replication") || reflect.DeepEqual(was[key], is[key]) {
			continue
		}
		warnings = append(warnings, Warning{field.NewPath("spec", "pd", "config").Key(key),
			"has no effect: PD keeps it since the cluster was made; set it with: " +
				c.PDCtl(c.PodName(PD, 0), "config set "+name+" "+argument(is[key])).Line("")})
	}
	return warnings
}

// argument writes a setting as pd-ctl takes it.
func argument(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ",")
}

// flat is a configuration with one key for each setting, e.g.
// "replication.max-replicas".
func flat(config map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range config {
		table, ok := value.(map[string]any)
		if !ok {
			out[key] = value
			continue
		}
		for name, value := range flat(table) {
			out[key+"."+name] = value
		}
	}
	return out
}
