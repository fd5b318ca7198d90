package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Request is what a verb wants.
type Request struct {
	// Action is what is done, in a user's words, e.g. "upgrade to v8.1.1".
	Action string
	// Change is the change of the TidbCluster.
	intent.Change
	// Refusal is the reason for which the verb itself refuses the request, or nil. With a reason,
	// Want may be nil.
	Refusal error
	// With returns the command for the same request with another version; nil where that is an
	// upgrade.
	With func(version string) remedy.Action
	// Policy is what the run may do by itself.
	Policy plan.Policy
	// Warnings are the verb's own warnings.
	Warnings []string
	// Written is called when the change was written; nil where nobody waits for that.
	Written func()
	// Keep: write the change even if the cluster is paused, for a driver after the pause. Nothing
	// else is done then.
	Keep bool
	// Makes are the Secrets with certificates that Write makes before the TidbCluster.
	Makes []string
	// Unrecorded: the change is not one that a user would take back.
	Unrecorded bool
	// Fulfilled fails if the cluster has converged and what was asked for is not so; nil where the spec alone
	// says what was asked for.
	Fulfilled func(context.Context) error
	// Beside are the other TidbClusters that the same command changes, as they are then. They count instead of those that
	// the API server has now.
	Beside []*v1alpha1.TidbCluster
	// WithoutPD: make the change even when PD cannot be asked whether it is safe.
	WithoutPD bool
}

// WithFlags adds to a request what the flags of a run say.
func (r Request) WithFlags(o flags.Options) Request {
	r.Policy.Eviction, r.Policy.Concurrency, r.WithoutPD = o.Eviction, o.Concurrency, r.WithoutPD || o.Force
	if o.Canary == "" || r.Want == nil {
		return r
	}
	topology.SetCanary(r.Want, o.Canary) // the TidbCluster that Write writes
	r.Action += ", canary " + o.Canary
	return r
}

// proposal is a request with the defaults of both TidbClusters, which are filled in only here.
type proposal struct {
	Request
	existing *topology.Cluster // nil: there is none
	wanted   topology.Cluster
	// ends is a pause whose time is over: the run ends it before anything else.
	ends topology.Pause
}

func propose(r Request) proposal {
	p := proposal{Request: r}
	if r.Now != nil {
		now := topology.New(r.Now)
		p.existing = &now
	}
	switch r.Want {
	case nil: // the verb refuses
	case r.Now:
		p.wanted = *p.existing
	default:
		p.wanted = topology.New(r.Want)
	}
	return p
}

// atTime is the proposal at a time. What is wanted is not paused any more when the time of a pause is over.
func (p proposal) atTime(now time.Time) proposal {
	if p.wanted.Pause.Over(now) {
		p.ends, p.wanted.Paused, p.wanted.Pause = p.wanted.Pause, false, topology.Pause{}
	}
	return p
}

// checkRequest refuses what cannot or must not be done, as far as the two TidbClusters show it. It returns
// all errors at once, so that the user can correct them together.
func (p proposal) checkRequest() error {
	if p.Refusal != nil {
		return p.Refusal
	}
	want := p.wanted
	problems, verdict := topology.Validate(want), "not valid"
	if len(problems) == 0 {
		verdict = "update rejected"
	}
	problems = append(problems, topology.ValidateUpdate(p.existing, want)...)
	switch {
	case want.Deleting:
		return exit.Refusef("%s is being deleted, so nothing was changed", target.Title(want))
	case len(problems) > 0:
		return refuse(want, verdict, lines(problems))
	case want.Paused && !p.Keep:
		return Paused(want, "; nothing was changed")
	}
	return nil
}

// Paused returns the error of a command about a cluster that is paused, with what was done nevertheless.
func Paused(c topology.Cluster, done string) error {
	return exit.With(exit.Paused, remedy.For(
		fmt.Errorf("%s is %s%s", target.Title(c), c.Pause, done), remedy.Run("end the pause", c.Plugin("resume"))))
}

// allow refuses what must not be done in the cluster's state.
func (p proposal) allow(w desired.State, snap state.Snapshot) error {
	var problems []error
	for _, g := range plan.Refusals(component.Profiles(), w, snap) {
		problems = append(problems, remedy.For(errors.New(g.String()), g.Remedy...))
	}
	for _, refused := range [][]plan.Gate{
		plan.Unbatchable(component.Profiles(), p.Policy, w, snap),
		plan.Unreplaceable(component.Profiles(), w, snap, p.replacing(w, snap)),
		plan.SpareStranded(component.Profiles(), w, snap, p.sparing(w, snap)),
	} {
		for _, g := range refused {
			problems = append(problems, remedy.For(errors.New(g.String()), g.Remedy...))
		}
	}
	problems = append(problems, p.uncertified(w, snap)...)
	problems = append(problems, overfilled(w, snap, p.replacing(w, snap))...)
	if reason := p.shrinks(w, snap); reason != "" {
		problems = append(problems, errors.New(reason))
	}
	for _, err := range []error{p.holdsNothing(w, snap), p.duringBatches(w, snap)} {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return refuse(w.Cluster, "update rejected", problems)
	}
	return p.seeing(w.Cluster, snap)
}

// uncertified returns what is wrong with certificates because of the request. The cluster has not needed them before, or
// the request adds members that they do not name. What is wrong without the request is a gate of the run.
func (p proposal) uncertified(w desired.State, snap state.Snapshot) []error {
	known := append(slices.Clone(p.Makes), p.faultyBefore(w, snap)...)
	var problems []error
	for _, g := range w.Groups {
		for _, l := range g.Lacks {
			if l.Need == desired.ValidCertificate && !slices.Contains(known, l.Object) {
				known = append(known, l.Object)
				problems = append(problems, remedy.For(errors.New(l.Observed), l.Remedy...))
			}
		}
	}
	return problems
}

// faultyBefore returns the Secrets of certificates that the cluster needs without the request, and that are not known
// to be good without the request.
func (p proposal) faultyBefore(w desired.State, snap state.Snapshot) []string {
	if p.existing == nil {
		return nil
	}
	before := *p.existing
	before.Groups = slices.Clone(before.Groups)
	for i := range before.Groups {
		if g, ok := w.Group(before.Groups[i].Kind); ok {
			before.Groups[i].Start = g.Start // it is known only of a StatefulSet
		}
	}
	before = desired.WithSpares(before, snap.Groups)
	faults := certificate.Faults(before, snap.Certificates, snap.At)
	var all []string
	for _, c := range topology.Certificates(before) {
		_, read := snap.Certificates[c.Secret]
		if !read || slices.ContainsFunc(faults, func(f certificate.Fault) bool { return f.Secret == c.Secret }) {
			all = append(all, c.Secret)
		}
	}
	return all
}

// shrinks returns why a volume's size cannot be taken back, "" if it can. A run may have resized a claim and ended
// before it reached the StatefulSet, and such a claim cannot become smaller again. A claim that was not resized yet
// can keep its size.
func (p proposal) shrinks(w desired.State, snap state.Snapshot) string {
	if p.existing == nil {
		return ""
	}
	for _, g := range w.Groups {
		before, _ := p.existing.Group(g.Kind)
		for _, m := range snap.Groups[g.Kind].InSet() {
			for _, c := range m.Claims {
				old, _ := before.Volume(c.Template)
				want, ok := g.Volume(c.Template)
				if ok && want.Size < old.Size && want.Size < c.Requested && !c.Marked && !g.ReplacesClaim(c.UID) {
					return fmt.Sprintf("%s: claim %s has been asked to have %s, and volumes can not shrink to %s",
						want.Field, c.Name, c.Requested, want.Size)
				}
			}
		}
	}
	return ""
}

// seeing refuses to change a cluster whose PD runs but does not answer: only PD knows what is safe.
// A run that changes nothing in the spec is not refused.
func (p proposal) seeing(c topology.Cluster, snap state.Snapshot) error {
	if snap.PD.Known() || p.existing == nil || p.Now.Status.ClusterID == "" || p.Write == nil || p.WithoutPD {
		return nil
	}
	if p.existing.PDSuspended() && asleep(snap) {
		return nil // no member runs that could be disturbed
	}
	return remedy.For(
		exit.Refusef("PD of %s cannot be asked whether this is safe (%s), so nothing was changed", target.Title(c), snap.PD.Problem),
		remedy.Run("see what is wrong", c.Plugin("status")),
		remedy.Say("give --force, if the change is what makes PD answer again"))
}

// asleep reports whether PD is suspended and none of its pods is left.
func asleep(snap state.Snapshot) bool {
	for k, g := range snap.Groups {
		runs := g.Set.Exists || slices.ContainsFunc(g.Members, func(m state.Member) bool { return m.Pod != nil })
		if k.Data() == topology.Raft && runs {
			return false
		}
	}
	return true
}

// refuse returns an error with all reasons against a request, one a line if there are several.
func refuse(c topology.Cluster, verdict string, problems []error) error {
	if len(problems) == 1 {
		return exit.Refusef("%s: %s; nothing was changed: %w", target.Title(c), verdict, problems[0])
	}
	args := []any{target.Title(c), verdict, len(problems)}
	for _, p := range problems {
		args = append(args, p)
	}
	return exit.Refusef("%s: %s; nothing was changed; there are %d reasons:"+strings.Repeat("\n  %w", len(problems)), args...)
}

// lines returns errors in the order of their fields, each once, since two rules may find the same
// error.
func lines(errs field.ErrorList) []error {
	texts := map[string]error{}
	for _, e := range errs {
		texts[e.Error()] = e
	}
	var all []error
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, texts[text])
	}
	return all
}
