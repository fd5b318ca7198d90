package render

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TemplateVersion is the version of what is rendered into pod templates, start scripts and
// configurations. Raise it by one with each change that renders another pod template, start script
// or configuration for an unchanged spec. It prevents that an older release, for example on a
// laptop, rolls the pods back.
const TemplateVersion = 1

// keeps returns the pod template that a newer version of this tool has written for the same spec.
// That template must not be replaced. It is nil where there is none. keeps uses the record of that
// version. A record of another template than the template that was applied last has no effect.
// Either tidb-operator or another tool has written the template since, or the process that made the
// record was killed.
//
// The spec may have changed, or seem to have, and have fields that this version does not know. Then
// the template is kept as well, because this version would lose these fields. A gate says so.
func keeps(c topology.Cluster, g topology.Group, live *appsv1.StatefulSet, r state.Template) (*corev1.PodTemplateSpec, []desired.Notice, []desired.Lack) {
	if live == nil || !r.WrittenByNewer(TemplateVersion, func() string { return appliedPods(live) }) {
		return nil, nil, nil
	}
	applied, ok := lastApplied[appsv1.StatefulSetSpec](live.ObjectMeta)
	if !ok {
		return nil, nil, nil
	}
	f := desired.Notice{
		Reason: event.NewerTemplate, Component: g.Kind,
		Text:   fmt.Sprintf("pod template of %s was written by a newer version of this plugin; it is kept", g.Kind.Title()),
		Remedy: remedy.Remedy{remedy.Run("update kubectl-tidb; see the record", c.Kubectl("get", "configmap", c.LedgerMap(), "-o", "yaml"))},
	}
	if r.Spec != g.Asked && len(g.Unknown) > 0 {
		return &applied.Template, nil, []desired.Lack{{
			Need: desired.KnownSpec, Want: "a version of this plugin that knows " + strings.Join(g.Unknown, ", "),
			Observed: fmt.Sprintf("this version does not know %s, and would write the pod template without it", strings.Join(g.Unknown, ", ")),
			Remedy:   remedy.Remedy{remedy.Say("update kubectl-tidb")},
		}}
	}
	if r.Spec != g.Asked {
		f.Text = fmt.Sprintf("pod template of %s was written by a newer version of this plugin; the spec has changed since, "+
			"so that this older version writes it now, without what the newer one adds", g.Kind.Title())
		return nil, []desired.Notice{f}, nil
	}
	return &applied.Template, []desired.Notice{f}, nil
}

// recordOf returns the record for a StatefulSet that this version renders.
func recordOf(g topology.Group, set *appsv1.StatefulSet) state.Template {
	if g.Asked == "" {
		return state.Template{} // a spec that cannot be written as JSON
	}
	return state.Template{Version: TemplateVersion, Spec: g.Asked, Pods: appliedPods(set)}
}

// outOfDate reports whether the record of a StatefulSet that needs no other change is of another
// spec or version. It is then written again, so that an older version finds what a newer one did
// for the current spec. Without a record it returns false.
func outOfDate(r, wanted state.Template) bool {
	return r.Pods == wanted.Pods && r != wanted
}
