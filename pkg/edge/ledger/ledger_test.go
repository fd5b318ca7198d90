package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
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
	got, ok := Decode(&corev1.ConfigMap{Data: map[string]string{Key(state.RecordEviction, 5): value}}, state.RecordEviction, 5)
	if !ok || got.Member != "basic-tikv-2" || !got.Since.Equal(since) || !got.Foreign {
		t.Errorf("read as %+v", got)
	}
}

// tikv-11-36: the number of leaders before an eviction is in the record, for the next run.
func TestLeadersBefore(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	value, err := Encode(Record{Member: "basic-tikv-2", Since: at, Leaders: 450, Ended: at.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"member":"basic-tikv-2","since":"2026-07-01T12:00:00Z","leaders":450,"ended":"2026-07-01T12:01:00Z"}`; value != want {
		t.Errorf("written as %s", value)
	}
	got := Read(&corev1.ConfigMap{Data: map[string]string{Key(state.RecordEviction, 5): value}}).Evictions
	want := []state.Eviction{{StoreID: 5, Member: "basic-tikv-2", Since: at, Leaders: 450, Ended: at.Add(time.Minute)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRead(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	cm := &corev1.ConfigMap{Data: map[string]string{
		"evict-leader.18446744073709551615": `{"member":"basic-tikv-1","since":"2026-07-01T12:00:00Z","later":true}`,
		"evict-leader.4":                    `not JSON at all`,
		"evict-leader.5":                    `{"member":"basic-tikv-0","since":"yesterday"}`,
		"remove-store.5":                    `{"member":"basic-tikv-0","since":"2026-07-01T12:00:00Z"}`,
		"remove-store.4":                    `{}`,
	}}
	cm.Name, cm.Namespace = "basic-ledger", "db"
	unread := func(key, why string) state.Gap {
		return state.Gap{
			What: fmt.Sprintf("the record %q in ConfigMap basic-ledger", key),
			Problem: "this version of kubectl tidb cannot read it (" + why + "), and leaves it as it is; " +
				"what it stands for in PD is not taken back",
			Remedy: remedy.Remedy{
				remedy.Run("use the later version that wrote it, if one did; otherwise look at it",
					remedy.Kubectl("db", "get", "configmap", "basic-ledger", "-o", "yaml")),
				remedy.Run("remove it", remedy.Kubectl("db", "patch", "configmap", "basic-ledger", "--type=json",
					"-p", `[{"op":"remove","path":"/data/`+key+`"}]`)),
			},
		}
	}
	want := Book{
		Evictions: []state.Eviction{{StoreID: 18446744073709551615, Member: "basic-tikv-1", Since: noon}},
		Removals:  []state.Removal{{StoreID: 5, Member: "basic-tikv-0", Since: noon}},
		Gaps: []state.Gap{
			unread("evict-leader.4", "invalid character 'o' in literal null (expecting 'u')"),
			unread("evict-leader.5", `parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"`),
			unread("remove-store.4", "it names no member"),
		},
	}
	if diff := cmp.Diff(want, Read(cm)); diff != "" {
		t.Error(diff)
	}
	if _, ok := Decode(cm, state.RecordEviction, 4); ok || !Has(cm, state.RecordEviction, 4) {
		t.Error("a record that cannot be read is there, but says nothing")
	}
	if _, ok := Decode(cm, state.RecordEviction, 6); ok || Has(cm, state.RecordEviction, 6) {
		t.Error("there is no record of store 6")
	}
}

func TestNothing(t *testing.T) {
	if diff := cmp.Diff(Book{}, Read(nil)); diff != "" {
		t.Error(diff)
	}
	if _, ok := Decode(nil, state.RecordEviction, 1); ok {
		t.Error("found a record in no ledger")
	}
}

// A record of a later version, or one that was written by hand, is a gap. This version reads the
// other records all the same.
func TestUnknownRecords(t *testing.T) {
	for _, key := range []string{"evict-leader.four", "evict-leader", "evict-leader.tiflash.4", "remove-store.04", "pause-gc.1"} {
		cm := &corev1.ConfigMap{Data: map[string]string{key: `{}`, "evict-leader.4": `{"member":"basic-tikv-1"}`}}
		cm.Name, cm.Namespace = "basic-ledger", "db"
		want := Book{
			Evictions: []state.Eviction{{StoreID: 4, Member: "basic-tikv-1"}},
			Gaps: []state.Gap{{
				What:    fmt.Sprintf("the record %q in ConfigMap basic-ledger", key),
				Problem: "this version of kubectl tidb does not know what it stands for, and leaves it as it is",
				Remedy: remedy.Remedy{remedy.Run("a later version knows it if it wrote it; look at it",
					remedy.Kubectl("db", "get", "configmap", "basic-ledger", "-o", "yaml"))},
			}},
		}
		if diff := cmp.Diff(want, Read(cm)); diff != "" {
			t.Error(diff)
		}
	}
}
