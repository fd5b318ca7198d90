package intent

import (
	"errors"
	"strings"
	"testing"
	"time"

	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestPause: a pause and its record are written at once, by the field manager that makes the record
// count, and end at once.
func TestPause(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	paused, err := made(t, c, c.Pause(load(t, c), topology.Pause{By: "ann@laptop", Since: since, Reason: "new switches"}), Write{})
	if err != nil || !paused.Spec.Paused || !strings.Contains(paused.Annotations[topology.AnnotationPause], "new switches") {
		t.Fatalf("%v: %t, %v", err, paused.Spec.Paused, paused.Annotations)
	}
	last := dyn.Actions()[len(dyn.Actions())-2].(clienttesting.PatchActionImpl)
	if last.PatchOptions.FieldManager != topology.PauseManager {
		t.Errorf("written by %q", last.PatchOptions.FieldManager)
	}
	resumed, err := made(t, c, c.Resume(paused), Write{})
	if err != nil || resumed.Spec.Paused || resumed.Annotations[topology.AnnotationPause] != "" {
		t.Errorf("%v: %t, %v", err, resumed.Spec.Paused, resumed.Annotations)
	}
	if got := patched(dyn); len(got) != 2 || !strings.Contains(got[1], `"spec":{"paused":null}`) {
		t.Errorf("%q", got)
	}
}

// TestPauseChanged: a pause that another person has begun meanwhile is neither replaced nor ended.
func TestPauseChanged(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	before := load(t, c)
	changed(t, dyn, true, "spec", "paused")
	mine := topology.Pause{By: "ann@laptop"}
	if _, err := made(t, c, c.Pause(before, mine), Write{}); !errors.As(err, new(*ChangedError)) {
		t.Errorf("%v", err)
	}
	seen := load(t, c)
	changed(t, dyn, `{"by":"bob@desk"}`, "metadata", "annotations", topology.AnnotationPause)
	if err := c.EndPause(t.Context(), seen); !errors.As(err, new(*ChangedError)) || !strings.Contains(err.Error(), "bob@desk") {
		t.Errorf("%v", err)
	}
}

// TestForgetDDLPause: the record of a pause of DDL goes as a whole, and nothing else. One that was begun since stays.
func TestForgetDDLPause(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	keys := topology.DDLPauseAnnotations()
	for _, key := range append(keys, "mine") {
		changed(t, dyn, "true", "metadata", "annotations", key)
	}
	before := load(t, c)
	changed(t, dyn, "false", "metadata", "annotations", keys[1])
	if err := c.ForgetDDLPause(t.Context(), before); !errors.As(err, new(*ChangedError)) || !strings.Contains(err.Error(), keys[1]) {
		t.Errorf("%v", err)
	}
	if err := c.ForgetDDLPause(t.Context(), load(t, c)); err != nil {
		t.Fatal(err)
	}
	after := load(t, c).Annotations
	for _, key := range keys {
		if _, there := after[key]; there {
			t.Errorf("%s is still there", key)
		}
	}
	if after["mine"] != "true" {
		t.Errorf("%v", after)
	}
}

// TestRecordDDLPause: the record of a pause of DDL is written as a whole, and not over one that was written since.
func TestRecordDDLPause(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	p := topology.DDLPause{Recorded: true, Since: time.Date(2026, 8, 7, 1, 2, 3, 0, time.UTC), From: "v8.1.0", To: "v8.5.0"}
	before := load(t, c)
	if err := c.RecordDDLPause(t.Context(), before, p); err != nil {
		t.Fatal(err)
	}
	if got := topology.New(load(t, c)).DDLPause; got != p {
		t.Errorf("%+v", got)
	}
	changed(t, dyn, "v8.0.0", "metadata", "annotations", topology.DDLPauseAnnotations()[2])
	if err := c.RecordDDLPause(t.Context(), before, p); !errors.As(err, new(*ChangedError)) {
		t.Errorf("%v", err)
	}
}
