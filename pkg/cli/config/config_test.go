package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/running"
)

// answers are what members answer, by their address and path.
type answers struct {
	pages map[string]string
	sent  []string // what was written, with where
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	page, ok := a.pages[r.URL.Host+r.URL.Path]
	if !ok {
		return nil, errors.New("connection refused")
	}
	if r.Method != http.MethodGet {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		a.sent, page = append(a.sent, r.Method+" "+r.URL.Host+r.URL.Path+" "+string(body)), "{}"
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(page)), Request: r}, nil
}

// cluster returns a session with a cluster whose second store does not answer.
func cluster() (session, *answers) {
	tc := &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			PD:      &v1alpha1.PDSpec{Replicas: 1, Config: v1alpha1.NewPDConfig()},
			TiKV:    &v1alpha1.TiKVSpec{Replicas: 2, Config: v1alpha1.NewTiKVConfig()},
			TiDB:    &v1alpha1.TiDBSpec{Replicas: 1},
			TiFlash: &v1alpha1.TiFlashSpec{Replicas: 1},
		},
	}
	tc.Spec.PD.Config.Set("schedule.leader-schedule-limit", int64(8))
	tc.Spec.PD.Config.Set("log.level", "info")
	tc.Spec.TiKV.Config.Set("log.level", "warn")
	tc.Spec.TiKV.Config.Set("storage.reserve-space", "1GB")
	tc.Spec.TiKV.Config.Set("storage.gone", true)
	a := &answers{pages: map[string]string{
		"basic-pd-0.basic-pd-peer.db.svc:2379/pd/api/v1/config": `{"log":{"level":"info"},"schedule":{"leader-schedule-limit":4,"region-schedule-limit":2048},"replication":{"location-labels":""}}`,
		"basic-tikv-0.basic-tikv-peer.db.svc:20180/config":      `{"log":{"level":"info","file":{"max-days":0}},"storage":{"reserve-space":"1GiB"}}`,
		"basic-tidb-0.basic-tidb-peer.db.svc:10080/config":      `{"log":{"level":"info"},"split-table":true}`,
	}}
	return session{
		Session: &target.Session{Namespace: "db", Name: "basic"}, cluster: topology.New(tc),
		members: running.Client{HTTP: &http.Client{Transport: a}},
	}, a
}

func streams() (*factory.Factory, *bytes.Buffer) {
	var out bytes.Buffer
	return &factory.Factory{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}}, &out
}

func TestGet(t *testing.T) {
	for _, c := range []struct {
		name string
		o    getting
		want string
		code exit.Code
		says string
	}{
		{"one value of a component", getting{of: "tikv", key: "storage.reserve-space"}, "1GiB\n", exit.OK, ""},
		{"one value of a member", getting{of: "basic-tidb-0", key: "log.level"}, "info\n", exit.OK, ""},
		{"a short name", getting{of: "tidb-0", key: "log.level"}, "info\n", exit.OK, ""},
		{"an empty value", getting{of: "pd", key: "replication.location-labels"}, "\n", exit.OK, ""},
		{"a table", getting{of: "tikv", key: "log"}, "OF     SETTING             VALUE\ntikv   log.file.max-days   0\ntikv   log.level           info\n", exit.OK, ""},
		{"of all components", getting{of: "log.level"},
			"OF     SETTING     VALUE\npd     log.level   info\ntikv   log.level   info\ntidb   log.level   info\n", exit.OK, ""},
		{"for a program", getting{of: "tidb", output: "json"},
			"{\n  \"tidb\": {\n    \"log.level\": \"info\",\n    \"split-table\": true\n  }\n}\n", exit.OK, ""},
		{"no such setting", getting{of: "tikv", key: "log.levels"}, "", exit.Usage, `no setting "log.levels" in the configuration of tikv`},
		{"no such setting, for a program", getting{of: "tikv", key: "log.levels", output: "json"}, "", exit.Usage, `no setting "log.levels" in the configuration of tikv`},
		{"no such member or setting", getting{of: "tikv-9"}, "", exit.Usage, `no component, no member and no setting "tikv-9"`},
		{"no such member or setting, for a program", getting{of: "tikv-9", output: "json"}, "", exit.Usage, `no component, no member and no setting "tikv-9"`},
		{"a setting, for a program", getting{of: "tikv", key: "log.level", output: "json"}, "{\n  \"tikv\": {\n    \"log.level\": \"info\"\n  }\n}\n", exit.OK, ""},
		{"no such member", getting{of: "tikv-7", key: "log.level"}, "", exit.Usage, ""},
		{"does not answer", getting{of: "tikv-1"}, "", exit.Failure, ""},
		{"does not show it", getting{of: "tiflash"}, "", exit.Refused, ""},
		{"not in the cluster", getting{of: "ticdc"}, "", exit.Usage, ""},
	} {
		s, _ := cluster()
		f, out := streams()
		err := s.get(t.Context(), f, c.o)
		if exit.Of(err) != c.code || out.String() != c.want || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %q, want %q", c.name, err, out.String(), c.want)
		}
	}
}

// TestReplacements: members that a failover has added are named and compared as all others.
func TestReplacements(t *testing.T) {
	s, a := cluster()
	tc := s.cluster.Written.DeepCopy()
	tc.Status.TiKV.FailureStores = map[string]v1alpha1.TiKVFailureStore{"4": {PodName: "basic-tikv-1", StoreID: "4"}}
	s.cluster = topology.New(tc)
	a.pages["basic-tikv-2.basic-tikv-peer.db.svc:20180/config"] = `{"log":{"level":"error"},"storage":{"reserve-space":"1GiB","gone":true}}`
	f, out := streams()
	if err := s.get(t.Context(), f, getting{of: "tikv-2", key: "log.level"}); err != nil || out.String() != "error\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	out.Reset()
	if err := s.diff(t.Context(), f, comparing{of: "tikv"}); err == nil || !strings.Contains(out.String(), "basic-tikv-2   log.level      warn   error") {
		t.Errorf("%v, %q", err, out.String())
	}
}

// TestDiff: what is not in effect is shown with the reason; a member that does not answer is an error,
// since nothing is known of it.
func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name string
		o    comparing
		want string
		code exit.Code
	}{
		{"PD keeps it", comparing{of: "pd"}, "MEMBER       SETTING                          SPEC   RUNNING   WHY\n" +
			"basic-pd-0   schedule.leader-schedule-limit   8      4         PD keeps it itself: change it with kubectl tidb config set basic pd schedule.leader-schedule-limit=VALUE -n db\n", exit.OK},
		{"a restart", comparing{of: "tikv-0"}, "MEMBER         SETTING        SPEC   RUNNING   WHY\n" +
			"basic-tikv-0   log.level      warn   info      needs a restart of the member\n" +
			"basic-tikv-0   storage.gone   true   <none>    the member does not show such a setting\n", exit.OK},
		{"in a pipeline", comparing{of: "tikv-0", exitCode: true, output: "json"}, `[
  {
    "member": "basic-tikv-0",
    "setting": "log.level",
    "spec": "warn",
    "running": "info",
    "why": "needs a restart of the member"
  },
  {
    "member": "basic-tikv-0",
    "setting": "storage.gone",
    "spec": true,
    "running": null,
    "why": "the member does not show such a setting"
  }
]
`, exit.Pending},
		{"nothing", comparing{of: "tidb", exitCode: true}, "no setting of the spec differs from what the members run with\n", exit.OK},
		{"does not answer", comparing{of: "tikv-1", output: "json"}, "[]\n", exit.Failure},
		{"does not show it", comparing{of: "tiflash"}, "", exit.Refused},
		{"no such member", comparing{of: "tikv-9"}, "", exit.Usage},
	} {
		s, _ := cluster()
		f, out := streams()
		err := s.diff(t.Context(), f, c.o)
		if exit.Of(err) != c.code || out.String() != c.want {
			t.Errorf("%s: %v, %q, want %q", c.name, err, out.String(), c.want)
		}
	}
}

// TestDiffOfSomeMembers: members that answer are compared, and each that does not is named, so that nobody takes it
// for one that runs with the spec. With --exit-code that is a failure, not a difference.
func TestDiffOfSomeMembers(t *testing.T) {
	for name, c := range map[string]struct {
		answer string // of basic-tikv-0
		o      comparing
		want   string
	}{
		"differs": {`{"log":{"level":"error"},"storage":{"gone":true,"reserve-space":"1GB"}}`, comparing{of: "tikv", exitCode: true},
			"MEMBER         SETTING     SPEC   RUNNING   WHY\nbasic-tikv-0   log.level   warn   error     needs a restart of the member\n"},
		"none differs": {`{"log":{"level":"warn"},"storage":{"gone":true,"reserve-space":"1GB"}}`, comparing{of: "tikv"},
			"no setting of the spec differs from what the members that answer run with\n"},
	} {
		s, a := cluster()
		a.pages["basic-tikv-0.basic-tikv-peer.db.svc:20180/config"] = c.answer
		f, out := streams()
		err := s.diff(t.Context(), f, c.o)
		if exit.Of(err) != exit.Failure || out.String() != c.want {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
		if err == nil || !strings.Contains(err.Error(), "basic-tikv-1 was not compared: ") || strings.Contains(err.Error(), "basic-tikv-0 was") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, _ := cluster()
	f, out := streams()
	if err := s.diff(t.Context(), f, comparing{of: "tikv-1"}); exit.Of(err) != exit.Failure || out.String() != "" {
		t.Errorf("nobody answers: %v, %q", err, out.String())
	}
}

func TestSetArguments(t *testing.T) {
	for _, c := range []struct {
		args string
		want map[string]any
		says string
	}{
		{"basic tikv log.level=warn storage.x=4 a.b-", map[string]any{"log.level": "warn", "storage.x": int64(4), "a.b": nil}, ""},
		{"basic pd schedule.leader-schedule-limit=8", map[string]any{"schedule.leader-schedule-limit": int64(8)}, ""},
		{"basic tikv log.level=a-", map[string]any{"log.level": "a-"}, ""},
		{"basic tikv", nil, "requires at least 3"},
		{"basic cdc a=b", nil, `no component "cdc"`},
		{"basic tikv log.level", nil, `"log.level" is not KEY=VALUE`},
		{"basic tikv =4", nil, `"=4" is not KEY=VALUE`},
		{"basic tikv log..level=4", nil, "is not KEY=VALUE"},
		{"basic tikv a=1 a=2", nil, "a is given twice"},
		{"basic pd schedule.x-", nil, "PD, which has no default to go back to"},
		{"basic pd schedule.x=1 log.level=warn", nil, "other settings in the spec: give them in commands"},
		{"basic tikv a=1 --exit-code", nil, "--exit-code goes with --dry-run"},
		{"basic tikv a=1 --wait=false --report html=x.html", map[string]any{"a": int64(1)}, ""},
		{"basic pd schedule.x=1 -o json --dry-run --exit-code --timeout 1m --yes", map[string]any{"schedule.x": int64(1)}, ""},
		{"basic pd schedule.x=1 --wait=false", nil, "changed at once and without a run, so it does not go with --wait=false"},
		{"basic pd schedule.x=1 --take-over --report html=x.html", nil, "it does not go with --report, --take-over"},
	} {
		var got *setting
		cmd := setCommand(nil, func(_ context.Context, o setting) error { got = &o; return nil })
		err := called(cmd, c.args)
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) || got != nil {
				t.Errorf("%s: error %v, want %q", c.args, err, c.says)
			}
		case err != nil:
			t.Errorf("%s: %v", c.args, err)
		case !maps.Equal(got.settings, c.want) || got.name != "basic":
			t.Errorf("%s: %v", c.args, got.settings)
		}
	}
}

// called gives a command its arguments.
func called(cmd *cobra.Command, args string) error {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetArgs(strings.Fields(args))
	return cmd.Execute()
}

// TestSetInPD: what PD keeps is changed there, what is so already is not written, and a dry run
// changes nothing.
func TestSetInPD(t *testing.T) {
	settings := map[string]any{"schedule.leader-schedule-limit": int64(8), "schedule.region-schedule-limit": int64(2048), "replication.location-labels": []any{"zone", "host"}}
	const (
		changed = "changed in PD, and in effect"
		would   = "would be changed in PD, at once and without a restart"
	)
	lines := func(done string) string {
		return `replication.location-labels from "" to "zone,host": ` + done + "\nschedule.leader-schedule-limit from 4 to 8: " + done + "\n"
	}
	sent := []string{`POST basic-pd-0.basic-pd-peer.db.svc:2379/pd/api/v1/config {"replication.location-labels":"zone,host","schedule.leader-schedule-limit":8}`}
	for _, c := range []struct {
		name     string
		settings map[string]any
		o        flags.Options
		out      string
		code     exit.Code
		sent     []string
	}{
		{"a change", settings, flags.Options{}, lines(changed), exit.OK, sent},
		{"a dry run", settings, flags.Options{DryRun: flags.ServerDryRun}, lines(would), exit.OK, nil},
		{"a dry run in a pipeline", settings, flags.Options{DryRun: flags.ServerDryRun, ExitCode: true}, lines(would), exit.Pending, nil},
		{"nothing to change", map[string]any{"schedule.leader-schedule-limit": int64(4)}, flags.Options{}, "PD has these settings already; nothing was changed\n", exit.OK, nil},
		{"nothing to change in a pipeline", map[string]any{"schedule.leader-schedule-limit": int64(4)}, flags.Options{DryRun: flags.ServerDryRun, ExitCode: true},
			"PD has these settings already; nothing was changed\n", exit.OK, nil},
	} {
		s, a := cluster()
		f, out := streams()
		o := setting{kind: topology.PD, settings: c.settings, Options: c.o}
		is, host, err := s.firstAnswer(t.Context(), topology.PD)
		if err != nil || !o.keptByMembers() {
			t.Fatal(err)
		}
		if err := o.setThere(t.Context(), f, s, host, is); exit.Of(err) != c.code || out.String() != c.out || !slices.Equal(a.sent, c.sent) {
			t.Errorf("%s: %v, %q, sent %q", c.name, err, out.String(), a.sent)
		}
	}
}

// TestSetInPDEvents: with -o json it writes events, of which the last one says how it ended.
func TestSetInPDEvents(t *testing.T) {
	for _, c := range []struct {
		o       flags.Options
		fails   bool
		code    exit.Code
		notices int
		outcome string
	}{
		{flags.Options{}, false, exit.OK, 1, event.OutcomeConverged},
		{flags.Options{}, true, exit.Failure, 0, event.OutcomeFailed},
		{flags.Options{DryRun: flags.ServerDryRun}, false, exit.OK, 1, event.OutcomeChanges},
		{flags.Options{DryRun: flags.ServerDryRun, ExitCode: true}, false, exit.Pending, 1, event.OutcomeChanges},
	} {
		s, a := cluster()
		var out, errOut bytes.Buffer
		f := factory.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, func(string) string { return "" }, "")
		c.o.Output = "json"
		o := setting{kind: topology.PD, settings: map[string]any{"schedule.leader-schedule-limit": int64(8)}, given: []string{"schedule.leader-schedule-limit=8"}, Options: c.o}
		is, host, err := s.firstAnswer(t.Context(), topology.PD)
		if err != nil {
			t.Fatal(err)
		}
		if c.fails {
			clear(a.pages)
		}
		if err := o.setThere(t.Context(), f, s, host, is); exit.Of(err) != c.code || err != nil && err.Error() != "" {
			t.Errorf("%+v: %v", c, err)
		}
		var got []event.Event
		for d := json.NewDecoder(&out); ; {
			var e event.Event
			if err := d.Decode(&e); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if len(got) != c.notices+1 || errOut.Len() > 0 {
			t.Fatalf("%+v, %q", got, errOut.String())
		}
		if last := got[len(got)-1]; last.Type != event.Done || last.Outcome != c.outcome || *last.ExitCode != int(c.code) || (last.Error != "") != c.fails {
			t.Errorf("%+v: %+v", c, last)
		}
		if first := got[0]; c.notices > 0 && (first.Reason != string(event.SettingChanged) || !strings.HasPrefix(first.Message, "schedule.leader-schedule-limit from 4 to 8: ")) {
			t.Errorf("%+v: %+v", c, first)
		}
	}
}

// TestNotes: what is written is said, and what does not happen by itself.
func TestNotes(t *testing.T) {
	s, _ := cluster()
	o := setting{kind: topology.TiKV, settings: map[string]any{"log.level": "error", "storage.gone": nil, "a": int64(1)}}
	g, _ := s.cluster.Group(topology.TiKV)
	g.InPlace = false
	was, _ := topology.Settings(s.cluster.Written, topology.TiKV)
	got := strings.Join(o.notes(g, was, "spec.tikv"), "\n")
	want := `spec.tikv.config[a] from not set to 1
spec.tikv.config[log.level] from "warn" to "error"
spec.tikv.config[storage.gone] from true to not set`
	if got != want {
		t.Errorf("%s", got)
	}
	g.InPlace = true
	if got := o.notes(g, was, "spec.tikv"); got[len(got)-1] != "spec.tikv.configUpdateStrategy is InPlace, so no member restarts: the settings are in effect after a restart" {
		t.Errorf("%q", got)
	}
	g, _ = s.cluster.Group(topology.TiDB)
	o = setting{kind: topology.TiDB, settings: map[string]any{"log.level": "error"}}
	if got := strings.Join(o.notes(g, nil, "spec.tidb"), "\n"); !strings.Contains(got, "spec.tidb.config is new: it replaces") {
		t.Errorf("%s", got)
	}
}

func TestMismatch(t *testing.T) {
	o := setting{name: "basic", kind: topology.TiKV, settings: map[string]any{"log.level": "warn", "log.levels": "warn", "x": nil}}
	err := o.mismatch(map[string]any{"log.level": "info"})
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "nothing was changed: log.levels is no setting that the members have; give --force") {
		t.Errorf("%v", err)
	}
}
