package desired

import (
	"maps"
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestWithVolumesReplaced: where volumes are replaced without a request, the members are named whose claims cannot become
// as the spec says, until they have other ones.
func TestWithVolumesReplaced(t *testing.T) {
	const gi = 1 << 30
	fits := state.Claim{UID: "u", Template: "tikv", Class: "fast", Requested: 10 * gi, Growth: state.Growable}
	with := func(change func(*state.Claim)) state.Member {
		c := fits
		change(&c)
		return state.Member{Kind: topology.TiKV, Name: "t-tikv-0", Pod: &state.Pod{}, Claims: []state.Claim{c}}
	}
	marked := func(m state.Member) state.Member {
		m.Pod.VolumesReplaced = true
		return m
	}
	slow := func(c *state.Claim) { c.Class = "slow" }
	servers := func(g *topology.Group) { g.Kind = topology.TiDB }
	begunOnly := func(g *topology.Group) { g.ReplacesVolumes, g.VolumesBegun = false, true }
	for name, tt := range map[string]struct {
		member state.Member
		change func(*topology.Group)
		named  bool
	}{
		"as wanted":                     {member: with(func(*state.Claim) {})},
		"another class":                 {member: with(slow), named: true},
		"another class, nobody asks":    {member: with(slow), change: func(g *topology.Group) { g.ReplacesVolumes = false }},
		"another class, a spare member": {member: with(slow), change: func(g *topology.Group) { g.Replicas = 0 }},
		"larger":                        {member: with(func(c *state.Claim) { c.Requested = 20 * gi }), named: true},
		"smaller":                       {member: with(func(c *state.Claim) { c.Requested = 5 * gi })},
		"smaller, and it cannot grow":   {member: with(func(c *state.Claim) { c.Requested, c.Growth = 5*gi, state.NotGrowable }), named: true},
		"marked by tidb-operator, and as wanted since": {member: marked(with(func(*state.Claim) {}))},
		"another class, marked by tidb-operator":       {member: marked(with(slow)), change: begunOnly, named: true},
		"another class, not begun":                     {member: with(slow), change: begunOnly},
		"another class, and it leaves": {member: func() state.Member {
			m := with(slow)
			m.Database.State = state.StoreOffline
			return m
		}(), change: begunOnly, named: true},
		"its pod has another volume": {member: func() state.Member {
			m := with(func(*state.Claim) {})
			m.Pod.Mounts = map[string]string{"tikv": "/var/lib/tikv", "tikv-wal": "/wal"}
			return m
		}(), named: true},
		"a server with another class": {member: with(slow), change: servers, named: true},
		"a server whose pod has another volume: a restart is enough": {member: func() state.Member {
			m := with(func(*state.Claim) {})
			m.Pod.Mounts = map[string]string{"tikv": "/elsewhere", "more": "/more"}
			return m
		}(), change: servers},
		"without claims": {member: state.Member{Name: "t-tikv-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := topology.Group{
				Kind: topology.TiKV, Replicas: 1, ReplacesVolumes: true, VolumeSpare: true,
				Volumes: []topology.Volume{{Name: "tikv", Size: 10 * gi, Class: "fast"}},
			}
			if tt.change != nil {
				tt.change(&g)
			}
			groups := map[topology.Kind]state.Group{g.Kind: {Set: state.Set{Exists: true, Replicas: 1}, Members: []state.Member{tt.member}}}
			got := WithVolumesReplaced(topology.Cluster{Groups: []topology.Group{g}}, groups).Groups[0].Replacements
			if named := slices.Sorted(maps.Keys(got)); (len(named) > 0) != tt.named {
				t.Fatalf("named %v", named)
			}
			if r := got["t-tikv-0"]; tt.named && (!r.Spare || !slices.Equal(r.Claims, []string{"u"})) {
				t.Errorf("%+v", r)
			}
		})
	}
}
