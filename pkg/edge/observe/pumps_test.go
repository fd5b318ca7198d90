package observe

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestPumps: what PD's etcd has of Pumps, by the member that it is about.
func TestPumps(t *testing.T) {
	const short, full = "basic-pump-0.basic-pump:8250", "basic-pump-0.basic-pump.db.svc:8250"
	pump := func(id, host, s string, ago time.Duration) pd.BinlogNode {
		return pd.BinlogNode{ID: id, Host: host, State: s, Updated: noon.Add(-ago), Written: noon}
	}
	running := func(ago time.Duration) *state.Pod { return &state.Pod{Started: noon.Add(-ago)} }
	closing := func(p *state.Pod) *state.Pod { p.Closing = true; return p }
	for name, tt := range map[string]struct {
		nodes   []pd.BinlogNode
		pod     *state.Pod
		born    time.Time
		want    state.Presence
		state   state.PumpState
		healthy bool
		online  int
	}{
		"it is online":                         {[]pd.BinlogNode{pump("a", short, "online", time.Second)}, running(time.Hour), noon.Add(-time.Hour), state.Present, "online", true, 0},
		"tidb-S9: by its full name":            {[]pd.BinlogNode{pump("a", full, "online", time.Second)}, running(time.Hour), noon.Add(-time.Hour), state.Present, "online", true, 0},
		"tidb-S9: by its id":                   {[]pd.BinlogNode{pump("basic-pump-0:8250", "10.0.0.1:8250", "online", time.Second)}, running(time.Hour), noon, state.Present, "online", true, 0},
		"it is silent":                         {[]pd.BinlogNode{pump("a", short, "online", 25*time.Second)}, running(time.Hour), noon.Add(-time.Hour), state.Present, "online", false, 0},
		"it was asked to close":                {[]pd.BinlogNode{pump("a", short, "online", time.Second)}, closing(running(time.Hour)), noon.Add(-time.Hour), state.Present, "closing", false, 0},
		"it was asked to close, and is done":   {[]pd.BinlogNode{pump("a", short, "offline", time.Second)}, closing(running(time.Hour)), noon.Add(-time.Hour), state.Present, "offline", false, 0},
		"it is another one":                    {[]pd.BinlogNode{pump("a", "basic-pump-0.basic-pump.other:8250", "online", time.Second)}, running(time.Hour), noon, state.Absent, "", false, 1},
		"a drainer":                            {[]pd.BinlogNode{{ID: "a", Host: short, State: "online", Updated: noon, Drainer: true}}, running(time.Hour), noon, state.Absent, "", false, 0},
		"it was killed":                        {[]pd.BinlogNode{pump("a", short, "online", time.Hour)}, nil, noon.Add(-2 * time.Hour), state.Present, "online", false, 0},
		"it was killed and runs":               {[]pd.BinlogNode{pump("a", short, "online", 10*time.Second)}, running(5 * time.Second), noon.Add(-time.Hour), state.Present, "online", false, 0},
		"it is paused":                         {[]pd.BinlogNode{pump("a", short, "paused", time.Hour)}, running(2 * time.Hour), noon.Add(-3 * time.Hour), state.Present, "paused", false, 0},
		"it is offline":                        {[]pd.BinlogNode{pump("a", short, "offline", time.Minute)}, running(time.Hour), noon.Add(-2 * time.Hour), state.Present, "offline", false, 0},
		"tidb-S8: it is started again":         {[]pd.BinlogNode{pump("a", short, "offline", time.Minute)}, running(time.Second), noon.Add(-2 * time.Hour), state.Absent, "", false, 0},
		"another one was offline":              {[]pd.BinlogNode{pump("a", short, "offline", time.Hour)}, nil, noon.Add(-time.Minute), state.Absent, "", false, 0},
		"one of two is offline":                {[]pd.BinlogNode{pump("a", short, "paused", time.Hour), pump("b", short, "offline", time.Minute)}, nil, time.Time{}, state.Present, "paused", false, 0},
		"one of two is offline, the other way": {[]pd.BinlogNode{pump("b", short, "offline", time.Minute), pump("a", short, "paused", time.Hour)}, nil, time.Time{}, state.Present, "paused", false, 0},
		"two are not":                          {[]pd.BinlogNode{pump("a", short, "online", time.Second), pump("b", short, "paused", time.Hour)}, running(time.Hour), noon.Add(-time.Hour), state.Present, "online", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := basic
			a := answers{members: &pd.Members{}, replication: &pd.ReplicationConfig{}, binlog: tt.nodes, binlogAt: noon, pumpsSilent: topology.PumpSilence}
			d := a.sort(c)
			got := d.member(topology.Pump, 0, tt.pod, tt.born)
			if got.Presence != tt.want || got.Pump.State != tt.state || got.Healthy != tt.healthy || d.state.OtherPumps != tt.online || !d.state.PumpsKnown {
				t.Errorf("%+v, %d others online", got.Database, d.state.OtherPumps)
			}
			if got.Presence == state.Present && got.Healthy != got.Since.IsZero() {
				t.Errorf("since %v", got.Since)
			}
		})
	}
}

// TestPumpsUnknown: without an answer they are unknown, and not absent.
func TestPumpsUnknown(t *testing.T) {
	a := answers{members: &pd.Members{}, replication: &pd.ReplicationConfig{}, binlogErr: errors.New("404"), binlogAt: noon, pumpsSilent: topology.PumpSilence}
	d := a.sort(basic)
	if got := d.member(topology.Pump, 0, nil, noon); got.Presence != state.Unknown || !strings.Contains(got.Problem, "404") || d.state.PumpsKnown {
		t.Errorf("%+v", got.Database)
	}
}

// TestPumpsClock: PD's clock may be another one than that of the API server, and the result is the same for each of two
// answers of one second.
func TestPumpsClock(t *testing.T) {
	for name, c := range map[string]struct{ behind, want time.Duration }{
		"the same":               {0, 7 * time.Second},
		"cut to a second":        {time.Second, 7 * time.Second},
		"a slow answer":          {1900 * time.Millisecond, 7 * time.Second},
		"a moment ahead":         {-1900 * time.Millisecond, 7 * time.Second},
		"minutes behind":         {10 * time.Minute, 7*time.Second - 10*time.Minute},
		"minutes behind, cut":    {10*time.Minute + time.Second, 7*time.Second - 10*time.Minute},
		"minutes ahead":          {-10 * time.Minute, 7*time.Second + 10*time.Minute},
		"minutes ahead, and cut": {-10*time.Minute + time.Second, 7*time.Second + 10*time.Minute},
	} {
		a := answers{binlogAt: noon, pumpsSilent: topology.PumpSilence}
		got := a.pumpOf(pd.BinlogNode{State: "online", Updated: noon.Add(-5 * time.Second), Answered: noon.Add(-c.behind)})
		if ago := noon.Sub(got.heartbeat); ago != c.want {
			t.Errorf("%s: %s ago, want %s", name, ago, c.want)
		}
	}
}

// TestReader: a Pump that closes waits for the drainer that has read least.
func TestReader(t *testing.T) {
	drainer := func(id, s string, ago time.Duration) pd.BinlogNode {
		return pd.BinlogNode{ID: id, State: s, Drainer: true, Written: noon.Add(-ago)}
	}
	a := answers{binlogAt: noon, pumpsSilent: topology.PumpSilence, binlog: []pd.BinlogNode{
		drainer("first", "online", time.Minute), drainer("last", "paused", 2*time.Minute), drainer("gone", "offline", time.Hour), drainer("done", "online", -time.Minute),
	}}
	if got := a.pumpOf(pd.BinlogNode{Written: noon}).Pump; got.Reader != "last" || got.Behind != 2*time.Minute {
		t.Errorf("%+v", got)
	}
	a.binlog = append(a.binlog, drainer("as late", "online", 2*time.Minute), pd.BinlogNode{ID: "a Pump", State: "online", Written: noon.Add(-time.Hour)})
	if got := a.pumpOf(pd.BinlogNode{Written: noon}).Pump; got.Reader != "last" || got.Behind != 2*time.Minute {
		t.Errorf("%+v", got)
	}
	a.binlog = a.binlog[3:4]
	if got := a.pumpOf(pd.BinlogNode{Written: noon}).Pump; got.Reader != "done" || got.Behind != 0 {
		t.Errorf("%+v", got)
	}
}

func TestSilentAfter(t *testing.T) {
	for interval, want := range map[string]time.Duration{"": 20 * time.Second, "2": 20 * time.Second, "30": 150 * time.Second} {
		c := topology.Cluster{Source: &v1alpha1.TidbCluster{}}
		c.Source.Spec.Pump = &v1alpha1.PumpSpec{Config: config.New(map[string]any{})}
		if seconds, err := strconv.ParseInt(interval, 10, 64); err == nil {
			c.Source.Spec.Pump.Config.Set("heartbeat-interval", seconds)
		}
		if got := c.PumpSilence(); got != want {
			t.Errorf("with an interval of %q s: %s, want %s", interval, got, want)
		}
	}
}

// TestReadPumps: PD's etcd is asked about Pumps for a cluster that has any, and the Pump of a member is asked at its
// own address.
func TestReadPumps(t *testing.T) {
	with := topology.New(&v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec:       v1alpha1.TidbClusterSpec{Pump: &v1alpha1.PumpSpec{BaseImage: "pingcap/tidb-binlog", Replicas: 1, Config: config.New(map[string]any{"heartbeat-interval": int64(30)})}},
	})
	f := pd.NewFake(1, 1)
	f.Update(func(s *pd.FakeState) { s.Binlog = []pd.BinlogNode{{ID: "a", State: "online"}} })
	o := through(func(r *http.Request) (*http.Response, error) {
		if got := r.Method + " " + r.URL.String(); got != "PUT http://basic-pump-0.basic-pump.db.svc:8250/state/a/close" {
			t.Errorf("asked %s", got)
		}
		return nil, refused
	})
	var a answers
	o.readPumps(t.Context(), f, with, &a)
	if len(a.binlog) != 1 || !a.binlogAt.Equal(noon) || a.pumpsSilent != 150*time.Second || a.binlogErr != nil {
		t.Errorf("%+v", a)
	}
	var none answers
	o.readPumps(t.Context(), f, basic, &none)
	if none.binlog != nil || !none.binlogAt.IsZero() {
		t.Errorf("asked about Pumps of a cluster without any: %+v", none)
	}
	running := pdPods(corev1.PodRunning)
	o.history, o.pd, o.urls = newHistory(), f, []string{peer("pd", "0", "2379")}
	if !o.base(t.Context(), with, running).state.PumpsKnown || o.base(t.Context(), basic, running).state.PumpsKnown {
		t.Error("Pumps are known where the cluster has any, and only there")
	}
	if err := o.Pump(with, 0).Close(t.Context(), "a"); !errors.Is(err, refused.Reason) {
		t.Errorf("got %v", err)
	}
}

// TestWhichPumpCounts: of several entries of one address, the one that drainers wait for, and then the latest, in
// whatever order they come; what is not one of this cluster counts only while it writes.
func TestWhichPumpCounts(t *testing.T) {
	entry := func(id, host, s string, ago time.Duration) pd.BinlogNode {
		return pd.BinlogNode{ID: id, Host: host, State: s, Updated: noon.Add(-ago), Written: noon}
	}
	const own, other = "basic-pump-0.basic-pump:8250", "x-pump-0.x-pump:8250"
	for name, tt := range map[string]struct {
		nodes  []pd.BinlogNode
		want   string
		others int
	}{
		"the later of two that are offline": {[]pd.BinlogNode{entry("a", own, "offline", time.Hour), entry("b", own, "offline", time.Minute)}, "b", 0},
		"the later of two that are not":     {[]pd.BinlogNode{entry("a", own, "paused", time.Hour), entry("b", own, "paused", time.Minute)}, "b", 0},
		"one that is not offline":           {[]pd.BinlogNode{entry("a", own, "paused", time.Hour), entry("b", own, "offline", time.Minute)}, "a", 0},
		"a drainer comes first":             {[]pd.BinlogNode{{ID: "d", Host: own, State: "online", Drainer: true}, entry("a", own, "paused", time.Hour)}, "a", 0},
		"one elsewhere comes first":         {[]pd.BinlogNode{entry("x", other, "online", time.Second), entry("a", own, "paused", time.Hour)}, "a", 1},
		"one elsewhere that is silent":      {[]pd.BinlogNode{entry("x", other, "online", time.Hour), entry("a", own, "paused", time.Hour)}, "a", 0},
	} {
		for range 2 {
			a := answers{members: &pd.Members{}, replication: &pd.ReplicationConfig{}, binlog: tt.nodes, binlogAt: noon, pumpsSilent: topology.PumpSilence}
			d := a.sort(basic)
			got := d.member(topology.Pump, 0, nil, time.Time{})
			if got.Pump.Node != tt.want || got.Pump.Host != own || d.state.OtherPumps != tt.others {
				t.Errorf("%s: %+v, %d others", name, got.Pump, d.state.OtherPumps)
			}
			slices.Reverse(tt.nodes)
		}
	}
}

// TestSilentPump: a Pump that is online and does not write is told, and no other.
func TestSilentPump(t *testing.T) {
	a := answers{binlogAt: noon, pumpsSilent: topology.PumpSilence}
	for name, tt := range map[string]struct {
		state string
		ago   time.Duration
		says  string
	}{
		"it writes":           {"online", 19 * time.Second, ""},
		"it does not":         {"online", 20 * time.Second, "Pump does not renew its entry in PD's etcd"},
		"one that is offline": {"offline", time.Hour, ""},
	} {
		if got := a.pumpOf(pd.BinlogNode{State: tt.state, Updated: noon.Add(-tt.ago)}); got.Problem != tt.says {
			t.Errorf("%s: %q, want %q", name, got.Problem, tt.says)
		}
	}
}

// TestPumpWithoutATime: an entry that does not say when it was written is no proof that its process has ended, or that
// its data is another one.
func TestPumpWithoutATime(t *testing.T) {
	a := answers{binlogAt: noon, pumpsSilent: topology.PumpSilence}
	for _, s := range []state.PumpState{state.PumpOnline, state.PumpOffline} {
		got := a.pumpOf(pd.BinlogNode{State: string(s), Answered: noon}).ofPump(nil, time.Time{})
		if got.Presence != state.Present || got.Pump.State != s || got.Healthy || !got.heartbeat.IsZero() || !got.Since.IsZero() {
			t.Errorf("%+v", got)
		}
	}
}
