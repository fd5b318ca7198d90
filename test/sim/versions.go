package sim

import (
	"math/rand/v2"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// newer marks the pod template that the newer version of the plugin renders of a spec.
const newer = "newer:"

// asked returns what the user asked for when a version of the plugin rendered a pod template. A webhook
// may have changed the template.
func asked(template string) string {
	return strings.TrimPrefix(strings.TrimPrefix(template, pinned), newer)
}

// drawVersions lets commands of two versions of the plugin drive the cluster in one of ten runs without
// daemons. Of two daemons, one would roll pods when the other one has converged.
func drawVersions(o *Options) {
	o.Versions = rand.New(rand.NewPCG(o.Seed, 11)).IntN(10) == 0 && o.Daemons == 0
}

// anyVersion returns the version of a process that begins.
func (w *Model) anyVersion() int {
	if !w.Versions {
		return 1
	}
	return 1 + w.rng.IntN(2)
}

// template returns the pod template that the process whose turn it is wants. It is the process's own
// template, or that of a newer version for the same spec, as package render does.
func (w *Model) template(k kind) string {
	want, is := w.Intent.Template[k], w.sets[k].applied()
	switch r := w.records[k]; {
	case w.sets[k].exists && r.WrittenByNewer(w.version, func() string { return is }) && r.Spec == want:
		return is
	case w.version > 1:
		return newer + want
	}
	return want
}

// judgeTemplate checks that an older version does not replace what a newer version has rendered of the
// same spec. The exception is a run that has written the record of the next template and was stopped
// then.
func (w *Model) judgeTemplate(k kind, template string) {
	if is := w.sets[k].applied(); template == asked(is) && template != is && !w.unrecorded[k] {
		w.broke("versions", "%s: %s replaces %s", kinds[k].Title(), template, is)
	}
	w.unrecorded[k] = false
}

// wantedRecord returns the record for a pod template, none for one of the other version, which is
// kept.
func (w *Model) wantedRecord(template string) state.Template {
	if newerOnes := template != asked(template); newerOnes != (w.version > 1) {
		return state.Template{}
	}
	return state.Template{Version: w.version, Spec: asked(template), Pods: template}
}

// recordTemplate writes the record of a pod template, before the template itself. It refuses to
// replace a record that another process has written since the observation, as package act does.
func (w *Model) recordTemplate(k kind, o desired.Object) error {
	is := w.records[k]
	switch {
	case o.Record == (state.Template{}), o.Record == is:
		return nil
	case o.Recorded != is, w.moved(k):
		return errConflict
	}
	next := w.version > 1 || o.Record.Spec != is.Spec
	w.unrecorded[k] = w.unrecorded[k] || next && is.Pods == w.sets[k].applied()
	w.records[k] = o.Record
	return nil
}
