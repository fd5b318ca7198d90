// Package ledger encodes records of what we did in PD and have to take back or to complete.
// There are also records of captures of TiCDC that we drain and of placement rules that we enabled. Others are of pod
// templates that we wrote, and of AdvancedStatefulSets that are made again.
// Each cluster has one ConfigMap, with one key per evict-leader scheduler that we made, per store that we took
// offline, per capture and per component.
//
// A record says that the scheduler or the removal may be ours, and since when. Only PD says
// whether it exists: the record is written before the change in PD and removed when that has
// ended. So a change of ours always has a record, while a record may be without a change in PD.
// A change in PD without a record is not ours, and stays.
//
// It is pure; package act writes the ConfigMap and package observe reads it.
package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Record is the record of one scheduler or one removal.
type Record struct {
	Member string    `json:"member"` // the pod's name
	Since  time.Time `json:"since"`
	// Owner is the driver that wrote the record.
	Owner string `json:"owner,omitempty"`
	// Foreign is true if PD had the scheduler before us. We rely on it, but do not
	// remove it in the end.
	Foreign bool `json:"foreign,omitempty"`
	// Leaders is the number of region leaders on the store before the eviction. So a run after a crash knows how
	// many should come back.
	Leaders int `json:"leaders,omitempty"`
	// Ended is when the scheduler was removed. The record then stays until the
	// leaders are back.
	Ended time.Time `json:"ended,omitzero"`
	// Cluster is the id of the PD cluster that has the scheduler or the store. Ids of stores are small numbers, which
	// another PD cluster with the same name has too.
	Cluster uint64 `json:"cluster,omitempty,string"`
}

// Key returns the key of a record about a store.
func Key(of state.Record, storeID uint64) string {
	return string(of) + "." + strconv.FormatUint(storeID, 10)
}

// Encode returns the value to write under Key.
func Encode(r Record) (string, error) {
	r.Since, r.Ended = r.Since.UTC().Truncate(time.Second), r.Ended.UTC().Truncate(time.Second)
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode the record of %s: %w", r.Member, err)
	}
	return string(b), nil
}

// Decode returns the record about a store in the ledger, which may be nil. A record
// that cannot be read counts as none: it is unknown whether the change in PD is
// ours, so it is not taken back. Read reports such a record, with a remedy.
func Decode(cm *corev1.ConfigMap, of state.Record, storeID uint64) (Record, bool) {
	if !Has(cm, of, storeID) {
		return Record{}, false
	}
	r, err := decode(cm.Data[Key(of, storeID)])
	return r, err == nil
}

// Has reports whether the ledger has a record about a store, also one that cannot be read. The ledger may be nil.
func Has(cm *corev1.ConfigMap, of state.Record, storeID uint64) bool {
	if cm == nil {
		return false
	}
	_, ok := cm.Data[Key(of, storeID)]
	return ok
}

func decode(value string) (Record, error) {
	var r Record
	if err := json.Unmarshal([]byte(value), &r); err != nil {
		return Record{}, err
	}
	if r.Member == "" {
		return Record{}, errors.New("it names no member")
	}
	return r, nil
}

// Book is a ledger that was read, each kind of record by store id.
type Book struct {
	Evictions []state.Eviction
	Removals  []state.Removal
	Drains    []state.Drain
	Templates map[topology.Kind]state.Template
	// RulesEnabled is when we enabled PD's placement rules, zero if there is no record of that.
	RulesEnabled time.Time
	// Gaps are records that this version cannot read: records of a later version, or records that
	// were written by hand. They block nothing, and are left as they are.
	Gaps []state.Gap
}

// Read reads the ledger, which may be nil.
func Read(cm *corev1.ConfigMap) Book {
	var b Book
	if cm == nil {
		return b
	}
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
		if k, t, ok := readTemplate(key, cm.Data[key]); ok {
			if b.Templates == nil {
				b.Templates = map[topology.Kind]state.Template{}
			}
			b.Templates[k] = t
			continue
		}
		if d, ok, err := readDrain(key, cm.Data[key]); ok {
			if err != nil {
				b.Gaps = append(b.Gaps, unreadable(cm, key, err))
				continue
			}
			b.Drains = append(b.Drains, d)
			continue
		}
		if key == SetsKey {
			if err := checkSets(cm.Data[key]); err != nil {
				b.Gaps = append(b.Gaps, unreadable(cm, key, err))
			}
			continue
		}
		if key == RulesKey {
			at, err := readRules(cm.Data[key])
			if b.RulesEnabled = at; err != nil {
				b.Gaps = append(b.Gaps, unreadable(cm, key, err))
			}
			continue
		}
		of, digits, _ := strings.Cut(key, ".")
		id, err := strconv.ParseUint(digits, 10, 64)
		r, malformed := decode(cm.Data[key])
		kind := state.Record(of)
		switch {
		case err != nil || Key(kind, id) != key || kind != state.RecordEviction && kind != state.RecordRemoval:
			b.Gaps = append(b.Gaps, unknownRecord(cm, key))
		case malformed != nil:
			b.Gaps = append(b.Gaps, unreadable(cm, key, malformed))
		case kind == state.RecordEviction:
			b.Evictions = append(b.Evictions, state.Eviction{
				StoreID: id, Member: r.Member, Since: r.Since, Foreign: r.Foreign, Leaders: r.Leaders, Ended: r.Ended,
			})
		default:
			b.Removals = append(b.Removals, state.Removal{StoreID: id, Member: r.Member, Since: r.Since})
		}
	}
	slices.SortFunc(b.Evictions, func(a, b state.Eviction) int { return cmp.Compare(a.StoreID, b.StoreID) })
	slices.SortFunc(b.Removals, func(a, b state.Removal) int { return cmp.Compare(a.StoreID, b.StoreID) })
	return b
}

func unknownRecord(cm *corev1.ConfigMap, key string) state.Gap {
	return state.Gap{
		What:    fmt.Sprintf("the record %q in ConfigMap %s", key, cm.Name),
		Problem: "this version of kubectl tidb does not know what it stands for, and leaves it as it is",
		Remedy:  remedy.Remedy{remedy.Run("a later version knows it if it wrote it; look at it", showCommand(cm))},
	}
}

func unreadable(cm *corev1.ConfigMap, key string, err error) state.Gap {
	return state.Gap{
		What: fmt.Sprintf("the record %q in ConfigMap %s", key, cm.Name),
		Problem: fmt.Sprintf("this version of kubectl tidb cannot read it (%v), and leaves it as it is; "+
			"what it stands for in PD is not taken back", err),
		Remedy: remedy.Remedy{
			remedy.Run("use the later version that wrote it, if one did; otherwise look at it", showCommand(cm)),
			remedy.Run("remove it", remedy.Kubectl(cm.Namespace, "patch", "configmap", cm.Name, "--type=json", "-p",
				fmt.Sprintf(`[{"op":"remove","path":"/data/%s"}]`, key))),
		},
	}
}

// showCommand returns the command that shows the records.
func showCommand(cm *corev1.ConfigMap) remedy.Command {
	return remedy.Kubectl(cm.Namespace, "get", "configmap", cm.Name, "-o", "yaml")
}
