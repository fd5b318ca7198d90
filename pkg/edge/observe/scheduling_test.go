package observe

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestWhenLabelsAreRead: region labels are read where leaders are to move, and in a live observation.
func TestWhenLabelsAreRead(t *testing.T) {
	pod := func(revision string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv-0", UID: "u", Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}}}
	}
	for name, tc := range map[string]struct {
		live     bool
		revision string
		named    string // the UID of the pod that a user has named
		evicting []uint64
		want     bool
	}{
		"nothing is to move":            {revision: "new"},
		"a live observation":            {live: true, revision: "new", want: true},
		"a pod is to be replaced":       {revision: "old", want: true},
		"a user has named it":           {revision: "new", named: "u", want: true},
		"the one named was replaced":    {revision: "new", named: "before"},
		"leaders are evicted somewhere": {revision: "new", evicting: []uint64{9}, want: true},
	} {
		f := pd.NewFake(1, 1)
		f.Update(func(s *pd.FakeState) { s.Denied = []string{"import/1"} })
		c := basic
		c.Groups = []topology.Group{{Kind: topology.TiKV, Restarts: map[string]topology.MemberRestart{"basic-tikv-0": {Pod: tc.named}}}}
		seen := objects{
			existing: state.Existing{Sets: map[topology.Kind]*appsv1.StatefulSet{topology.TiKV: {Status: appsv1.StatefulSetStatus{UpdateRevision: "new"}}}},
			pods:     map[topology.Kind]map[int]*corev1.Pod{topology.TiKV: {0: pod(tc.revision)}},
		}
		o := &Observer{now: func() time.Time { return noon }, asksAll: tc.live}
		a := answers{stores: []pd.Store{{ID: 1}}, scheduling: pd.Scheduling{Evicting: tc.evicting}}
		o.denials(t.Context(), f, c, seen, &a)
		if got := len(a.denied) > 0; got != tc.want {
			t.Errorf("%s: %q", name, a.denied)
		}
	}
}

// TestLabelsAreNotLost: labels that PD does not return now are those that were read before. A refusal is a gap.
func TestLabelsAreNotLost(t *testing.T) {
	f, now := pd.NewFake(1, 1), noon
	f.Update(func(s *pd.FakeState) { s.Denied = []string{"import/1"} })
	o := &Observer{now: func() time.Time { return now }, asksAll: true}
	read := func() answers {
		a := answers{stores: []pd.Store{{ID: 1}}}
		o.denials(t.Context(), f, basic, objects{}, &a)
		return a
	}
	read()
	calls := len(f.Calls())
	if a := read(); len(f.Calls()) != calls || !reflect.DeepEqual(a.denied, []string{"import/1"}) {
		t.Errorf("%q, %q", f.Calls(), a.denied)
	}
	now = now.Add(deniedFresh)
	f.Update(func(s *pd.FakeState) { s.Unreachable = true })
	if a := read(); !reflect.DeepEqual(a.denied, []string{"import/1"}) || len(a.gaps) > 0 {
		t.Errorf("%+v", a)
	}
	f.Hook = func(context.Context, string) error { return errors.New("refused") }
	if a := read(); len(a.denied) > 0 || len(a.gaps) != 1 {
		t.Errorf("%+v", a)
	}
	calls = len(f.Calls())
	if read(); len(f.Calls()) != calls {
		t.Errorf("PD is asked again at once after a refusal: %q", f.Calls()[calls:])
	}
}

// TestEvictionDue: leaders are to leave a store of TiKV that is restarted. Stores of TiFlash lead no regions, and pods
// without a StatefulSet are not restarted.
func TestEvictionDue(t *testing.T) {
	for _, k := range []topology.Kind{topology.TiKV, topology.TiFlash} {
		for _, exists := range []bool{true, false} {
			c := basic
			c.Groups = []topology.Group{{Kind: k}}
			seen := objects{pods: map[topology.Kind]map[int]*corev1.Pod{k: {0: {}}}}
			if exists {
				seen.existing.Sets = map[topology.Kind]*appsv1.StatefulSet{k: {Status: appsv1.StatefulSetStatus{UpdateRevision: "new"}}}
			}
			if got, want := evictionDue(c, seen), exists && k == topology.TiKV; got != want {
				t.Errorf("%s, StatefulSet %t: got %t, want %t", k, exists, got, want)
			}
		}
	}
}

// TestBalancerPaused: whether PD balances no regions for a time is read only where a member that is still to be replaced
// waits for balance. What PD does not answer is not known to be paused.
func TestBalancerPaused(t *testing.T) {
	for name, tc := range map[string]struct {
		request     topology.MemberReplacement
		unreachable bool
		want        bool
		calls       int
	}{
		"a member waits for balance":        {request: topology.MemberReplacement{Claims: []string{"1"}, WaitBalanced: true}, want: true, calls: 1},
		"it is replaced":                    {request: topology.MemberReplacement{Claims: []string{"0"}, WaitBalanced: true}},
		"a member waits for something else": {request: topology.MemberReplacement{Claims: []string{"1"}}},
		"PD does not answer":                {request: topology.MemberReplacement{Claims: []string{"1"}, WaitBalanced: true}, unreachable: true, calls: 1},
	} {
		f := pd.NewFake(1, 1)
		f.Update(func(s *pd.FakeState) { s.Paused, s.Unreachable = []string{"other", pd.BalanceRegion}, tc.unreachable })
		c := basic
		c.Groups = []topology.Group{{Kind: topology.TiKV, Replacements: map[string]topology.MemberReplacement{"basic-tikv-0": tc.request}}}
		seen := objects{claims: map[topology.Kind]map[int][]state.Claim{topology.TiKV: {0: {{UID: "1"}}}}}
		a := answers{stores: []pd.Store{{ID: 1}}}
		a.readBalancer(t.Context(), f, c, seen)
		if got := a.scheduled().BalancerPaused; got != tc.want || len(f.Calls()) != tc.calls {
			t.Errorf("%s: %t, %q", name, got, f.Calls())
		}
	}
}
