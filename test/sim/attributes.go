package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The names of VolumeAttributesClasses say what the storage does with them.
const (
	refusedClass = "refused" // the driver refuses a class whose name begins so
	missingClass = "missing" // there is no class whose name begins so
)

// drawAttributes has users ask for other VolumeAttributesClasses, in one run of eight. That is drawn separately, so that the
// other runs stay as they are.
func drawAttributes(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 53))
	if rng.IntN(8) == 0 {
		o.Faults.Modify = pick(rng, 1./300, 1./100)
	}
}

// modifySome is a user who asks for another VolumeAttributesClass of the volumes of a component. Some are refused by the
// driver.
func (w *Model) modifySome() {
	k := kind(w.rng.IntN(2))
	if w.Intent.Size[k] == 0 {
		return
	}
	name := pick(w.rng, "gold", "silver", "bronze", refusedClass)
	w.Modify(kinds[k], fmt.Sprintf("%s-%d", name, w.t))
}

// Modify is the user who asks for a VolumeAttributesClass.
func (w *Model) Modify(k topology.Kind, class string) {
	w.note("user: volumes of %s with VolumeAttributesClass %s", k.Title(), class)
	w.Intent.Attributes[kindOf(k)] = class
}

// takeBackAttributes is a user who asks for a class that the driver accepts.
func (w *Model) takeBackAttributes() {
	for k := range kinds {
		if strings.HasPrefix(w.Intent.Attributes[k], refusedClass) {
			w.Modify(kinds[k], "accepted")
		}
	}
}

// modify asks for a VolumeAttributesClass of a claim. Kubernetes accepts a request for another class at any time.
func (w *Model) modify(c *claim, class string) {
	if c.attributes != class {
		c.attributes, c.modifyAt = class, w.t+w.between(5, 300)
	}
}

func (w *Model) modifyClaim(s step.ModifyClaim) error {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	c := w.claims[k][i]
	if c == nil || c.uid != s.UID || c.goneAt != never && !s.Going || c.attributes != s.From {
		return errConflict
	}
	w.modify(c, s.Class)
	return nil
}

// modifyVolumes is the storage: some time after a request a volume gets another class, if the driver has that class.
func (w *Model) modifyVolumes(k kind) {
	for _, c := range w.claims[k] {
		if c != nil && c.modified != c.attributes && w.t >= c.modifyAt && !c.lost && c.accepted() {
			c.modified = c.attributes
		}
	}
}

func (c *claim) accepted() bool {
	return !strings.HasPrefix(c.attributes, refusedClass) && !strings.HasPrefix(c.attributes, missingClass)
}

// modifying returns what Kubernetes reports of a volume that is to get another class, "" where it has the class.
func (c *claim) modifying(now int64) string {
	switch {
	case c.modified == c.attributes:
		return ""
	case strings.HasPrefix(c.attributes, missingClass):
		return "Pending"
	case now >= c.modifyAt && !c.accepted():
		return "Infeasible"
	}
	return "InProgress"
}

// observeAttributes adds what a claim shows of its VolumeAttributesClass.
func (w *Model) observeAttributes(c *claim, out *state.Claim) {
	out.Attributes, out.Modified = c.attributes, c.modified
	if is := c.modifying(w.t); is != "" {
		out.Modifying, out.Infeasible = fmt.Sprintf("Kubernetes reports %s for class %s", is, c.attributes), is == "Infeasible"
	}
}

// restOfAttributes checks that all volumes have the class that the user asks for, and that new members get that class.
func (w *Model) restOfAttributes(k kind) {
	want := w.Intent.Attributes[k]
	if want == "" {
		return
	}
	if have := w.sets[k].spec.attributes; have != want {
		w.broke("rest", "%s has claims of VolumeAttributesClass %q for new members, not %q", kinds[k].Title(), have, want)
	}
	for i, c := range w.claims[k] {
		if c != nil && w.Intent.wants(k, i) && c.modified != want {
			w.broke("rest", "%s has VolumeAttributesClass %q, not %q", c.name, c.modified, want)
		}
	}
}
