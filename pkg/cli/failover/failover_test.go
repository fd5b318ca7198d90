package failover

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"basic", ""},
		{"basic list", ""},
		{"basic run --now --component tikv --discard basic-tikv-2", ""},
		{"basic recover --component=pd,tikv", ""},
		{"", "between 1 and 2"},
		{"basic rerun", "none of list, run and recover"},
		{"basic run --component cdc", `no component "cdc"`},
		{"basic --report html=run.html", "--report goes with run and recover"},
		{"basic --now", "--now goes with run"},
		{"basic recover --discard basic-tikv-2", "--discard goes with run"},
		{"basic list --dry-run", "list changes nothing"},
		{"basic run --exit-code", "--dry-run"},
	} {
		var got *options
		cmd := command(nil, func(_ context.Context, o options) error { got = &o; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(io.Discard)
		cmd.SetArgs(strings.Fields(c.args))
		err := cmd.Execute()
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) || got != nil {
				t.Errorf("%s: error %v, want %q", c.args, err, c.says)
			}
		case err != nil:
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

func cluster() *v1alpha1.TidbCluster {
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}}
	tc.Spec.PD = &v1alpha1.PDSpec{Replicas: 3}
	tc.Spec.TiKV = &v1alpha1.TiKVSpec{Replicas: 3}
	return tc
}

func TestMistaken(t *testing.T) {
	for pod, c := range map[string]struct {
		only []string
		code exit.Code
	}{
		"basic-tikv-2":  {nil, exit.OK},
		"basic-tikv-3":  {nil, exit.Refused},
		"basic-pd-1":    {nil, exit.Refused},
		"other-tikv-1":  {nil, exit.Refused},
		"basic-tikv-1":  {[]string{"pd"}, exit.Usage},
		"basic-tikv-02": {nil, exit.Refused},
	} {
		o := options{discard: []string{pod}, components: c.only}
		if err := o.mistaken(cluster()); exit.Of(err) != c.code {
			t.Errorf("%s: %v, want exit code %d", pod, err, c.code)
		}
	}
}

// seen returns a cluster with one member in each state that the table can show.
func seen() (desired.State, state.Snapshot) {
	c := plantest.New(3, 5, 3).Down(time.Hour, "t-pd-1", "t-tikv-0", "t-tikv-1").Down(time.Minute, "t-tidb-0", "t-tidb-1")
	for _, name := range []string{"t-tikv-0", "t-tikv-1"} {
		m := c.Member(name)
		m.Database.State, m.Database.Since = state.StoreDown, plantest.Now.Add(-time.Hour)
	}
	c.Member("t-tidb-1").Pod.Node = ""
	give := func(name string, f topology.Failure) {
		m := c.Member(name)
		f.Member, f.ID, f.Created = name, m.Database.ID, plantest.Now.Add(-20*time.Minute)
		c.Want(m.Kind).Failures = append(c.Want(m.Kind).Failures, f)
	}
	give("t-tikv-0", topology.Failure{})
	give("t-tikv-1", topology.Failure{Discarded: true})
	give("t-tikv-2", topology.Failure{})
	return c.Wanted, c.Seen
}

func TestShow(t *testing.T) {
	w, snap := seen()
	var out bytes.Buffer
	if err := look(w, snap, options{}).print(&out, snap.At); err != nil {
		t.Fatal(err)
	}
	squeezed := regexp.MustCompile(` +`).ReplaceAllString(out.String(), " ")
	for _, line := range []string{
		"TiKV 3 of 5 3 of at most 3",
		`t-pd-1 pod is not ready 60m "run" gives it up at once`,
		"t-tikv-0 pod is not ready 60m given up 20m ago",
		"t-tikv-1 pod is not ready 60m given up with its data; it comes back empty",
		`t-tikv-2 <none> <none> back; "recover" takes its replacement away`,
		`t-tidb-0 pod is not ready 60s "run" gives it up in 4m`,
		"t-tidb-1 pod is not ready 60s kept: there is no place for its pod, nor would be for another",
	} {
		if !strings.Contains(squeezed, line) {
			t.Errorf("%q is not in\n%s", line, out.String())
		}
	}
	out.Reset()
	rest := plantest.New(3, 3, 2)
	if err := look(rest.Wanted, rest.Seen, options{}).print(&out, snap.At); err != nil || !strings.Contains(out.String(), "No member is down.") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestJSON(t *testing.T) {
	w, snap := seen()
	text, err := json.Marshal(look(w, snap, options{components: []string{"pd"}}))
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	_ = json.Unmarshal(text, &got)
	_ = json.Unmarshal([]byte(`{"namespace": "ns", "cluster": "t",
		"components": [{"component": "pd", "up": 2, "wanted": 3, "failovers": 0, "maxFailoverCount": 3}],
		"members": [{"component": "pd", "member": "t-pd-1", "trouble": "pod is not ready",
			"since": "2026-01-01T00:00:00Z", "due": "2026-01-01T00:05:00Z", "next": "\"run\" gives it up at once"}]}`), &want)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s", text)
	}
}
