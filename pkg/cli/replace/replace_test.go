package replace

import (
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args    string
		members []string
		says    string
		// balanced is the value of --wait-balanced, "" where it is not given.
		balanced string
	}{
		{args: "basic tikv-1 basic-pd-0 --dry-run", members: []string{"basic-tikv-1", "basic-pd-0"}},
		{args: "basic --all-of tikv --spare"},
		{args: "basic --away-from node-7"},
		{args: "basic tikv-1 --away-from node-7 --spare", members: []string{"basic-tikv-1"}},
		{args: "basic --cancel"},
		{args: "basic tikv-1 --cancel", members: []string{"basic-tikv-1"}},
		{args: "", says: "requires at least 1"},
		{args: "basic", says: "name the members, or use --all-of COMPONENT or --away-from NODE"},
		{args: "basic tikv", says: "for all of its members use --all-of tikv"},
		{args: "basic tikv-1 basic-tikv-1", says: "basic-tikv-1 is given twice"},
		{args: "basic tikv-1 --all-of tikv", says: "tikv-1 is one of --all-of tikv: leave one of them out"},
		{args: "basic tikv-01", says: `"tikv-01" is no member of a cluster basic`},
		{args: "basic --all-of tidb"},
		{args: "basic --all-of dm", says: "--all-of dm: there is no such component; there are pd, tso, scheduling, tikv, tiflash, pump, tidb, tiproxy, ticdc"},
		{args: "basic --all-of tidb --storage 1Gi", says: "--storage-class and --storage are about volumes with data, and TiDB has none; change its storageVolumes: kubectl tidb edit basic"},
		{args: "basic --all-of tikv --cancel", says: "--cancel goes with names of members, or alone"},
		{args: "basic --away-from node-7 --cancel", says: "--cancel goes with names of members, or alone"},
		{args: "basic tikv-1 --spare --cancel", says: "--cancel goes with names of members, or alone"},
		{args: "basic tikv-1 --wait-balanced", members: []string{"basic-tikv-1"}, balanced: "true"},
		{args: "basic tikv-1 --wait-balanced=false", members: []string{"basic-tikv-1"}, balanced: "false"},
		{args: "basic tikv-1 --wait-balanced --cancel", says: "--cancel goes with names of members, or alone"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var got *options
			cmd := command(nil, func(_ context.Context, o options) error { got = &o; return nil })
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetOut(io.Discard)
			cmd.SetArgs(strings.Fields(c.args))
			err := cmd.Execute()
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) || got != nil {
					t.Errorf("error %v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			balanced := ""
			if got.balanced != nil {
				balanced = strconv.FormatBool(*got.balanced)
			}
			if !slices.Equal(got.members, c.members) || got.name[0] != "basic" || balanced != c.balanced {
				t.Errorf("%+v, want %v", got, c.members)
			}
		})
	}
}

// claimed gives a server a claim.
func claimed(c *plantest.Cluster) {
	c.Member("t-tidb-0").Claims = []state.Claim{{Name: "tidb-log-t-tidb-0", UID: "log", Template: "tidb-log"}}
}

// TestAsk: a request names the claims that members have, earlier requests stay, and members that cannot be replaced are
// refused.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      options
		change func(*plantest.Cluster)
		want   []string
		code   exit.Code
		says   string
	}{
		{name: "a member", o: options{members: []string{"t-tikv-1"}}, want: []string{"t-tikv-1"}},
		{name: "all of a component", o: options{allOf: []string{"pd"}}, want: []string{"t-pd-0", "t-pd-1", "t-pd-2"}},
		{name: "beside an earlier request", o: options{members: []string{"t-tikv-1"}}, change: asks("t-tikv-2"), want: []string{"t-tikv-1", "t-tikv-2"}},
		{name: "beside a request that is carried out", o: options{members: []string{"t-tikv-1"}}, change: func(c *plantest.Cluster) {
			asks("t-tikv-2")(c)
			c.Member("t-tikv-2").Claims[0].UID = "new"
		}, want: []string{"t-tikv-1"}},
		{name: "all of a component, and one waits", o: options{allOf: []string{"pd"}}, change: asks("t-pd-1"), code: exit.Refused, says: "t-pd-1 is to be replaced already"},
		{name: "a repeated command with a storage class", o: options{allOf: []string{"pd"}, storage: intent.Storage{Class: "fast"}}, change: func(c *plantest.Cluster) {
			asks("t-pd-1")(c)
			c.Member("t-pd-2").Claims[0].Class = "fast"
		}, want: []string{"t-pd-0", "t-pd-1"}},
		{name: "all of a component whose spec has another class, of which some wait and one has it", o: options{allOf: []string{"tikv"}}, change: func(c *plantest.Cluster) {
			asks("t-tikv-2")(c)
			class(c, "fast")
			c.Member("t-tikv-3").Claims[0].Class = "fast"
		}, want: []string{"t-tikv-0", "t-tikv-1", "t-tikv-2"}},
		{name: "all of a component, of which one waits", o: options{allOf: []string{"tikv"}}, change: asks("t-tikv-2"), code: exit.Refused, says: "t-tikv-2 is to be replaced already"},
		{name: "all of a component, of which three wait", o: options{allOf: []string{"tikv"}}, change: asks("t-tikv-3", "t-tikv-1", "t-tikv-2"), code: exit.Refused, says: "t-tikv-1 is to be replaced already"},
		{name: "no such member", o: options{members: []string{"t-tikv-9"}}, code: exit.Usage, says: "cluster ns/t has no member t-tikv-9"},
		{name: "a server with a claim", o: options{members: []string{"t-tidb-0"}}, change: claimed, want: []string{"t-tidb-0"}},
		{name: "all servers", o: options{allOf: []string{"tidb"}}, change: claimed, want: []string{"t-tidb-0"}},
		{name: "servers have no regions", o: options{allOf: []string{"tidb"}, spare: true}, change: claimed, code: exit.Usage, says: "--spare adds a store, and no store is named"},
		{name: "a server without claims", o: options{members: []string{"t-tidb-0"}}, code: exit.Refused, says: "restart it: kubectl tidb restart t t-tidb-0"},
		{name: "a member without claims", o: options{members: []string{"t-tikv-1"}}, change: func(c *plantest.Cluster) { c.Member("t-tikv-1").Claims = nil }, code: exit.Refused, says: "t-tikv-1 has no claims"},
		{name: "the replacement of a member that was given up", o: options{members: []string{"t-tikv-4"}}, change: func(c *plantest.Cluster) {
			c.Wanted.Cluster.Groups[slices.IndexFunc(c.Wanted.Cluster.Groups, func(g topology.Group) bool { return g.Kind == topology.TiKV })].Failures = []topology.Failure{{Member: "t-tikv-1"}}
		}, code: exit.Refused, says: "t-tikv-4 stands for another member"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := plantest.New(3, 4, 1)
			cluster.Wanted.Cluster.Written = &v1alpha1.TidbCluster{}
			for _, g := range cluster.Wanted.Groups {
				cluster.Wanted.Cluster.Groups = append(cluster.Wanted.Cluster.Groups, g.Group)
			}
			if c.change != nil {
				c.change(cluster)
			}
			r := replacement{now: cluster.Wanted.Cluster.Written, cluster: cluster.Wanted.Cluster, groups: cluster.Seen.Groups, at: time.Unix(9, 0)}
			asked, err := c.o.ask(r)
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("exit code %d: %v", exit.Of(err), err)
			}
			for _, name := range c.want {
				m, _ := r.find(name)
				if !m.HasClaimOf(asked[name].Claims) {
					t.Errorf("%s: %+v, claims %+v", name, asked[name], m.Claims)
				}
			}
			if len(asked) != len(c.want) {
				t.Errorf("%+v, want %v", asked, c.want)
			}
		})
	}
}

// class gives the spec of stores another storage class than their claims have.
func class(c *plantest.Cluster, name string) {
	c.Volumes(topology.TiKV, 1<<30, 1<<30)
	g := &c.Wanted.Cluster.Groups[slices.IndexFunc(c.Wanted.Cluster.Groups, func(g topology.Group) bool { return g.Kind == topology.TiKV })]
	g.Volumes = slices.Clone(c.Want(topology.TiKV).Volumes)
	g.Volumes[0].Class = name
}

// asks has a user ask for the replacement of members before.
func asks(names ...string) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) {
		all := map[string]topology.MemberReplacement{}
		for _, name := range names {
			all[name] = topology.MemberReplacement{Claims: uidsOf(*c.Member(name))}
		}
		topology.AskMemberReplacements(c.Wanted.Cluster.Written, all)
	}
}

func uidsOf(m state.Member) []string {
	var all []string
	for _, c := range m.Claims {
		all = append(all, c.UID)
	}
	return all
}

// TestAskToWaitForBalance: the wish is kept with the requests of stores, and changes only where the user says so. The
// requests that are carried out stay as long as others wait.
func TestAskToWaitForBalance(t *testing.T) {
	yes, no := new(true), new(false)
	for name, c := range map[string]struct {
		o      options
		before map[string]topology.MemberReplacement
		want   map[string]bool // whether a member waits for balance, by its name
		says   string
	}{
		"stores and a member of PD": {o: options{members: []string{"t-tikv-1", "t-pd-1"}, balanced: yes}, want: map[string]bool{"t-tikv-1": true, "t-pd-1": false}},
		"not asked for":             {o: options{members: []string{"t-tikv-1"}}, want: map[string]bool{"t-tikv-1": false}},
		"no store":                  {o: options{members: []string{"t-pd-1"}, balanced: yes}, says: "--wait-balanced waits for the regions of stores, and no store is named"},
		"asked again without the flag": {o: options{members: []string{"t-tikv-1"}}, before: map[string]topology.MemberReplacement{
			"t-tikv-1": {Claims: []string{"claim-tikv-1"}, WaitBalanced: true},
		}, want: map[string]bool{"t-tikv-1": true}},
		"taken back, and another one is done": {o: options{members: []string{"t-tikv-1"}, balanced: no}, before: map[string]topology.MemberReplacement{
			"t-tikv-1": {Claims: []string{"claim-tikv-1"}, WaitBalanced: true}, "t-tikv-2": {Claims: []string{"old"}, WaitBalanced: true},
		}, want: map[string]bool{"t-tikv-1": false, "t-tikv-2": true}},
	} {
		cluster := plantest.New(3, 4, 1)
		now := topology.Cluster{Namespace: "ns", Name: "t", Written: &v1alpha1.TidbCluster{}}
		for _, g := range cluster.Wanted.Groups {
			now.Groups = append(now.Groups, g.Group)
		}
		topology.AskMemberReplacements(now.Written, c.before)
		asked, err := c.o.ask(replacement{now: now.Written, cluster: now, groups: cluster.Seen.Groups, at: time.Unix(9, 0)})
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		got := map[string]bool{}
		for name, r := range asked {
			got[name] = r.WaitBalanced
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

// TestWithCarriedOut: a cancel keeps the requests that are carried out, as long as a request stays that may wait for
// their members. What is taken back does not come back.
func TestWithCarriedOut(t *testing.T) {
	cluster := plantest.New(3, 4, 1)
	now := topology.Cluster{Namespace: "ns", Name: "t", Written: &v1alpha1.TidbCluster{}}
	for _, g := range cluster.Wanted.Groups {
		now.Groups = append(now.Groups, g.Group)
	}
	topology.AskMemberReplacements(now.Written, requests{
		"t-tikv-0": {Claims: uidsOf(*cluster.Member("t-tikv-0"))}, "t-tikv-1": {Claims: uidsOf(*cluster.Member("t-tikv-1"))}, "t-tikv-2": {Claims: []string{"old"}},
	})
	r := replacement{now: now.Written, cluster: now, groups: cluster.Seen.Groups}
	stay := r.waiting()
	delete(stay, "t-tikv-0")
	if got := slices.Sorted(maps.Keys(r.withCarriedOut(stay))); !slices.Equal(got, []string{"t-tikv-1", "t-tikv-2"}) {
		t.Errorf("one stays: %v", got)
	}
	if got := r.withCarriedOut(requests{}); len(got) > 0 {
		t.Errorf("none stays: %v", got)
	}
}

// TestCancelOfSpec: a member that the spec has replaced has no request that can be taken back, and the user learns what to
// change instead.
func TestCancelOfSpec(t *testing.T) {
	for name, c := range map[string]struct {
		o      options
		asked  string
		claims []string
		begun  bool // tidb-operator has begun to replace volumes
		says   string
	}{
		"all":                        {claims: []string{"claim-tikv-1"}, says: "t-tikv-1 is to be replaced because its volumes are not as the spec says"},
		"beside a request":           {claims: []string{"claim-tikv-1"}, asked: "t-tikv-2", says: "set spec.enablePVCReplace to false"},
		"this one":                   {o: options{members: []string{"t-tikv-1"}}, claims: []string{"claim-tikv-1"}, says: "set spec.enablePVCReplace to false"},
		"begun by tidb-operator":     {claims: []string{"claim-tikv-1"}, begun: true, says: "to false, and give spec.tikv the volumes that its claims have"},
		"another one":                {o: options{members: []string{"t-tikv-2"}}, claims: []string{"claim-tikv-1"}, asked: "t-tikv-2"},
		"a request for it":           {claims: []string{"claim-tikv-1"}, asked: "t-tikv-1"},
		"a request that is finished": {claims: []string{"old"}},
	} {
		cluster := plantest.New(3, 4, 1)
		now := topology.Cluster{Namespace: "ns", Name: "t", Written: &v1alpha1.TidbCluster{}}
		for _, g := range cluster.Wanted.Groups {
			now.Groups = append(now.Groups, g.Group)
		}
		if c.asked != "" {
			topology.AskMemberReplacements(now.Written, requests{c.asked: {Claims: uidsOf(*cluster.Member(c.asked))}})
		}
		now.Written.Status.TiKV.VolReplaceInProgress = c.begun
		g, _ := now.Group(topology.TiKV)
		g.Replacements = requests{"t-tikv-1": {Claims: c.claims}}
		wanted := topology.Cluster{Groups: []topology.Group{g}}
		_, err := c.o.takes(replacement{now: now.Written, cluster: now, wanted: wanted, groups: cluster.Seen.Groups})
		if c.says == "" && err != nil || c.says != "" && (exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
