package database

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

var (
	base  = flag.Uint64("base", 1, "the first seed")
	seeds = flag.Uint64("seeds", 6, "how many random runs are read")
)

// TestModelIsReadAsByTheRealClient: what the real clients read through HTTP is what the model shows today's tier, in
// random states with faults.
func TestModelIsReadAsByTheRealClient(t *testing.T) {
	t.Logf("seeds from %d on", *base)
	compared, differs := 0, map[string]int{}
	for seed := *base; seed < *base+*seeds; seed++ {
		m := sim.Random(seed)
		m.Faults.NoAnswer, m.Faults.Rival = 0, 0 // faults of engines
		if seed%2 == 0 {
			m.Settle(time.Hour)
		}
		m.BeginFaults()
		for until := m.Now().Add(25 * time.Minute); m.Now().Before(until); {
			_, _ = m.Drive(time.Minute)
			for range 5 {
				m.Pass(3)
				compared++
				for _, d := range differences(t, m) {
					kind, _, _ := strings.Cut(d, ":")
					if differs[kind]++; differs[kind] <= 3 {
						t.Errorf("seed %d at %v: %s", seed, m.Now().Sub(begin), d)
					}
				}
			}
		}
	}
	t.Logf("%d states; differences %v", compared, differs)
}

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// differences returns what the real clients read otherwise than the model shows.
func differences(t *testing.T, m *sim.Model) (all []string) {
	synctest.Test(t, func(t *testing.T) { all = differ(t, m) })
	return all
}

func differ(t *testing.T, m *sim.Model) []string {
	want := m.Reported()
	tc := tidbCluster(m, want)
	c := topology.New(tc)
	members := newNetwork(New(m))
	defer members.Close()
	kube := fake.NewClientset(objects(m, c, want)...)
	o := observe.New(kube, dial.Any(members), func(context.Context) (*v1alpha1.TidbCluster, error) { return tc, nil }, m.Now)
	defer o.Close()
	seen, err := o.Against(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	got := seen.Snapshot
	switch {
	case strings.HasPrefix(want.PD.Leader, "elsewhere"):
		return nil // the real client connects to members of the cluster only
	case want.PD.Known() && want.PD.Leader == "":
		return nil // the real client asks nobody but the leader
	}
	if slices.ContainsFunc(want.Groups[topology.PD].Members, ended) { // speaks: a kubelet that is not heard may be wrong about that, too
		got.PD.Unreached = want.PD.Unreached
	}
	out := differPD(got.PD, want.PD)
	if got.PD.Known() != want.PD.Known() {
		return out
	}
	for _, k := range topology.Kinds() {
		if !has(c, k) {
			continue
		}
		for i := range max(len(want.Groups[k].Members), len(got.Groups[k].Members)) {
			read, shown := memberOf(got, k, i), memberOf(want, k, i)
			excuse(m, want.PD.Known(), &read, &shown)
			if d := differMember(read, shown); d != "" {
				out = append(out, fmt.Sprintf("%s %s", k, d))
			}
		}
	}
	return out
}

func ended(m state.Member) bool { return m.Pod != nil && m.Pod.Ended }

func memberOf(s state.Snapshot, k topology.Kind, i int) state.Member {
	if all := s.Groups[k].Members; i < len(all) {
		return all[i]
	}
	return state.Member{Kind: k, Ordinal: i}
}

func differPD(got, want state.PD) []string {
	var out []string
	note := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			out = append(out, fmt.Sprintf("PD %s: read %v,\n   the model shows %v", what, got, want))
		}
	}
	if got.Known() != want.Known() {
		return []string{fmt.Sprintf("PD known: read %t (%s), the model shows %t (%s)", got.Known(), got.Problem, want.Known(), want.Problem)}
	}
	if !got.Known() {
		note("unreached", ours(got.Unreached), ours(want.Unreached))
		return out
	}
	leader := got.Leader
	if strings.HasPrefix(leader, "elsewhere-") {
		leader = "elsewhere"
	}
	note("cluster id", got.ClusterID, want.ClusterID)
	note("members", got.Members, want.Members)
	note("healthy", got.Healthy, want.Healthy)
	note("leader", leader, want.Leader)
	note("stores", []int{got.Stores, got.UpStores}, []int{want.Stores, want.UpStores})
	note("bootstrapped", got.Bootstrapped, want.Bootstrapped)
	note("max replicas", got.MaxReplicas, want.MaxReplicas)
	if want.Bootstrapped {
		note("schedulers unknown", got.SchedulersUnknown, want.SchedulersUnknown)
	}
	if !want.SchedulersUnknown && want.Bootstrapped {
		note("scheduling", got.Scheduling, want.Scheduling)
	}
	note("rules disabled", got.RulesDisabled, want.RulesDisabled)
	note("pumps known", got.PumpsKnown, want.PumpsKnown)
	note("elsewhere", ids(got.Elsewhere), ids(want.Elsewhere))
	if len(got.Placement.Stores) > 0 && len(want.Placement.Stores) > 0 && !want.RulesDisabled { // else only one of them takes a store for one that leaves
		note("placement", rules(got.Placement), rules(want.Placement))
	}
	return out
}

// ours returns the names of members of this cluster.
func ours(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "elsewhere-") })
}

func ids(all []state.StoreElsewhere) []string {
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprint(s.ID, s.State, s.Serves))
	}
	return out
}

func rules(p state.Placement) string {
	if len(p.Stores) == 0 {
		return ""
	}
	stores := slices.Clone(p.Stores)
	for i := range stores {
		if stores[i].Capacity == 0 { // the model says how large disks are only where some fill up
			stores[i].Capacity, stores[i].Available = 100<<30, 80<<30
		}
	}
	text := fmt.Sprintf("%v %s", stores, p.Unread)
	for _, set := range p.Rules {
		for _, r := range set {
			r.Tables = nil // their names, which a TiDB knows if one runs
			text += fmt.Sprintf(" %+v", r)
		}
		text += ";"
	}
	return text
}

// differMember compares what is known of a member's part in the database.
func differMember(got, want state.Member) string {
	g, w := got.Database, want.Database
	var out []string
	note := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			out = append(out, fmt.Sprintf("%s %v, not %v", what, got, want))
		}
	}
	note("presence", g.Presence, w.Presence)
	note("answer", g.Answer, w.Answer)
	note("listening", g.Listening, w.Listening)
	note("healthy", g.Healthy, w.Healthy)
	note("id", g.ID, w.ID)
	note("unstarted", g.Unstarted, w.Unstarted)
	note("leader", g.Leader, w.Leader)
	note("new", g.New, w.New)
	note("state", g.State, w.State)
	note("evicting", g.Evicting, w.Evicting)
	note("counts", []int{g.Leaders, g.Regions}, []int{w.Leaders, w.Regions})
	note("capture", g.Capture, w.Capture)
	note("pump", []string{g.Pump.Node, string(g.Pump.State)}, []string{w.Pump.Node, string(w.Pump.State)})
	if d := g.Since.Sub(w.Since); d < -11*time.Second || d > 11*time.Second {
		note("since", g.Since, w.Since)
	}
	if len(out) == 0 {
		return ""
	}
	kind, _, _ := strings.Cut(out[0], " ")
	text := fmt.Sprintf("%s: %d: %s", kind, got.Ordinal, strings.Join(out, "; "))
	if p := want.Pod; p != nil {
		text += fmt.Sprintf("; %s, ready %t, terminating %t, addressed %t, started %s, %d restarts, made %s",
			p.Revision, p.Ready, p.Terminating, p.Addressed, p.Started.Format(time.TimeOnly), p.Restarts, p.Made.Format(time.TimeOnly))
	}
	for _, c := range want.Claims {
		text += fmt.Sprintf(", claim %s %v", c.UID, c.Identity.Labels[topology.LabelStoreID])
	}
	return fmt.Sprintf("%s\n   read %s\n   shown %s", text, known(g), known(w))
}

func known(d state.Database) string {
	return fmt.Sprintf("presence %d, id %d, healthy %t, answer %d, listening %t, new %t, %s, since %s, %d of %d leaders, %s", d.Presence, d.ID,
		d.Healthy, d.Answer, d.Listening, d.New, d.State, d.Since.Format(time.TimeOnly), d.Leaders, d.Regions, d.Problem)
}
