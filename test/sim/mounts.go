package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// mounts are the volumes that each member of a component has beside the volume with its data, and where pods mount them,
// as in "log=/log,wal=/wal". The model has no claims of these: they come and go with the claim of the data.
type mounts string

// paths returns the path of each volume.
func (m mounts) paths() map[string]string {
	all := map[string]string{}
	for _, one := range strings.Split(string(m), ",") {
		if name, path, ok := strings.Cut(one, "="); ok {
			all[name] = path
		}
	}
	return all
}

// lacks reports whether a pod has no volume for one of the claim templates of its StatefulSet.
func (p *pod) lacks(templates mounts) bool {
	if p.mounts == templates {
		return false
	}
	has := p.mounts.paths()
	for name := range templates.paths() {
		if _, ok := has[name]; !ok {
			return true
		}
	}
	return false
}

// processed returns how many ordinals the StatefulSet controller gets to, and reports whether these are all. It tries to
// give a pod the volumes that the pod lacks, which the API server refuses. With OrderedReady that ends its turn at
// once. With Parallel it looks at 1, 2, 4, ... ordinals at the same time, and its turn ends after those with the pod. So
// it neither makes the pods above, nor deletes surplus pods, nor goes on with a rollout (stateful_set_control.go of
// Kubernetes 1.36: processReplica, slowStartBatch).
func (w *Model) processed(k kind) (int, bool) {
	s := &w.sets[k]
	all := slices.Collect(s.seen.each())
	i := slices.IndexFunc(all, func(i int) bool { p := w.pods[k][i]; return p != nil && !p.ended && p.lacks(s.seen.mounts) })
	switch {
	case i < 0:
		return limit, true
	case w.Ordered[k]:
		return all[i], false
	}
	end := 1
	for end <= i {
		end = 2*end + 1
	}
	return all[min(end, len(all))-1] + 1, false
}

// drawMounts gives members of PD and stores of TiKV a second volume, in one run of eight. In half of these runs
// pods are created at once, and in the other half often one after another. The draw has a source of its own, so that other
// runs stay as before.
func drawMounts(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 47))
	if o.Mounts = rng.IntN(8) == 0; o.Mounts {
		o.Faults.Mount = pick(rng, 1./900, 1./300)
		ordered := rng.IntN(2) == 0
		o.Ordered[pd], o.Ordered[tikv] = ordered && rng.IntN(2) == 0, ordered && rng.IntN(2) == 0
	}
}

// firstMounts are those of a cluster at its beginning.
const firstMounts mounts = "log=/log"

// moveMount is a user who mounts the second volume of a component at another path, or removes it for good. No volume can
// be added again. The user asks for the replacement of all members, as the refusal says.
func (w *Model) moveMount() {
	k := kind(w.rng.IntN(2))
	if w.Intent.Mounts[k] == "" {
		return
	}
	next := mounts(fmt.Sprintf("log=/log%d", w.t))
	if w.rng.IntN(4) == 0 {
		next = ""
	}
	w.note("user: other volumes for %s: %q", kinds[k].Title(), next)
	w.Intent.Mounts[k] = next
	w.Upgrade(w.Intent.Template[k], kinds[k])
	w.nameUnfit()
}

// withMounts returns the name of a pod template that has the mounts that the user asks for.
func (w *Model) withMounts(k kind, template string) string {
	if !w.Mounts || w.Intent.Size[k] == 0 {
		return template
	}
	release, flaw, flawed := strings.Cut(template, "-")
	release, _, _ = strings.Cut(release, "/")
	switch m := w.Intent.Mounts[k]; m {
	case firstMounts, "":
		if m == "" && k <= tikv {
			release += "/none"
		}
	default:
		release += m.paths()["log"]
	}
	if flawed {
		release += "-" + flaw
	}
	return release
}

// otherMounts reports whether a StatefulSet has other volumes than the user asks for.
func (w *Model) otherMounts(k kind) bool {
	return w.sets[k].exists && w.sets[k].spec.mounts != w.Intent.Mounts[k]
}

// takeBackMounts is a user who takes back a change of volumes that nothing was done for while pods fail with their
// template. The next template could only come with the volumes, and the volumes only after all pods are there.
func (w *Model) takeBackMounts() {
	if !w.Mounts {
		return
	}
	for k := range kinds {
		s := &w.sets[k]
		fails := slices.ContainsFunc(w.pods[k][:], func(p *pod) bool { return p != nil && p.flaw != "" })
		if s.exists && s.spec.mounts != w.Intent.Mounts[k] && (fails || flaw(s.spec.template) != "" || flaw(w.Intent.Template[k]) != "") {
			w.Intent.Mounts[k] = s.spec.mounts
			w.note("user: volumes of %s as before", kinds[k].Title())
			w.Upgrade(w.Intent.Template[k], kinds[k])
		}
	}
}

// deleteFailing is a user who deletes pods with old volumes and a template with which they fail. No engine does that, because
// the next pod has other volumes, and after the faults the user knows that only logs are on these.
func (w *Model) deleteFailing() {
	if w.chaos {
		return
	}
	for k := range kinds {
		for i, p := range w.pods[k] {
			if p != nil && p.flaw != "" && !p.terminating() && p.mounts != w.sets[k].spec.mounts {
				w.note("user: delete pod %s, which fails", w.names[k][i])
				w.remove(p)
			}
		}
	}
}

// growPD is a user who adds members to a PD of one member whose volumes change, because the only one holds all metadata.
func (w *Model) growPD() {
	moves := func(p *pod) bool { return p != nil && p.mounts != w.Intent.Mounts[pd] }
	if w.Intent.Replicas[pd] == 1 && (w.otherMounts(pd) || slices.ContainsFunc(w.pods[pd][:], moves)) {
		w.Scale(topology.PD, 3)
	}
}

// unfit returns the members with data whose volumes are not those that the user asks for, and that nobody has named.
func (w *Model) unfit(k kind) []int {
	var all []int
	for i := range w.Intent.members(k).each() {
		p, c := w.pods[k][i], w.claims[k][i]
		if c != nil && w.sets[k].spec.has(i) && (w.otherMounts(k) || p != nil && p.mounts != w.Intent.Mounts[k]) && !w.replaces(k, i) {
			all = append(all, i)
		}
	}
	return all
}

// refusal is what package render refuses: a member would come back with its data and other volumes.
func (w *Model) refusal() error {
	if !w.Mounts {
		return nil
	}
	for k := range kinds {
		if kind(k).data() != topology.None && w.sets[k].exists && len(w.unfit(kind(k))) > 0 {
			return errors.New("only a member that is replaced can have other volumes: " + w.names[k][w.unfit(kind(k))[0]])
		}
	}
	return nil
}

// cannotStay reports whether a member that a user has named has other volumes than the user asks for, so that its
// replacement cannot be called off.
func (w *Model) cannotStay(name string) bool {
	component, i, ok := w.member(name)
	if !w.Mounts || !ok {
		return false
	}
	k := kindOf(component)
	return w.replaces(k, i) && (w.otherMounts(k) || w.pods[k][i] != nil && w.pods[k][i].mounts != w.Intent.Mounts[k])
}

// nameUnfit is a user who asks for the replacement of all members with other volumes, as the refusal says.
func (w *Model) nameUnfit() {
	if !w.Mounts {
		return
	}
	w.growPD()
	w.deleteFailing()
	for k := range kinds {
		for _, i := range w.unfit(kind(k)) {
			w.Replace(w.names[k][i], kind(k).data() == topology.Store)
		}
	}
}

// mountedBy returns where a pod mounts its volumes, nil in runs in which no volume moves.
func (w *Model) mountedBy(k kind, p *pod) map[string]string {
	if !w.Mounts || w.Intent.Size[k] == 0 {
		return nil
	}
	all := p.mounts.paths()
	all[VolumeOf(kinds[k])] = "/var/lib"
	return all
}

// addMounts adds what is wanted of the second volumes.
func (w *Model) addMounts(k kind, g *desired.Group) {
	for name, path := range w.Intent.Mounts[k].paths() {
		g.Volumes = append(g.Volumes, topology.Volume{Name: name, Size: gi, Path: path})
	}
	if w.otherMounts(k) {
		g.OtherVolumes, g.Set.Drift = true, desired.Differs
	}
}

// mountTemplates adds the claim templates of the second volumes.
func mountTemplates(all map[string]state.ClaimTemplate, m mounts) {
	for name := range m.paths() {
		all[name] = state.ClaimTemplate{Size: gi}
	}
}

// stillUnlisted is what package act asks PD before it restarts a member that may get other volumes.
func (w *Model) stillUnlisted(s step.Restart) error {
	if !s.Unlisted {
		return nil
	}
	return w.notInPD(kindOf(s.Component), w.numberOf(s.Ordinal), w.known() && len(w.stores) == 0)
}

// judgeMounts checks that no restart gives a member with data other volumes. Only a member that is replaced may have
// other volumes. In the model the second volume is for logs, so that a member that loses its pod for another reason finds
// the data.
func (w *Model) judgeMounts(k kind, i int, say sayer) {
	if p, c := w.pods[k][i], w.claims[k][i]; p != nil && c != nil && c.data != 0 && w.inDatabase(k, i) && w.seen.intent.Mounts[k] == w.Intent.Mounts[k] && p.mounts != w.sets[k].spec.mounts {
		say("mounts", "%s would have its data and other volumes", w.names[k][i])
	}
}

// restOfMounts checks that each member has the volumes that the user asks for, and that new members get these.
func (w *Model) restOfMounts(k kind) {
	if w.sets[k].spec.mounts != w.Intent.Mounts[k] {
		w.broke("rest", "%s gives new members the volumes %q, not %q", kinds[k].Title(), w.sets[k].spec.mounts, w.Intent.Mounts[k])
	}
	for i, p := range w.pods[k] {
		if p != nil && w.Intent.wants(k, i) && p.mounts != w.Intent.Mounts[k] {
			w.broke("rest", "%s has the volumes %q, not %q", w.names[k][i], p.mounts, w.Intent.Mounts[k])
		}
	}
}
