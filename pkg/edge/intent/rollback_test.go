package intent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// upgraded has a verb upgrade the stored cluster.
func upgraded(t *testing.T, c *Client) *v1alpha1.TidbCluster {
	t.Helper()
	change, err := c.SetVersion(load(t, c), "v8.1.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	tc, err := made(t, c, change, Write{Action: "upgrade to v8.1.1", At: noon})
	if err != nil {
		t.Fatal(err)
	}
	return tc
}

// TestRollback: the change that a verb has made is taken back once, and only that one.
func TestRollback(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc := upgraded(t, c)
	change, last, err := c.Rollback(tc)
	if err != nil || last.String() != `"upgrade to v8.1.1" of 2026-03-01T12:00:00Z` || change.Want.Spec.Version != "v8.1.0" {
		t.Fatalf("%v, %v, %+v", err, last, change.Want)
	}
	changed(t, dyn, "3", "status", "tikv", "phase") // a driver writes the status meanwhile
	got, err := made(t, c, change, Write{})
	if err != nil || got.Spec.Version != "v8.1.0" || got.Spec.TiKV.Replicas != 3 || got.Annotations[topology.AnnotationLastChange] != "" {
		t.Errorf("%v: %+v", err, got)
	}
	if _, _, err := c.Rollback(got); !errors.As(err, new(*NoWayBackError)) {
		t.Errorf("taken back twice: %v", err)
	}
}

// TestRollbackOfText: a configuration is taken back as a whole, and a component's field that was not
// there is removed.
func TestRollbackOfText(t *testing.T) {
	c, _ := client(t, object(t, stored))
	tc := load(t, c)
	want := tc.DeepCopy()
	want.Spec.TiKV.Config.Set("raftstore.sync-log", false)
	want.Spec.TiDB.Config = v1alpha1.NewTiDBConfig()
	want.Spec.TiDB.Config.Set("log.level", "warn")
	tc, err := made(t, c, c.write("configure", tc, want, nil), Write{Action: "config set", At: noon})
	if err != nil || tc.Spec.TiDB.Config == nil {
		t.Fatalf("%v: %+v", err, tc)
	}
	change, _, err := c.Rollback(tc)
	if err != nil {
		t.Fatal(err)
	}
	got, err := made(t, c, change, Write{})
	if err != nil || got.Spec.TiDB.Config != nil || got.Spec.TiKV.Config.Get("raftstore.sync-log").Interface() != true {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestNoWayBack: nothing is taken back where that would make a spec that nobody has asked for.
func TestNoWayBack(t *testing.T) {
	later := metav1.NewTime(noon.Add(time.Hour))
	tool := []metav1.ManagedFieldsEntry{{Manager: "argocd-controller", Time: &later, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:version":{}}}`)}}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.TidbCluster)
		says   string // "" when it can be taken back
	}{
		"recorded":  {func(*v1alpha1.TidbCluster) {}, ""},
		"paused":    {func(tc *v1alpha1.TidbCluster) { tc.Spec.Paused = true }, ""},
		"no record": {func(tc *v1alpha1.TidbCluster) { tc.Annotations = nil }, "no command has recorded one"},
		"garbled":   {func(tc *v1alpha1.TidbCluster) { tc.Annotations[topology.AnnotationLastChange] = "{" }, "no command has recorded one"},
		"changed": {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Replicas = 4 },
			`its spec was changed after "upgrade to v8.1.1" of 2026-03-01T12:00:00Z; nothing`},
		"changed by a tool": {func(tc *v1alpha1.TidbCluster) { tc.Spec.Version, tc.ManagedFields = "v8.1.2", tool },
			"by argocd-controller at 2026-03-01T13:00:00Z; nothing was changed"},
	} {
		c, _ := client(t, object(t, stored))
		tc := upgraded(t, c)
		tt.change(tc)
		_, _, err := c.Rollback(tc)
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.says != "" && (!errors.As(err, new(*NoWayBackError)) || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

// TestRollbackMeets: a spec that is changed between the look and the write stays.
func TestRollbackMeets(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	change, _, err := c.Rollback(upgraded(t, c))
	if err != nil {
		t.Fatal(err)
	}
	changed(t, dyn, int64(5), "spec", "tikv", "replicas")
	var other *ChangedError
	if _, err := made(t, c, change, Write{}); !errors.As(err, &other) || other.What != "its spec was changed" {
		t.Errorf("%v", err)
	}
}

// TestRecorded: what is no change of a user's is not recorded, and a record that is too long replaces
// that of the change before.
func TestRecorded(t *testing.T) {
	c, _ := client(t, object(t, stored))
	tc := load(t, c)
	long := tc.DeepCopy()
	long.Spec.TiDB.Annotations = map[string]string{"a": strings.Repeat("x", 64<<10)}
	paused := tc.DeepCopy()
	paused.Spec.Paused = true
	scaled := tc.DeepCopy()
	scaled.Spec.TiKV.Replicas = 4
	w := Write{Action: "a change", At: noon}
	for name, tt := range map[string]struct {
		from, to *v1alpha1.TidbCluster
		w        Write
		want     string
	}{
		"a change":         {tc, scaled, w, "written"},
		"none asked for":   {tc, scaled, Write{}, "left"},
		"no change":        {tc, tc, w, "left"},
		"a pause":          {tc, paused, w, "left"},
		"too long":         {long, tc, w, "removed"},
		"long only before": {tc, long, w, "written"},
	} {
		set, err := recorded(tt.from, tt.to, tt.w)
		got := "left"
		if value, ok := set[topology.AnnotationLastChange]; ok && value == nil {
			got = "removed"
		} else if ok {
			got = "written"
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %s, want %s: %v", name, got, tt.want, err)
		}
	}
}

// TestRecordBeforeApply: an apply is recorded by a patch of its own, which changes no spec.
func TestRecordBeforeApply(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc := load(t, c)
	want := tc.DeepCopy()
	want.Spec.TiKV.Replicas = 4
	if err := c.Record(t.Context(), tc, want, Write{Action: "apply basic.yaml", At: noon}); err != nil {
		t.Fatal(err)
	}
	if sent := patched(dyn); len(sent) != 1 || strings.Contains(sent[0], `"spec":{`) {
		t.Errorf("sent %q", sent)
	}
	if _, _, err := c.Rollback(load(t, c)); !errors.As(err, new(*NoWayBackError)) {
		t.Errorf("the apply was not written yet: %v", err)
	}
	changed(t, dyn, int64(4), "spec", "tikv", "replicas")
	if change, _, err := c.Rollback(load(t, c)); err != nil || change.Want.Spec.TiKV.Replicas != 3 {
		t.Errorf("%v: %+v", err, change)
	}
}
