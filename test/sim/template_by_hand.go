package sim

import (
	"math/rand/v2"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
)

// What others write into pod templates. A person changes the image in a StatefulSet, and a webhook puts a
// digest in place of each tag.

const (
	// byHand is the template that a person puts into a StatefulSet. No user asks for it.
	byHand = "by hand"
	// pinned marks a template that a webhook has changed.
	pinned = "pinned:"
)

// drawTemplates has a person change pod templates in one simulated cluster of six, and a webhook in one of
// eight.
func drawTemplates(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 28))
	if rng.IntN(6) == 0 {
		o.Faults.Template = 1. / 200
	}
	o.Pins = rng.IntN(8) == 0
}

// applied is the template that was applied last, whatever others have made of it.
func (s *set) applied() string {
	if s.record != "" {
		return s.record
	}
	return s.spec.template
}

// admitted returns what the StatefulSet gets when an engine writes a template.
func (w *Model) admitted(s *set, template string) string {
	s.record, s.insisted = "", false
	template = strings.TrimPrefix(template, pinned) // a StatefulSet that is recreated has it already
	if !w.Pins {
		return template
	}
	s.record, s.insisted = template, true
	return pinned + template
}

// changeTemplate is a person who changes the image in a StatefulSet, to one that works or not.
func (w *Model) changeTemplate() {
	k := w.anyKind()
	flaws := [...]string{"", "", "-" + crashing, "-" + noImage}
	w.editTemplate(k, byHand+flaws[w.rng.IntN(len(flaws))])
}

func (w *Model) editTemplate(k kind, template string) {
	s := &w.sets[k]
	if !s.exists || s.leaving {
		return
	}
	w.note("fault: a person changes the pod template of %s to %s", kinds[k].Title(), template)
	record := s.applied()
	spec := s.spec
	if spec.template = template; w.Pins {
		spec.template = pinned + template
	}
	w.change(s, spec)
	s.record, s.insisted = record, false
}

// putBack returns the StatefulSet to write where a person has changed the template, as package render does.
func (w *Model) putBack(k kind) desired.Object {
	s := &w.sets[k]
	if !s.exists || s.record == "" || s.insisted {
		return desired.Object{}
	}
	return desired.Object{
		Kind: "StatefulSet", Name: w.cluster.SetName(kinds[k]), Drift: desired.Differs,
		Edits: []desired.Edit{{Field: "image", Live: s.spec.template, Applied: s.record, Manager: "kubectl-set"}},
	}
}

// judgeAsked checks that no member is restarted onto a template that no user has ever asked for.
func (w *Model) judgeAsked(k kind, i int, say sayer) {
	if update := w.sets[k].update; !w.asked[k][asked(update)] {
		say("unasked", "%s restarts with %s, which nobody has asked for", w.names[k][i], update)
	}
}
