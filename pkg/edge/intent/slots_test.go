package intent

import (
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestScaleWithSlots: replicas and slots are one write, and a rollback takes back both.
func TestScaleWithSlots(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	change, err := c.Scale(load(t, c), map[topology.Kind]int32{topology.TiKV: 2}, map[topology.Kind][]int{topology.TiKV: {1}})
	if err != nil {
		t.Fatal(err)
	}
	tc, err := made(t, c, change, Write{Action: "scale tikv=2", At: noon})
	if err != nil || tc.Spec.TiKV.Replicas != 2 || !slices.Equal(topology.SlotsAsked(tc, topology.TiKV), []int{1}) {
		t.Fatalf("%v: %+v", err, tc)
	}
	if n := len(patched(dyn)); n != 1 {
		t.Errorf("%d writes", n)
	}
	back, _, err := c.Rollback(tc)
	if err != nil {
		t.Fatal(err)
	}
	tc, err = made(t, c, back, Write{})
	if err != nil || tc.Spec.TiKV.Replicas != 3 || len(topology.SlotsAsked(tc, topology.TiKV)) > 0 {
		t.Errorf("%v: %+v", err, tc)
	}
	if _, has := tc.Annotations[topology.SlotsAnnotation(topology.TiKV)]; has {
		t.Error("the annotation stays")
	}
}

// TestMove: slots alone are a change that can be taken back.
func TestMove(t *testing.T) {
	c, _ := client(t, object(t, stored))
	change, err := c.Scale(load(t, c), map[topology.Kind]int32{topology.TiKV: 3}, map[topology.Kind][]int{topology.TiKV: {1}})
	if err != nil {
		t.Fatal(err)
	}
	tc, err := made(t, c, change, Write{Action: "scale tikv=3", At: noon})
	if err != nil {
		t.Fatal(err)
	}
	back, last, err := c.Rollback(tc)
	if err != nil || last.Action != "scale tikv=3" {
		t.Fatalf("%v, %+v", err, last)
	}
	if tc, err = made(t, c, back, Write{}); err != nil || len(topology.SlotsAsked(tc, topology.TiKV)) > 0 {
		t.Errorf("%v: %v", err, tc.Annotations)
	}
}

// TestSlotsChangedMeanwhile: a scale-in is not written over slots that another user has written.
func TestSlotsChangedMeanwhile(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	change, err := c.Scale(load(t, c), map[topology.Kind]int32{topology.TiKV: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	changed(t, dyn, "[1]", "metadata", "annotations", topology.SlotsAnnotation(topology.TiKV))
	if err := change.Write(t.Context(), Write{}); err == nil {
		t.Error("written")
	}
}
