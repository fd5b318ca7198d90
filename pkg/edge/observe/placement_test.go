package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// spread returns a PD of the cluster basic with four stores in three zones, and with
// isolation-level zone.
func spread() *pd.Fake {
	f := pd.NewFake(3, 4)
	f.Update(func(s *pd.FakeState) {
		s.Replication.LocationLabels, s.Replication.IsolationLevel = []string{"zone"}, "zone"
		for i, zone := range []string{"a", "a", "b", "c"} {
			s.Stores[i].Address = fmt.Sprintf("basic-tikv-%d.basic-tikv-peer.db.svc:20160", i)
			s.Stores[i].Labels["zone"] = zone
		}
	})
	return f
}

// scaled returns the cluster basic with that many TiKV replicas.
func scaled(replicas int) topology.Cluster {
	c := basic
	c.Groups = []topology.Group{{Kind: topology.TiKV, Replicas: replicas}}
	return c
}

// look observes PD once, and returns what removals are checked against.
func look(t *testing.T, o *Observer, f *pd.Fake, c topology.Cluster, seen objects) database {
	t.Helper()
	a, err := ask(t.Context(), f, func() time.Time { return noon }, false)
	if err != nil {
		t.Fatal(err)
	}
	o.placement(t.Context(), f, c, seen, &a)
	return a.sort(c)
}

func rulesRead(f *pd.Fake) int {
	n := 0
	for _, call := range f.Calls() {
		if call == "PlacementRules()" {
			n++
		}
	}
	return n
}

// TestPlacementIsReadForRemovals: placement rules are read only for the removal of a store. Where they are not read, they
// are unknown.
func TestPlacementIsReadForRemovals(t *testing.T) {
	given := scaled(4)
	given.Groups[0].Failures = []topology.Failure{{Member: "basic-tikv-1", Discarded: true}}
	done := scaled(4)
	done.Groups[0].Failures = []topology.Failure{{Member: "basic-tikv-1"}, {Member: "basic-tikv-2", Discarded: true, Deleted: true}}
	going := objects{claims: map[topology.Kind]map[int][]state.Claim{topology.TiKV: {1: {{Terminating: true}}}}}
	ofPD := objects{claims: map[topology.Kind]map[int][]state.Claim{topology.PD: {1: {{Terminating: true}}}}}
	named := func(uid string) topology.Cluster {
		c := scaled(4)
		c.Groups[0].Replacements = map[string]topology.MemberReplacement{"basic-tikv-1": {Claims: []string{uid}}}
		return c
	}
	has := objects{claims: map[topology.Kind]map[int][]state.Claim{topology.TiKV: {1: {{UID: "old"}}}}}
	behindPD := func(c topology.Cluster) topology.Cluster {
		c.Groups = append([]topology.Group{{Kind: topology.PD, Replicas: 3}}, c.Groups...)
		return c
	}
	for name, c := range map[string]struct {
		cluster topology.Cluster
		seen    objects
		change  func(*pd.FakeState)
		want    int
	}{
		"nothing leaves":                          {scaled(4), objects{}, nil, 0},
		"without TiKV":                            {basic, objects{}, nil, 0},
		"a scale-in":                              {scaled(3), objects{}, nil, 1},
		"a scale-in that is over":                 {scaled(3), objects{}, func(s *pd.FakeState) { s.Stores[3].State, s.Stores[3].StateName = pd.StoreTombstone, "Tombstone" }, 0},
		"a store is Offline":                      {scaled(4), objects{}, func(s *pd.FakeState) { s.Stores[0].State, s.Stores[0].StateName = pd.StoreOffline, "Offline" }, 1},
		"a store elsewhere is Offline":            {scaled(4), objects{}, func(s *pd.FakeState) { s.Stores[0].State, s.Stores[0].Address = pd.StoreOffline, "10.0.0.1:20160" }, 0},
		"data was given up":                       {given, objects{}, nil, 1},
		"data was given up, and let go":           {done, objects{}, nil, 0},
		"a claim is being deleted":                {scaled(4), going, nil, 1},
		"a replacement":                           {named("old"), has, nil, 1},
		"a replacement that is over":              {named("former"), has, nil, 0},
		"data was given up, of a later component": {behindPD(given), objects{}, nil, 1},
		"a claim of PD is being deleted":          {behindPD(scaled(4)), ofPD, nil, 0},
		"rules are disabled":                      {scaled(3), objects{}, func(s *pd.FakeState) { s.Replication.EnablePlacementRules = false }, 0},
	} {
		f, o := spread(), &Observer{now: func() time.Time { return noon }}
		if c.change != nil {
			f.Update(c.change)
		}
		d := look(t, o, f, c.cluster, c.seen)
		if n := rulesRead(f); n != c.want {
			t.Errorf("%s: rules were read %d times, want %d", name, n, c.want)
		}
		if known := len(d.state.Placement.Rules) > 0; known != (c.want > 0) && name != "rules are disabled" {
			t.Errorf("%s: got %+v", name, d.state.Placement)
		}
		if unread := d.state.Placement.Unread != ""; unread != (len(d.state.Placement.Rules) == 0) {
			t.Errorf("%s: without rules, and yet they are known: %+v", name, d.state.Placement)
		}
		if d.state.RulesDisabled != (name == "rules are disabled") {
			t.Errorf("%s: disabled: %t", name, d.state.RulesDisabled)
		}
	}
}

// TestPlacement: rules and stores are translated, also TiFlash and stores of other Kubernetes
// clusters.
func TestPlacement(t *testing.T) {
	f, o := spread(), &Observer{now: func() time.Time { return noon }}
	f.Update(func(s *pd.FakeState) {
		s.Stores = append(s.Stores,
			pd.Store{ID: 9, Address: "10.0.0.1:3930", StateName: "Down", Labels: map[string]string{"engine": "tiflash"}},
			pd.Store{ID: 10, Address: "10.0.0.2:20160", State: pd.StoreTombstone, StateName: "Tombstone"})
		s.Rules = []pd.RuleGroup{{ID: "zones", Index: 2, Rules: []pd.PlacementRule{{
			ID: "east", Role: "learner", Count: 1, StartKey: "AB", EndKey: "ac",
			Constraints: []pd.LabelConstraint{{Key: "zone", Op: "in", Values: []string{"c"}}},
		}}}}
	})
	d := look(t, o, f, scaled(3), objects{})
	got := d.state.Placement
	if len(got.Stores) != 5 || got.Stores[4].State != state.StoreDown || got.Stores[4].Labels["engine"] != "tiflash" || got.Stores[0].Labels["zone"] != "a" {
		t.Errorf("stores %+v", got.Stores)
	}
	var sets []string
	for _, set := range got.Rules {
		var names []string
		for _, r := range set {
			names = append(names, fmt.Sprintf("%s %s %d %v %s %t", r.Name(), r.Role, r.Count, r.Constraints, r.IsolationLevel, r.Configured))
		}
		sets = append(sets, strings.Join(names, ", "))
	}
	def := "pd/default voter 3 [] zone true"
	if want := []string{def, def + ", zones/east learner 1 [{zone in [c]}]  false"}; !slices.Equal(sets, want) {
		t.Errorf("got %q, want %q", sets, want)
	}
}

// TestDefaultRuleOfItsOwn: PD's settings do not change a default rule any more after a person has
// edited it.
func TestDefaultRuleOfItsOwn(t *testing.T) {
	a := answers{replication: &pd.ReplicationConfig{MaxReplicas: 3, IsolationLevel: "zone", LocationLabels: []string{"zone"}}}
	same := pd.PlacementRule{ID: "default", Count: 3, IsolationLevel: "zone", LocationLabels: []string{"zone"}}
	for name, c := range map[string]struct {
		group  string
		change func(*pd.PlacementRule)
		want   bool
	}{
		"the same":            {"pd", func(*pd.PlacementRule) {}, true},
		"another group":       {"zones", func(*pd.PlacementRule) {}, false},
		"another name":        {"pd", func(r *pd.PlacementRule) { r.ID = "east" }, false},
		"more copies":         {"pd", func(r *pd.PlacementRule) { r.Count = 5 }, false},
		"no isolation":        {"pd", func(r *pd.PlacementRule) { r.IsolationLevel = "" }, false},
		"more labels":         {"pd", func(r *pd.PlacementRule) { r.LocationLabels = []string{"zone", "host"} }, false},
		"from a key on":       {"pd", func(r *pd.PlacementRule) { r.StartKey = "ab" }, false},
		"up to a key":         {"pd", func(r *pd.PlacementRule) { r.EndKey = "ab" }, false},
		"only on some stores": {"pd", func(r *pd.PlacementRule) { r.Constraints = []pd.LabelConstraint{{Key: "zone", Op: "exists"}} }, false},
	} {
		r := same
		c.change(&r)
		if got := a.rules([]pd.RuleGroup{{ID: c.group, Rules: []pd.PlacementRule{r}}})[0].Configured; got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPlacementWithoutRules: while placement rules are disabled the rule follows from PD's
// settings.
func TestPlacementWithoutRules(t *testing.T) {
	f, o := spread(), &Observer{now: func() time.Time { return noon }}
	f.Update(func(s *pd.FakeState) { s.Replication.EnablePlacementRules = false })
	d := look(t, o, f, scaled(3), objects{})
	if len(d.state.Placement.Rules) != 1 || len(d.state.Placement.Stores) != 4 {
		t.Fatalf("got %+v", d.state.Placement)
	}
	if r := d.state.Placement.Rules[0]; len(r) != 1 || r[0].Count != 3 || r[0].IsolationLevel != "zone" || !r[0].Configured {
		t.Errorf("got %+v", r)
	}
}

// TestPlacementRulesAreReadOnceAMinute: a removal takes hours, and is observed twice a second.
func TestPlacementRulesAreReadOnceAMinute(t *testing.T) {
	at := noon
	f, o := spread(), &Observer{now: func() time.Time { return at }}
	for _, after := range []time.Duration{0, rulesFresh - 1, rulesFresh, 2*rulesFresh - 1, 2 * rulesFresh} {
		at = noon.Add(after)
		if d := look(t, o, f, scaled(3), objects{}); len(d.state.Placement.Rules) != 1 {
			t.Errorf("after %s: %+v", after, d.state.Placement)
		}
	}
	if n := rulesRead(f); n != 3 {
		t.Errorf("read %d times", n)
	}
}

// TestPlacementRulesCannotBeRead: if PD refuses to return the rules, that is a gap, and the removal
// is checked by max-replicas alone; the refusal is remembered as long as an answer would be. If PD
// does not answer, it is asked again in the next observation. What else PD reports is known in both
// cases.
func TestPlacementRulesCannotBeRead(t *testing.T) {
	o := &Observer{now: func() time.Time { return noon }}
	answer := func(err error) (database, int) {
		f := spread()
		f.Update(func(s *pd.FakeState) {
			for i := range s.Members {
				s.Members[i].PeerURLs = []string{"http://" + basic.PodHost(topology.PD, i) + ":2380"}
			}
			s.Unhealthy[s.Members[0].Name] = true
		})
		f.Hook = func(_ context.Context, call string) error {
			if call == "PlacementRules()" {
				return err
			}
			return nil
		}
		d := database{}
		for range 2 {
			d = look(t, o, f, scaled(3), objects{})
		}
		return d, rulesRead(f)
	}
	d, reads := answer(&pd.UnavailableError{Op: "list placement rules", Kind: pd.ErrUnreachable, Last: errors.New("timeout")})
	if got := d.state.Placement; !d.state.Known() || d.state.Stores != 4 || got.Unread != pd.ErrUnreachable.Error() || len(d.gaps) != 0 || reads != 2 {
		t.Errorf("silent: %+v, read %d times", d.state, reads)
	}
	d, reads = answer(&pd.StatusError{Method: "GET", Code: 404, Message: "404 page not found"})
	if len(d.state.Placement.Rules) != 0 || d.state.Placement.Unread != "" || len(d.gaps) != 1 || reads != 1 ||
		d.gaps[0].What != "PD's placement rules" || !strings.Contains(d.gaps[0].Problem, "404") || !strings.Contains(d.gaps[0].Remedy.Line(""), "kubectl exec basic-pd-1 -c pd -n db -- /pd-ctl") {
		t.Errorf("refused: %+v, %+v, read %d times", d.state.Placement, d.gaps, reads)
	}
}

// TestPlacementRulesTakeLong: rules have more time to be read than other answers of PD, and do not
// delay those.
func TestPlacementRulesTakeLong(t *testing.T) {
	f := spread()
	left := time.Duration(0)
	f.Hook = func(ctx context.Context, call string) error {
		if call != "PlacementRules()" {
			return nil
		}
		end, _ := ctx.Deadline()
		left = time.Until(end)
		return &pd.UnavailableError{Kind: pd.ErrUnreachable, Last: context.DeadlineExceeded}
	}
	o := &Observer{
		now: func() time.Time { return noon }, history: newHistory(),
		pd: f, urls: []string{"http://" + basic.PodHost(topology.PD, 0) + ":2379"},
	}
	seen := objects{pods: map[topology.Kind]map[int]*corev1.Pod{topology.PD: {0: {Status: corev1.PodStatus{Phase: corev1.PodRunning}}}}}
	d := o.base(t.Context(), scaled(3), seen)
	if left <= readTimeout || !d.state.Known() || d.state.Placement.Unread == "" {
		t.Errorf("%s left to read the rules; got %+v", left, d.state)
	}
}

// TestPlacementRulesOutOfTime: where the time of the request is over, that is no refusal of PD, and
// rules that were read before do not count. An answer that came just in time does.
func TestPlacementRulesOutOfTime(t *testing.T) {
	for name, c := range map[string]struct {
		fails error
		want  string
	}{
		"no answer":          {context.Canceled, "context canceled"},
		"an answer, in time": {nil, ""},
	} {
		f, now := spread(), noon
		o := &Observer{now: func() time.Time { return now }}
		if d := look(t, o, f, scaled(3), objects{}); len(d.state.Placement.Rules) == 0 {
			t.Fatalf("%+v", d.state.Placement)
		}
		now = now.Add(rulesFresh)
		a, err := ask(t.Context(), f, o.now, false)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o.placement(ctx, &justInTime{f, cancel, c.fails}, scaled(3), objects{}, &a)
		if got := a.placement; got.Unread != c.want || (len(got.Rules) > 0) != (c.fails == nil) || len(a.gaps) > 0 {
			t.Errorf("%s: %+v, %+v", name, got, a.gaps)
		}
	}
}

// justInTime answers, or fails, just when the time for the rules ends.
type justInTime struct {
	pd.Client
	end   context.CancelFunc
	fails error
}

func (c *justInTime) PlacementRules(ctx context.Context) ([]pd.RuleGroup, error) {
	c.end()
	if c.fails != nil {
		return nil, c.fails
	}
	return c.Client.PlacementRules(context.WithoutCancel(ctx))
}
