package topology

import (
	"fmt"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Active is the number of members that are to run now: none of a suspended
// component, whose Size is that of when it is resumed.
func (g Group) Active() int {
	if g.Suspend {
		return 0
	}
	return g.Size()
}

// Suspended are the components that the user wants suspended.
func (c Cluster) Suspended() []Kind {
	var kinds []Kind
	for _, g := range c.Groups {
		if g.Suspend {
			kinds = append(kinds, g.Kind)
		}
	}
	return kinds
}

// PDSuspended reports whether the user wants no pod of PD, so that nobody is there to
// ask.
func (c Cluster) PDSuspended() bool {
	pd, _ := c.Group(PD)
	return pd.Suspend
}

// suspends: what a component says of itself, be it no, counts before what the
// cluster says of all.
func suspends(spec v1alpha1.ComponentAccessor) bool {
	a := spec.SuspendAction()
	return a != nil && a.SuspendStatefulSet
}

// validateSuspension refuses to suspend a component and let those run that need
// it. An operator does that, and what is left fails until a person sees
// why.
func validateSuspension(c Cluster) field.ErrorList {
	var errs field.ErrorList
	for i, g := range c.Groups {
		var need []string
		for _, later := range c.Groups[i+1:] {
			if !later.Suspend && later.Size() > 0 {
				need = append(need, later.Kind.Title())
			}
		}
		if !g.Suspend || len(need) == 0 {
			continue
		}
		at := field.NewPath("spec", "suspendAction", "suspendStatefulSet")
		if own, ok := part(c.Source, g.Kind); ok && own.SuspendAction != nil {
			at = field.NewPath("spec", string(g.Kind), "suspendAction", "suspendStatefulSet")
		}
		names := strings.Join(need, " and ")
		errs = append(errs, field.Forbidden(at, fmt.Sprintf(
			"%s cannot run without %s: suspend %s as well, or leave %s running", names, g.Kind.Title(), names, g.Kind.Title())))
	}
	return errs
}
