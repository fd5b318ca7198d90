package topology

import (
	"fmt"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Active returns the number of members that are to run now. It is 0 for a suspended component, whose
// Size is the number after the component is resumed.
func (g Group) Active() int {
	if g.Suspend {
		return 0
	}
	return g.Size()
}

// Suspended returns the components that the user wants suspended.
func (c Cluster) Suspended() []Kind {
	var kinds []Kind
	for _, g := range c.Groups {
		if g.Suspend {
			kinds = append(kinds, g.Kind)
		}
	}
	return kinds
}

// PDSuspended reports whether PD is to be suspended, so that it cannot be asked.
func (c Cluster) PDSuspended() bool {
	pd, _ := c.Group(PD)
	return pd.Suspend
}

// suspends reports whether a component is to be suspended. Its own field, also if it is false, counts
// before the suspension of the cluster.
func suspends(spec v1alpha1.ComponentAccessor) bool {
	a := spec.SuspendAction()
	return a != nil && a.SuspendStatefulSet
}

// validateSuspension refuses to suspend a component while others that need it are to run. An
// operator allows that, and the other components then fail.
func validateSuspension(c Cluster) field.ErrorList {
	var errs field.ErrorList
	for i, g := range c.Groups {
		why := ""
		switch row := readingOf(g.Kind); {
		case !g.Suspend:
		case !g.Kind.Optional():
			why = neededBy(g.Kind, c.Groups[i+1:])
		case row.runsFor != nil:
			why = row.runsFor(c)
		}
		if why == "" {
			continue
		}
		at := field.NewPath("spec", "suspendAction", "suspendStatefulSet")
		if own, ok := part(c.Source, g.Kind); ok && own.SuspendAction != nil {
			at = FieldOf(c.Source, g.Kind).Child("suspendAction", "suspendStatefulSet")
		}
		errs = append(errs, field.Forbidden(at, why))
	}
	return errs
}

// neededBy returns why a component cannot be suspended while later ones are to run, "" where none is.
func neededBy(k Kind, later []Group) string {
	var need []string
	for _, g := range later {
		if !g.Suspend && g.Size() > 0 {
			need = append(need, g.Kind.Title())
		}
	}
	if len(need) == 0 {
		return ""
	}
	names := strings.Join(need, " and ")
	return fmt.Sprintf("%s cannot run without %s: suspend %s as well, or leave %s running", names, k.Title(), names, k.Title())
}
