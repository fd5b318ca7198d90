package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Warning is something that the user should know, and that is no reason to refuse, with what can be
// done.
type Warning struct {
	Text   string
	Remedy remedy.Remedy
	Reason event.NoticeReason // "" for SpecWarning
}

func warn(format string, args ...any) Warning { return Warning{Text: fmt.Sprintf(format, args...)} }

func (w Warning) line(context string) string {
	if w.Remedy == nil {
		return w.Text
	}
	return w.Text + "; " + w.Remedy.Line(context)
}

// warnings are about the request alone.
func (p proposal) warnings() []Warning {
	var all []Warning
	for _, text := range p.Warnings {
		all = append(all, Warning{Text: text})
	}
	for _, w := range topology.Warnings(p.existing, p.wanted) {
		all = append(all, Warning{Text: w.String(), Remedy: w.Remedy})
	}
	return append(all, p.setBack()...)
}

// unknownFields lists fields of the TidbCluster that a later version has written, and
// that this one neither follows nor changes.
func (r Request) unknownFields() []Warning {
	if r.Now == nil {
		return nil
	}
	fields := topology.Unknown(r.Now)
	if len(fields) == 0 {
		return nil
	}
	return []Warning{warn("this version of kubectl tidb does not know %s: it stays as it is and has no effect; use a version that knows it",
		strings.Join(fields, ", "))}
}

// appliers are beginnings of the names under which the API server records tools that apply a source again and again.
// The tools are Argo CD, Flux and Helm. Such a tool sets back what somebody else writes into fields that the tool
// owns.
var appliers = []string{"argocd", "kustomize-controller", "helm", "flux"}

// setBack are warnings about fields that the request changes and that such a tool owns. The change belongs into the
// tool's source.
func (p proposal) setBack() []Warning {
	if p.Now == nil || p.Want == nil || p.Want == p.Now {
		return nil
	}
	changed := differences(fields(p.Now), fields(p.Want))
	var all []Warning
	for _, m := range p.Now.ManagedFields {
		applies := slices.ContainsFunc(appliers, func(name string) bool { return strings.HasPrefix(m.Manager, name) })
		if owned := ownedOf(changed, m); applies && len(owned) > 0 {
			all = append(all, warn("%s owns %s, and will set that back: change it in the source of %s as well",
				m.Manager, strings.Join(owned, ", "), m.Manager))
		}
	}
	return all
}

// ownedOf returns the paths that a manager owns, out of a list, as the API server records owners.
func ownedOf(paths []string, m metav1.ManagedFieldsEntry) []string {
	var all map[string]any
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &all) != nil {
		return nil
	}
	var owned []string
	for _, path := range paths {
		at, known := all, true
		for _, name := range strings.Split(path, ".") {
			at, known = at["f:"+name].(map[string]any)
			if !known || len(at) == 0 { // nothing below it is recorded: it is owned as a whole
				break
			}
		}
		if known {
			owned = append(owned, path)
		}
	}
	return owned
}

// cramped returns warnings about stores with too little space on their disks, where stores are to
// run another version. Nothing is refused for that: the upgrade may be what helps.
func cramped(w desired.State, snap state.Snapshot) []Warning {
	if !upgradesStores(w, snap) {
		return nil
	}
	var all []Warning
	for _, f := range finding.Room(w, snap) {
		text := f.Component.Title() + ": " + f.Seen + ": " + strings.TrimSuffix(f.Matters, ".")
		all = append(all, Warning{Text: text, Remedy: f.Remedy})
	}
	return all
}

// upgradesStores reports whether a pod of a store has another version than is wanted.
func upgradesStores(w desired.State, snap state.Snapshot) bool {
	for _, g := range w.Groups {
		other := func(m state.Member) bool {
			v := m.Version()
			return m.Pod != nil && v != "" && !topology.SameRelease(v, g.Version)
		}
		if g.Kind.Data() == topology.Store && slices.ContainsFunc(snap.Groups[g.Kind].InSet(), other) {
			return true
		}
	}
	return false
}
