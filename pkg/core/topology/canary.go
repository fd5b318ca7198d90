package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// AnnotationCanary is on a TidbCluster whose rollouts stop after some members of a component, until
// a person promotes them. Its value is a component and a number of members, such as tikv=1.
const AnnotationCanary = "kubectl-tidb/canary"

// AnnotationInBatches is on a StatefulSet that has the update strategy OnDelete because runs of ours restart its pods.
// The record of what was applied keeps the strategy RollingUpdate.
const AnnotationInBatches = "kubectl-tidb/restarts-in-batches"

// Canary is how many members of a component are to be restarted before a rollout stops. With 0 the rollout stops before
// the component.
type Canary struct {
	Kind    Kind
	Members int
}

// String returns the canary as the annotation has it.
func (c Canary) String() string { return fmt.Sprintf("%s=%d", c.Kind, c.Members) }

// ParseCanary reads a canary as the annotation has it.
func ParseCanary(text string) (Canary, error) {
	name, number, _ := strings.Cut(text, "=")
	kind, known := ParseKind(name)
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return Canary{}, fmt.Errorf("%q is no component and number of members, such as tikv=1", text)
	case !known:
		return Canary{}, fmt.Errorf("there is no component %q; a canary is a component and a number of members, such as tikv=1", name)
	case n < 0:
		return Canary{}, fmt.Errorf("%q: a canary has 0 members or more, and with 0 the rollout stops before the component", text)
	}
	return Canary{kind, n}, nil
}

// CanaryAsked returns the canary that a TidbCluster asks for in its annotation, and whether it asks.
func CanaryAsked(tc *v1alpha1.TidbCluster) (string, bool) {
	text, asked := tc.Annotations[AnnotationCanary]
	return text, asked
}

// SetCanary asks for a canary, as the annotation has it; with "" for none.
func SetCanary(tc *v1alpha1.TidbCluster, text string) {
	if text == "" {
		delete(tc.Annotations, AnnotationCanary)
		return
	}
	metav1.SetMetaDataAnnotation(&tc.ObjectMeta, AnnotationCanary, text)
}

// setCanary sets what the annotation means for the components. An annotation that cannot be read holds all
// components. Nobody knows then which members are to be restarted, and a restart cannot be taken back.
func (c *Cluster) setCanary() {
	text, asked := CanaryAsked(c.Written)
	if !asked {
		return
	}
	c.Canary = text
	is, err := ParseCanary(text)
	if _, has := c.Group(is.Kind); err == nil && !has {
		err = fmt.Errorf("the cluster has no %s", is.Kind.Title())
	}
	if err != nil {
		c.CanaryProblem = err.Error()
	}
	for i := range c.Groups {
		switch g := &c.Groups[i]; {
		case err != nil:
			g.Held = true
		case g.Kind == is.Kind:
			g.Held, g.Canary = true, is.Members
		}
	}
}

// validateCanary refuses a canary that would hold nothing, or everything.
func validateCanary(was *Cluster, c Cluster) field.ErrorList {
	text, asked := CanaryAsked(c.Written)
	if was != nil {
		if before, had := CanaryAsked(was.Written); had == asked && before == text {
			return nil // replicas may have changed since: that is no reason to refuse another change
		}
	}
	if !asked {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(AnnotationCanary)
	if c.CanaryProblem != "" {
		return field.ErrorList{field.Invalid(at, text, c.CanaryProblem)}
	}
	is, _ := ParseCanary(text) // which has no problem
	g, _ := c.Group(is.Kind)
	switch {
	case is.Members == 0: // all members wait, also where none has to be restarted
	case g.Suspend:
		return field.ErrorList{field.Forbidden(at, g.Kind.Title()+" is suspended, so it has no members to restart: resume it before")}
	case g.Manual:
		return field.ErrorList{field.Forbidden(at,
			fmt.Sprintf("statefulSetUpdateStrategy of %s is OnDelete, so you restart its members yourself: delete as many pods as you want to watch", g.Kind.Title()))}
	case g.Size() < 2:
		return field.ErrorList{field.Invalid(at, text, g.Kind.Title()+" has one member, so there is none that the rollout could wait with")}
	case is.Members >= g.Size():
		return field.ErrorList{field.Invalid(at, text,
			fmt.Sprintf("%s has %d members, and at least one has to wait: ask for %d or fewer", g.Kind.Title(), g.Size(), g.Size()-1))}
	}
	return nil
}

// canaryWarnings says that a canary stays, where the spec changes and the canary does not. The new rollout
// stops at the canary as well.
func canaryWarnings(old *Cluster, c Cluster) []Warning {
	if old == nil || specDigest(old.Written) == specDigest(c.Written) {
		return nil
	}
	before, _ := CanaryAsked(old.Written)
	text, asked := CanaryAsked(c.Written)
	if !asked || before != text {
		return nil
	}
	return []Warning{warn(field.NewPath("metadata", "annotations").Key(AnnotationCanary),
		"is "+text+" and stays: the rollout of this change stops there as well, until it is promoted", remedy.Run("promote it", c.Plugin("promote")))}
}
