package scale

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestRemovable: a scale-in is refused unless it removes exactly the members that the user names, and the error has
// commands for what the user may want instead.
func TestRemovable(t *testing.T) {
	for _, c := range []struct {
		name     string
		replicas map[topology.Kind]int32
		remove   []string
		code     exit.Code
		says     string
		help     string
	}{
		{name: "the highest ordinal", replicas: map[topology.Kind]int32{topology.TiKV: 3}, remove: []string{"t-tikv-3"}},
		{name: "the two highest ordinals, in any order", replicas: map[topology.Kind]int32{topology.TiKV: 2}, remove: []string{"t-tikv-2", "t-tikv-3"}},
		{name: "another component has none named", replicas: map[topology.Kind]int32{topology.TiKV: 3, topology.PD: 1}, remove: []string{"t-tikv-3"}},
		{name: "a lower ordinal", replicas: map[topology.Kind]int32{topology.TiKV: 3}, remove: []string{"t-tikv-1"}, code: exit.Refused,
			says: "a StatefulSet removes only its highest ordinals: tikv=3 removes t-tikv-3, and t-tikv-1 would stay; nothing was changed",
			help: "give t-tikv-1 a new volume: kubectl tidb replace t t-tikv-1 -n ns; or do that on another node: kubectl cordon node-1 && kubectl tidb replace t t-tikv-1 -n ns; " +
				"or remove t-tikv-3: kubectl tidb scale t tikv=3 -n ns"},
		{name: "one that leaves and one that stays", replicas: map[topology.Kind]int32{topology.TiKV: 2}, remove: []string{"t-tikv-3", "t-tikv-0"}, code: exit.Refused,
			says: "tikv=2 removes t-tikv-2, t-tikv-3, and t-tikv-0 would stay",
			help: "give t-tikv-0 a new volume: kubectl tidb replace t t-tikv-0 -n ns; or do that on another node: kubectl cordon node-0 && kubectl tidb replace t t-tikv-0 -n ns; " +
				"or remove t-tikv-2, t-tikv-3: kubectl tidb scale t tikv=2 -n ns"},
		{name: "more than that leave", replicas: map[topology.Kind]int32{topology.TiKV: 2}, remove: []string{"t-tikv-3"}, code: exit.Refused,
			says: "tikv=2 removes t-tikv-2 as well", help: "remove all of them: kubectl tidb scale t tikv=2 --remove t-tikv-2 --remove t-tikv-3 -n ns"},
		{name: "no scale-in", replicas: map[topology.Kind]int32{topology.TiKV: 4}, remove: []string{"t-tikv-3"}, code: exit.Refused,
			says: "tikv=4 removes no member, so t-tikv-3 would stay; nothing was changed",
			help: "give t-tikv-3 a new volume: kubectl tidb replace t t-tikv-3 -n ns; or do that on another node: kubectl cordon node-3 && kubectl tidb replace t t-tikv-3 -n ns"},
		{name: "a server without data, and without a node", replicas: map[topology.Kind]int32{topology.TiDB: 1}, remove: []string{"t-tidb-0"}, code: exit.Refused,
			says: "tidb=1 removes t-tidb-1, and t-tidb-0 would stay", help: "restart t-tidb-0: kubectl tidb restart t t-tidb-0 -n ns; or remove t-tidb-1: kubectl tidb scale t tidb=1 -n ns"},
		{name: "no such member", replicas: map[topology.Kind]int32{topology.TiKV: 3}, remove: []string{"t-tikv-4"}, code: exit.Usage, says: "cluster ns/t has no member t-tikv-4: did you mean t-tikv-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := plantest.New(3, 4, 2)
			cluster.Member("t-tidb-0").Pod.Node = ""
			var now, want topology.Cluster
			now.Namespace, now.Name, want.Namespace, want.Name = "ns", "t", "ns", "t"
			for _, g := range cluster.Wanted.Groups {
				now.Groups = append(now.Groups, g.Group)
				if n, scaled := c.replicas[g.Kind]; scaled {
					g.Replicas = int(n)
				}
				want.Groups = append(want.Groups, g.Group)
			}
			err := options{replicas: c.replicas, remove: c.remove}.removable(now, want, false, cluster.Seen.Groups)
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("exit code %d: %v", exit.Of(err), err)
			}
			if got := remedy.Of(err).Line(""); got != c.help {
				t.Errorf("got\n%s\nwanted\n%s", got, c.help)
			}
		})
	}
}

// TestRemovableGoesOn: while an earlier scale-in is under way, its members are those that leave.
func TestRemovableGoesOn(t *testing.T) {
	cluster := plantest.New(3, 4, 2)
	g := cluster.Want(topology.TiKV)
	g.Replicas = 3
	scaled := topology.Cluster{Namespace: "ns", Name: "t", Groups: []topology.Group{g.Group}}
	o := options{replicas: map[topology.Kind]int32{topology.TiKV: 3}, remove: []string{"t-tikv-3"}}
	if err := o.removable(scaled, scaled, false, cluster.Seen.Groups); err != nil {
		t.Error(err)
	}
}

func TestParseRemoved(t *testing.T) {
	for args, says := range map[string]string{
		"tikv-3 t-tikv-2": "",
		"tikv":            "--remove tikv: it is no member of a cluster t, such as tikv-0",
		"tikv-01":         "--remove tikv-01: it is no member",
		"tidb-1":          "--remove tidb-1: give the number of replicas without it as well, such as tidb=3",
		"tikv-3 t-tikv-3": "--remove t-tikv-3 is given twice",
	} {
		o := options{name: []string{"t"}, replicas: map[topology.Kind]int32{topology.TiKV: 2}, remove: strings.Fields(args)}
		err := o.parseRemoved()
		if says != "" && (exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", args, err, says)
		}
		if says == "" && (err != nil || !slices.Equal(o.remove, []string{"t-tikv-3", "t-tikv-2"})) {
			t.Errorf("%s: %v, %v", args, o.remove, err)
		}
	}
}

// TestSlots: a member leaves with a slot, unless it is above all others.
func TestSlots(t *testing.T) {
	for _, c := range []struct {
		name     string
		has      []int // slots
		replicas int32
		remove   []string
		want     []int
	}{
		{name: "a member in the middle", replicas: 3, remove: []string{"t-tikv-1"}, want: []int{1}},
		{name: "two of them", replicas: 2, remove: []string{"t-tikv-2", "t-tikv-0"}, want: []int{0, 2}},
		{name: "the highest one", replicas: 3, remove: []string{"t-tikv-3"}},
		{name: "beside a slot", has: []int{1}, replicas: 3, remove: []string{"t-tikv-2"}, want: []int{1, 2}},
		{name: "the highest one, beside a slot", has: []int{1}, replicas: 3, remove: []string{"t-tikv-4"}, want: []int{1}},
		{name: "as many members as before", replicas: 4, remove: []string{"t-tikv-1"}, want: []int{1}},
		{name: "another one in place of the highest", replicas: 4, remove: []string{"t-tikv-3"}, want: []int{3}},
		{name: "a slot above all stays", has: []int{8}, replicas: 3, remove: []string{"t-tikv-0"}, want: []int{0, 8}},
		{name: "once more", has: []int{1}, replicas: 4, remove: []string{"t-tikv-1"}, want: []int{1}},
	} {
		cluster := plantest.New(3, 4, 2)
		var now topology.Cluster
		now.Namespace, now.Name = "ns", "t"
		g := cluster.Want(topology.TiKV).Group
		g.Slots = c.has
		now.Groups = []topology.Group{g}
		o := options{replicas: map[topology.Kind]int32{topology.TiKV: c.replicas}, remove: c.remove}
		if got := o.slots(now, true); !slices.Equal(got[topology.TiKV], c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if got := o.slots(now, false); len(got) > 0 {
			t.Errorf("%s: slots of StatefulSets of Kubernetes: %v", c.name, got)
		}
	}
}

// TestRemovableWithSlots: any member may leave, and no other one leaves as well.
func TestRemovableWithSlots(t *testing.T) {
	for says, c := range map[string]struct {
		replicas int32
		remove   []string
	}{
		"":                                  {3, []string{"t-tikv-1"}},
		"tikv=2 removes t-tikv-3 as well; ": {2, []string{"t-tikv-1"}},
		"tikv=2 removes t-tikv-2 as well; ": {2, []string{"t-tikv-3"}}, // there are no slots
	} {
		cluster := plantest.New(3, 4, 2)
		now := topology.Cluster{Namespace: "ns", Name: "t", Groups: []topology.Group{cluster.Want(topology.TiKV).Group}}
		o := options{replicas: map[topology.Kind]int32{topology.TiKV: c.replicas}, remove: c.remove}
		want := now
		g := now.Groups[0]
		g.Replicas, g.Slots = int(c.replicas), o.slots(now, true)[topology.TiKV]
		want.Groups = []topology.Group{g}
		err := o.removable(now, want, true, cluster.Seen.Groups)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", says, err)
		}
	}
}
