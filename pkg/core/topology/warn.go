package topology

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Warning is what a user should know about a field that is no reason to refuse.
type Warning struct {
	Field *field.Path
	Text  string // continues the field's name, e.g. "is not followed: …"
	// Remedy is how to get the effect in another way, nil where there is none.
	Remedy remedy.Remedy
}

func warn(at *field.Path, text string, actions ...remedy.Action) Warning {
	return Warning{Field: at, Text: text, Remedy: actions}
}

func (w Warning) String() string { return w.Field.String() + " " + w.Text }

// Warnings returns fields of a valid TidbCluster that will not have the effect that they seem to
// have. old is the cluster before the change, nil where it is a new one.
func Warnings(old *Cluster, c Cluster) []Warning {
	tc := c.Written
	warnings := slices.Concat(annotationWarnings(tc), requestWarnings[MemberRestart](c, AnnotationRestart, "restarted"), requestWarnings[MemberReplacement](c, AnnotationReplace, "replaced"),
		canaryWarnings(old, c), listeningWarnings(old, c))
	at := field.NewPath("spec")
	for _, k := range Kinds() {
		if spec, ok := part(tc, k); ok && spec.Image != "" {
			warnings = append(warnings, warn(FieldOf(tc, k).Child("image"), "has no effect: baseImage and version come before it"))
		}
	}
	if tc.Spec.PreferIPv6 {
		warnings = append(warnings, warn(at.Child("preferIPv6"), "has an effect on TiKV, TiFlash and the Services only: PD and TiDB listen on IPv4"))
	}
	warnings = append(warnings, warningsOfStart(old, c)...)
	if c.discoveryTLS() && (old == nil || !old.discoveryTLS()) {
		warnings = append(warnings, warn(at.Child("tlsCluster", "enableDiscoveryMTLS"), discoveryStays))
	}
	warnings = append(warnings, warningsOfImages(old, c)...)
	warnings = append(warnings, warningsOfSchedulers(tc)...)
	for _, g := range c.Groups {
		for _, v := range tiny(g) {
			warnings = append(warnings, Warning{Field: field.NewPath(v.Field), Text: tooSmall(v)})
		}
	}
	for _, r := range readings {
		if _, ok := r.spec(tc); ok && r.warnings != nil {
			warnings = append(warnings, r.warnings(old, c, FieldOf(tc, r.kind))...)
		}
	}
	return append(warnings, asleep(old, c)...)
}

// asleep returns warnings about changes of suspended components: such a change has no visible
// effect before they are resumed.
func asleep(was *Cluster, is Cluster) []Warning {
	if was == nil {
		return nil
	}
	var changed []string
	for _, k := range was.Suspended() {
		if slices.Contains(is.Suspended(), k) && !sameSpec(was, is, k) {
			changed = append(changed, k.Title())
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return []Warning{warn(field.NewPath("spec", "suspendAction"),
		"keeps "+strings.Join(changed, ", ")+" suspended: the change takes effect when that ends")}
}

// sameSpec reports whether two TidbClusters have the same spec of a component.
func sameSpec(was *Cluster, is Cluster, k Kind) bool {
	a, _ := part(was.Source, k)
	b, _ := part(is.Source, k)
	return a.image == b.image && reflect.DeepEqual(a.whole, b.whole)
}
