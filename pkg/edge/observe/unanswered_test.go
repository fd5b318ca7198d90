package observe

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// threeVoters returns a PD of three in the pods of the cluster basic, and their pods, which run on a node each.
func threeVoters() (*pd.Fake, objects) {
	f, seen := pd.NewFake(3, 1), pdPods(corev1.PodRunning, corev1.PodRunning, corev1.PodRunning)
	f.Update(func(s *pd.FakeState) {
		s.Silent, s.Refusing = map[string]bool{}, map[string]bool{}
		for i := range s.Members {
			s.Members[i].Name = basic.PDName(i)
			s.Members[i].PeerURLs = []string{basic.MemberURL(topology.PD, i, topology.PDPeerPort)}
		}
		s.Leader = basic.PDName(0)
	})
	for i, p := range seen.pods[topology.PD] {
		p.Spec.NodeName, p.Status.PodIP = []string{"a", "b", "c"}[i], "10.0.0.1"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "pd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	}
	return f, seen
}

func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
}

// TestUnanswered: PD counts as leaderless only after a while in which those who can know it have said so; a leader that
// cannot be asked, or silent members that may be a quorum, are unreached however long that lasts.
func TestUnanswered(t *testing.T) {
	stop := func(seen objects, ordinals ...int) {
		for _, n := range ordinals {
			seen.pods[topology.PD][n].Status.ContainerStatuses = nil
		}
	}
	for name, c := range map[string]struct {
		set        func(*pd.FakeState, objects)
		leaderless bool
		unreached  string
		unled      string
		problem    string
	}{
		"the leader cannot be reached": {set: func(s *pd.FakeState, _ objects) { s.Silent[s.Leader] = true }, unreached: "basic-pd-0", problem: "PD's leader basic-pd-0 cannot be reached from here: error dialing backend"},
		"none of three leads":          {set: func(s *pd.FakeState, _ objects) { s.Leader = "" }, leaderless: true, unled: "basic-pd-0,basic-pd-1,basic-pd-2", problem: "PD has no leader"},
		"two of three say so":          {set: func(s *pd.FakeState, _ objects) { s.Leader, s.Silent[basic.PDName(0)] = "", true }, leaderless: true, unled: "basic-pd-1,basic-pd-2"},
		"one of three says so": {set: func(s *pd.FakeState, _ objects) {
			s.Leader, s.Silent[basic.PDName(0)], s.Silent[basic.PDName(1)] = "", true, true
		}, unreached: "basic-pd-0,basic-pd-1", unled: "basic-pd-2", problem: "basic-pd-0, basic-pd-1 cannot be reached from here, and may be a quorum"},
		"nothing listens on the ports of the others": {set: func(s *pd.FakeState, _ objects) {
			s.Leader, s.Refusing[basic.PDName(0)], s.Refusing[basic.PDName(1)] = "", true, true
		}, leaderless: true, unled: "basic-pd-2"},
		"one of the others does not run, its node is Ready": {set: func(s *pd.FakeState, seen objects) {
			s.Leader, s.Silent[basic.PDName(0)], s.Silent[basic.PDName(1)] = "", true, true
			stop(seen, 0)
		}, leaderless: true, unled: "basic-pd-2"},
		"one of the others does not run by an old report": {set: func(s *pd.FakeState, seen objects) {
			s.Leader, s.Silent[basic.PDName(0)], s.Silent[basic.PDName(1)] = "", true, true
			stop(seen, 1)
		}, unreached: "basic-pd-0,basic-pd-1", unled: "basic-pd-2"},
		"one of the others does not run by a report of this moment": {set: func(s *pd.FakeState, seen objects) {
			s.Leader, s.Silent[basic.PDName(0)], s.Silent[basic.PDName(1)] = "", true, true
			stop(seen, 0)
			seen.pods[topology.PD][0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: metav1.NewTime(noon)}}
		}, unreached: "basic-pd-0,basic-pd-1", unled: "basic-pd-2"},
		"one of the others has no address": {set: func(s *pd.FakeState, seen objects) {
			s.Leader, s.Silent[basic.PDName(0)], s.Silent[basic.PDName(1)] = "", true, true
			stop(seen, 1)
			seen.pods[topology.PD][1].Status.PodIP = ""
		}, leaderless: true, unled: "basic-pd-2"},
		"one of the others has no pod": {set: func(s *pd.FakeState, seen objects) {
			s.Leader, s.Silent[basic.PDName(0)], s.Silent[basic.PDName(1)] = "", true, true
			delete(seen.pods[topology.PD], 1)
		}, leaderless: true, unled: "basic-pd-2"},
		"one of the others has no node": {set: func(s *pd.FakeState, seen objects) {
			s.Leader, s.Silent[basic.PDName(0)], s.Silent[basic.PDName(1)] = "", true, true
			stop(seen, 1)
			seen.pods[topology.PD][1].Spec.NodeName = ""
		}, leaderless: true, unled: "basic-pd-2"},
		"members elsewhere may be a quorum": {set: func(s *pd.FakeState, _ objects) {
			s.Leader = ""
			for _, name := range []string{"x", "y", "z"} {
				s.Members = append(s.Members, pd.Member{ID: uint64(name[0]), Name: name, PeerURLs: []string{"http://" + name + ".elsewhere:2380"}})
				s.Silent[name] = true
			}
			s.Members = append(s.Members[:1], s.Members[3:]...)
		}, unreached: "x,y,z", unled: "basic-pd-0"},
		"nobody answers": {set: func(s *pd.FakeState, _ objects) { s.Unreachable = true }, problem: pd.ErrUnreachable.Error()},
	} {
		f, seen := threeVoters()
		f.Update(func(s *pd.FakeState) { c.set(s, seen) })
		now := noon
		o := &Observer{
			now: func() time.Time { return now }, history: newHistory(), pd: f,
			kube: fake.NewClientset(node("a", corev1.ConditionTrue), node("b", corev1.ConditionUnknown), node("c", corev1.ConditionTrue)),
		}
		for n := range seen.pods[topology.PD] {
			o.urls = append(o.urls, basic.MemberURL(topology.PD, n, topology.PDClientPort))
		}
		slices.Sort(o.urls)
		first := o.base(t.Context(), basic, seen).state
		now = now.Add(election + 1)
		later := now.Add(unobservedAfter + 1)
		got := o.base(t.Context(), basic, seen).state
		if first.Leaderless || len(first.Unled) > 0 || got.Leaderless != c.leaderless || strings.Join(got.Unreached, ",") != c.unreached ||
			strings.Join(got.Unled, ",") != c.unled || !strings.Contains(got.Problem, c.problem) {
			t.Errorf("%s: first %+v, then %+v", name, first, got)
		}
		if first.Electing != (c.leaderless || c.unled != "") || got.Electing {
			t.Errorf("%s: electing at first %t, then %t", name, first.Electing, got.Electing)
		}
		now = later // PD may have had a leader in between
		if again := o.base(t.Context(), basic, seen).state; again.Leaderless || len(again.Unled) > 0 {
			t.Errorf("%s: after a while without observations: %+v", name, again)
		}
		f.Update(func(s *pd.FakeState) {
			s.Leader, s.Silent, s.Refusing, s.Unreachable, s.Members = basic.PDName(0), nil, nil, false, s.Members[:1]
		})
		if got := o.base(t.Context(), basic, seen).state; !got.Known() || got.Leaderless || got.Unreached != nil || got.Unled != nil {
			t.Errorf("%s: PD answers again: %+v", name, got)
		}
	}
}

// TestLeaderAndItsCause: the problem says why the leader could not be asked, also where its members say nothing but its
// name.
func TestLeaderAndItsCause(t *testing.T) {
	for want, cause := range map[string]error{
		"it does not accept our certificate: tls: bad certificate": tls.AlertError(42),
		"error dialing backend": errors.New("error dialing backend"),
	} {
		f, seen := threeVoters()
		f.Update(func(s *pd.FakeState) { s.Unreachable = true })
		o := &Observer{now: func() time.Time { return noon }, history: newHistory(), pd: f, kube: fake.NewClientset()}
		err := &pd.UnavailableError{Kind: pd.ErrLeaderUnreachable, Last: &pd.LeaderError{Name: basic.PDName(1), Err: cause}}
		got := o.unanswered(t.Context(), f, basic, seen, err)
		if got.Problem != "PD's leader basic-pd-1 cannot be reached from here: "+want || len(got.Unreached) != 1 || got.Leaderless {
			t.Errorf("%+v", got)
		}
	}
	f, seen := threeVoters()
	f.Update(func(s *pd.FakeState) { s.Unreachable = true })
	o := &Observer{now: func() time.Time { return noon }, history: newHistory(), pd: f, kube: fake.NewClientset()}
	if got := o.unanswered(t.Context(), f, basic, seen, &pd.UnavailableError{Kind: pd.ErrNoLeader}); got.Leaderless || got.Problem != pd.ErrNoLeader.Error() {
		t.Errorf("nobody says what it knows itself: %+v", got)
	}
}

// TestAnotherVoterAnswers: with another member that answers, the members may have become a quorum just now, and elect.
func TestAnotherVoterAnswers(t *testing.T) {
	f, seen := threeVoters()
	delete(seen.pods[topology.PD], 1)
	f.Update(func(s *pd.FakeState) { s.Leader, s.Silent[basic.PDName(0)], s.Silent[basic.PDName(1)] = "", true, true })
	now := noon
	o := &Observer{now: func() time.Time { return now }, history: newHistory(), pd: f, kube: fake.NewClientset()}
	for _, n := range []int{0, 2} {
		o.urls = append(o.urls, basic.MemberURL(topology.PD, n, topology.PDClientPort))
	}
	look := func(after time.Duration, lasting bool) {
		t.Helper()
		now = now.Add(after)
		if got := o.base(t.Context(), basic, seen).state; got.Leaderless != lasting || (len(got.Unled) > 0) != lasting {
			t.Errorf("%+v, want leaderless %t", got, lasting)
		}
	}
	look(0, false)
	look(election+1, true)
	f.Update(func(s *pd.FakeState) { s.Silent[basic.PDName(0)] = false })
	look(1, false)
	look(election, false)
	look(1, true)
	f.Update(func(s *pd.FakeState) { s.Silent[basic.PDName(0)] = true }) // one less does not elect
	look(1, true)
}
