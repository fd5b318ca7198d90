package check

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// A single reading without PD does not refuse a request.
func TestPatient(t *testing.T) {
	born := basic(func(tc *v1alpha1.TidbCluster) { tc.Status.ClusterID = "7" })
	upgrade := propose(Request{Change: intent.Change{Now: born, Want: born, Write: func(context.Context, intent.Write) error { return nil }}})
	broken := errors.New("the API server does not answer")
	for _, c := range []struct {
		name   string
		unread int // so many readings are without PD
		err    error
		atMost time.Duration
		want   int // so many readings
		known  bool
	}{
		{"PD answers", 0, nil, time.Minute, 1, true},
		{"PD answers nobody for a moment", 2, nil, time.Minute, 3, true},
		{"PD never answers", 1000, nil, time.Nanosecond, 1, false},
		{"nothing can be read", 1000, broken, time.Minute, 1, false},
	} {
		readings := 0
		seen, err := upgrade.patient(t.Context(), c.atMost, func() (state.Observation, error) {
			cluster := plantest.New(3, 3, 2)
			if readings++; readings <= c.unread {
				cluster.PDUnknown()
			}
			return state.Observation{Snapshot: cluster.Seen}, c.err
		})
		if !errors.Is(err, c.err) || readings != c.want || seen.Snapshot.PD.Known() != c.known {
			t.Errorf("%s: %d readings, known %t, %v", c.name, readings, seen.Snapshot.PD.Known(), err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	_, err := upgrade.patient(ended, time.Minute, func() (state.Observation, error) {
		end()
		return state.Observation{Snapshot: plantest.New(3, 3, 2).PDUnknown().Seen}, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestRejected: a request is refused for what the cluster does not allow, for objects that
// cannot be rendered, and for both at once.
func TestRejected(t *testing.T) {
	c := topology.Cluster{Namespace: "db", Name: "basic"}
	lower := field.ErrorList{field.Forbidden(field.NewPath("spec", "version"), "it is lower")}
	fixed := &render.RefusedError{
		Fields: field.ErrorList{field.Forbidden(field.NewPath("spec", "pd"), "it is fixed")}, Remedy: remedy.Remedy{remedy.Say("change it back")},
	}
	for name, tt := range map[string]struct {
		problems field.ErrorList
		refused  *render.RefusedError
		says     []string
	}{
		"nothing is wrong": {nil, nil, nil},
		"not allowed":      {lower, nil, []string{"it is lower"}},
		"not to be made":   {nil, fixed, []string{"it is fixed", "change it back"}},
		"both":             {lower, fixed, []string{"it is lower", "it is fixed", "change it back"}},
	} {
		err := rejected(c, tt.problems, tt.refused, nil)
		if (err == nil) != (tt.says == nil) || err != nil && exit.Of(err) != exit.Refused {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range tt.says {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not say %q", name, err, text)
			}
		}
	}
}

// held returns a request, compared with a cluster.
func held(c *plantest.Cluster, r Request, p plan.Plan) Prospect {
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Version = "v8.1.1"
	}
	return Prospect{request: propose(r), Wanted: c.Wanted, Snapshot: c.Seen, Plan: p}
}

// TestWarningsOfDryRunInAPause: a dry run for a paused cluster says what an earlier run has begun, with what ends that.
func TestWarningsOfDryRunInAPause(t *testing.T) {
	c := plantest.New(3, 3, 2).Evicting("t-tikv-1", time.Hour, 0)
	c.Wanted.Cluster.Paused = true
	p := held(c, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "apply"}, c.Decide())
	p.Warnings = p.warningsOfDryRun()
	var b bytes.Buffer
	p.Print(&b, "")
	for _, says := range []string{"note: t-tikv-1: PD keeps region leaders off store 2 since", "kubectl tidb resume t -n ns", "the cluster is paused"} {
		if !strings.Contains(b.String(), says) {
			t.Errorf("%q is not said:\n%s", says, b.String())
		}
	}
}

// TestDryRunShowsAll: a dry run shows the steps up to the end, and not only the first ones.
func TestDryRunShowsAll(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(topology.TiKV)
	p := held(c, Request{Change: intent.Change{Now: cluster("v8.1.1")}, Action: "sync"}, c.Decide())
	var b bytes.Buffer
	p.Print(&b, "")
	if got := b.String(); !strings.Contains(got, "t-tikv-2, t-tikv-1, t-tikv-0: evict region leaders") {
		t.Error(got)
	}
}

// cluster returns a TidbCluster of a version.
func cluster(version string) *v1alpha1.TidbCluster {
	return &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{
		Version: version,
		PD:      &v1alpha1.PDSpec{BaseImage: "pingcap/pd", Replicas: 3},
		TiKV:    &v1alpha1.TiKVSpec{BaseImage: "pingcap/tikv", Replicas: 3},
		TiDB:    &v1alpha1.TiDBSpec{BaseImage: "pingcap/tidb", Replicas: 2},
	}}
}
