package check

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// readable refuses to start a version on data of a higher version. Such data is left of a cluster of that name that
// was deleted or suspended. It returns warnings about data of which nobody knows which versions have run on that
// data.
func (r Request) readable(c topology.Cluster, kept []facts.KeptData) (warnings []Warning, err error) {
	var newer []string
	needed := ""
	for _, d := range kept {
		switch {
		case d.Newer():
			newer = append(newer, fmt.Sprintf("%s has run on %s of %s", d.Ran, d.Some(), d.Component.Title()))
			if down, err := topology.IsDowngrade(needed, d.Ran); err != nil || !down {
				needed = d.Ran
			}
		case !d.Known():
			warnings = append(warnings, unrecorded(d))
		}
	}
	if len(newer) == 0 {
		return warnings, nil
	}
	return nil, remedy.For(
		exit.Refusef("%s would start a lower version on data that it may not be able to read, so nothing was changed: %s",
			target.Title(c), strings.Join(newer, ", ")),
		r.withVersion(c, needed),
		remedy.Run("delete the data, and then run the same command again, which starts with empty volumes", c.Plugin("delete", "--delete-pvcs")))
}

// withVersion returns the command for the same request with another version.
func (r Request) withVersion(c topology.Cluster, version string) remedy.Action {
	if r.With != nil {
		return r.With(version)
	}
	return remedy.Run("go on with the data", c.Plugin("upgrade", version))
}

// unrecorded says that versions cannot be compared.
func unrecorded(d facts.KeptData) Warning {
	known := "it is not known which version has run on it"
	if d.Ran != "" {
		known = d.Ran + " has run on it"
	}
	if _, err := topology.ParseVersion(d.Ran); d.Ran != "" && err != nil {
		known += ", which is no release"
	}
	return warn("%s: %s is there already with its data, and %s; if that was higher than %s, the data may not be readable",
		d.Component.Title(), d.Some(), known, d.Wanted)
}

// retreat is a component that is to go back to an older release. It has the release that the component's StatefulSet
// had before a rollout that is not over.
type retreat struct {
	topology.Downgrade
	before string // "" when it is not recorded
}

// retreats returns the components that a request takes to an older release.
func retreats(ctx context.Context, kube kubernetes.Interface, p proposal, snap state.Snapshot) ([]retreat, error) {
	var all []retreat
	for _, d := range topology.Downgrades(p.existing, p.wanted) {
		name := snap.Groups[d.Kind].Set.CurrentRevision
		before, err := revision(ctx, kube, p.wanted.Namespace, name, d.Kind)
		if err != nil {
			return nil, err
		}
		all = append(all, retreat{d, before})
	}
	return all, nil
}

// revision returns the version of the pods of a StatefulSet's revision. If all pods have a newer
// revision that cannot start, only this records the former version.
func revision(ctx context.Context, kube kubernetes.Interface, namespace, name string, k topology.Kind) (string, error) {
	if name == "" {
		return "", nil
	}
	r, err := kube.AppsV1().ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), denial.Missing(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read which version %s had before: %w", k.Title(), err)
	}
	return versionIn(r, k), nil
}

func versionIn(r *appsv1.ControllerRevision, k topology.Kind) string {
	var patch struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if json.Unmarshal(r.Data.Raw, &patch) != nil {
		return ""
	}
	for _, c := range patch.Spec.Template.Spec.Containers {
		if c.Name == string(k) {
			return topology.Tag(c.Image)
		}
	}
	return ""
}

// judge returns why an older release is refused, "" where it is not. Only the release that an unfinished upgrade
// came from is accepted, and only while no process of a newer release has run on the data. Such a process may have
// changed the data into a format that the older release cannot read. TiDB's system tables are part of the data as
// well. An image that does not exist has never changed any data, and going back repairs the cluster.
func (r retreat) judge(g state.Group) string {
	why, came := "", topology.SameRelease(r.before, r.To)
	for _, m := range g.Members {
		if why == "" {
			why = r.evidence(g, m)
		}
		came = came || m.Pod != nil && m.Pod.Ran && topology.SameRelease(m.Version(), r.To)
	}
	switch {
	case why == "" && came:
		return ""
	case why == "":
		why = "it is not recorded that it was " + r.To + " before"
	}
	return fmt.Sprintf("%s is %s, and %s", r.Kind.Title(), r.From, why)
}

// refusals returns an error for each field that asks for an older release which is refused, with all reasons. Mostly
// one field sets the version of several components.
func refusals(all []retreat, snap state.Snapshot) field.ErrorList {
	var errs field.ErrorList
	whys := map[string][]string{}
	for _, r := range all {
		why, at := r.judge(snap.Groups[r.Kind]), r.Field.String()
		if why == "" {
			continue
		}
		if whys[at] = append(whys[at], why); len(whys[at]) == 1 {
			errs = append(errs, field.Invalid(r.Field, r.To, ""))
		}
	}
	for _, e := range errs {
		e.Detail = strings.Join(whys[e.Field], "; ") + ": data may be in a format that a lower version cannot read; " +
			"go on to a version that is not lower, or restore a backup into a new cluster"
	}
	return errs
}

// evidence returns why a member cannot go back, "" when it can. The database keeps a version longer
// than a pod, which may have been recreated; for TiDB servers there is only the pod.
func (r retreat) evidence(g state.Group, m state.Member) string {
	switch {
	case m.Pod != nil && m.Pod.Ran && topology.Released(m.Pod.Version) == "" && m.Reported() != "" && m.Up():
		if v := m.Reported(); !r.covers(v) {
			return fmt.Sprintf("%s runs %s", m.Name, v)
		}
	case m.Pod != nil && m.Pod.Ran && m.Pod.Version == "":
		return fmt.Sprintf("the image of %s has no tag, so that it is not known which version it has run", m.Name)
	case m.Pod != nil && m.Pod.Ran && !r.covers(m.Pod.Version):
		return fmt.Sprintf("%s has run with %s", m.Name, m.Pod.Version)
	case m.Database.Version != "" && !r.covers(m.Database.Version):
		return fmt.Sprintf("%s was %s when it served last", m.Name, m.Database.Version)
	case m.Pod == nil && g.Set.Has(m.Ordinal):
		return m.Name + " has no pod at the moment, so that it is not known which version it has run"
	}
	return ""
}

// covers reports whether the release to go back to can read what a version has written. For a
// version that is no release that is not known.
func (r retreat) covers(version string) bool {
	if version == r.To {
		return true
	}
	older, err := topology.IsDowngrade(version, r.To)
	return err == nil && !older
}
