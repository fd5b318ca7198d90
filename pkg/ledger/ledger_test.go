package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

func TestRoundTrip(t *testing.T) {
	since := time.Date(2026, 7, 1, 14, 0, 5, 0, time.FixedZone("CEST", 7200))
	value, err := Encode(Record{Member: "basic-tikv-2", Since: since, Owner: "ann@laptop/7/1/ab", Foreign: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"member":"basic-tikv-2","since":"2026-07-01T12:00:05Z","owner":"ann@laptop/7/1/ab","foreign":true}`; value != want {
		t.Errorf("written as %s", value)
	}
	got, ok := Decode(&corev1.ConfigMap{Data: map[string]string{Key(5): value}}, 5)
	if !ok || got.Member != "basic-tikv-2" || !got.Since.Equal(since) || !got.Foreign {
		t.Errorf("read as %+v", got)
	}
}

// tikv-11-36: how many leaders there were survives whoever wrote it down.
func TestLeadersBefore(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	value, err := Encode(Record{Member: "basic-tikv-2", Since: at, Leaders: 450, Ended: at.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"member":"basic-tikv-2","since":"2026-07-01T12:00:00Z","leaders":450,"ended":"2026-07-01T12:01:00Z"}`; value != want {
		t.Errorf("written as %s", value)
	}
	got, err := Evictions(&corev1.ConfigMap{Data: map[string]string{Key(5): value}})
	want := []state.Eviction{{StoreID: 5, Member: "basic-tikv-2", Since: at, Leaders: 450, Ended: at.Add(time.Minute)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestEvictions(t *testing.T) {
	cm := &corev1.ConfigMap{Data: map[string]string{
		"evict-leader.18446744073709551615": `{"member":"basic-tikv-1","since":"2026-07-01T12:00:00Z","later":true}`,
		"evict-leader.4":                    `not JSON at all`,
		"evict-leader.5":                    `{"member":"basic-tikv-0","since":"yesterday"}`,
		"pause-gc.1":                        `another version's business`,
	}}
	got, err := Evictions(cm)
	if err != nil {
		t.Fatal(err)
	}
	want := []state.Eviction{
		{StoreID: 4},
		{StoreID: 5},
		{StoreID: 18446744073709551615, Member: "basic-tikv-1", Since: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, ok := Decode(cm, 4); !ok {
		t.Error("a record that cannot be read is still one")
	}
	if _, ok := Decode(cm, 6); ok {
		t.Error("there is no record of store 6")
	}
}

func TestNothing(t *testing.T) {
	if got, err := Evictions(nil); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, ok := Decode(nil, 1); ok {
		t.Error("found a record in no ledger")
	}
}

func TestUnknownStore(t *testing.T) {
	cm := &corev1.ConfigMap{Data: map[string]string{"evict-leader.four": `{}`}}
	if _, err := Evictions(cm); err == nil {
		t.Error("nobody can act on that, so somebody must be told")
	}
}
