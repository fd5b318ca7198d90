package intent

import (
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// aboutCanary is the field that a change of the canary is about. A canary that another person has promoted, or asked
// for, since the TidbCluster was read is not replaced.
const aboutCanary = "metadata.annotations." + topology.AnnotationCanary

// NoCanaryError says that a TidbCluster asks for no canary. Nothing was changed.
type NoCanaryError struct {
	Namespace, Name string
}

func (e *NoCanaryError) Error() string {
	return fmt.Sprintf("cluster %s/%s has no canary to promote; nothing was changed", e.Namespace, e.Name)
}

// Promote ends the canary of a TidbCluster. It is refused if the spec was changed meanwhile: a person
// promotes what has been watched. It fails with a *NoCanaryError where there is none.
func (c *Client) Promote(tc *v1alpha1.TidbCluster) (Change, error) {
	if _, asked := topology.CanaryAsked(tc); !asked {
		return Change{}, &NoCanaryError{Namespace: tc.Namespace, Name: tc.Name}
	}
	want := tc.DeepCopy()
	topology.SetCanary(want, "")
	return c.write("promote", tc, want, []string{wholeSpec}), nil
}

// canaryOf returns the canary that a TidbCluster asks for, "" for none.
func canaryOf(tc *v1alpha1.TidbCluster) string {
	text, _ := topology.CanaryAsked(tc)
	return text
}

// canaryPatch returns the annotation that leads from the canary of one TidbCluster to the canary of another.
func canaryPatch(from, to *v1alpha1.TidbCluster) map[string]any {
	was, had := topology.CanaryAsked(from)
	is, has := topology.CanaryAsked(to)
	switch {
	case had == has && was == is:
		return nil
	case has:
		return map[string]any{topology.AnnotationCanary: is}
	}
	return map[string]any{topology.AnnotationCanary: nil}
}
