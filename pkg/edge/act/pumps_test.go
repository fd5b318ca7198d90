package act

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pump"
)

var closeB = step.ClosePump{Component: topology.Pump, Member: "basic-pump-1", PodUID: "uid-of-basic-pump-1", Node: "basic-pump-1:8250"}

// TestClosePump: one request, to the Pump that was meant, while it is online.
func TestClosePump(t *testing.T) {
	entry := func(id, host, state string) pd.BinlogNode { return pd.BinlogNode{ID: id, Host: host, State: state} }
	const host = "basic-pump-1.basic-pump:8250"
	for name, tt := range map[string]struct {
		step   step.ClosePump
		listed []pd.BinlogNode
		code   int
		says   string
		calls  int
		stale  bool
		fails  bool
	}{
		"it is online":                           {closeB, []pd.BinlogNode{entry(closeB.Node, host, "online")}, 200, `{"code":200}`, 1, false, false},
		"it was asked and has not written since": {closeB, []pd.BinlogNode{entry(closeB.Node, host, "online")}, 200, `{"code":1,"message":"this pump's state is closing, apply close failed!"}`, 1, false, false},
		"it pauses":                              {closeB, []pd.BinlogNode{entry(closeB.Node, host, "online")}, 200, `{"code":1,"message":"this pump's state is pausing, apply close failed!"}`, 1, false, true},
		"it was asked":                           {closeB, []pd.BinlogNode{entry(closeB.Node, host, "closing")}, 200, `{"code":200}`, 0, false, false},
		"it is offline":                          {closeB, []pd.BinlogNode{entry(closeB.Node, host, "offline")}, 200, `{"code":200}`, 0, false, false},
		"it is paused now":                       {closeB, []pd.BinlogNode{entry(closeB.Node, host, "paused")}, 200, `{"code":200}`, 0, true, false},
		"it has another id":                      {closeB, []pd.BinlogNode{entry("x", host, "online")}, 200, `{"code":200}`, 0, true, false},
		"its id is of another":                   {closeB, []pd.BinlogNode{entry(closeB.Node, "basic-pump-0.basic-pump:8250", "online")}, 200, `{"code":200}`, 0, true, false},
		"there is none":                          {closeB, nil, 200, `{"code":200}`, 0, true, false},
		"it refuses":                             {closeB, []pd.BinlogNode{entry(closeB.Node, host, "online")}, 400, `{"code":200}`, 1, false, true},
		"its pod is another one":                 {step.ClosePump{Component: topology.Pump, Member: closeB.Member, PodUID: "former", Node: closeB.Node}, []pd.BinlogNode{entry(closeB.Node, host, "online")}, 200, `{"code":200}`, 0, true, false},
		"it is no member at all":                 {step.ClosePump{Component: topology.Pump, Member: "x", PodUID: "x", Node: closeB.Node}, nil, 200, `{"code":200}`, 0, false, true},
		"only a drainer has this":                {closeB, []pd.BinlogNode{{ID: closeB.Node, Host: host, State: "online", Drainer: true}}, 200, `{"code":200}`, 0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
				if calls++; in.Method+" "+in.URL.Path != "PUT /state/basic-pump-1:8250/close" {
					t.Errorf("%s %s", in.Method, in.URL.Path)
				}
				out.WriteHeader(tt.code)
				_, _ = io.WriteString(out, tt.says)
			}))
			defer server.Close()
			own := pod(topology.Pump, 1)
			own.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "other"}, {Name: "pump", RestartCount: 3}}
			w := newFixture(t, own)
			w.pd.Update(func(s *pd.FakeState) { s.Binlog = tt.listed })
			w.OnPump(func(c topology.Cluster, ordinal int) *pump.Client {
				if ordinal != 1 {
					t.Errorf("asks %d", ordinal)
				}
				return &pump.Client{HTTP: server.Client(), URL: server.URL}
			})
			err := w.Do(t.Context(), tt.step)
			var old *Stale
			if errors.As(err, &old) != tt.stale || (err != nil) != (tt.stale || tt.fails) || calls != tt.calls {
				t.Errorf("%d requests: %v", calls, err)
			}
			live, err := w.kube.CoreV1().Pods("db").Get(t.Context(), "basic-pump-1", metav1.GetOptions{})
			if marked := live.Annotations[topology.AnnotationClosing] == "3"; err != nil || marked != (tt.calls > 0 && !tt.fails) {
				t.Errorf("marked as closing: %t, %v", marked, err)
			}
		})
	}
}

// TestClosePumpWhenItIsTheLast: where TiDB writes a binlog, another Pump has to take it when the request is sent.
func TestClosePumpWhenItIsTheLast(t *testing.T) {
	entry := func(ordinal int, state string, ago time.Duration) pd.BinlogNode {
		id := fmt.Sprintf("basic-pump-%d", ordinal)
		return pd.BinlogNode{ID: id + ":8250", Host: id + ".basic-pump:8250", State: state, Updated: now.Add(-ago), Answered: now}
	}
	elsewhere := pd.BinlogNode{ID: "other", Host: "10.0.0.1:8250", State: "online", Updated: now, Answered: now}
	drainer := elsewhere
	drainer.Drainer = true
	undated := elsewhere
	undated.Answered = time.Time{}
	marked := pod(topology.Pump, 0)
	marked.Annotations = map[string]string{topology.AnnotationClosing: "0"}
	marked.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "pump"}}
	restarted := marked.DeepCopy()
	restarted.Status.ContainerStatuses[0].RestartCount = 1
	for name, tt := range map[string]struct {
		others []pd.BinlogNode
		writes bool
		pump   *corev1.Pod
		closed bool
	}{
		"no server writes":                     {nil, false, pod(topology.Pump, 0), true},
		"the only one":                         {nil, true, pod(topology.Pump, 0), false},
		"another one takes it":                 {[]pd.BinlogNode{entry(0, "online", time.Second)}, true, pod(topology.Pump, 0), true},
		"another one is offline":               {[]pd.BinlogNode{entry(0, "offline", time.Second)}, true, pod(topology.Pump, 0), false},
		"another one is silent":                {[]pd.BinlogNode{entry(0, "online", time.Minute)}, true, pod(topology.Pump, 0), false},
		"another one was asked to close":       {[]pd.BinlogNode{entry(0, "online", time.Second)}, true, marked, false},
		"another one has started since then":   {[]pd.BinlogNode{entry(0, "online", time.Second)}, true, restarted, true},
		"one of another Kubernetes cluster":    {[]pd.BinlogNode{elsewhere}, true, marked, true},
		"PD does not say when it has answered": {[]pd.BinlogNode{undated}, true, marked, true},
		"a drainer takes none":                 {[]pd.BinlogNode{drainer}, true, pod(topology.Pump, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
				calls++
				_, _ = io.WriteString(out, `{"code":200}`)
			}))
			defer server.Close()
			db := pod(topology.TiDB, 0)
			db.Spec.Containers = []corev1.Container{{Name: "slowlog"}, {Name: "tidb", Env: []corev1.EnvVar{{Name: topology.EnvBinlog, Value: strconv.FormatBool(tt.writes)}}}}
			w := newFixture(t, pod(topology.Pump, 1), tt.pump, db)
			w.cluster.Source = &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{Pump: &v1alpha1.PumpSpec{Config: config.New(map[string]any{})}}}
			w.pd.Update(func(s *pd.FakeState) { s.Binlog = append([]pd.BinlogNode{entry(1, "online", 0)}, tt.others...) })
			w.OnPump(func(topology.Cluster, int) *pump.Client { return &pump.Client{HTTP: server.Client(), URL: server.URL} })
			err := w.Do(t.Context(), closeB)
			var old *Stale
			if closed := calls == 1; closed != tt.closed || (err == nil) != closed || err != nil && !errors.As(err, &old) {
				t.Errorf("%d requests: %v", calls, err)
			}
		})
	}
}

// TestClaimOfPump: a claim is deleted only where nobody waits for what is on it.
func TestClaimOfPump(t *testing.T) {
	for state, deleted := range map[string]bool{"": true, "offline": true, "online": false, "paused": false, "closing": false} {
		w := newFixture(t, claim(topology.Pump, 3, true))
		if state != "" {
			w.pd.Update(func(s *pd.FakeState) {
				s.Binlog = []pd.BinlogNode{{ID: "x", Host: "basic-pump-3.basic-pump.db:8250", State: state}}
			})
		}
		live := claim(topology.Pump, 3, true)
		err := w.Do(t.Context(), step.DeleteClaim{Component: topology.Pump, Member: "basic-pump-3", Name: live.Name, UID: string(live.UID)})
		if (err == nil) != deleted {
			t.Errorf("%q: %v", state, err)
		}
	}
}
