package observe

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

func TestMembersAnswerThemselves(t *testing.T) {
	for name, c := range map[string]struct {
		ready, healthy bool
		port           port
		want           state.Answer
	}{
		"all agree that it serves":           {true, true, unasked(t), state.NotAsked},
		"PD's leader has missed a ping":      {true, false, says(200, ""), state.Answered},
		"nothing listens":                    {true, false, fails(refused), state.Refused},
		"it answers an error":                {true, false, says(500, ""), state.NoAnswer},
		"only Kubernetes calls it unhealthy": {false, true, says(200, ""), state.Answered},
	} {
		members := []state.Member{{
			Kind: topology.PD, Name: "basic-pd-0", Pod: &state.Pod{Ready: c.ready, Started: noon},
			Database: state.Database{Presence: state.Present, Healthy: c.healthy},
		}}
		through(c.port).askMembers(t.Context(), basic, members)
		if got := members[0].Database.Answer; got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// TestMissedByPD: a member that PD's health check does not reach serves if it says itself that it takes part in the
// quorum.
func TestMissedByPD(t *testing.T) {
	const leads = `{"header":{"member_id":"7"},"leader":"7","raftIndex":"100","raftAppliedIndex":"100"}`
	running := &state.Pod{Ready: true, Started: noon}
	for name, c := range map[string]struct {
		leader      *state.Pod
		ping        int
		first, says string // what PD's leader and the member say
		want        bool
	}{
		"it follows, and knows all":          {running, 200, leads, `{"header":{"member_id":"8"},"leader":"7","raftAppliedIndex":"100"}`, true},
		"it lags":                            {running, 200, leads, `{"header":{"member_id":"8"},"leader":"7","raftAppliedIndex":"99"}`, false},
		"it hears from no leader":            {running, 200, leads, `{"header":{"member_id":"8"},"raftAppliedIndex":"100"}`, false},
		"both hear from no leader":           {running, 200, `{"header":{"member_id":"7"},"raftIndex":"100"}`, `{"header":{"member_id":"8"},"raftAppliedIndex":"100"}`, false},
		"it follows another leader":          {running, 200, leads, `{"header":{"member_id":"8"},"leader":"9","raftAppliedIndex":"100"}`, false},
		"another member has its address":     {running, 200, leads, `{"header":{"member_id":"9"},"leader":"7","raftAppliedIndex":"100"}`, false},
		"its port answers, and its etcd not": {running, 200, leads, "", false},
		"PD's leader does not answer":        {running, 200, "", `{"header":{"member_id":"8"},"leader":"7","raftAppliedIndex":"100"}`, false},
		"another member has its leader's":    {running, 200, `{"header":{"member_id":"8"},"leader":"7","raftIndex":"100"}`, `{"header":{"member_id":"8"},"leader":"7","raftAppliedIndex":"100"}`, false},
		"PD's leader does not run":           {nil, 200, leads, `{"header":{"member_id":"8"},"leader":"7","raftAppliedIndex":"100"}`, false},
		"it does not answer a ping":          {running, 500, leads, `{"header":{"member_id":"8"},"leader":"7","raftAppliedIndex":"100"}`, false},
	} {
		o := through(func(r *http.Request) (*http.Response, error) {
			body := c.says
			silent := strings.HasPrefix(r.URL.Host, "basic-pd-2.")
			switch {
			case silent && r.URL.Path == "/pd/api/v1/ping":
				return says(http.StatusInternalServerError, "")(r)
			case silent:
				t.Errorf("%s: a member that does not answer a ping is asked for %s", name, r.URL)
			case r.URL.Path == "/pd/api/v1/ping":
				return says(c.ping, "")(r)
			case strings.HasPrefix(r.URL.Host, "basic-pd-0."):
				body = c.first
			}
			if body == "" {
				return says(http.StatusServiceUnavailable, "")(r)
			}
			return says(http.StatusOK, body)(r)
		})
		members := []state.Member{
			{Kind: topology.PD, Name: "basic-pd-0", Pod: c.leader, Database: state.Database{Presence: state.Present, ID: 7, Healthy: true, Leader: true}},
			{Kind: topology.PD, Ordinal: 1, Name: "basic-pd-1", Pod: running, Database: state.Database{Presence: state.Present, ID: 8, Problem: "missed", Since: noon}},
			{Kind: topology.PD, Ordinal: 2, Name: "basic-pd-2", Pod: running, Database: state.Database{Presence: state.Present, ID: 9, Problem: "missed", Since: noon}},
		}
		d := database{listed: map[topology.Kind]map[int]listed{topology.PD: {0: {Database: members[0].Database}, 1: {Database: members[1].Database}, 2: {Database: members[2].Database}}}}
		o.askMembers(t.Context(), basic, members)
		got := members[1].Database
		if got.Healthy != c.want || (got.Problem == "") != c.want || got.Since.IsZero() != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		if n := d.servingByOwnAccount(members); (n == 1) != c.want {
			t.Errorf("%s: %d members are counted besides those of PD", name, n)
		}
	}
}

// TestNotAskedForRaft: while PD reaches all members nobody is asked for more.
func TestNotAskedForRaft(t *testing.T) {
	members := []state.Member{{
		Kind: topology.PD, Name: "basic-pd-0", Pod: &state.Pod{Started: noon}, Database: state.Database{Presence: state.Present, Healthy: true, Leader: true},
	}}
	through(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/pd/api/v1/ping" {
			t.Errorf("asked %s", r.URL)
		}
		return says(http.StatusOK, "")(r)
	}).askMembers(t.Context(), basic, members)
}

// hanging is a PD whose health check hangs until the request is given up.
type hanging struct{ pd.Client }

func (hanging) Health(ctx context.Context) ([]pd.MemberHealth, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// late is a PD whose health check ends in the moment in which its time is up.
type late struct{ pd.Client }

func (late) Health(ctx context.Context) ([]pd.MemberHealth, error) {
	<-ctx.Done()
	return []pd.MemberHealth{{ID: 7, Healthy: true}}, nil
}

// TestHealthIsLate: an answer counts, also where no time is left after it.
func TestHealthIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list, unasked, err := health(t.Context(), late{}, true)
		if len(list) != 1 || unasked || err != nil {
			t.Errorf("%v, unasked %t, %v", list, unasked, err)
		}
	})
}

// TestHealthHangs: after a pod was renewed the health check is given up early, and that says nothing about a member.
func TestHealthHangs(t *testing.T) {
	for name, c := range map[string]struct {
		renewed bool
		took    time.Duration
		unasked bool
	}{
		"a pod is new":         {true, newTimeout, true},
		"all pods have an age": {false, readTimeout, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
			defer cancel()
			begun := time.Now()
			_, unasked, err := health(ctx, hanging{}, c.renewed)
			if took := time.Since(begun); took != c.took || unasked != c.unasked || (err == nil) != c.unasked {
				t.Errorf("%s: unasked %t after %s: %v", name, unasked, took, err)
			}
		})
	}
	for age, want := range map[time.Duration]time.Duration{0: newTimeout, addressKept: readTimeout} {
		synctest.Test(t, func(t *testing.T) {
			o := through(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			asks := map[topology.Kind]func(context.Context, topology.Cluster, []state.Member){
				topology.PD: o.askMembers, topology.TiDB: o.askServers,
			}
			for kind, ask := range asks {
				members := []state.Member{{
					Kind: kind, Pod: &state.Pod{UID: string(kind), Started: noon, Made: noon.Add(-age)}, Database: state.Database{Presence: state.Present},
				}}
				begun := time.Now()
				ask(t.Context(), basic, members)
				if took := time.Since(begun); took != want || members[0].Database.Answer != state.NoAnswer {
					t.Errorf("a pod of %s, %s old, was asked for %s: %d", kind, age, took, members[0].Database.Answer)
				}
			}
		})
	}
	o := through(unasked(t))
	for age, want := range map[time.Duration]bool{addressKept - time.Second: true, addressKept: false} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-age))}}
		if got := o.renewed(map[int]*corev1.Pod{0: pod}); got != want {
			t.Errorf("a pod of %s: %t", age, got)
		}
	}
	all := answers{unasked: true, members: &pd.Members{Members: []pd.Member{
		{ID: 7, Name: "basic-pd-0", PeerURLs: []string{basic.MemberURL(topology.PD, 0, topology.PDPeerPort)}, ClientURLs: []string{"http://x"}},
	}}, replication: &pd.ReplicationConfig{}}
	if m := all.sort(basic).listed[topology.PD][0]; m.Healthy || m.Problem != "PD's health check takes long" || (state.Member{Database: m.Database}).Denied() {
		t.Errorf("a check that hangs says of a member: %+v", m)
	}
}
