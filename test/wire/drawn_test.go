package wire

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// operation is a command, and how long it runs at most.
type operation struct {
	args   []string
	within time.Duration
}

// drawn returns the cluster of a seed, and what is done to it.
func drawn(seed uint64) (sim.Options, []operation) {
	rng := rand.New(rand.NewPCG(seed, 21))
	o := sim.Options{
		Seed: seed, PD: pick(rng, 1, 3, 3, 5), TiKV: pick(rng, 3, 3, 4), TiDB: pick(rng, 1, 2, 2), KeepStuck: rng.IntN(2) == 0,
	}
	some := func(odds float64) float64 { return pick(rng, 0, odds) }
	o.Faults = sim.Faults{
		Crash: some(1. / 100), Lose: some(1. / 400), PDSilent: some(1. / 200), Forget: some(1. / 60), EvictByHand: some(1. / 300),
		Delete: some(1. / 150), Resign: some(1. / 100), Ping: some(1. / 100), KubeletAway: some(1. / 200), Port: some(1. / 200),
		Late: some(1. / 200), OldReport: some(1. / 200), Hide: some(1. / 300), Saved: rng.IntN(2) == 0,
	}
	more(seed, &o)
	components := optional(seed, &o)
	all := []operation{
		{[]string{"upgrade", "basic", "v8.1.1"}, 0},
		{[]string{"restart", "basic", "tikv"}, 0},
		{[]string{"restart", "basic", "pd"}, 0},
		{[]string{"scale", "basic", fmt.Sprintf("tikv=%d", o.TiKV+1)}, 0},
		{[]string{"scale", "basic", fmt.Sprintf("tidb=%d", o.TiDB+1)}, 0},
		{[]string{"scale", "basic", fmt.Sprintf("tikv=%d", o.TiKV)}, 0},
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = append(all[:1+rng.IntN(3)], components...)
	for i := range all {
		all[i].within = time.Duration(2+rng.IntN(20)) * time.Minute
	}
	return o, all
}

// upgrade returns a cluster with three members of PD, three stores and two servers, and its upgrade under common faults.
func upgrade(seed uint64) (sim.Options, []operation) {
	return sim.Options{
		Seed: seed, PD: 3, TiKV: 3, TiDB: 2,
		Faults: sim.Faults{Crash: 1. / 400, PDSilent: 1. / 400, Forget: 1. / 200, Delete: 1. / 400, Resign: 1. / 200, Port: 1. / 400},
	}, []operation{{[]string{"upgrade", "basic", "v8.1.1"}, time.Hour}}
}

// more draws faults that need a person, Kubernetes or PD to do something rare. They have numbers of their own, so that
// the rest of a run stays as it is when a family is added here.
func more(seed uint64, o *sim.Options) {
	rng := rand.New(rand.NewPCG(seed, 23))
	some := func(odds float64) float64 { return pick(rng, 0, 0, odds) }
	f := &o.Faults
	f.LoseLong, f.Kubectl, f.DeleteClaim = some(1./800), some(1./400), some(1./600)
	f.TakeOffline, f.Standstill, f.Stall, f.Unlist = some(1./400), some(1./400), some(1./400), some(1./400)
	f.Template, f.StoreElsewhere, f.EndPod, f.LoseForGood = some(1./400), some(1./200), some(1./200), some(1./800)
	if f.StoreElsewhere > 0 {
		o.StoresElsewhere = 1 + rng.IntN(3)
		o.OtherPart = rng.IntN(2) == 0
	}
}

// optional gives some clusters TiFlash, TiProxy and TiCDC, and returns what is done to these components. They have
// numbers of their own as well.
func optional(seed uint64, o *sim.Options) []operation {
	rng := rand.New(rand.NewPCG(seed, 25))
	var all []operation
	add := func(k topology.Kind, members int) {
		do := pick(rng, []string{"restart", "basic", string(k)},
			[]string{"scale", "basic", fmt.Sprintf("%s=%d", k, members+1)},
			[]string{"scale", "basic", fmt.Sprintf("%s=%d", k, max(1, members-1))})
		if rng.IntN(2) == 0 {
			all = append(all, operation{args: do})
		}
	}
	if rng.IntN(4) == 0 {
		o.TiFlash = pick(rng, 1, 2, 2)
		o.Learners = rng.IntN(o.TiFlash + 1)
		add(topology.TiFlash, o.TiFlash)
	}
	if rng.IntN(4) == 0 {
		o.TiProxy = pick(rng, 1, 2, 2)
		add(topology.TiProxy, o.TiProxy)
	}
	if rng.IntN(4) == 0 {
		o.TiCDC, o.Feeds, o.CannotDrain = 1+rng.IntN(3), rng.IntN(9), rng.IntN(6) == 0
		add(topology.TiCDC, o.TiCDC)
	}
	return all
}

// chosen returns what is done to chosen members where StatefulSets can have slots. A member leaves or is exchanged, and
// later as many members are wanted as before, or all slots are taken back.
func chosen(seed uint64, o sim.Options) []operation {
	rng := rand.New(rand.NewPCG(seed, 28))
	var all []operation
	do := func(args ...string) {
		all = append(all, operation{append([]string{"scale", "basic"}, args...), time.Duration(2+rng.IntN(20)) * time.Minute})
	}
	sizes := map[topology.Kind]int{topology.PD: o.PD, topology.TiKV: o.TiKV, topology.TiDB: o.TiDB}
	for range 1 + rng.IntN(3) {
		k := pick(rng, topology.PD, topology.TiKV, topology.TiKV, topology.TiDB)
		size := sizes[k]
		if rng.IntN(2) == 0 {
			do(fmt.Sprintf("%s=%d", k, size+1))
		}
		do(fmt.Sprintf("%s=%d", k, max(1, size-rng.IntN(2))), "--remove", fmt.Sprintf("%s-%d", k, rng.IntN(size+1)))
		if rng.IntN(2) == 0 {
			do(fmt.Sprintf("%s=%d", k, size))
		}
	}
	return all
}

// underway draws the faults on the way.
func underway(seed uint64) Faults {
	rng := rand.New(rand.NewPCG(seed, 22))
	return Faults{Refused: pick(rng, 0, .02), Lost: pick(rng, 0, .01), Slow: pick(rng, 0, .02)}
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }
